"""Words for members of a family, which name nobody.

    kinship("abuela materna", "es")    "abuela materna"
    kinship("hija Loli", "es")         nothing: Loli is a name
    kinship("Nieto", "es")             nothing: it is also a surname

Safe Harbor takes out the names of relatives, and lets stand that there was a mother. The words are those of
`[relatives]` in `words/LANGUAGE.toml`; languages without such a table have none.
"""

from __future__ import annotations

import re

from ensemble.deidentification.word_lists import words
from features.letters import fold

__all__ = ["kinship"]


def kinship(mention: str, language: str) -> str | None:
    """The mention, if it is made of words for members of a family alone; nothing where it may hold more."""
    table = words(language).get("relatives", {})
    safe, surnames = table.get("words", ()), table.get("surnames", ())
    spoken = re.findall(r"\w+", mention)
    known = all(fold(word) in safe or (word.islower() and fold(word) in surnames) for word in spoken)
    return mention if spoken and known else None
