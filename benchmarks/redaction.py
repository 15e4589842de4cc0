"""What an engine and a policy change in notes whose identifiers are marked, whatever these are called.

    found = redaction_on(engine, gold, Policy.named("safe-harbor"))
    found.touched, found.precision, found.clean_changed        in [0, 1]

An identifier is touched if any of it is changed, and covered if all of it is; a changed stretch is right if it touches
an identifier. Labels are not looked at, so that notes of any label set can be measured; where they are the engine's
own, what the policy would leave as it is, such as a bare year, does not count as an identifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.engine import Engine
from phistack.features.documents import Corpus, Document
from phistack.features.ranges import touching

Stretch = tuple[int, int]
"""First character and the one after the last."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Counts over a corpus.

    :param identifiers: that are marked in it.
    :param touched: of them, those of which something is changed.
    :param covered: of them, those of which all is changed.
    :param changed: stretches that are changed.
    :param right: of them, those that touch an identifier.
    :param clean: notes without an identifier.
    :param clean_changed: of them, those in which something is changed.
    """

    identifiers: int = 0
    touched: int = 0
    covered: int = 0
    changed: int = 0
    right: int = 0
    clean: int = 0
    clean_changed: int = 0

    def figures(self) -> dict[str, float]:
        """The shares, each where there is something to count."""
        shares = {
            "identifiers touched": (self.touched, self.identifiers),
            "identifiers covered": (self.covered, self.identifiers),
            "precision": (self.right, self.changed),
            "clean notes changed": (self.clean_changed, self.clean),
        }
        return {name: part / whole for name, (part, whole) in shares.items() if whole}


def redaction_on(engine: Engine, gold: Corpus, policy: Policy) -> Redaction:
    """Annotate notes, apply a policy, and count."""
    counts = [0] * 7
    deidentifier = Deidentifier(policy, engine.label_set, engine.space.settings.language)
    notes = [with_what_must_go(document, deidentifier) for document in gold.documents]
    for document, stretches in zip(notes, changed_stretches(engine, notes, policy), strict=True):
        for at, number in enumerate(_counts(document, stretches)):
            counts[at] += number
    return Redaction(*counts)


def changed_stretches(engine: Engine, documents: Sequence[Document], policy: Policy) -> list[list[Stretch]]:
    """The stretches of each note that a policy changes; what it leaves as it was, such as a bare year, is not one."""
    deidentifier = Deidentifier(policy, engine.label_set, engine.space.settings.language)
    return [_changed(document, deidentifier) for document in engine.annotate(documents)]


def _changed(document: Document, deidentifier: Deidentifier) -> list[Stretch]:
    result = deidentifier.apply(document, document.spans)
    return [
        (r.span.start, r.span.end)
        for r in result.replacements
        if result.text[r.start_in_output : r.end_in_output] != document.text[r.span.start : r.span.end]
    ]


def with_what_must_go(document: Document, deidentifier: Deidentifier) -> Document:
    """The note with the spans that the policy changes, and those whose labels it does not know."""
    goes = touching(_changed(document, deidentifier))
    known = deidentifier.label_set.labels
    return document.with_spans(s for s in document.spans if s.label not in known or goes(s.start, s.end))


def _counts(document: Document, stretches: Sequence[Stretch]) -> tuple[int, ...]:
    is_changed, is_gold = touching(stretches), touching((span.start, span.end) for span in document.spans)
    changed = {at for start, end in stretches for at in range(start, end)}
    clean = not document.spans
    return (
        len(document.spans),
        sum(is_changed(span.start, span.end) for span in document.spans),
        sum(changed.issuperset(range(span.start, span.end)) for span in document.spans),
        len(stretches),
        sum(is_gold(*stretch) for stretch in stretches),
        clean,
        clean and bool(stretches),
    )
