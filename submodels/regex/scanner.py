"""Many patterns searched in many texts at once.

    scanner = Scanner(patterns)
    list(scanner.find(["seen on 3 May"], "en"))     [(0, 12, 8, 13)]: in text 0 the pattern 12 matches 8 to 13

Finds what each pattern's own search finds, but tries a shipped pattern only where the text has one of its openings (see
`submodels.regex.openings`). All openings are looked for in one pass over the texts: each has a bit, each character at
each place of an opening the bits of the openings that allow it, and where the conjunction over the places is not zero,
a match may begin (bit-parallel matching, Baeza-Yates and Gonnet 1992). Libraries that search for many patterns at once,
RE2 and Hyperscan, have no lookaround, which most patterns use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from phistack.features.limited_regex import flags_of
from phistack.submodels.regex.openings import ANYTHING, CHARACTERS, DEPTH, Opening, Sign, openings
from phistack.submodels.regex.pattern_files import Pattern

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
        self._signs: dict[int, Sign] = {}
        for number, pattern in enumerate(self.patterns):
            if pattern.shipped:
                found, sign = openings(pattern.regex, flags_of(pattern.flags))
                rows += [(opening[1], opening, number) for opening in found]
                self._signs |= {number: sign} if sign else {}
        rows.sort()
        # Openings with like first characters share a word, so that most places of a text are soon done with.
        self._words = [_word([opening for _, opening, _ in rows[i : i + _BITS]]) for i in range(0, len(rows), _BITS)]
        # Whether some opening of a word allows a character and the next one, a bit for each of up to 64 words.
        self._pairs = np.zeros((-(-len(self._words) // _BITS), _CODES, _CODES), dtype=np.uint64)
        for number, places in enumerate(self._words):
            allowed = (places[0][:, None] & places[1]) != 0
            self._pairs[number // _BITS] |= allowed.astype(np.uint64) << np.uint64(number % _BITS)
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
        at_signs = {
            sign: np.flatnonzero(codes == ord(sign)) for sign in {sign.character for sign in self._signs.values()}
        }
        for number, pattern in enumerate(self.patterns):
            places = self._places(number, found, int(bounds[-1]) // _DENSE)
            if places is None:
                yield from ((i, number, start, end) for i, start, end in pattern.find_in(texts, language))
                continue
            if sign := self._signs.get(number):
                where = at_signs[sign.character]
                first, behind = where.searchsorted(places + 1 + sign.least), where.searchsorted(places + 2 + sign.most)
                places = places[first < behind]
            if not len(places):
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
        # (n_codes - DEPTH,) and (n_at,): first the two places that rule out most, for many words at once.
        pairs = codes[: last - 1] * _CODES + codes[1:last]
        found = []
        for number, word in enumerate(self._words):
            if number % _BITS == 0:
                words = self._pairs[number // _BITS].ravel().take(pairs)
                anywhere = np.flatnonzero(words)
                words = words[anywhere]
            at = anywhere[words & np.uint64(1 << number % _BITS) != 0]
            bits = word[0][codes[at]]
            for place in range(1, 1 + DEPTH):
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

    Before each text is one code, and behind it are DEPTH codes, that are no character: no opening spans two texts.

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
