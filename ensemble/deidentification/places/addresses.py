"""Surrogates of streets and of whole addresses, part by part, and of institutions and rooms, from lists.

    surrogate_street("123 N. Main St, Apt 4B", context)    "476 N. Juniper St, Apt 7K"
    surrogate_street("Lindenstraße 5", context)            "Ahornstraße 8"
    surrogate_address("C/ Mayor 3, 28001 Madrid", context)
    surrogate_institution("Mercy General Hospital", context, "hospital")    "Glenhaven Clinic"
    surrogate_institution("MGH", context, "hospital")                       "QTK"
    surrogate_room("room 12B", context)                                     "room 47F"

The kind of street (St, calle, -straße) and small words stay; the name becomes that of a plant, numbers keep their
pattern. The names of institutions are in `words/LANGUAGE.toml`; as far as we know, none belongs to a real place. An
abbreviation gets other letters, unrelated to the surrogate of the full name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context, spliced
from phistack.ensemble.deidentification.places.cities import (
    surrogate_city,
    surrogate_country,
    surrogate_postcode,
    surrogate_state,
)
from phistack.ensemble.deidentification.word_lists import known_words, words
from phistack.features.letters import fold, in_case_of, parts

_SHORTEST_SUFFIX = 3
_USUAL_ENDINGS = {"nl": "laan", "sv": "gatan", "de": "weg"}
"""For languages in which the name of a street ends in its kind."""
_TOKEN = re.compile("[^\\W\\d_][^\\W_]*(?:['’\u0300-\u036f][^\\W\\d_]*)*|\\d[^\\W_]*|[ºª°]")
_LONGEST_ABBREVIATION, _LONGEST_NAME = 5, 150
_WORD = re.compile(r"[^\W\d_]+|\d+")
_BETWEEN_NAME_WORDS = re.compile(r"[\s'’.-]+")


def surrogate_street(mention: str, context: Context) -> str | None:
    """Another street, with other numbers.

    :returns: None if the street's name cannot be separated from its kind, as in `Gran Vía` or `12 North Street`.
    """
    changes: list[tuple[int, int, str | None]] = []
    named = in_name = False
    for token in _TOKEN.finditer(mention):
        is_name, gap = _is_name(token[0], context.language), mention[changes[-1][1] if changes else 0 : token.start()]
        goes_on = is_name and _BETWEEN_NAME_WORDS.fullmatch(gap)
        if in_name and (goes_on or _is_inner(token, mention, context.language)):
            start, _, new = changes.pop()
        else:
            start, in_name = token.start(), is_name
            new = _street_name(token, mention, context) if is_name else _other(token[0], context)
        named = named or is_name
        changes.append((start, token.end(), new))
    return spliced(mention, changes) if named else None


def surrogate_place(mention: str, context: Context) -> str | None:
    """Another postcode, country, state or city, whichever the mention is; parts between commas one by one."""
    if "," in mention:
        return _by_commas(mention, context, surrogate_place)
    makers = (surrogate_postcode, surrogate_country, surrogate_state, surrogate_city)
    return next((new for maker in makers if (new := maker(mention, context)) is not None), None)


def surrogate_address(mention: str, context: Context) -> str | None:
    """Another street or place, whichever the mention is; parts between commas one by one."""
    if "," in mention:
        return _by_commas(mention, context, surrogate_address)
    kinds = known_words(context.language, "streets", "kinds")
    tokens = _TOKEN.findall(mention)
    numbers = [token[0].isdigit() for token in tokens]
    street = any(numbers) or any(fold(token) in kinds or _suffix(token, context.language) for token in tokens)
    if not street or surrogate_postcode(mention, context) is not None:
        return surrogate_place(mention, context)
    new = surrogate_street(mention, context)
    # A part of an address such as `3` or `4B`.
    return new or (same_pattern(mention, context, "street number") if tokens and all(numbers) else None)


def _by_commas(mention: str, context: Context, maker: Callable[[str, Context], str | None]) -> str | None:
    between = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
    return spliced(mention, ((*match.span(), maker(match[0], context)) for match in between.finditer(mention)))


def _is_name(token: str, language: str) -> bool:
    return token[0].isalpha() and len(token) > 1 and fold(token) not in known_words(language, "streets", "kinds")


def _is_inner(token: re.Match[str], mention: str, language: str) -> bool:
    """Whether it is a small word before another word of the name: Luis de León."""
    following = _TOKEN.search(mention, token.end())
    small = fold(token[0]) in known_words(language, "names", "particles", "connectors")
    return small and following is not None and _is_name(following[0], language)


def _street_name(token: re.Match[str], mention: str, context: Context) -> str | None:
    """Another name for the one that begins with this word, chosen by all its words together."""
    name, position = fold(token[0]), token.end()
    for following in _TOKEN.finditer(mention, token.end()):
        gap = mention[position : following.start()]
        if not _is_name(following[0], context.language) or not _BETWEEN_NAME_WORDS.fullmatch(gap):
            break
        name, position = f"{name} {fold(following[0])}", following.end()
    suffix = "" if " " in name else _suffix(token[0], context.language)
    taken = parts(name)
    free = [
        option
        for option in words(context.language)["streets"]["names"]
        if not any(word in fold(option) or fold(option) in word for word in taken)
    ]
    if not free:
        return None
    new = context.pick(free, "street", name.removesuffix(fold(suffix)))
    ending = suffix.lower() or _USUAL_ENDINGS.get(context.language, "")
    return in_case_of(new + ending, token[0])


def _suffix(token: str, language: str) -> str:
    """The kind of street at the end of a compound, as written; empty where there is none."""
    folded = fold(token)
    kinds = (
        sorted(known_words(language, "streets", "kinds"), key=len, reverse=True) if language in _USUAL_ENDINGS else ()
    )
    for kind in kinds:
        if len(kind) >= _SHORTEST_SUFFIX and folded.endswith(kind) and len(folded) > len(kind):
            return next((token[at:] for at in range(len(token) - 1, 0, -1) if fold(token[at:]) == kind), "")
    return ""


def _other(token: str, context: Context) -> str | None:
    """Kinds and small words stay; numbers and letters of flats keep their pattern."""
    if fold(token) in known_words(context.language, "streets", "kinds") or not token.isalnum():
        return token
    return same_pattern(token, context, "street number")


def surrogate_institution(mention: str, context: Context, kind: str) -> str | None:
    """Another hospital or organisation; one word becomes a founder's name, an abbreviation gets other letters.

    :param kind: `hospital` or `organisation`.
    """
    if _is_abbreviation(mention):
        return same_pattern(mention, context, kind)
    taken = parts(mention)
    founders = [name for name in words(context.language)["hospitals"]["founders"] if not parts(name) & taken]
    if not founders or not _is_name_of_institution(mention):
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
    """A department that any hospital may have; an abbreviation keeps its pattern of letters and digits."""
    if _is_abbreviation(mention):
        return same_pattern(mention, context, "department")
    names = [name for name in words(context.language)["departments"]["names"] if not parts(name) & parts(mention)]
    if not names or not _is_name_of_institution(mention):
        return None
    return in_case_of(context.pick(names, "department", fold(mention)), mention)


def surrogate_room(mention: str, context: Context) -> str | None:
    """Another room number; None without a number, or with words other than room, bed, floor and the like."""
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


def _is_name_of_institution(mention: str) -> bool:
    return any(c.isalpha() for c in mention) and len(mention) <= _LONGEST_NAME
