"""Train on MEDDOCAN train, score its dev part: each submodel and the stack. `make meddocan CORPUS=folder`.

Prints the table and writes `meddocan.json`, with the figures of each type of PHI and the time of each training part.
The dev part is used only for this score. `--preset record` trains that and writes `meddocan-record.json`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import CORPORA, LIMIT_MINUTES, ROOT, Benchmark, measure, parser, write_results
from benchmarks.running import run_main
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
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
    arguments_of.add_argument("--preset", default="", help="settings by name, such as record")
    arguments = arguments_of.parse_args()
    for part in ("train", "dev"):
        if not (arguments.corpus / part).is_dir():
            sys.exit(f"meddocan: there is no folder {arguments.corpus / part}; README.md says where to get the corpus")
    train, dev = (read_corpus(arguments.corpus / part) for part in ("train", "dev"))
    settings = EngineSettings.chosen(arguments.preset, language=train.label_set.language)
    if not arguments.preset:
        settings = settings.only(comma_list(arguments.submodels))
    if arguments.clusters:
        settings = replace(settings, features=replace(settings.features, clusters=arguments.clusters))
    benchmark = _of_preset(arguments.preset) if arguments.preset else MEDDOCAN
    write_results(arguments.results, measure(benchmark, train, dev, settings, out=arguments.out, jobs=arguments.jobs))


def _of_preset(name: str) -> Benchmark:
    """The same corpus with a preset, which has its own results file and no time limit."""
    protocol = MEDDOCAN.protocol.replace("default settings", f"the preset {name}")
    return replace(MEDDOCAN, name=f"meddocan-{name}", protocol=protocol, limit_minutes=None)


if __name__ == "__main__":
    run_main(main)
