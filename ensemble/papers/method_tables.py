"""What each method of a paper finds: by category, by criterion, and what it alone finds.

    by_category(declared, gold, {("crf",): answers})     columns, sections of a table, and its rows for JSON

A table is declared as `ensemble.experiments.paper_tables` says; `ours` or `methods` name submodels: one alone, or
several under a stacker. Liu 2017 counts what one method alone finds, as that is what an ensemble can gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phistack.ensemble.evaluation import Report, Score, evaluate
from phistack.ensemble.evaluation.tables import TableRow, percent
from phistack.ensemble.experiments.parts import Answers
from phistack.features.documents import Corpus, Span
from phistack.features.labels import LabelSet

FilledTable = tuple[Sequence[str], list[list[TableRow]], list[dict[str, Any]]]
"""The columns, the sections of a table, and its rows as JSON can hold them."""

_SpanOfNote = tuple[str, Span]
_Answered = Mapping[tuple[str, ...], Answers]
_MEASURES = ("P", "R", "F1")
_NOTHING = ("", "", "")


def by_category(declared: Mapping[str, Any], gold: Corpus, answers: _Answered) -> FilledTable:
    """Precision, recall and F1 of one system by category, the paper's beside them."""
    found = {score.name: score for score in _report(gold, answers, declared["ours"]).categories}
    figures: Mapping[str, Sequence[str]] = declared["figures"]
    rows = [
        {"category": name, "ours": _values(found[name]) if name in found else None, "paper": figures.get(name, [])}
        for name in dict.fromkeys([*figures, *found])
    ]
    return _beside("category", rows)


def by_criterion(declared: Mapping[str, Any], gold: Corpus, answers: _Answered) -> FilledTable:
    """The same by criterion; nothing of ours where a criterion means nothing for the labels.

    What the script counts without IDNUM are all labels of HIPAA where there is no such label.
    """
    found = {score.name: score for score in _report(gold, answers, declared["ours"]).criteria}
    rows: list[dict[str, Any]] = []
    for row in declared["rows"]:
        score = found.get(row["named"]) or found.get(row["named"].replace("hipaa-script", "hipaa"))
        rows.append({"criterion": row["model"], "ours": _values(score) if score else None, "paper": row["paper"]})
    return _beside("criterion", rows)


def counted_by_category(declared: Mapping[str, Any], training: Corpus, test: Corpus) -> FilledTable:
    """How many PHI there are of each category and in all, and its types, with a star for those that HIPAA lists."""
    labels, figures = training.label_set, declared["figures"]
    counts = [Counter(labels.categories[s.label] for d in c.documents for s in d.spans) for c in (training, test)]
    named = dict.fromkeys([*figures, *(category for of_corpus in counts for category in of_corpus)])
    rows: list[dict[str, Any]] = [
        {"category": c, "types": _types_of(c, labels), "training": counts[0][c], "test": counts[1][c],
         "paper": figures.get(c)}
        for c in named
    ]  # fmt: skip
    total = {"category": "Total", "types": [], "training": counts[0].total(), "test": counts[1].total(),
             "paper": sum(figures.values())}  # fmt: skip
    sections: list[list[TableRow]] = [
        [
            (r["category"], ", ".join(r["types"]), str(r["training"]), str(r["test"]), str(r["training"] + r["test"]),
             str(r["paper"] or ""))
            for r in section
        ]
        for section in (rows, [total])
    ]  # fmt: skip
    return ("category", "types", "training", "test", "both", "paper, both"), sections, rows


def _types_of(category: str, labels: LabelSet) -> list[str]:
    return [f"{label}{'*' * labels.hipaa(label)}" for label, own in labels.categories.items() if own == category]


def by_type(declared: Mapping[str, Any], gold: Corpus, answers: _Answered) -> FilledTable:
    """Precision, recall and F1 of one system by type, and over all types by the criteria that are declared.

    :param answers: empty where there are none of ours.
    """
    overall: Mapping[str, str] = declared.get("overall", {})
    found = _scores_by_type(_report(gold, answers, declared["ours"]), overall) if answers else {}
    figures: Mapping[str, Sequence[str]] = declared["figures"]
    rows = [
        {"type": name, "ours": _values(found[name]) if name in found else None, "paper": figures.get(name, [])}
        for name in dict.fromkeys([*overall, *figures, *found])
    ]
    return _beside("type", rows)


