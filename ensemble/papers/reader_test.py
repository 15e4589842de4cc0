"""Can a reader tell pseudonymised records from real ones? The test of Dalianis (2019), sections 3 to 5.

    test = make_test(real, pseudonymised, seed=1)
    test.page(), test.sheet()             what a judge gets: excerpts to read, and a sheet to fill in
    test.answers()                        which record was which; keep this from the judges
    judges = score_judges(answers_path, [sheet_path, other_path], ["junior", "senior"])
    kinds_table(real, pseudonymised)      how many PHI of each kind there were, and how many were replaced

Each record is shown once, at random as the real or the pseudonymised one: the consecutive lines with the most PHI,
without any marks, the densest record first. A judge says for each which it is. Precision and recall are those of
finding the pseudonymised records: the lower the recall, the better the pseudonyms.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypedDict

import msgspec

from phistack.ensemble.deidentification.names.tables import name_tables
from phistack.ensemble.evaluation.measures import precision, recall
from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.tools.templates import template
from phistack.features.documents import Corpus, Document
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.files import file_named, read_regular, read_sheet, sheet
from phistack.features.letters import fold

REAL, PSEUDONYMISED = "real", "pseudonymised"
_COLUMNS = ("record", "judged", "why")
_FIRST_NAME = "First_Name"
_PUBLISHED = {
    _FIRST_NAME: (923, None), "female": (None, 364), "male": (None, 555), "neutral": (None, 2), "Last_Name": (929, 929),
    "Age": (56, 56), "Phone_Number": (125, 137), "Location": (148, 148), "Full_Date": (551, 551),
    "Date_Part": (711, 711), "Health_Care_Unit": (1025, 1026),
}  # fmt: skip
"""Table 2 of the paper: kind -> how many PHI there were, and how many the paper's program replaced."""


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """The lines of a record that a judge reads.

    :param document: the id of the note.
    :param is_real: false if pseudonymised.
    :param text: the lines.
    :param n_phi: how many PHI begin in them.
    """

    document: str
    is_real: bool
    text: str = field(repr=False)
    n_phi: int


@dataclass(frozen=True, slots=True)
class ReaderTest:
    """A test for judges, and its answers.

    :param excerpts: in the order in which judges see them; the first has the number 1.
    :param without_phi: how many notes were left out because no PHI is marked in them.
    """

    excerpts: tuple[ShownRecord, ...]
    without_phi: int

    def page(self) -> str:
        """The excerpts as one HTML page, which fetches nothing and runs nothing."""
        return template("phistack.ensemble.papers", "reader_test_template.html").render(excerpts=self.excerpts)

    def sheet(self) -> str:
        """What a judge fills in: `real` or `pseudonymised` for each record, and why."""
        return sheet(_COLUMNS, ((number, "", "") for number in range(1, len(self.excerpts) + 1)))

    def answers(self) -> str:
        """Which record was which, as JSON."""
        truth = {
            str(number): {"document": shown.document, "is": REAL if shown.is_real else PSEUDONYMISED}
            for number, shown in enumerate(self.excerpts, 1)
        }
        return json.dumps({"schema": "phistack.reader-test.v1", "records": truth}, indent=2, ensure_ascii=False) + "\n"


def make_test(real: Corpus, pseudonymised: Corpus, *, records: int = 0, lines: int = 20, seed: int = 0) -> ReaderTest:
    """Mix the two corpora into a test.

    :param pseudonymised: the notes with the same ids, with surrogates.
    :param records: how many, of those with the most PHI a line; 0 for all.
    :param lines: of each record, at most.
    :param seed: decides which records are shown as they really are.
    :raises CorpusError: if the corpora do not have the same notes, or no PHI.
    """
    others = {note.id: note for note in pseudonymised.documents}
    if {note.id for note in real.documents} != others.keys():
        raise CorpusError("the real and the pseudonymised notes must be the same by their ids, and they are not")
    chance = random.Random(seed)
    drawn = [(note, chance.random() < 0.5) for note in real.documents]
    shown = [(note if is_real else others[note.id], is_real) for note, is_real in drawn]
    cut = [ShownRecord(note.id, is_real, *_densest(note, lines)) for note, is_real in shown if note.spans]
    if not cut:
        raise CorpusError("the notes have no annotated PHI, so that there is nothing to judge")
    # The seed decides the order of equally dense records, which would otherwise give something away.
    chance.shuffle(cut)
    cut.sort(key=lambda record: -record.n_phi / (record.text.count("\n") + 1))
    return ReaderTest(tuple(cut[: records or None]), len(shown) - len(cut))


def _densest(note: Document, most: int) -> tuple[str, int]:
    """The first consecutive lines in which the most PHI begin, and how many do."""
    lines = note.text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found = Counter(bisect_right(starts, span.start) - 1 for span in note.spans)
    windows = ((sum(found[first + i] for i in range(most)), -first) for first in range(max(1, len(lines) - most + 1)))
    n_phi, first = max(windows)
    return "".join(lines[-first : -first + most]).strip("\r\n"), n_phi


