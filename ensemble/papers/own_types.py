"""What a corpus calls the types of rules that were written for other labels, and how often each rule is right there.

    marked = [[Mark(12, 17, "PER", "PER", "PERSON")], ...]     what the rules mark in each note, by types of their own
    learned = OwnTypes.learned(tables, marked, ("PER", "LOC"), "tjongkimsang2019", "i2b2-2014", exact=True)
    learned.candidates(marked[0], "entities")                  [Candidate(Span(12, 17, "PATIENT"), "entities", 0.9)]

This is all that submodels learn whose rules are known before: `submodels.deduce` and `submodels.entities`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypedDict

from phistack.features.columns.table import FeatureTable
from phistack.features.counting import most_frequent
from phistack.features.documents import Span
from phistack.features.errors import LabelError, TrainingError
from phistack.features.labels import LabelSet, label_mapping
from phistack.submodels.base import Candidate


class Mark(NamedTuple):
    """What a rule marks in a note.

    :ivar rule: of which it is counted how often it is right.
    :ivar evidence: of the candidate.
    """

    start: int
    end: int
    type: str
    rule: str
    evidence: str


class OwnTypesState(TypedDict):
    """What an engine keeps of it."""

    labels: dict[str, str]
    precision: dict[str, float]


@dataclass(frozen=True, slots=True)
class OwnTypes:
    """What is learned.

    :param labels: type -> label of the corpus.
    :param precision: rule -> share of its marks that are exactly PHI of that label, drawn towards a half where there
        are few.
    """

    labels: dict[str, str]
    precision: dict[str, float]

    @classmethod
    def learned(
        cls,
        tables: Sequence[FeatureTable],
        marked: Sequence[Sequence[Mark]],
        types: Iterable[str],
        own_set: str,
        label_set: str,
        *,
        exact: bool,
    ) -> Self:
        """From annotated notes, and what the rules mark in each.

        :param types: all that there are rules for.
        :param own_set: the label set whose types they are.
        :param label_set: name of the label set of the notes, for types that the notes do not show; empty for none.
        :param exact: whether a type takes the label of PHI that the rules mark exactly, not of all that they touch.
        :raises TrainingError: if no note has PHI.
        """
        refuse_without_phi(tables)
        gold = {span.label for table in tables for span in table.document.spans}
        there, mapped = _labels_there(tables, marked, exact=exact), _mapping(own_set, label_set)
        same = set(LabelSet.named(own_set).labels) if label_set == own_set else gold
        named = {name: most_frequent(there[name]) if there[name] else mapped.get(name, "") for name in types}
        labels = {name: name if name in same else label for name, label in named.items() if label or name in same}
        return cls(labels, _precision(tables, marked, labels))

    def candidates(self, marks: Iterable[Mark], source: str) -> list[Candidate]:
        """The marks of a note as candidates, but for those of types that the corpus has no label for."""
        return [
            Candidate(
                Span(mark.start, mark.end, self.labels[mark.type]), source, self.precision.get(mark.rule, 0.5),
                evidence=mark.evidence,
            )
            for mark in marks
            if mark.type in self.labels
        ]  # fmt: skip

    def state(self) -> OwnTypesState:
        """As an engine keeps it, JSON-ready."""
        return {"labels": self.labels, "precision": self.precision}


def refuse_without_phi(tables: Sequence[FeatureTable]) -> None:
    """See that there is something to learn from; :raises TrainingError: if no note has PHI."""
    if not any(table.document.spans for table in tables):
        raise TrainingError(f"rules need PHI to learn labels from, and none of {len(tables)} notes has any")


def first_of_overlapping(marks: Iterable[Mark], length: int) -> list[Mark]:
    """Of marks in a text of some length those that overlap none before them, from left to right."""
    taken = bytearray(length)
    kept: list[Mark] = []
    for mark in marks:
        if mark.end > mark.start and 1 not in taken[mark.start : mark.end]:
            taken[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
            kept.append(mark)
    return sorted(kept)


def _labels_there(
    tables: Sequence[FeatureTable], marked: Sequence[Sequence[Mark]], *, exact: bool
) -> defaultdict[str, Counter[str]]:
    """Type -> the labels of the PHI that is marked as such, and how often."""
    there: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for table, marks in zip(tables, marked, strict=True):
        for mark in marks:
            touched = [s for s in table.document.spans if s.start < mark.end and mark.start < s.end]
            there[mark.type].update(s.label for s in touched if not exact or (s.start, s.end) == mark[:2])
    return there


def _mapping(own_set: str, label_set: str) -> Mapping[str, str]:
    try:
        return label_mapping(own_set, label_set)
    except LabelError:
        return {}


def _precision(
    tables: Sequence[FeatureTable], marked: Sequence[Sequence[Mark]], labels: Mapping[str, str]
) -> dict[str, float]:
    right, all_there = Counter[str](), Counter[str]()
    for table, marks in zip(tables, marked, strict=True):
        gold = {(span.start, span.end, span.label) for span in table.document.spans}
        for mark in marks:
            all_there[mark.rule] += 1
            right[mark.rule] += (mark.start, mark.end, labels.get(mark.type, "")) in gold
    return {rule: (right[rule] + 1) / (n + 2) for rule, n in sorted(all_there.items())}