def _scores_by_type(report: Report, overall: Mapping[str, str]) -> dict[str, Score]:
    of_all = {score.name: score for score in report.criteria}
    whole = {name: of_all[criterion] for name, criterion in overall.items() if criterion in of_all}
    return {score.name: score for score in report.types} | whole


def of_methods(declared: Mapping[str, Any], gold: Corpus, answers: _Answered) -> FilledTable:
    """Strict F1 of each method by category."""
    methods: Mapping[str, Sequence[str]] = declared["methods"]
    found = {
        name: {score.name: score.f1.value for score in _report(gold, answers, ours).categories}
        for name, ours in methods.items()
    }
    categories = dict.fromkeys(category for of_method in found.values() for category in of_method)
    rows: list[dict[str, Any]] = [
        {"category": c, "f1": {name: found[name].get(c) for name in methods}} for c in categories
    ]
    cells: list[TableRow] = [(row["category"], *map(_percent, row["f1"].values())) for row in rows]
    return ("category", *methods), [cells], rows


def found_alone(declared: Mapping[str, Any], gold: Corpus, answers: _Answered) -> FilledTable:
    """How many right and wrong spans one method alone finds, and how many of them the ensemble keeps.

    The paper counts all together; ours are also by category.
    """
    spans = {name: _places(gold, answers[tuple(ours)]) for name, ours in declared["methods"].items()}
    right, kept = _places(gold, [d.spans for d in gold.documents]), _places(gold, answers[tuple(declared["ours"])])
    alone = {name: own.difference(*(o for other, o in spans.items() if other != name)) for name, own in spans.items()}
    sections = [_alone_rows("", alone, right, kept, declared["figures"])]
    labels = gold.label_set.categories
    for category in dict.fromkeys(labels.values()):
        own = {name: {place for place in found if labels[place[1].label] == category} for name, found in alone.items()}
        if any(own.values()):
            sections.append(_alone_rows(category, own, right, kept, {}))
    cells: list[list[TableRow]] = [
        [(r["method"], r["category"], *map(str, r["ours"]), *map(str, r["paper"] or [""] * 4)) for r in section]
        for section in sections
    ]
    columns = ("right", "wrong", "right, kept", "wrong, kept")
    header = ("method", "category", *columns, *(f"paper, {column}" for column in columns))
    return header, cells, [row for section in sections for row in section]


def _alone_rows(
    category: str,
    alone: Mapping[str, set[_SpanOfNote]],
    right: set[_SpanOfNote],
    kept: set[_SpanOfNote],
    figures: Mapping[str, Sequence[int | str]],
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, own in (*alone.items(), ("all", set().union(*alone.values()))):
        counts = [len(own & right), len(own - right), len(own & right & kept), len((own - right) & kept)]
        rows.append({"category": category, "method": name, "ours": counts, "paper": figures.get(name, [])})
    return rows


def _report(gold: Corpus, answers: _Answered, ours: Sequence[str]) -> Report:
    return evaluate(gold, gold.with_spans(answers[tuple(ours)]))


def _places(gold: Corpus, answers: Answers) -> set[_SpanOfNote]:
    return {(document.id, span) for document, found in zip(gold.documents, answers, strict=True) for span in found}


def _values(score: Score) -> list[float]:
    return [measure.value for measure in score.measures.values()]


def _beside(first: str, rows: list[dict[str, Any]]) -> FilledTable:
    cells: list[TableRow] = [
        (row[first], *(list(map(percent, row["ours"])) if row["ours"] else _NOTHING), *(row["paper"] or _NOTHING))
        for row in rows
    ]
    return (first, *_MEASURES, *(f"paper, {measure}" for measure in _MEASURES)), [cells], rows


def _percent(value: float | None) -> str:
    return "" if value is None else percent(value)
