"""What counts as a hit: every criterion of the shared tasks, as one table (`criteria.toml`).

    Criterion("i2b2 strict", "span")                          category, type, start and end agree
    Criterion("i2b2 binary hipaa token", "token", typed="none", only="hipaa")

A unit turns the PHI of a document into items, which start with two offsets; equal items are a hit. The ten criteria of
i2b2 2014 and N-GRID 2016 are those of Stubbs et al. 2015 (J Biomed Inform 58S:S11). Where a public script differs from
its task's description, there are two rows, that of the script first:

- `hipaa-script` lacks IDNUM, as the script's pattern never matches it; `hipaa` holds it, as the guidelines say.
- `binary-script strict` keeps the category and type of PHI whose XML element is `PHI` (type OTHER), as the script drops
  types from all other elements only; `binary strict` drops them everywhere.
- `merged-script` adds hits on joined spans to hits on plain ones, and forgives a plain span inside any hit; `merged`
  compares the joined spans of both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from phistack.ensemble.evaluation.measures import DocumentCounts, IntArray, count
from phistack.ensemble.evaluation.pairing import AnnotatedText, DocumentPair, Phi
from phistack.features.errors import SettingsError, no_such
from phistack.features.labels import LabelSet
from phistack.features.registry import packaged_table
from phistack.features.tokens import Tokeniser

Item = tuple[int, int, str, str]
_ASCII_WORD = re.compile("[a-zA-Z0-9]+")
_grid = lru_cache(maxsize=2)(Tokeniser("liu"))  # both sides of a document ask for the same text


def spans(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each PHI whole."""
    return ((p.start, p.end, p.category, p.label) for p in phi)


def tokens(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each run of ASCII letters and digits, or an empty one at the end of a PHI without any, as in the i2b2 script."""
    for p in phi:
        words = [match.span() for match in _ASCII_WORD.finditer(text, p.start, p.end)] or [(p.end, p.end)]
        for start, end in words:
            yield start, end, p.category, p.label


def token_grid(text: str, phi: Iterable[Phi]) -> Iterator[Item]:
    """Each PHI as the first token that it touches, and the one after the last: letters, digits, single other signs."""
    starts, ends = _grid(text)
    return ((int(ends.searchsorted(p.start, "right")), int(starts.searchsorted(p.end)), *p[2:4]) for p in phi)


def merged(text: str, phi: Iterable[Phi], *, hull: bool) -> Iterator[Item]:
    """Neighbouring PHI joined where no letter or digit of any script is between them.

    :param hull: whether a joined span ends with the PHI that ends last, rather than with the last PHI, as the MEDDOCAN
        script has it; the two differ only where one PHI lies inside another.
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted({(p.start, p.end) for p in phi}):
        if joined and not any(map(str.isalnum, text[joined[-1][1] : start])):
            first, last = joined.pop()
            joined.append((first, max(last, end) if hull else end))
        else:
            joined.append((start, end))
    return ((start, end, "", "") for start, end in joined)


UNITS: Mapping[str, Callable[[str, Iterable[Phi]], Iterator[Item]]] = {
    "span": spans,
    "token": tokens,
    "token grid": token_grid,
    "merged": partial(merged, hull=True),
    "merged-script": partial(merged, hull=False),
}


@dataclass(frozen=True, slots=True, eq=False)
class EndWithin:
    """An item that equals another if all but the ends agree and the ends differ by at most `tolerance`.

    This equality is not transitive, so the content of a set depends on the order in which it is built: by offset, for
    the same sums as the i2b2 script, which also builds Python sets of such tags.
    """

    item: Item
    tolerance: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EndWithin):
            return NotImplemented
        start, end, *rest = self.item
        other_start, other_end, *other_rest = other.item
        return start == other_start and abs(end - other_end) <= self.tolerance and rest == other_rest

    def __hash__(self) -> int:
        return hash(self.item[0])


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way to compare the PHI of gold and system.

    :param unit: what a PHI turns into, a key of `UNITS`.
    :param official: what the task's public script calls the row; empty where that script has no such figure.
    :param typed: for which PHI the category and type must agree too, a key of `SELECTIONS`.
    :param only: which PHI of both sides count, a key of `SELECTIONS`.
    :param end_tolerance: by how many characters the ends may differ.
    :param joined_unit: if not empty, hits on this unit count too, and forgive what lies inside them.
    """

    name: str
    unit: str
    official: str = ""
    typed: str = "all"
    only: str = "all"
    end_tolerance: int = 0
    joined_unit: str = ""

    def at(self, label_set: str) -> str:
        """The name without its task where the notes have another label set than that task's."""
        task, _, rest = self.name.partition(" ")
        return rest if label_set not in _LABEL_SETS.get(task, (label_set,)) else self.name

    def counts(self, pair: DocumentPair) -> DocumentCounts:
        """True positives, false positives and false negatives of one document."""
        gold, system = self.items(pair.gold), self.items(pair.system)
        if not self.joined_unit:
            return count(gold, system)
        # As in MEDDOCAN's script: hits are plain and joined spans, and a plain span inside any hit is neither wrong nor
        # missed.
        joined = replace(self, unit=self.joined_unit, joined_unit="")
        hits = (gold & system) | (joined.items(pair.gold) & joined.items(pair.system))

        def outside(items: frozenset[Any]) -> int:
            return sum(not any(hit[0] <= item[0] and item[1] <= hit[1] for hit in hits) for item in items)

        return len(hits), outside(system - gold), outside(gold - system)

    def by_document(self, pairs: Sequence[DocumentPair]) -> IntArray:
        """The counts of each document, of shape `(n_documents, 3)`."""
        return np.array([self.counts(pair) for pair in pairs], dtype=np.int64).reshape(-1, 3)

    def items(self, note: AnnotatedText) -> frozenset[Any]:
        """The PHI of one side of a document as a set in which equal means: a hit."""
        chosen = [*filter(SELECTIONS[self.only], note.phi)]
        typed = SELECTIONS[self.typed]
        chosen = [p if typed(p) else p._replace(category="", label="") for p in chosen]
        items = UNITS[self.unit](note.text, chosen)
        return frozenset(EndWithin(i, self.end_tolerance) for i in items) if self.end_tolerance else frozenset(items)


