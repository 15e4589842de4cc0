"""Known identifiers among the decisions on a note.

    known = KnownIdentifiers(roster, RecordSearch(label_set, "en", counts.is_word))
    known.added(document, decisions)        with decisions whose votes are of the source `known`

What a record says is accepted, unless it is a word of the language, or initials or a part of a date that may be
anything else, and nothing else supports it: neither a chosen candidate of a submodel that touches it and is of the same
kind, nor, for a word that is written without a typing error, a capital letter inside a sentence that is not in an
accepted span of another kind. Two words of a name support each other. An accepted span of the same label that overlaps
becomes one with it; one of another label keeps what is left of it, so that nothing that was accepted is uncovered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known.columns import label_of, roles
from phistack.ensemble.stacking.known.roster import Record, Roster
from phistack.ensemble.stacking.known.search import KnownIndex, KnownMention, identifiers_of
from phistack.ensemble.stacking.repeats import WordCounts
from phistack.ensemble.stacking.repeats.classifier import REPEAT
from phistack.ensemble.stacking.repeats.search import non_name_words
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_view
from phistack.features.ranges import overlapping_each, overlapping_groups, ranges_of, remainders
from phistack.features.text_words import is_without_blanks
from phistack.submodels.base import Candidate

KNOWN = "known"
"""The source of the votes for what a record says."""

_SHORT = 2
_PERSONS = ("PERSON", "INITIALS", "USERNAME", "RELATIVE")
_GUESSES = ("one typing error", "initials alone", "a part of it", "short form")
_INSIDE_A_SENTENCE = re.compile(r"[^\W_][,;]?[ \t]+$|[^\W_][,;]?\n$")


@dataclass(frozen=True, slots=True)
class RecordSearch:
    """The search for what the record of a patient says.

    :param label_set: of the decisions.
    :param language: ISO 639-1 code.
    :param is_word: whether a folded word is one of the language; otherwise by a list of names that are.
    :param html: whether notes are read without the markup of HTML.
    """

    label_set: LabelSet
    language: str
    is_word: Callable[[str], bool] | None = None
    html: bool = False

    def index(self, record: Record) -> KnownIndex:
        """A record, ready to be found; :raises SettingsError: if the label set has no label for what it holds."""
        return KnownIndex(identifiers_of(record, self.label_set), self.language)

    def added(
        self, document: Document, decisions: Sequence[Decision], index: KnownIndex, *, is_of_columns: bool = False
    ) -> list[Decision]:
        """The decisions on a note and on what a record says, sorted by span.

        :param is_of_columns: whether the record comes with the note itself, so that a single word counts unless it is
            in small letters and an everyday word.
        """
        view = plain_view(document.with_spans(()), html=self.html)
        best: dict[Span, tuple[KnownMention, bool]] = {}
        hits = [(hit, view.in_note(hit.span)) for hit in index.find(view.document.text)]
        all_near = overlapping_each([span for _, span in hits], sorted(decisions, key=lambda d: d.span.start))
        for (hit, span), near in zip(hits, all_near, strict=True):
            is_sure = (is_of_columns and self._is_told(hit, view.document.text)) or self._is_sure(
                hit, view.document.text, span.label, near
            )
            known = best.get(span)
            if known is None or (is_sure, hit.how == "exact") > (known[1], known[0].how == "exact"):
                best[span] = replace(hit, span=span), is_sure
        return _laid_over(document.text, decisions, best) if best else list(decisions)

    def has_name(self, text: str, index: KnownIndex, removes: Callable[[str], bool]) -> bool:
        """Whether a text that is no note, such as the name of a file, has a name of the record.

        :param removes: whether what has a label must not come out.
        """
        names = (hit for hit in index.find(text) if self._kind(hit.span.label) == "PERSON" and removes(hit.span.label))
        return any(hit.how != "initials alone" and self._is_sure(hit, text, hit.span.label, ()) for hit in names)

    def _is_told(self, hit: KnownMention, text: str) -> bool:
        if hit.needs_sign or hit.how in _GUESSES:
            return False
        is_small = len(hit.words) == 1 and text[hit.span.start].islower()
        word = hit.words[0] if hit.words else ""
        return not (is_small and (_is_short(word) or WordCounts(self.language).is_common(word)))

    def _is_sure(self, hit: KnownMention, text: str, label: str, near: Sequence[Decision]) -> bool:
        """Whether it is accepted.

        :param text: in its plain view, in which the hit is.
        :param near: the decisions that overlap it.
        """
        if not hit.needs_sign and not (hit.words and all(map(self._is_word, hit.words))):
            return True
        kind = self._kind(label)
        if any(_is_proposed(decision) and self._kind(decision.span.label) == kind for decision in near):
            return True
        # Abbreviations have capitals everywhere.
        if hit.needs_sign or hit.how in ("one typing error", "initials alone"):
            return False
        taken = any(d.accepted and self._kind(d.span.label) != kind for d in near)
        return not taken and _is_capital_inside(text, hit.span)

    def _is_word(self, word: str) -> bool:
        return (
            _is_short(word)
            or word in non_name_words(self.language)
            or (self.is_word or WordCounts(self.language).is_word)(word)
        )

    def _kind(self, label: str) -> str:
        kind = kind_of(label, self.label_set.name)
        return "PERSON" if kind in _PERSONS else kind


class KnownIdentifiers:
    """The search for what the records of a roster say.

    :param roster: the records.
    :param search: for what each of them says.
    :raises SettingsError: if the label set has no label for what a column of the roster holds.
    """

    def __init__(self, roster: Roster, search: RecordSearch) -> None:
        self.roster, self.search = roster, search
        self._last: tuple[str, KnownIndex] | None = None
        for role in roster.roles:
            if role in roles():
                label_of(role, search.label_set)

    def over(
        self, decide: Callable[[Iterable[Document]], Iterator[list[Decision]]]
    ) -> Callable[..., Iterator[list[Decision]]]:
        """The same way to decide on notes, with what is known."""

        def decide_with(documents: Iterable[Document]) -> Iterator[list[Decision]]:
            notes = list(documents)
            return map(self.added, notes, decide(notes))

        return decide_with

    def index(self, patient: str) -> KnownIndex:
        """What is known of a patient, ready to be found; notes of a patient mostly follow each other."""
        if self._last is None or self._last[0] != patient:
            self._last = patient, self.search.index(self.roster.record(patient))
        return self._last[1]

    def added(self, document: Document, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions on a note and on what the record of its patient says, sorted by span."""
        return self.search.added(document, decisions, self.index(document.group))


