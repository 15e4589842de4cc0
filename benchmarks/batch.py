"""How fast a batch run is, what a second process gains, how much memory it needs, what 13 million notes would cost.

    python -m benchmarks.batch --model ENGINE --notes NOTES.jsonl      the rate, with a trained engine
    python -m benchmarks.batch --memory --model ENGINE                 memory over a run over 200,000 short notes
    python -m benchmarks.batch --memory                                the same with patterns only

Prints the figures and writes them to `batch_output/results.json`. The gain is the rate of two processes divided by that
of one on the same notes; both include the start of the processes, so give enough notes. The memory curve is the
greatest resident memory in each twentieth of the run, of the process that reads and writes and of each worker.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from phistack.ensemble.tools.numerics import numeric_environment  # noqa: E402

# As the workers do; otherwise one process would use the threads of two.
os.environ.update(numeric_environment())

from benchmarks.function_engine import FunctionEngine  # noqa: E402
from benchmarks.running import run_main  # noqa: E402
from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify  # noqa: E402
from phistack.ensemble.bundles.bundle import load_bundle  # noqa: E402
from phistack.ensemble.deidentification import Policy  # noqa: E402
from phistack.ensemble.engine import Engine  # noqa: E402
from phistack.ensemble.stacking.candidates import Decision  # noqa: E402
from phistack.features.documents import Span  # noqa: E402
from phistack.features.writing import write_json  # noqa: E402

_K = TypeVar("_K")

_MILLIONS = 13
_EURO_PER_CORE_HOUR = 0.04
_PARTS = 20
_LEAST_OF_A_WORKER = 40
_NAMES = ("Larkin", "Osgood", "Penhale", "Rusk", "Tolliver", "Vance", "Wexford", "Yarrow", "Selwyn", "Alder", "Hensley")


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a bundle; without it only memory is measured, with patterns")
    parser.add_argument("--documents", type=int, default=1000, help="synthetic notes for the rate")
    parser.add_argument("--notes", type=Path, help="real notes for the rate, in any form, instead of synthetic ones")
    parser.add_argument(
        "--memory", type=int, nargs="?", const=200_000, help="measure memory, not the rate, over so many short notes"
    )
    parser.add_argument(
        "--jobs", type=int, help="processes for the memory curve: by default 2 with a bundle, or else 1"
    )
    parser.add_argument("--policy", default="tag")
    parser.add_argument("--out", type=Path, default=ROOT / "batch_output")
    arguments = parser.parse_args()
    model, policy = arguments.model, arguments.policy
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-batch-") as folder:
        if model and not arguments.memory:
            results["rate"] = rate(Path(folder), model, arguments.notes, arguments.documents, policy)
        else:
            jobs = arguments.jobs or (2 if model else 1)
            results["memory"] = memory(Path(folder), arguments.memory or 200_000, model, jobs, policy)
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_json(arguments.out / "results.json", results)


def rate(folder: Path, model: Path, notes: Path | None, n_documents: int, policy: str) -> dict[str, Any]:
    """Notes a second with one process and with two, and what many notes would take."""
    source = notes or _synthetic(folder, n_documents)
    figures: dict[str, Any] = {}
    for jobs in (1, 2):
        settings = RunSettings(
            source,
            folder / f"out-{jobs}{source.suffix}",
            model,
            Policy.named(policy),
            jobs=jobs,
            load=load_bundle,
            form_settings=FormatSettings(Columns(rest="keep")),
        )
        begin = time.monotonic()
        summary = deidentify(settings)
        seconds = summary.start.seconds
        figures[f"{jobs} jobs"] = {
            "notes": summary.notes,
            "seconds": seconds,
            "notes a second": round(summary.notes / seconds, 2),
            "seconds with checks and reports": round(time.monotonic() - begin, 1),
        }
        print(f"{jobs} jobs: {figures[f'{jobs} jobs']}")
    gain = figures["1 jobs"]["seconds"] / figures["2 jobs"]["seconds"]
    hours = _MILLIONS * 1e6 / figures["1 jobs"]["notes a second"] / 3600
    figures |= {"gain": round(gain, 3), "core hours for 13 million notes": round(hours)}
    print(f"two processes are {gain:.2f} times as fast as one")
    print(
        f"{_MILLIONS} million such notes: {hours:,.0f} core hours, {hours / 64:,.1f} hours on 64 cores, "
        f"about {hours * _EURO_PER_CORE_HOUR:,.0f} euro at {_EURO_PER_CORE_HOUR} a core hour"
    )
    return figures


def memory(folder: Path, n_notes: int, model: Path | None, jobs: int, policy: str) -> dict[str, Any]:
    """Memory over a run over many short notes, of this process and of each of its workers."""
    source = folder / "short.jsonl"
    with source.open("w") as file:
        for i in range(n_notes):
            file.write(json.dumps({"id": f"n{i}", "group": f"p{i // 4}", "text": _short_note(i)}) + "\n")
    settings = RunSettings(
        source,
        folder / "short-out.jsonl",
        model or _no_bundle(folder),
        Policy.named(policy),
        jobs=jobs,
        form_settings=FormatSettings(Columns(rest="keep")),
        load=load_bundle if model else _patterns,
    )
    with sampled(_memory) as samples:
        begin = time.monotonic()
        summary = deidentify(settings)
        seconds = time.monotonic() - begin
    speed = summary.notes / seconds
    print(f"{summary.notes:,} short notes, {summary.quarantined} in quarantine, {speed:,.1f} a second")
    curves = _curves(samples)
    print("\n".join(_table(samples[-1][0], {name: curve["MiB"] for name, curve in curves.items()})))
    for name, curve in curves.items():
        print(f"{name}: at most {curve['peak']} MiB; over the second half {curve['growth']:+d} MiB")
    return {"notes": n_notes, "jobs": jobs, "seconds": round(seconds, 1), **curves}


def _short_note(i: int) -> str:
    """A note with names, dates and numbers that recur after a while, as in a hospital."""
    day = f"{i % 28 + 1:02d}/{i % 12 + 1:02d}/20{i % 90 + 10}"
    doctor, patient = _NAMES[i % len(_NAMES)], _NAMES[i // 7 % len(_NAMES)]
    return f"Mr. {patient} was seen by Dr. {doctor} on {day}. Room {i % 700}, bed {i % 4}. Rest and fluids."


def _no_bundle(folder: Path) -> Path:
    (folder / "bundle").mkdir()
    manifest = {"protocol": 2, "kinds": {"quick": "regex.v1"}, "trained_on": {}, "figures": {}, "files": {}}
    (folder / "bundle" / "manifest.json").write_text(json.dumps(manifest))
    return folder / "bundle"


def _synthetic(folder: Path, n_documents: int) -> Path:
    from phistack.ensemble.synthesis import synthesize
    from phistack.features.formats import write_corpus

    corpus = synthesize(n_documents, seed=1)
    write_corpus(corpus, folder / "notes.jsonl", format="jsonl")
    return folder / "notes.jsonl"


@contextmanager
def sampled(measure: Callable[[], dict[_K, int]]) -> Iterator[list[tuple[float, dict[_K, int]]]]:
    """The seconds since the beginning and the measured values, twice a second and at the end."""
    samples: list[tuple[float, dict[_K, int]]] = []
    begin, over = time.monotonic(), threading.Event()

    def sample() -> None:
        while not over.wait(0.5):
            samples.append((time.monotonic() - begin, measure()))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
        samples.append((time.monotonic() - begin, measure()))


def _memory() -> dict[int, int]:
    """The resident memory of this process and its children in MiB."""
    return {pid: _resident(pid) for pid in (os.getpid(), *_children())}


def _children() -> list[int]:
    files = Path("/proc/self/task").glob("*/children")
    return [int(pid) for file in files for pid in file.read_text().split()]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _curves(samples: list[tuple[float, dict[int, int]]]) -> dict[str, dict[str, Any]]:
    """For each process the greatest memory in each part of the run, its peak, and its growth over the second half."""
    curves: dict[str, dict[str, Any]] = {}
    pids = dict.fromkeys(pid for _, found in samples for pid in found)
    for pid in pids:
        parts = [0] * _PARTS
        for seconds, found in samples:
            part = min(_PARTS - 1, int(_PARTS * seconds / samples[-1][0]))
            parts[part] = max(parts[part], found.get(pid, 0))
        # Helpers of the process pool need hardly any memory.
        if pid == os.getpid() or max(parts) >= _LEAST_OF_A_WORKER:
            name = "reads and writes" if pid == os.getpid() else f"worker {len(curves)}"
            half = _PARTS // 2
            curves[name] = {"MiB": parts, "peak": max(parts), "growth": max(parts[half:]) - parts[half]}
    return curves


def _table(seconds: float, curves: dict[str, list[int]]) -> list[str]:
    lines = ["MiB after".ljust(12) + "".join(name.rjust(18) for name in curves)]
    for part in range(_PARTS):
        until = f"{seconds * (part + 1) / _PARTS:,.0f} s"
        lines.append(until.ljust(12) + "".join(str(parts[part]).rjust(18) for parts in curves.values()))
    return lines


def _patterns(path: Path) -> Engine:
    """An engine that costs nothing, to measure the runner alone."""
    date = re.compile(r"\d\d/\d\d/\d{4}")
    return FunctionEngine(
        lambda note: [Decision(Span(m.start(), m.end(), "DATE"), 1.0, True, ()) for m in date.finditer(note.text)]
    )


if __name__ == "__main__":
    run_main(main)
