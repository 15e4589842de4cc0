"""What to look at before two annotations of the same notes become one.

    doubts(pairs, ("a", "b"))      [Doubt("one annotator only", "110-01", 4, 9, "DOCTOR", "a", "", text), ...]

The checks are those with which the gold standard of NUT was made (Trienes et al. 2020, section 3.3), and two more for
what differs between the annotators. Strings compare as written, by tokens, so `Ann` is not found in `Annette`. The text
of a place is kept out of `repr`, and out of JSON and sheets unless asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.pairing import DocumentPair, Phi
from phistack.features.files import sheet
from phistack.features.labels import most_frequent
from phistack.features.text_words import Phrases

CHECKS = {
    "one annotator only": "no span of the other annotation shares a character with it",
    "other label": "the other annotation has the same start and end with another label",
    "other extent": "the other annotation overlaps it, with another start or end",
    "same string, other label": "the string mostly has another label, in both annotations together",
    "touching spans": "a span of the same annotation and label begins where it ends, or after blanks only",
    "unmarked elsewhere": "the string is marked here, and neither annotation marks it there",
}
"""Check -> what is true of a place that it finds."""

_SHORTEST = 4
_COLUMNS = ("check", "document", "start", "end", "label", "annotation", "instead")


@dataclass(frozen=True, slots=True)
class Doubt:
    """A place to look at.

    :param check: a key of `CHECKS`.
    :param annotation: the name of the annotation that has the span; empty if none has.
    :param instead: other labels, or another extent.
    """

    check: str
    document: str
    start: int
    end: int
    label: str
    annotation: str
    instead: str = ""
    text: str = field(default="", repr=False)

    def to_dict(self, *, with_text: bool = False) -> dict[str, Any]:
        """The place as JSON can hold it."""
        row = {name: getattr(self, name) for name in _COLUMNS}
        return {**row, "text": self.text} if with_text else row


def doubts_sheet(found: Iterable[Doubt], *, with_text: bool = False) -> str:
    """The places as CSV."""
    columns = (*_COLUMNS, "text") if with_text else _COLUMNS
    return sheet(columns, ([getattr(doubt, name) for name in columns] for doubt in found))


def doubts(pairs: Sequence[DocumentPair], names: tuple[str, str]) -> list[Doubt]:
    """All places that the checks find in the notes of two annotations with these names, check by check."""
    sides = [
        _Side(pair.id, pair.gold.text, name, own.phi, other.phi)
        for pair in pairs
        for name, own, other in zip(names, (pair.gold, pair.system), (pair.system, pair.gold), strict=True)
    ]
    found = [*_differences(sides), *_other_labels(sides), *_touching(sides), *_unmarked(pairs)]
    return sorted(found, key=lambda doubt: [*CHECKS].index(doubt.check))


class _Side(NamedTuple):
    """A note as one annotation has it, and the PHI that the other has there."""

    document: str
    text: str
    name: str
    phi: tuple[Phi, ...]
    others: tuple[Phi, ...]

    def doubt(self, check: str, phi: Phi, instead: str) -> Doubt:
        text = self.text[phi.start : phi.end]
        return Doubt(check, self.document, phi.start, phi.end, phi.label, self.name, instead, text)


def _differences(sides: Sequence[_Side]) -> Iterator[Doubt]:
    for side in sides:
        theirs = {(phi.start, phi.end, phi.label) for phi in side.others}
        for phi in side.phi:
            if (phi.start, phi.end, phi.label) not in theirs:
                near = [other for other in side.others if other.start < phi.end and phi.start < other.end]
                same = [other for other in near if (other.start, other.end) == (phi.start, phi.end)]
                check = "other label" if same else "other extent" if near else "one annotator only"
                instead = "+".join(p.label for p in same) or "+".join(f"{p.start}-{p.end} {p.label}" for p in near)
                yield side.doubt(check, phi, instead)


def _other_labels(sides: Sequence[_Side]) -> Iterator[Doubt]:
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for side in sides:
        for phi in side.phi:
            labels[side.text[phi.start : phi.end]][phi.label] += 1
    usual = {string: most_frequent(counts) for string, counts in labels.items()}
    for side in sides:
        for phi in side.phi:
            if phi.label != usual[side.text[phi.start : phi.end]]:
                yield side.doubt("same string, other label", phi, usual[side.text[phi.start : phi.end]])


def _touching(sides: Sequence[_Side]) -> Iterator[Doubt]:
    for side in sides:
        for phi, after in pairwise(side.phi):
            between = side.text[phi.end : after.start]
            if phi.end <= after.start and phi.label == after.label and not between.strip():
                yield side.doubt("touching spans", phi, f"{after.start}-{after.end}")


def _unmarked(pairs: Sequence[DocumentPair]) -> Iterator[Doubt]:
    """Strings of four letters and digits or more that are marked elsewhere, and unmarked here in both annotations."""
    marked: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        for phi in {*pair.gold.phi, *pair.system.phi}:
            string = pair.gold.text[phi.start : phi.end]
            if sum(map(str.isalnum, string)) >= _SHORTEST:
                marked[string][phi.label] += 1
    phrases = Phrases({string: most_frequent(labels) for string, labels in marked.items()})
    for pair in pairs:
        text, taken = pair.gold.text, bytearray(len(pair.gold.text))
        for phi in (*pair.gold.phi, *pair.system.phi):
            taken[phi.start : phi.end] = b"\1" * (phi.end - phi.start)
        for start, end, label in phrases.find(text, taken):
            yield Doubt("unmarked elsewhere", pair.id, start, end, label, "", "", text[start:end])
