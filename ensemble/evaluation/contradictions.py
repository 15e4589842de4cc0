"""How often a corpus contradicts itself: the same words in the same context, marked in different ways.

    found = contradictions(corpus.documents)
    found.sentence              "Of 2360 PHI, 14 are marked otherwise elsewhere between the same words ..."
    outvoted(corpus.documents)  the places marked in another way than most between the same words, and how most are

No model that sees only this context can be right on both, so this measures the noise of the labels; but words that are
unmarked elsewhere may have another meaning there. Words are compared letter for letter; none are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from phistack.features.documents import Document, Span
from phistack.features.tokens import Tokeniser

_KEY = 3
"""The number of tokens by which windows are found; no window is shorter."""
_Window = tuple[str, ...]
_Marking = tuple[tuple[int, int, str], ...]
"""The PHI that share a token with a place, from its first token on: begin, end, label."""


@dataclass(frozen=True, slots=True)
class Contradictions:
    """PHI marked differently elsewhere, with the same words and context; each counts once in each count.

    :param context: how many tokens on each side are the same.
    :param contradicted: those that are marked differently in any way.
    :param outvoted: those that are more often marked in another way.
    """

    context: int
    spans: int
    contradicted: int
    outvoted: int
    other_label: int
    other_extent: int
    not_marked: int

    @property
    def sentence(self) -> str:
        return (
            f"Of {self.spans} PHI, {self.contradicted} are marked otherwise elsewhere between the same words "
            f"({self.context} on each side), {self.outvoted} of them more often than as they are: "
            f"{self.other_label} with another label, {self.other_extent} with another extent, {self.not_marked} not "
            "at all."
        )


class Outvoted(NamedTuple):
    """A place marked differently from most places between the same words.

    :param note: its index.
    :param here: the PHI that share a token with it; none if it is unmarked.
    :param elsewhere: the PHI that it would have if it were marked as most are.
    :param as_here: how many places are marked as this one, itself included.
    :param as_elsewhere: how many are marked in the most frequent way.
    """

    note: int
    here: tuple[Span, ...]
    elsewhere: tuple[Span, ...]
    as_here: int
    as_elsewhere: int


class _Cut(NamedTuple):
    """A note in tokens, padded at both ends; PHI as first token, the one after the last, label.

    :param offsets: of the first and the last character of each token.
    """

    words: list[str]
    offsets: list[tuple[int, int]]
    phi: list[tuple[int, int, str]]

    def marking(self, begin: int, end: int) -> _Marking:
        return tuple((a - begin, b - begin, label) for a, b, label in self.phi if a < end and begin < b)

    def spans(self, marking: _Marking, begin: int) -> tuple[Span, ...]:
        """The spans of a marking at a token of this note; a token of the padding has no characters."""
        at = [(self.offsets[max(begin + a, 0)][0], self.offsets[begin + b - 1][1], label) for a, b, label in marking]
        return tuple(Span(start, end, label) for start, end, label in at if start < end)


class _Place(NamedTuple):
    note: int
    begin: int
    window: _Window
    marking: _Marking


def contradictions(documents: Sequence[Document], *, context: int = 1) -> Contradictions:
    """Count the PHI of some notes that are marked differently elsewhere in them.

    :param context: how many tokens on each side must be the same, at least one.
    """
    notes = [_cut(document, context) for document in documents]
    places, markings = _compared(notes, context)
    counts: Counter[str] = Counter()
    for place in places:
        ways, own = markings[place.window], place.marking
        kinds = {_difference(own, other) for other in ways if other != own}
        end = len(place.window) - 2 * context
        # Each PHI counts once, even if the same words have several labels.
        for _ in range(sum((a, b) == (0, end) for a, b, _ in own)):
            counts.update(kinds)
            counts["contradicted"] += bool(kinds)
            counts["outvoted"] += ways[own] < max(ways.values())
    names = ("contradicted", "outvoted", "other_label", "other_extent", "not_marked")
    return Contradictions(context, sum(len(note.phi) for note in notes), *(counts[name] for name in names))


def outvoted(documents: Sequence[Document]) -> Iterator[Outvoted]:
    """The places marked differently from most places between the same words, note by note."""
    notes = [_cut(document, 1) for document in documents]
    places, markings = _compared(notes, 1)
    for place in places:
        [(most, as_elsewhere)] = markings[place.window].most_common(1)
        as_here = markings[place.window][place.marking]
        if as_here < as_elsewhere:
            note = notes[place.note]
            here, elsewhere = (note.spans(marking, place.begin) for marking in (place.marking, most))
            yield Outvoted(place.note, here, elsewhere, as_here, as_elsewhere)


def _compared(notes: Sequence[_Cut], context: int) -> tuple[list[_Place], dict[_Window, Counter[_Marking]]]:
    """Each place with the words and the context of some PHI, and how often these words are marked in each way."""
    by_key: defaultdict[_Window, set[_Window]] = defaultdict(set)
    for note in notes:
        for begin, end, _ in note.phi:
            window = tuple(note.words[begin - context : end + context])
            by_key[window[:_KEY]].add(window)
    places: list[_Place] = []
    markings: defaultdict[_Window, Counter[_Marking]] = defaultdict(Counter)
    for index, note in enumerate(notes):
        for at in range(len(note.words) - _KEY + 1):
            for window in sorted(by_key.get(tuple(note.words[at : at + _KEY]), ())):
                if tuple(note.words[at : at + len(window)]) == window:
                    marking = note.marking(at + context, at + len(window) - context)
                    markings[window][marking] += 1
                    places.append(_Place(index, at + context, window, marking))
    return places, markings


def _cut(document: Document, context: int) -> _Cut:
    starts, ends = Tokeniser("liu")(document.text)
    beside = [""] * context  # in place of the tokens before the first and after the last one
    at = list(zip(starts.tolist(), ends.tolist(), strict=True))
    words = [document.text[a:b] for a, b in at]
    firsts = [int(ends.searchsorted(span.start, side="right")) for span in document.spans]
    lasts = [int(starts.searchsorted(span.end)) for span in document.spans]
    phi = {(a + context, b + context, s.label) for a, b, s in zip(firsts, lasts, document.spans, strict=True) if a < b}
    length = len(document.text)
    offsets = [*[(0, 0)] * context, *at, *[(length, length)] * context]
    return _Cut([*beside, *words, *beside], offsets, sorted(phi))


def _difference(own: _Marking, other: _Marking) -> str:
    """In what way a marking differs."""
    if not other:
        return "not_marked"
    extents, others = ({(a, b) for a, b, _ in marking} for marking in (own, other))
    return "other_label" if extents == others else "other_extent"