def _is_short(word: str) -> bool:
    """Whether it is a word or an abbreviation of any language that has letters."""
    return len(word) <= _SHORT and not is_without_blanks(word)


def _is_proposed(decision: Decision) -> bool:
    """Whether it is accepted, or a submodel would mark it; that a word is a repeat says nothing of it."""
    return decision.accepted or any(vote.chosen and vote.source != REPEAT for vote in decision.votes)


def _is_capital_inside(text: str, span: Span) -> bool:
    """Whether it begins with a capital, is after a word of the same sentence, and not all around is in capitals."""
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    word = text[span.start : span.end]
    return (
        word[0].isupper()
        and not (word.isupper() and line.isupper())
        and _INSIDE_A_SENTENCE.search(text[max(0, span.start - 6) : span.start]) is not None
    )


def _laid_over(text: str, decisions: Sequence[Decision], hits: dict[Span, tuple[KnownMention, bool]]) -> list[Decision]:
    """Decisions with the hits in them; what is accepted does not overlap, and covers all that it covered."""
    before = {decision.span: decision for decision in decisions}
    votes = {span: _vote(hit, is_sure) for span, (hit, is_sure) in hits.items()}
    result = {span: replace(decision, accepted=False) for span, decision in before.items()}
    for span, vote in votes.items():
        old = result.get(span, Decision(span, 0.0, False, ()))
        result[span] = replace(old, votes=(*old.votes, vote))
    # A policy may keep the names of staff, but not a word of them that is also of the patient's name.
    of_staff = {hit.span.label for hit, _ in hits.values() if hit.role == "staff"}
    sure = {span for span, (_, is_sure) in hits.items() if is_sure}
    for group in overlapping_groups(sure | {decision.span for decision in decisions if decision.accepted}):
        taken: list[Span] = []
        for span in sorted(_joined(group, sure), key=lambda s: (s.start - s.end, s.label in of_staff, s)):
            taken += _pieces(text, span, taken)
        for piece in taken:
            old = result.get(piece, Decision(piece, 0.0, False, ()))
            added = [votes[span] for span in group if span in sure and span.overlaps(piece)]
            result[piece] = Decision(piece, 1.0, True, tuple(dict.fromkeys((*old.votes, *added))))
        for span in group:
            if span in before and before[span].accepted:
                for piece in _pieces(text, span, taken):
                    votes_of_piece = result[piece].votes if piece in result else before[span].votes
                    result[piece] = Decision(piece, before[span].probability, True, votes_of_piece)
    return [result[span] for span in sorted(result)]


def _vote(hit: KnownMention, is_sure: bool) -> Candidate:
    what = "it may be anything" if hit.needs_sign else "a word of the language"
    doubt = "" if is_sure else f"; {what} that nothing else supports"
    return Candidate(hit.span, KNOWN, 1.0 if is_sure else 0.0, is_sure, f"{hit.role}: {hit.how}{doubt}")


def _joined(group: Iterable[Span], sure: set[Span]) -> list[Span]:
    """The sure spans of a group, each with the others of its label that overlap it."""
    by_label: dict[str, list[Span]] = {}
    for span in group:
        by_label.setdefault(span.label, []).append(span)
    return [
        Span(same[0].start, max(span.end for span in same), label)
        for label, spans in by_label.items()
        for same in overlapping_groups(spans)
        if not sure.isdisjoint(same)
    ]


def _pieces(text: str, span: Span, taken: Iterable[Span]) -> list[Span]:
    """What others leave of a span, without signs and blanks at its ends; nothing is cut from one that they let be."""
    over = [other for other in taken if other.overlaps(span)]
    if not over:
        return [span]
    found = []
    for start, end in remainders((span.start, span.end), ranges_of(over)):
        piece = text[start:end]
        left, right = len(piece) - len(re.sub(r"^[\W_]+", "", piece)), len(re.sub(r"[\W_]+$", "", piece))
        if left < right:
            found.append(Span(start + left, start + right, span.label))
    return found
