"""Notes per second of trained engines beside tools that pip installs, on one core, in one run.

    python -m benchmarks.throughput --model meddocan_output/engine --peers ~/.cache/phistack-peers
    python -m benchmarks.throughput --against ../phistack-old --against-model ../phistack-old/meddocan_output/engine

The notes are MEDDOCAN's dev part, in Spanish and 2.9 kB each; tools that know only English or Dutch get the same ones,
as only their speed is measured. Every measurement is a fresh process with one thread on one core; the tools take turns,
and the median over the repetitions counts. Speed is in notes per second of processor time, loading excluded. `--peers`
names a folder with an environment for each tool; missing ones are made, and a tool that cannot be installed or run is
reported. `--against` names an older checkout of phistack to measure beside ours, with the same engine unless it has its
own. Strict F1 and recall stand beside the speed of engines, to show if accuracy paid for it. Prints a table, writes
`throughput.json` and, with `--docs`, puts the table into docs/speed.md. The last line says how fast the full stack is:
`full stack 1.9 x presidio`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks.checkouts import annotated
from benchmarks.markdown import replaced
from benchmarks.measuring import CORPORA, RESULTS, ROOT
from benchmarks.peers import PEERS, Peer, install
from benchmarks.running import run_main
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.experiments.speed import measure_speed, this_machine
from phistack.ensemble.tools.numerics import ONE_THREAD, numeric_environment
from phistack.ensemble.tools.progress import progress
from phistack.features.documents import Document, Span
from phistack.features.errors import PhistackError
from phistack.features.formats import read_corpus
from phistack.features.writing import write_json
from phistack.submodels.registry import SUBMODELS

SCHEMA = "phistack.throughput.v1"
PROTOCOL = (
    "Fresh processes with one thread on one core, in turn; notes per second of processor time, load excluded; "
    "median of the repetitions. All tools read the same Spanish notes."
)

ENGINES: Mapping[tuple[str, ...], float] = {
    ("regex", "tbed"): 600.0,
    ("regex", "tbed", "crf"): 300.0,
    ("regex", "tbed", "crf", "blstm"): 150.0,
}
"""Submodels -> the notes per second to aim at."""
OURS = "phistack "
"""How the names of our engines begin; their submodels follow."""
REFERENCE = "presidio"
"""The tool to which others are compared."""
BEGIN, END = "<!-- throughput: written by python -m benchmarks.throughput --docs -->", "<!-- /throughput -->"

Measurement = Callable[[], dict[str, Any]]


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=CORPORA / "meddocan" / "dev")
    parser.add_argument("--model", type=Path, default=ROOT / "meddocan_output" / "engine")
    parser.add_argument("--peers", type=Path, help="folder of the tools' environments; without it they are left out")
    parser.add_argument("--against", type=Path, help="folder of an older checkout of phistack")
    parser.add_argument("--against-model", type=Path, help="an engine that it can read; otherwise that of --model")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of throughput.json")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/speed.md")
    arguments = parser.parse_args()
    documents = read_corpus(arguments.corpus).documents
    older = Older(arguments.against, arguments.against_model or arguments.model) if arguments.against else None
    results = run(documents, arguments.model, arguments.peers, arguments.repetitions, older)
    Console(width=140).print(table_of(results))
    for name, reason in results["not measured"].items():
        print(f"throughput: {name} was not measured: {reason}", file=sys.stderr)
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / "throughput.json"
    write_json(path, results)
    if arguments.docs:
        page = ROOT / "docs" / "speed.md"
        page.write_text(updated(page.read_text(encoding="utf-8"), results), encoding="utf-8")
    for line in ratios(results):
        print(line)


@dataclass(frozen=True, slots=True)
class Older:
    """An older checkout, and an engine that it can read."""

    checkout: Path
    model: Path

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.checkout.resolve().name


def run(
    documents: Sequence[Document], model: Path, peers: Path | None, repetitions: int, older: Older | None = None
) -> dict[str, Any]:
    """Measure everything in turn; the results, JSON-ready."""
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        notes = Path(folder) / "notes.json"
        notes.write_text(json.dumps([document.text for document in documents]), encoding="utf-8")
        tools = _engines(model, documents, older) | (_peers(peers, notes, failed) if peers else {})
        runs = _in_turn(tools, repetitions, failed)
    rows = [_row(name, runs[name]) for name in tools if runs.get(name)]
    base = next((row["speed"]["median"] for row in rows if row["name"] == REFERENCE), None)
    return {
        "schema": SCHEMA,
        "date": date.today().isoformat(),
        "protocol": PROTOCOL,
        "notes": {"documents": len(documents), "characters": sum(len(document.text) for document in documents)},
        "machine": this_machine(),
        "repetitions": repetitions,
        "older": older.name if older else None,
        "rows": [row | {"ratio": row["speed"]["median"] / base if base else None} for row in rows],
        "not measured": failed,
    }


def _engines(model: Path, documents: Sequence[Document], older: Older | None = None) -> dict[str, Measurement]:
    """Our engines, each followed by the older checkout with the same submodels."""
    present = set(read_manifest(model)["kinds"])
    engines: dict[str, Measurement] = {}
    for subset in ENGINES:
        if present.issuperset(subset):
            engines[f"{OURS}{'+'.join(subset)}"] = partial(_engine, model, subset, documents)
            if older is not None:
                engines[f"{older.name} {'+'.join(subset)}"] = partial(_older_engine, older, subset, documents)
    return engines


def _engine(model: Path, subset: tuple[str, ...], documents: Sequence[Document]) -> dict[str, Any]:
    run = measure_speed(model, subset, documents)
    return {
        "version": "",
        "aim": ENGINES[subset],
        "notes": run.notes,
        "seconds": run.seconds,
        "load seconds": run.load_seconds,
        "peak MB": run.peak_mb,
        **_accuracy(documents, run.spans),
    }


def _older_engine(older: Older, names: Sequence[str], documents: Sequence[Document]) -> dict[str, Any]:
    measured = annotated(older.checkout, older.model, names, documents, ONE_THREAD)
    spans = [[Span(*found) for found in of_note] for of_note in measured.pop("spans")]
    return {"version": "", "aim": None, **measured, **_accuracy(documents, spans)}


def _accuracy(documents: Sequence[Document], spans: Sequence[Iterable[Span]]) -> dict[str, Any]:
    """How many spans were found, and strict F1 and recall, which are absent for notes without annotation."""
    found, gold = [set(of_note) for of_note in spans], [set(document.spans) for document in documents]
    n_found, n_gold = sum(map(len, found)), sum(map(len, gold))
    n_right = sum(len(right & of_note) for right, of_note in zip(gold, found, strict=True))
    measures = {"F1": 2 * n_right / (n_found + n_gold), "recall": n_right / n_gold} if n_gold else {}
    return {"found": n_found, "F1": None, "recall": None, **measures}


def _peers(folder: Path, notes: Path, failed: dict[str, str]) -> dict[str, Measurement]:
    """The tools that are or can be installed; `failed` gets the others."""
    found: dict[str, Measurement] = {}
    for peer in PEERS:
        try:
            found[peer.name] = partial(_peer, peer, install(peer, folder.expanduser().resolve()), notes)
        except (OSError, subprocess.SubprocessError) as error:
            failed[peer.name] = f"{peer.package} {peer.version} cannot be installed ({type(error).__name__})"
    return found


def _peer(peer: Peer, python: Path, notes: Path) -> dict[str, Any]:
    return run_peer(peer, python, notes, "es" if "es" in peer.languages else peer.languages[-1])


def run_peer(peer: Peer, python: Path, notes: Path, language: str) -> dict[str, Any]:
    """One measurement of a tool in its environment, on a JSON list of texts; raises the errors of `subprocess`."""
    worker = Path(__file__).with_name("peers.py")
    command = [str(python), str(worker), peer.name, str(notes), language]
    output = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **numeric_environment()}, timeout=600
    ).stdout
    return {"aim": None, "method": peer.method, **json.loads(output.splitlines()[-1])}


def _in_turn(
    tools: Mapping[str, Measurement], repetitions: int, failed: dict[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """Run every tool once, then again, as often as asked; a tool that fails is left out from then on."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in tools}
    with progress("throughput", total=repetitions * len(tools)) as advance:
        for _ in range(repetitions):
            for name, measure in tools.items():
                if name in failed:
                    continue
                try:
                    runs[name].append(measure())
                    advance(f"{name}, {runs[name][-1]['notes'] / runs[name][-1]['seconds']:.0f} notes a second")
                except (subprocess.SubprocessError, PhistackError) as error:
                    reported = error if isinstance(error, PhistackError) else type(error).__name__
                    failed[name] = f"it failed while it ran ({reported})"
    return runs


