"""Train with default settings on one part of a corpus, score another, and write everything as one results file.

    corpus = Benchmark("meddocan", "MEDDOCAN dev", protocol="Trained on train, scored on dev.")
    results = measure(corpus, train, dev, settings, out=Path("meddocan_output"), jobs=2)
    write_results(Path("benchmarks/results"), results)          benchmarks/results/meddocan.json

`benchmarks.results` writes README.md's tables from these files, and `benchmarks.training` prints the parts of the time.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.results_file import (
    BenchmarkResults,
    DocumentNumbers,
    PartTime,
    StackerFigures,
    SystemFigures,
    TrainingTime,
    TypeFigures,
)
from phistack.ensemble.evaluation import Score
from phistack.ensemble.evaluation.systems import figures_of, table_of
from phistack.ensemble.tasks.training import score_on, train_bundle
from phistack.ensemble.tools.clock import Stopwatch
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Training
from phistack.features.documents import Corpus
from phistack.features.formats import write_corpus
from phistack.features.writing import write_json
from phistack.submodels.registry import SUBMODELS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CORPORA = ROOT.parent / "shared" / "corpora"
LIMIT_MINUTES = 20
"""The time limit of a whole training on MEDDOCAN on 2 cores."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A corpus that engines are measured on.

    :param name: of the results file.
    :param title: above its tables.
    :param protocol: how it was trained and how often it was scored, in one or two sentences.
    :param criteria: further criteria whose F1 is reported, as `ensemble.evaluation` names them.
    :param limit_minutes: the time limit of the whole training; `None` for no limit.
    """

    name: str
    title: str
    protocol: str
    criteria: tuple[str, ...] = ()
    limit_minutes: int | None = None


def parser(what: str | None, out: Path) -> ArgumentParser:
    """The arguments of a command that trains and measures; :param out: the folder of engine and fold predictions."""
    found = ArgumentParser(description=what)
    found.add_argument("--out", type=Path, default=out, help="engines and fold predictions")
    found.add_argument("--results", type=Path, default=RESULTS, help="folder of the results files")
    found.add_argument("--jobs", type=int, default=2)
    found.add_argument("--submodels", default=",".join(SUBMODELS))
    found.add_argument("--clusters", default="", help="Brown clusters: a file, or installed")
    return found


def measure(
    benchmark: Benchmark, training: Corpus, unseen: Corpus, settings: EngineSettings, *, out: Path, jobs: int
) -> BenchmarkResults:
    """Train, score each submodel and the stack, and time `phistack annotate`.

    :param training: the notes to train on.
    :param unseen: the notes to score, of other patients.
    :param out: a folder for the engine, which is replaced, and for the fold predictions, which are kept.
    """
    engine = out / "engine"
    shutil.rmtree(engine, ignore_errors=True)
    watch = Stopwatch()
    trained, _ = train_bundle(training, engine, settings, jobs=jobs, cache=out / "folds")
    spent = watch.spent()
    reports = score_on(trained.engine, unseen)
    strict = {name: report.strict for name, report in reports.items()}
    Console(width=120).print(table_of(f"{benchmark.title}, strict", strict))
    systems = {
        name: {**row, "f1 by criterion": {title: reports[name].score(title).f1.value for title in benchmark.criteria}}
        for name, row in figures_of(strict).items()
    }
    return BenchmarkResults(
        benchmark=benchmark.name,
        title=benchmark.title,
        date=date.today().isoformat(),
        digest=settings.digest,
        settings=settings.to_dict(),
        protocol=benchmark.protocol,
        documents=DocumentNumbers(len(training), len(unseen)),
        systems=msgspec.convert(systems, dict[str, SystemFigures]),
        types={score.name: _type_figures(score) for score in reports["stack"].types},
        stacker=StackerFigures(trained.engine.stacker.figures_, trained.engine.stacker.threshold_),
        training=TrainingTime(
            wall=round(spent.wall, 1),
            limit=benchmark.limit_minutes,
            processes=jobs,
            cores=os.cpu_count(),
            peak_mb=round(_peak_memory()),
            parts=training_parts(trained),
        ),
        annotate_seconds=round(_annotate_seconds(unseen, engine), 1),
    )


def write_results(folder: Path, results: BenchmarkResults) -> Path:
    """Write `NAME.json`, replacing an older one; returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results.benchmark}.json"
    write_json(path, msgspec.to_builtins(results))
    print(f"{path} is written; `make results` writes README.md and docs/results.md from it", file=sys.stderr)
    return path


def training_parts(training: Training) -> tuple[PartTime, ...]:
    """The time of each part of a training, ordered by name."""
    return tuple(
        PartTime(name, step, round(spent.wall, 2), round(spent.cpu, 2), spent.cached)
        for (name, step), spent in sorted(training.seconds.items())
    )


def _type_figures(score: Score) -> TypeFigures:
    precision, recall, f1 = (measure.value for measure in score.measures.values())
    return TypeFigures(score.counts.support, precision, recall, f1, score.recall_by_wilson[1:])


def _annotate_seconds(unseen: Corpus, engine: Path) -> float:
    """Wall-clock seconds of the whole command on the unseen notes, without their spans."""
    plain = replace(unseen, documents=tuple(document.with_spans(()) for document in unseen.documents))
    with tempfile.TemporaryDirectory() as temporary:
        notes, found = Path(temporary) / "notes.jsonl", Path(temporary) / "found.jsonl"
        write_corpus(plain, notes, format="jsonl")
        phistack = [sys.executable, "-m", "phistack.ensemble.command_line.app"]
        command = [*phistack, "annotate", str(notes), str(found), "--model", str(engine)]
        watch = Stopwatch()
        subprocess.run(command, check=True, cwd=ROOT)
        return watch.spent().wall


def _peak_memory() -> float:
    """The peak memory of this process or of its largest child, in MB."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in who) / 1024
