"""One HTML file that shows scores, notes with their PHI in colour, and who proposed each span.

    note = NoteView(document, decisions, has_gold=True)
    write_page(Path("page.html"), title="Demo", notes=[note], scores={"crf": report.strict}, facts={"seed": "0"})

The page fetches nothing: style and script are inside, and its content security policy forbids everything else. A note
is cut into pieces: text that was found, missed, proposed but rejected, or plain. Each coloured piece opens a card with
the votes, the stacker's probability, and the overlapping candidates. Everything from notes is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation import Score
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.tools.templates import template
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.writing import new_file

_OTHER = "OTHER"
_COLOURED = ("NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID", _OTHER)
_VERDICTS = {
    "right": "found, as in the gold",
    "partial": "found; the gold span has other boundaries or another label",
    "spurious": "found, but not in the gold",
    "found": "found",
    "missed": "in the gold, but not found",
    "refused": "proposed, but rejected by the stacker",
}


@dataclass(frozen=True, slots=True)
class NoteView:
    """One note to show.

    :param document: with its gold spans, if it has any; found spans are in the decisions.
    :param decisions: on every pooled candidate of the note.
    :param has_gold: whether the document's spans are gold, to mark found spans as right or wrong.
    """

    document: Document = field(repr=False)
    decisions: Sequence[Decision] = field(repr=False)
    has_gold: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """A decision or a missed gold span, with all that its card shows."""

    key: str
    kind: str
    span: Span
    category: str
    quote: str
    verdict: str
    decision: Decision | None
    rivals: tuple[Decision, ...]
    gold: tuple[Span, ...]


def write_page(
    path: Path,
    *,
    title: str,
    notes: Sequence[NoteView],
    scores: Mapping[str, Score] | None = None,
    types: Mapping[str, Score] | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write the page; an older one is replaced. The category of a label in any label set that ships gives its colour.

    :param scores: the scores of each submodel and the stack, by name.
    :param facts: short lines about the run, for example seed and versions.
    :raises StorageError: if the file cannot be written.
    """
    sets = map(LabelSet.named, LabelSet.names())
    categories = {
        label: category for labels in sets for label, category in labels.categories.items() if category in _COLOURED
    }
    views = [_note(note, number, categories) for number, note in enumerate(notes, start=1)]
    scores = scores or {}
    content = template("phistack.ensemble.views", "page_template.html").render(
        title=title,
        scores=scores,
        best=max((row.f1.value for row in scores.values()), default=0.0),
        types=types or {},
        facts=facts or {},
        notes=views,
        categories=[c for c in _COLOURED if any(mark.category == c for note in views for mark in note["marks"])],
        refused=any(note["counts"]["refused"] for note in views),
        sources=_sources(scores, notes),
    )
    with new_file(path, replace=True) as part:
        part.write_text(content, encoding="utf-8", errors="replace")


def _sources(scores: Iterable[str], notes: Sequence[NoteView]) -> list[str]:
    """The submodels with any vote, in the order of the scores; those without a score are last."""
    order = list(scores)
    voted = dict.fromkeys(v.source for note in notes for decision in note.decisions for v in decision.votes)
    return sorted(voted, key=lambda source: order.index(source) if source in order else len(order))


def _note(note: NoteView, number: int, categories: Mapping[str, str]) -> dict[str, Any]:
    """A note as the template shows it: its text in marked pieces, and how many marks of each kind it has."""
    marks = list(_marks(note, number, categories))
    return {
        "key": f"n{number}",
        "id": note.document.id,
        "group": note.document.group,
        "has_gold": note.has_gold,
        "pieces": list(_pieces(note.document.text, marks)),
        "marks": marks,
        "counts": {kind: sum(mark.kind == kind for mark in marks) for kind in _VERDICTS},
    }


def _marks(note: NoteView, number: int, categories: Mapping[str, str]) -> Iterator[_Mark]:
    """Every decision and every missed gold span; where they overlap, earlier ones hide later ones."""
    gold = sorted(set(note.document.spans)) if note.has_gold else []
    for index, (kind, span, decision) in enumerate(_ordered(note, gold)):
        yield _Mark(
            f"n{number}-{index}",
            kind,
            span,
            categories.get(span.label, _OTHER),
            note.document.text[span.start : span.end],
            _VERDICTS[kind],
            decision,
            tuple(other for other in note.decisions if other is not decision and other.span.overlaps(span)),
            tuple(other for other in gold if other != span and other.overlaps(span)),
        )


def _ordered(note: NoteView, gold: Sequence[Span]) -> Iterator[tuple[str, Span, Decision | None]]:
    """Accepted decisions, missed gold spans, then other refused decisions, each as kind, span and decision."""
    accepted = {decision.span: decision for decision in note.decisions if decision.accepted}
    refused = {decision.span: decision for decision in note.decisions if not decision.accepted}
    for span, decision in accepted.items():
        yield _kind(span, gold, note.has_gold), span, decision
    for span in gold:
        if span not in accepted:
            yield "missed", span, refused.get(span)
    for span, decision in refused.items():
        if span not in gold:
            yield "refused", span, decision


def _kind(span: Span, gold: Sequence[Span], has_gold: bool) -> str:
    """How an accepted span compares with the gold."""
    if not has_gold:
        return "found"
    if span in gold:
        return "right"
    return "partial" if any(span.overlaps(other) for other in gold) else "spurious"


def _pieces(text: str, marks: Sequence[_Mark]) -> Iterator[tuple[str, _Mark | None]]:
    """The text, cut wherever the foremost mark changes; the pieces' texts join to the whole text."""
    cuts = sorted({0, len(text)} | {offset for mark in marks for offset in (mark.span.start, mark.span.end)})
    start, current = 0, _foremost(marks, 0)
    for cut, _ in pairwise(cuts):
        mark = _foremost(marks, cut)
        if mark is not current:
            yield text[start:cut], current
            start, current = cut, mark
    yield text[start:], current


def _foremost(marks: Sequence[_Mark], offset: int) -> _Mark | None:
    return next((mark for mark in marks if mark.span.start <= offset < mark.span.end), None)
