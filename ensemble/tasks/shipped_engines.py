"""Facts about the shipped engines: a table of all, and the model card of one.

    found = facts_of_shipped()
    found[0]["name"], found[0]["language"]                 "english", "en"
    shipped_table(found), elsewhere_table(found)           tables for the terminal
    card_of(bundle_path("english"))                        the text of its MODEL_CARD.md

All figures are from the manifests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phistack.ensemble.bundles.files import read_bundle, read_manifest
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.evaluation.tables import Table, percent


def facts_of_shipped() -> list[dict[str, Any]]:
    """Every shipped engine, by name, JSON-ready.

    `size` is that of its file in bytes; `precision` and `recall` are strict, out of fold on the training notes, in
    [0, 1], and `None` if not measured; `measured_elsewhere` has rows with corpus, figure and value.

    :raises BundleError: if one is not a bundle.
    """
    return [_facts(name, shipped_engine(name)) for name in shipped_names()]


def _facts(name: str, path: Path) -> dict[str, Any]:
    manifest = read_manifest(path)
    figures = manifest["figures"]
    scores = figures.get("strict", {}).get("stack", {})
    return {
        "name": name,
        "language": manifest["language"],
        "label_set": manifest["label_set"],
        "submodels": list(manifest["kinds"]),
        "size": path.stat().st_size,
        "trained_on": manifest["trained_on"],
        "precision": scores.get("precision"),
        "recall": scores.get("recall"),
        "measured_elsewhere": figures.get("measured elsewhere", []),
    }


def shipped_table(engines: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each engine, in at most 80 columns."""
    columns = ("engine", "language", "labels", "trained on", "MB", "precision", "recall")
    note = "precision and recall: strict, out of fold on the training notes"
    return Table(columns, [list(map(_row, engines))], "engines that ship", note, n_texts=4)


def _row(engine: Mapping[str, Any]) -> tuple[str, ...]:
    documents = engine["trained_on"].get("documents")
    trained_on = f"{documents} notes" if documents else "unknown"
    shares = ["" if share is None else percent(share) for share in (engine["precision"], engine["recall"])]
    size = f"{engine['size'] / 1e6:.1f}"
    return engine["name"], engine["language"], engine["label_set"], trained_on, size, *shares


def elsewhere_table(engines: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each figure on other notes."""
    groups = [
        [(engine["name"], str(row["corpus"]), str(row["figure"]), str(row["value"]))
         for row in engine["measured_elsewhere"]]
        for engine in engines
    ]  # fmt: skip
    columns = ("engine", "corpus", "figure", "value")
    return Table(columns, list(filter(None, groups)), "measured on other notes", n_texts=3)


def card_of(path: Path) -> str:
    """The model card of a bundle; :raises BundleError: if any of its files was changed."""
    return read_bundle(path)[1].read("MODEL_CARD.md").decode("utf-8", "replace")
