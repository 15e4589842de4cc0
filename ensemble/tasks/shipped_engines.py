"""The shipped engines: a table with a line for each, and the model card of one.

    found = facts_of_shipped()
    found[0].name, found[0].language       "english", "en"
    shipped_table(found)                   a table for the terminal
    card_of(bundle_path("english"))        the text of its MODEL_CARD.md

All figures are those of the manifests, which the builder measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from phistack.ensemble.bundles.files import read_bundle, read_manifest
from phistack.ensemble.bundles.model_card import measured_elsewhere
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.evaluation.tables import Table, percent


@dataclass(frozen=True, slots=True)
class ShippedFacts:
    """A shipped engine.

    :param language: ISO 639-1 code.
    :param size: of its file, in bytes.
    :param trained_on: the builder's facts on the training notes.
    :param precision: strict, out of fold on the training notes, in [0, 1]; None if it was not measured.
    :param recall: likewise.
    :param measured_elsewhere: corpus, figure and value of each.
    """

    name: str
    language: str
    label_set: str
    submodels: tuple[str, ...]
    size: int
    trained_on: Mapping[str, Any]
    precision: float | None
    recall: float | None
    measured_elsewhere: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, name: str) -> Self:
        """The facts of an engine by its name; :raises BundleError: if there is no such engine."""
        path = shipped_engine(name)
        manifest = read_manifest(path)
        scores = manifest["figures"].get("strict", {}).get("stack", {})
        return cls(
            name, manifest["language"], manifest["label_set"], tuple(manifest["kinds"]), path.stat().st_size,
            manifest["trained_on"], scores.get("precision"), scores.get("recall"), measured_elsewhere(manifest),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def facts_of_shipped() -> list[ShippedFacts]:
    """Every shipped engine, by name."""
    return [ShippedFacts.of(name) for name in shipped_names()]


def shipped_table(engines: Sequence[ShippedFacts]) -> Table:
    """One row for each engine, at most 80 columns wide."""
    columns = ("engine", "notes in", "label set", "trained on", "MB", "precision", "recall")
    note = "precision and recall: strict, out of fold on the training notes"
    return Table(columns, [list(map(_row, engines))], "shipped engines", note, n_texts=4)


def _row(engine: ShippedFacts) -> tuple[str, ...]:
    documents = engine.trained_on.get("documents")
    trained_on = f"{documents} notes" if documents else "unknown"
    shares = ["" if share is None else percent(share) for share in (engine.precision, engine.recall)]
    return engine.name, engine.language, engine.label_set, trained_on, f"{engine.size / 1e6:.1f}", *shares


def card_of(path: Path) -> str:
    """The model card of a bundle, after a check of all its files; :raises BundleError: if one was changed."""
    _, files = read_bundle(path)
    return files.read("MODEL_CARD.md").decode("utf-8", "replace")
