"""An engine that decides on each note by a function, to test and measure everything around an engine."""

from __future__ import annotations

from collections.abc import Callable

from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.steps import Step, changing
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
    def own_steps(self) -> dict[str, Step]:
        """The function alone."""
        return {"decide": changing(lambda reading: self.decider(reading.document))}
