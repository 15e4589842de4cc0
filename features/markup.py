"""A text without the markup of HTML, for engines that read notes from web pages and portals.

    read = without_markup("<p>Dr. An<b>selm</b> &amp; co")
    read.text                "\\nDr. Anselm & co"
    read.starts[5]           7: where its fifth character begins in the text as it was written
    without_markup("Ann%20Hill, M=C3=BCller", encoded=True).text      "Ann Hill, Müller"

A tag is left out, one that ends a line or a cell is read as a line end or a blank, and a character reference as its
character. Only what cannot hide PHI is left out: tags of the HTML standard without attributes, or with attributes of
layout alone. A link with an address, a comment, a script or a picture with a caption stays as it is written, so that it
is read as text, and `BP <90` or `<ann@example.org>` is no tag.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_LINES = (
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol p pre section table tbody tfoot thead title tr ul"
)
_CELLS = "td th option"
_INLINE = (
    "a abbr b bdi bdo big cite code colgroup col data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
_LAYOUT = (
    "align bgcolor border cellpadding cellspacing class clear color colspan dir face height lang noshade nowrap "
    "rowspan size style valign width"
)
_STANDS_FOR = {
    **dict.fromkeys(_LINES.split(), "\n"),
    **dict.fromkeys(_CELLS.split(), " "),
    **dict.fromkeys(_INLINE.split(), ""),
}
_VALUE = r"""(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[\w#%.-]{1,40})"""
_ATTRIBUTE = rf"\s+(?:{'|'.join(_LAYOUT.split())})(?:\s*=\s*{_VALUE})?"
_MARKUP = re.compile(
    rf"</?(?P<tag>{'|'.join(sorted(_STANDS_FOR, key=len, reverse=True))})(?:{_ATTRIBUTE}){{0,12}}\s*/?>"
    r"|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});",
    re.IGNORECASE,
)

_ENCODED = re.compile(r"=\n|(?:=[0-9A-F]{2})+|(?:%[0-9A-F]{2})+", re.IGNORECASE)
"""Quoted-printable (RFC 2045) and percent-encoding (RFC 3986)."""

_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WithoutMarkup:
    """A text as it is read, and where its characters are in the text as it was written.

    :param starts: where the part behind each character begins, `(n,)`.
    :param ends: where it ends, `(n,)`.
    """

    text: str = field(repr=False)
    starts: _Places
    ends: _Places

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Begin and end in the text as written of a stretch that is not empty; tags at its ends are no part of it."""
        return int(self.starts[start]), int(self.ends[end - 1])


def without_markup(text: str, *, encoded: bool = False) -> WithoutMarkup | None:
    """The text without markup; nothing if it has none.

    :param encoded: whether bytes of UTF-8 in quoted-printable or percent-encoding are read as characters, too.
    """
    pieces: list[str] = []
    starts: list[_Places] = []
    ends: list[_Places] = []
    position = 0
    found = [*_MARKUP.finditer(text)] if "<" in text or "&" in text else []
    if encoded and ("=" in text or "%" in text):
        found = sorted([*found, *_ENCODED.finditer(text)], key=re.Match.start)
    for match in found:
        character = _read(match)
        if character is None or match.start() < position:
            continue
        plain = np.arange(position, match.start(), dtype=np.int64)
        starts += (plain, np.full(len(character), match.start(), dtype=np.int64))
        ends += (plain + 1, np.full(len(character), match.end(), dtype=np.int64))
        pieces += (text[position : match.start()], character)
        position = match.end()
    if not pieces:
        return None
    rest = np.arange(position, len(text), dtype=np.int64)
    return WithoutMarkup(
        "".join([*pieces, text[position:]]), np.concatenate([*starts, rest]), np.concatenate([*ends, rest + 1])
    )


def _read(match: re.Match[str]) -> str | None:
    """What markup is read as; nothing if it is none."""
    if match.re is _ENCODED:
        try:
            return bytes.fromhex(re.sub("[=%\n]", "", match[0])).decode()
        except UnicodeDecodeError:
            return None
    character = _STANDS_FOR[match["tag"].lower()] if match["tag"] else html.unescape(match[0])
    return character if len(character) <= 1 else None
