"""Known identifiers among the decisions on a note.

    known = KnownIdentifiers(roster, RecordSearch(label_set, "en", counts.is_word))
    known.added(document, decisions)        with decisions whose votes are of the source `known`

What a record says is accepted, unless all its words are words of the language, or it is initials or a part of a date
that may be anything else, and nothing else supports it: neither a chosen candidate of a submodel that touches it and is
of the same kind, nor, for a word that is written without a typing error, a capital letter inside a sentence that is not
in an accepted span of another kind. Two words of a name support each other. An accepted span of the same label that
overlaps becomes one with it; one of another label keeps what is left of it, so that nothing that was accepted is
uncovered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known.columns import label_of, roles
from phistack.ensemble.stacking.known.roster import Record, Roster
from phistack.ensemble.stacking.known.search import KnownMention, found_in
from phistack.ensemble.stacking.repeats import WordCounts
from phistack.ensemble.stacking.repeats.classifier import SAID_AGAIN
from phistack.ensemble.stacking.repeats.search import idle_words
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_view
from phistack.submodels.base import Candidate

KNOWN = "known"
"""The source of the votes for what a record says."""

_SHORT = 2
_PERSONS = ("PERSON", "INITIALS", "USERNAME", "RELATIVE")
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

    def added(self, document: Document, decisions: Sequence[Decision], record: Record) -> list[Decision]:
        """The decisions on a note and on what the record says, sorted by span.

        :raises SettingsError: if the label set has no label for what the record holds.
        """
        view = plain_view(document.with_spans(()), html=self.html)
        hits = found_in(view.document.text, record, self.label_set, self.language) if record else iter(())
        best: dict[Span, tuple[KnownMention, bool]] = {}
        for hit in hits:
            span = view.in_note(hit.span)
            is_sure = self._is_sure(hit, view.document.text, span, decisions)
            known = best.get(span)
            if known is None or (is_sure, hit.how == "exact") > (known[1], known[0].how == "exact"):
                best[span] = replace(hit, span=span), is_sure
        return _laid_over(document.text, decisions, best) if best else list(decisions)

    def _is_sure(self, hit: KnownMention, text: str, span: Span, decisions: Sequence[Decision]) -> bool:
        """Whether it is accepted.

        :param text: in its plain view, in which the hit is.
        :param span: of the hit in the note as it was written, in which the decisions are.
        """
        if not hit.needs_sign and (len(hit.words) != 1 or not self._is_word(hit.words[0])):
            return True
        near = [decision for decision in decisions if decision.span.overlaps(span)]
        kind = self._kind(span.label)
        if any(_is_proposed(decision) and self._kind(decision.span.label) == kind for decision in near):
            return True
        # Abbreviations have capitals everywhere.
        if hit.needs_sign or hit.how in ("one typing error", "initials alone"):
            return False
        taken = any(d.accepted and self._kind(d.span.label) != kind for d in near)
        return not taken and _is_capital_inside(text, hit.span)

    def _is_word(self, word: str) -> bool:
        # Two letters are a word or an abbreviation of every language.
        return (
            len(word) <= _SHORT
            or word in idle_words(self.language)
            or (self.is_word or WordCounts(self.language).is_word)(word)
        )

    def _kind(self, label: str) -> str:
        kind = kind_of(label, self.label_set.name)
        return "PERSON" if kind in _PERSONS else kind


@dataclass(frozen=True, slots=True)
class KnownIdentifiers:
    """The search for what the records of a roster say.

    :param roster: the records.
    :param search: for what each of them says.
    :raises SettingsError: if the label set has no label for what a column of the roster holds.
    """

    roster: Roster
    search: RecordSearch

    def __post_init__(self) -> None:
        for role in self.roster.roles:
            if role in roles():
                label_of(role, self.search.label_set)

    def added(self, document: Document, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions on a note and on what the record of its patient says, sorted by span."""
        return self.search.added(document, decisions, self.roster.record(document.group))


