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

from phistack.ensemble.deidentification import redact
from phistack.ensemble.evaluation import Score
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.views.templates import template
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
    :param redacted: the redacted text to show, for example with surrogates; without it, found spans are shown as
        `[LABEL]`, in colour.
    """

    document: Document = field(repr=False)
    decisions: Sequence[Decision] = field(repr=False)
    has_gold: bool = False
    redacted: str | None = field(default=None, repr=False)


def note_view(document: Document, decisions: Sequence[Decision], *, has_gold: bool = False) -> NoteView:
    """A note with its decisions and its redacted text."""
    found = document.with_spans(decision.span for decision in decisions if decision.accepted)
    return NoteView(document=document, decisions=decisions, has_gold=has_gold, redacted=redact(found))


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


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a note's text, and its mark."""

    text: str
    mark: _Mark | None


@dataclass(frozen=True, slots=True)
class _PageNote:
    """A note, ready for the template."""

    key: str
    id: str
    group: str
    has_gold: bool
    redacted: str | None
    pieces: tuple[_Piece, ...]
    marks: tuple[_Mark, ...]
    counts: Mapping[str, int]


def write_page(
    path: Path,
    *,
    title: str,
    notes: Sequence[NoteView],
    scores: Mapping[str, Score] | None = None,
    types: Mapping[str, Score] | None = None,
    facts: Mapping[str, str] | None = None,
    label_set: LabelSet | None = None,
) -> None:
    """Write the page; an older one is replaced.

    :param scores: of each submodel and the stack, by its name.
    :param types: those of the stack, by PHI type.
    :param facts: short lines about the run, for example seed and versions.
    :param label_set: gives each label its category, and so its colour; by default all shipped label sets do. A label
        without a category is shown as OTHER.
    :raises StorageError: if the file cannot be written.
    """
    categories = _categories(label_set)
    views = [_note(note, number, categories) for number, note in enumerate(notes, start=1)]
    scores = scores or {}
    content = template("phistack.ensemble.views", "page_template.html").render(
        title=title,
        scores=scores,
        best=max((row.f1.value for row in scores.values()), default=0.0),
        types=types or {},
        facts=facts or {},
        notes=views,
        categories=[c for c in _COLOURED if any(mark.category == c for note in views for mark in note.marks)],
        refused=any(note.counts["refused"] for note in views),
        sources=_sources(scores, notes),
    )
    with new_file(path, replace=True) as part:
        part.write_text(content, encoding="utf-8", errors="replace")


def _sources(scores: Iterable[str], notes: Sequence[NoteView]) -> list[str]:
    """The submodels with any vote, in the order of the scores; those without a score are last."""
    order = list(scores)
    voted = dict.fromkeys(v.source for note in notes for decision in note.decisions for v in decision.votes)
    return sorted(voted, key=lambda source: order.index(source) if source in order else len(order))


def _note(note: NoteView, number: int, categories: Mapping[str, str]) -> _PageNote:
    """Cut a note into marked pieces."""
    found = note.document.with_spans(decision.span for decision in note.decisions if decision.accepted)
    marks = tuple(_marks(note, number, categories))
    return _PageNote(
        f"n{number}",
        note.document.id,
        note.document.group,
        note.has_gold,
        None if note.redacted == redact(found) else note.redacted,
        tuple(_pieces(note.document.text, marks)),
        marks,
        {kind: sum(mark.kind == kind for mark in marks) for kind in _VERDICTS},
    )


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


def _categories(label_set: LabelSet | None) -> dict[str, str]:
    """Label -> category, where the category has a colour."""
    sets = [label_set] if label_set else [LabelSet.named(name) for name in LabelSet.names()]
    labels = (item for labels in sets for item in labels.categories.items())
    return {label: category for label, category in labels if category in _COLOURED}


def _pieces(text: str, marks: Sequence[_Mark]) -> Iterator[_Piece]:
    """The text, cut wherever the foremost mark changes; the pieces' texts join to the whole text."""
    cuts = sorted({0, len(text)} | {offset for mark in marks for offset in (mark.span.start, mark.span.end)})
    start, current = 0, _foremost(marks, 0)
    for cut, _ in pairwise(cuts):
        mark = _foremost(marks, cut)
        if mark is not current:
            yield _Piece(text[start:cut], current)
            start, current = cut, mark
    yield _Piece(text[start:], current)


def _foremost(marks: Sequence[_Mark], offset: int) -> _Mark | None:
    """The first of the marks that covers a character."""
    return next((mark for mark in marks if mark.span.start <= offset < mark.span.end), None)
