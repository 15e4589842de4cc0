"""The name of a known person in a text: any of its words in any order, with initials, in any spelling.

    name = Name("Ann García-Miller", "en")
    [spelling.string for spelling in name.spellings()]    ["ann", "garcia", "miller", "garciamiller", "agarcia", ...]
    spelt_out("Østergård")                                "oestergaard"; `fold` says "ostergard"
    other_names("guadalupe")                              {"lupe", "lupita", "pita"}; and of "lupe", {"guadalupe"}
    one_edit_away("gracia", ["garcia"])                   ["garcia"]

A word of a name may be spelt out (`oestergaard`), have signs or blanks between its letters (`Mac Donald`, `B.i.r.c.h`)
or be another form of a first name (`Lupe`); several may be one word, as in a user name (`aHill2`, `hillann`). `Hill` is
found in `AnnHill` and `hill7`, but not in `Hillary`. A typing error is an insertion, deletion, substitution or swap in
a word of five letters or more. The tables are `spellings.toml` and `ensemble/deidentification/nicknames.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words, shipped
from phistack.ensemble.stacking.known.signs import How, Place
from phistack.ensemble.stacking.repeats.search import NUMERALS, non_name_words
from phistack.features.letters import fold
from phistack.features.registry import packaged_table
from phistack.features.text_words import Reading, is_without_blanks, written_words

_SUREST: tuple[How, ...] = ("exact", "letters apart", "one typing error", "short form", "user name")
_SHORTEST, _SHORTEST_USER_NAME, _LONG_USER_NAME = 2, 5, 8
_AFTER_INITIAL = frozenset(".'’")
_GAP = re.compile(r"[ \t]{0,3},?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’_^/|+]")
_AFTER_SHORT = re.compile(r"\.[ \t]{0,3}[,-]?[ \t]{0,3}(?:\r?\n)?")
_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "spellings.toml")


def spelt_out(word: str) -> str:
    """The folded word, with two letters for letters such as `ø` and `ü`."""
    return fold(word.casefold().translate(str.maketrans(_tables()["letters"])))


@cache
def other_names(name: str) -> frozenset[str]:
    """Short forms of a folded first name, or the names that it is a short form of."""
    found: set[str] = set()
    for names in shipped("nicknames").values():
        found |= {*names.get(name, "").split()} | {full for full, short in names.items() if name in short.split()}
    return frozenset(map(fold, found))


def one_edit_away(word: str, known: Iterable[str]) -> list[str]:
    """The known words one typing error away from a word; none if it is a known word itself."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(word, [*known], scorer=OSA.distance, score_cutoff=1, limit=None)
    return [] if any(distance == 0 for _, distance, _ in found) else [near for near, _, _ in found]


class Spelling(NamedTuple):
    """A string that is an identifier, or a part of one.

    :param string: folded, without anything between its letters and digits.
    :param how: in what way a text with it is written; a user name must be one word.
    """

    string: str
    n_words: int = 1
    how: How = "exact"


class Stretch(NamedTuple):
    """Pieces `first` to `after - 1` of a text, which are one or more words of a name."""

    first: int
    after: int
    how: How = "exact"
    n_words: int = 1

    @property
    def rank(self) -> tuple[int, int]:
        """A sort key: the longest first, then the surest."""
        return -self.after, _SUREST.index(self.how)


class Name:
    """The name of a person.

    :param value: in its plain view.
    """

    def __init__(self, value: str, language: str) -> None:
        no_names = non_name_words(language) | NUMERALS
        never = known_words(language, "names", "credentials") | NUMERALS
        written = written_words(value)
        own = list(map(fold, written))
        self._initials = {word[0] for word in own if word[0].isalpha()}
        # The last word always counts (`Danny Le`, `Ann Nurse`), unless it is a credential.
        long = [word for word in written if len(word) >= _SHORTEST]
        self._parts = [
            word for word in long if fold(word) not in no_names or (fold(word) == own[-1] and own[-1] not in never)
        ] or long
        # A hyphen or an apostrophe may be left out.
        self._unbroken = [words for part in value.split() if len(words := written_words(part)) > 1]
        last, _, first = value.partition(",")
        others = never | known_words(language, "names", "titles")
        self._in_order = [word for word in written_words(f"{first} {last}") if fold(word) not in others]

    @property
    def long_words(self) -> list[str]:
        """The strings that may have a typing error."""
        unbroken = {form for words in self._unbroken for form in _forms(words)}
        return [
            string
            for string, n_words, how in self.spellings()
            if how == "exact" and (n_words == 1 or string in unbroken or len(string) > _LONG_USER_NAME)
        ]

    def spellings(self, *, with_short_forms: bool = True) -> Iterator[Spelling]:
        """All parts of the name, with short forms of first names, and the full names of a short form."""
        for part in self._parts:
            yield from map(Spelling, _forms([part]))
            if with_short_forms:
                yield from (Spelling(other, 1, "short form") for other in sorted(other_names(fold(part))))
            if is_without_blanks(part) and len(part) > _SHORTEST:
                # The family name is the first character or two; the first two of four.
                yield from (Spelling(fold(some)) for some in (part[-2:], part[:2] if len(part) > 3 else part))
        for words in (*self._unbroken, *_together(self._in_order)):
            n_long = sum(len(word) > 1 or is_without_blanks(word) for word in words)
            for string in _forms(words):
                if n_long > 1 or words in self._unbroken:
                    yield Spelling(string, len(words))
                elif len(string) >= _SHORTEST_USER_NAME:
                    yield Spelling(string, 1, "user name")

    def places(self, reading: Reading, stretches: Mapping[int, Stretch]) -> Iterator[Place]:
        """The longest runs of words of the name and its initials.

        :param stretches: by their first pieces.
        """
        behind = 0
        for first in sorted(stretches):
            if first >= behind:
                run = self._run(reading, stretches, first, behind)
                behind = run[-1].after
                yield _place(reading, run, stretches)

    def _run(self, reading: Reading, stretches: Mapping[int, Stretch], first: int, behind: int) -> list[Stretch]:
        """A word of the name with the words and initials before and behind it."""
        run = [stretches[first]]
        if run[0].how == "user name":
            return run
        while (at := run[0].first - 1) >= behind and self._is_initial(reading, at) and _is_near(reading, at + 1):
            run.insert(0, Stretch(at, at + 1))
        while (at := run[-1].after) < len(reading) and _is_near(reading, at):
            # Any initial between two words of a name is a part of it.
            is_between = len(reading.folded[at]) == 1 and at + 1 in stretches and _is_near(reading, at + 1)
            following = stretches.get(at)
            if following is None and (is_between or self._is_initial(reading, at)):
                run.append(Stretch(at, at + 1))
            elif following is None or following.how == "user name" or _is_again(reading, run, following):
                break
            else:
                run.append(following)
        return run

    def _is_initial(self, reading: Reading, at: int) -> bool:
        start, end = reading.places[at]
        is_written = reading.text[start].isupper() or reading.text[end : end + 1] in _AFTER_INITIAL
        return is_written and end - start == 1 and reading.folded[at] in self._initials


