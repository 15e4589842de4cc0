"""How a certificate changes if two people annotated its notes and disagree.

    gold = either(first, second)                                what any of both marked is an identifier
    by_annotator({"a": first, "b": second}, engine, policy)     bounds with each as gold, and with either

No bound covers an identifier that both overlooked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.agreement import agree
from phistack.ensemble.evaluation.bounds import CONFIDENCE
from phistack.ensemble.evaluation.pairing import pair, vocabulary
from phistack.ensemble.evaluation.resampling import Resampling
from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.experiments.certificate import Leaks, bounds_of, summed
from phistack.features.documents import Corpus, Document, Span
from phistack.features.ranges import overlapping_groups

EITHER = "either"
_COLUMNS = ("annotation", "identifiers", "share left", "any left", "one left whole")
_NOTE = (
    "In percent, at most so much with {confidence:.0%} confidence and --recall balanced; in brackets what was found. "
    "The annotators agree with a strict F1 of {f1} and Cohen's kappa of {kappa:.2f} over tokens. The certificate "
    "takes what either marked; what both overlooked it cannot count."
)


def either(first: Corpus, second: Corpus) -> Corpus:
    """The notes with what either annotator marked; spans that overlap become one, with the label of the longest.

    :param second: the same notes, in any order.
    :raises EvaluationError: if the notes differ.
    """
    pair(first, second, vocabulary(first.label_set, second.label_set))
    others = {document.id: document for document in second.documents}
    return first.with_spans([list(_joined(document, others[document.id])) for document in first.documents])


def _joined(first: Document, second: Document) -> Iterator[Span]:
    for group in overlapping_groups((*first.spans, *second.spans)):
        longest = max(group, key=lambda span: span.end - span.start)
        yield Span(min(span.start for span in group), max(span.end for span in group), longest.label)


def by_annotator(
    annotations: Mapping[str, Corpus], engine: Engine, policy: Policy, confidence: float = CONFIDENCE
) -> Table:
    """The bounds with each of two annotations as gold and with either, and how far these agree.

    :param annotations: by name, of the same notes.
    :raises EvaluationError: if the notes differ, or there are too few patients.
    """
    name, other = annotations
    first, second = annotations.values()
    agreement = agree(first, second, names=(name, other), resampling=Resampling(draws=1))
    by_id = {document.id: document for document in engine.annotate(first.documents)}

    def row(name: str, gold: Corpus) -> TableRow:
        leaks = summed(Leaks(gold, engine, policy).in_notes(by_id[document.id] for document in gold.documents))
        bounds = bounds_of(leaks, confidence)
        risks = (bounds.share, bounds.anything, bounds.whole)
        return [name, f"{bounds.identifiers:,}", *(f"{percent(bound)} ({percent(share)})" for share, bound in risks)]

    rows = [row(name, gold) for name, gold in {**annotations, EITHER: either(first, second)}.items()]
    f1 = percent(agreement.score.f1.value)
    return Table(_COLUMNS, [rows], "By annotator", _NOTE.format(confidence=confidence, f1=f1, kappa=agreement.kappa))
