"""HTML in a text: tags and character references.

    list(tags("<p>Dr. An<b>selm</b>"))             Edit(0, 3, "\\n"), Edit(9, 12, ""), Edit(16, 20, "")
    list(references("617&ndash;555 &amp; co"))     Edit(3, 10, "–"), Edit(14, 19, "&")

A tag is left out; one that ends a line or a cell is read as a line end or a blank (between digits as a blank), and a
character reference as its character. Only what cannot hide PHI is left out: standard HTML tags without attributes, or
with layout attributes only. A link with an address, a comment, a script or a picture with a caption is read as text,
and `BP <90` or `<ann@example.org>` is no tag. A tag that must be closed counts only in a text with its start tag and
its end tag.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from phistack.features.rewriting import Edit

_LINES = (
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol p pre section table tbody tfoot thead title tr ul"
)
_CELLS = "td th option"
_INLINE = (
    "a abbr b bdi bdo big cite code colgroup col data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
_NEED_NO_END = frozenset("br col dd dt hr li option p td th tr wbr".split())
_LAYOUT = (
    "align bgcolor border cellpadding cellspacing class clear color colspan dir face height lang noshade nowrap "
    "rowspan size style valign width"
)
_READ_AS: dict[str | None, str] = {
    **dict.fromkeys(_LINES.split(), "\n"),
    **dict.fromkeys(_CELLS.split(), " "),
    **dict.fromkeys(_INLINE.split(), ""),
    None: "",
}
_VALUE = r"""(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[\w#%.-]{1,40})"""
_ATTRIBUTE = rf"\s+(?:{'|'.join(_LAYOUT.split())})(?:\s*=\s*{_VALUE})?"
_NAME = "|".join(sorted(filter(None, _READ_AS), key=len, reverse=True))
_TAG = re.compile(rf"<(?:/?(?P<tag>{_NAME})(?:{_ATTRIBUTE}){{0,12}}\s*/?|!--\s{{0,9}}--)>", re.IGNORECASE)
_BEGIN = re.compile(rf"<(?P<end>/?)(?P<tag>{_NAME})[\s/>]", re.IGNORECASE)
# `&amp;nbsp;` was escaped twice.
_REFERENCE = re.compile(r"&(?:amp;){0,3}(?P<of>(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)", re.IGNORECASE)


def tags(text: str, *, certain: bool = False) -> Iterator[Edit]:
    """The tags of a text.

    :param certain: whether the text is known to be HTML, so that tags need no partner.
    """
    found = list(_TAG.finditer(text))
    paired = frozenset[str]() if certain or not found else _paired(text)
    for match in found:
        name = match["tag"] and match["tag"].lower()
        if certain or name is None or name in _NEED_NO_END or name in paired:
            yield Edit(*match.span(), " " if _is_in_number(match) and _READ_AS[name] else _READ_AS[name])


def _is_in_number(match: re.Match[str]) -> bool:
    start, end = match.span()
    return match.string[max(0, start - 1) : start].isdecimal() and match.string[end : end + 1].isdecimal()


def _paired(text: str) -> frozenset[str]:
    """The names that have a start tag and an end tag."""
    names: dict[str, set[str]] = {"": set(), "/": set()}
    for match in _BEGIN.finditer(text):
        names[match["end"]].add(match["tag"].lower())
    return frozenset(names[""] & names["/"])


def references(text: str) -> Iterator[Edit]:
    """The character references that mean one character."""
    for match in _REFERENCE.finditer(text):
        character = html.unescape("&" + match["of"])
        if len(character) <= 1:
            yield Edit(*match.span(), character)
