"""Many patterns searched in many texts at once.

    scanner = Scanner(patterns)
    list(scanner.find(["seen on 3 May"], "en"))     [(0, 12, 8, 13)]: in text 0 the pattern 12 matches 8 to 13
    openings("(Dr|Prof) [A-Z]", re.NOFLAG)          any D r blank A-Z | any P r o f

Finds what each pattern's own search finds, but tries a shipped pattern only where the text has one of its openings. An
opening is a set of characters for each of a few successive places: the one before the match, then the first ones of the
match. Every match begins with one of the openings of its expression. Parts of an expression that are not understood
allow any character.

A set is a number with a bit for each Latin-1 character. The bit of `?` is always set, as `?` represents all characters
beyond Latin-1 too: text is read as `text.encode("latin-1", "replace")`.

The parse tree is that of Python's own parser, a private module; no other file uses it. It is worth it: without openings
the shipped patterns take 16 times as long, and an engine of regex and TBED two and a half times.

One pass over the texts looks for all openings. Each has a bit; for each place, each character has the bits of the
openings that allow it there. Where the conjunction over the places is not zero, a match may begin (bit-parallel
matching, Baeza-Yates and Gonnet 1992). RE2 and Hyperscan search for many patterns at once but have no lookaround, which
most patterns use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.limited_regex import flags_of
from phistack.submodels.regex.pattern_files import Pattern

CHARACTERS = 256
"""How many characters are distinguished."""

ANYTHING = (1 << CHARACTERS) - 1
"""The set of all characters."""

DEPTH = 4
"""How many characters of a match are looked at."""

_UNKNOWN = 1 << ord("?")
_LATIN = "".join(map(chr, range(CHARACTERS)))
_WORD = sum(1 << ord(character) for character in re.findall(r"\w", _LATIN))
_SETS: dict[tuple[str, int], int] = {}

# These names have been the same since Python 3.11.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

Opening = tuple[int, ...]
"""Sets of characters: before the match, and at its first places, at most `DEPTH` of these."""

_Then = Callable[[int], set[Opening]]
"""Gives the openings of what follows, up to a number of characters."""


@cache
def openings(expression: str, flags: int) -> tuple[Opening, ...]:
    """The openings of an expression; none if it can match the empty text. Kept, as each fold asks for the same ones."""
    tree = _parser.parse(expression, flags)
    flags = tree.state.flags
    found = _merged(_begun(tree, flags, DEPTH, lambda left: {()}))
    return _with_character_before(tree, flags, found) if all(found) else ()


def _begun(nodes: Sequence[Any], flags: int, depth: int, then: _Then) -> set[Opening]:
    """How nodes followed by `then` can begin: sets for at most `depth` places."""
    if not depth:
        return {()}
    if not nodes:
        return then(depth)
    name, argument = str(nodes[0][0]), nodes[0][1]
    rest = cache(lambda left: _begun(nodes[1:], flags, left, then))
    match name:
        case _ if _is_set(nodes[0]):
            characters = _characters(nodes[0], flags)
            return {(characters, *more) for more in rest(depth - 1)}
        case "SUBPATTERN":
            _, added, removed, inner = argument
            return _begun(inner, (flags | added) & ~removed, depth, rest)
        case "ATOMIC_GROUP":
            return _begun(argument, flags, depth, rest)
        case "BRANCH":
            return set().union(*(_begun(branch, flags, depth, rest) for branch in argument[1]))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            return _repeated(inner, flags, least, min(most, least + depth), rest)(depth)
        case "AT" | "ASSERT" | "ASSERT_NOT" | "FAILURE":
            return rest(depth)
        case _:
            return {()}


def _repeated(inner: Sequence[Any], flags: int, least: int, most: int, then: _Then) -> _Then:
    """How a repetition can begin: with one round and what follows that, or, once it may end, with `then`."""
    if not most:
        return then
    following = cache(_repeated(inner, flags, max(least - 1, 0), most - 1, then))
    return lambda left: _begun(inner, flags, left, following) | (set() if least else then(left))


def _merged(found: set[Opening]) -> list[Opening]:
    """The same with fewer openings: those that differ in only one place become one."""
    for place in range(DEPTH):
        shorter = {sets for sets in found if len(sets) <= place}
        joined: dict[tuple[Opening, Opening], int] = {}
        for sets in found - shorter:
            others = sets[:place], sets[place + 1 :]
            joined[others] = joined.get(others, 0) | sets[place]
        found = shorter | {(*before, union, *after) for (before, after), union in joined.items()}
    return sorted(found)


def _with_character_before(nodes: Iterable[Any], flags: int, found: Iterable[Opening]) -> tuple[Opening, ...]:
    """The openings with what the assertions at the start of an expression say about the character before a match."""
    before, at_boundary = ANYTHING, False
    for name, argument in nodes:
        match str(name), argument:
            case "AT", where if str(where) == "AT_BOUNDARY":
                at_boundary = True
            case "AT", where if str(where) == "AT_BEGINNING":
                before &= 1 << ord("\n") if flags & re.MULTILINE else 0
            case "ASSERT" | "ASSERT_NOT" as kind, (-1, behind) if len(behind) == 1 and _is_set(behind[0]):
                behind = _characters(behind[0], flags)
                before &= (behind if kind == "ASSERT" else ANYTHING & ~behind) | _UNKNOWN
            case "AT" | "ASSERT" | "ASSERT_NOT", _:
                pass
            case _:
                break
    if not at_boundary or any(sets[0] & ~_UNKNOWN & ~_WORD for sets in found):
        return tuple((before, *sets) for sets in found)
    # A character known to begin a word has no word character before it.
    known_first = [(before & (~_WORD | _UNKNOWN) & ANYTHING, sets[0] & ~_UNKNOWN, *sets[1:]) for sets in found]
    return (*known_first, (before, _UNKNOWN))


def _is_set(node: tuple[Any, Any]) -> bool:
    return str(node[0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _characters(node: tuple[Any, Any], flags: int) -> int:
    """The set of a node that reads one character, as Python's own matcher reads it."""
    written = repr(node), flags
    if written not in _SETS:
        state = _parser.State()
        state.flags = flags
        matched = _compiler.compile(_parser.SubPattern(state, [node]), flags).findall(_LATIN)
        _SETS[written] = sum(1 << ord(character) for character in matched) | _UNKNOWN
    return _SETS[written]


