"""Score systems against gold, under every criterion at once.

    report = evaluate(gold, system)
    report.score("meddocan ner").f1
    evaluate_systems(gold, {"crf": corpus, "stack": corpus})["stack"].strict

Counts are kept by document; from them come the sums, the averages and the intervals, which rest on the same draws of
documents for all rows of all systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from phistack.ensemble.evaluation.counts import IntArray, count_by
from phistack.ensemble.evaluation.coverage import coverage, leak
from phistack.ensemble.evaluation.criteria import applicable
from phistack.ensemble.evaluation.intervals import RESAMPLES, Bootstrap
from phistack.ensemble.evaluation.pairing import DocumentPair, Pairing, Phi, pair, vocabulary
from phistack.ensemble.evaluation.report import STRICT, Report
from phistack.ensemble.evaluation.scores import scores
from phistack.features.documents import Corpus


def evaluate(
    gold: Corpus,
    system: Corpus,
    *,
    sentence_counts: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    resamples: int = RESAMPLES,
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
    (report,) = _reports(gold, [_counted(gold, system, allow_missing)], sentence_counts, resamples, seed)
    return report


def evaluate_systems(
    gold: Corpus, systems: Mapping[str, Corpus], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Report]:
    """Score several systems that all have the documents of gold; parameters and errors are those of `evaluate`."""
    counted = [_counted(gold, system) for system in systems.values()]
    return dict(zip(systems, _reports(gold, counted, None, resamples, seed), strict=True))


@dataclass(frozen=True, slots=True)
class _Counted:
    """What one system is scored on.

    :param sections: the names of the criteria, of the categories and of the types that gold or system uses.
    :param counts: of all of them in this order, shape `(n_documents, n_names, 3)`.
    """

    pairing: Pairing
    sections: tuple[Sequence[str], ...]
    counts: IntArray


def _counted(gold: Corpus, system: Corpus, allow_missing: bool = False) -> _Counted:
    labels = vocabulary(gold.label_set, system.label_set)
    pairing = pair(gold, system, labels, allow_missing=allow_missing)
    criteria, pairs = applicable(gold.label_set), pairing.pairs
    categories = _in_use((label.category for label in labels.values()), pairs, "category")
    types = _in_use((label.name for label in labels.values()), pairs, "label")
    by_criterion = np.stack([criterion.by_document(pairs) for criterion in criteria], axis=1)
    counts = np.concatenate((by_criterion, _by(pairs, "category", categories), _by(pairs, "label", types)), axis=1)
    return _Counted(pairing, ([criterion.name for criterion in criteria], categories, types), counts)


def _reports(
    gold: Corpus,
    systems: Sequence[_Counted],
    sentence_counts: Mapping[str, int] | None,
    resamples: int,
    seed: int,
) -> Iterator[Report]:
    """The report of each system; all have the same documents."""
    counts = np.concatenate([system.counts for system in systems], axis=1)
    names = [name for system in systems for section in system.sections for name in section]
    rows = iter(scores(names, counts, Bootstrap(counts, resamples=resamples, seed=seed)))
    official = {criterion.name: criterion.official for criterion in applicable(gold.label_set)}
    for system in systems:
        criteria, categories, types = (tuple(islice(rows, len(section))) for section in system.sections)
        strict = next(score for score in criteria if score.name == STRICT)
        pairs = system.pairing.pairs
        yield Report(
            documents=tuple(p.id for p in pairs),
            missing=system.pairing.missing,
            extra=system.pairing.extra,
            label_set=gold.label_set.name,
            criteria=tuple(replace(score, official=official[score.name]) for score in criteria),
            categories=categories,
            types=types,
            leak=leak(pairs, strict.counts.fn, sentence_counts),
            coverage=coverage(pairs, strict.by_document[:, 2]),
            resamples=resamples,
            seed=seed,
        )


def _in_use(names: Iterable[str], pairs: Sequence[DocumentPair], attribute: str) -> list[str]:
    """Those names that gold or system uses at least once, in the order of the label set."""
    used = {getattr(phi, attribute) for p in pairs for note in (p.gold, p.system) for phi in note.phi}
    return [name for name in dict.fromkeys(names) if name in used]


def _by(pairs: Sequence[DocumentPair], attribute: str, names: Sequence[str]) -> IntArray:
    """Strict counts by document and category or type; shape `(n_documents, n_names, 3)`."""

    def key(phi: Phi) -> str:
        return str(getattr(phi, attribute))

    return np.stack([count_by(frozenset(p.gold.phi), frozenset(p.system.phi), key, names) for p in pairs])
