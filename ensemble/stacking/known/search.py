"""Where the values of a record stand in a text, however they are written.

    hits = list(found_in("Hill, A. (born 4/3/50)", record, label_set, "en"))
    hits[0].span, hits[0].how         Span(0, 7, "PATIENT"), "initials"

    name      its words in any order and number, with initials; in other case, without accents, a typing error away;
              and its initials alone, see `ensemble.stacking.known.initials`
    phrase    the words of a value one after the other, likewise; of an address also each part between commas
    code      its letters and digits, however they are grouped; of a telephone number with or without country code
    date      whole or in part, see `ensemble.stacking.known.dates`

A typing error is an insertion, deletion, substitution or swap in a word of five letters or more. Only whole words are
found; of codes and parts of addresses those of four letters and digits or more.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.known.columns import SearchedAs, label_of, roles, searched_as
from phistack.ensemble.stacking.known.dates import dates_in
from phistack.ensemble.stacking.known.initials import initials_in
from phistack.ensemble.stacking.known.roster import Record
from phistack.ensemble.stacking.repeats.search import NUMERALS, idle_words, words_of
from phistack.features.documents import Span
from phistack.features.labels import LabelSet
from phistack.features.letters import edits, fold

How = Literal["exact", "initials", "one typing error", "initials alone", "a part of it"]
"""`exact` in all but case, accents, order and grouping; `initials` beside a word of the name."""

_AFTER_INITIAL = frozenset(".'’")
_LONG_WORD, _SHORTEST_NAME, _SHORTEST_CODE = 5, 2, 4
_GAP = re.compile(r"[ \t]{0,3}[,.]?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’]")
_ANY_GAP = re.compile(r"[^\w\n]{0,4}\n?[^\w\n]{0,4}|_")
_IN_CODE = r"[\s()./_‐‑–-]{0,3}"
_COUNTRY = r"(?:(?:\+|\b00)\d{1,3}[\s()./-]{0,3}(?:\(0\)[\s./-]?)?|\b[01][\s./-])?"
_EXTENSION = re.compile(r"[\s,]{0,2}(?:x|ext(?:ension)?\b\.?|#|app(?:arat)?\b\.?)\s?\d{1,6}(?!\w)", re.IGNORECASE)
_LONGEST_COUNTRY, _SHORTEST_PHONE = 3, 7


@dataclass(frozen=True, slots=True)
class KnownMention:
    """A value of a record, found in a text.

    :param span: where, with the label of the column.
    :param role: what it is to the patient, or the name of its column.
    :param how: in what way it is written.
    :param words: folded, as the text has them, where they may be words of the language.
    :param needs_sign: whether it may well be anything else, and nothing beside it says that it is not.
    """

    span: Span
    role: str
    how: How = "exact"
    words: tuple[str, ...] = field(default=(), repr=False)
    needs_sign: bool = False


def found_in(text: str, record: Record, label_set: LabelSet, language: str) -> Iterator[KnownMention]:
    """All hits, in no order; they may overlap.

    :param text: in its plain view.
    :raises SettingsError: if the label set has no label for what the record holds.
    """
    words = _FoldedWords(text)
    for role, values in record.items():
        label = label_of(role, label_set) if role in roles() else role
        if label in label_set:
            search = _SEARCHES[searched_as(role, label, label_set)]
            for value in values:
                for place in search(words, value, language):
                    span = Span(place.start, place.end, label)
                    yield KnownMention(span, role, place.how, place.words, place.needs_sign)


class _FoldedWords:
    """The words of a text, folded, and where they stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = words_of(text)
        self.folded = [fold(text[start:end]) for start, end in self.places]
        self.distinct = set(self.folded)

    def gap(self, at: int) -> str:
        """What stands between a word and the one before."""
        return self.text[self.places[at - 1][1] : self.places[at][0]]

    def like(self, word: str) -> set[str]:
        """Those that are the word, but for one typing error if it is long."""
        if len(word) < _LONG_WORD or not word.isalpha():
            return self.distinct & {word}
        return {other for other in self.distinct if _is_like(word, other)}


def _is_like(word: str, other: str) -> bool:
    # One edit leaves the first letter or the last.
    may_be = abs(len(word) - len(other)) < 2 and (word[0] == other[0] or word[-1] == other[-1]) and other.isalpha()
    return may_be and edits(word, other, 1) < 2


class _Place(NamedTuple):
    """What a `KnownMention` is, without whose it is."""

    start: int
    end: int
    how: How = "exact"
    words: tuple[str, ...] = ()
    needs_sign: bool = False


