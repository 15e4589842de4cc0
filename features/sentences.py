"""Sentence boundaries over tokens.

A sentence ends with its line. Within a line it ends after `.`, `?` or `!` if white space and a capital or a digit
follow, unless the word before is an abbreviation or a single letter. Abbreviations are those listed here and those
learned from the training notes: words with a full stop inside marked PHI (`Avda. de la Paz`). If the training corpus
marks PHI over line ends, such as addresses, only an empty line ends a sentence. Sentence splitting libraries are made
for prose, not for forms, and need data for each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.tokens import Tokeniser

_ABBREVIATIONS = frozenset(
    "dr dra drs mr mrs ms prof st sr sra sto sta no nº n tel fax av avda avd ave blvd rd c ctra pza pl dpto depto núm "
    "num hosp univ vs approx ca etc eg ie fig ref pt pts jr rev vol ed dept ext apt mt ft dhr mw mevr str nr bzw z hr "
    "fr geb art pág pag izq dcha dpt col km crta cra gral hnos".split()
)
"""Abbreviations of several languages whose full stop seldom ends a sentence."""

_INNER_STOP = re.compile(r"([^\W\d_]+)\.\s+\S")
_STOPS = frozenset(".?!")
_LONGEST = 200


def sentence_starts(
    words: Sequence[str],
    gaps: Sequence[str],
    *,
    split_lines: bool = True,
    abbreviations: frozenset[str] = frozenset(),
) -> Integers32:
    """The index of the first token of each sentence, then the number of tokens: shape `(n_sentences + 1,)`.

    Sentences of more than 200 tokens are cut.

    :param words: the text of the tokens, from `Tokeniser.cut`.
    :param gaps: the white space before each token.
    :param abbreviations: in lower case, in addition to the built-in ones.
    """
    if not words:
        return np.zeros(1, dtype=np.int32)
    breaks_needed = 1 if split_lines else 2
    bounds = [0]
    for i, (gap, mark) in enumerate(zip(gaps[1:], words, strict=False), start=1):
        if gap and (
            (mark in _STOPS and _stops(words, gaps, i, abbreviations))
            or (gap != " " and (gap.count("\n") or gap.count("\r")) >= breaks_needed)
        ):
            bounds.append(i)
    return cut_long([*bounds, len(words)])


def cut_long(bounds: Iterable[int]) -> Integers32:
    """Cut sentences of more than 200 tokens.

    :param bounds: the first token of each sentence, then the number of tokens.
    """
    bounds = list(bounds)
    starts = [start for a, b in pairwise(bounds) for start in range(a, b, _LONGEST)]
    return np.array([*starts, *bounds[-1:]], dtype=np.int32)


def _stops(words: Sequence[str], gaps: Sequence[str], i: int, abbreviations: frozenset[str]) -> bool:
    """Whether token `i`, after a stop and white space, opens a sentence."""
    first = words[i][0]
    if not (first.isupper() or first.isdigit()):
        return False
    if i < 2 or words[i - 1] != "." or gaps[i - 1]:
        return True
    before = words[i - 2].lower()
    ends_word = before.isalpha() or before in ")]}\"'»”’%" or (before.isdigit() and first.isupper())
    return ends_word and not (
        before in _ABBREVIATIONS or before in abbreviations or (len(before) == 1 and before.isalpha())
    )


def learned_abbreviations(marked: Iterable[str]) -> frozenset[str]:
    """The words before a full stop and a blank inside marked PHI, in lower case.

    :param marked: the texts of spans.
    """
    return frozenset(match[1].lower() for text in marked for match in _INNER_STOP.finditer(text))


def count_sentences(text: str) -> int:
    """The number of sentences; 0 for a text without tokens."""
    return len(sentence_starts(*Tokeniser().cut(text))) - 1
