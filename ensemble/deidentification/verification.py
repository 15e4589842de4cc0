"""What replaced the PHI of a note, and the proof that nothing else changed.

Replacement(Span(12, 17, "DOCTOR"), 12, 20, "tag")     one stretch of PHI, and where in the output what replaced it is
verify(document, result)                               raises unless every character outside the spans is unchanged
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from phistack.ensemble.deidentification.policy import KEYED
from phistack.features.documents import Document, Span
from phistack.features.errors import VerificationError
from phistack.features.letters import normalised
from phistack.features.plain_view import plain_text
from phistack.features.ranges import covering, ranges_of
from phistack.features.shown import shown_id


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of one stretch of PHI.

    :param span: the stretch in the note, with the label that decided; overlapping spans are one stretch.
    :param start_in_output: offset of its first character in the new text, in code points.
    :param end_in_output: offset after its last; equal to the first where it was removed.
    :param strategy: what was done; `tag` if a surrogate was asked for and none could be made.
    """

    span: Span
    start_in_output: int
    end_in_output: int
    strategy: str


@dataclass(frozen=True, slots=True)
class Deidentified:
    """A note without its PHI.

    :param unresolved: the stretches that were tagged because their own strategy could do nothing with them.
    """

    text: str = field(repr=False)
    replacements: tuple[Replacement, ...]
    unresolved: tuple[Span, ...] = ()

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each label was treated by each strategy."""
        return Counter((replacement.span.label, replacement.strategy) for replacement in self.replacements)

    def changes(self, text: str) -> Iterator[tuple[Span, str]]:
        """Each stretch that changed, with its old text; a year that the policy keeps has not changed."""
        for replacement in self.replacements:
            old = text[replacement.span.start : replacement.span.end]
            if old != self.text[replacement.start_in_output : replacement.end_in_output]:
                yield replacement.span, old


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def verify(document: Document, result: Deidentified, spans: Iterable[Span] = ()) -> None:
    """Prove from the offsets that nothing outside the replacements changed, and that nothing inside was left.

    :param spans: the PHI that was asked for; every one must lie in a replacement.
    :raises VerificationError: naming the document and the offset at which the proof fails.
    """
    position = position_in_output = 0
    for replacement in result.replacements:
        span = replacement.span
        before = document.text[position : span.start]
        if span.start < position or before != result.text[position_in_output : replacement.start_in_output]:
            raise _failure(document, position, "the text before the next replacement was changed")
        new = result.text[replacement.start_in_output : replacement.end_in_output]
        if not _carried_out(replacement, document.text[span.start : span.end], new):
            raise _failure(document, span.start, f"the strategy {replacement.strategy} was not applied")
        position, position_in_output = span.end, replacement.end_in_output
    if document.text[position:] != result.text[position_in_output:]:
        raise _failure(document, position, "the text after the last replacement was changed")
    is_replaced = covering(ranges_of(replacement.span for replacement in result.replacements))
    for span in spans:
        if not is_replaced(span.start, span.end):
            raise _failure(document, span.start, "a span was not replaced")


def _carried_out(replacement: Replacement, old: str, new: str) -> bool:
    label = re.escape(replacement.span.label)
    checks = {
        "keep": new == old,
        "tag": new == tag(replacement.span.label),
        "name": new == replacement.span.label,
        "numbered": re.fullmatch(rf"{label} \d+", new) is not None,
        "number": re.fullmatch(rf"\[{label}-\d+\]", new) is not None,
        "mask": new == "*" * len(old),
        "remove": new == "",
        **dict.fromkeys(KEYED, new != "" and normalised(new) != normalised(plain_text(old))),
        "substitute": new != "",
        "generalise": new != "",
    }
    return checks.get(replacement.strategy, False)


def _failure(document: Document, offset: int, reason: str) -> VerificationError:
    return VerificationError(f"document {shown_id(document.id)}, offset {offset}: {reason}; do not use its output")
