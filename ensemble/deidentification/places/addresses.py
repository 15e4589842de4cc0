"""Surrogates of streets and of whole addresses, part by part.

    surrogate_street("123 N. Main St, Apt 4B", context)    "476 N. Juniper St, Apt 7K"
    surrogate_street("Lindenstraße 5", context)            "Ahornstraße 8"
    surrogate_address("C/ Mayor 3, 28001 Madrid", context)

The kind of street (St, calle, -straße) and small words stay; the name is that of a plant, numbers keep their pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from phistack.ensemble.deidentification.codes.patterns import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.places.cities import (
    surrogate_city,
    surrogate_country,
    surrogate_postcode,
    surrogate_state,
)
from phistack.ensemble.deidentification.word_lists import known_words, words
from phistack.features.letters import fold, in_case_of, parts

_SHORTEST_SUFFIX = 3
_TOKEN = re.compile("[^\\W\\d_][^\\W_]*(?:['’\u0300-\u036f][^\\W\\d_]*)*|\\d[^\\W_]*|[ºª°]")
_BETWEEN_NAME_WORDS = re.compile(r"[\s'’.-]+")


def surrogate_street(mention: str, context: Context) -> str | None:
    """Another street, with other numbers.

    :returns: nothing where the street's name cannot be separated from its kind, as in `Gran Vía` or `12 North Street`.
    """
    tokens = list(_TOKEN.finditer(mention))
    pieces: list[str] = []
    position, named, in_name = 0, False, False
    for token in tokens:
        gap, text = mention[position : token.start()], token[0]
        position = token.end()
        is_name = _is_name(text, context.language)
        if in_name and _is_inner(token, mention, context.language):
            continue
        if is_name and in_name and _BETWEEN_NAME_WORDS.fullmatch(gap):
            continue
        if is_name:
            new = _street_name(text, _whole_name(mention, token, context.language), context)
            named, in_name = True, True
        else:
            new, in_name = _other(text, context), False
        if new is None:
            return None
        pieces += (gap, new)
    return "".join([*pieces, mention[position:]]) if named else None


def surrogate_place(mention: str, context: Context) -> str | None:
    """A postcode, country, state or city for one, whichever the mention is; several between commas one by one."""
    if "," in mention:
        return _by_commas(mention, context, surrogate_place)
    makers = (surrogate_postcode, surrogate_country, surrogate_state, surrogate_city)
    return next((new for maker in makers if (new := maker(mention, context)) is not None), None)


def surrogate_address(mention: str, context: Context) -> str | None:
    """A street or place for one, whichever the mention is; several between commas one by one."""
    kinds = known_words(context.language, "streets", "kinds")
    tokens = [token[0] for token in _TOKEN.finditer(mention)]
    is_postcode = surrogate_postcode(mention, context) is not None
    if "," in mention:
        return _by_commas(mention, context, surrogate_address)
    looks_like_street = any(token[0].isdigit() for token in tokens) or any(
        fold(token) in kinds or _suffix(token, context.language) for token in tokens
    )
    if looks_like_street and not is_postcode:
        return surrogate_street(mention, context) or _numbers_only(mention, tokens, context)
    return surrogate_place(mention, context)


def _by_commas(mention: str, context: Context, maker: Callable[[str, Context], str | None]) -> str | None:
    pieces: list[str] = []
    for number, piece in enumerate(re.split(r"(\s*,\s*)", mention)):
        new = piece if number % 2 or not piece else maker(piece, context)
        if new is None:
            return None
        pieces.append(new)
    return "".join(pieces)


def _numbers_only(mention: str, tokens: list[str], context: Context) -> str | None:
    """A part of an address such as `3` or `4B`."""
    only = bool(tokens) and all(token[0].isdigit() for token in tokens)
    return same_pattern(mention, context, "street number") if only else None


def _is_name(token: str, language: str) -> bool:
    return token[0].isalpha() and len(token) > 1 and fold(token) not in known_words(language, "streets", "kinds")


def _is_inner(token: re.Match[str], mention: str, language: str) -> bool:
    """Whether it is a small word before another word of the name: Luis de León."""
    following = _TOKEN.search(mention, token.end())
    small = fold(token[0]) in known_words(language, "names", "particles", "connectors")
    return small and following is not None and _is_name(following[0], language)


def _whole_name(mention: str, token: re.Match[str], language: str) -> str:
    """The words of the name that begins here, folded, so that all of them together choose."""
    name, position = [fold(token[0])], token.end()
    for following in _TOKEN.finditer(mention, token.end()):
        gap = mention[position : following.start()]
        if not _is_name(following[0], language) or not _BETWEEN_NAME_WORDS.fullmatch(gap):
            break
        name.append(fold(following[0]))
        position = following.end()
    return " ".join(name)


def _street_name(text: str, name: str, context: Context) -> str | None:
    suffix = _suffix(text, context.language)
    stem = name[: len(name) - len(fold(suffix))] if suffix and " " not in name else name
    taken = parts(name)
    free = [
        option
        for option in words(context.language)["streets"]["names"]
        if not any(word in fold(option) or fold(option) in word for word in taken)
    ]
    if not free:
        return None
    new = context.pick(free, "street", stem)
    compound = _compounds(context.language)
    ending = suffix if suffix and " " not in name else ("" if not compound else _usual_ending(context.language))
    return in_case_of(new + ending.lower(), text)


def _suffix(token: str, language: str) -> str:
    """The kind of street at the end of a compound, as written; empty where there is none."""
    if not _compounds(language):
        return ""
    folded = fold(token)
    kinds = sorted(known_words(language, "streets", "kinds"), key=len, reverse=True)
    for kind in kinds:
        if len(kind) >= _SHORTEST_SUFFIX and folded.endswith(kind) and len(folded) > len(kind):
            written = len(token)
            while fold(token[written:]) != kind and written > 0:
                written -= 1
            return token[written:] if written else ""
    return ""


def _compounds(language: str) -> bool:
    return language in ("nl", "sv", "de")


def _usual_ending(language: str) -> str:
    return {"nl": "laan", "sv": "gatan", "de": "weg"}[language]


def _other(token: str, context: Context) -> str | None:
    """Kinds and small words stay; numbers and letters of flats keep their pattern."""
    if fold(token) in known_words(context.language, "streets", "kinds") or not token.isalnum():
        return token
    return same_pattern(token, context, "street number")
