"""What is known of one patient: names, the roles of their words, and every identifier.

    memory = PatientMemory()
    memory.add("Johnson, Ann", "PERSON", "en")
    memory.index.canonical("johnsson")    "johnson": an edit away, and no known name itself
    "johnson, ann" in memory.identifiers  True

It holds originals, so it stays in working memory and is never written; `repr` shows none of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from phistack.ensemble.deidentification.dates.ages import is_old
from phistack.ensemble.deidentification.dates.parsing import four_digit_year, order_shown_by, years_written
from phistack.ensemble.deidentification.names.parsing import parse_name
from phistack.ensemble.deidentification.names.tables import is_known_name, nearest_name
from phistack.features.documents import Document
from phistack.features.letters import edits, normalised

_AHEAD = 10
"""How many years a date may lie after the present year, which may be set earlier than the notes."""
NAMED = ("PERSON", "INITIALS")
"""The kinds that name people."""
_LONG_ENOUGH_FOR = ((8, 2), (5, 1))
_MOST_ALIKE = 200


class NameIndex:
    """The names of a patient by their words: misspellings, companions, fuller forms.

    A misspelling has five letters or more, is one edit away from a name (two if it has eight letters or more), begins
    with the same letter and is not itself a frequent name: Hansen and Jansen stay two people. If no note has such a
    name, the word means the frequent name one edit away, the same in every note. If more than 200 names begin with a
    letter, those of the notes are not linked, as most links would be due to chance.

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
        """The known name that a folded word misspells; the word itself if there is none."""
        if word not in self._canonical:
            self._canonical[word] = self._meant(word)
        return self._canonical[word]

    def companions(self, word: str) -> Set[str]:
        """The folded words of every mention that has the word, or the name that it misspells."""
        return self._companions.get(self.canonical(word), frozenset())

    def fullest(self, words: Iterable[str]) -> Set[str]:
        """The words of the longest mention that has all of these; only these if there is none, or more than one."""
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


@dataclass
class PatientMemory:
    """The names and identifiers of one patient that were added so far.

    :ivar identifiers: every mention of PHI, normalised.
    :ivar years: the latest year written with four digits in the dates of each note, by its id.
    :ivar short_years: the years written with two digits in the dates of each note, except dates of birth.
    :ivar is_old: whether an age over 89 is stated.
    :ivar day_first: how many dates show that the day comes first, and how many that the month does.
    :ivar documents: ids and texts of the notes that were added; a table may have one id in several rows.
    :ivar pronouns: how many pronouns of each sex the notes have.
    :ivar complete: whether all notes of the patient are known before the first surrogate is made. Then a surrogate that
        equals an identifier is made again, the same for every note, and a shifted date may equal a date of the notes,
        as that date is shifted too.
    """

    identifiers: set[str] = field(default_factory=set, repr=False)
    years: dict[str, int] = field(default_factory=dict, repr=False)
    short_years: dict[str, set[int]] = field(default_factory=dict, repr=False)
    is_old: bool = field(default=False, repr=False)
    day_first: Counter[bool] = field(default_factory=Counter, repr=False)
    documents: set[tuple[str, str]] = field(default_factory=set, repr=False)
    pronouns: Counter[str] = field(default_factory=Counter, repr=False)
    complete: bool = field(default=False, kw_only=True)
    _roles: dict[str, Counter[str]] = field(default_factory=dict, repr=False)
    _sexes: dict[str, Counter[str]] = field(default_factory=dict, repr=False)
    _people: Counter[tuple[str, ...]] = field(default_factory=Counter, repr=False)
    _order: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)
    _index: NameIndex | None = field(default=None, repr=False)

    def has(self, document: Document) -> bool:
        """Whether the identifiers of a note were added."""
        return (document.id, document.text) in self.documents

    def add(
        self,
        mention: str,
        kind: str,
        language: str,
        role: str = "",
        note: str = "",
        *,
        is_birth: bool = False,
        sex: str | None = None,
    ) -> None:
        """Remember one mention.

        :param role: `first` or `last` if the label says which part of a name it is.
        :param note: its id, for dates.
        :param is_birth: whether it is a date of birth.
        :param sex: the sex that the note states for the person.
        """
        self.identifiers.add(normalised(mention))
        if kind == "DATE":
            year = four_digit_year(mention)
            if year:
                self.years[note] = max(self.years.get(note, 0), year)
            elif not is_birth:
                short = {int(year) for year in years_written(mention, language)}
                self.short_years.setdefault(note, set()).update(short)
            self.day_first.update(order_shown_by(mention))
        if kind == "AGE":
            self.is_old = self.is_old or is_old(mention, language)
        form = parse_name(mention, language) if kind in NAMED else None
        if form is None:
            return
        self._people[form.words] += 1
        for word, by_place in form.roles:
            if sex and by_place != "last":
                self._sexes.setdefault(word, Counter())[sex] += 1
            if by_place in ("first", "last"):
                roles = self._roles.setdefault(word, Counter())
                if role or len(form.words) > 1:
                    roles[role or by_place] += 1
        self._index = None

    @property
    def latest_year(self) -> int | None:
        """The latest year written with four digits in a date of any note."""
        return max(self.years.values(), default=None)

    def latest_by(self, present: int, note: str | None = None) -> int | None:
        """The latest year in the dates of a note, or of all notes, two-digit years included.

        :param present: a two-digit year means the latest year that is at most ten years after this one, or after the
            latest four-digit year.
        """
        latest = max(present, self.latest_year or 0) + _AHEAD
        notes = self.years.keys() | self.short_years.keys() if note is None else {note}
        full = (self.years[one] for one in notes if one in self.years)
        short = (latest - (latest - year) % 100 for one in notes for year in self.short_years.get(one, ()))
        return max((*full, *short), default=None)

    @property
    def names(self) -> Set[str]:
        """Every folded word of a name."""
        return self._roles.keys()

    @property
    def index(self) -> NameIndex:
        """The names by their words."""
        if self._index is None:
            self._index = NameIndex(self._people)
        return self._index

    def role(self, word: str) -> str | None:
        """`first` or `last`, by the longer names of the patient's notes that hold the word; None if none does."""
        roles = self._roles.get(self.index.canonical(word))
        return roles.most_common(1)[0][0] if roles else None

    def sex(self, word: str) -> str | None:
        """`female` or `male`, whichever the notes state more often for people with this first name."""
        return _more_frequent(self._sexes.get(self.index.canonical(word)) or self._sexes.get(word) or Counter())

    @property
    def sex_by_pronouns(self) -> str | None:
        """The sex of most pronouns of the notes."""
        return _more_frequent(self.pronouns)

    def identity(self, mention: str, kind: str, language: str) -> str:
        """Whom or what a mention names: a short form of a name means the only longer name with all its words."""
        form = parse_name(mention, language) if kind in NAMED else None
        if form is None or not form.words:
            return normalised(mention)
        return " ".join(sorted(self.index.fullest(form.words)))

    def order(self, label: str, identity: str) -> int:
        """1 for the first identity asked for under a label, 2 for the second, and so on."""
        return self._order.setdefault(label, {}).setdefault(identity, len(self._order[label]) + 1)


def _more_frequent(counts: Counter[str]) -> str | None:
    """The most frequent item, if it is more frequent than any other."""
    first, second = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first[0] if first[1] > second[1] else None
