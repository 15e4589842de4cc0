"""A mention of a person, taken apart into its words and their roles.

    form = parse_name("SMITH, John M.", "en")
    form.roles      (("smith", "last"), ("john", "first"), ("m", "initial"))
    form.words      ("smith", "john")

Roles: first, last, initial, title (kept), particle (dropped), connector (kept), gap (kept).
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
    """A word or what stands between words.

    :param text: as written, without its genitive ending.
    :param role: see the module's list.
    :param ending: the genitive ending, or nothing.
    :param unit: words joined by hyphens share the number of their unit.
    """

    text: str = field(repr=False)
    role: str
    ending: str = field(default="", repr=False)
    unit: int = -1

    @property
    def folded(self) -> str:
        """The word without case, accents and apostrophes."""
        return fold(self.text).replace("'", "").replace("’", "")


@dataclass(frozen=True, slots=True)
class ParsedName:
    """A mention as pieces, which together are the mention."""

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

    :returns: nothing for what cannot be a name: digits, other signs, letters that are not Latin, too many words.
    """
    pieces = _split(mention)
    if pieces is None:
        return None
    pieces = _mark_words(pieces, language)
    return ParsedName(tuple(_mark_names(pieces, name_tables(language), language)))


def _split(mention: str) -> list[NamePart] | None:
    pieces: list[NamePart] = []
    position = 0
    for match in WORD.finditer(mention):
        gap = mention[position : match.start()]
        if not _GAP.fullmatch(gap) or not is_latin(match[0].replace("'", "").replace("’", "")):
            return None
        pieces.append(NamePart(gap, "gap"))
        ending = _GENITIVE.search(match[0])
        cut = ending.start() if ending else len(match[0])
        pieces.append(NamePart(match[0][:cut], "name", match[0][cut:]))
        position = match.end()
    rest = mention[position:]
    if not pieces or len(pieces) > 2 * _MOST_WORDS or not _GAP.fullmatch(rest):
        return None
    return [*pieces, NamePart(rest, "gap")]


def _mark_words(pieces: list[NamePart], language: str) -> list[NamePart]:
    """Titles at the beginning, credentials at the end, connectors, particles and initials."""
    titles, credentials, connectors, particles = (
        known_words(language, "names", name) for name in ("titles", "credentials", "connectors", "particles")
    )
    marked = list(pieces)
    places = range(1, len(pieces), 2)
    last = places[-1]
    leading = True
    for place in places:
        word = pieces[place]
        leading = leading and place < last and word.folded in titles and "," not in pieces[place + 1].text
        trailing = place > _FIRST_CREDENTIAL and all(
            pieces[after].folded in credentials for after in range(place, last + 1, 2)
        )
        if leading or trailing:
            role = "title"
        elif 1 < place < last and word.folded in connectors and word.text.islower():
            role = "connector"
        elif place < last and word.folded in particles and _is_particle(word, pieces[place + 1].text, place):
            role = "particle"
        elif len(word.folded) == 1:
            role = "initial"
        else:
            role = "name"
        marked[place] = replace(word, role=role)
    return marked


def _is_particle(word: NamePart, gap_after: str, place: int) -> bool:
    """A particle is written small, or in capitals or with a capital inside a longer name."""
    return "." not in gap_after and gap_after != "" and (word.text.islower() or place > 1)


def _mark_names(pieces: list[NamePart], tables: NameTables, language: str) -> list[NamePart]:
    places = [place for place, piece in enumerate(pieces) if piece.role == "name"]
    units = _units(pieces, places)
    if len(places) == 1 and _are_initials(pieces, places[0], tables):
        roles = ["initials"]
    elif any("," in piece.text for piece in pieces[_first(places) : _last(places)] if piece.role == "gap"):
        comma = next(p for p in range(places[0], len(pieces)) if "," in pieces[p].text and pieces[p].role == "gap")
        roles = ["last" if unit[0] < comma else "first" for unit in units]
    else:
        roles = _roles_by_order(pieces, units, tables, language)
    marked = list(pieces)
    for number, (unit, role) in enumerate(zip(units, roles, strict=True)):
        for place in unit:
            marked[place] = replace(pieces[place], role=role, unit=number)
    return _genitives(marked, tables, language)


def _first(places: Sequence[int]) -> int:
    return places[0] if places else 0


def _last(places: Sequence[int]) -> int:
    return places[-1] if places else 0


def _units(pieces: list[NamePart], places: Sequence[int]) -> list[list[int]]:
    """Places of words, those joined by a hyphen together."""
    units: list[list[int]] = []
    for place in places:
        joined = units and place - 2 == units[-1][-1] and pieces[place - 1].text in ("-", "‐", "‑")
        if joined:
            units[-1].append(place)
        else:
            units.append([place])
    return units


def _are_initials(pieces: list[NamePart], place: int, tables: NameTables) -> bool:
    word = pieces[place]
    known = tables.gender(word.folded) is not None or tables.is_last(word.folded)
    alone = all(piece.role == "gap" for number, piece in enumerate(pieces) if number != place)
    return alone and word.text.isupper() and len(word.folded) <= 3 and not known


def _roles_by_order(pieces: list[NamePart], units: list[list[int]], tables: NameTables, language: str) -> list[str]:
    words = [pieces[unit[0]].folded for unit in units]
    firsts = [tables.gender(word) is not None for word in words]
    lasts = [tables.is_last(word) for word in words]
    if not units:
        return []
    before = {piece.role for piece in pieces[: units[0][0]]}
    if len(units) == 1:
        either = language == "es" and not pieces[units[0][0]].text.isupper()
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


def _genitives(pieces: list[NamePart], tables: NameTables, language: str) -> list[NamePart]:
    """A final -s without apostrophe is an ending where the word without it is a frequent name and with it none."""
    if language not in ("sv", "de", "nl", "en") or not any(piece.role in _NAMES for piece in pieces):
        return pieces
    place = max(number for number, piece in enumerate(pieces) if piece.role in _NAMES)
    word = pieces[place]
    stem = word.folded[:-1]
    known = [tables.gender(w) is not None or tables.is_last(w) for w in (word.folded, stem)]
    if word.ending or word.folded[-1] != "s" or len(stem) < 3 or known != [False, True]:
        return pieces
    cut = replace(word, text=word.text[:-1], ending=word.text[-1])
    return [*pieces[:place], cut, *pieces[place + 1 :]]
