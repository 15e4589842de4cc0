"""Notes per second and scores of every subset of a bundle's submodels.

    out/results.json                    every figure
    out/frontier.png, out/frontier.svg  recall by notes per second

A subset is on the frontier if no other is at least as good in both speed and recall and better in one. Every subset is
weighed by the stacker that was trained for it, on out-of-fold candidates, when the bundle was made.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from ensemble.bundles.bundle import load_bundle, read_manifest
from ensemble.evaluation import criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.experiments.frontier_view import frontier_picture
from ensemble.experiments.measuring import Measured, counts_of, measured
from ensemble.experiments.parts import described
from ensemble.experiments.results import write_results
from ensemble.experiments.speed import Run, measure_speed
from ensemble.stacking.subsets import Subset, no_stacker, subset_name, subsets_of
from ensemble.tools.progress import progress
from features.documents import Corpus
from features.errors import EvaluationError

__all__ = ["SCHEMA", "measure_frontier", "on_frontier", "processor", "write_frontier"]

SCHEMA = "phistack.frontier.v1"
_PROTOCOL = (
    "Each subset of the submodels, weighed by the stacker that was trained for it, annotated all notes in a fresh "
    "process with one thread on one core, {repetitions} times, in turn with the others. Speed is in notes per second "
    "of processor time, features included and load excluded: median, lowest and highest of the repetitions. "
    "Scores are by the criterion {criterion}, with 95 % bootstrap intervals by document."
)


def measure_frontier(
    corpus: Corpus, model: Path, *, repetitions: int = 3, criterion: str = "strict", seed: int = 0
) -> dict[str, Any]:
    """Measure every subset.

    :param corpus: annotated notes that the engine was not trained on.
    :param repetitions: of each subset, each in a process of its own.
    :param criterion: for recall, precision and F1.
    :param seed: of the bootstrap.
    :returns: the results, as JSON can hold them; rows from the fastest to the slowest.
    :raises EvaluationError: if the notes have no annotated PHI.
    :raises BundleError: if the bundle cannot be loaded, or has no stackers for subsets.
    """
    if not any(document.spans for document in corpus.documents):
        raise EvaluationError("the notes have no annotated PHI, so recall cannot be measured; check format and labels")
    rule = criterion_named(criterion)
    engine = load_bundle(model)
    subsets = [subset for subset in subsets_of(engine.names) if subset in {*engine.subset_stackers, engine.names}]
    if len(engine.names) > 1 and not engine.subset_stackers:
        raise no_stacker(engine.names[:1])
    runs = _runs(model, subsets, corpus, repetitions)
    counts = {
        subset_name(subset): counts_of(corpus, runs[subset][0].spans, engine.label_set, rule) for subset in subsets
    }
    return {
        "schema": SCHEMA,
        "date": date.today().isoformat(),
        "criterion": rule.name,
        "protocol": _PROTOCOL.format(repetitions=repetitions, criterion=rule.name),
        "trained on": read_manifest(model)["trained_on"],
        "notes": {**described(corpus), "characters": sum(len(document.text) for document in corpus.documents)},
        "machine": {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()},
        "repetitions": repetitions,
        "bootstrap resamples": RESAMPLES,
        "rows": _rows(runs, measured(counts, seed=seed)),
    }


def write_frontier(out: Path, corpus: Corpus, model: Path, **options: Any) -> dict[str, Any]:
    """Run `measure_frontier` and write the folder of results, complete or not at all.

    :param options: as for `measure_frontier`.
    :raises SettingsError: if the folder is already there; that is seen before anything is measured.
    """
    return write_results(out, lambda: measure_frontier(corpus, model, **options), frontier_picture)


def on_frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point, whether no other is at least as good in both coordinates and better in one."""
    return [not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points) for x, y in points]


def processor() -> str:
    """The name of the processor, as far as the system tells it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


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


def _rows(runs: Mapping[Subset, Sequence[Run]], scores: Mapping[str, Measured]) -> list[dict[str, Any]]:
    """A row a subset, from the fastest to the slowest."""
    rows = [_row(subset, runs[subset], scores[subset_name(subset)]) for subset in runs]
    best = on_frontier([(row["speed"]["median"], row["recall"]["value"]) for row in rows])
    marked = [row | {"on frontier": marked} for row, marked in zip(rows, best, strict=True)]
    return sorted(marked, key=lambda row: -float(row["speed"]["median"]))


def _row(subset: Subset, runs: Sequence[Run], scores: Measured) -> dict[str, Any]:
    speeds = [run.notes_per_second for run in runs]
    return {
        "name": subset_name(subset),
        "submodels": list(subset),
        "speed": {"median": median(speeds), "low": min(speeds), "high": max(speeds)},
        "load seconds": median(run.load_seconds for run in runs),
        "peak MB": max(run.peak_mb for run in runs),
        **scores.to_dict(),
    }
