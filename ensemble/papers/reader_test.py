"""Can a reader tell pseudonymised records from real ones? The test of Dalianis (2019), sections 3 and 5.

    test = make_test(real, pseudonymised, seed=1)
    test.page(), test.sheet()             what a judge gets: excerpts to read, and a sheet to fill in
    test.answers()                        which record was which, to be kept from the judges
    scored = score_judges(answers_path, [sheet_path, other_path])

Each record is shown once, real or pseudonymised by chance: the consecutive lines of it that hold the most PHI, without
any mark, the densest record first. A judge says of each what it is. Precision and recall are of the pseudonymised
records that were judged to be so: the lower the recall, the better the pseudonyms.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from phistack.ensemble.evaluation.measures import precision, recall
from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.views.templates import template
from phistack.features.documents import Corpus, Document
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.regular_files import read_regular
from phistack.features.sheets import read_sheet, sheet
from phistack.features.user_files import file_named

REAL, PSEUDONYMISED = "real", "pseudonymised"
_COLUMNS = ("record", "judged", "why")


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """The lines of a record that a judge reads.

    :param number: as the judge sees it, from 1.
    :param document: the id of the note.
    :param is_real: or pseudonymised.
    :param text: the lines.
    :param n_phi: how many PHI begin in them.
    """

    number: int
    document: str
    is_real: bool
    text: str = field(repr=False)
    n_phi: int = 0


@dataclass(frozen=True, slots=True)
class ReaderTest:
    """A test as it is given to judges, and its answers.

    :param without_phi: how many notes are not in it, as no PHI is marked in them.
    """

    excerpts: tuple[ShownRecord, ...]
    without_phi: int = 0

    def page(self) -> str:
        """The excerpts as one HTML page, which fetches nothing and runs nothing."""
        return template("phistack.ensemble.papers", "reader_test_template.html").render(excerpts=self.excerpts)

    def sheet(self) -> str:
        """What a judge fills in: `real` or `pseudonymised` for each record, and why."""
        return sheet(_COLUMNS, ((excerpt.number, "", "") for excerpt in self.excerpts))

    def answers(self) -> str:
        """Which record was which, as JSON."""
        truth = {str(e.number): {"document": e.document, "is": _said(e.is_real)} for e in self.excerpts}
        return json.dumps({"schema": "phistack.reader-test.v1", "records": truth}, indent=2, ensure_ascii=False) + "\n"


def _said(is_real: bool) -> str:
    return REAL if is_real else PSEUDONYMISED


def make_test(real: Corpus, pseudonymised: Corpus, *, records: int = 0, lines: int = 20, seed: int = 0) -> ReaderTest:
    """Mix the two corpora to a test.

    :param pseudonymised: the same notes by their ids, with surrogates.
    :param records: how many, of those with the most PHI a line; 0 for all.
    :param lines: of each record, at most.
    :param seed: decides which records are shown as they really are.
    :raises CorpusError: if the corpora do not have the same notes, or no PHI.
    """
    others = {note.id: note for note in pseudonymised.documents}
    if {note.id for note in real.documents} != others.keys():
        raise CorpusError("the real and the pseudonymised notes must be the same by their ids, and they are not")
    chance = random.Random(seed)
    shown = [
        (note if is_real else others[note.id], is_real)
        for note in real.documents
        for is_real in [chance.random() < 0.5]
    ]
    cut = [(*_densest(note, lines), note.id, is_real) for note, is_real in shown if note.spans]
    if not cut:
        raise CorpusError("the notes have no annotated PHI, so that there is nothing to judge")
    # Of records that are equally dense the seed decides, so that their order says nothing.
    chance.shuffle(cut)
    cut.sort(key=lambda record: -record[1] / max(1, record[0].count("\n") + 1))
    return ReaderTest(
        tuple(
            ShownRecord(number, id, is_real, text, n_phi)
            for number, (text, n_phi, id, is_real) in enumerate(cut[: records or None], 1)
        ),
        len(shown) - len(cut),
    )


def _densest(note: Document, most: int) -> tuple[str, int]:
    """The consecutive lines in which the most PHI begin, the first of several; and how many these are."""
    lines = note.text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = [0] * len(lines)
    for span in note.spans:
        found[bisect_right(starts, span.start) - 1] += 1
    windows = [(sum(found[first : first + most]), -first) for first in range(max(1, len(lines) - most + 1))]
    n_phi, first = max(windows)
    return "".join(lines[-first : -first + most]).strip("\r\n"), n_phi


@dataclass(frozen=True, slots=True)
class Judge:
    """What one judge said.

    :param name: of the sheet.
    :param found: records that are pseudonymised and were judged so.
    :param accused: records that are real and were judged pseudonymised.
    :param believed: records that are pseudonymised and were judged real.
    """

    name: str
    found: frozenset[str]
    accused: frozenset[str]
    believed: frozenset[str]

    @property
    def precision(self) -> float:
        """The share of the records judged pseudonymised that are."""
        return float(precision(len(self.found), len(self.accused)))

    @property
    def recall(self) -> float:
        """The share of the pseudonymised records that were judged so."""
        return float(recall(len(self.found), len(self.believed)))


class _Truth(msgspec.Struct, frozen=True):
    document: str
    is_: str = msgspec.field(name="is")


class _Answers(msgspec.Struct, frozen=True):
    records: dict[str, _Truth]


def score_judges(answers: Path, sheets: Sequence[Path], names: Sequence[str]) -> list[Judge]:
    """Compare filled sheets with the answers of the test.

    :param names: of the judges, in the order of the sheets.
    :raises SettingsError: if a file cannot be read, or a record is not judged or not one of the test.
    """
    with file_named("the file of answers", answers):
        truth = msgspec.json.decode(read_regular(answers), type=_Answers).records
    return [_judge(name, path, truth) for name, path in zip(names, sheets, strict=True)]


def _judge(name: str, path: Path, truth: Mapping[str, _Truth]) -> Judge:
    said = dict(_judgements(path, truth))
    missing = [number for number in truth if number not in said]
    if missing:
        raise SettingsError(f"the sheet {path} lacks record {missing[0]} of the test")
    false = {number for number, answer in truth.items() if answer.is_ == PSEUDONYMISED}
    suspected = {number for number, judged in said.items() if judged == PSEUDONYMISED}
    return Judge(name, frozenset(false & suspected), frozenset(suspected - false), frozenset(false - suspected))


def _judgements(path: Path, truth: Mapping[str, _Truth]) -> Iterator[tuple[str, str]]:
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
    rows: list[TableRow] = [_row(judge) for judge in judges]
    if len(judges) > 1:
        every = Judge(
            "all of them",
            frozenset.intersection(*(judge.found for judge in judges)),
            frozenset.intersection(*(judge.accused for judge in judges)),
            frozenset.union(*(judge.believed for judge in judges)),
        )
        rows.append(_row(every))
    columns = ("judge", "found", "accused", "believed", "precision", "recall", "judged real")
    note = "found: pseudonymised and judged so; accused: real and judged pseudonymised; believed: the contrary"
    return Table(columns, [rows], "Readers' judgements of pseudonymised records", note)


def _row(judge: Judge) -> TableRow:
    n_false = len(judge.found) + len(judge.believed)
    figures = (judge.precision, judge.recall, len(judge.believed) / n_false if n_false else 0.0)
    counts = (len(judge.found), len(judge.accused), len(judge.believed))
    return (judge.name, *map(str, counts), *map(percent, figures))
