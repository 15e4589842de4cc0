"""The detector of a run: a trained engine as the workers see it.

    detector = load_detector(bundle)
    detector.find([Document("110-01", text)])     [Detection(spans=(Span(12, 17, "DOCTOR"),), lowest=0.93)]

Whatever callable takes the path of a bundle and gives a `Detector` can stand in for `load_detector`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN, KnownIdentifiers, RecordSearch, Roster
from phistack.ensemble.stacking.overruling import Overruling, overruled
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_view

LONGEST_PIECE = 100_000
"""Longer notes are searched in pieces of at most so many characters, so that one note never takes all memory."""

_BREAKS = ("\n\n", "\n", " ")


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in one note.

    :param spans: accepted by the stacker.
    :param lowest: the least probability among them; 1 if there are none.
    :param overruled: on how many spans the user's lists and patterns had a say, by their source.
    :param known: the labels of those that a roster says.
    """

    spans: tuple[Span, ...]
    lowest: float = 1.0
    overruled: Mapping[str, int] = field(default_factory=dict)
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detector:
    """An engine, its labels and its language.

    :param label_set: of the spans.
    :param language: ISO 639-1 code.
    :param decide: as `Engine.decide`.
    :param objection: why a text cannot be read; nothing if it can.
    :param counts: which words are words of the language; nothing for an engine that did not learn it.
    :param reading_all: as `decide`, with all submodels reading all lines; nothing where they do so anyway.
    :param html: whether the engine reads notes without the markup of HTML.
    :param known: what is known of the notes' patients, which `decide` finds too.
    :param recalling: the same with another threshold, by its name; nothing where there is one only.
    :param overruling: the lists and patterns of the user, which have the last word.
    """

    label_set: LabelSet
    language: str
    decide: Callable[[Iterable[Document]], Iterator[list[Decision]]]
    objection: Callable[[str], str] = lambda text: ""
    counts: WordCounts | None = None
    reading_all: Callable[[Iterable[Document]], Iterator[list[Decision]]] | None = None
    html: bool = False
    known: KnownIdentifiers | None = None
    recalling: Callable[[str], Detector] | None = None
    overruling: Overruling = field(default_factory=Overruling)

    def recalled(self, choice: str) -> Detector:
        """The same with another threshold; :raises SettingsError: if it does not have it."""
        if self.recalling is None:
            raise SettingsError("this detector has one threshold only; leave out --recall")
        return self.recalling(choice)

    def overruled_by(self, overruling: Overruling) -> Detector:
        """The same, with lists and patterns; :raises SettingsError: if they have a label that it does not have."""
        return replace(self, overruling=overruling.suited_to(self.label_set, self.language))

    def without_cascade(self) -> Detector:
        """The same, with all submodels reading all lines."""
        return replace(self, decide=self.reading_all or self.decide)

    def with_known(self, roster: Roster) -> Detector:
        """The same, which finds what a roster says, too; :raises SettingsError: as `KnownIdentifiers`."""
        known = KnownIdentifiers(roster, self.record_search)
        reading_all = known.over(self.reading_all) if self.reading_all else None
        return replace(self, decide=known.over(self.decide), reading_all=reading_all, known=known)

    @property
    def record_search(self) -> RecordSearch:
        """The search for what is known of a patient."""
        return RecordSearch(self.label_set, self.language, self.is_word)

    def is_word(self, word: str) -> bool:
        """Whether a folded word is one of the language, as far as is known."""
        return (self.counts or WordCounts(self.language)).is_word(word)

    def find(self, documents: Sequence[Document]) -> list[Detection]:
        """The PHI of each note, in order."""
        parts = [(at, document) for document in documents for at in pieces(document.text)]
        texts = (Document(document.id, document.text[at[0] : at[1]], (), document.group) for at, document in parts)
        found = iter(list(zip(parts, self.decide(texts), strict=True)))
        return [self._found(document, found) for document in documents]

    def _found(
        self, document: Document, decided: Iterator[tuple[tuple[tuple[int, int], Document], list[Decision]]]
    ) -> Detection:
        found: list[Decision] = []
        end = -1
        while end < len(document.text):
            ((start, end), _), decisions = next(decided)
            found += (_moved(decision, start) for decision in decisions)
        if self.overruling:
            found = self.overruling.applied(plain_view(document, html=self.html), document.text, found)
        accepted = [decision for decision in found if decision.accepted]
        lowest = min((decision.probability for decision in accepted), default=1.0)
        known = tuple(d.span.label for d in accepted if any(vote.source == KNOWN for vote in d.votes))
        return Detection(tuple(decision.span for decision in accepted), lowest, overruled(found), known)

    def without_never(self, document: Document, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """The spans that are not wholly a phrase of the user's list of what never is PHI."""
        if not (spans and self.overruling.never.phrases):
            return spans
        return self.overruling.without_never(plain_view(document, html=self.html), document.text, spans)


def load_detector(path: Path) -> Detector:
    """Load a bundle; :raises BundleError: if anything about it is not as it was made."""
    from phistack.ensemble.bundles.bundle import load_bundle

    return _detector_of(load_bundle(path))


def _detector_of(engine: Engine) -> Detector:
    language = engine.space.settings.language
    return Detector(
        engine.label_set,
        language,
        engine.decide,
        engine.language_gate.objection,
        engine.stacker.counts,
        engine.without_cascade().decide,
        engine.space.settings.html,
        recalling=lambda choice: _detector_of(engine.recalling(choice)),
    )


def _moved(decision: Decision, by: int) -> Decision:
    """The decision on a piece of a note as one on the note."""
    span = decision.span
    return replace(decision, span=Span(span.start + by, span.end + by, span.label)) if by else decision


def pieces(text: str, longest: int = LONGEST_PIECE) -> list[tuple[int, int]]:
    """Begin and end of the pieces of a text, cut at an empty line, a line end or a blank where there is one."""
    bounds = [0]
    while len(text) - bounds[-1] > longest:
        begin, end = bounds[-1], bounds[-1] + longest
        cuts = (
            text.rfind(mark, begin + longest // 2, end) + len(mark)
            for mark in _BREAKS
            if mark in text[begin + longest // 2 : end]
        )
        bounds.append(next(cuts, end))
    return list(zip(bounds, [*bounds[1:], len(text)], strict=True))
