"""Passages of a note that are in another language or script than the rest.

    foreign_passages("Seen today. Пациент жалуется на боль в груди. Stable.", ("en",))    [Passage(12, 45, "ru", ...)]

A note is cut into sentences and lines (units). A unit of mostly known words is in the engine's language. For any other,
the detector of `features.languages` measures the distance from that language. Adjacent far units form a passage, which
counts if it is further still. Letters of another script need no detector: each run of them is a passage.

Names, abbreviations and figures show little of a language, so only words in small letters count; in a sentence where
most words begin with a capital all words count, but it must be longer and further away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import chain, islice
from typing import NamedTuple

from phistack.features.languages import LATIN, distance_of, most_likely, script_of

_NEAR, _FAR = 1.0, 3.0
"""Far units may form a passage, with neighbours that are not near; 1 in 100 units of a note is far."""

_SMALL, _CAPITALS, _CAPITALISED = 0, 1, 2
_LEAST, _MORE = {_SMALL: 28, _CAPITALS: 40, _CAPITALISED: 60}, {_SMALL: 0.0, _CAPITALS: 0.0, _CAPITALISED: 3.0}
"""The fewest letters of a passage, and its extra distance, as names occur in all languages."""

_FEW_KNOWN, _ENOUGH_WORDS, _LESS = 0.3, 8, 2.0
"""If at most this share of at least this many words is known, the limit is lower by 2."""

_UNIT_END = re.compile(r"[.!?;][\"'”»)]*(?=\s)|[\n\r]|[:,(] ?(?=[\"“«„])")
_SOFT_END = re.compile(r"[,:()\"“”«»]|\s(?=\S)")
_LONGEST_UNIT = 240
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NO_WORDS = re.compile(r"\S*[@/\\]\S*|\S+\.(?=\w)\S*")
"""E-mail and web addresses, paths and file names, which show no language."""

_SHORTEST_WORD = 3
_MOST_KNOWN = 0.65
_LEAST_TEXT = 8
_MOST_SYMBOLS = 2
_MOST_UNITS = 20
_LEAST_FOR_DETECTOR = 8

UNREAD = "TEXT "
"""The prefix of the label of text that no engine read."""
IN_DOUBT = f"{UNREAD}IN DOUBT"
"""The label of words that are not known to be safe, for `--recall everything`."""


class Passage(NamedTuple):
    """A passage in another language.

    :param start: in code points.
    :param end: after its last character.
    :param language: an ISO 639-1 code or, for a few letters of another script, the name of the script.
    :param distance: from the engine's languages, as in `features.languages`; 0 for another script.
    """

    start: int
    end: int
    language: str
    distance: float = 0.0


class _Unit(NamedTuple):
    """A sentence or line that may be in another language.

    :param words: the words that show its language, in small letters, joined by blanks.
    :param letters: whether most words are in small letters, in capitals, or begin with a capital.
    :param n_words: how many of them have three letters or more.
    :param n_known: how many of these are known.
    """

    start: int
    end: int
    words: str
    letters: int
    n_words: int
    n_known: int


def foreign_passages(
    text: str,
    languages: Collection[str],
    scripts: Collection[str] = (LATIN,),
    limit: float = 6.0,
    is_known: Callable[[str], bool] | None = None,
) -> list[Passage]:
    """The passages of a text that are in none of the languages and scripts, in order.

    :param text: in its plain view.
    :param languages: ISO 639-1 codes.
    :param limit: the greatest distance of text that the engine reads.
    :param is_known: whether the engine knows a word, in small letters; units of known words need no detector.
    """
    in_scripts = [] if text.isascii() else _in_other_scripts(text, scripts)
    return _merged(text, sorted([*in_scripts, *_in_other_languages(text, languages, limit, is_known)]))


def _in_other_languages(
    text: str, languages: Collection[str], limit: float, is_known: Callable[[str], bool] | None
) -> Iterator[Passage]:
    run: list[_Unit] = []
    for unit in chain((_unit(text, *place, is_known) for place in _units(text)), [None]):
        if unit is not None and (not unit.words or distance_of(unit.words, languages) >= _NEAR):
            run.append(unit)
        else:
            yield from _passages(run, languages, limit)
            run = []


def _passages(run: list[_Unit], languages: Collection[str], limit: float) -> Iterator[Passage]:
    """The passage from the first far unit of a run to the last, or each far unit by itself."""
    telling = [unit for unit in run if unit.words]
    far = [number for number, unit in enumerate(telling) if distance_of(unit.words, languages) >= _FAR]
    if not far:
        return
    whole = _passage(telling[far[0] : far[-1] + 1], languages, limit)
    if whole is not None:
        # Neighbours that are not near belong to it too, as a sentence of names shows little.
        first, last = far[0], far[-1] + 1
        while first and _is_prose(telling[first - 1]):
            first -= 1
        while last < len(telling) and _is_prose(telling[last]):
            last += 1
        yield _passage(telling[first:last], languages, limit) or whole
    else:
        yield from filter(None, (_passage([telling[number]], languages, limit) for number in far))


def _is_prose(unit: _Unit) -> bool:
    """Whether it is more than a line of names."""
    return unit.letters == _SMALL or unit.n_words >= _ENOUGH_WORDS


def _passage(units: list[_Unit], languages: Collection[str], limit: float) -> Passage | None:
    """The passage; `None` if it is too short or too near to one of the languages."""
    # The detector takes the logarithm of counts, so a long text that repeats itself looks near to everything.
    words = " ".join(islice((unit.words for unit in units), _MOST_UNITS))
    letters = min(unit.letters for unit in units)
    n_words, n_known = sum(unit.n_words for unit in units), sum(unit.n_known for unit in units)
    is_unknown = letters == _SMALL and n_words >= _ENOUGH_WORDS and n_known <= _FEW_KNOWN * n_words
    limit += _MORE[letters] - _LESS * is_unknown
    distance = distance_of(words, languages)
    if len(words) < _LEAST[letters] or distance <= limit:
        return None
    return Passage(units[0].start, units[-1].end, most_likely(words), distance)


def _units(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in chain((match.end() for match in _UNIT_END.finditer(text)), [len(text)]):
        while end - start > _LONGEST_UNIT:
            places = _SOFT_END.finditer(text, start + _LONGEST_UNIT // 2, start + _LONGEST_UNIT)
            cut = max((match.end() for match in places), default=start + _LONGEST_UNIT)
            yield start, cut
            start = cut
        if start < end:
            yield start, end
            start = end


def _unit(text: str, start: int, end: int, is_known: Callable[[str], bool] | None) -> _Unit | None:
    """The unit, perhaps without words; `None` if its words are known."""
    found = _WORD.findall(_NO_WORDS.sub(" ", text[start:end]))
    words = [word for word in found if word.isascii() or script_of(word[-1]) == LATIN]
    small = [word for word in words if word.islower()]
    n_upper = sum(len(word) for word in words if word.isupper() and len(word) > 1)
    half = sum(map(len, words)) / 2
    letters = _SMALL if sum(map(len, small)) >= half else _CAPITALS if n_upper > half else _CAPITALISED
    telling = small if letters == _SMALL else [word.lower() for word in words]
    longer = [word for word in telling if len(word) >= _SHORTEST_WORD] if is_known else []
    n_known = sum(map(is_known, longer)) if is_known else 0
    if n_known > _MOST_KNOWN * len(longer):
        return None
    read = " ".join(telling)
    return _Unit(start, end, read if len(read) >= _LEAST_TEXT else "", letters, len(longer), n_known)


def _in_other_scripts(text: str, scripts: Collection[str]) -> Iterator[Passage]:
    """Runs of letters of other scripts, with the signs, figures and blanks between them."""
    letters = "".join(c for c in set(text) if not c.isascii() and c.isalpha() and script_of(c) not in (*scripts, ""))
    one = f"[{re.escape(letters)}]"
    for match in re.finditer(rf"{one}(?:[\W\d_]*{one})*", text) if letters else ():
        script, n_letters = script_of(match[0][0]), sum(map(str.isalpha, match[0]))
        # One or two Greek letters are a symbol.
        if script != "GREEK" or n_letters > _MOST_SYMBOLS:
            known = most_likely(match[0]) if n_letters >= _LEAST_FOR_DETECTOR else ""
            yield Passage(*match.span(), known or script)


def _merged(text: str, passages: list[Passage]) -> list[Passage]:
    """Merge passages that overlap, or have only blanks between them."""
    merged: list[Passage] = []
    for passage in passages:
        if merged and not text[merged[-1].end : passage.start].strip():
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, passage.end))
        else:
            merged.append(passage)
    return merged


def nearest(text: str, passage: Passage, languages: Collection[str]) -> str:
    """The language of a passage if it is among some, or one of these that is near; empty if there is none."""
    if passage.language in languages or not passage.distance:
        return passage.language if passage.language in languages else ""
    read = text[passage.start : passage.end].lower()
    first = min(languages, key=lambda language: distance_of(read, [language]), default="")
    return first if first and distance_of(read, [first]) < _NEAR else ""
