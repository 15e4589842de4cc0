"""The names of one patient by their words: misspellings, companions, fuller forms.

    index = NameIndex(Counter({("ann", "zelkowitz"): 3, ("zelkowits",): 1}))
    index.canonical("zelkowits")       "zelkowitz"
    index.fullest(("zelkowits",))      {"ann", "zelkowitz"}

A misspelling is one edit away from a name of five letters or more, two from one of eight or more, begins with the same
letter and is not itself a frequent name: Hansen and Jansen stay two persons. Where no note has such a name, it is the
frequent one an edit away, so that it means the same in every note. Where more than 200 names begin with a letter, those
of the notes are not linked, as most links would be by chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set

from phistack.ensemble.deidentification.names.tables import is_known_name, nearest_name
from phistack.features.letters import edits

_LONG_ENOUGH_FOR = ((8, 2), (5, 1))
_MOST_ALIKE = 200


class NameIndex:
    """Looks up names, all of whose mentions are known.

    :param people: the folded words of each mention, in order, and how often it occurs.
    """

    def __init__(self, people: Mapping[tuple[str, ...], int]) -> None:
        self._counts: Counter[str] = Counter()
        for words, count in people.items():
            self._counts.update(dict.fromkeys(words, count))
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for word in self._counts:
            self._by_letter[word[:1]].append(word)
        self._canonical: dict[str, str] = {}
        self._people: dict[str, set[frozenset[str]]] = defaultdict(set)
        self._companions: dict[str, set[str]] = defaultdict(set)
        for words in people:
            meant = frozenset(map(self.canonical, words))
            for word in meant:
                self._people[word].add(meant)
                self._companions[word].update(words)

    def canonical(self, word: str) -> str:
        """The known name of which a folded word is a misspelling; the word itself if of none."""
        if word not in self._canonical:
            self._canonical[word] = self._meant(word)
        return self._canonical[word]

    def companions(self, word: str) -> Set[str]:
        """The folded words of every mention that has the word, or one of which it is a misspelling."""
        return self._companions.get(self.canonical(word), frozenset())

    def fullest(self, words: Iterable[str]) -> Set[str]:
        """The words of the only longest mention that has all of these; these themselves if there is none or several."""
        wanted = frozenset(map(self.canonical, words))
        having = [self._people.get(word, set()) for word in wanted]
        longer = {person for person in set.intersection(*having) if wanted < person} if having else set()
        longest = [person for person in longer if not any(person < other for other in longer)]
        return longest[0] if len(longest) == 1 else wanted

    def _meant(self, word: str) -> str:
        allowed = next((n for letters, n in _LONG_ENOUGH_FOR if len(word) >= letters), 0)
        if not allowed or is_known_name(word):
            return word
        alike = self._by_letter.get(word[:1], [])
        better = [n for n in alike if self._rank(n) > self._rank(word)] if len(alike) <= _MOST_ALIKE else []
        within = [name for name in better if edits(word, name, allowed) <= allowed]
        return max(within, key=self._rank) if within else nearest_name(word) or word

    def _rank(self, name: str) -> tuple[bool, int, str]:
        """Frequent names before others, then those of more mentions; the alphabet settles the rest."""
        return is_known_name(name), self._counts[name], name
