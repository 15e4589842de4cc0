"""Score a system against gold, under every criterion at once.

    report = evaluate(gold, system)
    report.score("meddocan ner").f1

Counts are kept by document; from them come the sums, the averages and the intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ensemble.evaluation.counts import IntArray, count_by, total
from ensemble.evaluation.coverage import coverage, leak
from ensemble.evaluation.criteria import applicable
from ensemble.evaluation.intervals import Interval, bootstrap_f1, wilson
from ensemble.evaluation.measures import macro
from ensemble.evaluation.notes import Label, Pair, Phi, pair, vocabulary
from ensemble.evaluation.report import Report, Score
from features.documents import Corpus
from features.errors import EvaluationError
from features.labels import LabelSet

__all__ = ["evaluate"]


def evaluate(
    gold: Corpus,
    system: Corpus,
    *,
    sentence_counts: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Report:
    """Score a system's PHI against gold's.

    :param gold: the reference; its label set decides the categories and which criteria apply.
    :param system: the answers, with the texts unchanged.
    :param sentence_counts: document id -> number of sentences, for the leak; without it our own splitter counts.
    :param allow_missing: score the documents that both sides have, instead of refusing; the report names the others.
    :param resamples: how often the bootstrap draws.
    :param seed: of the bootstrap.
    :raises EvaluationError: if documents are missing or extra, texts differ, nothing is common, or sentence counts lack
        a document.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    if resamples < 1:
        raise EvaluationError(f"the number of resamples must be at least 1, not {resamples}")
    labels = vocabulary(gold.label_set, system.label_set)
    pairing = pair(gold, system, labels, allow_missing=allow_missing)
    criteria, categories, types = _rows(pairing.pairs, labels, gold.label_set, resamples, seed)
    strict = next(score for score in criteria if score.name == "i2b2 strict")
    return Report(
        documents=tuple(p.id for p in pairing.pairs),
        missing=pairing.missing,
        extra=pairing.extra,
        label_set=gold.label_set.name,
        criteria=criteria,
        categories=categories,
        types=types,
        leak=leak(pairing.pairs, strict.counts.fn, sentence_counts),
        coverage=coverage(pairing.pairs, strict.by_document[:, 2]),
        resamples=resamples,
        seed=seed,
    )


def _rows(
    pairs: Sequence[Pair], labels: Mapping[str, Label], label_set: LabelSet, resamples: int, seed: int
) -> tuple[tuple[Score, ...], ...]:
    """The rows of criteria, of categories and of types, whose intervals rest on the same draws."""
    criteria = applicable(label_set)
    categories = _in_use((label.category for label in labels.values()), pairs, "category")
    types = _in_use((label.name for label in labels.values()), pairs, "label")
    by_criterion = np.stack([criterion.by_document(pairs) for criterion in criteria], axis=1)
    tables = (by_criterion, _by(pairs, "category", categories), _by(pairs, "label", types))
    names = [*(criterion.name for criterion in criteria), *categories, *types]
    rows = _scores(names, np.concatenate(tables, axis=1), resamples, seed)
    first, second = len(criteria), len(criteria) + len(categories)
    marked = (replace(row, official=rule.official) for row, rule in zip(rows[:first], criteria, strict=True))
    return tuple(marked), rows[first:second], rows[second:]


def _in_use(names: Iterable[str], pairs: Sequence[Pair], attribute: str) -> list[str]:
    """Those names that gold or system uses at least once, in the order of the label set."""
    used = {getattr(phi, attribute) for p in pairs for note in (p.gold, p.system) for phi in note.phi}
    return [name for name in dict.fromkeys(names) if name in used]


def _by(pairs: Sequence[Pair], attribute: str, names: Sequence[str]) -> IntArray:
    """Strict counts by document and category or type; shape `(n_documents, n_names, 3)`."""

    def key(phi: Phi) -> str:
        return str(getattr(phi, attribute))

    return np.stack([count_by(frozenset(p.gold.phi), frozenset(p.system.phi), key, names) for p in pairs])


def _scores(names: Sequence[str], counts: IntArray, resamples: int, seed: int) -> tuple[Score, ...]:
    """One row for each name, from counts of shape `(n_documents, n_names, 3)`."""
    intervals = bootstrap_f1(counts, resamples=resamples, seed=seed)
    rows = zip(names, np.moveaxis(counts, 1, 0), intervals, strict=True)
    return tuple(_score(name, by_document, interval) for name, by_document, interval in rows)


def _score(name: str, by_document: IntArray, f1_interval: Interval) -> Score:
    counts = total(by_document)
    return Score(name, counts, macro(by_document), f1_interval, wilson(counts.tp, counts.support), by_document)
