"""A trained engine: notes in, PHI out.

engine = load_bundle(path)
annotated = engine.annotate(documents)             the same notes with the spans that are PHI
readings = engine.read(documents)                  all that became of each note
decisions = engine.decide(documents)               every candidate of each note, who proposed it, how it was weighed
faster = engine.only(("regex", "tbed"))            an engine of some of the submodels, with the stacker trained for them
careful = engine.with_options(recall="high")       the same engine with other options
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from phistack.ensemble.engine.options import EVERYTHING, EngineOptions
from phistack.ensemble.engine.reading import Batch, Reading
from phistack.ensemble.engine.steps import Beside, Gate, Join, Reads, Stack, Step, changing, cut
from phistack.ensemble.stacking.candidates import Decision, pools_of
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.repeats.word_counts import WordCounts, seen_words
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset, in_order, no_stacker
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.language_gate import LanguageGate
from phistack.features.languages import language_name
from phistack.features.plain_view import plain_view
from phistack.submodels.base import Candidate, Submodel

if TYPE_CHECKING:
    from phistack.ensemble.engine.doubt import SafeText
    from phistack.ensemble.evaluation.drift import NoteFacts
    from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch

_CHARACTERS_AT_ONCE, _MOST_NOTES = 400_000, 1024


class Engine:
    """Trained submodels, the trained stacker over them, and the options they read with.

    A submodel that fails stops the run: nothing is emitted for the notes at hand.

    :param submodels: trained, in the order in which the stacker knows them.
    :param stacker: trained on the out-of-fold candidates of the same submodels.
    :param subset_stackers: stackers for some of the submodels only, by their names in the same order.
    :param language_gate: which notes it can read; otherwise those in its language.
    :param cascade: which submodels read only lines in doubt; otherwise all read everything.
    :ivar known: the search for what the roster of the options says; `None` without a roster.
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
    ) -> None:
        self.label_set = label_set
        self.space = space
        self.submodels = tuple(submodels)
        self.stacker = stacker
        self.subset_stackers = dict(subset_stackers or {})
        self.language_gate = language_gate or LanguageGate.of_language(space.settings.language)
        self.cascade = cascade
        self.options = EngineOptions()
        self.known: KnownIdentifiers | None = None
        self.others: Mapping[str, Reads] = {}
        self.beside: tuple[Reads, ...] = ()

    @property
    def names(self) -> Subset:
        """The names of the submodels, in order."""
        return tuple(model.name for model in self.submodels)

    @property
    def stackers(self) -> dict[Subset, Stacker]:
        """All stackers by the submodels they were trained over; the stacker over all submodels comes last."""
        return {**self.subset_stackers, self.names: self.stacker}

    @property
    def language(self) -> str:
        """The language of the notes, as an ISO 639-1 code."""
        return self.space.settings.language

    @property
    def html(self) -> bool:
        """Whether notes are read without the markup of HTML."""
        return self.space.settings.html

    def is_word(self, word: str) -> bool:
        """Whether a folded word is known to be one of the language."""
        return (self.stacker.counts or WordCounts(self.language)).is_word(word)

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
        smaller = copy(self)
        smaller.cascade = None
        smaller.submodels = tuple(model for model in self.submodels if model.name in chosen)
        smaller.stacker = self.subset_stackers[chosen]
        smaller.subset_stackers = {n: stacker for n, stacker in self.subset_stackers.items() if {*n} < {*chosen}}
        return smaller

    def lowered(self, factor: float) -> Engine:
        """An engine that accepts more: all thresholds of its stackers are lowered to a share of what they were."""
        engine = copy(self)
        engine.stacker = self.stacker.lowered(factor)
        engine.subset_stackers = {names: stacker.lowered(factor) for names, stacker in self.subset_stackers.items()}
        return engine

    def with_options(
        self, options: EngineOptions | None = None, *, others: Mapping[str, Reads] | None = None, **changes: Any
    ) -> Engine:
        """The same engine with other options.

        :param options: these replace its present options.
        :param others: language -> the engine that reads passages in it.
        :param changes: new values for single fields of `EngineOptions`.
        :raises SettingsError: if the engine was trained without the operating point, or has no label for what a list, a
            pattern or a column of the roster names.
        """
        engine = copy(self)
        engine.options = options = replace(options or self.options, **changes)
        if options.overruling:
            engine.options = replace(options, overruling=options.overruling.suited_to(self.label_set, self.language))
        engine.known = None
        if options.roster is not None:
            from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers

            engine.known = KnownIdentifiers(options.roster, self.record_search)
        engine.others = self.others if others is None else others
        recall, cascade = options.of_stack
        engine.beside = tuple(
            other.with_options(recall=recall, cascade=cascade, other_languages=options.other_languages)
            for other in (options.beside.load() if options.beside else ())
        )
        engine.steps  # noqa: B018  What cannot work is refused here.
        return engine

    @property
    def safe_text(self) -> SafeText:
        """What is known to identify no one."""
        from phistack.ensemble.engine.doubt import SafeText

        words = self.stacker.counts.never_names() if self.stacker.counts else ()
        return SafeText.of((*self.language_gate.languages, *self.others), words)

    def facts_of(self, texts: Sequence[str], decisions: Iterable[Decision]) -> NoteFacts:
        """What a note is like, for the drift check of a certificate."""
        from phistack.ensemble.evaluation.drift import facts_of

        known = self.stacker.counts.seen if self.stacker.counts else ()
        return facts_of(texts, [d.probability for d in decisions], known, self.language_gate.languages)

    @property
    def record_search(self) -> RecordSearch:
        """The search for what is known about a patient."""
        from phistack.ensemble.stacking.known.identifiers import RecordSearch

        return RecordSearch(self.label_set, self.language, self.is_word)

    @property
    def steps(self) -> dict[str, Step]:
        """What happens to notes, in order, by the names that a trace shows."""
        known, overruling, steps = self.known, self.options.overruling, self.own_steps
        if self.beside:
            steps["engines beside"] = Beside(self.beside, self.label_set)
        if known is not None:
            steps["roster"] = changing(lambda note: known.added(note.document, note.decisions))
        if overruling:
            steps["lists and patterns"] = changing(
                lambda note: overruling.applied(note.view, note.document.text, note.decisions)
            )
        if self.options.recall == EVERYTHING:
            steps["in doubt"] = self._in_doubt()
        return steps

    def _in_doubt(self) -> Step:
        from phistack.ensemble.engine.doubt import InDoubt

        safe = self.safe_text
        if self.language not in safe.languages:
            raise SettingsError(
                "--recall everything needs a list of safe words, and there is none in "
                f"{language_name(self.language)}; take --recall high"
            )
        return InDoubt(safe, self.options.overruling)

    @property
    def own_steps(self) -> dict[str, Step]:
        """The steps before those that use the user's own knowledge."""
        recall, cascade = self.options.of_stack
        stackers = {names: stacker.recalling(recall) for names, stacker in self.stackers.items()}
        stack = Stack(self.space, self.submodels, stackers, self.cascade if cascade else None)
        is_known, other_languages = seen_words(self.stacker.counts), self.options.other_languages
        return {
            "gate": Gate(self.language_gate, other_languages, self.others, is_known),
            "pieces": cut,
            "propose": stack.propose,
            "decide": stack.decide,
            "repeats": stack.repeats,
            "rules": stack.rules,
            "other engines": Join(self.others, self.label_set),
        }

    def propose(self, tables: Sequence[FeatureTable]) -> dict[str, list[list[Candidate]]]:
        """Each submodel's candidates for each note; every submodel reads the whole note."""
        return {model.name: model.propose(tables) for model in self.submodels}

    def read(self, documents: Iterable[Document], *, traced: bool = False) -> Iterator[Reading]:
        """The reading of each note, in order.

        Names accepted in one note are also searched for in the patient's neighbouring notes.

        :param traced: whether each reading has a trace.
        """
        steps = self.steps
        for notes in _batches(documents):
            plain = (document.with_spans(()) for document in notes)
            batch = Batch([Reading(document, plain_view(document, html=self.html)) for document in plain])
            for name, step in steps.items():
                step(batch)
                if traced:
                    batch.trace(name)
            yield from batch.readings

    def decide(self, documents: Iterable[Document]) -> Iterator[list[Decision]]:
        """For each note, in order, a decision on every candidate, sorted by span."""
        return (reading.decisions for reading in self.read(documents))

    def annotate(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The same notes, in order; PHI and text that no engine read replace any spans that they had."""
        return (reading.annotated for reading in self.read(documents))

    def decide_on(self, tables: Sequence[FeatureTable]) -> Iterator[list[Decision]]:
        """The engine's own decisions on notes with features already read, all notes at once."""
        batch, steps = Batch(tables=tables), self.own_steps
        for name in ("propose", "decide", "repeats", "rules"):
            steps[name](batch)
        return batch.in_pieces()

    def decide_from(
        self, tables: Sequence[FeatureTable], proposals: Mapping[str, list[list[Candidate]]]
    ) -> Iterator[list[Decision]]:
        """Decisions from given candidates, without a cascade, on spans of the notes as written.

        :param proposals: those of all submodels, or of a subset that has a stacker, in the order of `names`.
        """
        pools = pools_of(tables, proposals, tuple(proposals))
        for table, decisions in zip(tables, self.stackers[tuple(proposals)].decide_all(tables, pools), strict=True):
            yield [decision.in_note(table.view) for decision in decisions]


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Batches of notes, large enough to save time and small enough to take little memory.

    Consecutive notes of a patient stay together, unless there are very many.
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


class EnginesByLanguage(Mapping[str, Engine]):
    """Language -> the engine that reads it, which is loaded when needed.

    :param load: gives the engine of a language; it is called each time.
    """

    def __init__(self, languages: Collection[str], load: Callable[[str], Engine]) -> None:
        self._languages, self._load = tuple(languages), load

    def __getitem__(self, language: str) -> Engine:
        if language not in self._languages:
            raise KeyError(language)
        return self._load(language)

    def __contains__(self, language: object) -> bool:
        return language in self._languages

    def __iter__(self) -> Iterator[str]:
        return iter(self._languages)

    def __len__(self) -> int:
        return len(self._languages)
