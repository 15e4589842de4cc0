"""Which of several systems is better, and whether that may be chance.

    comparison = compare(gold, {"a": system, "b": other}, criterion="strict")
    comparison.scores["a"].recall                      Measure(value=0.953, low=0.948, high=0.958)
    comparison.differences["a", "b", "recall"].p_holm  0.0123

Every pair of systems is compared in precision, recall and F1, and Holm's correction is over all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.criteria import Criterion, applicable, criterion_named
from phistack.ensemble.evaluation.intervals import RESAMPLES
from phistack.ensemble.evaluation.measures import MEASURES
from phistack.ensemble.evaluation.scores import Score
from phistack.ensemble.evaluation.systems import Difference, Systems, counts_of
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError, LabelError
from phistack.features.labels import LabelSet

SCHEMA = "phistack.comparison.v1"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` found.

    :param criterion: what counts as a hit.
    :param label_set: the name of gold's label set.
    :param documents: ids of the documents compared, in the order of gold.
    :param left_out: ids of the documents that not all have.
    :param scores: of each system.
    :param differences: (system, other system, measure) -> the first less the second, with p-values.
    :param shuffles: of the randomisation.
    :param resamples: of the bootstrap.
    :param seed: of both.
    """

    criterion: Criterion
    label_set: str
    documents: tuple[str, ...]
    left_out: tuple[str, ...]
    scores: Mapping[str, Score]
    differences: Mapping[tuple[str, str, str], Difference]
    shuffles: int
    resamples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON can hold it; the keys are stable within one `schema`."""
        return {
            "schema": SCHEMA,
            "label_set": self.label_set,
            "criterion": self.criterion.name,
            "documents": {"compared": len(self.documents), "left_out": list(self.left_out)},
            "bootstrap": {"resamples": self.resamples, "seed": self.seed, "level": 0.95},
            "randomisation": {"shuffles": self.shuffles, "seed": self.seed, "holm_over": len(self.differences)},
            "systems": {name: score.to_dict() for name, score in self.scores.items()},
            "differences": [
                {"of": first, "less": second, "measure": measure, **_row(difference)}
                for (first, second, measure), difference in self.differences.items()
            ],
        }


def _row(difference: Difference) -> dict[str, Any]:
    return {**difference.gap._asdict(), "p": difference.p, "p_holm": difference.p_holm}


def compare(
    gold: Corpus,
    systems: Mapping[str, Corpus],
    *,
    criterion: str = "strict",
    allow_missing: bool = False,
    shuffles: int = 9999,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare every two systems in precision, recall and F1, on the same documents.

    :param gold: the reference.
    :param systems: name -> answers, with the texts unchanged; at least two.
    :param criterion: the name of one, or `strict` or `spans`.
    :param allow_missing: compare on the documents that gold and all systems have, instead of refusing.
    :param shuffles: how many random exchanges the randomisation tries.
    :param resamples: how often the bootstrap draws.
    :param seed: of both.
    :raises SettingsError: if there is no such criterion.
    :raises EvaluationError: as for `evaluate`, if there are fewer than two systems, or if the criterion does not apply
        to the label set.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    if len(systems) < 2:
        raise EvaluationError("a comparison needs the gold annotations and at least two systems")
    rule = _applicable(criterion, gold.label_set)
    left_out: tuple[str, ...] = ()
    if allow_missing:
        gold, systems, left_out = _shared(gold, systems)
    counts = {name: _counts(name, gold, system, rule) for name, system in systems.items()}
    scored = Systems(counts, resamples=resamples, seed=seed)
    return Comparison(
        criterion=rule,
        label_set=gold.label_set.name,
        documents=tuple(document.id for document in gold.documents),
        left_out=left_out,
        scores=scored.scores,
        differences=scored.differences(combinations(counts, 2), list(MEASURES), shuffles=shuffles),
        shuffles=shuffles,
        resamples=resamples,
        seed=seed,
    )


def _applicable(name: str, labels: LabelSet) -> Criterion:
    rule = criterion_named(name)
    if rule not in applicable(labels):
        raise EvaluationError(
            f"the criterion {rule.name} does not apply to the label set {labels.name}; choose another with --criterion"
        )
    return rule


def _shared(gold: Corpus, systems: Mapping[str, Corpus]) -> tuple[Corpus, Mapping[str, Corpus], tuple[str, ...]]:
    """All corpora with those documents alone that each of them has, and the ids of the others."""
    corpora = (gold, *systems.values())
    shared = set.intersection(*({document.id for document in corpus.documents} for corpus in corpora))
    others = dict.fromkeys(d.id for corpus in corpora for d in corpus.documents if d.id not in shared)
    kept = [replace(corpus, documents=tuple(d for d in corpus.documents if d.id in shared)) for corpus in corpora]
    return kept[0], dict(zip(systems, kept[1:], strict=True)), tuple(others)


def _counts(name: str, gold: Corpus, system: Corpus, criterion: Criterion) -> IntArray:
    """Counts by document of one system, which errors name."""
    try:
        return counts_of(gold, system, criterion)
    except (EvaluationError, LabelError) as error:
        raise type(error)(f"{name}: {error}") from None
