"""Surrogates of hospitals, departments, rooms and organisations, from lists.

    surrogate_institution("Mercy General Hospital", context, "hospital")    "Glenhaven Clinic"
    surrogate_institution("MGH", context, "hospital")                       "QTK"
    surrogate_room("room 12B", context)                                     "room 47F"

The names are in `words/LANGUAGE.toml`; none is that of a real place as far as we know. An abbreviation gets other
letters, which are not those of the surrogate of the full name.
"""

from __future__ import annotations

import re

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context, spliced
from phistack.ensemble.deidentification.word_lists import known_words, words
from phistack.features.letters import fold, in_case_of, parts

_LONGEST_ABBREVIATION = 5
_LONGEST_NAME = 150
_WORD = re.compile(r"[^\W\d_]+|\d+")


def surrogate_institution(mention: str, context: Context, kind: str) -> str | None:
    """Another hospital or organisation; a founder alone for one word, letters for an abbreviation.

    :param kind: `hospital` or `organisation`.
    """
    if _is_abbreviation(mention):
        return same_pattern(mention, context, kind)
    taken = parts(mention)
    founders = [name for name in words(context.language)["hospitals"]["founders"] if not parts(name) & taken]
    if not founders or not _is_name(mention):
        return None
    founder = context.pick(founders, kind, fold(mention))
    if len(_WORD.findall(mention)) == 1:
        return in_case_of(founder, mention)
    # A clinic for a clinic: the patterns that share the most words with the original.
    patterns = words(context.language)[f"{kind}s"]["patterns"]
    shared = [len(parts(pattern) & taken) for pattern in patterns]
    alike = [pattern for pattern, n in zip(patterns, shared, strict=True) if n == max(shared)]
    return in_case_of(context.pick(alike, kind, "pattern", fold(mention)).format(founder=founder), mention)


def surrogate_care_unit(mention: str, context: Context) -> str | None:
    """One of 20 care units that any hospital may have (Dalianis 2019); None in a language without a list of them."""
    units = words(context.language).get("care_units", {}).get("generic", [])
    free = [unit for unit in units if not parts(unit) & parts(mention)]
    return context.pick(free, "care unit", fold(mention)) if free and any(c.isalnum() for c in mention) else None


def surrogate_department(mention: str, context: Context) -> str | None:
    """A department that any hospital may have; letters and digits of an abbreviation by their pattern."""
    if _is_abbreviation(mention):
        return same_pattern(mention, context, "department")
    names = [name for name in words(context.language)["departments"]["names"] if not parts(name) & parts(mention)]
    if not names or not _is_name(mention):
        return None
    return in_case_of(context.pick(names, "department", fold(mention)), mention)


def surrogate_room(mention: str, context: Context) -> str | None:
    """Another number of a room; None where there are words other than room, bed, floor and the like."""
    generic = known_words(context.language, "rooms", "generic")
    found = list(_WORD.finditer(mention))
    if any(len(word[0]) > 3 and word[0].isalpha() and fold(word[0]) not in generic for word in found):
        return None

    def new(word: str) -> str:
        return word if fold(word) in generic else same_pattern(word, context, "room", fold(mention)) or ""

    has_number = any(c.isdigit() for c in mention)
    return spliced(mention, ((*word.span(), new(word[0])) for word in found)) if has_number else None


def _is_abbreviation(mention: str) -> bool:
    letters = re.sub(r"[.\s&-]", "", mention)
    short = len(letters) <= _LONGEST_ABBREVIATION
    return short and letters.isalnum() and (letters.isupper() or letters.isdigit())


def _is_name(mention: str) -> bool:
    return any(c.isalpha() for c in mention) and len(mention) <= _LONGEST_NAME
