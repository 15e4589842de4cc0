"""The tables of Zhao 2020 in its own rows and columns, ours beside the paper's.

    of_types(figures, training, test)          table 2: PHI by category and type
    of_models(4, "submodels", rows, scores)    tables 4 and 5: precision, recall and F1
    of_changes(rows, scores)                   table 6: F1 without each part
    of_cases(test, answers, members, "tbed")   table 7: the places where one submodel alone is right

The paper's figures and rows are those of `papers/zhao2020.toml`; a row whose members are ours is filled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ensemble.evaluation import Score
from ensemble.evaluation.tables import Table, TableRow, escaped, percent, strong
from ensemble.experiments.cases import Place, places_of
from ensemble.experiments.parts import Answers
from features.documents import Corpus, Span
from features.shown import shown_id

__all__ = ["Members", "PaperTable", "of_cases", "of_changes", "of_models", "of_types"]

Members = tuple[str, ...]
"""The submodels of a row: one alone, or several under a stacker."""

_MEASURES = ("P", "R", "F1")
_CONTEXT = 30


class PaperTable(NamedTuple):
    """One table of a paper.

    :ivar number: in the paper.
    :ivar rows: as JSON can hold them.
    """

    number: int
    table: Table
    caption: str
    rows: list[dict[str, Any]]


def of_types(figures: Mapping[str, Sequence[int]], training: Corpus, test: Corpus) -> PaperTable:
    """Table 2: how many PHI of each type, by category."""
    categories = training.label_set.categories
    counts = [_count(corpus) for corpus in (training, test)]
    labels = [label for label in categories if any(label in of_corpus for of_corpus in counts) or label in figures]
    sections: list[list[TableRow]] = []
    rows: list[dict[str, Any]] = []
    for category in dict.fromkeys(categories[label] for label in labels):
        section: list[TableRow] = [(strong(category), "", "", "", "")]
        for label in (label for label in labels if categories[label] == category):
            ours = [of_corpus[label] for of_corpus in counts]
            paper = figures.get(label, ("", ""))
            section.append((label, *map(str, ours), *map(str, paper)))
            rows.append({"category": category, "type": label, "training": ours[0], "test": ours[1],
                         "paper": list(figures.get(label, ()))})  # fmt: skip
        sections.append(section)
    columns = ("type", "training", "test", "paper, training", "paper, test")
    return PaperTable(
        2, Table(columns, sections, "Table 2: PHI by category and type"), "PHI by category and type.", rows
    )


def _count(corpus: Corpus) -> Counter[str]:
    return Counter(span.label for document in corpus.documents for span in document.spans)


def of_models(
    number: int, what: str, figures: Sequence[Mapping[str, Any]], found: Mapping[Members, Score]
) -> PaperTable:
    """Tables 4 and 5: precision, recall and F1 of models, ours and the paper's."""
    rows, cells = [], []
    for row in figures:
        ours = [m.value for m in found[tuple(row["ours"])].measures.values()] if "ours" in row else []
        cells.append((row["model"], *(list(map(percent, ours)) or ["", "", ""]), *row["paper"]))
        rows.append({"model": row["model"], "ours": ours or None, "paper": row["paper"]})
    columns = ("model", *_MEASURES, *(f"paper, {measure}" for measure in _MEASURES))
    title = f"Table {number}: {what}, strict, percent"
    return PaperTable(number, Table(columns, [cells], title), f"{what.capitalize()}, strict, in percent.", rows)


def of_changes(figures: Sequence[Mapping[str, Any]], found: Mapping[Members, Score]) -> PaperTable:
    """Table 6: F1 of the ensemble without its parts, and the change from the whole, ours and the paper's."""
    rows, cells = [], []
    whole, paper_whole = found[tuple(figures[0]["ours"])].f1.value, float(figures[0]["paper"][0])
    for row in figures:
        f1, paper = found[tuple(row["ours"])].f1.value, float(row["paper"][0])
        changes = (100 * (f1 - whole), paper - paper_whole)
        cells.append((row["model"], percent(f1), f"{changes[0]:+.2f}", f"{paper:.2f}", f"{changes[1]:+.2f}"))
        rows.append({"model": row["model"], "f1": f1, "change": changes[0], "paper": [paper, round(changes[1], 2)]})
    columns = ("model", "F1", "change", "paper, F1", "paper, change")
    title = "Table 6: the hybrid system without submodels, strict, percent"
    return PaperTable(
        6, Table(columns, [cells], title), "The hybrid system without submodels, strict, in percent.", rows
    )


def of_cases(
    test: Corpus, answers: Mapping[str, Answers], members: Members, only_right: str, *, text: bool
) -> PaperTable:
    """Table 7: the places where one submodel is right and no other is."""
    ensemble = "+".join(members)
    systems = {name: answers[name] for name in (*members, ensemble)}
    others = [name for name in members if name != only_right]
    texts = {document.id: document.text for document in test.documents}
    places = [
        place
        for place in places_of(test.documents, systems)
        if only_right in place.right and not set(place.right).intersection(others)
    ]
    cells = [
        (
            f"{shown_id(place.document)} {place.start}-{place.end}",
            *([_in_context(place, texts[place.document])] if text else []),
            *(_labels(place.said[name], place.gold) for name in (*members, ensemble)),
            _labels(place.gold, place.gold),
        )
        for place in places
    ]
    columns = ("place", *(["case"] if text else []), *members, "ensemble", "gold")
    title = f"Table 7: the {len(places)} places where only {only_right} is right"
    rows = [place.to_dict() for place in places]
    table = Table(columns, [cells], title, n_texts=len(columns))
    return PaperTable(7, table, f"The places where only {escaped(only_right)} is right.", rows)


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
