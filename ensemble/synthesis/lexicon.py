"""Which words training notes may use, and which are kept out of them, so that an engine is measured on unseen ones.

    is_held_out("Okonkwo")                       the same on every machine: a fifth of all words
    part_of(["Okonkwo", "Smith", ...], "train")  without those that are held out
    part_of(["Okonkwo", "Smith", ...], "test")   those alone
    part_of(["Okonkwo", "Smith", ...], "whole")  all
    lists_of("de/words", "", "train")            the lists of a table of templates, each without what is held out

A list of few words is never split: there would be too little to choose from. Neither is held out what notes say anyway.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache

from phistack.ensemble.synthesis.templates import table
from phistack.features.letters import fold

LEXICONS = ("whole", "train", "test")
_ONE_IN, _SMALLEST = 5, 20


def is_held_out(word: str) -> bool:
    """Whether a word or phrase is one of the fifth that training notes do without; case and accents do not count."""
    return hashlib.sha256(fold(word).encode()).digest()[0] % _ONE_IN == 0


def held_out_of(entries: Sequence[str], said: str = "") -> list[str]:
    """Those of a list that training notes do without.

    :param said: text that notes contain in any case, such as all templates; what stands in it cannot be held out.
    """
    if len(entries) < _SMALLEST:
        return []
    said = fold(said)
    return [entry for entry in entries if is_held_out(entry) and not _stands_in(fold(entry), said)]


def part_of(entries: Sequence[str], lexicon: str, said: str = "") -> list[str]:
    """What of a list a lexicon has.

    :param lexicon: one of `LEXICONS`.
    :param said: as in `held_out_of`.
    :returns: in the order of the list; all of it where nothing of it is held out.
    """
    held_out = held_out_of(entries, said) if lexicon != "whole" else []
    if not held_out:
        return list(entries)
    unseen = frozenset(held_out)
    return [entry for entry in entries if (entry in unseen) == (lexicon == "test")]


@cache
def lists_of(name: str, section: str, lexicon: str) -> Mapping[str, Sequence[str]]:
    """The lists of a table, or of a section of it, as a lexicon has them; none where there is no such section.

    :param name: as for `ensemble.synthesis.templates.table`.
    :param section: its key, or empty for the whole table.
    """
    lists = table(name).get(section, {}) if section else table(name)
    return {key: part_of(entries, lexicon) for key, entries in lists.items()}


def _stands_in(phrase: str, text: str) -> bool:
    return phrase in text and re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None
