"""The tables of papers in their own rows and columns, ours beside the paper's.

    filled({"number": 4, "title": "...", "rows": [...]}, run).table

`published/NAME.toml` declares the tables of a paper. Each has a `number` (a name if it is no table in the paper) and a
`title`. The kinds:

figures       the default: `measures` (P, R and F1 if not said) of systems. A row has its `name`, what the paper has
              of it (`paper`, one string a measure and column) and, where it is ours too, `ours`, the submodels: one
              alone or several under a stacker. `columns` are further systems or scopes side by side, with the same
              keys; the table itself may have a key for all. `by = "types"` or `"categories"` makes the rows: those of
              `figures`, then whatever else the notes have; `overall` names the scopes of rows that are neither.
  keys        `scope` (see `ensemble.papers.run`), `added = n` (the system that learned from the n-th added corpus
              too), `language` (only for notes in it), `needs = "vectors"` (a feature setting without which there is
              no figure), `basis = "folds"` (means over `first_folds` folds of the training notes, or all), `joined`
              (types that count as one); the measure `change` is the difference of F1 from the first row
counts        how many PHI: `by`, `figures`, `parts` (the corpora of the paper), `both`, `grouped`, `list_types`
facts         settings and numbers: `setting`, `svm`, `rules`, `crosses` or `off_tokens`, beside `paper`
places, alone, differences     see `ensemble.papers.places`

A figure of a system that lacks a part of the paper's system is marked; the note below the table says what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.papers.options import DEFAULT, PaperOptions
from phistack.ensemble.papers.places import Filled, found_alone, of_differences, of_places
from phistack.ensemble.papers.run import MEASURES, PaperRun, section
from phistack.features.documents import Corpus
from phistack.features.errors import how_to_install
from phistack.submodels.base import new_submodel
from phistack.submodels.crf.submodel import CrfSubmodel

ONE_OF = {"types": "type", "categories": "category"}
_CHANGE = "change"
_MOST_SIDE_BY_SIDE = 8
"""Figures in a row; a table with more has a section for each of its columns."""

Declared = Mapping[str, Any]


class _Figure(NamedTuple):
    """Our values of one row and column, by measure, and why they are absent or come from an incomplete system."""

    values: Mapping[str, float] | None = None
    lacking: tuple[str, ...] = ()

    def cells(self, measures: Sequence[str]) -> list[str]:
        """The cells to show; empty strings without values."""
        if self.values is None:
            return [""] * len(measures)
        return [f"{100 * self.values[m]:+.2f}" if m == _CHANGE else percent(self.values[m]) for m in measures]


def _figures(declared: Declared, run: PaperRun) -> Filled:
    """The figures of each row and column, as the paper declares them."""
    measures, given = declared.get("measures", MEASURES), _rows(declared, run)
    has_paper = any(row.get("paper") for row in given)
    columns = declared.get("columns", [{}])
    if not has_paper:
        # If the paper has no figures, only columns that this run has are shown.
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
    note = " ".join(f"({letter}) {reason}." for reason, letter in letters.items())
    return Table(header, sections, note=note), rows


def _rows(declared: Declared, run: PaperRun) -> list[Declared]:
    """The declared rows, or one for each type or category; one is added for notes in a language that no row names."""
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
    """The figures with the difference of F1 from the first row, in the only column."""
    whole = found[0][0].values or {"F1": 0.0}
    return [
        [f._replace(values={**f.values, _CHANGE: f.values["F1"] - whole["F1"]} if f.values else None) for f in row]
        for row in found
    ]


def _lacking(figures: Iterable[_Figure]) -> list[str]:
    return list(dict.fromkeys(reason for figure in figures for reason in figure.lacking))


def _marked(reasons: Iterable[str], letters: dict[str, str]) -> str:
    """The letters of some reasons, in brackets after a blank; new reasons get the next letters."""
    found = [letters.setdefault(reason, chr(ord("a") + len(letters))) for reason in reasons]
    return f" ({', '.join(sorted(found))})" if found else ""


def _as_json(figures: Sequence[_Figure], columns: Sequence[Declared], measures: Sequence[str]) -> Any:
    """A list, or one for each column by name; `None` if there are no values."""
    found = [[figure.values[m] for m in measures] if figure.values else None for figure in figures]
    named = "name" in columns[0] if columns else False
    return {c["name"]: values for c, values in zip(columns, found, strict=True)} if named else found[0]


class PaperTable(NamedTuple):
    """One table of a paper.

    :ivar number: in the paper; a name if it is no table there.
    :ivar rows: ready for JSON.
    :ivar apart: categories that a picture of the table shows in their own panel; `None` if there is no picture.
    """

    number: int | str
    table: Table
    rows: list[dict[str, Any]]
    apart: Sequence[str] | None = None


def filled(declared: Declared, run: PaperRun, options: PaperOptions = DEFAULT) -> PaperTable:
    """A table as the paper declares it, with our figures."""
    number, kind = declared["number"], declared.get("kind", "figures")
    table, rows = of_places(declared, run, options) if kind == "places" else _KINDS[kind](declared, run)
    title = f"Table {number}: {declared['title']}" if isinstance(number, int) else declared["title"]
    return PaperTable(number, replace(table, title=title), rows, declared.get("apart"))


def _counts(declared: Declared, run: PaperRun) -> Filled:
    """How many PHI of each type or category the corpora have; in a list of types, those of HIPAA have a star."""
    labels, figures, what = run.training.label_set, declared["figures"], ONE_OF[declared["by"]]
    added = {f"added {n}": own.added for n, own in enumerate(run.with_added, 1) if own.added is not None}
    corpora = {"training": run.training, "test": run.test, **added}
    counts = {name: _count(corpus, what) for name, corpus in corpora.items()}
    if declared.get("both"):
        counts["both"] = counts["training"] + counts["test"]
    parts = declared.get("parts", ["both"] if declared.get("both") else ["training", "test"])
    every = labels.categories if what == "type" else dict.fromkeys(labels.categories.values(), "")
    there = (name for name in every if any(name in own for own in counts.values()))
    order = [name for name in dict.fromkeys([*figures, *there]) if what == "category" or name in every]
    first = declared.get("first", what)

    def row(name: str) -> dict[str, Any]:
        types = (f"{t}{'*' * labels.hipaa(t)}" for t, own in labels.categories.items() if own == name)
        listed = {"types": ", ".join(types)} if declared.get("list_types") else {}
        return {first: name, **listed, **{c: own[name] for c, own in counts.items()}, "paper": figures.get(name, [])}

    def cells(row: dict[str, Any]) -> TableRow:
        *own, paper = row.values()
        return tuple(map(str, (*own, *(paper or [""] * len(parts)))))

    rows = list(map(row, order))
    groups: dict[str, list[TableRow]] = {}
    for made in rows:
        groups.setdefault(every[made[first]] if declared.get("grouped") else "", []).append(cells(made))
    n_texts = 1 + bool(declared.get("list_types"))
    of_paper = (sum(column) for column in zip(*figures.values(), strict=True))
    total = ("Total", *[""] * (n_texts - 1), *(str(own.total()) for own in counts.values()), *map(str, of_paper))
    sections = [section(name, of_group, len(total)) if name else of_group for name, of_group in groups.items()]
    header = (*[c for c in rows[0] if c != "paper"], *(f"paper, {part}" for part in parts))
    return Table(header, [*sections, [total]], n_texts=n_texts), rows


def _count(corpus: Corpus, what: str) -> Counter[str]:
    labels = (span.label for document in corpus.documents for span in document.spans)
    return Counter(labels if what == "type" else map(corpus.label_set.category, labels))


def _facts(declared: Declared, run: PaperRun) -> Filled:
    """Settings and numbers beside those of the paper."""
    rows = [{"name": row["name"], "ours": _fact(row, run), "paper": row["paper"]} for row in declared["rows"]]
    cells: list[TableRow] = [(row["name"], row["ours"], row["paper"]) for row in rows]
    return Table(("", "here", "paper"), [cells]), rows


def _fact(row: Declared, run: PaperRun) -> str:
    if "setting" in row:
        submodel, _, setting = row["setting"].partition(".")
        value = new_submodel(submodel, run.settings.submodels[submodel]).settings()[setting]
        return ", ".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
    if "crosses" in row:
        model = new_submodel(row["crosses"], run.settings.submodels[row["crosses"]])
        return str(len(model.declared)) if isinstance(model, CrfSubmodel) else ""
    if "rules" in row:
        return f"{run.n_rules[row['rules']]:,}"
    if "svm" in row:
        return f"{getattr(run.svm, row['svm']):g}" if hasattr(run.svm, row["svm"]) else ""
    return f"{run.off_tokens / max(sum(len(d.spans) for d in run.training.documents), 1):.2%}".replace("%", " %")


_KINDS: Mapping[str, Callable[[Declared, PaperRun], Filled]] = {
    "figures": _figures,
    "counts": _counts,
    "facts": _facts,
    "alone": found_alone,
    "differences": of_differences,
}
