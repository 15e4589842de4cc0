"""A trained engine: notes in, PHI out.

engine = load_bundle(path)
annotated = engine.annotate(documents)          the same notes with the spans that the stacker accepts
decisions = engine.decide(documents)            every candidate of each note, who proposed it, how it was weighed
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ensemble.candidates import Decision, pooled
from ensemble.stacker import Stacker
from features.documents import Document
from features.labels import LabelSet
from features.table import FeatureSpace, FeatureTable
from submodels.base import Candidate, Submodel

__all__ = ["Engine"]

_NOTES_AT_ONCE = 64


class Engine:
    """Submodels and the stacker over them, all trained.

    A submodel that fails stops the run: nothing is emitted for the notes at hand.

    :param label_set: of the spans that come out.
    :param space: reads the features.
    :param submodels: trained, in the order in which the stacker knows them.
    :param stacker: trained on the out-of-fold candidates of the same submodels.
    """

    def __init__(
        self, label_set: LabelSet, space: FeatureSpace, submodels: Sequence[Submodel], stacker: Stacker
    ) -> None:
        self.label_set = label_set
        self.space = space
        self.submodels = tuple(submodels)
        self.stacker = stacker

    def propose(self, tables: Sequence[FeatureTable]) -> dict[str, list[list[Candidate]]]:
        """Each submodel's candidates for each note."""
        return {model.name: model.propose(tables) for model in self.submodels}

    def decide(self, documents: Iterable[Document]) -> Iterator[list[Decision]]:
        """For each note, in order, a decision on every candidate, sorted by span."""
        documents = iter(documents)
        while batch := list(islice(documents, _NOTES_AT_ONCE)):
            tables = self.space.tables(batch)
            yield from self.weigh(tables, self.propose(tables))

    def weigh(
        self, tables: Sequence[FeatureTable], proposals: dict[str, list[list[Candidate]]]
    ) -> Iterator[list[Decision]]:
        """Decisions from candidates that are already there."""
        for table, candidates in zip(tables, zip(*proposals.values(), strict=True), strict=True):
            yield self.stacker.decide(table, pooled(candidates))

    def annotate(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The same notes, in order, with the accepted spans in place of any that they had."""
        documents = list(documents)
        for document, decisions in zip(documents, self.decide(documents), strict=True):
            yield document.with_spans(decision.span for decision in decisions if decision.accepted)