def _row(name: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    speeds = [run["notes"] / run["seconds"] for run in runs]
    return {
        "name": name,
        **{key: runs[0].get(key) for key in ("version", "method", "aim", "found", "F1", "recall")},
        "speed": {"median": median(speeds), "low": min(speeds), "high": max(speeds)},
        "load seconds": median(run["load seconds"] for run in runs),
        "peak MB": max(run["peak MB"] for run in runs),
    }


def table_of(results: Mapping[str, Any]) -> Table:
    """A row for each tool."""
    columns = (
        "tool", "notes/s", "lowest-highest", f"x {REFERENCE}", "aim", "load in s", "peak MB", "found", "F1", "recall",
    )  # fmt: skip
    machine, notes = results["machine"]["processor"], results["notes"]
    size = f"{notes['documents']} notes of {notes['characters'] / notes['documents']:,.0f} characters"
    title = f"{size}, one core of {machine}; {results['date']}; median of {results['repetitions']}."
    return Table(columns, [list(map(_cells, results["rows"]))], title)


def _cells(row: Mapping[str, Any]) -> TableRow:
    speed = row["speed"]
    return (
        f"{row['name']} {row['version']}".strip(),
        f"{speed['median']:.0f}",
        f"{speed['low']:.0f}-{speed['high']:.0f}",
        f"{row['ratio']:.2f}" if row["ratio"] else "",
        f"{row['aim']:.0f}" if row["aim"] else "",
        f"{row['load seconds']:.2f}",
        f"{row['peak MB']:.0f}",
        str(row["found"]),
        *("" if row.get(name) is None else percent(row[name]) for name in ("F1", "recall")),
    )


def updated(page: str, results: Mapping[str, Any]) -> str:
    """The page with this table between its markers; ends the program if it lacks them."""
    table = table_of(results)
    failed = [f"Not measured: {name}, as {reason}." for name, reason in results["not measured"].items()]
    lines = "\n".join([*table.markdown(), "", table.title, *failed, ""])
    return replaced(page, BEGIN, END, lines, where="throughput: docs/speed.md")


def ratios(results: Mapping[str, Any]) -> Iterator[str]:
    """The speed of each of our engines relative to the reference and the older checkout, if these were measured."""
    speeds = {row["name"]: row["speed"]["median"] for row in results["rows"]}
    for name in filter(lambda name: name.startswith(OURS), speeds):
        submodels = name.removeprefix(OURS)
        rivals = {REFERENCE: REFERENCE, f"{results['older']} {submodels}": results["older"]}
        found = [f"{speeds[name] / speeds[rival]:.2f} x {shown}" for rival, shown in rivals.items() if rival in speeds]
        if found:
            is_full = submodels == "+".join(SUBMODELS)
            yield f"{'full stack' if is_full else submodels} {', '.join(found)}"


if __name__ == "__main__":
    run_main(main)
