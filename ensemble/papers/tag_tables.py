"""Tables of papers by tag, and of what one method gains over another.

    by_tag(declared, gold, {("crf",): answers})          precision and recall of each method, a row a tag
    tag_counts(declared, training, test)                 how many PHI there are of each tag
    of_differences(declared, systems)                    differences of systems, with p of approximate randomisation

A table is declared as `ensemble.experiments.paper_tables` says. Trienes 2020 takes tags together that one of its
methods does not tell apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.evaluation.tables import TableRow, percent
from phistack.ensemble.experiments.parts import Answers
from phistack.ensemble.papers.method_tables import FilledTable
from phistack.features.documents import Corpus, Span

_OF_TAGS = ("P", "R")
_DIFFERING = {"precision": "P", "recall": "R", "f1": "F1"}


def by_tag(declared: Mapping[str, Any], gold: Corpus, answers: Mapping[tuple[str, ...], Answers]) -> FilledTable:
    """Precision and recall of each method by tag, the paper's beside them; tags of `joined` also as one."""
    methods: Mapping[str, Sequence[str]] = declared["methods"]
    figures: Mapping[str, Sequence[str]] = declared["figures"]
    joined: Mapping[str, Sequence[str]] = declared.get("joined", {})
    found = {name: _of_tags(gold, answers[tuple(ours)], joined) for name, ours in methods.items()}
    tags = dict.fromkeys([*figures, *sorted({span.label for document in gold.documents for span in document.spans})])
    rows: list[dict[str, Any]] = [
        {"tag": tag, "ours": {name: of_method.get(tag) for name, of_method in found.items()}, "paper": figures.get(tag)}
        for tag in tags
    ]
    nothing = [""] * len(_OF_TAGS)
    cells: list[TableRow] = [
        (
            row["tag"],
            *(cell for values in row["ours"].values() for cell in (map(percent, values) if values else nothing)),
            *(row["paper"] or nothing * len(methods)),
        )
        for row in rows
    ]
    ours = [f"{name}, {measure}" for name in methods for measure in _OF_TAGS]
    return ("tag", *ours, *(f"paper, {column}" for column in ours)), [cells], rows


def _of_tags(gold: Corpus, found: Answers, joined: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
    """Precision and recall of each tag that gold or answer has, and of those that are joined."""
    answered = gold.with_spans(found)
    measured = {score.name: score for score in evaluate(gold, answered).types}
    for name, tags in joined.items():
        # All under the label of one of them, so that it does not count which of them it is.
        into = [_under_the_first(corpus, tags) for corpus in (gold, answered)]
        together = {score.name: score for score in evaluate(*into).types}
        if tags[0] in together:
            measured[name] = together[tags[0]]
    return {name: [score.precision.value, score.recall.value] for name, score in measured.items()}


def _under_the_first(corpus: Corpus, tags: Sequence[str]) -> Corpus:
    notes = [
        [Span(span.start, span.end, tags[0] if span.label in tags else span.label) for span in document.spans]
        for document in corpus.documents
    ]
    return corpus.with_spans(notes)


def tag_counts(declared: Mapping[str, Any], training: Corpus, test: Corpus) -> FilledTable:
    """How many PHI there are of each tag, and in the whole corpus of the paper."""
    figures: Mapping[str, int] = declared["figures"]
    counts = [Counter(span.label for d in corpus.documents for span in d.spans) for corpus in (training, test)]
    tags = dict.fromkeys([*figures, *sorted({*counts[0], *counts[1]})])
    rows: list[dict[str, Any]] = [
        {"tag": tag, "training": counts[0][tag], "test": counts[1][tag], "paper": figures.get(tag)} for tag in tags
    ]
    cells: list[TableRow] = [
        (r["tag"], str(r["training"]), str(r["test"]), str(r["training"] + r["test"]), str(r["paper"] or ""))
        for r in rows
    ]
    return ("tag", "training", "test", "both", "paper, both"), [cells], rows


def of_differences(declared: Mapping[str, Any], systems: Systems | None) -> FilledTable:
    """By how much systems differ in precision, recall and F1, with p; beside it whether those of the paper do."""
    assert systems is not None, "a run of a table of differences has what is scored"
    pairs = {row["model"]: ("+".join(row["of"]), "+".join(row["less"])) for row in declared["rows"]}
    found = systems.differences(pairs.values(), [*_DIFFERING])
    rows: list[dict[str, Any]] = []
    cells: list[TableRow] = []
    for row in declared["rows"]:
        ours = {measure: found[(*pairs[row["model"]], measure)] for measure in _DIFFERING}
        figures = {name: {"difference": d.gap.value, "p": d.p, "p_holm": d.p_holm} for name, d in ours.items()}
        rows.append({"model": row["model"], "ours": figures, "paper": row["paper"]})
        cells.append((row["model"], *(f"{100 * d.gap.value:+.2f}, p {d.p:.4f}" for d in ours.values()), *row["paper"]))
    shown = tuple(_DIFFERING.values())
    return ("", *shown, *(f"paper, {measure}" for measure in shown)), [cells], rows
