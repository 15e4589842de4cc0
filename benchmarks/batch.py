"""How fast a batch run is, what a second process gains, how much memory it takes, what 13 million notes would cost.

    python benchmarks/batch.py --model ENGINE --notes NOTES.jsonl      with a trained engine
    python benchmarks/batch.py --memory 200000                         the memory curve alone, with patterns only

Prints the figures and writes them to `batch_output/results.json`. The gain is the rate of two processes over that of
one on the same notes; both include the start of the processes, so give enough notes. The memory curve is of the process
that reads and writes, here also the one that detects, in ten parts of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ensemble.batch import RunSettings, deidentify  # noqa: E402
from ensemble.batch.detector import Detector, load_detector  # noqa: E402
from ensemble.candidates import Decision  # noqa: E402
from ensemble.deidentification import Policy  # noqa: E402
from features.documents import Document, Span  # noqa: E402
from features.labels import LabelSet  # noqa: E402

_MILLIONS = 13
_EURO_PER_CORE_HOUR = 0.04


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a bundle; without it only the memory curve is measured")
    parser.add_argument("--documents", type=int, default=1000, help="synthetic notes for the rate")
    parser.add_argument("--notes", type=Path, help="real notes for the rate, in any form, instead of synthetic ones")
    parser.add_argument(
        "--memory", type=int, default=200_000, help="short notes for the memory curve; 0 to leave it out"
    )
    parser.add_argument("--policy", default="tag")
    parser.add_argument("--out", type=Path, default=ROOT / "batch_output")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-batch-") as folder:
        if arguments.model:
            results["rate"] = rate(
                Path(folder), arguments.model, arguments.notes, arguments.documents, arguments.policy
            )
        if arguments.memory:
            results["memory"] = memory(Path(folder), arguments.memory)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def rate(folder: Path, model: Path, notes: Path | None, n_documents: int, policy: str) -> dict[str, Any]:
    """Notes a second with one process and with two, and what many notes would take."""
    source = notes or _synthetic(folder, n_documents)
    figures: dict[str, Any] = {}
    for jobs in (1, 2):
        settings = RunSettings(
            source, folder / f"out-{jobs}{source.suffix}", model, Policy.named(policy), jobs=jobs, load=load_detector
        )
        begin = time.monotonic()
        summary = deidentify(settings)
        seconds = summary["this start"]["seconds"]
        figures[f"{jobs} jobs"] = {
            "notes": summary["notes"],
            "seconds": seconds,
            "notes a second": round(summary["notes"] / seconds, 2),
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


def memory(folder: Path, n_notes: int) -> dict[str, Any]:
    """Memory in ten parts of a run over many short notes, with one process."""
    source, model = folder / "short.jsonl", folder / "bundle"
    model.mkdir()
    (model / "manifest.json").write_text("{}")
    with source.open("w") as file:
        for i in range(n_notes):
            text = f"Seen by Dr. Larkin on 03/12/20{i % 90 + 10}. Room {i % 700}, bed {i % 4}. Rest and fluids."
            file.write(json.dumps({"id": f"n{i}", "group": f"p{i // 4}", "text": text}) + "\n")
    with _sampled() as curve:
        begin = time.monotonic()
        summary = deidentify(
            RunSettings(source, folder / "short-out.jsonl", model, Policy.named("tag"), load=_patterns)
        )
        seconds = time.monotonic() - begin
    parts = _parts(curve)
    print(f"memory in MiB over {n_notes:,} short notes, in ten parts: {parts}")
    growth = max(parts[5:]) / max(1, parts[5])
    print(
        f"greatest over the second half / at its begin: {growth:.3f}; {summary['notes'] / seconds:,.0f} notes a second"
    )
    return {"notes": n_notes, "MiB": parts, "growth over the second half": round(growth, 4)}


def _synthetic(folder: Path, n_documents: int) -> Path:
    from ensemble.synthesis import synthesize
    from features.formats import write_corpus

    corpus = synthesize(n_documents, seed=1)
    write_corpus(corpus, folder / "notes.jsonl", format="jsonl")
    return folder / "notes.jsonl"


@contextmanager
def _sampled() -> Iterator[list[int]]:
    """The resident memory of this process in KiB, ten times a second, until the end of the block."""
    curve: list[int] = []
    over = threading.Event()

    def sample() -> None:
        page = os.sysconf("SC_PAGE_SIZE") // 1024
        while not over.wait(0.1):
            curve.append(int(Path("/proc/self/statm").read_text().split()[1]) * page)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield curve
    finally:
        over.set()
        thread.join()


def _parts(curve: list[int]) -> list[int]:
    """The greatest value in each tenth, in MiB."""
    tenth = max(1, len(curve) // 10)
    return [max(curve[i * tenth : (i + 1) * tenth], default=0) // 1024 for i in range(10)]


def _patterns(path: Path) -> Detector:
    """A detector that costs nothing, so that what is measured is the runner."""
    import re

    date = re.compile(r"\d\d/\d\d/\d{4}")

    def decide(document: Document) -> list[Decision]:
        return [Decision(Span(m.start(), m.end(), "DATE"), 1.0, True, ()) for m in date.finditer(document.text)]

    find: Callable[[Any], Iterator[list[Decision]]] = lambda documents: map(decide, documents)  # noqa: E731
    return Detector(LabelSet.named("i2b2-2014"), "en", find)


if __name__ == "__main__":
    main()
