"""What all experiments share: train, annotate with every system, score, and write the folder of results.

    answers = answers_of(training, settings, unseen=notes)  {"crf": [spans of note 1, ...], "stack": [...]}
    systems_of(gold, answers, labels, criterion)            their scores, and how far they differ
    write_results(out, lambda: ablate(corpus, settings))    results.json with every figure and setting, tables, pictures

A system is one submodel alone or a stack over several. The cache keeps no models, as they hold words of the training
notes; instead `remember` records where the bundle is, and `engine_of` loads it to propose for other notes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import Criterion, Score, criterion_named
from phistack.ensemble.evaluation.measures import Macro, macro
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Systems, counts_of
from phistack.ensemble.evaluation.tables import Cell, Table, strong
from phistack.ensemble.stacking.candidates import Decision, chosen_spans, pools_of
from phistack.ensemble.stacking.folds import fold_groups_of, patients_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.svm import SvmSettings
from phistack.ensemble.tools.version import code_digest, versions
from phistack.ensemble.training.fit_tasks import FoldCache, corpus_digest, digests_of_files
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import PhistackError, need
from phistack.features.labels import LabelSet
from phistack.features.writing import new_file, new_folder, refuse_taken, write_json

Answers = Sequence[Sequence[Span]]
"""The spans of a system, note by note."""

STACK = "stack"
"""The name of the stack over all submodels, as a system."""
ALONE = "submodel alone"
_Name = TypeVar("_Name", bound=Hashable)


def system_cell(name: str) -> str | Cell:
    """The name of a system for a table; the stack is bold."""
    return strong(name) if name == STACK else name


def plain(value: Any) -> Any:
    """A value for JSON: an object with `to_dict`, at any depth, is replaced by its result."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def seeded(settings: EngineSettings, n_seeds: int) -> list[EngineSettings]:
    """The same settings with their own seed and the next ones, `n_seeds` in all."""
    return [replace(settings, seed=settings.seed + number) for number in range(n_seeds)]


def over_seeds(runs: Sequence[Mapping[_Name, Score]]) -> dict[_Name, Macro]:
    """The mean and sample standard deviation of each system's micro scores over runs with different seeds."""
    return {name: macro(np.array([run[name].counts for run in runs]), sample=True) for name in runs[0]}


def fitting(settings: EngineSettings, corpus: Corpus) -> EngineSettings:
    """The same settings with no more folds than the corpus has patients or other unsplit groups."""
    return replace(settings, folds=max(2, min(settings.folds, len(fold_groups_of(corpus)))))


def alone_answers(proposed: Proposed, name: str) -> list[list[Span]]:
    """The spans of one submodel alone: on the unseen notes or, if there are none, out of fold."""
    notes = proposed.on_unseen[name] if proposed.unseen else proposed.out_of_fold[name]
    return list(map(chosen_spans, notes, (table.view for table in proposed.unseen or proposed.tables)))


def stack_answers(
    proposed: Proposed, names: Sequence[str], stacker: Stacker, *, seed: int, kernels: Sequence[SvmSettings] = ()
) -> list[list[Span]]:
    """The spans of a stack over some submodels, in training order, on the same notes; parameters as in `Stacker.fit`.

    :returns: no span if none of them proposed anything out of fold.
    """
    decided = stack_decisions(proposed, names, stacker, seed=seed, kernels=kernels)
    return [[decision.span for decision in note if decision.accepted] for note in decided]


def stack_decisions(
    proposed: Proposed, names: Sequence[str], stacker: Stacker, *, seed: int, kernels: Sequence[SvmSettings] = ()
) -> list[list[Decision]]:
    """The decision on each candidate, by offsets in the notes as written."""
    pools = pools_of(proposed.tables, proposed.out_of_fold, names)
    if not any(pools):
        return [[] for _ in proposed.unseen or proposed.tables]
    stacker.fit(proposed.tables, pools, sources=tuple(names), seed=seed, kernels=kernels)
    if not proposed.unseen:
        return stacker.decided_
    unseen = pools_of(proposed.unseen, proposed.on_unseen, names)
    notes = zip(proposed.unseen, stacker.decide_all(proposed.unseen, unseen), strict=True)
    return [[decision.in_note(table.view) for decision in decisions] for table, decisions in notes]


def answers_of(
    training: Corpus,
    settings: EngineSettings,
    *,
    unseen: Sequence[Document] = (),
    stack: bool = True,
    added: Sequence[Document] = (),
    jobs: int = 1,
    cache: Path | None = None,
) -> dict[str, Answers]:
    """Train, and annotate with each submodel and the stack, if wanted; other parameters are those of `propose`."""
    settings = fitting(settings, training)
    proposed = propose(
        training, settings, unseen=unseen, out_of_fold=stack or not unseen, added=added, jobs=jobs, cache=cache
    )
    answers: dict[str, Answers] = {name: alone_answers(proposed, name) for name in settings.submodels}
    if stack:
        answers[STACK] = stack_answers(
            proposed, tuple(settings.submodels), Stacker(settings.stacker), seed=settings.seed
        )
    return answers


def systems_of(
    gold: Corpus,
    answers: Mapping[str, Answers],
    labels: LabelSet,
    criterion: Criterion,
    *,
    resampling: Resampling = BY_PATIENT,
) -> Systems:
    """The scores of systems, and their differences.

    :param answers: of each system, in the order of gold's documents, with labels of the set `labels`.
    """
    notes = replace(gold, label_set=labels)
    counts = {name: counts_of(gold, notes.with_spans(found), criterion) for name, found in answers.items()}
    return Systems(counts, [document.group for document in gold.documents], resampling)


def remember(cache: Path, bundle: Path, settings: EngineSettings, corpus: Corpus) -> None:
    """Record in a cache the place of the bundle trained with these settings on this corpus alone."""
    with new_file(_note_of(cache, settings, corpus), replace=True) as part:
        part.write_text(json.dumps({"bundle": str(bundle.absolute())}), encoding="utf-8")


def engine_of(cache: Path | None, settings: EngineSettings, corpus: Corpus) -> Engine | None:
    """The engine that `remember` recorded; None if there is none, it has other submodels, or it cannot be loaded."""
    if cache is None:
        return None
    try:
        path = json.loads(_note_of(cache, settings, corpus).read_text(encoding="utf-8"))["bundle"]
        engine = load_bundle(Path(path)).with_options(cascade=False)
    except (OSError, ValueError, TypeError, KeyError, PhistackError):
        return None
    return engine if engine.names == tuple(settings.submodels) else None


def _note_of(cache: Path, settings: EngineSettings, corpus: Corpus) -> Path:
    files = digests_of_files(settings.to_dict())
    return cache / f"{FoldCache.key(corpus.documents, (), settings.digest, *files)}.bundle.json"


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
