"""Rules for towns and countries, and for institutions: a word that says what kind it is beside words with a capital.

list(PlaceRules(DutchLists.shipped()).find(Reading.of("naar Huize Eikenrode in Zwolle")))
[Found(1, 3, "Care_Institute", "kind of institution"), Found(4, 5, "Address", "town")]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from phistack.ensemble.papers.deduce.lists import KINDS_OF_INSTITUTIONS, KNOWN_INSTITUTIONS, DutchLists, Reading
from phistack.ensemble.papers.deduce.names import Found

ADDRESS = "Address"
_INTERNAL = "Internal_Location"
_ARTICLES = ("de", "het")
_MOST_AFTER, _MOST_BEFORE = 4, 2


@dataclass(frozen=True)
class PlaceRules:
    """The rules over some lists.

    :param fuzzy: whether a long word one edit from a town of a list counts as that.
    """

    lists: DutchLists
    fuzzy: bool = True

    def find(self, reading: Reading) -> Iterator[Found]:
        """All institutions, towns and countries; they may overlap."""
        for i in range(len(reading)):
            yield from self._of_a_kind(reading, i)
            yield from self._known(reading, i)
            yield from self._town(reading, i)

    def _of_a_kind(self, reading: Reading, i: int) -> Iterator[Found]:
        for name in self.lists.labels(KINDS_OF_INSTITUTIONS):
            end = self._kind(name, reading, i)
            if end == i:
                continue
            label = name.partition(".")[2]
            last = self._after(reading, end, numbered=label == _INTERNAL)
            first = self._before(reading, i) if last == end and reading.is_capital(i) and label != _INTERNAL else i
            if (first, last) != (i, end):
                yield Found(first, last, label, "kind of institution")

    def _kind(self, name: str, reading: Reading, i: int) -> int:
        """The token after a kind of institution; a longer word may end in one."""
        end = self.lists.end(name, reading, i)
        return end if end > i else i + reading.folded[i].endswith(self.lists.endings[name])

    def _after(self, reading: Reading, i: int, *, numbered: bool) -> int:
        """The token after the name that follows a kind: words with a capital, or for a ward also a number or code."""
        first = i
        while i - first < _MOST_AFTER and reading.joins(i):
            is_number = numbered and reading.words[i].isdecimal()
            idle = self.lists.has("words", reading.words[i]) and not (i == first and reading.folded[i] in _ARTICLES)
            is_name = reading.is_capital(i) and not idle
            if not (is_number or is_name):
                break
            i += 1
            while reading.glued(i) and reading.words[i].isalnum() and numbered:
                i += 1
        return i

    def _before(self, reading: Reading, i: int) -> int:
        """The first of the words with a capital before a kind."""
        first = i
        while i - first < _MOST_BEFORE and reading.joins(first) and reading.is_capital(first - 1):
            if self.lists.has("words", reading.words[first - 1]):
                break
            first -= 1
        return first

    def _known(self, reading: Reading, i: int) -> Iterator[Found]:
        for name in self.lists.labels(KNOWN_INSTITUTIONS):
            end = self.lists.end(name, reading, i)
            if end > i and not reading.words[i].islower():
                yield Found(i, end, name.partition(".")[2], "known institution")

    def _town(self, reading: Reading, i: int) -> Iterator[Found]:
        if not reading.is_capital(i) and reading.words[i] not in ("'", "’"):
            return
        after_preposition = reading.joins(i) and self.lists.has("prepositions", reading.words[i - 1])
        end = self.lists.end("towns", reading, i)
        if end == i and (after_preposition or not reading.is_first(i)):
            end += self.lists.has("towns", reading.words[i], fuzzy=self.fuzzy)
        unsure = end == i or self.lists.end("ambiguous_towns", reading, i) > i
        end = max(end, self.lists.end("ambiguous_towns", reading, i))
        if end > i and (after_preposition or not unsure):
            yield Found(i, end, ADDRESS, "town")
