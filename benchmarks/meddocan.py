"""Train on MEDDOCAN train, score its dev part: each submodel and the stack. `make meddocan CORPUS=folder`.

Prints the table, the seconds of each part and the peak memory, writes them to `meddocan_output/results.json`, and with
`--readme` puts the table into README.md between its markers. The dev part is used for nothing but this score.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from ensemble.commands import train_bundle
from ensemble.demo import score_on
from ensemble.figures import as_json, table_of
from ensemble.settings import EngineSettings
from ensemble.training import Training
from features.formats import read_corpus
from features.table import FeatureSettings

ROOT = Path(__file__).resolve().parents[1]
SPANS = ("spans strict", "spans merged", "spans merged-script")
BEGIN, END = "<!-- meddocan: written by make meddocan -->", "<!-- /meddocan -->"


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpora" / "meddocan")
    parser.add_argument("--out", type=Path, default=ROOT / "meddocan_output")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--submodels", default="regex,tbed,crf,blstm")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    arguments = parser.parse_args()
    for part in ("train", "dev"):
        if not (arguments.corpus / part).is_dir():
            sys.exit(f"meddocan: there is no folder {arguments.corpus / part}; README.md says where to get the corpus")
    results = run(arguments.corpus, arguments.out, arguments.jobs, tuple(arguments.submodels.split(",")))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if arguments.readme:
        write_readme(results)


def run(corpus: Path, out: Path, jobs: int, submodels: tuple[str, ...]) -> dict[str, Any]:
    """Train, score and time; the results, JSON-ready."""
    console = Console(width=120)
    train = read_corpus(corpus / "train")
    settings = EngineSettings(features=FeatureSettings(language=train.label_set.language)).only(submodels)
    shutil.rmtree(out / "engine", ignore_errors=True)
    begin = time.perf_counter()
    training, _ = train_bundle(train, out / "engine", settings, jobs=jobs, cache=out / "folds")
    trained = time.perf_counter() - begin
    dev = read_corpus(corpus / "dev")
    reports = score_on(training.engine, dev)
    rows = as_json(reports)
    for name, report in reports.items():
        rows[name] |= {column: report.score(f"meddocan {column}").f1 for column in SPANS}
    console.print(table_of("MEDDOCAN dev, strict, trained on train", rows))
    annotated = _annotate_seconds(corpus / "dev", out)
    results = {
        "date": date.today().isoformat(),
        "settings": settings.digest,
        "documents": {"train": len(train), "dev": len(dev)},
        "dev": rows,
        "out of fold F1 of the stacker's settings": training.engine.stacker.figures_,
        "seconds": {"training": trained, "annotate dev, load included": annotated, **_parts(training)},
        "peak memory of one process in MB": _peak_memory(),
    }
    console.print_json(json.dumps({key: results[key] for key in list(results)[4:]}))
    return results


def _parts(training: Training) -> dict[str, float]:
    return {f"{name}, {part}": round(seconds, 1) for (name, part), seconds in sorted(training.seconds.items())}


def _annotate_seconds(notes: Path, out: Path) -> float:
    """Wall-clock seconds of the whole command on the dev notes."""
    target = out / f"annotated-{time.time_ns()}"
    command = [
        sys.executable,
        "-m",
        "ensemble.cli",
        "annotate",
        str(notes),
        str(target),
        "--model",
        str(out / "engine"),
    ]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def _peak_memory() -> float:
    """Of this process or the largest of its children, in MB."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in who) / 1024


def write_readme(results: Mapping[str, Any]) -> None:
    """Put the table between the markers of README.md."""
    columns = ("precision", "recall", "f1", *SPANS)
    lines = [f"| | precision | recall | F1 (95 % interval) | {' | '.join(SPANS)} |", "|---" * 7 + "|"]
    for name, row in results["dev"].items():
        low, high = row["interval"]
        figures = [f"{100 * row[key]:.2f}" for key in columns]
        figures[2] += f" ({100 * low:.2f}-{100 * high:.2f})"
        lines.append(f"| {name} | " + " | ".join(figures) + " |")
    seconds = results["seconds"]
    lines += [
        "",
        f"Measured {results['date']}, settings {results['settings']}: training {seconds['training'] / 60:.0f} minutes "
        f"on 2 cores, `annotate` on the {results['documents']['dev']} dev notes "
        f"{seconds['annotate dev, load included']:.0f} s with load.",
    ]
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        sys.exit(f"meddocan: README.md lacks the markers {BEGIN} and {END}")
    readme.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
