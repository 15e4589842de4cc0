"""Known identifiers in a text, in any spelling: one index, and one pass over the text.

    index = KnownIndex(identifiers_of(record, label_set), "en")
    [(place.start, place.end, place.how) for _, place in index.find("Hill, A., is well")]      [(0, 8, "initials")]

    name      its words in any order and number, see `ensemble.stacking.known.names`; its initials alone, see `signs`
    phrase    the words of a value one after the other; of an address also each part between commas
    code      its letters and digits, however they are grouped; of a telephone number with or without country code
    date      whole or in part, see `ensemble.stacking.known.dates`

Case, accents and signs between letters and digits do not matter. A word of five letters or more may have a typing
error. Codes and phrases need at least four letters and digits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from phistack.ensemble.stacking.known.dates import KnownDates
from phistack.ensemble.stacking.known.names import (
    Name,
    Spelling,
    Stretch,
    doubtful_words,
    is_sentence_end,
    one_edit_away,
    spelt_out,
)
from phistack.ensemble.stacking.known.roster import Record, SearchedAs, label_of, roles, searched_as
from phistack.ensemble.stacking.known.signs import KnownInitials, Place
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.plain_view import plain_text
from phistack.features.text_words import Index, Reading, folded_words, is_without_blanks

_SHORTEST, _SHORTEST_PHONE, _LONGEST_COUNTRY = 4, 7, 3
_LONG_WORD = 5
_LETTERS_APART, _BLANKS_APART = 3, 6
"""The fewest letters of a word with gaps between all letters, and of one in small letters with blanks between some."""

_BEFORE_A_NAME = frozenset("mc mac o d l de di da du la le van von fitz ap".split())
"""A prefix that makes another name, as in McDonald."""

_BETWEEN = re.compile(r"(?:[^\w\n]|_){0,4}\n?(?:[^\w\n]|_){0,4}")
_WIDEST_GAPS: dict[SearchedAs, int] = {"code": 3, "phone": 3, "date": 1}
"""Kinds of identifiers found by letters and digits alone -> the most signs between two of them."""

_WHOLE_DATE, _AROUND = 7, 24
_COUNTRY = re.compile(
    r"(?<![^\W_])(?:\(\s?)?(?:(?:\+|\b00)\d{1,3}[\s()./-]{0,3}(?:\(0\)[\s./-]?)?|\b[01][\s./-])?\(?0?$"
)
_EXTENSION = re.compile(r"[\s,]{0,2}(?:x|ext(?:ension)?\b\.?|#|app(?:arat)?\b\.?)\s?\d{1,6}(?!\w)", re.IGNORECASE)


class Identifier(NamedTuple):
    """A known identifier of a person.

    :param value: as written in a record or a note, in its plain view.
    :param role: its relation to the patient, or the name of its column.
    """

    value: str
    label: str
    role: str
    kind: SearchedAs


def identifiers_of(record: Record, label_set: LabelSet) -> list[Identifier]:
    """The identifiers of a record that have a label of the set.

    :raises SettingsError: if the label set has no label for a column with a usual name.
    """
    labels = ((role, label_of(role, label_set) if role in roles() else role) for role in record)
    return [
        Identifier(plain_text(value), label, role, searched_as(role, label, label_set.name))
        for role, label in labels
        if label in label_set
        for value in record[role]
    ]


class KnownIndex:
    """An index of identifiers, for many texts.

    :param is_guessing: whether typing errors, initials alone, short forms and parts of dates count.
    """

    def __init__(self, identifiers: Iterable[Identifier], language: str, *, is_guessing: bool = True) -> None:
        self._identifiers = list(dict.fromkeys(identifiers))
        of_kind: defaultdict[SearchedAs, dict[int, str]] = defaultdict(dict)
        for number, identifier in enumerate(self._identifiers):
            of_kind[identifier.kind][number] = identifier.value
        self._is_guessing, self._has_phones = is_guessing, bool(of_kind["phone"])
        self._names = {number: Name(value, language) for number, value in of_kind["name"].items()}
        self._dates = KnownDates(of_kind["date"], language)
        self._initials = KnownInitials(of_kind["name"] if is_guessing else {}, language)
        numbers = range(len(self._identifiers))
        spellings = dict.fromkeys((number, spelling) for number in numbers for spelling in self._spellings(number))
        self._index = Index((spelling.string, (number, spelling)) for number, spelling in spellings)
        words = [word for name in self._names.values() for word in name.long_words]
        phrases = [*of_kind["phrase"].values(), *of_kind["address"].values()]
        every = dict.fromkeys([*words, *folded_words(" ".join(phrases))] if is_guessing else ())
        self._long_words = [word for word in every if len(word) >= _LONG_WORD and word.isalpha()]
        self._readings: dict[str, tuple[str, ...]] = {}

    def _spellings(self, number: int) -> Iterator[Spelling]:
        value, _, _, kind = self._identifiers[number]
        if kind == "name":
            yield from self._names[number].spellings(with_short_forms=self._is_guessing)
        elif kind == "phone":
            yield from map(Spelling, _forms_of_phone(value))
        elif number in self._dates.figures:
            yield from map(Spelling, self._dates.figures[number])
        else:
            parts = value.split(",") if kind == "address" else [value]
            for first, after in combinations(range(len(parts) + 1), 2):
                yield from _phrase(",".join(parts[first:after]))

    def find(self, text: str) -> Iterator[tuple[Identifier, Place]]:
        """Identifiers and their places in a text in its plain view, in no order; they may overlap."""
        for number, place in self._places(text) if self._identifiers else ():
            yield self._identifiers[number], place

    def _places(self, text: str) -> Iterator[tuple[int, Place]]:
        reading = Reading(text)
        of_names: defaultdict[int, dict[int, Stretch]] = defaultdict(dict)
        for first, after, (number, spelling) in self._index.find(reading.folded, self._others(reading)):
            kind = self._identifiers[number].kind
            if kind in _WIDEST_GAPS:
                place = _place_of_code(reading, first, after, spelling, kind)
                if place is not None:
                    yield number, place
                continue
            stretch = _stretch(reading, first, after, spelling)
            if stretch is not None and kind != "name":
                words = doubtful_words(reading, stretch) if spelling.n_words == 1 else ()
                yield number, Place(*reading.place(first, after), stretch.how, words)
            elif stretch is not None and not any(is_sentence_end(reading, at) for at in range(first + 1, after)):
                of_names[number][first] = min(stretch, of_names[number].get(first, stretch), key=lambda one: one.rank)
        for number, stretches in of_names.items():
            yield from ((number, place) for place in self._names[number].places(reading, stretches))
        yield from self._initials.find(text)
        for number, place in self._dates.find(text):
            if self._is_guessing or place.how == "exact":
                yield number, place

    def _others(self, reading: Reading) -> dict[int, list[tuple[int, str]]]:
        """Alternative readings of the words of a text, and of the pieces of long words."""
        found: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for first, after in reading.words():
            pieces = [(at, at + 1) for at in range(first, after)] if after - first > 1 else []
            for start, end in ((first, after), *pieces):
                word = reading.text[slice(*reading.place(start, end))]
                if word not in self._readings:
                    spelt = () if word.isascii() else (spelt_out(word),)
                    folded = fold(word)
                    is_long = len(folded) >= _LONG_WORD - 1 and folded.isalpha()
                    self._readings[word] = (*spelt, *(one_edit_away(folded, self._long_words) if is_long else ()))
                for other in self._readings[word]:
                    found[start].append((end, other))
            if self._has_phones and reading.folded[first].isdecimal():
                found[first] += ((first + 1, rest) for rest in _without_prefix(reading, first))
        return found


def _phrase(value: str) -> Iterator[Spelling]:
    words = folded_words(value)
    if sum(map(len, words)) >= _SHORTEST or any(map(is_without_blanks, words)):
        for string in dict.fromkeys(("".join(words), "".join(folded_words(spelt_out(value))))):
            yield Spelling(string, len(words))


def _stretch(reading: Reading, first: int, after: int, spelling: Spelling) -> Stretch | None:
    """A hit of a name or a phrase; `None` if it is a part of other words."""
    how, n_words = spelling.how, spelling.n_words
    gaps = [gap for at in range(first + 1, after) if (gap := reading.gap(at))]
    if not all(map(_BETWEEN.fullmatch, gaps)) or (gaps and how == "user name"):
        return None
    if "".join(reading.folded[first:after]) != spelling.string:
        spelt = spelt_out("".join(reading.text[slice(*place)] for place in reading.places[first:after]))
        how = how if spelt == spelling.string else "one typing error"
    if not gaps and not _is_by_itself(reading, first, after):
        return None
    if len(gaps) >= n_words:
        letters, is_capital = len(spelling.string), reading.text[reading.places[first][0]].isupper()
        is_spelt, has_signs = len(gaps) == letters - 1, all(gap.strip() for gap in gaps)
        if letters < (_LETTERS_APART if is_spelt else _SHORTEST if has_signs or is_capital else _BLANKS_APART):
            return None
        how, n_words = "letters apart", 1
    return Stretch(first, after, how, n_words)


def _is_by_itself(reading: Reading, first: int, after: int) -> bool:
    """Whether pieces are whole words, or separated from the rest of a word by digits or capitals."""
    is_word = reading.is_start(first) and reading.is_start(after)
    is_long = len("".join(reading.folded[first:after])) >= _SHORTEST
    is_other_name = not reading.is_start(first) and reading.folded[first - 1] in _BEFORE_A_NAME
    return is_word or is_without_blanks(reading.folded[first]) or (is_long and not is_other_name)


def _place_of_code(reading: Reading, first: int, after: int, spelling: Spelling, kind: SearchedAs) -> Place | None:
    """Letters and digits in any grouping; a telephone number with its country code, another or none."""
    is_phone, is_same = kind == "phone", "".join(reading.folded[first:after]) == spelling.string
    widest = max((len(reading.gap(at).replace("\n", "")) for at in range(first + 1, after)), default=0)
    is_open = kind == "date" and len(spelling.string) < _WHOLE_DATE
    if widest > (0 if is_open else _WIDEST_GAPS[kind]) or not (is_same or is_phone):
        return None
    # Letters may touch the start of a number (`MRN1234567`), digits may not, and nothing may touch its end.
    if not reading.is_start(after) or (not reading.is_start(first) and reading.folded[first - 1].isdecimal()):
        return None
    start, end = reading.place(first, after)
    if is_phone:
        before = _COUNTRY.search(reading.text[max(0, start - _AROUND) : start])
        start -= len(before[0]) if before else 0
        start -= reading.text[start - 1 : start] == "+"
        start += reading.text[start] == "(" and ")" not in reading.text[start:end]
        extension = _EXTENSION.match(reading.text, end)
        end = extension.end() if extension else end
    return Place(start, end)


def _forms_of_phone(value: str) -> list[str]:
    number = _EXTENSION.sub("", value).strip()
    digits = "".join(filter(str.isdigit, number))
    bare = digits.removeprefix("00") if number.startswith("00") else digits
    is_abroad = number.startswith("+") or bare != digits
    forms = [digits, bare] + [bare[n:] for n in range(1, _LONGEST_COUNTRY + 1) if is_abroad]
    forms += [form.removeprefix("0") for form in forms] + ([bare[1:]] if len(bare) == 11 and bare[0] == "1" else [])
    long = [form for form in forms if len(form) >= _SHORTEST_PHONE]
    return long or ([digits] if len(digits) >= _SHORTEST else [])


def _without_prefix(reading: Reading, at: int) -> Iterator[str]:
    """Digits without a country code or leading 0, which the record may lack."""
    digits, start = reading.folded[at], reading.places[at][0]
    is_abroad = digits.startswith("00") or reading.text[start - 1 : start] == "+"
    bare = digits.removeprefix("00")
    longest = _LONGEST_COUNTRY if is_abroad else int(digits[0] in "01")
    for n in range(longest + 1):
        yield from {bare[n:], bare[n:].removeprefix("0")} - {digits, ""}
