"""What an engine and a policy change in notes with marked identifiers, by any grouping, with intervals.

    redaction_on(engine, gold, Policy.named("safe-harbor"))    {"identifiers touched": 0.97, ...}
    tally = Tally()
    tally.add(note, must_go, stretches, groups)                once a note
    tally.figures()["by kind", "triage"].touched               Measure(0.77, 0.71, 0.83)

An identifier is touched if any of it is changed, and covered if all of it is. A changed stretch is right if it touches
an identifier. A clean word touches no identifier, and is lost if it is changed. Intervals are bootstraps by note.
Labels count only if they are the engine's own: then what the policy would leave unchanged, such as a bare year, is no
identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.resampling import Bootstrap, Measure, Resampling, Units
from phistack.ensemble.evaluation.tables import Table, TableRow, share
from phistack.features.documents import Corpus, Document, Span
from phistack.features.ranges import Range, ranges_of, touching

Group = tuple[str, str]
"""The grouping and the group in it: `("by kind", "triage")`."""
ALL: Group = ("all", "")
_WORD = re.compile(r"\w+")
_DRAWS = Resampling(by="document", draws=2_000)


def redaction_on(engine: Engine, gold: Corpus, policy: Policy) -> dict[str, float]:
    """Annotate notes, apply a policy, and count; returns the shares that have anything to count."""
    deidentifier = Deidentifier(policy, engine.label_set, engine.language)
    notes = [document.with_spans(deidentifier.must_go(document)) for document in gold.documents]
    stretches = changed_stretches(engine, notes, policy)
    tally = Tally()
    for note, changed in zip(notes, stretches, strict=True):
        tally.add(note, note.spans, changed)
    found = tally.figures()[ALL]
    shares = {
        "identifiers touched": found.touched, "identifiers covered": found.covered, "precision": found.right,
        "other words changed": found.lost,
    }  # fmt: skip
    figures = {name: measure.value for name, measure in shares.items() if measure}
    clean = [bool(changed) for note, changed in zip(notes, stretches, strict=True) if not note.spans]
    return figures | ({"clean notes changed": sum(clean) / len(clean)} if clean else {})


def changed_stretches(engine: Engine, documents: Sequence[Document], policy: Policy) -> list[list[Range]]:
    """The stretches of each note that a policy changes; not those that it leaves as they are, such as a bare year."""
    deidentifier = Deidentifier(policy, engine.label_set, engine.language)
    return [deidentifier.changed(document) for document in engine.annotate(documents)]


class Figures(NamedTuple):
    """The figures of one group: shares with intervals, where there is anything to count.

    :ivar identifiers: how many there are.
    :ivar lost: of the clean words.
    """

    identifiers: int
    touched: Measure | None
    covered: Measure | None
    right: Measure | None
    lost: Measure | None


class Tally:
    """Counts by note and group: hits and trials of what is touched, covered, right and lost."""

    def __init__(self) -> None:
        self._notes: list[dict[Group, list[list[int]]]] = []

    def add(
        self, note: Document, must_go: Sequence[Span], stretches: Iterable[Range], groups: Iterable[Group] = (),
        own: Mapping[Span, Iterable[Group]] | None = None,
    ) -> None:  # fmt: skip
        """Count a note.

        :param note: with all its identifiers.
        :param must_go: those that have to be changed.
        :param stretches: what is changed.
        :param groups: of the note.
        :param own: further groups of single identifiers, which count only these.
        """
        stretches = list(stretches)
        counts: dict[Group, list[list[int]]] = {}
        changed, gone = touching(stretches), {at for stretch in stretches for at in range(*stretch)}
        wanted, marked = touching(ranges_of(must_go)), touching(ranges_of(note.spans))
        words = [word.span() for word in _WORD.finditer(note.text) if not marked(*word.span())]
        stretch = [int(wanted(*one)) for one in stretches]
        lost = [int(changed(*word)) for word in words]
        for group in (ALL, *groups):
            row = counts.setdefault(group, [[], [], [], []])
            row[2], row[3] = stretch, lost
        for span in must_go:
            found = int(changed(span.start, span.end)), int(gone.issuperset(range(span.start, span.end)))
            for group in (ALL, *groups, *(own or {}).get(span, ())):
                row = counts.setdefault(group, [[], [], [], []])
                row[0].append(found[0])
                row[1].append(found[1])
        self._notes.append(counts)

    def figures(self) -> dict[Group, Figures]:
        """The figures of all groups, in the order in which they were first seen."""
        groups = list(dict.fromkeys(group for note in self._notes for group in note))
        # (n_notes, 4 n_groups, 3): hits, misses and nothing, so that the bootstrap's precision is the share.
        counts = np.zeros((len(self._notes), 4 * len(groups), 3), dtype=np.int64)
        for at, note in enumerate(self._notes):
            for group, rows in note.items():
                for nth, row in enumerate(rows):
                    counts[at, 4 * groups.index(group) + nth, :2] = sum(row), len(row) - sum(row)
        units = Units.of([str(at) for at in range(len(self._notes))], _DRAWS)
        shares, trials = Bootstrap(counts, units).measures("precision"), counts.sum(axis=(0, 2)).tolist()
        found = {}
        for at, group in enumerate(groups):
            of_group = [
                one if many else None for one, many in zip(shares[4 * at :][:4], trials[4 * at :][:4], strict=True)
            ]
            found[group] = Figures(trials[4 * at], *of_group)
        return found


def table_of(figures: Mapping[Group, Figures], title: str) -> Table:
    """A section for each grouping and a row for each group, in percent; clean words lost are of a thousand."""
    sections: dict[str, list[TableRow]] = {}
    for (by, name), one in figures.items():
        lost = "" if one.lost is None else " ".join(f"{1000 * end:.1f}" for end in one.lost[:1]) + _ends(one.lost)
        shares = ["" if value is None else share(value) for value in one[1:4]]
        sections.setdefault(by, []).append([f"{by} {name}".strip(), str(one.identifiers), *shares, lost])
    columns = ("", "identifiers", "touched", "covered", "right", "lost of 1,000 words")
    return Table(columns, [*sections.values()], title, "95 % bootstrap intervals by note")


def _ends(measure: Measure) -> str:
    return f" ({1000 * measure.low:.1f}-{1000 * measure.high:.1f})"
