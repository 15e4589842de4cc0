"""Text with its PHI taken out.

    redact(document)      "Seen by [DOCTOR] on [DATE]."

Everything outside the spans stays as it is, code point for code point. Overlapping spans are taken out as one stretch,
so that no part of any of them can remain.
"""

from __future__ import annotations

from features.documents import Document

__all__ = ["redact"]


def redact(document: Document) -> str:
    """The document's text with every span replaced by its label in brackets.

    Spans that overlap are replaced together, by the label of the first and longest.
    """
    pieces: list[str] = []
    position = 0
    for span in sorted(document.spans, key=lambda span: (span.start, -span.end)):
        if span.start >= position:
            pieces.append(document.text[position : span.start])
            pieces.append(f"[{span.label}]")
        position = max(position, span.end)
    return "".join([*pieces, document.text[position:]])
