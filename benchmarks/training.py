"""What the parts of a training take: each submodel's folds and final fit, the features, the stacker, loading.

    python -m benchmarks.training                                   of the results file of MEDDOCAN
    python -m benchmarks.training benchmarks/results/meddocan.json  of another one
    python -m benchmarks.training --corpus notes --submodels crf    train now, and keep nothing
    python -m benchmarks.training --corpus notes --against ../older --options "--folds 3"

The last trains with the code of an older checkout and with ours, and prints the processor time of both side by side and
F1 out of fold; the last line is `ratio R`. What is in `--options` goes to `phistack train`.

The seconds of a part are those of its process; with two processes two parts run at once. The whole training on MEDDOCAN
may take 20 minutes on 2 cores.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.measuring import LIMIT_MINUTES, RESULTS, training_parts
from benchmarks.results_file import BenchmarkResults, PartTime, TrainingTime
from benchmarks.training_against import compare
from phistack.ensemble.evaluation.tables import Table

_BAR = 24


@dataclass(frozen=True, slots=True)
class PartCost:
    """A row of the table.

    :param name: a submodel, `features`, `stacker` or `load`.
    :param n_folds: how many fits on parts of the notes.
    :param folds: their seconds by the clock, together.
    :param final: seconds by the clock of the fit on all notes, or of the part where it has no folds.
    :param cpu: processor seconds of all of it.
    :param share: of the processor seconds of the whole training.
    :param n_cached: how many of the folds came from the cache.
    """

    name: str
    n_folds: int
    folds: float
    final: float
    cpu: float
    share: float
    n_cached: int


def main() -> None:
    """Print the table of a results file, or of a training that is run now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS / "meddocan.json", help="a results file")
    parser.add_argument("--corpus", type=Path, help="annotated notes to train on now")
    parser.add_argument("--submodels", default="", help="names joined by commas; otherwise all")
    parser.add_argument("--language", default="", help="otherwise that of the corpus' label set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--against", type=Path, metavar="DIR", help="an older checkout to train with too")
    parser.add_argument("--options", default="", help="further ones of phistack train, with --against")
    arguments = parser.parse_args()
    if arguments.against:
        if not arguments.corpus:
            parser.error("--against needs a --corpus to train on")
        _print_comparison(arguments)
    elif arguments.corpus:
        print_parts(_train(arguments.corpus, arguments.submodels, arguments.language, arguments.jobs))
    elif arguments.results.exists():
        print_parts(msgspec.json.decode(arguments.results.read_bytes(), type=BenchmarkResults).training)
    else:
        sys.exit(f"training: there is no results file {arguments.results}")


def _print_comparison(arguments: argparse.Namespace) -> None:
    given = {"--submodels": arguments.submodels, "--language": arguments.language, "--jobs": str(arguments.jobs)}
    options = [word for pair in given.items() if pair[1] for word in pair]
    for line in compare(arguments.against, arguments.corpus, [*options, *shlex.split(arguments.options)]).lines():
        print(line)


def _train(path: Path, submodels: str, language: str, jobs: int) -> TrainingTime:
    """Train without a cache; what a results file has under `training`."""
    from phistack.ensemble.tools.clock import Stopwatch
    from phistack.ensemble.tools.comma_lists import comma_list
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.ensemble.training.trainer import train
    from phistack.features.columns.settings import FeatureSettings
    from phistack.features.formats import read_corpus
    from phistack.submodels.registry import SUBMODELS

    corpus = read_corpus(path, accept_unknown_labels=True)
    settings = EngineSettings(features=FeatureSettings(language=language or corpus.label_set.language))
    names = comma_list(submodels) or SUBMODELS
    watch = Stopwatch()
    trained = train(corpus, settings.only(names), jobs=jobs)
    wall = watch.spent().wall
    return TrainingTime(wall=wall, processes=jobs, limit=LIMIT_MINUTES, parts=training_parts(trained))


def costs_of(parts: Sequence[PartTime]) -> list[PartCost]:
    """One row a part of the training, the most expensive first."""
    cpu = sum(part.cpu for part in parts)
    costs = [_cost(name, [part for part in parts if part.part == name], cpu) for name in {p.part for p in parts}]
    return sorted(costs, key=lambda cost: (-cost.cpu, cost.name))


def _cost(name: str, steps: Sequence[PartTime], total_cpu: float) -> PartCost:
    folds = [step for step in steps if step.step.startswith("fold")]
    cpu = sum(step.cpu for step in steps)
    return PartCost(
        name=name,
        n_folds=len(folds),
        folds=sum(step.wall for step in folds),
        final=sum(step.wall for step in steps if not step.step.startswith("fold")),
        cpu=cpu,
        share=cpu / total_cpu if total_cpu else 0.0,
        n_cached=sum(step.cached for step in steps),
    )


def print_parts(training: TrainingTime) -> None:
    """The table with bars, and the total against the limit."""
    from rich.console import Console
    from rich.table import Table as Bars

    table = Bars(title="seconds of a training", title_justify="left")
    table.add_column("part")
    for column in ("folds", "start and final fit", "CPU", "CPU share"):
        table.add_column(column, justify="right")
    table.add_column("", width=_BAR)
    for cost in costs_of(training.parts):
        table.add_row(*_cells(cost), "█" * round(_BAR * cost.share))
    console = Console(width=100)
    console.print(table)
    for sentence in _sentences(training):
        console.print(sentence, highlight=False)


def markdown_parts(training: TrainingTime) -> Iterator[str]:
    """The same as lines of Markdown, without bars."""
    rows = [_cells(cost) for cost in costs_of(training.parts)]
    yield from Table(("seconds", "folds", "start and final fit", "CPU", "CPU share"), [rows]).markdown()
    yield ""
    yield " ".join(_sentences(training))


def _cells(cost: PartCost) -> tuple[str, ...]:
    folds = f"{cost.n_folds} x {cost.folds / cost.n_folds:.1f}" if cost.n_folds else ""
    return cost.name, folds, f"{cost.final:.1f}", f"{cost.cpu:.1f}", f"{100 * cost.share:.1f} %"


def _sentences(training: TrainingTime) -> Iterator[str]:
    costs = costs_of(training.parts)
    minutes, limit = training.wall / 60, training.limit
    share = f", {100 * minutes / limit:.0f} % of the {limit} that it may take" if limit else ""
    cpu = f"{sum(cost.cpu for cost in costs) / 60:.1f} minutes of processor time" if costs else "its parts unmeasured"
    yield f"The whole took {minutes:.1f} minutes by the clock in {training.processes} processes{share}; {cpu}."
    if n_cached := sum(cost.n_cached for cost in costs):
        yield f"The cache of an earlier run gave {n_cached} of the fits, so this is less than a whole training takes."


if __name__ == "__main__":
    main()
