"""Where known identifiers are in a text, however they are written: one index, and one pass over the text.

    index = KnownIndex(identifiers_of(record, label_set), label_set, "en")
    hits = list(index.find("Hill, A. (born 4/3/50)"))
    hits[0].span, hits[0].how         Span(0, 7, "PATIENT"), "initials"

    name      its words in any order and number, see `ensemble.stacking.known.names`; its initials alone, see `initials`
    phrase    the words of a value one after the other; of an address also each part between commas
    code      its letters and digits, however they are grouped; of a telephone number with or without country code
    date      whole or in part, see `ensemble.stacking.known.dates`

Case, accents and signs between words never count. A word of five letters or more may have a typing error. Of codes and
phrases only those of four letters and digits or more are found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from phistack.ensemble.stacking.known.columns import SearchedAs, label_of, roles, searched_as
from phistack.ensemble.stacking.known.dates import KnownDates
from phistack.ensemble.stacking.known.initials import KnownInitials
from phistack.ensemble.stacking.known.names import How, Name, Place, Stretch, doubtful_words
from phistack.ensemble.stacking.known.roster import Record
from phistack.ensemble.stacking.known.spellings import Misspellings, spelt_out
from phistack.features.documents import Span
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.phrases import Index
from phistack.features.plain_view import plain_text
from phistack.features.text_words import Reading, folded_words, is_without_blanks

_SHORTEST_CODE, _SHORTEST_PHONE, _LONGEST_COUNTRY = 4, 7, 3
_SHORTEST_INSIDE = 4
_SHORTEST_APART = {"letters": 3, "signs": 4, "blanks": 6}
"""Letters of a word with signs or blanks in it: where each letter is apart, where all gaps are signs, or blanks."""

_BEFORE_A_NAME = frozenset("mc mac o d l de di da du la le van von fitz ap".split())
"""What makes another name of one that follows in the same word, as in McDonald."""

_WIDEST_GAP = 3
_IN_PHRASE = re.compile(r"[^\w\n]{0,4}\n?[^\w\n]{0,4}|_")
_IN_WORD = re.compile(r"(?:(?!\n)[\W_]){0,4}|[-‐=]\s{0,3}\n[ \t]{0,3}")
_COUNTRY = re.compile(
    r"(?<![^\W_])(?:\(\s?)?(?:(?:\+|\b00)\d{1,3}[\s()./-]{0,3}(?:\(0\)[\s./-]?)?|\b[01][\s./-])?\(?0?$"
)
_EXTENSION = re.compile(r"[\s,]{0,2}(?:x|ext(?:ension)?\b\.?|#|app(?:arat)?\b\.?)\s?\d{1,6}(?!\w)", re.IGNORECASE)
_AROUND, _SHORT_INITIALS = 24, 2


class Identifier(NamedTuple):
    """What is known of a person.

    :param value: as it is written in a record or a note.
    :param label: that it has in an engine.
    :param role: what it is to the patient, or the name of its column.
    :param kind: how it is searched for.
    """

    value: str
    label: str
    role: str
    kind: SearchedAs


def identifiers_of(record: Record, label_set: LabelSet) -> list[Identifier]:
    """What a record says, without what has no label of the set.

    :raises SettingsError: if the label set has no label for what a column of usual name holds.
    """
    labels = ((role, label_of(role, label_set) if role in roles() else role) for role in record)
    return [
        Identifier(plain_text(value), label, role, searched_as(role, label, label_set.name))
        for role, label in labels
        if label in label_set
        for value in record[role]
    ]


@dataclass(frozen=True, slots=True)
class KnownMention:
    """An identifier, found in a text.

    :param span: where, with the label of the identifier.
    :param role: of the identifier.
    :param how: in what way it is written.
    :param words: folded, as the text has them; where all of them are words of the language, it may be none.
    :param needs_sign: whether it may be anything else, with nothing beside it to support it.
    """

    span: Span
    role: str
    how: How = "exact"
    words: tuple[str, ...] = field(default=(), repr=False)
    needs_sign: bool = False


class _String(NamedTuple):
    """A string of the index.

    :param number: of the identifier.
    :param string: folded, without anything between its letters and digits.
    :param n_words: of how many words it is written.
    :param how: what a text that has it writes.
    """

    number: int
    string: str
    n_words: int = 1
    how: How = "exact"


class KnownIndex:
    """Identifiers, ready to be found in many texts.

    :param identifiers: with values in their plain view.
    :param language: ISO 639-1 code.
    :param is_guessing: whether typing errors, initials alone, short forms and parts of dates count.
    """

    def __init__(self, identifiers: Iterable[Identifier], language: str, *, is_guessing: bool = True) -> None:
        self._identifiers = list(dict.fromkeys(identifiers))
        of_kind: defaultdict[SearchedAs, dict[int, str]] = defaultdict(dict)
        for number, identifier in enumerate(self._identifiers):
            of_kind[identifier.kind][number] = identifier.value
        self._names = {number: Name(value, language) for number, value in of_kind["name"].items()}
        self._dates = KnownDates(of_kind["date"], language)
        self._initials = KnownInitials(of_kind["name"] if is_guessing else {}, language)
        self._is_guessing, self._has_phones = is_guessing, bool(of_kind["phone"])
        strings = [string for number in range(len(self._identifiers)) for string in self._strings(number)]
        self._index = Index((one.string, one) for one in dict.fromkeys(strings) if len(one.string) > 1)
        words = [word for name in self._names.values() for word in name.long_words]
        words += [
            word for number in of_kind["phrase"] | of_kind["address"] for word in folded_words(self._value(number))
        ]
        self._misspellings = Misspellings(words if is_guessing else ())
        self._other_readings: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._identifiers)

    def _value(self, number: int) -> str:
        return self._identifiers[number].value

    def _strings(self, number: int) -> Iterator[_String]:
        """What an identifier is in the index; nothing for a date."""
        value, kind = self._value(number), self._identifiers[number].kind
        if kind == "name":
            yield from (
                _String(number, string, 1, how)
                for string, how in self._names[number].strings()
                if self._is_guessing or how != "short form"
            )
        elif kind == "address":
            parts = value.split(",")
            for first, after in combinations(range(len(parts) + 1), 2):
                yield from _phrase(number, ",".join(parts[first:after]))
        elif kind == "phone":
            yield from (_String(number, form) for form in _forms_of_phone(value) if len(form) >= _SHORTEST_CODE)
        elif kind != "date" or number in self._dates.others:
            yield from _phrase(number, value)

    def find(self, text: str) -> Iterator[KnownMention]:
        """All hits, in no order; they may overlap.

        :param text: in its plain view.
        """
        for number, place in self._places(text) if self else ():
            _, label, role, _ = self._identifiers[number]
            yield KnownMention(Span(place.start, place.end, label), role, place.how, place.words, place.needs_sign)

    def _places(self, text: str) -> Iterator[tuple[int, Place]]:
        reading = Reading(text)
        stretches: defaultdict[int, dict[int, Stretch]] = defaultdict(dict)
        for first, after, string in self._index.find(reading.folded, self._others(reading)):
            kind = self._identifiers[string.number].kind
            if kind in ("code", "phone"):
                place = _place_of_code(reading, first, after, string, kind == "phone")
                if place is not None:
                    yield string.number, place
            elif (stretch := _stretch(reading, first, after, string)) is None:
                continue
            elif kind == "name":
                known = stretches[string.number].get(first)
                if known is None or stretch.rank < known.rank:
                    stretches[string.number][first] = stretch
            else:
                words = doubtful_words(reading, stretch) if string.n_words == 1 else ()
                yield string.number, Place(*reading.place(first, after), stretch.how, words)
        for number, of_name in stretches.items():
            yield from ((number, place) for place in self._names[number].places(reading, of_name))
        for found in self._initials.find(text):
            # Two letters are a word of every language, which they need a sign for anyway.
            letters = fold(text[found.start : found.end])
            words = (letters,) if letters.isalpha() and len(letters) > _SHORT_INITIALS else ()
            yield found.which, Place(found.start, found.end, "initials alone", words, found.needs_sign)
        for date in self._dates.find(text):
            if date.is_whole or self._is_guessing:
                how: How = "exact" if date.is_whole else "a part of it"
                yield date.which, Place(date.start, date.end, how, (), date.needs_sign)

    def _others(self, reading: Reading) -> dict[int, list[tuple[int, str]]]:
        """What the words of a text may be read as, too."""
        found: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for first, after in reading.words:
            # A piece of a word may have a typing error as well as a word.
            inner = [(at, at + 1) for at in range(first, after)] if after - first > 1 else []
            for start, end in ((first, after), *inner):
                for string in self._read_as(reading.written(start, end)):
                    found[start].append((end, string))
            if self._has_phones and reading.folded[first].isdecimal():
                found[first] += ((first + 1, rest) for rest in _without_prefix(reading, first))
        return found

    def _read_as(self, word: str) -> tuple[str, ...]:
        known = self._other_readings.get(word)
        if known is None:
            plain, full = fold(word), word if word.isascii() else spelt_out(word)
            spelt = (full,) if full not in (plain, word) else ()
            known = self._other_readings[word] = (*spelt, *self._misspellings.of(plain))
        return known


def _phrase(number: int, value: str) -> Iterator[_String]:
    words = folded_words(value)
    if sum(map(len, words)) >= _SHORTEST_CODE or any(map(is_without_blanks, words)):
        for forms in {tuple(words), tuple(folded_words(spelt_out(value)))}:
            yield _String(number, "".join(forms), len(words))


def _stretch(reading: Reading, first: int, after: int, string: _String) -> Stretch | None:
    """What the index has found of a name or a phrase; nothing if it is within another word, or across words."""
    gaps = [gap for at in range(first + 1, after) if (gap := reading.gap(at))]
    how = string.how
    if "".join(reading.folded[first:after]) != string.string:
        spelt = spelt_out("".join(reading.written(at, at + 1) for at in range(first, after)))
        how = how if spelt == string.string else "one typing error"
    if not gaps and not (reading.is_start(first) and reading.is_start(after)):
        return Stretch(first, after, how) if _is_apart_inside(reading, first, after) else None
    if len(gaps) < string.n_words:
        return Stretch(first, after, how) if all(map(_IN_PHRASE.fullmatch, gaps)) else None
    if string.how in ("in one word", "user name") or not all(map(_IN_WORD.fullmatch, gaps)):
        return None
    letters = len(string.string)
    kind = "letters" if len(gaps) == letters - 1 else "signs" if all(gap.strip() for gap in gaps) else "blanks"
    return Stretch(first, after, "letters apart") if letters >= _SHORTEST_APART[kind] else None


def _is_apart_inside(reading: Reading, first: int, after: int) -> bool:
    """Whether pieces of a longer word are by themselves: behind or before digits and capitals that begin a word."""
    if is_without_blanks(reading.folded[first]):
        return True
    start, end = reading.places[first][0], reading.places[after - 1][1]
    return end - start >= _SHORTEST_INSIDE and (
        reading.is_start(first) or reading.folded[first - 1] not in _BEFORE_A_NAME
    )


def _place_of_code(reading: Reading, first: int, after: int, string: _String, is_phone: bool) -> Place | None:
    """Letters and digits in any grouping; a telephone number with its country code, another or none."""
    is_other = "".join(reading.folded[first:after]) != string.string
    if any(len(reading.gap(at)) > _WIDEST_GAP for at in range(first + 1, after)) or (is_other and not is_phone):
        return None
    # Letters may be right before a number (`MRN1234567`), but no digits, and nothing right behind.
    is_behind_letters = not reading.is_start(first) and not reading.folded[first - 1].isdecimal()
    if not reading.is_start(after) or not (reading.is_start(first) or is_behind_letters):
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


def _forms_of_phone(value: str) -> set[str]:
    number = _EXTENSION.sub("", value).strip()
    digits = "".join(filter(str.isdigit, number))
    bare = digits.removeprefix("00") if number.startswith("00") else digits
    is_abroad = number.startswith("+") or bare != digits
    forms = [digits, bare] + [bare[n:] for n in range(1, _LONGEST_COUNTRY + 1) if is_abroad]
    forms += [form.removeprefix("0") for form in forms] + ([bare[1:]] if len(bare) == 11 and bare[0] == "1" else [])
    return {form for form in forms if len(form) >= _SHORTEST_PHONE} or {digits}


def _without_prefix(reading: Reading, at: int) -> Iterator[str]:
    """Digits without the country code or the 0 at their beginning, which another spelling of a number may lack."""
    digits, start = reading.folded[at], reading.places[at][0]
    is_abroad = digits.startswith("00") or reading.text[start - 1 : start] == "+"
    bare = digits.removeprefix("00") if digits.startswith("00") else digits
    longest = _LONGEST_COUNTRY if is_abroad else int(digits[0] in "01")
    for n in range(longest + 1):
        yield from {bare[n:], bare[n:].removeprefix("0")} - {digits, ""}
