"""The command `review`: a review of notes, the merging of two reviews, and the resulting corpus.

drawn(source.notes, decisions, 1000)               notes to review
merged(documents, first, second, decisions)        where two people agree and where they do not
exported(source, decisions, out)                   the notes that are done
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from pathlib import Path

from phistack.ensemble.evaluation.agreement import Agreement, agree
from phistack.ensemble.review.decisions import Begun, Decisions, Finished, Suggestion, digest_of
from phistack.ensemble.review.order import Outlook, rank_of
from phistack.ensemble.review.session import judged
from phistack.ensemble.tasks.annotating import Source, Written
from phistack.features.documents import Corpus, Document, refuse_repeated
from phistack.features.errors import CorpusError
from phistack.features.formats.corpora import write_documents


def drawn(documents: Iterable[Document], decisions: Decisions, most: int) -> list[Document]:
    """Notes to review, in their order: those that were begun, and at random as many others as are allowed."""
    seed = decisions.scheme.seed

    def rank(numbered: tuple[int, Document]) -> tuple[bool, int]:
        return decisions.of(numbered[1].id) is None, rank_of(seed, "notes", numbered[1].id)

    chosen = [document for _, document in sorted(nsmallest(most, enumerate(documents), key=rank))]
    if not chosen:
        raise CorpusError("there are no notes to review; give at least one")
    refuse_repeated([id for id, count in Counter(document.id for document in chosen).items() if count > 1])
    return [document.with_spans(()) for document in chosen]


def outlooks_of(corpus: Corpus, documents: Sequence[Document]) -> list[Outlook]:
    """The spans of annotated notes as suggestions."""
    spans = {document.id: document.spans for document in corpus.documents}
    return [Outlook(tuple(Suggestion(s.start, s.end, s.label) for s in spans[document.id])) for document in documents]


def merged(
    documents: Iterable[Document], first: Decisions, second: Decisions, decisions: Decisions
) -> tuple[list[Document], Agreement]:
    """Begin a review of the notes that are done in two others: what both have is judged, all else is suggested.

    :param decisions: those of the new review; notes that it already has stay as they are.
    :returns: the notes, those with most to decide first, and the agreement of the two.
    :raises CorpusError, EvaluationError: if they have no note in common.
    """
    names = (first.folder.name, second.folder.name)
    notes = list(documents)
    sides = [{document.id: document for document in judged(notes, side)[0]} for side in (first, second)]
    both = [document.with_spans(()) for document in notes if all(document.id in side for side in sides)]
    if not both:
        raise CorpusError(f"no note is done in both {names[0]} and {names[1]}; give two reviews of the same notes")
    labels = first.scheme.labels.extended(second.scheme.categories)
    corpora = [Corpus(tuple(side[document.id] for document in both), labels) for side in sides]
    to_decide = {}
    for one, other in zip(*(corpus.documents for corpus in corpora), strict=True):
        begun = _compared(one, other, names)
        to_decide[one.id] = len(begun.suggestions) - begun.judged
        known = decisions.of(one.id)
        if known is None or known.begun.text != begun.text:
            decisions.add(begun)
            if not to_decide[one.id]:
                decisions.add(Finished(one.id))
    return sorted(both, key=lambda document: -to_decide[document.id]), agree(*corpora, names=names)


def _compared(one: Document, other: Document, names: tuple[str, str]) -> Begun:
    shared = {*one.spans} & {*other.spans}
    of_one = [(span, name) for note, name in zip((one, other), names, strict=True) for span in note.spans]
    suggested = [Suggestion(span.start, span.end, span.label, by=name) for span, name in of_one if span not in shared]
    agreed = [Suggestion(span.start, span.end, span.label) for span in sorted(shared)]
    return Begun(one.id, digest_of(one.text), (*agreed, *suggested), judged=len(agreed))


def exported(source: Source, decisions: Decisions, out: Path, *, format: str = "", part: str = "all") -> Written:
    """Write the notes that are done, complete or not at all.

    :param part: `all`, `training`, or `aside`: those set aside to measure on.
    :returns: what was written, and the notes that were begun and are not in it.
    :raises CorpusError: if none is done.
    """
    documents, held_back = judged(source.notes, decisions, part)
    if not documents:
        raise CorpusError(f"no note of {source.path} is done, or none of the part {part}; review some first")
    write_documents(documents, decisions.scheme.labels, out, format=source.format_to(out, format))
    return Written(len(documents), sum(len(document.spans) for document in documents), held_back=dict(held_back))
