"""The notes themselves: templates filled and made noisy, by language, number and seed.

notes = invented("en", 400, seed=0)                 40 of each kind, half of them with noise
notes[0].document.spans                             identifiers, with labels of the language's label set
corpus_of(notes, "en")                              the same as a corpus
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.hospital_notes.noise import NOISE, noisy
from benchmarks.hospital_notes.templates import Mention, filled, templates, world
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet


@dataclass(frozen=True)
class HospitalNote:
    """A note, the kind of its template, its noise, and what each identifier is."""

    id: str
    text: str
    mentions: tuple[Mention, ...]
    kind: str
    noise: str

    @cached_property
    def document(self) -> Document:
        """The note with its spans."""
        return Document(self.id, self.text, tuple(mention.span for mention in self.mentions))


def invented(
    language: str, number: int, *, seed: int = 0, noise: Sequence[str] = (), templates_a_kind: int | None = None,
    hand: str = "second",
) -> list[HospitalNote]:  # fmt: skip
    """Make notes; the kinds alternate, and each uses its templates in turn.

    :param noise: the kinds that take turns, keys of `NOISE`; all in every second note, if empty.
    :param templates_a_kind: make notes of one hospital, with so many templates of each kind, drawn by the seed.
    :param hand: the set, a key of `SETS`.
    """
    kinds: dict[str, list[int]] = {}
    for at, template in enumerate(templates(language, hand)):
        kinds.setdefault(template.kind, []).append(at)
    if templates_a_kind is not None:
        drawn = random.Random(f"hospital/{seed}/{language}")
        kinds = {kind: drawn.sample(places, templates_a_kind) for kind, places in kinds.items()}
    names = list(kinds)
    turns = noise or [name for kind in list(NOISE)[1:] for name in ("none", kind)]
    lower = world(language, hand).get("lower", ())
    made = []
    for at in range(number):
        kind, nth = names[at % len(names)], at // len(names)
        rng = random.Random(f"hospital notes/{seed}/{language}/{at}")
        template = templates(language, hand)[kinds[kind][nth % len(kinds[kind])]]
        text, mentions = filled(template, language, rng, hand)
        # One step further each time a kind is through its templates, so each template gets different noise.
        how = turns[(nth + at % len(names) + nth // len(kinds[kind])) % len(turns)]
        for step in ("lower", how) if kind in lower else (how,):
            text, mentions = noisy(text, mentions, step, rng)
        made.append(HospitalNote(f"{language}-{kind}-{at:05d}", text, tuple(mentions), kind, how))
    return made


def corpus_of(notes: Iterable[HospitalNote], language: str) -> Corpus:
    """The notes as a corpus in the label set of the language."""
    return Corpus(tuple(note.document for note in notes), LabelSet.named(world(language)["label_set"]))


def inside(text: str, span: Span) -> str:
    """The line of a span, with the span in brackets."""
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    line = f"{text[start : span.start]}[[{text[span.start : span.end]}]]{text[span.end : end if end >= 0 else None]}"
    return " ".join(line.split())
