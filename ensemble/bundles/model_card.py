"""A trained engine described for people: what it is, how good, on what, and where not to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ensemble.bundles.reliability import reliability_of

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

{reliability}

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
        facts=_rows(facts),
        reliability=_reliability(manifest),
        trained_on=_rows(manifest["trained_on"]),
        figures=_figures(manifest["figures"]),
    )


def _reliability(manifest: Mapping[str, Any]) -> str:
    reliability = reliability_of(manifest)
    sentences = [f"This engine was {reliability.sentence}."] if reliability.sentence.startswith("trained") else []
    return "\n\n".join([*sentences, *([f"**Warning**: {reliability.warning}."] if reliability.warning else [])])


def _rows(facts: Mapping[str, Any]) -> str:
    return "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in facts.items())


def _figures(figures: Mapping[str, Any]) -> str:
    lines = ["| system | precision | recall | 95 % interval | F1 | 95 % interval |", "|---|---|---|---|---|---|"]
    for name, row in figures.get("strict", {}).items():
        recall, f1 = _interval(row.get("recall_interval")), _interval(row.get("interval"))
        lines.append(f"| {name} | {row['precision']:.4f} | {row['recall']:.4f} | {recall} | {row['f1']:.4f} | {f1} |")
    return "\n".join([figures.get("protocol", ""), "", *lines])


def _interval(ends: Sequence[float] | None) -> str:
    return f"{ends[0]:.4f}-{ends[1]:.4f}" if ends else ""
