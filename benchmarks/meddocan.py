"""Train on MEDDOCAN train, score its dev part: each submodel and the stack. `make meddocan CORPUS=folder`.

Prints the table and writes `meddocan.json`, with the figures of each type of PHI and what each part of the training
took. The dev part is used for nothing but this score.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measuring import CORPORA, LIMIT_MINUTES, ROOT, Benchmark, measure, parser, write_results
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.formats import read_corpus

MEDDOCAN = Benchmark(
    "meddocan",
    "MEDDOCAN dev",
    protocol="Trained on the train part with default settings, scored on the dev part, which no model saw.",
    criteria=("meddocan spans strict", "meddocan spans merged", "meddocan spans merged-script"),
    limit_minutes=LIMIT_MINUTES,
)


def main() -> None:
    """Parse the arguments and run."""
    arguments_of = parser(__doc__, ROOT / "meddocan_output")
    arguments_of.add_argument("--corpus", type=Path, default=CORPORA / "meddocan")
    arguments = arguments_of.parse_args()
    for part in ("train", "dev"):
        if not (arguments.corpus / part).is_dir():
            sys.exit(f"meddocan: there is no folder {arguments.corpus / part}; README.md says where to get the corpus")
    train, dev = (read_corpus(arguments.corpus / part) for part in ("train", "dev"))
    features = FeatureSettings(language=train.label_set.language, clusters=arguments.clusters)
    settings = EngineSettings(features=features).only(comma_list(arguments.submodels))
    write_results(arguments.results, measure(MEDDOCAN, train, dev, settings, out=arguments.out, jobs=arguments.jobs))


if __name__ == "__main__":
    main()
