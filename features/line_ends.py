"""Words and numbers that are broken over a line end by a hyphen, and how they are read.

Birch-\\nwood            Birchwood
Smith-\\nJones           Smith-Jones         before a capital the hyphen is part of the name
HIV-\\nnegative          HIV-negative        as it is after an abbreviation
617-555-\\n0123          617-555-0123        and beside a digit
follow-\\nup             follow-up           where the note has `follow-up` elsewhere, otherwise followup
Ein- und Ausgang, Ein-\\nund Ausgang, Plan-\\nContinue, Plan-\\n1. rest       as they are written
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
"""What follows a hyphen that stands for the rest of a word, in English, German, Dutch, Swedish and Norwegian."""


def broken_words(text: str) -> Iterator[Edit]:
    """What is left out so that broken words and numbers are whole: the line end, with or without its hyphen."""
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

    :param position: where the last word began that goes on from the line before.
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