_LABEL_SETS = {"i2b2": ("i2b2-2014", "ngrid-2016"), "meddocan": ("meddocan",)}
SELECTIONS: Mapping[str, Callable[[Phi], bool]] = {
    "all": lambda phi: True,
    "none": lambda phi: False,
    "hipaa": lambda phi: phi.hipaa,
    "hipaa-script": lambda phi: phi.hipaa and phi.label.upper() != "IDNUM",
    "PHI elements": lambda phi: phi.category == "PHI",
}

CRITERIA = tuple(
    Criterion(**row) for row in packaged_table("phistack.ensemble.evaluation", "criteria.toml")["criteria"]
)

SHORT_NAMES = {"strict": "i2b2 strict", "spans": "meddocan spans strict"}
"""Names for the two most used criteria: start, end and type right; start and end right."""


def criterion_named(name: str) -> Criterion:
    """The criterion of a name, with its task or without, or of `SHORT_NAMES`; :raises SettingsError: if it is none."""
    full = SHORT_NAMES.get(name, name)
    for criterion in CRITERIA:
        if full in (criterion.name, criterion.name.partition(" ")[2]):
            return criterion
    raise SettingsError(no_such("criterion", name, (*SHORT_NAMES, *(criterion.name for criterion in CRITERIA))))


def applicable(labels: LabelSet) -> tuple[Criterion, ...]:
    """The criteria that mean something for a label set: those on HIPAA need labels that HIPAA lists."""
    selections = {"all"}
    if labels.hipaa_labels:
        selections.add("hipaa")
    if "IDNUM" in map(str.upper, labels.hipaa_labels):
        selections.add("hipaa-script")
    return tuple(criterion for criterion in CRITERIA if criterion.only in selections)
