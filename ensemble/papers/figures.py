"""Tables of precision, recall and F1: systems and scopes by row and column, ours beside the paper's.

    of_figures(declared, run)       for the keys see `ensemble.papers.tables`

Where our system lacks a part of the paper's, a letter marks its row or column, and a note says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.tables import TableRow, percent, strong
from phistack.ensemble.papers.run import MEASURES, FilledTable, Members, PaperRun

_MOST_SIDE_BY_SIDE = 8
"""Figures in a row; a table with more has a section for each of its columns."""
_ONE = {"types": "type", "categories": "category"}

Declared = Mapping[str, Any]


@dataclass(frozen=True)
class _Marks:
    """Letters for what figures lack, in the order in which they are met."""

    reasons: dict[str, str] = field(default_factory=dict)

    def on(self, reasons: Iterable[str]) -> str:
        """The letters of some reasons, after a blank; empty without reasons."""
        letters = [self.reasons.setdefault(reason, chr(ord("a") + len(self.reasons))) for reason in reasons]
        return f" ({', '.join(sorted(letters))})" if letters else ""

    def here(self, reasons: Iterable[str]) -> None:
        """What all of our figures lack, which no letter needs to say."""
        self.reasons.update(dict.fromkeys(reasons, ""))

    @property
    def notes(self) -> list[str]:
        """What the letters mean."""
        return [f"{f'({letter})' if letter else 'Here'} {reason}." for reason, letter in self.reasons.items()]


class _Figure(NamedTuple):
    """Our values of one row and column, by measure; and why there are none, or they are of less than the paper's."""

    values: Mapping[str, float] | None
    lacking: tuple[str, ...] = ()


def _figure(declared: Declared, row: Declared, column: Declared, run: PaperRun) -> _Figure:
    given = {**declared, **row, **column}
    own = run.of(given.get("added", 0))
    if "ours" not in given or own is None or given.get("language", run.language) != run.language:
        return _Figure(None)
    system: Members = tuple(given["ours"])
    if (needed := given.get("needs")) and not getattr(run.settings.features, needed):
        return _Figure(None, (f"not filled, as `{needed}` under [features] names no file",))
    if "deduce-program" in system and system not in run.answers:
        return _Figure(None, ("not filled, as the program is not installed: pip install 'phistack[deduce]'",))
    n_folds = given.get("first_folds", 0) if given.get("basis") == "folds" else None
    joined = tuple(given.get("joined", {}).get(row["name"], ()))
    scope = f"type {joined[0]}" if joined else given.get("scope", "")
    return _Figure(own.measured(system, scope, n_folds=n_folds, joined=joined), run.lacking(system))


def of_figures(declared: Declared, run: PaperRun) -> FilledTable:
    """The figures of each row and column, as the paper declares them."""
    measures, columns = declared.get("measures", MEASURES), declared.get("columns", [{}])
    given = _rows(declared, run)
    if not any(row.get("paper") for row in given):
        # Of what the paper does not have, only what is there.
        columns = [column for column in columns if run.of(column.get("added", 0))]
    found = [[_figure(declared, row, column, run) for column in columns] for row in given]
    marks = _Marks()
    # A system that is the same in a whole column is marked there, and one that is the same in all of the table once.
    of_rows, of_columns = any("ours" in row for row in given), any("ours" in column for column in columns)
    of_all = not of_rows and all("name" in column for column in columns)
    names = [
        row["name"] + (marks.on(_lacking(figures)) if of_rows else "")
        for row, figures in zip(given, found, strict=True)
    ]
    heads = [
        column.get("name", "") + (marks.on(_lacking(figures)) if of_columns or of_all else "")
        for column, figures in zip(columns, zip(*found, strict=True), strict=True)
    ]
    if not (of_rows or of_columns or of_all):
        marks.here(dict.fromkeys(reason for figures in found for reason in _lacking(figures)))
    ours = [[_shown(figure.values, measures) for figure in figures] for figures in found]
    theirs = [_parted(row.get("paper", ()), len(measures), len(columns)) for row in given]
    has_paper = any(cell for of_row in theirs for cells in of_row for cell in cells)
    first = declared.get("first", _ONE.get(declared.get("by", ""), "model"))
    rows = [
        {first: row["name"], "ours": _values(figures, columns, measures), "paper": list(row.get("paper", ()))}
        | ({"lacking": lacking} if (lacking := _lacking(figures)) else {})
        for row, figures in zip(given, found, strict=True)
    ]
    shown = list(zip(names, ours, theirs, strict=True))
    sections: list[list[TableRow]]
    if len(columns) * len(measures) * (1 + has_paper) > _MOST_SIDE_BY_SIDE:
        header = (first, *measures, *(f"paper, {measure}" for measure in measures if has_paper))
        sections = [
            [(strong(head), *[""] * (len(header) - 1)),
             *((name, *our[i], *(their[i] if has_paper else ())) for name, our, their in shown)]
            for i, head in enumerate(heads)
        ]  # fmt: skip
    else:
        named = [_head(head, measure, measures) for head in heads for measure in measures]
        header = (first, *named, *(f"paper, {name}" for name in named if has_paper))
        sections = [[(name, *chain(*our), *(chain(*their) if has_paper else ())) for name, our, their in shown]]
    made = FilledTable(header, sections, rows, marks.notes)
    return _with_changes(made) if declared.get("change") else made


