"""What every experiment gives: where its figures come from, a table, pictures, and the folder that holds them all.

write_results(out, lambda: ablate(corpus, settings))
out/results.json     every figure, the settings and the protocol
out/table.tex        for LaTeX with booktabs
out/*.png, *.svg     pictures
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.stacking.folds import patients_of
from phistack.ensemble.training.fold_cache import corpus_digest
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.extras import need
from phistack.features.writing import new_folder, refuse_taken, write_json

BOOTSTRAP = r"95\,\% bootstrap intervals by document"
"""As captions name the intervals."""


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """A corpus in figures.

    :param digest: SHA-256 of its notes and spans.
    """

    documents: int
    patients: int
    spans: int
    label_set: str
    digest: str

    @classmethod
    def of(cls, corpus: Corpus) -> Self:
        """Count a corpus."""
        spans = sum(len(document.spans) for document in corpus.documents)
        digest = corpus_digest(corpus.documents)
        return cls(len(corpus), len(patients_of(corpus)), spans, corpus.label_set.name, digest)

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON can hold them."""
        return {
            "documents": self.documents,
            "patients": self.patients,
            "spans": self.spans,
            "label set": self.label_set,
            "corpus SHA-256": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """How results came about.

    :param schema: the name of the form of `results.json`, which changes when a key is renamed or dropped.
    :param criterion: what counts as a hit.
    :param protocol: what was trained and scored on what, in sentences.
    :param settings: of training, where anything was trained.
    """

    schema: str
    criterion: str
    protocol: str
    settings: EngineSettings | None = None
    date: str = field(default_factory=lambda: date.today().isoformat())

    def title(self, what: str) -> str:
        """Of a table or picture."""
        return f"{what}, {self.criterion} ({self._stamp})"

    @property
    def comment(self) -> str:
        """In the first line of a table for LaTeX."""
        return f"{self.schema}, {self._stamp}"

    @property
    def _stamp(self) -> str:
        return f"{self.date}, settings {self.settings.digest}" if self.settings else self.date

    def to_dict(self) -> dict[str, Any]:
        """The first entries of `results.json`."""
        settings = {"settings hash": self.settings.digest, "settings": self.settings.to_dict()} if self.settings else {}
        return {
            "schema": self.schema,
            "date": self.date,
            **settings,
            "criterion": self.criterion,
            "protocol": self.protocol,
        }


class ExperimentResults(Protocol):
    """What an experiment found."""

    @property
    def origin(self) -> Origin:
        """How it came about."""

    @property
    def caption(self) -> str:
        """Of the table, in LaTeX."""

    def table(self) -> Table:
        """The figures that matter."""

    def draw(self, folder: Path) -> None:
        """Write pictures, and whatever else belongs to the results, to a folder."""

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""


_Results = TypeVar("_Results", bound=ExperimentResults)


def write_results(out: Path, measure: Callable[[], _Results], *, pictures: bool = True) -> _Results:
    """Run an experiment, and write the folder of its results, complete or not at all.

    :param measure: the experiment; not called where the folder is taken.
    :param pictures: whether it draws any.
    :raises SettingsError: if there is anything at the path.
    :raises MissingResourceError: if what draws pictures is not installed.
    """
    if pictures:
        need("matplotlib", "pictures", "the picture of an experiment")
    refuse_taken(out)
    results = measure()
    with new_folder(out) as folder:
        write_json(folder / "results.json", results.to_dict())
        table = results.table().latex(results.origin.comment, results.caption)
        (folder / "table.tex").write_text(table, encoding="utf-8")
        results.draw(folder)
    return results
