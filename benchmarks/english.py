"""The same engine with the same default settings on English: synthetic notes, and presidio-synth-v2 split by template.

    python -m benchmarks.english --corpora ../shared/corpora

Prints a table for each and writes `synthetic-notes.json` and `presidio-synth-v2.json`. presidio-synth-v2 is made from
templates; their numbers follow `_t` in the file names. No template is on both sides. A quarter of the templates, or of
the synthetic patients, is held out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import CORPORA, ROOT, Benchmark, measure, parser, write_results
from benchmarks.running import run_main
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus
from phistack.features.formats import read_corpus

SYNTHETIC = Benchmark(
    "synthetic-notes",
    "Synthetic notes, unseen patients",
    protocol="Trained with default settings on three quarters of the invented patients, scored on the others.",
)
PRESIDIO = Benchmark(
    "presidio-synth-v2",
    "presidio-synth-v2, unseen templates",
    protocol="Trained with default settings on the sentences of three quarters of the templates, scored on the others.",
)
_TEMPLATE = re.compile(r"_t(\d+)$")


def main() -> None:
    """Parse the arguments and run."""
    arguments_of = parser(__doc__, ROOT / "english_output")
    arguments_of.add_argument("--corpora", type=Path, default=CORPORA)
    arguments_of.add_argument("--documents", type=int, default=300, help="synthetic notes")
    arguments = arguments_of.parse_args()
    settings = EngineSettings(FeatureSettings(clusters=arguments.clusters)).only(comma_list(arguments.submodels))
    for benchmark, corpus in corpora(arguments.corpora, arguments.documents):
        training, unseen = held_out_patients(corpus, parts=4, seed=0)
        out = arguments.out / benchmark.name
        # Unseen notes that are invented too resemble those that the network would start from.
        used = from_scratch(settings) if benchmark is SYNTHETIC else settings
        write_results(arguments.results, measure(benchmark, training, unseen, used, out=out, jobs=arguments.jobs))


def corpora(folder: Path, n_synthetic: int) -> Iterator[tuple[Benchmark, Corpus]]:
    """The corpora; one that is missing is reported and left out."""
    yield SYNTHETIC, synthesize(n_synthetic, seed=0)
    presidio = folder / "presidio-synth-v2"
    if presidio.is_dir():
        yield PRESIDIO, by_template(read_corpus(presidio, accept_unknown_labels=True))
    else:
        print(f"english: there is no {presidio}, so it is left out", file=sys.stderr)


def from_scratch(settings: EngineSettings) -> EngineSettings:
    """The settings without the start from invented notes."""
    if "blstm" not in settings.submodels:
        return settings
    network = {**settings.submodels["blstm"], "invented_notes": 0}
    return replace(settings, submodels={**settings.submodels, "blstm": network})


def by_template(corpus: Corpus) -> Corpus:
    """The corpus with the documents of each template as one group."""
    documents = [
        replace(document, group=f"template {match[1]}") if (match := _TEMPLATE.search(document.id)) else document
        for document in corpus.documents
    ]
    return replace(corpus, documents=tuple(documents))


if __name__ == "__main__":
    run_main(main)
