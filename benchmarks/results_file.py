"""What the results files hold, for the programs that write them and those that make tables.

    results = msgspec.json.decode(path.read_bytes(), type=BenchmarkResults)
    results.systems["stack"].f1, results.training.parts[0].wall
    msgspec.to_builtins(results)         as it is in the file

Figures are shares; intervals are of 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

SCHEMA = "phistack.benchmark.v1"
"""The schema of a results file; changes when a key is renamed or dropped."""
Ends = tuple[float, float]


class PartTime(msgspec.Struct, frozen=True):
    """One fit of a training: seconds by the clock and of the processor, and whether the cache had it."""

    part: str
    step: str
    wall: float
    cpu: float
    cached: bool


class TrainingTime(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"wall": "wall seconds", "limit": "limit minutes", "peak_mb": "peak MB of a process"},
):
    """The time of a training; `limit` is its limit in minutes, if there is one."""

    wall: float
    limit: int | None = None
    processes: int
    cores: int | None = None
    peak_mb: int | None = None
    parts: tuple[PartTime, ...]


class SystemFigures(msgspec.Struct, frozen=True, rename={"by_criterion": "f1 by criterion"}):
    """A system's strict scores, and F1 by further criteria."""

    precision: float
    recall: float
    f1: float
    interval: Ends
    recall_interval: Ends | None = None
    by_criterion: Mapping[str, float] = {}


class TypeFigures(msgspec.Struct, frozen=True, rename={"recall_interval": "recall interval"}):
    """The stack's strict scores on one type of PHI; `gold` is how many gold has."""

    gold: int
    precision: float
    recall: float
    f1: float
    recall_interval: Ends


class DocumentNumbers(msgspec.Struct, frozen=True):
    """Notes trained on, and notes scored."""

    training: int
    unseen: int


class StackerFigures(msgspec.Struct, frozen=True, rename={"f1": "out of fold f1"}):
    """The figures by which the stacker's kernel was chosen."""

    f1: Mapping[str, float]
    threshold: float


class BenchmarkResults(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"digest": "settings hash", "annotate_seconds": "annotate seconds"},
):
    """One measurement of `benchmarks.measuring`.

    :param digest: of the settings.
    :param annotate_seconds: of `phistack annotate` on the unseen notes, by the clock, with loading.
    """

    schema: str = SCHEMA
    benchmark: str
    title: str
    date: str
    digest: str
    settings: Mapping[str, Any] = {}
    protocol: str
    documents: DocumentNumbers
    systems: Mapping[str, SystemFigures]
    types: Mapping[str, TypeFigures]
    stacker: StackerFigures | None = None
    training: TrainingTime
    annotate_seconds: float


class FigureEntry(msgspec.Struct, frozen=True):
    """A figure with its interval."""

    value: float
    low: float
    high: float


class DifferenceEntry(msgspec.Struct, frozen=True, rename={"p_holm": "p after Holm"}):
    """How far a variant is from the stack."""

    f1: FigureEntry
    p_holm: float


class AblationEntry(msgspec.Struct, frozen=True):
    """A row of an ablation; the stack has no difference."""

    name: str
    precision: FigureEntry
    recall: FigureEntry
    f1: FigureEntry
    difference: DifferenceEntry | None = None


class AblationFile(msgspec.Struct, frozen=True, rename={"digest": "settings hash"}):
    """The part of the `results.json` of `phistack ablate` that tables use."""

    date: str
    digest: str
    protocol: str
    shuffles: int
    rows: tuple[AblationEntry, ...]
    unit: str = "document"


class TriedVariant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A variant that was tried: F1 in percent with and without it, or their ranges, and how many of its kind."""

    corpus: str
    part: str
    what: str
    selection: str
    f1: tuple[float, ...] = ()
    without: tuple[float, ...] = ()
    count: int = 1
    kept: bool
