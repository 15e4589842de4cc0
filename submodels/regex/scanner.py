"""Many patterns searched in many texts at once.

    scanner = Scanner(patterns)
    list(scanner.find(["seen on 3 May"], "en"))     [(0, 12, 8, 13)]: in text 0 the pattern 12 matches 8 to 13

Gives what each pattern's `finditer` gives, and tries a pattern only where one of its openings stands (see
`submodels.regex.openings`). All openings are looked for in one pass over the texts: each has a bit, each character at
each place of an opening the bits that allow it, and where the conjunction over the places is not zero, something may
begin (bit-parallel matching, Baeza-Yates and Gonnet 1992). Where every match has a sign, such as the `@` of an address,
a pattern is tried only where one follows soon enough (see `submodels.regex.needs`). Libraries that search for many
patterns at once, RE2 and Hyperscan, know no lookaround, which most patterns have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from phistack.submodels.regex.needs import Need, need_of
from phistack.submodels.regex.openings import ANYTHING, CHARACTERS, DEPTH, Opening, openings
from phistack.submodels.regex.pattern_files import Pattern

_BEFORE, _BEYOND = CHARACTERS, CHARACTERS + 1
_BITS = 64
_DENSE = 8

Places = NDArray[np.int64]
Match = tuple[int, int, int, int]
"""The numbers of a text and of a pattern, and the start and end of the PHI."""


class Scanner:
    """Patterns ready to be searched together.

    :param patterns: their order gives them their numbers.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = tuple(patterns)
        rows = sorted(
            (opening[1], opening, number)
            for number, pattern in enumerate(self.patterns)
            for opening in openings(pattern.compiled)
        )
        # Openings with like first characters share a word, so that most places of a text are soon done with.
        self._allowed = [_word([opening for _, opening, _ in rows[i : i + _BITS]]) for i in range(0, len(rows), _BITS)]
        self._pairs = [_pairs(self._allowed[i : i + _BITS]) for i in range(0, len(self._allowed), _BITS)]
        self._bits: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for row, (_, _, number) in enumerate(rows):
            word, bit = row // _BITS, 1 << row % _BITS
            self._bits[number][word] = self._bits[number].get(word, 0) | bit
        self._needs = [need_of(pattern.compiled) for pattern in self.patterns]

    def find(self, texts: Sequence[str], language: str) -> Iterator[Match]:
        """What the patterns find, by pattern and then in the order of the texts; see `Pattern.find`."""
        bounds = np.cumsum([0, *(len(text) + 1 + DEPTH for text in texts)])
        codes = _codes_of(texts, bounds)
        found = self._openings_in(codes)
        signs = {sign: np.flatnonzero(codes == ord(sign)) for sign in {need.sign for need in self._needs if need}}
        for number, pattern in enumerate(self.patterns):
            places = self._places(number, found, int(bounds[-1]) // _DENSE)
            if places is None:
                for i, text in enumerate(texts):
                    yield from ((i, number, start, end) for start, end in pattern.find(text, language))
                continue
            if need := self._needs[number]:
                places = _before(signs[need.sign], places, need)
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
        """For each word of bits the places where some opening stands, and the bits of all that stand there."""
        last = max(len(codes) - DEPTH, 1)
        # (n_codes - DEPTH,) and (n_at,): first the two places that rule out most, for up to 64 words at once; then what
        # is left, place by place.
        pairs = codes[: last - 1] * (CHARACTERS + 2) + codes[1:last]
        found = []
        for begin, table in zip(range(0, len(self._allowed), _BITS), self._pairs, strict=True):
            words = table.ravel().take(pairs)
            anywhere = np.flatnonzero(words)
            words = words[anywhere]
            for number, allowed in enumerate(self._allowed[begin : begin + _BITS]):
                at = anywhere[words & np.uint64(1 << number) != 0]
                bits = allowed[0][codes[at]]
                for place in range(1, 1 + DEPTH):
                    bits &= allowed[place][codes[at + place]]
                    going_on = bits != 0
                    at, bits = at[going_on], bits[going_on]
                found.append((at, bits))
        return found

    def _places(self, number: int, found: Sequence[tuple[Places, NDArray[np.uint64]]], most: int) -> Places | None:
        """Before which places a pattern may begin, in order; `None` if it may anywhere, or at more than `most`."""
        if number not in self._bits:
            return None
        parts = [found[word][0][found[word][1] & np.uint64(bits) != 0] for word, bits in self._bits[number].items()]
        if max(map(len, parts)) > most:
            return None
        places = np.unique(np.concatenate(parts)) if len(parts) > 1 else parts[0]
        return places if len(places) <= most else None


def _before(signs: Places, places: Places, need: Need) -> Places:
    """The places of those given that are far enough before a sign, and not too far.

    :param signs: where the sign stands that is needed.
    :param places: of the character before a match.
    """
    begins = places + 1
    is_there = signs.searchsorted(begins + need.least) < signs.searchsorted(begins + need.most, side="right")
    found: Places = places[is_there]
    return found


def _codes_of(texts: Sequence[str], bounds: Places) -> Places:
    """All texts in one row, of shape `(n_codes,)`.

    Each has one code before it and DEPTH codes behind it that are no character, so that no opening runs from one text
    into the next.

    :param bounds: where the texts begin in the row, and its length.
    """
    characters = b"".join(bytes(1) + text.encode("latin-1", "replace") + bytes(DEPTH) for text in texts)
    codes = np.frombuffer(characters, dtype=np.uint8).astype(np.int64)
    codes[bounds[:-1]] = _BEFORE
    codes[(bounds[1:, None] - np.arange(1, 1 + DEPTH)).ravel()] = _BEYOND
    return codes


def _pairs(words: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """In which of up to 64 words some opening allows a character and the next one, a bit a word.

    :param words: as `_word` gives them.
    :returns: of shape `(n_characters + 2, n_characters + 2)`.
    """
    table = np.zeros((CHARACTERS + 2, CHARACTERS + 2), dtype=np.uint64)
    for number, allowed in enumerate(words):
        table |= ((allowed[0][:, None] & allowed[1]) != 0).astype(np.uint64) << np.uint64(number)
    return table


def _word(openings: Sequence[Opening]) -> NDArray[np.uint64]:
    """For each place and character the bits of up to 64 openings that allow it: `(1 + DEPTH, n_characters + 2)`.

    Before a text only what stands before a match is allowed, and beyond its end what an opening does not look at.
    """
    # (64, 1 + DEPTH, n_characters + 2): whether an opening allows a character at a place.
    allows = np.zeros((_BITS, 1 + DEPTH, CHARACTERS + 2), dtype=np.uint8)
    for row, opening in enumerate(openings):
        sets = [*opening, *[ANYTHING] * (1 + DEPTH - len(opening))]
        octets = np.frombuffer(b"".join(one.to_bytes(CHARACTERS // 8, "little") for one in sets), dtype=np.uint8)
        allows[row, :, :CHARACTERS] = np.unpackbits(octets, bitorder="little").reshape(1 + DEPTH, CHARACTERS)
        allows[row, 0, _BEFORE] = 1
        allows[row, len(opening) :, _BEYOND] = 1
    octets = np.packbits(allows, axis=0, bitorder="little")
    return np.ascontiguousarray(np.moveaxis(octets, 0, -1)).view("<u8")[..., 0].astype(np.uint64)
