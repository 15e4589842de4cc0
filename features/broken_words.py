"""Words and numbers broken by a hyphen at a line end, or by white space that is not typed.

    list(broken_words("Birch-\\nwood"))       Edit(5, 7, "")

    Birch-\\nwood            Birchwood
    Smith-\\nJones           Smith-Jones         before a capital the hyphen is part of the name
    HIV-\\nnegative          HIV-negative        as it is after an abbreviation
    617-555-\\n0123          617-555-0123        and beside a digit
    follow-\\nup             follow-up           where the note has `follow-up` elsewhere, otherwise followup
    Ein- und Ausgang, Ein-\\nund Ausgang, Plan-\\nContinue, Plan-\\n1. rest       unchanged

    list(odd_blanks("Birch\\vwood"))          Edit(5, 6, "")
    list(odd_blanks("A\\vn\\vn Lee\\v4"))       Edit(1, 2, ""), Edit(3, 4, "")
    list(odd_blanks("617\\v555"))            Edit(3, 4, " ")
    list(odd_blanks("Pain.\\vRest\\vice"))     nothing: here it ends lines

Odd blanks are vertical tabs, C1 controls, field separators and braille blanks. A text in which one of them is beside
anything but letters and digits uses them as line ends or blanks: there, a C1 control is read as a line end and a
braille blank as a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phistack.features.rewriting import Edit

_BREAK = re.compile(r"(?<=[^\W_])[-¬][ \t]{0,40}(?:\r\n?|\n)[ \t]{0,40}(?=[^\W_])")
_WORD = re.compile(r"[^\W_]+")
_WORD_AT_END = re.compile(r"[^\W_]+\Z")
_LONGEST_WORD = 60
_LONGEST_HEADING = 200
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+-[^\W_]+")
_LIST_ITEM = re.compile(r"\d{1,2}[.)]\s")
_CONJUNCTIONS = frozenset("and or to und oder bzw bis sowie en of och eller samt og".split())
"""What follows a suspended hyphen, in English, German, Dutch, Swedish and Norwegian."""


def broken_words(text: str) -> Iterator[Edit]:
    """Join words and numbers that are broken over a line end: leave out the line end, with or without its hyphen."""
    compounds: frozenset[str] | None = None
    position = -1
    for match in _BREAK.finditer(text):
        start, end = match.span()
        before = _WORD_AT_END.search(text, max(0, start - _LONGEST_WORD), start)
        after = _WORD.match(text, end)
        if before is None or after is None or _is_kept(text, before, after, position):
            continue
        if compounds is None:
            compounds = frozenset(word.lower() for word in _COMPOUND.findall(text))
        keeps_hyphen = match[0][0] == "-" and (
            _is_real(before[0], after[0]) or f"{before[0]}-{after[0]}".lower() in compounds
        )
        yield Edit(start + keeps_hyphen, end, "")
        position = end


def _is_kept(text: str, before: re.Match[str], after: re.Match[str], position: int) -> bool:
    """Whether the line ends there.

    :param position: where the last joined word continues, or -1.
    """
    first = after[0][0]
    if first.isdecimal():
        return not before[0][-1].isdecimal() and _LIST_ITEM.match(text, after.start()) is not None
    if after[0].lower() in _CONJUNCTIONS or not (first.isupper() or first.islower()):
        return True
    if not before[0][-1].isalpha():
        return False
    window = max(0, before.start() - _LONGEST_HEADING)
    line = max(text.rfind("\n", window, before.start()) + 1, text.rfind("\r", window, before.start()) + 1, window)
    is_one_word = line > position and _WORD.search(text, line, before.start()) is None
    return (first.isupper() and (is_one_word or not before[0][0].isupper())) or (is_one_word and before[0].islower())


def _is_real(before: str, after: str) -> bool:
    """Whether the hyphen belongs to the word or number."""
    if not (before[-1].isalpha() and after[0].isalpha()):
        return True
    return after[0].isupper() or (len(before) > 1 and before.isupper())


ODD_BLANKS = "\v\x1c-\x1f\x85\u2800"
"""White space that is not typed, as the inside of a character class of a regular expression."""

_ELSEWHERE = {"\x85": "\n", "\u2800": " "}

_ODD = re.compile(f"[{ODD_BLANKS}]")
_INSIDE = re.compile(f"(?<=[^\\W_])[{ODD_BLANKS}](?=[^\\W_])")
_STRETCH = re.compile(f"(?<![^\\s\u2800])[^\\s\u2800]+(?:[{ODD_BLANKS}][^\\s\u2800]+)+")
_SPACED_OUT = re.compile(f"(?<![^\\W_])[^\\W_]([{ODD_BLANKS}])[^\\W_](?:\\1[^\\W_]){{2,}}(?![^\\W_])")
_DIGIT_SIGN = re.compile(r"(?<=\w)[-/.](?=\w)")


def odd_blanks(text: str) -> Iterator[Edit]:
    """Leave out odd blanks inside words; read others as blanks or line ends."""
    inside = _inside_words(text) if len(_INSIDE.findall(text)) == len(_ODD.findall(text)) else {}
    for match in _ODD.finditer(text):
        read = inside.get(match.start(), _ELSEWHERE.get(match[0], match[0]))
        if read != match[0]:
            yield Edit(*match.span(), read)


def _inside_words(text: str) -> dict[int, str]:
    """Place of an odd blank between letters or digits -> what it is read as."""
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
