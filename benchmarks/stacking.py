"""The stack beside other ways to choose from the same candidates, on available corpora.

    python -m benchmarks.stacking                                        all corpora, without the network, 5 folds
    python -m benchmarks.stacking --only court-fr,invented --folds 3,5,10
    python -m benchmarks.stacking --network both --jobs 2 --cache folds  both without and with it; hours
    python -m benchmarks.stacking notes other.jsonl                      your own corpora

Strict F1 of the best member, a majority, the plain mean (the best of three thresholds), a logistic regression over
log-odds, the SVM stack and a perfect chooser, on a held-out quarter of the patients of each *training* part. `way` is
how much of the way from the best member to the perfect chooser the stack goes. The p-values are from paired
randomisation of the stack against the best member and the mean, with Holm's correction over all choosers of a row;
`error` is the expected calibration error of the stack. The last line has the means over the corpora. `--rounds 4`
scores all four quarters in turn.

A second table is about another domain: an engine trained on invented notes reads asq-phi-dev, which has other labels.
It shows how many identifiers each chooser touches, and how much of what it marks is one, also at equal reach.

`--json benchmarks/results/stacking.json` keeps all figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from statistics import fmean

from rich.console import Console

from benchmarks.measuring import CORPORA, ROOT
from benchmarks.other_domain import OtherDomain, other_domain
from benchmarks.running import run_main
from benchmarks.stacking_cases import BEST, CHOOSERS, MEAN, StackingCase, measured
from benchmarks.stacking_corpora import KNOWN, StackingCorpus, known_corpora
from phistack.ensemble.evaluation.tables import Cell, Table, percent, points
from phistack.ensemble.experiments.parts import STACK
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus
from phistack.features.writing import refuse_taken, write_json

SCHEMA = "phistack.stacking.v1"
_MEMBERS = {"without": ("regex", "tbed", "crf"), "with": ("regex", "tbed", "crf", "blstm")}
_OTHER_DOMAIN = "asq-phi-dev"
_TRAINED_ON = 120
"""How many invented notes to train on for the other domain."""


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", type=Path, nargs="*", help="corpora of one's own, in place of those at hand")
    parser.add_argument("--corpora", type=Path, default=CORPORA)
    parser.add_argument("--only", default=",".join((*KNOWN, _OTHER_DOMAIN)), help="names of those at hand")
    parser.add_argument("--folds", default="5", help="one number or several, separated by commas")
    parser.add_argument("--network", choices=("without", "with", "both"), default="without")
    parser.add_argument("--clusters", default="", help="Brown clusters: a file, or installed")
    parser.add_argument("--rounds", type=int, default=1, choices=(1, 2, 3, 4), help="how many quarters are scored")
    parser.add_argument("--shuffles", type=int, default=9999)
    parser.add_argument("--cache", type=Path, default=ROOT / "english_output" / "stacking", help="fold predictions")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.json:
        refuse_taken(arguments.json)
    cases, other = _cases(arguments), _other_domain(arguments)
    console = Console(width=150)
    for table in (*([table_of(cases)] if cases else []), *(found.table() for found in other)):
        console.print(table)
    if arguments.json:
        write_json(arguments.json, _figures(arguments, cases, other))
    if cases:
        print(last_line(cases))


def _cases(arguments: argparse.Namespace) -> list[StackingCase]:
    """A case for each corpus, choice of members, and number of folds."""
    choices = list(product(_networks(arguments), _folds(arguments)))
    return [
        measured(
            corpus, _MEMBERS[network], n_folds, clusters=arguments.clusters, rounds=arguments.rounds,
            shuffles=arguments.shuffles, jobs=arguments.jobs, cache=arguments.cache,
        )
        for corpus in _corpora(arguments)
        for network, n_folds in choices
    ]  # fmt: skip


def _networks(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(_MEMBERS) if arguments.network == "both" else (arguments.network,)


def _corpora(arguments: argparse.Namespace) -> Iterator[StackingCorpus]:
    if arguments.notes:
        return (StackingCorpus(path.stem, read_corpus(path, accept_unknown_labels=True)) for path in arguments.notes)
    return known_corpora(arguments.corpora, [name for name in comma_list(arguments.only) if name != _OTHER_DOMAIN])


def _folds(arguments: argparse.Namespace) -> list[int]:
    try:
        return [int(number) for number in comma_list(arguments.folds)]
    except ValueError:
        raise SettingsError("--folds takes whole numbers separated by commas, as in 3,5,10") from None


def _figures(
    arguments: argparse.Namespace, cases: Sequence[StackingCase], other: Sequence[OtherDomain]
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "date": date.today().isoformat(),
        "protocol": "A quarter of the patients of each training part held out and scored; default settings.",
        "quarters scored": arguments.rounds,
        "shuffles": arguments.shuffles,
        "cases": [case.to_dict() for case in cases],
        "other domains": [found.to_dict() for found in other],
    }


def _other_domain(arguments: argparse.Namespace) -> list[OtherDomain]:
    if arguments.notes or _OTHER_DOMAIN not in comma_list(arguments.only):
        return []
    folder = arguments.corpora / _OTHER_DOMAIN
    if not folder.is_dir():
        print(f"stacking: {_OTHER_DOMAIN} is left out, as there is no {folder}", file=sys.stderr)
        return []
    gold, training = read_corpus(folder, accept_unknown_labels=True), synthesize(_TRAINED_ON, seed=0)
    own = {"jobs": arguments.jobs, "cache": arguments.cache}
    choices = product(_networks(arguments), _folds(arguments))
    return [other_domain(_OTHER_DOMAIN, training, gold, _MEMBERS[network], folds, **own) for network, folds in choices]


def table_of(cases: Sequence[StackingCase]) -> Table:
    """A row for each case, in percent, and the means over the cases."""
    columns = (
        "corpus", "notes", "folds", "members", *CHOOSERS,
        "way", "best less stack", "p", "mean less stack", "p", "error",
    )  # fmt: skip
    title = "Strict F1 on held-out notes, by choosers from the same candidates"
    rows = [_cells(case) for case in cases]
    means = ["mean", "", "", "", *(percent(fmean(_f1(case, name) for case in cases)) for name in CHOOSERS)]
    error = percent(fmean(case.calibration.expected_error for case in cases))
    note = (
        "way: from the best member to the perfect chooser, in percent; less stack: F1 less that of the stack; error: "
        "the expected calibration error of the stack, in percent."
    )
    return Table(columns, [rows, [[*means, *[""] * 5, error]]], title, note)


def _cells(case: StackingCase) -> list[str | Cell]:
    rows = case.in_short
    scores = (percent(_f1(case, name)) for name in CHOOSERS)
    way = case.choosers.share
    compared = [rows[name].difference for name in (BEST, MEAN)]
    gaps = [cell for gap in compared for cell in ((points(gap.gap), f"{gap.p_holm:.3f}") if gap else ("", ""))]
    error = percent(case.calibration.expected_error)
    notes = f"{case.n_training}/{case.n_held_out}"
    members = f"{len(case.members)} ({rows[BEST].name})"
    shown = "" if way is None else f"{100 * way:.0f}"
    return [case.corpus, notes, str(case.folds), members, *scores, shown, *gaps, error]


def _f1(case: StackingCase, name: str) -> float:
    return case.in_short[name].score.f1.value


def last_line(cases: Sequence[StackingCase]) -> str:
    """The means over the cases, and in how many of them the stack is below the best member or the mean."""
    means = ", ".join(f"{name} {percent(fmean(_f1(case, name) for case in cases))}" for name in CHOOSERS)
    below = sum(_f1(case, STACK) < max(_f1(case, BEST), _f1(case, MEAN)) for case in cases)
    return f"mean over {len(cases)}: {means}; below the best member or the mean in {below}"


if __name__ == "__main__":
    run_main(main)
