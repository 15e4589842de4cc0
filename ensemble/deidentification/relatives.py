"""Words for members of a family, which name nobody.

    kinship("abuela materna", "es")    "abuela materna"
    kinship("hija Loli", "es")         nothing: Loli is a name
    kinship("Segundo", "es")           nothing: in capitals it may be a name

Safe Harbor takes out the names of relatives, and lets stand that there was a mother. The words are those of
`[relatives]` in `words/LANGUAGE.toml`; languages without such a table have none.
"""

from __future__ import annotations

import re

from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold


def kinship(mention: str, language: str) -> str | None:
    """The mention, if it is made of words for members of a family alone; nothing where it may hold more."""
    table = words(language).get("relatives", {})
    always, in_small_letters = table.get("words", ()), table.get("in_small_letters", ())
    spoken = re.findall(r"\w+", mention)
    known = all(fold(word) in always or (word.islower() and fold(word) in in_small_letters) for word in spoken)
    return mention if spoken and known else None
