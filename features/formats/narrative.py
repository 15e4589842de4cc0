"""The text of an XML element with markup in it, as one note, and new text in its place: for FHIR's XHTML and C-CDA.

    narrative = Narrative(etree.fromstring("<div>Seen by <b>Ann</b> Ames<p>Alert.</p></div>"))
    narrative.text            "Seen by |Ann| Ames/Alert.", with U+1680 for the bars and U+2029 for the stroke
    narrative.put(...)        the same with other words

The engine reads U+1680, a rare blank, as a blank, and U+2029 as a line end. A replacement may span the gap between two
pieces of text; the markup then stays but is empty. Attributes that may hold text are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from lxml import etree

_INLINE = frozenset("a abbr b big code content em font i q s small span strike strong sub sup tt u linkHtml".split())
_ATTRIBUTES = frozenset("align border colspan listType rowspan span styleCode valign width".split())
EMPTY = "\u200b"
"""Marks the place of a removed text, so the piece is still read."""

_WITHIN, _BETWEEN = "\u1680", "\u2029"
_GAP = re.compile(f"[{_WITHIN}{_BETWEEN}]")
_NO_TEXT = re.compile(f"[{_WITHIN}{_BETWEEN}{EMPTY}]")


class Narrative:
    """The pieces of text in an element."""

    def __init__(self, element: etree._Element) -> None:
        self._pieces: list[tuple[etree._Element, str]] = []
        self._gaps: list[str] = []
        gap = _WITHIN
        for holder, name in _walked(element):
            if holder is not None:
                self._pieces.append((holder, name))
                self._gaps.append(gap)
            gap = _WITHIN if holder is not None else gap if name in _INLINE else _BETWEEN
        self.text = "".join(gap + text for gap, text in zip(self._gaps, self._texts(), strict=True))[1:]

    def _texts(self) -> list[str]:
        return [_NO_TEXT.sub("", getattr(holder, name)) for holder, name in self._pieces]

    def put(self, new: str) -> None:
        """Write another text; :raises ValueError: if it is unclear which part belongs to which element."""
        old, pieces = self._texts(), _GAP.split(new) if self._pieces else []
        texts = [""] * len(old)
        for _, a, b, c, d in SequenceMatcher(None, old, pieces, autojunk=False).get_opcodes():
            if b - a == d - c:
                texts[a:b] = [piece if piece.strip() else piece + EMPTY for piece in pieces[c:d]]
            elif d - c == 1 and a < b:
                texts[self._place(a, b)] = pieces[c] if pieces[c].strip() else pieces[c] + EMPTY
            else:
                raise ValueError("what is replaced in a narrative goes over the borders of its elements")
        for (holder, name), text in zip(self._pieces, texts, strict=True):
            setattr(holder, name, text)

    def _place(self, first: int, end: int) -> int:
        """The one of some pieces that takes the text of all, so reading gives the same text again."""
        if _BETWEEN not in self._gaps[first + 1 : end] or end == len(self._gaps) or self._gaps[end] == _BETWEEN:
            return first
        if first and self._gaps[first] == _WITHIN:
            raise ValueError("what is replaced in a narrative goes over the borders of its elements")
        return end - 1


def _walked(element: etree._Element) -> Iterator[tuple[Any, str]]:
    """The pieces of text that are not blank, and between them the name of each element that begins or ends."""
    for name in {*map(str, element.keys())} - _ATTRIBUTES:
        del element.attrib[name]
    if (element.text or "").strip():
        yield element, "text"
    for child in element:
        name = etree.QName(child).localname
        yield None, name
        yield from _walked(child)
        yield None, name
        if (child.tail or "").strip():
            yield child, "tail"
