"""A trained engine: notes in, PHI out.

engine = load_bundle(path)
annotated = engine.annotate(documents)          the same notes with the spans that the stacker accepts
decisions = engine.decide(documents)            every candidate of each note, who proposed it, how it was weighed
faster = engine.only(("regex", "tbed"))         an engine of some of the submodels, with the stacker trained for them
slower = engine.without_cascade()               all submodels read all lines
informed = engine.with_known(roster)            what a roster says of the notes' patients is found too
careful = engine.recalling("high")              less is missed, more is marked that is no PHI
knowing = engine.overruled_by(overruling)       a user's lists and patterns have the last word
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby, islice

from phistack.ensemble.stacking.candidates import Decision, pools_of
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.known import KnownIdentifiers, RecordSearch, Roster
from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset, in_order, no_stacker
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document
from phistack.features.labels import LabelSet
from phistack.features.language_gate import LanguageGate
from phistack.submodels.base import Candidate, Submodel

_CHARACTERS_AT_ONCE, _MOST_NOTES = 400_000, 1024


class Engine:
    """Submodels and the stacker over them, all trained.

    A submodel that fails stops the run: nothing is emitted for the notes at hand.

    :param label_set: of the spans that come out.
    :param space: reads the features.
    :param submodels: trained, in the order in which the stacker knows them.
    :param stacker: trained on the out-of-fold candidates of the same submodels.
    :param subset_stackers: stackers for some of the submodels only, by their names in the same order.
    :param language_gate: which notes it can read; otherwise those in its language.
    :param cascade: which submodels read only lines in doubt; otherwise all read everything.
    :param known: what is known of the notes' patients; see `with_known`.
    """

    def __init__(
        self,
        label_set: LabelSet,
        space: FeatureSpace,
        submodels: Sequence[Submodel],
        stacker: Stacker,
        subset_stackers: Mapping[Subset, Stacker] | None = None,
        language_gate: LanguageGate | None = None,
        cascade: Cascade | None = None,
        known: KnownIdentifiers | None = None,
    ) -> None:
        self.label_set = label_set
        self.space = space
        self.submodels = tuple(submodels)
        self.stacker = stacker
        self.subset_stackers = dict(subset_stackers or {})
        self.language_gate = language_gate or LanguageGate.of_language(space.settings.language)
        self.cascade = cascade
        self.known = known
        self.overruling = Overruling()

    @property
    def names(self) -> Subset:
        """The names of the submodels, in order."""
        return tuple(model.name for model in self.submodels)

    @property
    def stackers(self) -> dict[Subset, Stacker]:
        """All stackers, that of the whole last, by the submodels that they were trained over."""
        return {**self.subset_stackers, self.names: self.stacker}

    def only(self, names: Iterable[str]) -> Engine:
        """An engine of some of the submodels, weighed by the stacker that was trained for just these.

        A cascade is trained for all submodels together, so an engine of fewer has none.

        :raises SettingsError: if a submodel is not in this engine.
        :raises BundleError: if no stacker was trained for them.
        """
        chosen = in_order(self.names, names)
        if chosen == self.names:
            return self
        if chosen not in self.subset_stackers:
            raise no_stacker(chosen)
        smaller = self.without_cascade()
        smaller.submodels = tuple(model for model in self.submodels if model.name in chosen)
        smaller.stacker = self.subset_stackers[chosen]
        smaller.subset_stackers = {n: stacker for n, stacker in self.subset_stackers.items() if {*n} < {*chosen}}
        return smaller

    def without_cascade(self) -> Engine:
        """The same engine, in which all submodels read all lines."""
        engine = copy(self)
        engine.cascade = None
        return engine

    def with_known(self, roster: Roster) -> Engine:
        """The same engine, in which `decide` and `annotate` find what a roster says of the patient of a note, too.

        :raises SettingsError: if its labels have none for what a column of the roster holds.
        """
        engine = copy(self)
        settings, counts = self.space.settings, self.stacker.counts
        is_word = counts.is_word if counts is not None else None
        search = RecordSearch(self.label_set, settings.language, is_word)
        engine.known = KnownIdentifiers(roster, search)
        return engine

    def recalling(self, choice: str) -> Engine:
        """The same engine with another threshold: `high` recall, `balanced` or `precise`.

        :raises SettingsError: if there is no such choice, or the engine was trained without.
        """
        engine = copy(self)
        engine.stacker = self.stacker.recalling(choice)
        engine.subset_stackers = {names: one.recalling(choice) for names, one in self.subset_stackers.items()}
        return engine

    def overruled_by(self, overruling: Overruling) -> Engine:
        """The same engine, in which `decide` and `annotate` let lists and patterns have the last word.

        :raises SettingsError: if they have a label that the engine does not have.
        """
        engine = copy(self)
        engine.overruling = overruling.suited_to(self.label_set, self.space.settings.language)
        return engine

    def propose(self, tables: Sequence[FeatureTable]) -> dict[str, list[list[Candidate]]]:
        """Each submodel's candidates for each note, all of which it reads."""
        return {model.name: model.propose(tables) for model in self.submodels}

    def decide(self, documents: Iterable[Document]) -> Iterator[list[Decision]]:
        """For each note, in order, a decision on every candidate, sorted by span.

        What is found in a note of a patient is sought again in those of the same patient that follow it or go before.
        """
        for batch in _batches(documents):
            tables = self.space.tables(batch)
            for document, table, decisions in zip(batch, tables, self.decide_on(tables), strict=True):
                if self.known is not None:
                    decisions = self.known.added(document, decisions)
                yield self.overruling.applied(table.view, document.text, decisions) if self.overruling else decisions

    def decide_on(self, tables: Sequence[FeatureTable]) -> Iterator[list[Decision]]:
        """The same for notes whose features are read already; all of them at once."""
        if self.cascade is None:
            yield from self.weigh(tables, self.propose(tables))
            return
        for table, decisions in zip(tables, self.cascade.decide(tables, self.submodels, self.stackers), strict=True):
            yield [decision.in_note(table.view) for decision in decisions]

    def weigh(
        self, tables: Sequence[FeatureTable], proposals: Mapping[str, list[list[Candidate]]]
    ) -> Iterator[list[Decision]]:
        """Decisions from candidates that are already there, without a cascade, on spans of the notes as written.

        :param proposals: of all submodels, or of a subset that has a stacker, in the order of `names`.
        """
        stacker = self.stackers[tuple(proposals)]
        pools = pools_of(tables, proposals, tuple(proposals))
        for table, decisions in zip(tables, stacker.decide_all(tables, pools), strict=True):
            yield [decision.in_note(table.view) for decision in decisions]

    def annotate(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The same notes, in order, with the accepted spans in place of any that they had."""
        documents = list(documents)
        for document, decisions in zip(documents, self.decide(documents), strict=True):
            yield document.with_spans(decision.span for decision in decisions if decision.accepted)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Some notes at a time, so many that reading them together saves time and so few that they take little memory.

    Those of a patient that follow each other stay together, unless there are very many.
    """
    batch: list[Document] = []
    characters = 0
    for _, of_patient in groupby(documents, key=lambda document: document.group):
        while notes := list(islice(of_patient, _MOST_NOTES)):
            if batch and (characters >= _CHARACTERS_AT_ONCE or len(batch) + len(notes) > _MOST_NOTES):
                yield batch
                batch, characters = [], 0
            batch += notes
            characters += sum(len(document.text) for document in notes)
    if batch:
        yield batch
