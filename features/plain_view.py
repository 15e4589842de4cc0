"""A note as the engine reads it: without characters that nobody sees, each other character written in one way.

    view = plain_view(Document("n1", "Dr. <ZWJ>An<ZWJ>selm"))      where <ZWJ> is a zero-width joiner, U+200D
    view.document.text                                             "Dr. Anselm"
    view.in_note(Span(4, 10, "DOCTOR"))                            Span(4, 12, "DOCTOR"), in the note itself
    plain_view(Document("n2", "Dr. Anselm")).document              the very same document, at no cost

Left out are the default-ignorable characters of Unicode (soft hyphens, zero-width and bidirectional marks, variation
selectors, a byte order mark) and control characters that are not white space. Full-width and mathematical letters,
digits of any script, and hyphens and blanks that do not break are read as the plain ones, separators of lines and
paragraphs as line ends, and a letter with combining accents as the one character for it, where Unicode has one. This is
much less than NFKC: `º`, `½` and ligatures stay as they are.

Where that is asked for, the markup of HTML is left out before all else (`features.markup`).

An ignorable character belongs to the letter or digit beside it, to the one before it if there are two. So the
characters of a note are shared out among those of its view, without gap or overlap, and spans of the view become spans
of the note that are never empty and overlap only if they did in the view.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from phistack.features.documents import Document, Span
from phistack.features.markup import WithoutMarkup, without_markup

IGNORABLE = (
    # Control characters, of category Cc, that are not white space.
    "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    # Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Marks around annotations between lines, of category Cf.
    "\ufff9-\ufffb"
)
"""What a note is read without, as the inside of a class of a regular expression."""

_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_LINE_ENDS = "\u0085\u2028\u2029"
_HYPHENS = "\u2010\u2011"
_ONE_FOR_ONE = f"[{_BLANKS}{_LINE_ENDS}{_HYPHENS}\uff01-\uff5e\U0001d400-\U0001d7ff]|[^\\D0-9]"
_ACCENTS = "\u0300-\u036f"

_IGNORED = re.compile(f"[{IGNORABLE}]+")
_OTHERWISE = re.compile(_ONE_FOR_ONE)
_ACCENTED = re.compile(f"[^{_ACCENTS}][{_ACCENTS}]+")
_ANY = re.compile(f"[{IGNORABLE}{_ACCENTS}]|{_ONE_FOR_ONE}")
_PLAIN_LATIN = bytes(code for code in range(256) if not _ANY.match(chr(code)))
"""The characters of Latin-1 that are read as they are."""

_Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlainView:
    """A note as it is read, and where its characters are in the note as it was written.

    :param document: what the engine reads: text and spans of the view.
    :param places: where each character of the view is in the note, `(n,)`; nothing if view and note are the same.
    :param bounds: where the share of each character begins, then the length of the note, `(n + 1,)`.
    :param markup: the note without the markup of HTML, of which this then is the view; nothing if it was not sought or
        there is none.
    """

    document: Document
    places: _Offsets | None = field(default=None, repr=False)
    bounds: _Offsets | None = field(default=None, repr=False)
    markup: WithoutMarkup | None = field(default=None, repr=False)

    @property
    def is_note(self) -> bool:
        """Whether view and note are the same."""
        return self.bounds is None and self.markup is None

    def in_note(self, span: Span) -> Span:
        """A span of the view as one of the note, with the ignorable characters that belong to its characters."""
        return span if self.is_note else Span(*self.place(span.start, span.end), span.label)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Begin and end in the note of a stretch of the view."""
        if self.bounds is not None:
            start, end = int(self.bounds[start]), int(self.bounds[end])
        return (start, end) if self.markup is None or start == end else self.markup.place(start, end)


def plain_view(document: Document, *, html: bool = False, encoded: bool = False) -> PlainView:
    """The view of a note; its spans come along, but for those of nothing but ignorable characters.

    :param html: whether the markup of HTML is left out too; see `features.markup`.
    :param encoded: whether, besides, characters that are written as their bytes are read.
    """
    markup = without_markup(document.text, encoded=encoded) if html else None
    if markup is None:
        return _view(document)
    spans = (_in_view(span, markup.starts) for span in document.spans)
    read = replace(document, text=markup.text, spans=tuple(span for span in spans if span is not None))
    return replace(_view(read), markup=markup)


def _view(document: Document) -> PlainView:
    """The view of a note without markup."""
    if not _has_any(document.text):
        return PlainView(document)
    text, places, ends = _read(document.text)
    if text == document.text:
        return PlainView(document)
    spans = (_in_view(span, places) for span in document.spans)
    view = replace(document, text=text, spans=tuple(span for span in spans if span is not None))
    return PlainView(view, places, _bounds(text, places, ends, len(document.text)))


def plain_text(text: str, *, html: bool = False) -> str:
    """A text as the engine reads it."""
    markup = without_markup(text) if html else None
    text = text if markup is None else markup.text
    return _read(text)[0] if _has_any(text) else text


def _has_any(text: str) -> bool:
    try:
        others = text.encode("latin-1").translate(None, _PLAIN_LATIN)
    except UnicodeEncodeError:
        # The distinct characters are few, and found faster than any of them.
        return bool(_ANY.search("".join(set(text))))
    return bool(others)


def _read(text: str) -> tuple[str, _Offsets, _Offsets]:
    """The view of a text, and where the part of the text behind each of its characters begins and ends."""
    ignored = [i for match in _IGNORED.finditer(text) for i in range(*match.span())]
    places = np.delete(np.arange(len(text), dtype=np.int64), ignored)
    plain = _OTHERWISE.sub(_plainly, _IGNORED.sub("", text))
    return _composed(plain, places)


def _plainly(match: re.Match[str]) -> str:
    """One character for one."""
    character = match[0]
    if character in _LINE_ENDS:
        return "\n"
    if character in _HYPHENS:
        return "-"
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", character) if character > "\u3000" else " "


def _composed(text: str, places: _Offsets) -> tuple[str, _Offsets, _Offsets]:
    """Letters with accents as one character, where there is one for them; see `_read`."""
    ends = places + 1
    pieces: list[str] = []
    swallowed: list[int] = []
    position = 0
    for match in _ACCENTED.finditer(text):
        composed = unicodedata.normalize("NFC", match[0])
        start, after = match.start() + 1, match.end() - len(composed) + 1
        if start < after:
            pieces += (text[position : match.start()], composed)
            position = match.end()
            swallowed += range(start, after)
            ends[start - 1] = ends[after - 1]
    return "".join([*pieces, text[position:]]), np.delete(places, swallowed), np.delete(ends, swallowed)


def _bounds(text: str, places: _Offsets, ends: _Offsets, length: int) -> _Offsets:
    """Where the share of each character begins, then the length of the note."""
    bounds = np.append(places, length)
    bounds[0] = 0 if text else length
    for i in (np.flatnonzero(ends[:-1] < places[1:]) + 1).tolist():
        before, after = text[i - 1], text[i]
        if not before.isalnum() and (after.isalnum() or before.isspace()):
            bounds[i] = ends[i - 1]
    return bounds


def _in_view(span: Span, places: _Offsets) -> Span | None:
    start, end = (int(place) for place in np.searchsorted(places, (span.start, span.end)))
    return Span(start, end, span.label) if start < end else None
