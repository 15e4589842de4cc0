"""A trained engine described for people: what it is, how good, on what, and where not to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["model_card"]

_CARD = """# Model card

A phistack engine that finds protected health information (PHI) in clinical notes.

| | |
|---|---|
{facts}

## Trained on

| | |
|---|---|
{trained_on}

## Figures

{figures}

## Use

For finding PHI in notes of the same language and kind as those it was trained on. Every engine misses some PHI: check a
sample of your own notes with `phistack evaluate` before you rely on it, and have people review what is released. Its
vocabularies hold words of the training notes, so treat this bundle as you treat the notes themselves.
"""


def model_card(manifest: Mapping[str, Any]) -> str:
    """The card, as Markdown, from a bundle's manifest."""
    facts = {
        "submodels": ", ".join(manifest["kinds"].values()),
        "label set": manifest["label_set"],
        "language": manifest["language"],
        "tokeniser": manifest["tokeniser"],
        "bundle protocol": manifest["protocol"],
        **{f"{name} version": version for name, version in manifest["versions"].items()},
    }
    return _CARD.format(
        facts=_rows(facts), trained_on=_rows(manifest["trained_on"]), figures=_figures(manifest["figures"])
    )


def _rows(facts: Mapping[str, Any]) -> str:
    return "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in facts.items())


def _figures(figures: Mapping[str, Any]) -> str:
    lines = ["| system | precision | recall | F1 |", "|---|---|---|---|"]
    for name, row in figures.get("strict", {}).items():
        lines.append(f"| {name} | {row['precision']:.4f} | {row['recall']:.4f} | {row['f1']:.4f} |")
    return "\n".join([figures.get("protocol", ""), "", *lines])
