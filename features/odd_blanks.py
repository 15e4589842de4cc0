"""White space that is not typed, used inside words: vertical tabs, C1 controls, separators of fields, braille blanks.

    list(odd_blanks("Birch\\vwood"))          Edit(5, 6, "")
    list(odd_blanks("A\\vn\\vn Lee\\v4"))       Edit(1, 2, ""), Edit(3, 4, "")
    list(odd_blanks("617\\v555"))            Edit(3, 4, " ")
    list(odd_blanks("Pain.\\vRest\\vice"))     nothing: here it ends lines

A text in which one of them is beside anything but letters and digits uses them as line ends or blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phistack.features.rewriting import Edit

BRAILLE_BLANK = "\u2800"
ODD_BLANKS = f"\v\x1c-\x1f\x85{BRAILLE_BLANK}"
"""As the inside of a class of a regular expression."""

_ODD = re.compile(f"[{ODD_BLANKS}]")
_INSIDE = re.compile(f"(?<=[^\\W_])[{ODD_BLANKS}](?=[^\\W_])")
_STRETCH = re.compile(f"[^\\s{BRAILLE_BLANK}]+(?:[{ODD_BLANKS}][^\\s{BRAILLE_BLANK}]+)+")
_SPACED_OUT = re.compile(f"(?<![^\\W_])[^\\W_]([{ODD_BLANKS}])[^\\W_](?:\\1[^\\W_]){{2,}}(?![^\\W_])")
_DIGIT_SIGN = re.compile(r"(?<=\w)[-/.](?=\w)")


def odd_blanks(text: str) -> Iterator[Edit]:
    """Those inside words are left out, those between numbers are blanks."""
    if len(_INSIDE.findall(text)) < len(_ODD.findall(text)):
        return
    for stretch in _STRETCH.finditer(text):
        written = stretch[0]
        spaced_out = {i for match in _SPACED_OUT.finditer(written) for i in range(*match.span())}
        is_joined = _DIGIT_SIGN.search(written) is not None
        for match in _INSIDE.finditer(written):
            at = match.start()
            before, after = written[at - 1], written[at + 1]
            start = stretch.start() + at
            if before.islower() and after.isupper():
                continue
            if at in spaced_out or (before.isalpha() and after.islower()):
                yield Edit(start, start + 1, "")
            elif before.isdecimal() and after.isdecimal():
                yield Edit(start, start + 1, "" if is_joined else " ")
