"""Known identifiers among the decisions on a note.

    known = KnownIdentifiers(roster, RecordSearch(label_set, "en", counts.is_word))
    known.added(document, decisions)        with decisions whose votes are of the source `known`

An identifier of the record is accepted unless it is ambiguous (a word of the language, initials, a part of a date)
without support. A chosen candidate of a submodel that overlaps it and has the same kind supports it; so does, for a
word without a typing error, a capital letter inside a sentence and outside accepted spans of other kinds. Two words of
a name support each other. An overlapping accepted span of the same label is merged with it; one of another label keeps
its remainder, so no accepted character is uncovered.

    unmarked([(document, spans), ...], "en", counts.is_word, is_removed)      further spans for each note of a patient

In a release, missing a name is worse than hiding a word too many. So a name found in one of the notes counts wherever
it occurs, unless all its words are words of the language; two words of a name always count. Parts of a name have at
least three letters, numbers and addresses at least six letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.roster import Record, Roster, label_of, roles, searched_as
from phistack.ensemble.stacking.known.search import Identifier, KnownIndex, identifiers_of
from phistack.ensemble.stacking.known.signs import Place
from phistack.ensemble.stacking.repeats.classifier import REPEAT
from phistack.ensemble.stacking.repeats.search import non_name_words, search_mode
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.plain_view import PlainView, plain_view
from phistack.features.ranges import covering, overlapping_each, overlapping_groups, ranges_of, remainders
from phistack.features.text_words import is_without_blanks, trimmed
from phistack.submodels.base import Candidate

_SHORT = 2
_SHORTEST_PART, _SHORTEST_CODE = 3, 6
_PERSONS = ("PERSON", "INITIALS", "USERNAME", "RELATIVE")
_GUESSES = ("one typing error", "initials alone", "a part of it", "short form")
_INSIDE_A_SENTENCE = re.compile(r"[^\W_][,;]?[ \t]+$|[^\W_][,;]?\n$")


@dataclass(frozen=True, slots=True)
class RecordSearch:
    """The search for the identifiers of a patient's record.

    :param is_word: whether a folded word is a word of the language; by default, a list of names that are words says so.
    """

    label_set: LabelSet
    language: str
    is_word: Callable[[str], bool] | None = None

    def index(self, record: Record) -> KnownIndex:
        """The index of a record; :raises SettingsError: if the label set has no label for what it contains."""
        return KnownIndex(identifiers_of(record, self.label_set), self.language)

    def added(
        self, document: Document, decisions: Sequence[Decision], index: KnownIndex, *, is_of_columns: bool = False
    ) -> list[Decision]:
        """The decisions on a note and on the identifiers of a record, sorted by span.

        :param is_of_columns: whether the record is from the note's own row; there a single word counts unless it is an
            everyday word in small letters.
        """
        hits = [
            (known, place, view.document.text, view.in_note(Span(place.start, place.end, known.label)))
            for view in _views(document.with_spans(()))
            for known, place in index.find(view.document.text)
        ]
        best: dict[Span, tuple[bool, bool, Candidate]] = {}
        all_near = overlapping_each((span for _, _, _, span in hits), decisions)
        for (known, place, text, span), near in zip(hits, all_near, strict=True):
            is_sure = self._is_sure(place, text, span.label, near) or (is_of_columns and self._is_clear(place, text))
            found = (is_sure, place.how == "exact")
            if span not in best or found > best[span][:2]:
                what = "it may be anything" if place.needs_sign else "a word of the language"
                doubt = "" if is_sure else f"; {what} that nothing else supports"
                vote = Candidate(span, KNOWN, float(is_sure), is_sure, f"{known.role}: {place.how}{doubt}")
                best[span] = (*found, vote)
        # A policy may keep names of staff, but not a word that is also in the patient's name.
        of_staff = {known.label for known, *_ in hits if known.role == "staff"}
        votes = {span: vote for span, (_, _, vote) in best.items()}
        return _laid_over(document.text, decisions, votes, of_staff) if votes else list(decisions)

    def has_name(self, text: str, index: KnownIndex, removes: Callable[[str], bool]) -> bool:
        """Whether a text other than a note, such as a file name, contains a name of the record.

        :param removes: whether PHI of a label is removed.
        """
        names = ((known.label, place) for known, place in index.find(text) if self._kind(known.label) == "PERSON")
        return any(
            removes(label) and place.how != "initials alone" and self._is_sure(place, text, label, ())
            for label, place in names
        )

    def _is_clear(self, place: Place, text: str) -> bool:
        word = place.words[0] if len(place.words) == 1 else ""
        is_common = bool(word) and (_is_short(word) or WordCounts(self.language).is_common(word))
        return not (place.needs_sign or place.how in _GUESSES or (is_common and text[place.start].islower()))

    def _is_sure(self, place: Place, text: str, label: str, near: Sequence[Decision]) -> bool:
        """Whether it is accepted.

        :param text: in its plain view, in which the place is.
        :param near: the decisions that overlap it.
        """
        if not place.needs_sign and not (place.words and all(map(self._is_word, place.words))):
            return True
        kind = self._kind(label)
        if any(_is_proposed(decision) and self._kind(decision.span.label) == kind for decision in near):
            return True
        # Abbreviations have capitals everywhere.
        if place.needs_sign or place.how in ("one typing error", "initials alone"):
            return False
        is_taken = any(d.accepted and self._kind(d.span.label) != kind for d in near)
        return not is_taken and _is_capital_inside(text, place)

    def _is_word(self, word: str) -> bool:
        is_word = self.is_word or WordCounts(self.language).is_word
        return _is_short(word) or word in non_name_words(self.language) or is_word(word)

    def _kind(self, label: str) -> str:
        kind = kind_of(label, self.label_set.name)
        return "PERSON" if kind in _PERSONS else kind


class KnownIdentifiers:
    """The search for the identifiers of a roster.

    :raises SettingsError: if the label set has no label for a column of the roster.
    """

    def __init__(self, roster: Roster, search: RecordSearch) -> None:
        self.roster, self.search = roster, search
        self._last: tuple[str, KnownIndex] | None = None
        for role in roster.roles:
            if role in roles():
                label_of(role, search.label_set)

    def index(self, patient: str) -> KnownIndex:
        """The index of a patient's record; the last one is kept, as notes of a patient are mostly adjacent."""
        if self._last is None or self._last[0] != patient:
            self._last = patient, self.search.index(self.roster.record(patient))
        return self._last[1]

    def added(self, document: Document, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions on a note and on the identifiers of its patient, sorted by span."""
        return self.search.added(document, decisions, self.index(document.group))


def _views(document: Document) -> tuple[PlainView, ...]:
    """The plain view of a note and, if it differs, the view that needs no evidence of markup and encodings."""
    view, read = plain_view(document), plain_view(document, html=True, encoded=True)
    return (view,) if read.document.text == view.document.text else (view, read)


def _is_short(word: str) -> bool:
    """Whether it is so short that it may be a word or an abbreviation in any alphabetic language."""
    return len(word) <= _SHORT and not is_without_blanks(word)


def _is_proposed(decision: Decision) -> bool:
    """Whether it is accepted, or chosen by a submodel; repeats do not count."""
    return decision.accepted or any(vote.chosen and vote.source != REPEAT for vote in decision.votes)


def _is_capital_inside(text: str, place: Place) -> bool:
    """Whether it begins with a capital inside a sentence, in a line that is not all capitals."""
    word, line = text[place.start : place.end], text[text.rfind("\n", 0, place.start) + 1 : place.start]
    is_inside = _INSIDE_A_SENTENCE.search(text[max(0, place.start - 6) : place.start]) is not None
    return word[0].isupper() and is_inside and not (word.isupper() and line.isupper())


def _laid_over(
    text: str, decisions: Sequence[Decision], votes: dict[Span, Candidate], of_staff: set[str]
) -> list[Decision]:
    """Merge votes into decisions; accepted spans do not overlap, and cover all that they covered before."""
    before = {decision.span: decision for decision in decisions}
    result = {span: replace(decision, accepted=False) for span, decision in before.items()}
    for span, vote in votes.items():
        old = result.get(span, Decision(span, 0.0, False, ()))
        result[span] = replace(old, votes=(*old.votes, vote))
    sure = {span for span, vote in votes.items() if vote.chosen}
    accepted = {decision.span for decision in decisions if decision.accepted}
    for group in overlapping_groups(sure | accepted):
        taken: list[Span] = []
        for span in sorted(_joined(group, sure), key=lambda s: (s.start - s.end, s.label in of_staff, s)):
            taken += _pieces(text, span, taken)
        for piece in taken:
            old = result.get(piece, Decision(piece, 0.0, False, ()))
            added = (votes[span] for span in group if span in sure and span.overlaps(piece))
            result[piece] = Decision(piece, 1.0, True, tuple(dict.fromkeys((*old.votes, *added))))
        for span in (span for span in group if span in accepted):
            for piece in _pieces(text, span, taken):
                old = result.get(piece, before[span])
                result[piece] = Decision(piece, before[span].probability, True, old.votes)
    return [result[span] for span in sorted(result)]


def _joined(group: Iterable[Span], sure: set[Span]) -> Iterator[Span]:
    """The sure spans of a group, each with the others of its label that overlap it."""
    by_label: dict[str, list[Span]] = {}
    for span in group:
        by_label.setdefault(span.label, []).append(span)
    for label, spans in by_label.items():
        for same in overlapping_groups(spans):
            if not sure.isdisjoint(same):
                yield Span(same[0].start, max(span.end for span in same), label)


def _pieces(text: str, span: Span, taken: Iterable[Span]) -> list[Span]:
    """The parts of a span outside others, without signs and blanks at their ends."""
    over = [other for other in taken if other.overlaps(span)]
    if not over:
        return [span]
    left = remainders((span.start, span.end), ranges_of(over))
    return [Span(*trimmed(text, *one), span.label) for one in left if any(map(str.isalnum, text[slice(*one)]))]


def unmarked(
    notes: Sequence[tuple[Document, Sequence[Span]]],
    language: str,
    is_word: Callable[[str], bool],
    is_removed: Callable[[str], bool],
) -> list[tuple[Span, ...]]:
    """For each note the unmarked places of PHI that was found in any of the notes.

    :param notes: of one patient, each with the PHI found in it.
    :param is_removed: whether PHI of a label is removed; other labels are not searched for.
    :returns: spans of the notes as they were written.
    """
    views = [plain_view(note.with_spans(span for span in found if is_removed(span.label))) for note, found in notes]
    identifiers = (
        Identifier(view.document.text[span.start : span.end], span.label, "", searched_as("", span.label))
        for view in views
        for span in view.document.spans
        if search_mode(span.label)
    )
    index = KnownIndex(identifiers, language, is_guessing=False)
    return [tuple(sorted({*_more(view, index, is_word)})) for view in views]


def _more(view: PlainView, index: KnownIndex, is_word: Callable[[str], bool]) -> Iterator[Span]:
    is_marked = covering(ranges_of(view.document.spans))
    for known, place in index.find(view.document.text):
        text = view.document.text[place.start : place.end]
        if not is_marked(place.start, place.end) and _must_go(place, text, known.kind == "name", is_word):
            yield view.in_note(Span(place.start, place.end, known.label))


def _must_go(place: Place, text: str, is_name: bool, is_word: Callable[[str], bool]) -> bool:
    if not is_name:
        return sum(map(str.isalnum, text)) >= _SHORTEST_CODE
    is_short = all(len(word) < _SHORTEST_PART and not is_without_blanks(word) for word in place.words)
    return not (place.needs_sign or (place.words and (is_short or all(map(is_word, place.words)))))