def _lacking(figures: Iterable[_Figure]) -> list[str]:
    return list(dict.fromkeys(reason for figure in figures for reason in figure.lacking))


def _rows(declared: Declared, run: PaperRun) -> list[Declared]:
    """The rows that are declared, or those of all types or categories; with one for notes in no language of theirs."""
    if "by" not in declared:
        rows = list(declared["rows"])
        languages = {row["language"] for row in rows if "language" in row}
        if languages and run.language not in languages:
            rows.append({"name": f"these notes ({run.language})"})
        return rows
    what = _ONE[declared["by"]]
    overall, figures = declared.get("overall", {}), declared.get("figures", {})
    scopes = {name: overall.get(name, f"{what} {name}") for name in (*figures, *overall)}
    labels = run.training.label_set.categories
    there = {span.label for corpus in (run.training, run.test) for note in corpus.documents for span in note.spans}
    for label, category in labels.items():
        name = label if what == "type" else category
        if label in there:
            scopes.setdefault(name, f"{what} {name}")
    return [{"name": name, "scope": scope, "paper": figures.get(name, ())} for name, scope in scopes.items()]


def _shown(values: Mapping[str, float] | None, measures: Sequence[str]) -> list[str]:
    return [percent(values[measure]) if values else "" for measure in measures]


def _values(figures: Sequence[_Figure], columns: Sequence[Declared], measures: Sequence[str]) -> Any:
    """As JSON holds them: a list, or one for each column by its name; `None` where there are none."""
    found = [[figure.values[m] for m in measures] if figure.values else None for figure in figures]
    return found[0] if len(columns) == 1 else {c["name"]: values for c, values in zip(columns, found, strict=True)}


def _parted(cells: Sequence[str], n_measures: int, n_columns: int) -> list[list[str]]:
    """What the paper has, by column; empty strings where it has nothing."""
    given = list(cells) or [""] * (n_measures * n_columns)
    return [given[i * n_measures : (i + 1) * n_measures] for i in range(n_columns)]


def _head(column: str, measure: str, measures: Sequence[str]) -> str:
    return measure if not column else column if len(measures) == 1 else f"{column}, {measure}"


def _with_changes(made: FilledTable) -> FilledTable:
    """With the differences of F1 from the first row, ours and the paper's."""
    first = made.rows[0]
    for row in made.rows:
        ours = 100 * (row["ours"][0] - first["ours"][0]) if row["ours"] and first["ours"] else None
        row["change"] = [ours, round(float(row["paper"][0]) - float(first["paper"][0]), 2)]
    cells = [
        (name, f1, "" if row["change"][0] is None else f"{row['change'][0]:+.2f}", paper, f"{row['change'][1]:+.2f}")
        for (name, f1, paper), row in zip(made.sections[0], made.rows, strict=True)
    ]
    return made._replace(columns=(made.columns[0], "F1", "change", "paper, F1", "paper, change"), sections=[cells])
