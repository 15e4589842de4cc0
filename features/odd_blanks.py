"""White space that is not typed, used inside words: vertical tabs, C1 controls, separators of fields, braille blanks.

    list(odd_blanks("Birch\\vwood"))          Edit(5, 6, "")
    list(odd_blanks("A\\vn\\vn Lee\\v4"))       Edit(1, 2, ""), Edit(3, 4, "")
    list(odd_blanks("617\\v555"))            Edit(3, 4, " ")
    list(odd_blanks("Pain.\\vRest\\vice"))     nothing: here it ends lines

A text in which one of them is beside anything but letters and digits uses them as line ends or blanks: a C1 control is
read as a line end there, a braille blank as a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phistack.features.rewriting import Edit

ODD_BLANKS = "\v\x1c-\x1f\x85\u2800"
"""As the inside of a class of a regular expression."""

_ELSEWHERE = {"\x85": "\n", "\u2800": " "}

_ODD = re.compile(f"[{ODD_BLANKS}]")
_INSIDE = re.compile(f"(?<=[^\\W_])[{ODD_BLANKS}](?=[^\\W_])")
_STRETCH = re.compile(f"(?<![^\\s\u2800])[^\\s\u2800]+(?:[{ODD_BLANKS}][^\\s\u2800]+)+")
_SPACED_OUT = re.compile(f"(?<![^\\W_])[^\\W_]([{ODD_BLANKS}])[^\\W_](?:\\1[^\\W_]){{2,}}(?![^\\W_])")
_DIGIT_SIGN = re.compile(r"(?<=\w)[-/.](?=\w)")


def odd_blanks(text: str) -> Iterator[Edit]:
    """Those inside words are left out, those between numbers are blanks, others are blanks or line ends."""
    inside = _inside_words(text) if len(_INSIDE.findall(text)) == len(_ODD.findall(text)) else {}
    for match in _ODD.finditer(text):
        read = inside.get(match.start(), _ELSEWHERE.get(match[0], match[0]))
        if read != match[0]:
            yield Edit(*match.span(), read)


def _inside_words(text: str) -> dict[int, str]:
    """As what those are read that are between letters or digits."""
    read: dict[int, str] = {}
    for stretch in _STRETCH.finditer(text):
        written = stretch[0]
        spaced_out = {i for match in _SPACED_OUT.finditer(written) for i in range(*match.span())}
        is_joined = _DIGIT_SIGN.search(written) is not None
        for match in _INSIDE.finditer(written):
            at = match.start()
            before, after = written[at - 1], written[at + 1]
            if before.islower() and after.isupper():
                continue
            if at in spaced_out or (before.isalpha() and after.islower()):
                read[stretch.start() + at] = ""
            elif before.isdecimal() and after.isdecimal():
                read[stretch.start() + at] = "" if is_joined else " "
    return read
