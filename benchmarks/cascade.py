"""What a trained engine's cascade saves and costs, on annotated notes that it was not trained on.

    python -m benchmarks.cascade --model meddocan_output/engine --corpus ../shared/corpora/meddocan/dev

Annotates the notes with and without the cascade in turn, each time in a fresh process on one core. Prints notes per
second of processor time (the median), strict recall and F1, how much PHI the cascade loses and how much it adds, and as
*lines* the share of the tokens in lines in doubt; a network reads the rows with these. Last line: `ratio R`, the speed
with the cascade divided by that without.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.experiments.speed import Run, Speed, measure_speed
from phistack.ensemble.tools.progress import progress
from phistack.features.columns.table import line_bounds
from phistack.features.documents import Corpus, Document
from phistack.features.formats import read_corpus

ROADS = {"every line": False, "lines in doubt": True}


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    engine = load_bundle(arguments.model)
    if engine.cascade is None:
        sys.exit("cascade: this engine has none; nothing costly is in it, or training found none that pays")
    gold = read_corpus(arguments.corpus)
    runs: dict[str, list[Run]] = {road: [] for road in ROADS}
    with progress("cascade", total=arguments.repetitions * len(ROADS)) as advance:
        for _ in range(arguments.repetitions):
            for road, cascade in ROADS.items():
                runs[road].append(measure_speed(arguments.model, engine.names, gold.documents, cascade=cascade))
                advance(f"{road}, {runs[road][-1].notes_per_second:.0f} notes a second")
    Console(width=120).print(table_of(gold, engine, runs))
    slow, fast = (runs[road][0].spans for road in ROADS)
    truth = [set(document.spans) for document in gold.documents]
    lost, found = (
        sum(len(spans & (set(a) - set(b))) for spans, a, b in zip(truth, before, after, strict=True))
        for before, after in ((slow, fast), (fast, slow))
    )
    print(f"of {sum(map(len, truth))} PHI the cascade loses {lost} and finds {found} besides")
    speeds = [Speed.of(runs[road]).notes_per_second.value for road in ROADS]
    print(f"ratio {speeds[1] / speeds[0]:.2f}")


def table_of(gold: Corpus, engine: Engine, runs: dict[str, list[Run]]) -> Table:
    """A row with the cascade and one without."""
    corpora = {
        road: replace(gold, documents=tuple(map(Document.with_spans, gold.documents, runs[road][0].spans)))
        for road in ROADS
    }
    reports = evaluate_systems(gold, corpora)
    shares = {"every line": 1.0, "lines in doubt": share_in_doubt(engine, gold)}
    table = Table("read", "lines", "notes/s", "lowest-highest", "recall", "F1")
    for road in ROADS:
        score, speed = reports[road].strict, Speed.of(runs[road]).cells
        table.add_row(
            road, f"{shares[road]:.3f}", *speed[:2], f"{100 * score.recall.value:.2f}", f"{100 * score.f1.value:.2f}"
        )
    return table


def share_in_doubt(engine: Engine, corpus: Corpus) -> float:
    """The share of the tokens that are in lines in doubt."""
    if engine.cascade is None:
        return 1.0
    tables = engine.space.tables(document.with_spans(()) for document in corpus.documents)
    wanted = engine.cascade.lines_in_doubt(tables, engine.submodels, engine.stackers)
    lengths = (np.diff(line_bounds(table)) for table in tables)
    return sum(int(n[lines].sum()) for n, lines in zip(lengths, wanted, strict=True)) / max(sum(map(len, tables)), 1)


if __name__ == "__main__":
    run_main(main)
