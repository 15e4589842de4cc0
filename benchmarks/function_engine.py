"""An engine that decides on each note by a function, for tests and for benchmarks of all that is around an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.reading import Batch
from phistack.ensemble.engine.steps import Step
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.stacker import Stacker
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.labels import LabelSet

Decider = Callable[[Document], list[Decision]]


class FunctionEngine(Engine):
    """An English engine with the labels of i2b2 2014 that has no submodels.

    :param decider: gives the decisions on a note.
    """

    def __init__(self, decider: Decider) -> None:
        super().__init__(LabelSet.named("i2b2-2014"), FeatureSpace(FeatureSettings()), (), Stacker())
        self.decider = decider

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """The function alone."""
        return (_DecideBy(self.decider),)


@dataclass(frozen=True)
class _DecideBy:
    name: ClassVar[str] = "decide"
    decider: Decider

    def __call__(self, batch: Batch) -> None:
        for reading in batch.readings:
            reading.decisions = self.decider(reading.document)
