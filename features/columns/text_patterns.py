"""Columns on request that say whether a token is of what a regular expression finds in the text of a note.

    number_pattern     `date`, `part` or `phone` where a token is of what looks like one, by its figures
    regex_hit          `email`, `url`, `ip` or `digits`, a series of five digits or more

The first is of the CRF of Berg and Dalianis (2019), the second of that of AnonyMate (Adams et al. 2019).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from phistack.features.columns.distinct import Coded
from phistack.features.columns.installed import LayoutColumn
from phistack.features.columns.layout import Layout
from phistack.features.columns.word_columns import NONE

_LooksLike = Sequence[tuple[str, str]]
"""Value -> what it looks like; the first that matches."""

_DAY, _MONTH = "(?:0[1-9]|[12]\\d|3[01])", "(?:0[1-9]|1[0-2])"
_NUMBERS: _LooksLike = (
    ("date", rf"(?<![\d/.-])(?:19|20)\d\d([-/.]?){_MONTH}\1{_DAY}(?![\d/-])"),
    ("date", r"(?<![\d/.-])\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d\d)(?![\d/-])"),
    ("date", rf"(?<![\d/.-])(?:\d\d{_MONTH}{_DAY}|\d{{1,2}}/\d{{1,2}}[ -](?:\d{{4}}|\d\d))(?![\d/-])"),
    ("phone", r"(?<![\w/.])(?:\+\d{1,3}[ -]?)?\(?0?\d{1,4}\)?[-/ ]\d(?:[ -]?\d){4,8}(?![\w/])|(?<!\w)0\d{8,9}(?!\w)"),
    ("part", r"(?<![\d/.,-])(?:0?[1-9]|[12]\d|3[01])[/.](?:0?[1-9]|1[0-2])(?![\d/.,-])"),
)
_ADDRESSES: _LooksLike = (
    ("email", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    ("url", r"(?<!\w)(?:https?://|www\.)[^\s<>\"]{2,2000}"),
    ("ip", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"),
    ("digits", r"(?<!\w)\+?\d(?:[ .()/-]{0,2}\d){4,40}(?!\w)"),
)


def _codes(patterns: _LooksLike, layout: Layout) -> Coded:
    values = [NONE, *dict.fromkeys(value for value, _ in patterns)]
    codes = np.zeros(len(layout), dtype=np.int32)
    first = 0
    for number, text in enumerate(layout.texts):
        starts, ends = layout.offsets(number)
        for value, pattern in reversed(patterns):
            for match in _compiled(pattern).finditer(text):
                begin, end = np.searchsorted(ends, match.start(), "right"), np.searchsorted(starts, match.end(), "left")
                codes[first + begin : first + end] = values.index(value)
        first += len(starts)
    return codes, values


_compiled = cache(re.compile)

NUMBER_PATTERN = LayoutColumn("orthography", partial(_codes, _NUMBERS))
REGEX_HIT = LayoutColumn("orthography", partial(_codes, _ADDRESSES))
