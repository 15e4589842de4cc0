"""Rows per second of local processes, Dask and Spark, and the memory of a long run on Spark.

    python -m benchmarks.clusters --model english --notes 1000       the same rows of NOTE, one after the other
    python -m benchmarks.clusters --memory --notes 200000            memory, with patterns only
    python -m benchmarks.clusters --memory --model english --notes 2000

Each uses two processes. The rate covers the work on the notes, the start of the processes and the loading of the
engine, but not checks and reports. Memory is resident memory by kind of process: the one that reads and writes, the
JVM, and the largest Python worker; it is given as the peak in the first quarter of the run and in the whole run.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.batch import _no_bundle, _patterns, _short_note, sampled
from benchmarks.running import run_main
from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify
from phistack.ensemble.batch.rows import laid_out
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.tools.numerics import numeric_environment
from phistack.features.errors import MissingResourceError

_MILLIONS = 13
_MASTER = "local[2]"


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a bundle, or the name of an engine that ships; without it patterns only")
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--memory", action="store_true", help="the memory of a run on Spark")
    arguments = parser.parse_args()
    os.environ.update(numeric_environment())
    with tempfile.TemporaryDirectory(prefix="phistack-clusters-") as folder:
        source = note_table(Path(folder) / "note.csv", arguments.notes)
        model = bundle_path(arguments.model) if arguments.model else _no_bundle(Path(folder))
        load = load_bundle if arguments.model else _patterns
        if arguments.memory:
            memory(source, model=model, load=load, spark=_MASTER)
            return
        rate("2 processes (joblib)", source, model=model, load=load, jobs=2)
        with dask() as address:
            rate("Dask, 2 workers", source, model=model, load=load, cluster=address)
        try:
            rate(f"Spark {_MASTER}", source, model=model, load=load, spark=_MASTER)
        except MissingResourceError as error:
            print(error)


def note_table(path: Path, n_notes: int) -> Path:
    """A table with columns of OMOP's NOTE and short notes, four of each person."""
    with path.open("w", newline="", encoding="utf-8") as file:
        sheet = csv.writer(file)
        sheet.writerow(["note_id", "person_id", "note_date", "note_text"])
        sheet.writerows([i, i // 4, f"2019-03-{i % 28 + 1:02d}", _short_note(i)] for i in range(n_notes))
    return path


def rate(name: str, source: Path, **how: Any) -> None:
    """Do a run, and print its notes per second."""
    target = source.with_name(f"out-{name.split()[0]}.csv")
    settings = laid_out(source, "omop", FormatSettings(Columns()))
    run = RunSettings(source=source, target=target, policy=Policy.named("tag"), form_settings=settings, **how)
    begin = time.monotonic()
    summary = deidentify(run)
    seconds, whole = summary.start.seconds, time.monotonic() - begin
    hours = _MILLIONS * 1e6 * whole / summary.notes / 3600
    print(
        f"{name}: {summary.notes:,} notes, {summary.quarantined} held back, {summary.notes / seconds:,.1f} a second, "
        f"{whole:,.0f} s with checks and reports; {_MILLIONS} million such notes: {hours:,.0f} hours",
        flush=True,
    )


def memory(source: Path, **how: Any) -> None:
    """Do a run, and print the peaks of memory in its first quarter and in the whole."""
    with sampled(_memory) as samples:
        rate(f"Spark {_MASTER}", source, **how)
    quarter = samples[-1][0] / 4
    for kind in ("reads and writes", "JVM", "worker"):
        first, whole = (
            max((of.get(kind, 0) for seconds, of in samples if seconds <= until), default=0)
            for until in (quarter, samples[-1][0])
        )
        print(f"{kind}: at most {first:,} MiB in the first quarter of the time, {whole:,} MiB in the whole")


@contextmanager
def dask() -> Iterator[str]:
    """The address of a cluster of two processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call]
        yield cluster.scheduler_address


def _memory() -> dict[str, int]:
    """The greatest resident memory of each kind of process in MiB."""
    import psutil

    this = psutil.Process()
    found = {"reads and writes": this.memory_info().rss >> 20}
    for process in this.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            kind = "JVM" if process.name() == "java" else "worker"
            found[kind] = max(found.get(kind, 0), process.memory_info().rss >> 20)
    return found


if __name__ == "__main__":
    run_main(main)
