"""The same engine with the same default settings on English: synthetic notes, and presidio-synth-v2 split by template.

    python -m benchmarks.english --corpora ../shared/corpora

Prints a table for each and writes `results.json`. presidio-synth-v2 is made from templates, whose number follows `_t`
in a file name; no template is on both sides. A quarter of the templates, or of the synthetic patients, is held out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ensemble.commands import train_bundle
from ensemble.demo import score_on, split_patients
from ensemble.figures import as_json, table_of
from ensemble.settings import EngineSettings
from ensemble.synthesis import synthesize
from features.documents import Corpus
from features.formats import read_corpus

ROOT = Path(__file__).resolve().parents[1]
_TEMPLATE = re.compile(r"_t(\d+)$")


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=ROOT.parent / "shared" / "corpora")
    parser.add_argument("--out", type=Path, default=ROOT / "english_output")
    parser.add_argument("--documents", type=int, default=400, help="synthetic notes")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    results = {
        name: run(name, corpus, arguments.out, arguments.jobs)
        for name, corpus in corpora(arguments.corpora, arguments.documents)
    }
    (arguments.out / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def corpora(folder: Path, n_synthetic: int) -> Iterator[tuple[str, Corpus]]:
    """The corpora by name; one that is not there is told and left out."""
    yield "synthetic notes", synthesize(n_synthetic, seed=0)
    presidio = folder / "presidio-synth-v2"
    if presidio.is_dir():
        yield "presidio-synth-v2", by_template(read_corpus(presidio, accept_unknown_labels=True))
    else:
        print(f"english: there is no {presidio}, so it is left out", file=sys.stderr)


def by_template(corpus: Corpus) -> Corpus:
    """The corpus with documents of one template as one group."""
    documents = [
        replace(document, group=f"template {match[1]}") if (match := _TEMPLATE.search(document.id)) else document
        for document in corpus.documents
    ]
    return replace(corpus, documents=tuple(documents))


def run(name: str, corpus: Corpus, out: Path, jobs: int) -> dict[str, Any]:
    """Train on three quarters of the groups and score the rest."""
    training, held_out = split_patients(corpus, seed=0)
    engine = out / name.replace(" ", "-")
    shutil.rmtree(engine, ignore_errors=True)
    begin = time.perf_counter()
    trained, _ = train_bundle(training, engine, EngineSettings(), jobs=jobs, cache=out / "folds")
    seconds = time.perf_counter() - begin
    rows = as_json(score_on(trained.engine, held_out))
    Console(width=120).print(table_of(f"{name}: {len(training)} to train, {len(held_out)} to test, strict", rows))
    return {"train": len(training), "test": len(held_out), "training seconds": seconds, "strict": rows}


if __name__ == "__main__":
    main()
