"""Tables of places in notes, of what one method alone finds, and of differences between methods.

    of_places(declared, run, PaperOptions(text=True, most=20))

A table `places` lists places where only the member `only_right` is right, or PHI that one of `any_right` finds and
`wrong` does not. `shown` names its columns (a member's answer, `gold`, `place`, and `text` if text is asked for), and
`most` limits the places of each type. A table `alone` counts what only one of its `methods` finds, and how much of that
`ours` keeps (Liu 2017, section 5). A table `differences` has rows with `of` and `less`, and p by approximate
randomisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from phistack.ensemble.evaluation.tables import Table, TableRow
from phistack.ensemble.experiments.cases import Place, places_of
from phistack.ensemble.experiments.parts import Answers
from phistack.ensemble.papers.options import PaperOptions
from phistack.ensemble.papers.run import PaperRun, section
from phistack.features.documents import Corpus, Span
from phistack.features.shown import shown_id

_ENSEMBLE, _GOLD, _PLACE, _TEXT = "ensemble", "gold", "place", "text"
_CONTEXT = 30
_DIFFERING = {"precision": "P", "recall": "R", "f1": "F1"}

Filled = tuple[Table, list[dict[str, Any]]]
"""A table without its title, and its rows ready for JSON."""
_SpanOfNote = tuple[str, Span]


def of_places(declared: Mapping[str, Any], run: PaperRun, options: PaperOptions) -> Filled:
    """The places as a table; without text unless it is asked for."""
    systems = {name: run.answers[name,] for name in run.members} | {_ENSEMBLE: run.answers[run.members]}
    wanted = [place for place in places_of(run.test.documents, systems) if _is_wanted(place, declared, run, options)]
    wanted.sort(key=lambda place: (_labels(place.gold, place.gold), place.document, place.start))
    most = declared.get("most", 0) if options.most is None else options.most
    by_type = groupby(wanted, key=lambda place: _labels(place.gold, place.gold))
    listed = [place for _, of_type in by_type for place in islice(of_type, most or None)]
    texts = {document.id: document.text for document in run.test.documents}
    columns: dict[str, str] = dict(declared["shown"])
    if not options.text:
        columns.pop(_TEXT)

    def cell(place: Place, column: str) -> str:
        if column == _TEXT:
            return _in_context(place, texts[place.document])
        if column == _PLACE:
            return f"{shown_id(place.document)} {place.start}-{place.end}"
        return _labels(place.gold if column == _GOLD else place.said[column], place.gold)

    cells: list[TableRow] = [tuple(cell(place, column) for column in columns) for place in listed]
    note = f"The first {most} of each type, {len(listed)} of {len(wanted)}." if len(listed) < len(wanted) else ""
    table = Table(tuple(columns.values()), [cells], note=note, n_texts=len(columns))
    return table, [place.to_dict() for place in listed]


def _is_wanted(place: Place, declared: Mapping[str, Any], run: PaperRun, options: PaperOptions) -> bool:
    if "any_right" in declared:
        return bool(place.gold) and declared["wrong"] in place.wrong and bool({*declared["any_right"]} & {*place.right})
    alone = options.only_right or declared["only_right"]
    return [name for name in run.members if name in place.right] == [alone]


def _labels(spans: Sequence[Span], gold: Sequence[Span]) -> str:
    """The labels of spans; a span with gold's label but other ends also shows its place."""
    named = {span.label for span in gold}
    return " + ".join(
        f"{span.label} {span.start}-{span.end}" if span not in gold and span.label in named else span.label
        for span in spans
    ) or "-"  # fmt: skip


def _in_context(place: Place, text: str) -> str:
    before = text[max(0, place.start - _CONTEXT) : place.start]
    return " ".join(f"{before}[{text[place.start : place.end]}]".split())


def found_alone(declared: Mapping[str, Any], run: PaperRun) -> Filled:
    """How many right and wrong spans one method alone finds, how many of them the ensemble keeps, and by category."""
    gold = run.test
    spans = {name: _spans(gold, run.answers[tuple(ours)]) for name, ours in declared["methods"].items()}
    right, kept = _spans(gold, [d.spans for d in gold.documents]), _spans(gold, run.answers[tuple(declared["ours"])])
    alone = {name: own.difference(*(o for other, o in spans.items() if other != name)) for name, own in spans.items()}
    alone["all"] = set().union(*alone.values())
    labels = run.training.label_set.categories
    rows: list[dict[str, Any]] = []
    sections: list[Sequence[TableRow]] = []
    for category in ("", *dict.fromkeys(labels.values())):
        own = {name: {f for f in every if category in ("", labels[f[1].label])} for name, every in alone.items()}
        if category and not own["all"]:
            continue
        figures = {} if category else declared["figures"]
        cells: list[TableRow] = []
        for name, found in own.items():
            counts = [len(part) for part in (found & right, found - right, found & right & kept, found & kept - right)]
            rows.append({"category": category, "method": name, "ours": counts, "paper": figures.get(name, [])})
            cells.append((name, *map(str, [*counts, *figures.get(name, [""] * 4)])))
        sections.append(section(category or "all categories", cells, 9))
    columns = ("right", "wrong", "right, kept", "wrong, kept")
    return Table(("method", *columns, *(f"paper, {column}" for column in columns)), sections), rows


def _spans(corpus: Corpus, answers: Answers) -> set[_SpanOfNote]:
    return {(document.id, span) for document, found in zip(corpus.documents, answers, strict=True) for span in found}


def of_differences(declared: Mapping[str, Any], run: PaperRun) -> Filled:
    """How much methods differ in precision, recall and F1, with p, beside whether the paper's methods differ."""
    pairs = {row["name"]: ("+".join(row["of"]), "+".join(row["less"])) for row in declared["rows"]}
    found = run.systems.differences(pairs.values(), [*_DIFFERING])
    rows: list[dict[str, Any]] = []
    cells: list[TableRow] = []
    for row in declared["rows"]:
        ours = {measure: found[(*pairs[row["name"]], measure)] for measure in _DIFFERING}
        figures = {name: {"difference": d.gap.value, "p": d.p, "p_holm": d.p_holm} for name, d in ours.items()}
        rows.append({"model": row["name"], "ours": figures, "paper": row["paper"]})
        cells.append((row["name"], *(f"{100 * d.gap.value:+.2f}, p {d.p:.4f}" for d in ours.values()), *row["paper"]))
    shown = tuple(_DIFFERING.values())
    return Table(("", *shown, *(f"paper, {measure}" for measure in shown)), [cells]), rows
