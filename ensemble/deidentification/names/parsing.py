"""A mention of a person, taken apart into its words and their roles.

    form = parse_name("SMITH, John M.", "en")
    form.roles      (("smith", "last"), ("john", "first"), ("m", "initial"))
    form.words      ("smith", "john")

Roles: first, last, initial, initials, title (kept), particle (dropped), connector (kept), gap (kept).
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
_FIRST_CREDENTIAL = 3
_NAMES = ("first", "last")


@dataclass(frozen=True, slots=True)
class NamePart:
    """A word or what is between words.

    :param text: as written, without its genitive ending.
    :param role: see the module's list.
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
    """A mention as pieces, which together are the mention: gaps and words by turns."""

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
    pieces = _split(mention)
    if pieces is None:
        return None
    _mark_words(pieces, language)
    _mark_names(pieces, name_tables(language), language)
    return ParsedName(tuple(pieces))


def _split(mention: str) -> list[NamePart] | None:
    """Gaps at even places, words at odd ones."""
    pieces: list[NamePart] = []
    position = 0
    for match in WORD.finditer(mention):
        if not is_latin(match[0].replace("'", "").replace("’", "")):
            return None
        ending = _GENITIVE.search(match[0])
        cut = ending.start() if ending else len(match[0])
        pieces += (NamePart(mention[position : match.start()], "gap"), NamePart(match[0][:cut], "name", match[0][cut:]))
        position = match.end()
    if not pieces or len(pieces) > 2 * _MOST_WORDS:
        return None
    pieces.append(NamePart(mention[position:], "gap"))
    return pieces if all(_GAP.fullmatch(gap.text) for gap in pieces[::2]) else None


def _mark_words(pieces: list[NamePart], language: str) -> None:
    """Mark titles at the beginning, credentials at the end, connectors, particles and initials."""
    titles, credentials, connectors, particles = (
        known_words(language, "names", name) for name in ("titles", "credentials", "connectors", "particles")
    )
    last = len(pieces) - 2
    leading = True
    for place in range(1, len(pieces), 2):
        word, after = pieces[place], pieces[place + 1].text
        leading = leading and place < last and word.folded in titles and "," not in after
        if leading or (
            place > _FIRST_CREDENTIAL
            and all(following.folded in credentials for following in pieces[place : last + 1 : 2])
        ):
            role = "title"
        elif 1 < place < last and word.folded in connectors and word.text.islower():
            role = "connector"
        elif (
            # A particle is written small, or in capitals or with a capital inside a longer name.
            place < last
            and word.folded in particles
            and after
            and "." not in after
            and (word.text.islower() or place > 1)
        ):
            role = "particle"
        else:
            role = "initial" if len(word.folded) == 1 else "name"
        pieces[place] = replace(word, role=role)


def _mark_names(pieces: list[NamePart], tables: NameTables, language: str) -> None:
    """Mark first and last names, or a word of initials."""
    places = [place for place, piece in enumerate(pieces) if piece.role == "name"]
    if not places:
        return
    units: list[list[int]] = []  # Words joined by a hyphen are one name.
    for place in places:
        if units and place - 2 == units[-1][-1] and pieces[place - 1].text in ("-", "‐", "‑"):
            units[-1].append(place)
        else:
            units.append([place])
    commas = [place for place in range(0, len(pieces), 2) if place > places[0] and "," in pieces[place].text]
    if len(places) == 1 and _are_initials(pieces, places[0], tables):
        roles = ["initials"]
    elif commas and commas[0] < places[-1]:
        roles = ["last" if unit[0] < commas[0] else "first" for unit in units]
    else:
        before = {piece.role for piece in pieces[: places[0]]}
        roles = _roles_by_order([pieces[unit[0]] for unit in units], before, tables, language)
    for unit, role in zip(units, roles, strict=True):
        for place in unit:
            pieces[place] = replace(pieces[place], role=role)
    if roles != ["initials"] and language in ("sv", "de", "nl", "en"):
        pieces[places[-1]] = _without_genitive(pieces[places[-1]], tables)


def _are_initials(pieces: list[NamePart], place: int, tables: NameTables) -> bool:
    word = pieces[place]
    alone = all(piece.role == "gap" for number, piece in enumerate(pieces) if number != place)
    return alone and word.text.isupper() and len(word.folded) <= 3 and not tables.has(word.folded)


def _roles_by_order(units: Sequence[NamePart], before: set[str], tables: NameTables, language: str) -> list[str]:
    """The roles of names that no comma divides, by the tables, or else the last name last.

    :param before: the roles of what is before the names.
    """
    firsts = [tables.gender(unit.folded) is not None for unit in units]
    lasts = [tables.is_last(unit.folded) for unit in units]
    if len(units) == 1:
        either = language == "es" and not units[0].text.isupper()
        only_first = firsts[0] and (either or not lasts[0]) and not before & {"title", "particle", "initial"}
        return ["first" if only_first else "last"]
    if len(units) == 2 and lasts[0] and not firsts[0]:
        return ["last", "first" if firsts[1] and not lasts[1] else "last"]
    if "initial" in before and not any(firsts):
        return ["last"] * len(units)
    n_first = len(units) - 1
    if language == "es" and len(units) > 2:
        n_first = 2 if len(units) > 3 or (firsts[1] and not lasts[1]) else 1
    return ["first"] * n_first + ["last"] * (len(units) - n_first)


def _without_genitive(word: NamePart, tables: NameTables) -> NamePart:
    """A final -s without apostrophe is an ending where the word without it is a frequent name and with it none."""
    stem = word.folded[:-1]
    if word.ending or word.folded[-1] != "s" or len(stem) < 3 or tables.has(word.folded) or not tables.has(stem):
        return word
    return replace(word, text=word.text[:-1], ending=word.text[-1])
