"""How long the parts of a training take: each submodel's folds and final fit, the features, the stacker, loading.

    python -m benchmarks.training                                   of the results file of MEDDOCAN
    python -m benchmarks.training benchmarks/results/meddocan.json  of another one
    python -m benchmarks.training --corpus notes --submodels crf    train now, and keep nothing

The seconds of a part are those of its process; with two processes two parts run at once. The whole training on MEDDOCAN
may take 20 minutes on 2 cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.measuring import LIMIT_MINUTES, RESULTS, training_parts
from benchmarks.results_file import BenchmarkResults, PartTime, TrainingTime
from benchmarks.running import run_main
from phistack.ensemble.evaluation.tables import Table, TableRow
from phistack.ensemble.tools.clock import Stopwatch
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.formats import read_corpus
from phistack.submodels.registry import SUBMODELS


def main() -> None:
    """Print the table of a results file, or of a training that is run now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS / "meddocan.json", help="a results file")
    parser.add_argument("--corpus", type=Path, help="annotated notes to train on now")
    parser.add_argument("--submodels", default=",".join(SUBMODELS), help="names joined by commas; otherwise all")
    parser.add_argument("--language", default="", help="otherwise that of the corpus' label set")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.corpus:
        training = _train(arguments.corpus, comma_list(arguments.submodels), arguments.language, arguments.jobs)
    elif arguments.results.exists():
        training = msgspec.json.decode(arguments.results.read_bytes(), type=BenchmarkResults).training
    else:
        sys.exit(f"training: there is no results file {arguments.results}")
    console = Console(width=100)
    console.print(table_of(training))
    console.print(" ".join(sentences_of(training)), highlight=False)


def _train(path: Path, submodels: Sequence[str], language: str, jobs: int) -> TrainingTime:
    """Train without a cache; returns what a results file has under `training`."""
    corpus = read_corpus(path, accept_unknown_labels=True)
    settings = EngineSettings(features=FeatureSettings(language=language or corpus.label_set.language))
    watch = Stopwatch()
    trained = train(corpus, settings.only(tuple(submodels)), jobs=jobs)
    wall = watch.spent().wall
    return TrainingTime(wall=wall, processes=jobs, limit=LIMIT_MINUTES, parts=training_parts(trained))


def table_of(training: TrainingTime) -> Table:
    """A row for each part of the training, the most expensive first."""
    cpu: dict[str, float] = {}
    for part in training.parts:
        cpu[part.part] = cpu.get(part.part, 0.0) + part.cpu
    rows: list[TableRow] = []
    for name in sorted(cpu, key=lambda name: (-cpu[name], name)):
        folds, whole = _walls(training.parts, name)
        shown = f"{len(folds)} x {sum(folds) / len(folds):.1f}" if folds else ""
        share = cpu[name] / (sum(cpu.values()) or 1)
        rows.append((name, shown, f"{sum(whole):.1f}", f"{cpu[name]:.1f}", f"{100 * share:.1f} %"))
    return Table(("seconds", "folds", "start and final fit", "CPU", "CPU share"), [rows])


def _walls(parts: Sequence[PartTime], name: str) -> tuple[list[float], list[float]]:
    """The wall-clock seconds of each fold of a part, and of each fit on all notes."""
    walls: tuple[list[float], list[float]] = [], []
    for part in parts:
        if part.part == name:
            walls[not part.step.startswith("fold")].append(part.wall)
    return walls


def sentences_of(training: TrainingTime) -> Iterator[str]:
    """The time of the whole training against its limit, and how much a cache saved."""
    minutes, limit, parts = training.wall / 60, training.limit, training.parts
    share = f", {100 * minutes / limit:.0f} % of the {limit} that it may take" if limit else ""
    cpu = f"{sum(part.cpu for part in parts) / 60:.1f} minutes of processor time" if parts else "its parts unmeasured"
    yield f"The whole took {minutes:.1f} minutes by the clock in {training.processes} processes{share}; {cpu}."
    if n_cached := sum(part.cached for part in parts):
        yield f"The cache of an earlier run gave {n_cached} of the fits, so this is less than a whole training takes."


if __name__ == "__main__":
    run_main(main)