_BEFORE, _BEYOND = CHARACTERS, CHARACTERS + 1
_CODES = CHARACTERS + 2
_BITS, _DENSE = 64, 8

Places = NDArray[np.int64]
Match = tuple[int, int, int, int]
"""The numbers of a text and of a pattern, and the start and end of the PHI."""


class Scanner:
    """Patterns ready to be searched together; their order gives them their numbers."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = tuple(patterns)
        rows: list[tuple[int, Opening, int]] = []
        for number, pattern in enumerate(self.patterns):
            if pattern.shipped:
                found = openings(pattern.regex, flags_of(pattern.flags))
                rows += [(opening[1], opening, number) for opening in found]
        rows.sort()
        # Openings with similar first characters share a word, so most places of a text are ruled out early.
        self._words = [_word([opening for _, opening, _ in rows[i : i + _BITS]]) for i in range(0, len(rows), _BITS)]
        self._bits: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for row, (_, _, number) in enumerate(rows):
            word, bit = row // _BITS, 1 << row % _BITS
            self._bits[number][word] = self._bits[number].get(word, 0) | bit

    def find(self, texts: Sequence[str], language: str) -> Iterator[Match]:
        """What the patterns find, by pattern and then in the order of the texts; see `Pattern.find`.

        :raises UnsafePatternError: if the search for a pattern that is not shipped takes too long.
        """
        bounds = np.cumsum([0, *(len(text) + 1 + DEPTH for text in texts)])
        codes = _codes_of(texts, bounds)
        found = self._openings_in(codes)
        for number, pattern in enumerate(self.patterns):
            places = self._places(number, found, int(bounds[-1]) // _DENSE)
            if places is None:
                yield from ((i, number, start, end) for i, start, end in pattern.find_in(texts, language))
                continue
            owners = np.searchsorted(bounds, places, side="right") - 1
            starts = zip(owners.tolist(), (places - bounds[owners]).tolist(), strict=True)
            # Matches do not overlap: the next one in a text begins where the last one ended, or later.
            last, free, match_at = -1, 0, pattern.compiled.match
            for i, start in starts:
                if (i > last or start >= free) and (match := match_at(texts[i], start)) is not None:
                    last, free = i, match.end()
                    if (phi := pattern.phi_of(match, language)) is not None:
                        yield i, number, *phi

    def _openings_in(self, codes: Places) -> list[tuple[Places, NDArray[np.uint64]]]:
        """For each word of bits the places before which some opening begins, and the bits of all that begin there."""
        last = max(len(codes) - DEPTH, 1)
        found = []
        for word in self._words:
            # (n_codes - DEPTH,), then (n_at,): the two places that rule out most come first.
            bits = word[0][codes[: last - 1]] & word[1][codes[1:last]]
            at = np.flatnonzero(bits)
            bits = bits[at]
            for place in range(2, 1 + DEPTH):
                bits &= word[place][codes[at + place]]
                going_on = bits != 0
                at, bits = at[going_on], bits[going_on]
            found.append((at, bits))
        return found

    def _places(self, number: int, found: Sequence[tuple[Places, NDArray[np.uint64]]], most: int) -> Places | None:
        """Before which places a pattern may begin, in order; `None` if anywhere, or at more than `most`."""
        if number not in self._bits:
            return None
        parts = [found[word][0][found[word][1] & np.uint64(bits) != 0] for word, bits in self._bits[number].items()]
        if max(map(len, parts)) > most:
            return None
        places = np.flatnonzero(np.bincount(np.concatenate(parts))) if len(parts) > 1 else parts[0]
        return places if len(places) <= most else None


def _codes_of(texts: Sequence[str], bounds: Places) -> Places:
    """All texts in one row, of shape `(n_codes,)`.

    One code before each text and DEPTH codes after it stand for no character, so no opening spans two texts.

    :param bounds: where the texts begin in the row, and its length.
    """
    characters = b"".join(bytes(1) + text.encode("latin-1", "replace") + bytes(DEPTH) for text in texts)
    codes = np.frombuffer(characters, dtype=np.uint8).astype(np.int64)
    codes[bounds[:-1]] = _BEFORE
    codes[(bounds[1:, None] - np.arange(1, 1 + DEPTH)).ravel()] = _BEYOND
    return codes


def _word(openings: Sequence[Opening]) -> NDArray[np.uint64]:
    """For each place and character the bits of up to 64 openings that allow it: `(1 + DEPTH, n_codes)`.

    The start of a text may precede any match, and its end follow any opening that is not longer.
    """
    # (64, 1 + DEPTH, n_codes): whether an opening allows a character at a place.
    allows = np.zeros((_BITS, 1 + DEPTH, _CODES), dtype=np.uint8)
    for row, opening in enumerate(openings):
        sets = [*opening, *[ANYTHING] * (1 + DEPTH - len(opening))]
        octets = np.frombuffer(b"".join(one.to_bytes(CHARACTERS // 8, "little") for one in sets), dtype=np.uint8)
        allows[row, :, :CHARACTERS] = np.unpackbits(octets, bitorder="little").reshape(1 + DEPTH, CHARACTERS)
        allows[row, 0, _BEFORE] = 1
        allows[row, len(opening) :, _BEYOND] = 1
    octets = np.packbits(allows, axis=0, bitorder="little")
    return np.ascontiguousarray(np.moveaxis(octets, 0, -1)).view("<u8")[..., 0].astype(np.uint64)