def _is_proposed(decision: Decision) -> bool:
    """Whether it is accepted, or a submodel would mark it; that a word is said again says nothing of it."""
    return decision.accepted or any(vote.chosen and vote.source != SAID_AGAIN for vote in decision.votes)


def _is_capital_inside(text: str, span: Span) -> bool:
    """Whether it begins with a capital, stands after a word in the same sentence, and not all around is in capitals."""
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    word = text[span.start : span.end]
    return (
        word[0].isupper()
        and not (word.isupper() and line.isupper())
        and _INSIDE_A_SENTENCE.search(text[max(0, span.start - 6) : span.start]) is not None
    )


def _laid_over(text: str, decisions: Sequence[Decision], hits: dict[Span, tuple[KnownMention, bool]]) -> list[Decision]:
    """Decisions with the hits in them; what is accepted does not overlap, and covers all that it covered."""
    by_span = {decision.span: decision for decision in decisions}
    votes = {span: _vote(hit, is_sure) for span, (hit, is_sure) in hits.items()}
    for span, vote in votes.items():
        old = by_span.get(span, Decision(span, 0.0, False, ()))
        by_span[span] = replace(old, votes=(*old.votes, vote))
    sure = [span for span, (_, is_sure) in hits.items() if is_sure]
    accepted = [decision.span for decision in decisions if decision.accepted]
    # A policy may keep the names of staff, but not a word of them that is also of the patient's name.
    of_staff = {hit.span.label for hit, _ in hits.values() if hit.role == "staff"}
    taken: list[Span] = []
    for span in sorted(_joined(sure, accepted), key=lambda span: (span.start - span.end, span.label in of_staff, span)):
        taken += _pieces(text, span, taken)
    kept = [(piece, span) for span in accepted for piece in _pieces(text, span, taken)]
    result = {span: replace(decision, accepted=False) for span, decision in by_span.items()}
    for piece in taken:
        inside = [votes[span] for span in sure if span.overlaps(piece)]
        old = by_span.get(piece, Decision(piece, 0.0, False, ()))
        added = [vote for vote in inside if vote not in old.votes]
        result[piece] = Decision(piece, 1.0, True, (*old.votes, *added))
    for piece, span in kept:
        old = by_span[span]
        result[piece] = Decision(piece, old.probability, True, by_span[piece].votes if piece in by_span else old.votes)
    return [result[span] for span in sorted(result)]


def _vote(hit: KnownMention, is_sure: bool) -> Candidate:
    what = "it may be anything" if hit.needs_sign else "a word of the language"
    doubt = "" if is_sure else f"; {what} that nothing else supports"
    return Candidate(hit.span, KNOWN, 1.0 if is_sure else 0.0, is_sure, f"{hit.role}: {hit.how}{doubt}")


def _joined(sure: Iterable[Span], accepted: Iterable[Span]) -> list[Span]:
    """The sure spans, each with the accepted ones and others of its label that overlap it."""
    joined: list[Span] = []
    sure = sorted(sure)
    for span in sorted({*sure, *accepted}, key=lambda span: (span.label, span.start, span.end)):
        if joined and joined[-1].label == span.label and joined[-1].overlaps(span):
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end), span.label)
        else:
            joined.append(span)
    return [span for span in joined if any(s.label == span.label and s.overlaps(span) for s in sure)]


def _pieces(text: str, span: Span, taken: Iterable[Span]) -> list[Span]:
    """What others leave of a span, without signs and blanks at its ends; nothing is cut from one that they let be."""
    over = sorted(other for other in taken if other.overlaps(span))
    if not over:
        return [span]
    bounds = [span.start, *(at for other in over for at in (other.start, other.end)), span.end]
    found = []
    for start, end in zip(bounds[::2], bounds[1::2], strict=True):
        piece = text[start:end] if start < end else ""
        left, right = len(piece) - len(re.sub(r"^[\W_]+", "", piece)), len(re.sub(r"[\W_]+$", "", piece))
        if left < right:
            found.append(Span(start + left, start + right, span.label))
    return found