class Judge(NamedTuple):
    """What one judge said.

    :ivar name: of the sheet.
    :ivar found: pseudonymised records that were judged so.
    :ivar accused: real records that were judged pseudonymised.
    :ivar believed: pseudonymised records that were judged real.
    """

    name: str
    found: frozenset[str]
    accused: frozenset[str]
    believed: frozenset[str]

    @property
    def precision(self) -> float:
        """Of the records judged pseudonymised, the share that are."""
        return float(precision(len(self.found), len(self.accused)))

    @property
    def recall(self) -> float:
        """The share of the pseudonymised records that were judged so."""
        return float(recall(len(self.found), len(self.believed)))


class _Answers(TypedDict):
    records: dict[str, dict[str, str]]


def score_judges(answers: Path, sheets: Sequence[Path], names: Sequence[str]) -> list[Judge]:
    """Compare filled sheets with the answers of the test.

    :param names: of the judges, in the order of the sheets.
    :raises SettingsError: if a file cannot be read, a record is not judged, or one is not in the test.
    """
    with file_named("the file of answers", answers):
        truth = msgspec.json.decode(read_regular(answers), type=_Answers)["records"]
    return [_judge(name, path, truth) for name, path in zip(names, sheets, strict=True)]


def _judge(name: str, path: Path, truth: Mapping[str, Mapping[str, str]]) -> Judge:
    said = dict(_judgements(path, truth))
    if missing := [number for number in truth if number not in said]:
        raise SettingsError(f"the sheet {path} lacks record {missing[0]} of the test")
    false = frozenset(number for number, answer in truth.items() if answer["is"] == PSEUDONYMISED)
    suspected = frozenset(number for number, judged in said.items() if judged == PSEUDONYMISED)
    return Judge(name, false & suspected, suspected - false, false - suspected)


def _judgements(path: Path, truth: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for line, row in enumerate(read_sheet(path, "the sheet", _COLUMNS[:2]), 2):
        judged = row["judged"].casefold()
        known = [word for word in (REAL, PSEUDONYMISED) if judged and word.startswith(judged)]
        if row["record"] not in truth:
            raise SettingsError(f"the sheet {path}, line {line}: there is no such record in the test")
        if len(known) != 1:
            raise SettingsError(f"the sheet {path}, line {line}: write real or pseudonymised under judged")
        yield row["record"], known[0]


def judges_table(judges: Sequence[Judge]) -> Table:
    """Precision and recall of each judge, and what all of them found."""
    found, accused, believed = (list(sets) for sets in zip(*(judge[1:] for judge in judges), strict=True))
    every = Judge(
        "all of them", frozenset.intersection(*found), frozenset.intersection(*accused), frozenset.union(*believed)
    )
    rows: list[TableRow] = []
    for judge in (*judges, every) if len(judges) > 1 else judges:
        missed = float(recall(len(judge.believed), len(judge.found)))
        figures = map(percent, (judge.precision, judge.recall, missed))
        rows.append((judge.name, *(str(len(records)) for records in judge[1:]), *figures))
    columns = ("judge", "found", "accused", "believed", "precision", "recall", "judged real")
    note = "found: pseudonymised and judged so; accused: real and judged pseudonymised; believed: the contrary"
    return Table(columns, [rows], "Readers' judgements of pseudonymised records", note)


def kinds_table(real: Corpus, pseudonymised: Corpus) -> Table:
    """How many PHI of each kind there were and how many were replaced, as in table 2; first names also by gender.

    :param pseudonymised: the notes with the same ids, with surrogates; unchanged PHI count as not replaced.
    """
    others = {note.id: note for note in pseudonymised.documents}
    there, replaced = Counter[str](), Counter[str]()
    names = name_tables(real.label_set.language)
    for note in real.documents:
        new = {other.text[span.start : span.end] for other in [others[note.id]] for span in other.spans}
        for span in note.spans:
            text = note.text[span.start : span.end]
            gender = [names.gender(fold(text)) or "unknown"] if span.label == _FIRST_NAME else []
            there[span.label] += 1
            replaced.update([span.label, *gender] if text not in new else [])
    rows: list[TableRow] = []
    genders = [gender for gender in ("female", "male", "neutral", "unknown") if replaced[gender]]
    for kind in dict.fromkeys([*(kind for kind in _PUBLISHED if there[kind] or replaced[kind]), *there, *genders]):
        paper = ("" if count is None else str(count) for count in _PUBLISHED.get(kind, (None, None)))
        n_there = "" if kind in genders else str(there[kind])
        rows.append((f"{_FIRST_NAME}, {kind}" if kind in genders else kind, n_there, str(replaced[kind]), *paper))
    columns = ("kind", "PHI", "replaced", "paper, PHI", "paper, replaced")
    sums: TableRow = ("Sum", str(there.total()), str(sum(replaced[kind] for kind in there)), "4468", "4479")
    return Table(columns, [rows, [sums]], "PHI by kind (the paper: the Stockholm EPR PHI Corpus)")