def _forms(words: Sequence[str]) -> tuple[str, ...]:
    word = "".join(words)
    return tuple(dict.fromkeys((fold(word), spelt_out(word))))


def _together(words: list[str]) -> Iterator[list[str]]:
    """Words of a name that may be joined: in order, the last ones first, or with initials of the others."""
    for count in range(2, len(words) + 1):
        yield from (words[at : at + count] for at in range(len(words) - count + 1))
    for at in range(1, len(words)):
        yield words[at:] + words[:at]
        for one in (words[0], words[0][0], "".join(word[0] for word in words[:at])):
            yield from ([one, words[at]], [words[at], one])
        yield [words[0], words[at][0]]


def is_sentence_end(reading: Reading, at: int) -> bool:
    """Whether a full stop and a blank are before a piece, but no initial before these."""
    gap = reading.gap(at)
    return len(reading.folded[at - 1]) > _SHORTEST and gap[:1] == "." and gap[1:2].isspace()


def _is_near(reading: Reading, at: int) -> bool:
    """Whether a piece and the one before it may be in one name; a full stop only follows initials."""
    gap, is_short = reading.gap(at), len(reading.folded[at - 1]) <= _SHORTEST
    return _GAP.fullmatch(gap) is not None or (is_short and _AFTER_SHORT.fullmatch(gap) is not None)


def _is_again(reading: Reading, run: Sequence[Stretch], after: Stretch) -> bool:
    """Whether a run already has a word of the name, with a sign between, as if the name is repeated."""
    words = {word for word in reading.folded[after.first : after.after] if len(word) > 1}
    before = (word for one in run for word in reading.folded[one.first : one.after])
    return reading.gap(after.first).strip() != "" and not words.isdisjoint(before)


def _place(reading: Reading, run: Sequence[Stretch], stretches: Mapping[int, Stretch]) -> Place:
    of_name = [one for one in run if one.first in stretches]
    has_initial = any(len(reading.folded[one.first]) == 1 for one in run if one.first not in stretches)
    start, end = reading.place(run[0].first, run[-1].after)
    end += len(reading.folded[run[-1].after - 1]) == 1 and reading.text[end : end + 1] == "."
    how = max((one.how for one in of_name), key=_SUREST.index)
    how = "initials" if how == "exact" and has_initial else how
    # Two words of a name support each other, but not two short forms, as in `we will bill you`.
    if sum(one.n_words for one in of_name) > 1 and any(one.how != "short form" for one in of_name):
        return Place(start, end, how)
    needs_sign = len(run) == len(of_name) and any(_is_doubtful(reading, one) for one in of_name)
    return Place(start, end, how, tuple(word for one in of_name for word in doubtful_words(reading, one)), needs_sign)


def doubtful_words(reading: Reading, stretch: Stretch) -> tuple[str, ...]:
    """The folded words of a stretch that may be words of the language; none if its signs exclude that."""
    places = reading.words(stretch.first, stretch.after)
    words = tuple("".join(reading.folded[first:after]) for first, after in places)
    has_signs = all(reading.gap(first).strip() for first, _ in places[1:])
    is_name = reading.text[reading.places[stretch.first][0]].isupper() and has_signs
    return () if len(words) > 1 and (is_name or all(len(word) == 1 for word in words)) else words


def _is_doubtful(reading: Reading, stretch: Stretch) -> bool:
    """Whether a single word is ambiguous: a short user name, or a short form in small letters."""
    start, end = reading.place(stretch.first, stretch.after)
    if stretch.how == "user name":
        beside = reading.text[max(0, start - 1) : start] + reading.text[end : end + 1]
        is_small = stretch.after - stretch.first == 1 and end - start < _LONG_USER_NAME
        return is_small and not any(c.isdigit() or c in "@#_" for c in beside)
    return stretch.how == "short form" and (reading.text[start].islower() or end - start <= _SHORTEST + 1)
