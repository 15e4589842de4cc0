"""How often the true risk exceeds the bound that `phistack certify` gives, and how far apart they are.

    python -m benchmarks.certificates                      2,000 invented notes read by the engine english; some minutes
    python -m benchmarks.certificates --corpus ../shared/corpora/meddocan/train      annotated notes, out of fold

Patients are split at random, many times, into those to certify on and the rest, whose risk is taken as the true one. As
the rest varies too, a correct bound may be below it in slightly more than 5 % of the splits. So patients are also drawn
with replacement; the true risk is then that of all.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy.stats import binom

from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.evaluation.bounds import CONFIDENCE, betting_upper, binomial_upper, lowest_refuted
from phistack.ensemble.evaluation.resampling import wilson
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, share
from phistack.ensemble.experiments.certificate import Leaks, PatientLeaks, summed
from phistack.ensemble.experiments.parts import STACK, answers_of
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.arrays import Floats
from phistack.features.documents import Corpus
from phistack.features.formats import read_corpus


def hoeffding_bentkus_upper(shares: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """The bound by Hoeffding's and Bentkus' inequalities (Bates 2021)."""
    return lowest_refuted(lambda mean: _hoeffding_bentkus_p(shares, mean), confidence)


def bernstein_upper(shares: Sequence[float], confidence: float = CONFIDENCE) -> float:
    """The empirical Bernstein bound (Maurer and Pontil 2009, theorem 4)."""
    n, log = len(shares), math.log(2 / (1 - confidence))
    if n < 2:
        return 1.0
    variance = float(np.var(shares, ddof=1))
    return min(1.0, float(np.mean(shares)) + math.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1)))


def _hoeffding_bentkus_p(shares: Sequence[float], mean: float) -> float:
    n, found = len(shares), float(np.mean(shares))
    if found >= mean or not 0 < mean < 1:
        return 1.0
    divergence = (1 - found) * math.log((1 - found) / (1 - mean)) + (found and found * math.log(found / mean))
    return min(math.exp(-n * divergence), math.e * float(binom.cdf(math.ceil(n * found), n, mean)))


_MEANS: dict[str, Callable[[Sequence[float]], float]] = {
    "betting": betting_upper,
    "empirical Bernstein": bernstein_upper,
    "Hoeffding-Bentkus": hoeffding_bentkus_upper,
}


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certificates", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--engine", default="english")
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--divisions", type=int, default=1_000)
    parser.add_argument("--patients", type=int, nargs="+", default=[60, 250])
    parser.add_argument("--policy", default="safe-harbor")
    parser.add_argument("--corpus", type=Path, help="annotated notes: a quick engine decides on them out of fold")
    parser.add_argument("--submodels", default="regex,tbed,crf", help="of the quick engine")
    parser.add_argument("--folds", type=int, default=2)
    arguments = parser.parse_args()
    policy = Policy.named(arguments.policy)
    if arguments.corpus:
        leaks = _out_of_fold(read_corpus(arguments.corpus), policy, arguments.submodels, arguments.folds)
    else:
        engine = load_bundle(bundle_path(arguments.engine))
        gold = synthesize(arguments.notes, seed=90_001, language=engine.language)
        leaks = summed(Leaks(gold, engine, policy).of(engine))
    rows = [row for n in arguments.patients for row in _rows(leaks, n, arguments.divisions)]
    columns = ("bound", "patients", "true risk", "bound, mean", "too low, divided", "too low, drawn")
    note = (
        f"{arguments.divisions} divisions of {len(leaks)} patients; too low: the share of these, and of as many draws "
        "with replacement, with 95 % intervals"
    )
    title = f"Bounds of {arguments.submodels} out of fold" if arguments.corpus else f"Bounds of {arguments.engine}"
    Console().print(Table(columns, [rows], title, note))


def _out_of_fold(gold: Corpus, policy: Policy, submodels: str, folds: int) -> list[PatientLeaks]:
    """What a stack leaves in its training notes, each decided on by a stack trained without its patient."""
    settings = replace(EngineSettings().only(comma_list(submodels)), folds=folds)
    answer = answers_of(gold, settings)[STACK]
    return summed(Leaks(gold, gold, policy).in_notes(gold.with_spans(answer).documents))


def _rows(leaks: Sequence[PatientLeaks], n: int, divisions: int) -> list[TableRow]:
    shares = np.array([one.share for one in leaks])
    whole = np.array([one.has_whole for one in leaks], dtype=float)
    risks: dict[str, tuple[Floats, Callable[[Sequence[float]], float]]] = {
        **{name: (shares, bound) for name, bound in _MEANS.items()},
        "binomial (one left whole)": (whole, lambda found: binomial_upper(round(sum(found)), len(found))),
    }
    return [_row(name, values, bound, n, divisions) for name, (values, bound) in risks.items()]


def _row(name: str, values: Floats, bound: Callable[[Sequence[float]], float], n: int, divisions: int) -> TableRow:
    true = float(values.mean())
    bounds, too_low, too_low_drawn = [], 0, 0
    for seed in range(divisions):
        random = np.random.default_rng(seed)
        order = random.permutation(len(values))
        bounds.append(bound(values[order[:n]].tolist()))
        too_low += bounds[-1] < values[order[n:]].mean()
        too_low_drawn += bound(random.choice(values, n).tolist()) < true
    shares = (share(wilson(int(found), divisions)) for found in (too_low, too_low_drawn))
    return [name, str(n), percent(true), percent(float(np.mean(bounds))), *shares]


if __name__ == "__main__":
    run_main(main)
