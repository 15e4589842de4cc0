"""The results of an experiment: origin, tables, pictures, and the folder that holds them.

write_results(out, lambda: ablate(corpus, settings))
out/results.json     every figure, every setting, versions, the protocol and the command
out/*.tex            tables for LaTeX with booktabs
out/*.png, *.svg, *.pdf
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.resampling import Units
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.stacking.folds import patients_of
from phistack.ensemble.tools.version import code_digest, versions
from phistack.ensemble.training.fold_cache import corpus_digest
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.errors import need
from phistack.features.writing import new_folder, refuse_taken, write_json


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
        """The facts for JSON."""
        facts = asdict(self)
        return facts | {"label set": facts.pop("label_set"), "corpus SHA-256": facts.pop("digest")}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where results come from.

    :param schema: the form of `results.json`; it changes when a key is renamed or dropped.
    :param protocol: in sentences, what was trained and scored on which notes.
    :param settings: of training; None if nothing was trained.
    """

    schema: str
    criterion: str
    protocol: str
    settings: EngineSettings | None = None
    label_set: str = ""
    units: Units | None = None
    date: str = field(default_factory=lambda: date.today().isoformat())

    @property
    def counted(self) -> str:
        """The criterion in words, for titles and captions."""
        return criterion_named(self.criterion).at(self.label_set)

    @property
    def intervals(self) -> str:
        """How intervals were drawn, in words."""
        return self.units.intervals if self.units else ""

    @property
    def comment(self) -> str:
        """The first line of LaTeX tables, and the metadata of pictures."""
        stamp = f", settings {self.settings.digest}" if self.settings else ""
        return f"{self.schema}, {self.date}{stamp}"

    def to_dict(self) -> dict[str, Any]:
        """The first entries of `results.json`; the settings are complete, defaults included."""
        units = self.units.to_dict() if self.units else {}
        code = {"versions": {**versions(), "source SHA-256": code_digest()}}
        about = {"schema": self.schema, "date": self.date, "criterion": self.criterion, "protocol": self.protocol}
        if (settings := self.settings) is None:
            return {**about, **code, **units}
        stamped = {"settings hash": settings.digest, "settings": settings.complete()}
        return {**about, **code, **units, **stamped}


class ExperimentResults(Protocol):
    """What an experiment returns.

    `tables` has the names of their files, the main one first; `draw` writes pictures and other files; `to_dict` has
    every figure, for JSON.
    """

    @property
    def origin(self) -> Origin: ...
    def tables(self) -> Mapping[str, Table]: ...
    def draw(self, folder: Path) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...


_Results = TypeVar("_Results", bound=ExperimentResults)


def write_results(out: Path, measure: Callable[[], _Results], *, pictures: bool = True, command: str = "") -> _Results:
    """Run an experiment and write the folder of its results, complete or not at all.

    :param measure: the experiment; not called if the path is taken.
    :param command: the command line, for `results.json`.
    :raises SettingsError: if the path is taken.
    :raises MissingResourceError: if matplotlib is needed and not installed.
    """
    if pictures:
        need("matplotlib", "pictures", "the picture of an experiment")
    refuse_taken(out)
    results = measure()
    with new_folder(out) as folder:
        write_json(folder / "results.json", results.to_dict() | ({"command": command} if command else {}))
        for name, table in results.tables().items():
            (folder / f"{name}.tex").write_text(table.latex(results.origin.comment), encoding="utf-8")
        results.draw(folder)
    return results
