"""A profession by the group of work that it belongs to.

    profession_group("retired schoolteacher", "en")    "education worker"

The groups are lists of words in `words/LANGUAGE.toml`; a mention with words of no group, or of two, has none.
"""

from __future__ import annotations

import re

from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold, in_case_of


def profession_group(mention: str, language: str) -> str | None:
    """The name of the group, in the case of the mention; nothing where the words belong to none or to more than one."""
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
