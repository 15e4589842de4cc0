"""How often a corpus contradicts itself: the same words in the same context, marked in one way and in another.

    found = contradictions(corpus.documents)
    found.sentence              "Of 2360 PHI, 14 are marked otherwise elsewhere between the same words ..."

No model that sees only so much context can be right on both, so this measures the noise of the labels; what is not
marked elsewhere may of course be another meaning of the same words. Words compare letter for letter; none are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from phistack.features.documents import Document
from phistack.features.tokens import Tokeniser

_KEY = 3
"""Tokens by which windows are found; none is shorter."""
_Window = tuple[str, ...]
_Marking = tuple[tuple[int, int, str], ...]
"""The PHI that share a token with a place, from its first token on: begin, end, label."""


@dataclass(frozen=True, slots=True)
class Contradictions:
    """PHI that are marked otherwise where the same words have the same context; each once in each count.

    :param context: how many tokens on each side are the same.
    :param contradicted: those that are marked otherwise in any way.
    :param outvoted: those of them that are marked in another way more often.
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
        """All of it in words."""
        return (
            f"Of {self.spans} PHI, {self.contradicted} are marked otherwise elsewhere between the same words "
            f"({self.context} on each side), {self.outvoted} of them more often than as they are: "
            f"{self.other_label} with another label, {self.other_extent} with another extent, {self.not_marked} not "
            "at all."
        )


class _Cut(NamedTuple):
    """A note in tokens, with some in place of what is beside it; PHI as first token, the one after the last, label."""

    words: list[str]
    phi: list[tuple[int, int, str]]

    def marking(self, begin: int, end: int) -> _Marking:
        return tuple((a - begin, b - begin, label) for a, b, label in self.phi if a < end and begin < b)


def contradictions(documents: Sequence[Document], *, context: int = 1) -> Contradictions:
    """Count the PHI of some notes that are marked otherwise elsewhere in them.

    :param context: how many tokens on each side must be the same, at least one.
    """
    notes = [_cut(document, context) for document in documents]
    marked = [
        (tuple(note.words[begin - context : end + context]), note.marking(begin, end))
        for note in notes
        for begin, end, _ in note.phi
    ]
    by_key: defaultdict[_Window, set[_Window]] = defaultdict(set)
    for window, _ in marked:
        by_key[window[:_KEY]].add(window)
    markings: defaultdict[_Window, Counter[_Marking]] = defaultdict(Counter)
    for note in notes:
        for at in range(len(note.words) - _KEY + 1):
            for window in by_key.get(tuple(note.words[at : at + _KEY]), ()):
                if tuple(note.words[at : at + len(window)]) == window:
                    markings[window][note.marking(at + context, at + len(window) - context)] += 1
    counts: Counter[str] = Counter()
    for window, own in marked:
        kinds = {_difference(own, other) for other in markings[window] if other != own}
        counts.update(kinds)
        counts["contradicted"] += bool(kinds)
        counts["outvoted"] += markings[window][own] < max(markings[window].values())
    names = ("contradicted", "outvoted", "other_label", "other_extent", "not_marked")
    return Contradictions(context, len(marked), *(counts[name] for name in names))


def _cut(document: Document, context: int) -> _Cut:
    starts, ends = Tokeniser("liu")(document.text)
    beside = [""] * context  # in place of the tokens before the first and after the last one
    words = [document.text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    firsts = [int(ends.searchsorted(span.start, side="right")) for span in document.spans]
    lasts = [int(starts.searchsorted(span.end)) for span in document.spans]
    phi = {(a + context, b + context, s.label) for a, b, s in zip(firsts, lasts, document.spans, strict=True) if a < b}
    return _Cut([*beside, *words, *beside], sorted(phi))


def _difference(own: _Marking, other: _Marking) -> str:
    """How a place is marked otherwise."""
    if not other:
        return "not_marked"
    extents, others = ({(a, b) for a, b, _ in marking} for marking in (own, other))
    return "other_label" if extents == others else "other_extent"
