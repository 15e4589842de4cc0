"""The best submodels that are fast enough.

subset, measured = best_within(300.0, training, documents)      ("regex", "tbed"), and the rates of all that were tried
training.only(subset)                                           what to write as a bundle

Best is the subset whose stacker has the highest strict F1 on the training notes, out of fold. The subsets are measured
on this machine from the best downwards until one is fast enough.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.experiments.speed import Machine, measure_speed
from phistack.ensemble.stacking.subsets import Subset, subset_name
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.training.trainer import Training
from phistack.features.documents import Document
from phistack.features.errors import SettingsError

_NOTES, _REPETITIONS = 250, 3


def check_budget(budget: float) -> None:
    """Call before training begins; :raises SettingsError: if it is not above 0."""
    if not budget > 0:
        raise SettingsError(f"the budget must be more than 0 notes a second, not {budget:g}")


def best_within(budget: float, training: Training, documents: Sequence[Document]) -> tuple[Subset, dict[str, Any]]:
    """Measure subsets on some of the training notes, from the best downwards, until one is fast enough.

    :param budget: notes per second of processor time, on one core.
    :returns: the subset, and for the bundle the budget with all that was measured.
    :raises SettingsError: if no subset keeps to it.
    """
    notes = documents[:: max(1, len(documents) // _NOTES)][:_NOTES]
    order = by_score(training.engine)
    measured: dict[Subset, float] = {}
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder, progress("speed", total=len(order)) as advance:
        model, test = Path(folder) / "engine", self_test(training.engine)
        save_bundle(training.engine, model, self_test=test, models=training.models, trained_on={}, figures={})
        for subset, f1 in order:
            speed = median(measure_speed(model, subset, notes).notes_per_second for _ in range(_REPETITIONS))
            advance(f"{subset_name(subset)} has F1 {100 * f1:.2f} and annotates {speed:.0f} notes a second")
            measured[subset] = speed
            if speed >= budget:
                rows = [
                    {"submodels": subset_name(names), "f1": dict(order)[names], "notes per second": round(speed, 1)}
                    for names, speed in measured.items()
                ]
                about = {"notes per second asked for": budget, "machine": asdict(Machine.here())}
                return subset, {**about, "measured": rows}
    fastest = max(measured, key=measured.__getitem__)
    raise SettingsError(
        f"no set of submodels annotates {budget:g} notes a second on one core of this machine, so nothing was written; "
        f"the fastest, {subset_name(fastest)}, annotates {measured[fastest]:.0f}"
    )


def by_score(engine: Engine) -> list[tuple[Subset, float]]:
    """Every subset with its out-of-fold strict F1, the best first; of equal ones that with fewer submodels."""
    scores = [(subset, max(stacker.figures_.values())) for subset, stacker in engine.stackers.items()]
    return sorted(scores, key=lambda row: (-row[1], len(row[0]), row[0]))
