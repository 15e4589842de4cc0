"""Notes per second and scores of every subset of a bundle's submodels.

    write_results(out, lambda: measure_frontier(corpus, Path("engine")))
    out/frontier.png, ...       recall by notes per second

A subset is on the frontier if no other is at least as good in both speed and recall and better in one. Each subset uses
the stacker that was trained for it, out of fold, with the bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation import Score, criterion_named
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, strong
from phistack.ensemble.experiments.parts import CorpusFacts, Origin, plain, systems_of
from phistack.ensemble.experiments.pictures import BLUE, GREY, PALE, picture
from phistack.ensemble.experiments.speed import Run, Speed, measure_speed, this_machine
from phistack.ensemble.stacking.subsets import Subset, no_stacker, subset_name, subsets_of
from phistack.ensemble.tools.progress import progress
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = "phistack.frontier.v1"
_COLUMNS = ("system", "frontier", "notes/s", "range", "load in s", "peak MB", "precision", "recall", "F1")
_PROTOCOL = (
    "Each subset of the submodels, with the stacker that was trained for it, annotated all notes in a new process with "
    "one thread on one core, {repetitions} times, in turn with the others. Speed is in notes per second "
    "of processor time, features included and load excluded: median, lowest and highest of the repetitions. "
    "Scores are by the criterion {criterion}, with {intervals}."
)


@dataclass(frozen=True, slots=True)
class SubsetRow:
    """A subset of the submodels; :param is_best: whether it is on the frontier."""

    subset: Subset
    speed: Speed
    score: Score
    is_best: bool

    @property
    def name(self) -> str:
        """The names of the submodels, joined; `stack over crf` is not the submodel `crf` alone."""
        return subset_name(self.subset) if len(self.subset) > 1 else f"stack over {self.subset[0]}"

    @property
    def place(self) -> tuple[float, float]:
        """The place in the picture: notes per second, and recall in percent."""
        return self.speed.notes_per_second.value, 100 * self.score.recall.value

    def to_dict(self) -> dict[str, Any]:
        figures = {**self.speed.to_dict(), **self.score.to_dict()}
        return {"name": self.name, "submodels": list(self.subset), **figures, "on frontier": self.is_best}


@dataclass(frozen=True, slots=True)
class Frontier:
    """All subsets, the fastest first; :param trained_on: the bundle's facts about its training notes."""

    origin: Origin
    trained_on: Mapping[str, Any]
    notes: CorpusFacts
    characters: int
    machine: dict[str, Any]
    repetitions: int
    rows: tuple[SubsetRow, ...]

    def tables(self) -> dict[str, Table]:
        """One row per subset; those on the frontier are bold and have a dot."""
        what = f"speed and scores of {self.notes.documents} notes on one core, {self.origin.counted}"
        caption = (
            f"{what[0].upper()}{what[1:]}, by the stacked submodels. Speed is in notes per second of processor time, "
            f"the median of {self.repetitions}; no other subset is both faster and better than those in bold. "
            f"The results file has {self.origin.intervals}."
        )
        rows: list[TableRow] = [
            (
                strong(row.name) if row.is_best else row.name, "●" if row.is_best else "", *row.speed.cells,
                *(percent(measure.value) for measure in row.score.measures.values()),
            )
            for row in self.rows
        ]  # fmt: skip
        return {"table": Table(_COLUMNS, [rows], what, "", 1, caption)}

    def draw(self, folder: Path) -> None:
        """Recall by notes per second, the frontier as a stepped line; points are numbered as in the legend."""
        title = f"Speed and recall of {self.notes.documents} notes, {self.origin.counted}"
        with picture(folder, "frontier", title, size=(7.5, 4.6), comment=self.origin.comment) as figure:
            axes = figure.subplots()
            _scales(axes)
            speeds, recalls = zip(*(row.place for row in self.rows if row.is_best), strict=True)
            axes.step(speeds, recalls, where="pre", color=BLUE, linewidth=1, zorder=1)
            for number, row in enumerate(self.rows, start=1):
                colour = BLUE if row.is_best else GREY
                axes.plot(*row.place, marker=f"${number}$", markersize=8, linestyle="", color=colour, label=row.name)
            figure.legend(loc="outside right upper", frameon=False, fontsize=8, labelcolor="linecolor")

    def to_dict(self) -> dict[str, Any]:
        notes = {"notes": {**self.notes.to_dict(), "characters": self.characters}}
        measured = {"machine": self.machine, "repetitions": self.repetitions, "rows": self.rows}
        return {**self.origin.to_dict(), "trained on": dict(self.trained_on), **notes, **plain(measured)}


def measure_frontier(
    corpus: Corpus, model: Path, *, repetitions: int = 3, criterion: str = "strict", resampling: Resampling = BY_PATIENT
) -> Frontier:
    """Measure every subset.

    :param corpus: annotated notes that the engine was not trained on.
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
    runs: dict[Subset, list[Run]] = {subset: [] for subset in subsets}
    with progress("measuring", total=repetitions * len(subsets)) as advance:
        for subset in subsets * repetitions:
            run = measure_speed(model, subset, corpus.documents)
            runs[subset].append(run)
            advance(f"{subset_name(subset)}, {run.notes_per_second:.0f} notes a second")
    answers = {subset_name(subset): runs[subset][0].spans for subset in subsets}
    systems = systems_of(corpus, answers, engine.label_set, rule, resampling=resampling)
    protocol = _PROTOCOL.format(repetitions=repetitions, criterion=rule.name, intervals=systems.units.intervals)
    origin = Origin(SCHEMA, rule.name, protocol, None, corpus.label_set.name, systems.units)
    trained_on, characters = read_manifest(model)["trained_on"], sum(len(note.text) for note in corpus.documents)
    rows = _rows(runs, systems.scores)
    return Frontier(origin, trained_on, CorpusFacts.of(corpus), characters, this_machine(), repetitions, rows)


def on_frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point, whether no other is at least as good in both coordinates and better in one."""
    return [not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points) for x, y in points]


def _rows(runs: Mapping[Subset, Sequence[Run]], scores: Mapping[str, Score]) -> tuple[SubsetRow, ...]:
    """One row per subset, the fastest first."""
    speeds = [Speed.of(of_subset) for of_subset in runs.values()]
    found = [scores[subset_name(subset)] for subset in runs]
    best = on_frontier([(s.notes_per_second.value, f.recall.value) for s, f in zip(speeds, found, strict=True)])
    rows = map(SubsetRow, runs, speeds, found, best)
    return tuple(sorted(rows, key=lambda row: -row.speed.notes_per_second.value))


def _scales(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("notes per second of one core (logarithmic)")
    axes.set_ylabel("recall in percent")
    axes.grid(color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.08, y=0.08)
