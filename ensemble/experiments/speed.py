"""How fast a bundle annotates on one core, with some of its submodels.

    run = measure_speed(Path("engine"), ("regex", "tbed"), documents)
    run.notes_per_second        of processor time, features included, load excluded

Each measurement is a new process on one core, with numeric libraries on one thread: no earlier one speeds it up, and
its load and memory are those of a process that annotates. It counts processor time, which other programs change little.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from phistack.ensemble.tools.numerics import keep_freed_memory, numeric_environment
from phistack.features.documents import Document, Span
from phistack.features.errors import EvaluationError

if TYPE_CHECKING:
    # Nothing heavy is imported here: imports before the clock starts would not count as load.
    from phistack.ensemble.evaluation import Measure

_SHORTEST = 0.001
"""Seconds; shorter times may be below the resolution of the clock."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement of some submodels: seconds of processor time for all notes and for the load."""

    subset: tuple[str, ...]
    notes: int
    seconds: float
    load_seconds: float
    peak_mb: float
    spans: Sequence[tuple[Span, ...]] = field(repr=False)

    @property
    def notes_per_second(self) -> float:
        """Of processor time."""
        return self.notes / max(self.seconds, _SHORTEST)


@dataclass(frozen=True, slots=True)
class Speed:
    """Several measurements of one engine: median, lowest and highest speed, median load, highest memory."""

    notes_per_second: Measure
    load_seconds: float
    peak_mb: float

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Self:
        """Summarise one run or more."""
        from phistack.ensemble.evaluation import Measure

        speeds = [run.notes_per_second for run in runs]
        load = median(run.load_seconds for run in runs)
        return cls(Measure(median(speeds), min(speeds), max(speeds)), load, max(run.peak_mb for run in runs))

    def to_dict(self) -> dict[str, Any]:
        middle, low, high = self.notes_per_second
        speed = {"median": middle, "low": low, "high": high}
        return {"speed": speed, "load seconds": self.load_seconds, "peak MB": self.peak_mb}

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Notes per second, their range, seconds of load and MB, as tables show them."""
        middle, low, high = self.notes_per_second
        return f"{middle:.0f}", f"{low:.0f}-{high:.0f}", f"{self.load_seconds:.2f}", f"{self.peak_mb:.0f}"


def this_machine() -> dict[str, Any]:
    """The machine of a measurement for JSON: `processor` (its name), `cores`, and the version of `python`."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    named = names[0] if names else platform.processor() or platform.machine()
    return {"processor": named, "cores": os.cpu_count(), "python": platform.python_version()}


def measure_speed(model: Path, subset: tuple[str, ...], documents: Sequence[Document], *, cascade: bool = True) -> Run:
    """Load a bundle in a fresh process on one core and annotate the notes once.

    :param subset: names of submodels; the others are not loaded.
    :param cascade: whether the engine uses its cascade.
    :raises BundleError: if the bundle cannot be loaded, or has no stacker for these submodels.
    :raises EvaluationError: if the process dies.
    """
    from unittest.mock import patch

    plain = [document.with_spans(()) for document in documents]
    process = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=keep_freed_memory)
    # The new process inherits the environment, which is restored afterwards.
    with patch.dict(os.environ, numeric_environment()), process as pool:
        try:
            return pool.submit(_annotate, model, subset, plain, cascade).result()
        except BrokenProcessPool:
            raise EvaluationError(
                "a process that measured the speed of the engine died, perhaps because memory is short; free "
                "some and try again"
            ) from None


def keep_to_one_core() -> None:
    """Keep this process on one of the cores that it may use, if the system supports that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def peak_memory_mb() -> float:
    """The peak memory of this process in MB; on Linux `getrusage` may return that of the parent."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _annotate(model: Path, subset: tuple[str, ...], documents: Sequence[Document], cascade: bool) -> Run:
    keep_to_one_core()
    begin = time.process_time()
    from phistack.ensemble.bundles.bundle import load_bundle
    from phistack.ensemble.tools.numerics import keep_all

    engine = load_bundle(model, only=subset).with_options(cascade=cascade)
    keep_all()
    loaded = time.process_time()
    spans = [document.spans for document in engine.annotate(documents)]
    seconds = time.process_time() - loaded
    return Run(subset, len(documents), seconds, loaded - begin, peak_memory_mb(), spans)
