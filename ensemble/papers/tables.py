"""The tables of papers in their own rows and columns, ours beside the paper's.

    filled({"number": 4, "kind": "models", "title": "...", "rows": [...]}, run).table

A paper declares its tables in `papers/NAME.toml`, each of a kind: `types` counts PHI by category and type, `models` has
precision, recall and F1 of each row, `fold-means` their means over the folds of the training notes, `changes` F1
without each part of the system, `cases` the places where only one submodel is right, `found` those that some submodels
find and another does not; `counts`, `categories`, `scores`, `criteria`, `methods` and `alone` are those of
`ensemble.experiments.method_tables`, `tags`, `tag-counts` and `differences` those of `ensemble.experiments.tag_tables`.
A row with `ours` has our figures too. With `added = n`, a row or table is of the system that learned from the n-th of
the corpora that are added, too; it has no figures of ours where so many are not given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from phistack.ensemble.evaluation import Score
from phistack.ensemble.evaluation.measures import MEASURES, Macro
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.evaluation.tables import Table, TableRow, escaped, percent, strong
from phistack.ensemble.experiments.cases import Place, places_of
from phistack.ensemble.experiments.parts import Answers
from phistack.ensemble.papers.method_tables import (
    FilledTable,
    by_category,
    by_criterion,
    by_type,
    counted_by_category,
    found_alone,
    of_methods,
)
from phistack.ensemble.papers.tag_tables import by_tag, of_differences, tag_counts
from phistack.features.documents import Corpus, Span
from phistack.features.shown import shown_id

Members = tuple[str, ...]
"""The submodels of a row: one alone, or several under a stacker."""

OF_PLACES = ("cases", "found")
"""The kinds of tables that list places, with what each submodel and the whole system say there."""

_MEASURES = ("P", "R", "F1")
_ENSEMBLE = "ensemble"
_CONTEXT = 30


class PaperTable(NamedTuple):
    """One table of a paper.

    :ivar number: in the paper; a name where it is no table there.
    :ivar rows: as JSON can hold them.
    :ivar apart: categories that a picture of the table shows apart; `None` where there is no picture.
    """

    number: int | str
    table: Table
    caption: str
    rows: list[dict[str, Any]]
    apart: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class PaperRun:
    """What the tables of a paper are filled from.

    :param answers: what each row marks in the test notes.
    :param scores: of the same.
    :param members: the submodels of the whole system.
    :param only_right: the submodel of the table of cases.
    :param text: whether that table shows the text of the notes.
    :param systems: what is scored, by the names of submodels joined by `+`, for tables of differences.
    :param fold_means: the strict measures of each row averaged over the folds of the training notes, where a table has
        them.
    :param off_tokens: how many PHI of the training notes begin or end within a token.
    :param added: the corpus that was learned from too; `None` for none.
    :param with_added: the same with each of the corpora that are added.
    """

    training: Corpus
    test: Corpus
    answers: Mapping[Members, Answers] = field(repr=False)
    scores: Mapping[Members, Score] = field(repr=False)
    members: Members
    only_right: str
    text: bool
    systems: Systems | None = field(default=None, repr=False)
    fold_means: Mapping[Members, Macro] = field(default_factory=dict, repr=False)
    off_tokens: int = 0
    added: Corpus | None = None
    with_added: tuple[PaperRun, ...] = ()

    def of(self, declared: Mapping[str, Any]) -> PaperRun | None:
        """The run that a row or table has figures of: this one, or that with the corpus which it names as added."""
        runs, number = (self, *self.with_added), declared.get("added", 0)
        return runs[number] if number < len(runs) else None


_Declared = Mapping[str, Any]


def filled(declared: _Declared, run: PaperRun) -> PaperTable:
    """A table as the paper declares it, with our figures."""
    columns, sections, rows = _KINDS[declared["kind"]](declared, run)
    number = declared["number"]
    title = f"Table {number}: {declared['title']}" if isinstance(number, int) else declared["title"]
    n_texts = _N_TEXTS.get(declared["kind"], 1) or len(columns)
    table = Table(columns, sections, title, n_texts=n_texts)
    return PaperTable(number, table, f"{escaped(declared['title'])}.", rows, declared.get("apart"))


def _types(declared: _Declared, run: PaperRun) -> FilledTable:
    figures, categories = declared["figures"], run.training.label_set.categories
    corpora = {"training": run.training, "test": run.test} | {
        f"added {n}": with_it.added for n, with_it in enumerate(run.with_added, 1) if with_it.added is not None
    }
    counts = {name: _count(corpus) for name, corpus in corpora.items()}
    # In the order of the paper, then in that of the label set.
    there = (label for label in categories if any(label in own for own in counts.values()))
    labels = [label for label in dict.fromkeys([*figures, *there]) if label in categories]
    rows: list[dict[str, Any]] = [
        {"category": categories[label], "type": label, **{name: own[label] for name, own in counts.items()},
         "paper": figures.get(label, [])}
        for label in labels
    ]  # fmt: skip
    parts = [f"paper, {part}" for part in declared.get("parts", ("training", "test"))]
    sections: list[list[TableRow]] = []
    for category in dict.fromkeys(row["category"] for row in rows):
        section: list[TableRow] = [(strong(category), *[""] * (len(counts) + len(parts)))]
        for row in (row for row in rows if row["category"] == category):
            section.append(
                (row["type"], *(str(row[name]) for name in counts), *map(str, row["paper"] or [""] * len(parts)))
            )
        sections.append(section)
    of_paper = [sum(column) for column in zip(*figures.values(), strict=True)]
    sections.append([("Total", *(str(own.total()) for own in counts.values()), *map(str, of_paper))])
    return ("type", *counts, *parts), sections, rows


def _count(corpus: Corpus) -> Counter[str]:
    return Counter(span.label for document in corpus.documents for span in document.spans)


def _models(declared: _Declared, run: PaperRun) -> FilledTable:
    return _rows_of_models(declared, run, lambda own, row: [m.value for m in own.scores[row].measures.values()])


def _fold_means(declared: _Declared, run: PaperRun) -> FilledTable:
    return _rows_of_models(declared, run, lambda own, row: [getattr(own.fold_means[row], m).mean for m in MEASURES])


def _rows_of_models(
    declared: _Declared, run: PaperRun, measured: Callable[[PaperRun, Members], list[float]]
) -> FilledTable:
    rows: list[dict[str, Any]] = []
    cells: list[TableRow] = []
    for row in declared["rows"]:
        own = run.of(row) if "ours" in row else None
        ours = measured(own, tuple(row["ours"])) if own else []
        cells.append((row["model"], *(list(map(percent, ours)) or ["", "", ""]), *row["paper"]))
        rows.append({"model": row["model"], "ours": ours or None, "paper": row["paper"]})
    first = declared.get("first", "model")
    return (first, *_MEASURES, *(f"paper, {measure}" for measure in _MEASURES)), [cells], rows


def _changes(declared: _Declared, run: PaperRun) -> FilledTable:
    """The changes are from the first row, the whole system."""
    rows: list[dict[str, Any]] = []
    cells: list[TableRow] = []
    first = declared["rows"][0]
    whole, paper_whole = run.scores[tuple(first["ours"])].f1.value, float(first["paper"][0])
    for row in declared["rows"]:
        f1, paper = run.scores[tuple(row["ours"])].f1.value, float(row["paper"][0])
        changes = (100 * (f1 - whole), paper - paper_whole)
        cells.append((row["model"], percent(f1), f"{changes[0]:+.2f}", f"{paper:.2f}", f"{changes[1]:+.2f}"))
        rows.append({"model": row["model"], "f1": f1, "change": changes[0], "paper": [paper, round(changes[1], 2)]})
    return ("model", "F1", "change", "paper, F1", "paper, change"), [cells], rows


def _cases(declared: _Declared, run: PaperRun) -> FilledTable:
    """The places where one submodel alone is right."""
    others = {name for name in run.members if name != run.only_right}
    places = [
        place for place in _all_places(run) if run.only_right in place.right and not others.intersection(place.right)
    ]
    where = _where(run)
    named = {name: declared.get("named", {}).get(name, name) for name in (*run.members, _ENSEMBLE)}
    columns = ("place", *(["case"] if run.text else []), *named.values(), "gold standard")
    cells: list[TableRow] = [
        (*where(place), *(_labels(place.said[name], place.gold) for name in named), _labels(place.gold, place.gold))
        for place in places
    ]
    return columns, [cells], [place.to_dict() for place in places]


def _found(declared: _Declared, run: PaperRun) -> FilledTable:
    """The PHI that one of some submodels finds and another does not, by type."""
    by, missed = set(declared["found_by"]), declared["missed_by"]
    places = [
        place for place in _all_places(run) if place.gold and by.intersection(place.right) and missed in place.wrong
    ]
    places.sort(key=lambda place: (_labels(place.gold, place.gold), place.document, place.start))
    where = _where(run)
    cells: list[TableRow] = [
        (_labels(place.gold, place.gold), *where(place), ", ".join(sorted(by.intersection(place.right))))
        for place in places
    ]
    columns = ("type", "place", *(["example"] if run.text else []), "found by")
    return columns, [cells], [place.to_dict() for place in places]


def _all_places(run: PaperRun) -> list[Place]:
    systems = {name: run.answers[name,] for name in run.members} | {_ENSEMBLE: run.answers[run.members]}
    return places_of(run.test.documents, systems)


def _where(run: PaperRun) -> Callable[[Place], list[str]]:
    """What says of a place its note and offsets, and the text around it where it is asked for."""
    texts = {document.id: document.text for document in run.test.documents}

    def cells(place: Place) -> list[str]:
        where = f"{shown_id(place.document)} {place.start}-{place.end}"
        return [where, _in_context(place, texts[place.document])] if run.text else [where]

    return cells


def _of_answers(fill: Callable[[_Declared, Corpus, Mapping[Members, Answers]], FilledTable]) -> _Fill:
    def of_run(declared: _Declared, run: PaperRun) -> FilledTable:
        own = run.of(declared)
        return fill(declared, replace(run.test, label_set=run.training.label_set), own.answers if own else {})

    return of_run


_Fill = Callable[[_Declared, PaperRun], FilledTable]
_KINDS: Mapping[str, _Fill] = {
    "types": _types, "counts": lambda declared, run: counted_by_category(declared, run.training, run.test),
    "models": _models, "fold-means": _fold_means, "changes": _changes, "cases": _cases, "found": _found,
    "categories": _of_answers(by_category), "scores": _of_answers(by_type), "criteria": _of_answers(by_criterion),
    "methods": _of_answers(of_methods), "alone": _of_answers(found_alone), "tags": _of_answers(by_tag),
    "tag-counts": lambda declared, run: tag_counts(declared, run.training, run.test),
    "differences": lambda declared, run: of_differences(declared, run.systems),
}  # fmt: skip
_N_TEXTS = {"cases": 0, "found": 0, "counts": 2}
"""Kind -> how many columns from the left hold words, if not one; 0 for all."""


def _labels(spans: Sequence[Span], gold: Sequence[Span]) -> str:
    """The labels of spans; with its place, where a span has the label of gold and other ends."""
    named = {span.label for span in gold}
    return " + ".join(
        f"{span.label} {span.start}-{span.end}" if span not in gold and span.label in named else span.label
        for span in spans
    ) or "-"  # fmt: skip


def _in_context(place: Place, text: str) -> str:
    before = text[max(0, place.start - _CONTEXT) : place.start]
    return " ".join(f"{before}[{text[place.start : place.end]}]".split())
