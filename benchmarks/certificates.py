"""How often the true risk is above the bound that `phistack certify` gives, and how far the bound is from it.

    python -m benchmarks.certificates                      2,000 invented notes read by the engine english; some minutes

Patients are divided at random, again and again, into those to certify on and the rest, whose risk is taken for the true
one. A bound with 95 % confidence may be too low in 5 % of the divisions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.evaluation.bounds import (
    bernstein_upper,
    betting_upper,
    binomial_upper,
    hoeffding_bentkus_upper,
)
from phistack.ensemble.evaluation.resampling import wilson
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, share
from phistack.ensemble.experiments.certificate import Leaks, PatientLeaks, summed
from phistack.ensemble.synthesis import synthesize
from phistack.features.arrays import Floats, Integers

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
    arguments = parser.parse_args()
    engine = load_bundle(bundle_path(arguments.engine))
    gold = synthesize(arguments.notes, seed=90_001, language=engine.language)
    leaks = summed(Leaks(gold, engine, Policy.named(arguments.policy)).of(engine))
    rows = [row for n in arguments.patients for row in _rows(leaks, n, arguments.divisions)]
    columns = ("bound", "patients", "true risk", "bound, mean", "too low")
    note = (
        f"{arguments.divisions} divisions of {len(leaks)} patients; too low: share of divisions, with its 95 % interval"
    )
    Console().print(Table(columns, [rows], f"Bounds of the engine {arguments.engine}", note).rich())


def _rows(leaks: Sequence[PatientLeaks], n: int, divisions: int) -> list[TableRow]:
    shares = np.array([one.share for one in leaks])
    whole = np.array([one.has_whole for one in leaks], dtype=float)
    risks: dict[str, tuple[Floats, Callable[[Sequence[float]], float]]] = {
        **{name: (shares, bound) for name, bound in _MEANS.items()},
        "binomial (one left whole)": (whole, lambda found: binomial_upper(round(sum(found)), len(found))),
    }
    orders = [np.random.default_rng(seed).permutation(len(leaks)) for seed in range(divisions)]
    return [_row(name, values, bound, n, orders) for name, (values, bound) in risks.items()]


def _row(
    name: str, values: Floats, bound: Callable[[Sequence[float]], float], n: int, orders: Sequence[Integers]
) -> TableRow:
    bounds = [bound(values[order[:n]].tolist()) for order in orders]
    true = [float(values[order[n:]].mean()) for order in orders]
    too_low = wilson(sum(b < t for b, t in zip(bounds, true, strict=True)), len(orders))
    return [name, str(n), percent(float(values.mean())), percent(float(np.mean(bounds))), share(too_low)]


if __name__ == "__main__":
    main()
