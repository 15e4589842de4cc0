"""Tables of precision, recall and F1: systems and scopes by row and column, ours beside the paper's.

    of_figures(declared, run)       for the keys see `ensemble.papers.tables`

Where our system lacks a part of the paper's, letters mark its column or else its row, and a note says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.tables import TableRow, percent
from phistack.ensemble.papers.run import MEASURES, FilledTable, PaperRun, section
from phistack.features.errors import how_to_install

ONE_OF = {"types": "type", "categories": "category"}
_CHANGE = "change"
_MOST_SIDE_BY_SIDE = 8
"""Figures in a row; a table with more has a section for each of its columns."""

Declared = Mapping[str, Any]


class _Figure(NamedTuple):
    """Our values of one row and column, by measure; and why there are none, or they are of less than the paper's."""

    values: Mapping[str, float] | None = None
    lacking: tuple[str, ...] = ()

    def cells(self, measures: Sequence[str]) -> list[str]:
        """As they are shown; empty strings without values."""
        if self.values is None:
            return [""] * len(measures)
        return [f"{100 * self.values[m]:+.2f}" if m == _CHANGE else percent(self.values[m]) for m in measures]


def of_figures(declared: Declared, run: PaperRun) -> FilledTable:
    """The figures of each row and column, as the paper declares them."""
    measures, given = declared.get("measures", MEASURES), _rows(declared, run)
    has_paper = any(row.get("paper") for row in given)
    columns = declared.get("columns", [{}])
    if not has_paper:
        # Of what the paper does not have, only what is there.
        columns = [column for column in columns if run.of(column.get("added", 0))]
    found = [[_figure({**declared, **row, **column}, run) for column in columns] for row in given]
    if _CHANGE in measures:
        found = _with_changes(found)
    letters: dict[str, str] = {}
    by_row, by_column = (list(map(_lacking, figures)) for figures in (found, zip(*found, strict=True)))
    plain, names = [column.get("name", "") for column in columns], [row["name"] for row in given]
    heads = plain
    if any(plain):
        heads = [head + _marked(lacking, letters) for head, lacking in zip(plain, by_column, strict=True)]
    else:
        names = [name + _marked(lacking, letters) for name, lacking in zip(names, by_row, strict=True)]
    n = len(measures)
    theirs = [list(row.get("paper", ())) or [""] * n * len(columns) * has_paper for row in given]
    first = declared.get("first", ONE_OF.get(declared.get("by", ""), "model"))
    ours = [list(chain(*(figure.cells(measures) for figure in figures))) for figures in found]
    shown, of_paper = (
        [", ".join(filter(None, (head, m if n > 1 or not head else ""))) for head in those for m in measures]
        for those in (heads, plain)
    )
    parts = {"": slice(None)}
    if len(columns) * n * (1 + has_paper) > _MOST_SIDE_BY_SIDE:
        shown = of_paper = list(measures)
        parts = {head: slice(i * n, i * n + n) for i, head in enumerate(heads)}
    sections: list[list[TableRow]] = []
    for head, part in parts.items():
        cells = [(name, *own[part], *paper[part]) for name, own, paper in zip(names, ours, theirs, strict=True)]
        sections.append(section(head, cells, 1 + n * (1 + has_paper)) if head else list(cells))
    header = (first, *shown, *(f"paper, {name}" for name in of_paper if has_paper))
    rows = [
        {first: row["name"], "ours": _as_json(figures, columns, measures), "paper": row.get("paper", [])}
        | ({"lacking": lacking} if lacking else {})
        for row, figures, lacking in zip(given, found, by_row, strict=True)
    ]
    return FilledTable(header, sections, rows, [f"({letter}) {reason}." for reason, letter in letters.items()])


def _rows(declared: Declared, run: PaperRun) -> list[Declared]:
    """The rows that are declared, or those of all types or categories; with one for notes in no language of theirs."""
    if "by" not in declared:
        rows = list(declared["rows"])
        languages = {row["language"] for row in rows if "language" in row}
        return rows if not languages or run.language in languages else [*rows, {"name": f"here ({run.language})"}]
    what, figures = ONE_OF[declared["by"]], declared.get("figures", {})
    joined = {name: f"any {'+'.join(types)}" for name, types in declared.get("joined", {}).items()}
    special = {**declared.get("overall", {}), **joined}
    there = {span.label for corpus in (run.training, run.test) for note in corpus.documents for span in note.spans}
    labels = {label: of for label, of in run.training.label_set.categories.items() if label in there}
    names = dict.fromkeys([*figures, *special, *(labels if what == "type" else labels.values())])
    return [{"name": n, "scope": special.get(n, f"{what} {n}"), "paper": figures.get(n, [])} for n in names]


def _figure(given: Declared, run: PaperRun) -> _Figure:
    own = run.of(given.get("added", 0))
    if "ours" not in given or own is None or given.get("language", run.language) != run.language:
        return _Figure()
    system = tuple(given["ours"])
    if (needed := given.get("needs")) and not getattr(run.settings.features, needed):
        return _Figure(None, (f"not filled, as `{needed}` under [features] names no file",))
    if "deduce_program" in system and system not in run.answers:
        return _Figure(None, (f"not filled, as the program is not installed: {how_to_install('deduce')}",))
    n_folds = given.get("first_folds", 0) if given.get("basis") == "folds" else None
    return _Figure(own.measured(system, given.get("scope", ""), n_folds), run.lacking(system))


def _with_changes(found: Sequence[Sequence[_Figure]]) -> list[list[_Figure]]:
    """With the difference of F1 from the first row, in the only column."""
    whole = found[0][0].values or {"F1": 0.0}
    return [
        [f._replace(values={**f.values, _CHANGE: f.values["F1"] - whole["F1"]} if f.values else None) for f in row]
        for row in found
    ]


def _lacking(figures: Iterable[_Figure]) -> list[str]:
    return list(dict.fromkeys(reason for figure in figures for reason in figure.lacking))


def _marked(reasons: Iterable[str], letters: dict[str, str]) -> str:
    """The letters of some reasons, in brackets after a blank; new reasons take the next ones."""
    found = [letters.setdefault(reason, chr(ord("a") + len(letters))) for reason in reasons]
    return f" ({', '.join(sorted(found))})" if found else ""


def _as_json(figures: Sequence[_Figure], columns: Sequence[Declared], measures: Sequence[str]) -> Any:
    """A list, or one for each column by its name; `None` where there are no values."""
    found = [[figure.values[m] for m in measures] if figure.values else None for figure in figures]
    named = "name" in columns[0] if columns else False
    return {c["name"]: values for c, values in zip(columns, found, strict=True)} if named else found[0]
