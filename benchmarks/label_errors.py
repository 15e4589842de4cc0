"""placeholder docstring"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from phistack.features.documents import Corpus, Document, Span
from phistack.features.tokens import Tokeniser

DAMAGE = ("dropped", "moved", "changed")
"""What is done to a label, in turn: its span is taken away, begins or ends a token off, or has the label of another."""


class Damaged(NamedTuple):
    """A gold span that was damaged."""

    kind: str
    document: str
    span: Span


def damaged(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, list[Damaged]]:
    """The corpus with a share of its labels damaged, and which they are."""
    rng = random.Random(f"label errors/{seed}")
    every = [(i, span) for i, note in enumerate(corpus.documents) for span in sorted({*note.spans})]
    labels = [span.label for _, span in every]
    spans = [{*note.spans} for note in corpus.documents]
    done: list[Damaged] = []
    for i, span in rng.sample(every, len(every)):
        if len(done) == round(share * len(every)):
            break
        note, kind = corpus.documents[i], DAMAGE[len(done) % len(DAMAGE)]
        new = _damaged(note, span, kind, labels, rng)
        others = spans[i] - {span}
        if new != span and not (new and any(map(new.overlaps, others))):
            spans[i] = others | ({new} if new else set())
            done.append(Damaged(kind, note.id, span))
    return corpus.with_spans([*map(sorted, spans)]), done


def _damaged(note: Document, span: Span, kind: str, labels: Sequence[str], rng: random.Random) -> Span | None:
    if kind == "dropped":
        return None
    if kind == "changed":
        return replace(span, label=rng.choice([label for label in labels if label != span.label]))
    return _moved(note, span, rng)


def _moved(note: Document, span: Span, rng: random.Random) -> Span:
    """The span with its begin or end a token further in or out; itself where the note has no such token."""
    starts, ends = (offsets.tolist() for offsets in Tokeniser("liu")(note.text))
    out = [(s, span.end) for s in starts if s < span.start][-1:] + [(span.start, e) for e in ends if e > span.end][:1]
    within = [(s, span.end) for s in starts if span.start < s < span.end][:1]
    within += [(span.start, e) for e in ends if span.start < e < span.end][-1:]
    start, end = rng.choice(out + within or [(span.start, span.end)])
    return replace(span, start=start, end=end)
