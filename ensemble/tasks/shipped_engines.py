"""Facts about the shipped engines: a table of all, and the model card of one.

    found = facts_of_shipped()
    found[0].name, found[0].language                       "english", "en"
    shipped_table(found), elsewhere_table(found)           tables for the terminal
    card_of(bundle_path("english"))                        the text of its MODEL_CARD.md

All figures are from the manifests.
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

_CARD = "MODEL_CARD.md"


@dataclass(frozen=True, slots=True)
class ShippedFacts:
    """A shipped engine.

    :param language: ISO 639-1 code.
    :param size: of its file, in bytes.
    :param trained_on: facts about the training notes.
    :param precision: strict, out of fold on the training notes, in [0, 1]; None if not measured. `recall` likewise.
    :param measured_elsewhere: rows with corpus, figure and value.
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
        """The facts of an engine by its name; :raises BundleError: if it is not a bundle."""
        path = shipped_engine(name)
        manifest = read_manifest(path)
        scores = manifest["figures"].get("strict", {}).get("stack", {})
        return cls(
            name, manifest["language"], manifest["label_set"], tuple(manifest["kinds"]), path.stat().st_size,
            manifest["trained_on"], scores.get("precision"), scores.get("recall"), measured_elsewhere(manifest),
        )  # fmt: skip

    @property
    def sources(self) -> str:
        """Where the training notes are from, in words; empty if unknown."""
        return str(self.trained_on.get("sources", ""))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def facts_of_shipped() -> list[ShippedFacts]:
    """Every shipped engine, by name."""
    return [ShippedFacts.of(name) for name in shipped_names()]


def shipped_table(engines: Sequence[ShippedFacts]) -> Table:
    """A row an engine, in at most 80 columns."""
    columns = ("engine", "language", "labels", "trained on", "MB", "precision", "recall")
    note = "precision and recall: strict, out of fold on the training notes"
    return Table(columns, [list(map(_row, engines))], "engines that ship", note, n_texts=4)


def elsewhere_table(engines: Sequence[ShippedFacts]) -> Table:
    """A row a figure on other notes."""
    columns = ("engine", "corpus", "figure", "value")
    rows = [
        [(engine.name, str(row["corpus"]), str(row["figure"]), str(row["value"])) for row in engine.measured_elsewhere]
        for engine in engines
    ]
    return Table(columns, list(filter(None, rows)), "measured on other notes", n_texts=3)


def card_of(path: Path) -> str:
    """The model card of a bundle; :raises BundleError: if any of its files was changed."""
    _, files = read_bundle(path)
    return files.read(_CARD).decode("utf-8", "replace")


def _row(engine: ShippedFacts) -> tuple[str, ...]:
    documents = engine.trained_on.get("documents")
    trained_on = f"{documents} notes" if documents else "unknown"
    shares = ["" if share is None else percent(share) for share in (engine.precision, engine.recall)]
    size = f"{engine.size / 1e6:.1f}"
    return engine.name, engine.language, engine.label_set, trained_on, size, *shares
