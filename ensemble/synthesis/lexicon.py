"""Which words training notes may use, and which are kept out of them, so that an engine is measured on unseen words.

    is_held_out("Okonkwo")                       the same on every machine: a fifth of all words
    part_of(["Okonkwo", "Smith", ...], "train")  without those that are held out
    part_of(["Okonkwo", "Smith", ...], "test")   those alone
    part_of(["Okonkwo", "Smith", ...], "whole")  all
    lists_of("de/world", "inside", "train")      the lists of a table, each without what is held out
    clinical_words("de", "train")                what templates name in braces

Short lists are never split: too few words would be left. Words that templates use in any case are never held out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from phistack.ensemble.synthesis.templates import all_text, table
from phistack.features.letters import fold

LEXICONS = ("whole", "train", "test")
_ONE_IN, _SMALLEST = 5, 20

Lists = Mapping[str, tuple[str, ...]]


def is_held_out(word: str) -> bool:
    """Whether a word or phrase is one of the fifth that training notes do without; case and accents do not count."""
    return hashlib.sha256(fold(word).encode()).digest()[0] % _ONE_IN == 0


def part_of(entries: Sequence[str], lexicon: str, said: str = "") -> tuple[str, ...]:
    """What of a list a lexicon has.

    :param lexicon: one of `LEXICONS`.
    :param said: text that notes contain in any case, folded; an entry that is in it is not held out.
    :returns: in the order of the list; all of it if nothing of it is held out.
    """
    if lexicon == "whole" or len(entries) < _SMALLEST:
        return tuple(entries)
    unseen = {entry for entry in entries if is_held_out(entry) and not _is_in(fold(entry), said)}
    return tuple(entry for entry in entries if (entry in unseen) == (lexicon == "test")) or tuple(entries)


@cache
def lists_of(name: str, section: str, lexicon: str) -> Lists:
    """The lists of a table, or of a section of it, as a lexicon has them.

    :param name: as for `ensemble.synthesis.templates.table`; a list is an array, or text parted by commas.
    :param section: its key, or empty for the whole table.
    """
    lists = table(name).get(section, {}) if section else table(name)
    language = name.partition("/")[0] if "/" in name else ""
    said = _said(language) if language and lexicon != "whole" else ""
    return MappingProxyType({key: part_of(_parted(entries), lexicon, said) for key, entries in _only_lists(lists)})


@cache
def clinical_words(language: str, lexicon: str) -> Lists:
    """What templates may name in braces: the words of a language, those of its section `always`, which are never split,
    and those of structured text.
    """
    common, own = (lists_of("structured", section, "whole") for section in ("common", language))
    structured = {key: (*common.get(key, ()), *own.get(key, ())) for key in {**common, **own}}
    always = lists_of(f"{language}/words", "always", "whole")
    return MappingProxyType({**structured, **always, **lists_of(f"{language}/words", "", lexicon)})


@cache
def _said(language: str) -> str:
    """What the notes of a language contain in any lexicon: their templates, and all entries that are not held out."""
    words, world = table(f"{language}/words"), table(f"{language}/world")
    sections = [words, *(world.get(key, {}) for key in ("inside", "names", "things"))]
    sections += table("en/origins").values() if language == "en" else ()
    entries = [entry for section in sections for _, entries in _only_lists(section) for entry in _parted(entries)]
    always = [entry for _, entries in _only_lists(words.get("always", {})) for entry in _parted(entries)]
    return fold("\n".join((all_text(language), *always, *(one for one in entries if not is_held_out(one)))))


def _only_lists(section: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((key, entries) for key, entries in section.items() if isinstance(entries, str | list))


def _parted(entries: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries.split(", "))) if isinstance(entries, str) else tuple(entries)


def _is_in(phrase: str, text: str) -> bool:
    return phrase in text and re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None