def _names(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """Runs of words of a name, and its initials alone."""
    own = _name_words(value)
    idle = idle_words(language) | NUMERALS
    long = [word for word in own if len(word) >= _SHORTEST_NAME]
    # A hyphen or an apostrophe may be left out.
    whole = [fold(re.sub(r"\W", "", part)) for part in value.split() if len(words_of(part)) > 1]
    # The last word is a part of the name whatever it is elsewhere (`Danny Le`, `Ann Nurse`), but no credential or `IV`.
    never = known_words(language, "names", "credentials") | NUMERALS
    parts = [w for w in long if w not in idle or (w == own[-1] and w not in never)] or long
    like = set().union(*map(words.like, parts + [word for word in whole if len(word) > _SHORTEST_NAME]))
    if like:
        beside = {word[0] for word in own} | set(own)
        yield from (_place_of_name(words, run, like, own) for run in _runs(words, like, beside))
    for start, end, needs_sign in initials_in(words.text, value, language):
        # Two letters are a word of every language, which they need a sign for anyway.
        read = (
            (fold(words.text[start:end]),) if words.text[start:end].isalpha() and end - start > _SHORTEST_NAME else ()
        )
        yield _Place(start, end, "initials alone", read, needs_sign)


def _name_words(value: str) -> list[str]:
    return [fold(value[start:end]) for start, end in words_of(value)]


def _runs(words: _FoldedWords, like: set[str], beside: set[str]) -> Iterator[list[int]]:
    """The longest runs of words of a name, in which there is a whole one, by their numbers."""
    run: list[int] = []
    for at, word in enumerate(words.folded):
        if run and not _GAP.fullmatch(words.gap(at)):
            yield from _trimmed(words, run, like, beside)
            run = []
        if word in like or word in beside or (len(word) == 1 and word.isalpha() and run):
            run.append(at)
        elif run:
            yield from _trimmed(words, run, like, beside)
            run = []
    yield from _trimmed(words, run, like, beside)


def _trimmed(words: _FoldedWords, run: list[int], like: set[str], beside: set[str]) -> Iterator[list[int]]:
    """The run without what is no part of the name at its ends, and small letters that are a word; if a name is left."""

    def is_loose(at: int) -> bool:
        word, (start, end) = words.folded[at], words.places[at]
        is_small = words.text[start].islower() and words.text[end : end + 1] not in _AFTER_INITIAL
        return word not in like and (word not in beside or is_small)

    while run and is_loose(run[-1]):
        run = run[:-1]
    # Particles of the name stand before it in small letters.
    while run and is_loose(run[0]) and not (len(words.folded[run[0]]) > 1 and words.folded[run[0]] in beside):
        run = run[1:]
    if any(words.folded[at] in like for at in run):
        yield run


def _place_of_name(words: _FoldedWords, run: Sequence[int], like: set[str], own: Sequence[str]) -> _Place:
    read = tuple(words.folded[at] for at in run)
    whole = tuple(word for word in read if word in like)
    start, end = words.places[run[0]][0], words.places[run[-1]][1]
    if len(read[-1]) == 1 and words.text[end : end + 1] == "." and read[-1] not in like:
        end += 1
    if any(word not in own for word in whole):
        return _Place(start, end, "one typing error", whole)
    return _Place(start, end, "initials" if any(len(w) == 1 and w not in like for w in read) else "exact", whole)


def _phrases(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """The words of a value, one after the other."""
    sought = _name_words(value)
    if sum(map(len, sought)) < _SHORTEST_CODE:
        return
    like = [words.like(word) for word in sought]
    for first in range(len(words.folded) - len(sought) + 1):
        read = words.folded[first : first + len(sought)]
        gaps = map(words.gap, range(first + 1, first + len(sought)))
        if all(map(operator.contains, like, read)) and all(map(_ANY_GAP.fullmatch, gaps)):
            how: How = "exact" if read == sought else "one typing error"
            yield _Place(words.places[first][0], words.places[first + len(sought) - 1][1], how, tuple(read))


def _addresses(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """An address, and each part of it and parts that follow each other."""
    parts = value.split(",")
    for first, after in combinations(range(len(parts) + 1), 2):
        yield from _phrases(words, ",".join(parts[first:after]), language)


def _codes(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """Letters and digits, in any grouping."""
    yield from _grouped(words, [value], "")


def _phones(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """The digits of a number with its country code, another or none."""
    number = _EXTENSION.sub("", value).strip()
    digits = "".join(filter(str.isdigit, number))
    bare = digits.removeprefix("00") if number.startswith("00") else digits
    is_abroad = number.startswith("+") or bare != digits
    forms = [digits, bare] + [bare[n:] for n in range(1, _LONGEST_COUNTRY + 1) if is_abroad]
    forms += [form.removeprefix("0") for form in forms] + ([bare[1:]] if len(bare) == 11 and bare[0] == "1" else [])
    long = [form for form in forms if len(form) >= _SHORTEST_PHONE] or [digits]
    for start, end, *_ in _grouped(words, long, rf"(?:\(\s?)?{_COUNTRY}\(?0?"):
        extension = _EXTENSION.match(words.text, end)
        is_open = words.text[start] == "(" and ")" not in words.text[start:end]
        yield _Place(start + is_open, extension.end() if extension else end)


def _grouped(words: _FoldedWords, codes: Iterable[str], before: str) -> Iterator[_Place]:
    for code in sorted({"".join(filter(str.isalnum, fold(code))) for code in codes}, key=len, reverse=True):
        if len(code) >= _SHORTEST_CODE:
            pattern = rf"(?<![^\W_]){before}{_IN_CODE.join(map(re.escape, code))}(?![^\W_])"
            yield from (_Place(*match.span()) for match in re.finditer(pattern, words.text, re.IGNORECASE))


def _dates(words: _FoldedWords, value: str, language: str) -> Iterator[_Place]:
    """A date, whole or in part; what is none, word for word."""
    dates = dates_in(words.text, value, language)
    if dates is None:
        yield from _phrases(words, value, language)
        return
    for start, end, is_whole, needs_sign in dates:
        yield _Place(start, end, "exact" if is_whole else "a part of it", (), needs_sign)


_SEARCHES: Mapping[SearchedAs, Callable[[_FoldedWords, str, str], Iterator[_Place]]] = {
    "name": _names,
    "phrase": _phrases,
    "address": _addresses,
    "code": _codes,
    "phone": _phones,
    "date": _dates,
}
