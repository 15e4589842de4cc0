"""What is known of one patient: names, in which role they stand, and every identifier.

    memory = PatientMemory()
    memory.add("Johnson, Ann", "PERSON", "en")
    memory.canonical("johnsson")          "johnson": an edit away, and itself no known name
    "johnson, ann" in memory.identifiers  True

It holds originals, so it lives in working memory only and is never written anywhere; `repr` shows sizes. A memory of
one note is made for each note anyway; a caller who holds several notes of a patient can fill one for all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from ensemble.deidentification.dates import four_digit_year, order_shown_by
from ensemble.deidentification.letters import normalised
from ensemble.deidentification.name_forms import NameForm, parse_name
from ensemble.deidentification.name_tables import is_known_name

__all__ = ["PatientMemory", "edits"]

_LONG_ENOUGH_FOR = ((8, 2), (5, 1))


@dataclass
class PatientMemory:
    """Names and identifiers of one patient, as far as they were added.

    :ivar identifiers: every mention of PHI, normalised.
    :ivar latest_year: the latest year written with four digits in a date.
    :ivar day_first: how many dates show that the day is before the month, and how many the contrary.
    :ivar documents: ids of the notes that were added.
    """

    identifiers: set[str] = field(default_factory=set, repr=False)
    latest_year: int | None = field(default=None, repr=False)
    day_first: Counter[bool] = field(default_factory=Counter, repr=False)
    documents: set[str] = field(default_factory=set)
    _roles: dict[str, Counter[str]] = field(default_factory=dict, repr=False)
    _people: Counter[tuple[str, ...]] = field(default_factory=Counter, repr=False)
    _order: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)

    _NAMED: ClassVar[frozenset[str]] = frozenset({"PERSON", "INITIALS"})

    def copy(self) -> PatientMemory:
        """The same knowledge, to be added to without changing this one."""
        return PatientMemory(
            set(self.identifiers),
            self.latest_year,
            Counter(self.day_first),
            set(self.documents),
            {name: Counter(roles) for name, roles in self._roles.items()},
            Counter(self._people),
            {label: dict(order) for label, order in self._order.items()},
        )

    def add(self, mention: str, kind: str, language: str) -> None:
        """Remember one mention."""
        self.identifiers.add(normalised(mention))
        if kind == "DATE":
            year = four_digit_year(mention)
            self.latest_year = max(self.latest_year or 0, year) if year else self.latest_year
            self.day_first.update(order_shown_by(mention))
        form = parse_name(mention, language) if kind in self._NAMED else None
        if form is not None:
            self._add_name(form)

    def _add_name(self, form: NameForm) -> None:
        self._people[form.words] += 1
        if len(form.words) > 1:
            for word, role in form.roles:
                if role in ("first", "last"):
                    self._roles.setdefault(word, Counter())[role] += 1
        else:
            for word in form.words:
                self._roles.setdefault(word, Counter())

    def companions(self, word: str) -> frozenset[str]:
        """The folded words of every mention that has the word, or one of which it is a misspelling."""
        meant = self.canonical(word)
        return frozenset(other for person in self._people if meant in map(self.canonical, person) for other in person)

    @property
    def names(self) -> frozenset[str]:
        """Every folded word of a name."""
        return frozenset(self._roles)

    def role(self, word: str) -> str | None:
        """`first` or `last`, as the word stands in longer names of the patient's notes; nothing if in none."""
        roles = self._roles.get(self.canonical(word))
        return roles.most_common(1)[0][0] if roles else None

    def canonical(self, word: str) -> str:
        """The known name of which a folded word is a misspelling; the word itself if of none.

        A misspelling is one edit away from a name of five letters or more, two from one of eight or more, and is not
        itself a frequent name: Hansen and Jansen stay two persons. A word seen as often as the name is none either.
        """
        if is_known_name(word):
            return word
        allowed = next((n for letters, n in _LONG_ENOUGH_FOR if len(word) >= letters), 0)
        if not allowed:
            return word
        near = [name for name in self._roles if name != word and edits(word, name, allowed) <= allowed]
        better = [name for name in near if self._rank(name) > self._rank(word)]
        return max(better, key=self._rank, default=word)

    def _rank(self, name: str) -> tuple[bool, int, str]:
        """Frequent names before others, then those seen in more mentions; the alphabet settles the rest."""
        return is_known_name(name), sum(n for words, n in self._people.items() if name in words), name

    def identity(self, mention: str, kind: str, language: str) -> str:
        """Whom or what a mention names: a shorter form of a name is the only longer name that holds all its words."""
        form = parse_name(mention, language) if kind in self._NAMED else None
        if form is None or not form.words:
            return normalised(mention)
        words = {self.canonical(word) for word in form.words}
        known = {tuple(self.canonical(word) for word in person) for person in self._people}
        longer = {person for person in known if words < set(person)}
        longest = {person for person in longer if not any(set(person) < set(other) for other in longer)}
        whom = longest.pop() if len({frozenset(person) for person in longest}) == 1 else tuple(words)
        return " ".join(sorted(set(whom)))

    def order(self, label: str, identity: str) -> int:
        """1 for the first identity asked for under a label, 2 for the second, and so on."""
        return self._order.setdefault(label, {}).setdefault(identity, len(self._order[label]) + 1)


def edits(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two words, or `limit` + 1 if more.

    This is the restricted edit distance of Damerau (1964).
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before, row = list(range(len(b) + 1)), list(range(len(b) + 1))
    for i, c in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, d in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (c != d)))
            if i > 1 and j > 1 and c == b[j - 2] and d == a[i - 2]:
                row[-1] = min(row[-1], older[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
