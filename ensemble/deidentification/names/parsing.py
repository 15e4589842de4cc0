"""A mention of a person, split into words and their roles.

    form = parse_name("SMITH, John M.", "en")
    form.roles      (("smith", "last"), ("john", "first"), ("m", "initial"))
    form.words      ("smith", "john")

Roles: first, last, initial, initials, title (kept), particle (dropped with the gap after
it), connector (kept), gap (kept).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from phistack.ensemble.deidentification.names.tables import NameTables, name_tables
from phistack.ensemble.deidentification.word_lists import known_words
from phistack.features.letters import WORD, fold, is_latin

_GAP = re.compile(r"[\s.,\-‐‑–'’()/&;:*]*")
_GENITIVE = re.compile(r"['’][sS]$")
_MOST_WORDS = 9
_NAMES = ("first", "last")


@dataclass(frozen=True, slots=True)
class NamePart:
    """A word, or the gap between two words.

    :param text: as written, without its genitive ending.
    :param ending: the genitive ending, or nothing.
    """

    text: str = field(repr=False)
    role: str
    ending: str = field(default="", repr=False)

    @property
    def folded(self) -> str:
        """The word without case, accents and apostrophes."""
        return fold(self.text).replace("'", "").replace("’", "")


@dataclass(frozen=True, slots=True)
class ParsedName:
    """A mention split into pieces: gaps and words in turn."""

    pieces: tuple[NamePart, ...] = field(repr=False)

    @property
    def words(self) -> tuple[str, ...]:
        """The folded first and last names, in the order written."""
        return tuple(piece.folded for piece in self.pieces if piece.role in _NAMES)

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Folded word and role of each first name, last name, initial and word of initials."""
        return tuple((p.folded, p.role) for p in self.pieces if p.role in (*_NAMES, "initial", "initials"))


def parse_name(mention: str, language: str) -> ParsedName | None:
    """The words of a mention and their roles.

    :returns: None for what cannot be a name: digits, other signs, letters that are not Latin, too many words.
    """
    found = list(WORD.finditer(mention))
    bounds = [0, *(at for match in found for at in match.span()), len(mention)]
    gaps = [mention[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    latin = all(is_latin(match[0].replace("'", "").replace("’", "")) for match in found)
    if not (1 <= len(found) <= _MOST_WORDS and latin and all(map(_GAP.fullmatch, gaps))):
        return None
    cuts = [_GENITIVE.search(match[0]) for match in found]
    words = [
        NamePart(match[0][: cut and cut.start()], "name", cut[0] if cut else "")
        for match, cut in zip(found, cuts, strict=True)
    ]
    words = [replace(word, role=role) for word, role in zip(words, _roles(words, gaps, language), strict=True)]
    names = [place for place, word in enumerate(words) if word.role in _NAMES]
    if names and language in ("sv", "de", "nl", "en"):
        words[names[-1]] = _without_genitive(words[names[-1]], name_tables(language))
    pieces = [NamePart(gaps[0], "gap")]
    for word, gap in zip(words, gaps[1:], strict=True):
        pieces += (word, NamePart(gap, "particle" if word.role == "particle" else "gap"))
    return ParsedName(tuple(pieces))


def _roles(words: Sequence[NamePart], gaps: Sequence[str], language: str) -> list[str]:
    """The role of each word: titles first, credentials last, names by a comma or by their order."""
    titles, credentials, connectors, particles = (
        known_words(language, "names", name) for name in ("titles", "credentials", "connectors", "particles")
    )
    last, roles = len(words) - 1, list[str]()
    for place, (word, after) in enumerate(zip(words, gaps[1:], strict=True)):
        is_small, follows = word.text.islower(), place < last
        is_title = {*roles} <= {"title"} and follows and word.folded in titles and "," not in after
        if is_title or (place > 1 and all(following.folded in credentials for following in words[place:])):
            roles.append("title")
        elif follows and place and is_small and word.folded in connectors:
            roles.append("connector")
        elif follows and word.folded in particles and after and "." not in after and (is_small or place):
            roles.append("particle")
        else:
            roles.append("initial" if len(word.folded) == 1 else "name")
    names = [place for place, role in enumerate(roles) if role == "name"]
    firsts = [place for place in names if not (place - 1 in names and gaps[place] in ("-", "‐", "‑"))]
    comma = next((place for place in names and range(names[0], names[-1]) if "," in gaps[place + 1]), None)
    tables = name_tables(language)
    if len(words) == 1 and names and _is_initials(words[0], tables):
        return ["initials"]
    if comma is None:
        of_names = _roles_by_order(
            [words[place] for place in firsts], {*roles[: min(names, default=0)]}, tables, language
        )
    else:
        of_names = ["last" if place <= comma else "first" for place in firsts]
    for place in names:  # Words joined by a hyphen are one name.
        roles[place] = of_names[sum(first <= place for first in firsts) - 1]
    return roles


def _is_initials(word: NamePart, tables: NameTables) -> bool:
    return word.text.isupper() and len(word.folded) <= 3 and not tables.has(word.folded)


def _roles_by_order(names: Sequence[NamePart], before: set[str], tables: NameTables, language: str) -> list[str]:
    """The roles of names without a comma between them: by the tables, or else with the last name last.

    :param before: the roles of the words before the names.
    """
    firsts = [tables.gender(name.folded) is not None for name in names]
    lasts = [tables.is_last(name.folded) for name in names]
    if len(names) == 1:
        either = language == "es" and not names[0].text.isupper()
        only_first = firsts[0] and (either or not lasts[0]) and not before & {"title", "particle", "initial"}
        return ["first" if only_first else "last"]
    if len(names) == 2 and lasts[0] and not firsts[0]:
        return ["last", "first" if firsts[1] and not lasts[1] else "last"]
    if "initial" in before and not any(firsts):
        return ["last"] * len(names)
    n_first = len(names) - 1
    if language == "es" and len(names) > 2:
        n_first = 2 if len(names) > 3 or (firsts[1] and not lasts[1]) else 1
    return ["first"] * n_first + ["last"] * (len(names) - n_first)


def _without_genitive(word: NamePart, tables: NameTables) -> NamePart:
    """Split off a final -s without an apostrophe if only the word without it is a frequent name."""
    stem = word.folded[:-1]
    if word.ending or word.folded[-1] != "s" or len(stem) < 3 or tables.has(word.folded) or not tables.has(stem):
        return word
    return replace(word, text=word.text[:-1], ending=word.text[-1])
