"""What counts as a hit: every criterion of the shared tasks, as one table.

    Criterion("i2b2 strict", "span")                          category, type, start and end agree
    Criterion("i2b2 relaxed", "span", end_tolerance=2)        the ends may differ by two characters
    Criterion("i2b2 binary hipaa token", "token", typed=False, only="hipaa")

The ten criteria of i2b2 2014 and N-GRID 2016 are those of Stubbs et al. 2015 (J Biomed Inform 58S:S11). HIPAA comes in
two forms: `hipaa` holds IDNUM, as the guidelines say; `hipaa-script` does not, as the public script's pattern never
matches it. MEDDOCAN's merged spans come in two forms as well: `merged` compares the joined spans of both sides;
`merged-script` adds hits on joined spans to hits on plain ones, and forgives a plain span inside any hit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ensemble.evaluation.counts import DocumentCounts, count, count_forgiving
from ensemble.evaluation.items import UNITS, EndWithin
from ensemble.evaluation.notes import Note, Pair, Phi
from features.labels import LabelSet

__all__ = ["CRITERIA", "Criterion", "applicable"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way to compare the PHI of gold and system.

    :param name: as it is printed and stands in the JSON.
    :param unit: what a PHI turns into, a key of `items.UNITS`.
    :param typed: whether category and type must agree beside the offsets.
    :param only: which PHI of both sides count, a key of `SELECTIONS`.
    :param end_tolerance: by how many characters the ends may differ.
    :param joined_unit: if not empty, hits on this unit count too, and forgive what lies inside them.
    """

    name: str
    unit: str
    typed: bool = True
    only: str = "all"
    end_tolerance: int = 0
    joined_unit: str = ""

    def counts(self, pair: Pair) -> DocumentCounts:
        """True positives, false positives and false negatives of one document."""
        gold, system = self.items(pair.gold), self.items(pair.system)
        if not self.joined_unit:
            return count(gold, system)
        joined = Criterion(self.name, self.joined_unit, self.typed, self.only)
        return count_forgiving(gold, system, joined.items(pair.gold), joined.items(pair.system))

    def items(self, note: Note) -> frozenset[object]:
        """The PHI of one side of a document as a set in which equal means: a hit."""
        chosen = (phi for phi in note.phi if SELECTIONS[self.only](phi))
        items: Iterable[tuple[int, int, str, str]] = UNITS[self.unit](note.text, chosen)
        if not self.typed:
            items = ((start, end, "", "") for start, end, _, _ in items)
        if self.end_tolerance:
            return frozenset(EndWithin(item, self.end_tolerance) for item in items)
        return frozenset(items)


SELECTIONS: Mapping[str, Callable[[Phi], bool]] = {
    "all": lambda phi: True,
    "hipaa": lambda phi: phi.hipaa,
    "hipaa-script": lambda phi: phi.hipaa and phi.label.upper() != "IDNUM",
}

CRITERIA = (
    Criterion("i2b2 token", "token"),
    Criterion("i2b2 strict", "span"),
    Criterion("i2b2 relaxed", "span", end_tolerance=2),
    Criterion("i2b2 hipaa token", "token", only="hipaa"),
    Criterion("i2b2 hipaa strict", "span", only="hipaa"),
    Criterion("i2b2 hipaa relaxed", "span", only="hipaa", end_tolerance=2),
    Criterion("i2b2 binary token", "token", typed=False),
    Criterion("i2b2 binary strict", "span", typed=False),
    Criterion("i2b2 binary hipaa token", "token", typed=False, only="hipaa"),
    Criterion("i2b2 binary hipaa strict", "span", typed=False, only="hipaa"),
    Criterion("i2b2 hipaa-script token", "token", only="hipaa-script"),
    Criterion("i2b2 hipaa-script strict", "span", only="hipaa-script"),
    Criterion("i2b2 hipaa-script relaxed", "span", only="hipaa-script", end_tolerance=2),
    Criterion("i2b2 binary hipaa-script token", "token", typed=False, only="hipaa-script"),
    Criterion("i2b2 binary hipaa-script strict", "span", typed=False, only="hipaa-script"),
    Criterion("meddocan ner", "span"),
    Criterion("meddocan spans strict", "span", typed=False),
    Criterion("meddocan spans merged", "merged", typed=False),
    Criterion("meddocan spans merged-script", "span", typed=False, joined_unit="merged-script"),
    Criterion("conll exact", "token grid"),
)


def applicable(labels: LabelSet) -> tuple[Criterion, ...]:
    """The criteria that mean something for a label set: those on HIPAA need labels that HIPAA lists."""
    selections = {"all"}
    if labels.hipaa_labels:
        selections.add("hipaa")
    if "IDNUM" in map(str.upper, labels.hipaa_labels):
        selections.add("hipaa-script")
    return tuple(criterion for criterion in CRITERIA if criterion.only in selections)
