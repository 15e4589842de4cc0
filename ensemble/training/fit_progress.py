"""Progress of fits in several processes: each appends its reports to one file, which this process reads.

    watch = FitWatch([Fit("blstm", "fold 1 of 2", 5200, cost=574.0), ...], path)
    with reporting(path, 0):         in the process of the first fit
        model.fit(tables)
    watch.look()                     (0.31, "1 of 4 fits, now blstm, fold 1 of 2 (epoch 3 of 12)")

The share is one of time. The time of a fit is estimated from earlier fits of its submodel; before any, from the
relative costs of the kinds.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from phistack.features.reporting import listening

_SECONDS_BETWEEN_REPORTS = 0.5
_ENOUGH = 0.1
"""The share of a fit from which its time can be estimated."""
_TELLING = 0.05
"""The share of all costs that must be known before the other costs are estimated from it."""
_MOST = 0.95
"""The largest share of a fit that is still running."""


@contextmanager
def reporting(path: Path, number: int) -> Iterator[None]:
    """Append what this process reports to a file, from the beginning of a fit on, at most twice a second."""
    begin, last = time.monotonic(), 0.0
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(share: float | None, words: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            os.write(descriptor, json.dumps([number, now - begin, share, words]).encode() + b"\n")

    try:
        write(None, "")
        with listening(write):
            yield
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class Fit:
    """The state of one fit.

    :param name: of the submodel.
    :param part: which of its fits.
    :param size: of the notes that it learns from, in any unit, above 0.
    :param cost: of a fit of its kind, relative to other kinds, above 0.
    :param begun: when it began, by its last report.
    :param lasted: seconds from then to that report.
    :param reported: the share in that report.
    :param words: its description of what it does.
    :param seconds: its duration, after its end; 0 if it was read from a cache.
    """

    name: str
    part: str
    size: float
    cost: float
    begun: float | None = None
    lasted: float = 0.0
    reported: float | None = None
    words: str = ""
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, {self.part}" + (f" ({self.words})" if self.words else "")

    def estimate(self) -> float | None:
        """Its duration in seconds; `None` if it cannot be estimated from its reports."""
        if self.seconds is None and self.reported is not None and self.reported >= _ENOUGH:
            return self.lasted / self.reported or None
        return self.seconds or None

    def share(self, seconds: float, now: float) -> float:
        """The share that is done if the whole takes so many seconds."""
        if self.seconds is not None or self.begun is None:
            return float(self.seconds is not None)
        share = self.reported
        if share is None:
            share = (now - self.begun) / seconds if seconds else 0.0
        return min(share, _MOST)


class FitWatch:
    """Reads the reports of fits and adds them up.

    :param fits: in the order of their numbers.
    :param path: the file that `reporting` appends to.
    """

    def __init__(self, fits: Sequence[Fit], path: Path) -> None:
        self.fits = fits
        self._path = path
        self._offset = 0

    def ended(self, number: int, seconds: float) -> None:
        """A fit is done; `seconds` is 0 if it was read from a cache."""
        self.fits[number].seconds = seconds

    @property
    def n_done(self) -> int:
        """The number of fits that are done."""
        return sum(fit.seconds is not None for fit in self.fits)

    def look(self) -> tuple[float, str]:
        """The share of the time that is done, 0 until it can be estimated, and the running fits in words."""
        now = time.monotonic()
        self._read(now)
        costs = self._costs()
        known = self._known_cost() >= _TELLING or self.n_done == len(self.fits)
        done = sum(cost * fit.share(cost, now) for cost, fit in zip(costs, self.fits, strict=True)) if known else 0.0
        at_work = "; ".join(str(fit) for fit in self.fits if fit.begun is not None and fit.seconds is None)
        words = f"{self.n_done} of {len(self.fits)} fits" + (f", now {at_work}" if at_work else "")
        return (done / sum(costs) if any(costs) else 1.0), words

    def _read(self, now: float) -> None:
        """Read the complete lines that were appended since the last time."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            lines = file.read().rpartition(b"\n")[0]
        self._offset += len(lines) + bool(lines)
        for line in lines.splitlines():
            number, seconds, share, words = json.loads(line)
            fit = self.fits[number]
            fit.begun, fit.lasted, fit.reported, fit.words = now - seconds, seconds, share, words

    def _known_cost(self) -> float:
        """The share of the submodels with an estimated fit in the costs of all, in [0, 1]."""
        cost = {fit.name: fit.cost for fit in self.fits}
        known = {fit.name for fit in self.fits if fit.estimate() is not None}
        return sum(map(cost.__getitem__, known)) / sum(cost.values()) if cost else 1.0

    def _costs(self) -> list[float]:
        """The duration of each fit in seconds; 0 if it was read from a cache."""
        rates: defaultdict[str, list[float]] = defaultdict(list)
        for fit in self.fits:
            seconds = fit.estimate()
            if seconds is not None:
                rates[fit.name].append(seconds / fit.size)
        known = {name: fmean(found) for name, found in rates.items()}
        cost = {fit.name: fit.cost for fit in self.fits}
        scale = sum(known.values()) / sum(map(cost.__getitem__, known)) if known else 1e-3
        return [
            fit.size * known.get(fit.name, scale * fit.cost) if fit.seconds is None else fit.seconds
            for fit in self.fits
        ]
