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
              (types that count as one); the measure `change` is the difference of F1 from the first row
counts        how many PHI: `by`, `figures`, `parts` (the corpora of the paper), `both`, `grouped`, `list_types`
facts         settings and numbers: `setting`, `svm`, `rules`, `crosses` or `off_tokens`, beside `paper`
places, alone, differences     see `ensemble.papers.places`

A figure of a system that lacks a part of the paper's is marked, and the note below the table says what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.tables import Table, TableRow
from phistack.ensemble.papers.figures import ONE_OF, Declared, of_figures
from phistack.ensemble.papers.options import DEFAULT, PaperOptions
from phistack.ensemble.papers.places import found_alone, of_differences, of_places
from phistack.ensemble.papers.run import FilledTable, PaperRun, section
from phistack.features.documents import Corpus
from phistack.submodels.base import new_submodel
from phistack.submodels.crf.submodel import CrfSubmodel


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


def filled(declared: Declared, run: PaperRun, options: PaperOptions = DEFAULT) -> PaperTable:
    """A table as the paper declares it, with our figures."""
    number, kind = declared["number"], declared.get("kind", "figures")
    made = of_places(declared, run, options) if kind == "places" else _KINDS[kind](declared, run)
    title = f"Table {number}: {declared['title']}" if isinstance(number, int) else declared["title"]
    table = Table(made.columns, made.sections, title, " ".join(made.notes), n_texts=made.n_texts)
    return PaperTable(number, table, made.rows, declared.get("apart"))


def _counts(declared: Declared, run: PaperRun) -> FilledTable:
    """How many PHI of each type or category the corpora have; those that HIPAA lists have a star in a list of types."""
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
    return FilledTable(header, [*sections, [total]], rows, n_texts=n_texts)


def _count(corpus: Corpus, what: str) -> Counter[str]:
    labels = (span.label for document in corpus.documents for span in document.spans)
    return Counter(labels if what == "type" else map(corpus.label_set.category, labels))


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
