"""Spans as one tag per token, and back.

    BIO      Ann Lee saw Bo     B-PATIENT I-PATIENT O B-DOCTOR
    BIOES    Ann Lee saw Bo     B-PATIENT E-PATIENT O S-DOCTOR

Decoding is lenient, as in Trienes 2020 and the CoNLL scorer: an inside tag that continues nothing begins a span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from phistack.features.documents import Span
from phistack.features.tokens import TokenOffsets

OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Scheme:
    """The prefixes of a tagging scheme.

    :param begin: the first of several tokens.
    :param inside: a token between the first and the last.
    :param end: the last of several tokens.
    :param single: the only token.
    """

    begin: str
    inside: str
    end: str
    single: str

    def prefixes(self, n_tokens: int) -> list[str]:
        """The prefixes of a span of `n_tokens` tokens."""
        return [self.begin, *[self.inside] * (n_tokens - 2), self.end] if n_tokens > 1 else [self.single]

    def opens(self, prefix: str) -> bool:
        """Whether a tag with this prefix begins a span."""
        return prefix in (self.begin, self.single)

    def closes(self, prefix: str) -> bool:
        """Whether a tag with this prefix is always the last of its span."""
        return self.end != self.inside and prefix in (self.end, self.single)


SCHEMES = {"BIO": Scheme("B", "I", "I", "B"), "BIOES": Scheme("B", "I", "E", "S")}


def encode(
    spans: Iterable[Span], offsets: TokenOffsets, *, scheme: str = "BIO", counts: Counter[str] | None = None
) -> list[str]:
    """One tag per token.

    A span whose ends are not token boundaries covers all tokens that it touches. Of overlapping spans the longest is
    tagged, then the first. What tags cannot express is counted in `counts` under `"spans off the token grid"`,
    `"overlapping spans"` and `"spans without a token"`.

    :param offsets: starts and ends of the tokens, each of shape `(n_tokens,)`.
    :returns: tags of shape `(n_tokens,)`.
    """
    starts, ends = offsets
    table = SCHEMES[scheme]
    tags = [OUTSIDE] * len(starts)
    counts = Counter() if counts is None else counts
    ordered = sorted(set(spans), key=lambda s: (s.start - s.end, s))
    # (n_spans,) each: one vectorised look-up of all spans.
    firsts = ends.searchsorted([span.start for span in ordered], side="right").tolist()
    lasts = starts.searchsorted([span.end for span in ordered], side="left").tolist()
    for span, first, last in zip(ordered, firsts, lasts, strict=True):
        if first >= last:
            counts["spans without a token"] += 1
        elif tags[first:last] != [OUTSIDE] * (last - first):
            counts["overlapping spans"] += 1
        else:
            if (starts[first], ends[last - 1]) != (span.start, span.end):
                counts["spans off the token grid"] += 1
            tags[first:last] = [f"{prefix}-{span.label}" for prefix in table.prefixes(last - first)]
    return tags


def decode(tags: Sequence[str], *, scheme: str = "BIO", begins: Collection[int] = ()) -> list[tuple[int, int, str]]:
    """The spans of tags as (first token, token after the last, label), in order.

    :param begins: first tokens of tag sequences; no span crosses them.
    """
    table = SCHEMES[scheme]
    spans: list[tuple[int, int, str]] = []
    open_label, first = "", 0
    # Most tokens are outside; a span ends at the token after it.
    inside = [i for i, tag in enumerate(tags) if tag != OUTSIDE]
    for i in sorted({*inside, *(i + 1 for i in inside)}):
        prefix, _, label = (tags[i] if i < len(tags) else OUTSIDE).partition("-")
        if open_label and (label != open_label or table.opens(prefix) or i in begins):
            spans.append((first, i, open_label))
            open_label = ""
        if label and not open_label:
            open_label, first = label, i
        if label and table.closes(prefix):
            spans.append((first, i + 1, label))
            open_label = ""
    return spans
