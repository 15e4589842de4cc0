"""Notes per second and scores of every subset of a bundle's submodels.

    frontier = measure_frontier(corpus, Path("engine"))
    write_results(out, lambda: measure_frontier(corpus, Path("engine")))
    out/frontier.png, ...       recall by notes per second

A subset is on the frontier if no other is at least as good in both speed and recall and better in one. Every subset is
weighed by the stacker that was trained for it, on out-of-fold candidates, when the bundle was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation import Score, criterion_named
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.frontier_picture import SubsetRow, frontier_picture
from phistack.ensemble.experiments.parts import systems_of
from phistack.ensemble.experiments.results import CorpusFacts, Origin
from phistack.ensemble.experiments.speed import Machine, Run, Speed, measure_speed
from phistack.ensemble.stacking.subsets import Subset, no_stacker, subset_name, subsets_of
from phistack.ensemble.tools.progress import progress
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError

SCHEMA = "phistack.frontier.v1"
_COLUMNS = ("system", "frontier", "notes/s", "range", "load in s", "peak MB", "precision", "recall", "F1")
_PROTOCOL = (
    "Each subset of the submodels, weighed by the stacker that was trained for it, annotated all notes in a fresh "
    "process with one thread on one core, {repetitions} times, in turn with the others. Speed is in notes per second "
    "of processor time, features included and load excluded: median, lowest and highest of the repetitions. "
    "Scores are by the criterion {criterion}, with {intervals}."
)


@dataclass(frozen=True, slots=True)
class Frontier:
    """All subsets, from the fastest to the slowest.

    :param trained_on: what the bundle says of its training.
    :param notes: what was annotated.
    :param characters: how many those have.
    :param repetitions: of each measurement.
    """

    origin: Origin
    trained_on: Mapping[str, Any]
    notes: CorpusFacts
    characters: int
    machine: Machine
    repetitions: int
    rows: tuple[SubsetRow, ...]

    def tables(self) -> dict[str, Table]:
        """A row a subset; those on the frontier are bold and have a dot."""
        what = f"speed and scores of {self.notes.documents} notes on one core, {self.origin.counted}"
        caption = (
            f"{what[0].upper()}{what[1:]}, by the stacked submodels. Speed is in notes per second of processor time, "
            f"the median of {self.repetitions}; no other subset is both faster and better than those in bold. "
            f"The results file has {self.origin.intervals}."
        )
        return {"table": Table(_COLUMNS, [[row.cells for row in self.rows]], what, "", 1, caption)}

    def draw(self, folder: Path) -> None:
        """Recall by notes per second."""
        title = f"Speed and recall of {self.notes.documents} notes, {self.origin.counted}"
        frontier_picture(title, self.rows, folder, comment=self.origin.comment)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "trained on": dict(self.trained_on),
            "notes": {**self.notes.to_dict(), "characters": self.characters},
            "machine": asdict(self.machine),
            "repetitions": self.repetitions,
            "rows": [row.to_dict() for row in self.rows],
        }


def measure_frontier(
    corpus: Corpus,
    model: Path,
    *,
    repetitions: int = 3,
    criterion: str = "strict",
    resampling: Resampling = BY_PATIENT,
) -> Frontier:
    """Measure every subset.

    :param corpus: annotated notes that the engine was not trained on.
    :param repetitions: of each subset, each in a new process.
    :param criterion: for recall, precision and F1.
    :raises EvaluationError: if the notes have no annotated PHI.
    :raises BundleError: if the bundle cannot be loaded, or has no stackers for subsets.
    """
    if not any(document.spans for document in corpus.documents):
        raise EvaluationError("the notes have no annotated PHI, so recall cannot be measured; check format and labels")
    rule = criterion_named(criterion)
    engine = load_bundle(model)
    subsets = [subset for subset in subsets_of(engine.names) if subset in engine.stackers]
    if len(engine.names) > 1 and not engine.subset_stackers:
        raise no_stacker(engine.names[:1])
    runs = _runs(model, subsets, corpus, repetitions)
    answers = {subset_name(subset): runs[subset][0].spans for subset in subsets}
    systems = systems_of(corpus, answers, engine.label_set, rule, seed=resampling.seed, resampling=resampling)
    protocol = _PROTOCOL.format(repetitions=repetitions, criterion=rule.name, intervals=systems.units.intervals)
    return Frontier(
        origin=Origin(SCHEMA, rule.name, protocol, None, corpus.label_set.name, systems.units),
        trained_on=read_manifest(model)["trained_on"],
        notes=CorpusFacts.of(corpus),
        characters=sum(len(document.text) for document in corpus.documents),
        machine=Machine.here(),
        repetitions=repetitions,
        rows=_rows(runs, systems.scores),
    )


def on_frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point, whether no other is at least as good in both coordinates and better in one."""
    return [not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points) for x, y in points]


def _runs(model: Path, subsets: Sequence[Subset], corpus: Corpus, repetitions: int) -> dict[Subset, list[Run]]:
    """Every subset in turn, as often as asked."""
    runs: dict[Subset, list[Run]] = {subset: [] for subset in subsets}
    with progress("measuring", total=repetitions * len(subsets)) as advance:
        for _ in range(repetitions):
            for subset in subsets:
                run = measure_speed(model, subset, corpus.documents)
                runs[subset].append(run)
                advance(f"{subset_name(subset)}, {run.notes_per_second:.0f} notes a second")
    return runs


def _rows(runs: Mapping[Subset, Sequence[Run]], scores: Mapping[str, Score]) -> tuple[SubsetRow, ...]:
    """A row a subset, from the fastest to the slowest."""
    speeds = [Speed.of(of_subset) for of_subset in runs.values()]
    found = [scores[subset_name(subset)] for subset in runs]
    best = on_frontier([(s.notes_per_second.value, f.recall.value) for s, f in zip(speeds, found, strict=True)])
    rows = map(SubsetRow, runs, speeds, found, best)
    return tuple(sorted(rows, key=lambda row: -row.speed.notes_per_second.value))
