"""The tables of papers in their own rows and columns, ours beside the paper's.

    filled({"number": 4, "title": "...", "rows": [...]}, run).table

A paper declares its tables in `published/NAME.toml`. All have a `number` (a name where it is no table in the paper) and
a `title`. The kinds:

figures       the default: `measures` (P, R and F1 if not said) of systems. A row has its `name`, what the paper has
              of it (`paper`, one string a measure and column) and, where it is ours too, `ours`, the submodels: one
              alone or several under a stacker. `columns` are further systems or scopes side by side, with the same
              keys; the table itself may have a key for all. `by = "types"` or `"categories"` makes the rows: those of
              `figures`, then whatever else the notes have; `overall` names the scopes of rows that are neither.
  keys        `scope` (see `ensemble.papers.run`), `added = n` (the system that learned from the n-th added corpus
              too), `language` (only for notes in it), `needs = "vectors"` (a feature setting without which there is
              no figure), `basis = "folds"` (means over `first_folds` folds of the training notes, or all), `joined`
              (types that count as one), `change` (a column of differences from the first row)
counts        how many PHI: `by`, `figures`, `parts` (the corpora of the paper), `both`, `grouped`, `list_types`
facts         settings and numbers: `setting`, `svm`, `rules`, `crosses` or `off_tokens`, beside `paper`
places, alone, differences     see `ensemble.papers.places`

A figure of a system that lacks a part of the paper's is marked, and the note below the table says what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.tables import Table, TableRow, strong
from phistack.ensemble.papers.figures import of_figures
from phistack.ensemble.papers.places import PLAIN, ShownPlaces, found_alone, of_differences, of_places
from phistack.ensemble.papers.run import FilledTable, PaperRun
from phistack.features.documents import Corpus
from phistack.submodels.base import new_submodel
from phistack.submodels.crf.submodel import CrfSubmodel

Declared = Mapping[str, Any]


class PaperTable(NamedTuple):
    """One table of a paper.

    :ivar number: in the paper; a name where it is no table there.
    :ivar rows: as JSON can hold them.
    :ivar apart: categories that a picture of the table shows apart; `None` where there is no picture.
    """

    number: int | str
    table: Table
    rows: list[dict[str, Any]]
    apart: Sequence[str] | None = None


def filled(declared: Declared, run: PaperRun, shown: ShownPlaces = PLAIN) -> PaperTable:
    """A table as the paper declares it, with our figures.

    :param shown: what tables of places show.
    """
    number, kind = declared["number"], declared.get("kind", "figures")
    made = of_places(declared, run, shown) if kind == "places" else _KINDS[kind](declared, run)
    title = f"Table {number}: {declared['title']}" if isinstance(number, int) else declared["title"]
    table = Table(made.columns, made.sections, title, " ".join(made.notes), n_texts=made.n_texts)
    return PaperTable(number, table, made.rows, declared.get("apart"))


def _counts(declared: Declared, run: PaperRun) -> FilledTable:
    """How many PHI of each type or category the corpora have; those that HIPAA lists have a star in a list of types."""
    labels, figures = run.training.label_set, declared["figures"]
    what = {"types": "type", "categories": "category"}[declared["by"]]
    corpora = {"training": run.training, "test": run.test} | {
        f"added {n}": with_it.added for n, with_it in enumerate(run.with_added, 1) if with_it.added is not None
    }
    counts = {name: _count(corpus, what) for name, corpus in corpora.items()}
    if declared.get("both"):
        counts["both"] = counts["training"] + counts["test"]
    parts = declared.get("parts", ["both"] if declared.get("both") else ["training", "test"])
    there = (name for name in _names(labels.categories, what) if any(name in own for own in counts.values()))
    order = [name for name in dict.fromkeys([*figures, *there]) if what == "category" or name in labels.categories]
    rows: list[dict[str, Any]] = []
    for name in order:
        paper = figures.get(name, [])
        types = [f"{t}{'*' * labels.hipaa(t)}" for t, own in labels.categories.items() if own == name]
        rows.append(
            {declared.get("first", what): name, **{c: own[name] for c, own in counts.items()},
             "paper": _as_list(paper), "category": labels.categories.get(name, name)}
            | ({"types": types} if declared.get("list_types") else {})
        )  # fmt: skip
    cells = [
        (name, *([", ".join(row["types"])] if "types" in row else []), *(str(own[name]) for own in counts.values()),
         *map(str, row["paper"] or [""] * len(parts)))
        for name, row in zip(order, rows, strict=True)
    ]  # fmt: skip
    of_paper = [sum(column) for column in zip(*map(_as_list, figures.values()), strict=True)]
    blank = [""] * bool(declared.get("list_types"))
    total = ("Total", *blank, *(str(own.total()) for own in counts.values()), *map(str, of_paper))
    sections: list[list[TableRow]] = [list(cells)]
    if declared.get("grouped"):
        width = len(total) - 1
        sections = [
            [(strong(c), *[""] * width), *(cell for cell, row in zip(cells, rows, strict=True) if row["category"] == c)]
            for c in dict.fromkeys(row["category"] for row in rows)
        ]
    header = (declared.get("first", what), *(["types"] if blank else []), *counts, *(f"paper, {p}" for p in parts))
    return FilledTable(header, [*sections, [total]], rows, n_texts=1 + len(blank))


def _as_list(counts: int | list[int]) -> list[int]:
    return [counts] if isinstance(counts, int) else counts


def _count(corpus: Corpus, what: str) -> Counter[str]:
    labels = (span.label for document in corpus.documents for span in document.spans)
    return Counter(labels if what == "type" else map(corpus.label_set.category, labels))


def _names(categories: Mapping[str, str], what: str) -> Iterable[str]:
    return categories if what == "type" else categories.values()


def _facts(declared: Declared, run: PaperRun) -> FilledTable:
    """Settings and numbers beside those of the paper."""
    rows = [{"name": row["name"], "ours": _fact(row, run), "paper": row["paper"]} for row in declared["rows"]]
    cells: list[TableRow] = [(row["name"], row["ours"], row["paper"]) for row in rows]
    return FilledTable(("", "here", "paper"), [cells], rows, n_texts=1)


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


_KINDS: Mapping[str, Callable[[Declared, PaperRun], FilledTable]] = {
    "figures": of_figures,
    "counts": _counts,
    "facts": _facts,
    "alone": found_alone,
    "differences": of_differences,
}
