"""Professions by the group of work that they belong to, and words for members of a family.

    profession_group("retired schoolteacher", "en")    "education worker"
    kinship("abuela materna", "es")                    "abuela materna"
    kinship("hija Loli", "es")                         None: Loli is a name

The words are in `words/LANGUAGE.toml`, `[professions]` and `[relatives]`.
"""

from __future__ import annotations

import re

from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold, in_case_of


def profession_group(mention: str, language: str) -> str | None:
    """The name of the group, in the case of the mention; None if its words belong to no group or to several."""
    table = words(language)
    spoken = re.findall(r"[^\W\d_]+", fold(mention))
    groups = [
        group
        for group, known in table["professions"].items()
        if any(_same_work(word, profession) for word in spoken for profession in known)
    ]
    return in_case_of(table["profession_groups"][groups[0]], mention) if len(groups) == 1 else None


def _same_work(word: str, profession: str) -> bool:
    """Also plurals and compounds: nurses, schoolteacher, Grundschullehrerin."""
    return word in (profession, profession + "s", profession + "es") or (
        len(profession) >= 5 and word.endswith(profession)
    )


def kinship(mention: str, language: str) -> str | None:
    """The mention, if all its words are for members of a family; None if it may hold a name.

    Safe Harbor removes the names of relatives, not that there was a mother. Words that are also names (Spanish
    `segundo`) count in small letters only. A language without a table has no such words.
    """
    table = words(language).get("relatives", {})
    always, in_small_letters = table.get("words", ()), table.get("in_small_letters", ())
    spoken = re.findall(r"\w+", mention)
    known = all(fold(word) in always or (word.islower() and fold(word) in in_small_letters) for word in spoken)
    return mention if spoken and known else None
