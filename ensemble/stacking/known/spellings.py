"""Spelling variants of a word: transliteration, short forms of first names, typing errors.

    spelt_out("Østergård")                     "oestergaard"; `fold` says "ostergard"
    other_names("guadalupe")                   {"lupe", "lupita", "pita"}; and of "lupe", {"guadalupe"}
    Misspellings(["garcia"]).of("gracia")      ["garcia"]

A typing error is an insertion, deletion, substitution or swap in a word of five letters or more. The tables are in
`spellings.toml`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache, partial

from phistack.features.letters import edits, fold
from phistack.features.registry import packaged_table

_LONG_WORD = 5
_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "spellings.toml")


def spelt_out(word: str) -> str:
    """The folded word, with two letters for letters such as `ø` and `ü`."""
    return fold(word.casefold().translate(str.maketrans(_tables()["letters"])))


@cache
def other_names(name: str) -> frozenset[str]:
    """Short forms of a folded first name, or the names that it is a short form of."""
    found: set[str] = set()
    for names in _tables()["nicknames"].values():
        found |= {*names.get(name, "").split()} | {full for full, short in names.items() if name in short.split()}
    return frozenset(map(fold, found))


class Misspellings:
    """Known words that a word equals but for one typing error.

    Two words that are one edit apart become equal by deleting at most one letter of each, so known words are indexed
    by their deletions (symmetric deletion, Garbe 2012), and the edits counted for the few that are found.

    :param words: folded; those of less than five letters, and with other characters, are left out.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_rest: defaultdict[str, list[str]] = defaultdict(list)
        long = [word for word in dict.fromkeys(words) if len(word) >= _LONG_WORD and word.isalpha()]
        self._longest = max(map(len, long), default=0)
        for word in long:
            for rest in _rests(word):
                self._by_rest[rest].append(word)

    def of(self, word: str) -> list[str]:
        """The known words that a folded word may mean; none if it is a known word."""
        if not _LONG_WORD - 1 <= len(word) <= self._longest + 1 or not word.isalpha():
            return []
        near = dict.fromkeys(known for rest in _rests(word) for known in self._by_rest.get(rest, ()))
        return [] if word in near else [known for known in near if edits(word, known, 1) == 1]


def _rests(word: str) -> dict[str, None]:
    return dict.fromkeys((word, *(word[:at] + word[at + 1 :] for at in range(len(word)))))
