"""Lists of names, places and institutions, and where a text has their entries.

    lists = DutchLists.shipped()
    reading = Reading("Gezien door J. van der Berg")
    lists.end("titles", reading, 2)          the token after the longest title that begins at the third token, or 2
    lists.has("family", "Hendrix")           True: one edit from Hendriks

Upper case and accents do not count. A long word is also found one edit away (Damerau 1964).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

from phistack.ensemble.stacking.known.names import one_edit_away
from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.letters import fold
from phistack.features.registry import packaged_table
from phistack.features.tokens import Tokeniser, offsets_of

ListEntry = tuple[str, ...]
"""The folded tokens of an entry."""

KINDS_OF_INSTITUTIONS, KNOWN_INSTITUTIONS = "institutions", "known_institutions"
_SECTIONS = ("names", "places", KINDS_OF_INSTITUTIONS, KNOWN_INSTITUTIONS, "exceptions")
_OF_LABELS = (KINDS_OF_INSTITUTIONS, KNOWN_INSTITUTIONS)
_BY_WORD = ("given", "family", "ambiguous", "words", "prepositions")
"""Lists whose entries are words; in all others each line is an entry."""

_LONG_WORD = 6
_WIDEST_GAP = 2
_BEFORE_SENTENCES = (".", "!", "?", ":", ";", "-", "*", "•")


class Reading:
    """The tokens of a text: runs of letters, runs of digits and single others.

    `words` are as they are written, `folded` in small letters without accents; `gaps` is the white space before each.
    """

    def __init__(self, text: str) -> None:
        self.words, self.gaps = Tokeniser().cut(text)
        starts, ends = offsets_of(self.words, self.gaps)
        self.folded = list(map(fold, self.words))
        self.starts, self.ends = starts.tolist(), ends.tolist()

    def __len__(self) -> int:
        return len(self.words)

    def joins(self, i: int) -> bool:
        """Whether a token follows the one before in the same line."""
        return 0 < i < len(self) and len(self.gaps[i]) <= _WIDEST_GAP and not self.gaps[i].strip(" \t")

    def glued(self, i: int) -> bool:
        """Whether a token follows the one before without a blank."""
        return 0 < i < len(self) and not self.gaps[i]

    def is_capital(self, i: int) -> bool:
        """Whether a token is a word that begins with a capital."""
        return i < len(self) and self.words[i][0].isupper() and self.words[i].isalpha()

    def is_first(self, i: int) -> bool:
        """Whether a token begins a sentence or line, so that its capital says nothing."""
        return not self.joins(i) or self.words[i - 1] in _BEFORE_SENTENCES


@dataclass(frozen=True)
class DutchLists:
    """Entries by the name of their list; those of institutions by the type of these, after a full stop.

    :param entries: such as `given`, `towns`, `institutions.Hospital` -> entries.
    """

    entries: Mapping[str, frozenset[ListEntry]] = field(repr=False)

    @classmethod
    def shipped(cls, path: str = "") -> Self:
        """Our lists.

        :param path: of a file that adds to them; empty for none.
        :raises SettingsError: if it cannot be used.
        """
        entries = _shipped()
        if path:
            with file_named("the file of lists", Path(path)):
                added = _entries_of(read_toml(Path(path)), known=entries)
            entries = {name: found | added.get(name, frozenset()) for name, found in entries.items()}
        return cls(entries)

    @cached_property
    def _longest(self) -> dict[str, int]:
        return {name: max(map(len, found), default=0) for name, found in self.entries.items()}

    def end(self, name: str, reading: Reading, i: int) -> int:
        """The token after the longest entry of a list that begins at a token; the token itself if there is none."""
        for n in range(min(self._longest[name], len(reading) - i), 0, -1):
            same_line = all(reading.joins(j) for j in range(i + 1, i + n))
            if same_line and tuple(reading.folded[i : i + n]) in self.entries[name]:
                return i + n
        return i

    def has(self, name: str, word: str, *, fuzzy: bool = False) -> bool:
        """Whether a list has a word; with `fuzzy` also a long word that is one edit away."""
        folded = fold(word)
        if (folded,) in self.entries[name]:
            return True
        if not fuzzy or len(folded) < _LONG_WORD:
            return False
        return bool(one_edit_away(folded, self.endings[name]))

    @cached_property
    def endings(self) -> dict[str, tuple[str, ...]]:
        """List -> its long words, in which a longer word may end."""
        return {
            name: tuple(sorted(entry[0] for entry in found if len(entry) == 1 and len(entry[0]) >= _LONG_WORD))
            for name, found in self.entries.items()
        }

    def labels(self, section: str) -> list[str]:
        """The types of institutions of which there are lists, as the names of these."""
        return [name for name in self.entries if name.startswith(f"{section}.")]

    def to_dict(self) -> dict[str, list[str]]:
        """What an engine keeps."""
        return {name: sorted(map(" ".join, found)) for name, found in self.entries.items()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Iterable[str]]) -> Self:
        """What `to_dict` gave; lists that there were not yet are empty."""
        split = {name: [tuple(entry.split(" ")) for entry in state.get(name, ())] for name in _shipped()}
        return cls({name: frozenset(entries) for name, entries in split.items()})


@cache
def _shipped() -> dict[str, frozenset[ListEntry]]:
    return _entries_of(packaged_table("phistack.ensemble.papers.deduce", "nl.toml"))


def _entries_of(table: Mapping[str, Any], known: Mapping[str, object] | None = None) -> dict[str, frozenset[ListEntry]]:
    """The lists of a file; :raises SettingsError: for what is no list of words."""
    found: dict[str, frozenset[ListEntry]] = {}
    for section, lists in table.items():
        if section not in _SECTIONS or not isinstance(lists, Mapping):
            raise SettingsError(no_such("table of lists", section, _SECTIONS))
        for name, text in lists.items():
            key = f"{section}.{name}" if section in _OF_LABELS else name
            if known is not None and key not in known:
                raise SettingsError(no_such("list", key, known))
            if not isinstance(text, str):
                raise SettingsError(f"the list {name} must be a text with its entries, as the shipped ones are")
            parts = text.split() if name in _BY_WORD else text.splitlines()
            cut = (tuple(map(fold, Tokeniser().cut(part)[0])) for part in parts)
            found[key] = frozenset(entry for entry in cut if entry)
    return found
