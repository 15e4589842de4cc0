"""A known person's name in a text: its words in any order and number, with initials, however they are written.

    name = Name("Ann García-Miller", "en")
    [string for string, _ in name.strings()]      ["ann", "garcia", "miller", "garciamiller", "agarcia", ...]
    list(name.places(reading, stretches))         the runs of these words and of initials in a text

A word of a name may be spelt out (`oestergaard`), have signs or blanks between its letters (`Mac Donald`, `B.i.r.c.h`)
or be another form of a first name (`Lupe`); several may be one word, as in a user name (`aHill2`, `hillann`). `Hill` is
no part of `Hillary`, but of `AnnHill` and of `hill7`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.known.spellings import other_names, spelt_out
from phistack.ensemble.stacking.repeats.search import NUMERALS, non_name_words
from phistack.features.letters import fold
from phistack.features.text_words import Reading, is_without_blanks, words_of

How = Literal[
    "exact", "initials", "in one word", "letters apart", "short form", "user name", "one typing error",
    "initials alone", "a part of it",
]  # fmt: skip
"""`exact` in all but case, accents, order and grouping; `initials` beside a word of the name."""

_SUREST: tuple[How, ...] = ("exact", "in one word", "letters apart", "one typing error", "short form", "user name")

_SHORTEST, _SHORTEST_USER_NAME, _LONG_USER_NAME = 2, 5, 8
_AFTER_INITIAL = frozenset(".'’")
_GAP = re.compile(r"[ \t]{0,3},?[ \t]{0,3}(?:\r?\n)?[ \t]{0,3}|[-‐‑'’_^/|+]")
_AFTER_SHORT = re.compile(r"\.[ \t]{0,3}[,-]?[ \t]{0,3}(?:\r?\n)?")


class Stretch(NamedTuple):
    """Pieces of a text that are a word of a name, or several.

    :param first: the first piece.
    :param after: the piece after the last one.
    """

    first: int
    after: int
    how: How = "exact"

    @property
    def rank(self) -> tuple[int, int]:
        """The longest comes first, then what is surer."""
        return -self.after, _SUREST.index(self.how)


class Place(NamedTuple):
    """Where an identifier is: see `known.search.KnownMention`."""

    start: int
    end: int
    how: How = "exact"
    words: tuple[str, ...] = ()
    needs_sign: bool = False


class Name:
    """The name of a person.

    :param value: in its plain view.
    :param language: ISO 639-1 code, for titles, particles and credentials.
    """

    def __init__(self, value: str, language: str) -> None:
        no_names, never = non_name_words(language) | NUMERALS, known_words(language, "names", "credentials") | NUMERALS
        written = _words(value)
        own = list(map(fold, written))
        self._beside = {word[0] for word in own if word[0].isalpha()} | {*own}
        # The last word is a part of the name whatever it is elsewhere (`Danny Le`, `Ann Nurse`), but no credential.
        self._parts = [
            word
            for word, plain in zip(written, own, strict=True)
            if len(word) >= _SHORTEST and (plain not in no_names or (plain == own[-1] and plain not in never))
        ] or [word for word in written if len(word) >= _SHORTEST]
        # A hyphen or an apostrophe may be left out.
        unbroken = [re.sub(r"\W", "", part) for part in value.split() if len(words_of(part)) > 1]
        self._unbroken = {form for part in unbroken for form in (fold(part), spelt_out(part))}
        last, _, first = value.partition(",")
        others = never | known_words(language, "names", "titles")
        in_order = [word for word in _words(f"{first} {last}") if fold(word) not in others]
        self._orders = {tuple(map(fold, in_order)), tuple(map(spelt_out, in_order))}

    @property
    def long_words(self) -> list[str]:
        """Those that may have a typing error, folded."""
        return [
            string
            for string, how in self.strings()
            if how == "exact" or (how == "in one word" and (string in self._unbroken or len(string) > _LONG_USER_NAME))
        ]

    def strings(self) -> Iterator[tuple[str, How]]:
        """All that is a part of the name as one word, folded, and how it is written."""
        for part in self._parts:
            for word in {fold(part), spelt_out(part)}:
                yield word, "exact"
            yield from ((other, "short form") for other in other_names(fold(part)))
            if is_without_blanks(part) and len(part) > _SHORTEST:
                # The family name is the first character or two, of four the first two.
                yield from ((fold(some), "exact") for some in (part[-2:], *[part[:2]] * (len(part) > _SHORTEST + 1)))
        yield from ((form, "in one word") for form in sorted(self._unbroken))
        for words in self._orders:
            yield from (
                (form, how) for form, how in _joined(words) if how != "user name" or len(form) >= _SHORTEST_USER_NAME
            )

    def places(self, reading: Reading, stretches: Mapping[int, Stretch]) -> Iterator[Place]:
        """The longest runs of words of the name and its initials.

        :param stretches: by their first pieces.
        """
        behind = 0
        for first in sorted(stretches):
            if first >= behind:
                run = self._run(reading, stretches, first, behind)
                behind = run[-1].after
                yield _place(reading, self._trimmed(reading, run, stretches), stretches)

    def _run(self, reading: Reading, stretches: Mapping[int, Stretch], first: int, behind: int) -> list[Stretch]:
        """A word of the name with what may belong to it before and behind."""
        run = [stretches[first]]
        if run[0].how == "user name":
            return run
        while (at := run[0].first - 1) >= behind and self._is_beside(reading, at) and _is_near(reading, at + 1):
            run.insert(0, Stretch(at, at + 1))
        while (at := run[-1].after) < len(reading) and _is_near(reading, at):
            following = stretches.get(at) or Stretch(at, at + 1)
            is_end = following.how == "user name" or _is_again(reading, run, following)
            if is_end if at in stretches else not self._is_beside(reading, at):
                break
            run.append(following)
        return run

    def _is_beside(self, reading: Reading, at: int) -> bool:
        piece = reading.folded[at]
        return piece in self._beside or (len(piece) == 1 and piece.isalpha() and not is_without_blanks(piece))

    def _trimmed(self, reading: Reading, run: list[Stretch], stretches: Mapping[int, Stretch]) -> list[Stretch]:
        """The run without what is no part of the name at its ends, and small letters that are a word."""

        def is_loose(one: Stretch) -> bool:
            start, end = reading.places[one.first]
            is_small = reading.text[start].islower() and reading.text[end : end + 1] not in _AFTER_INITIAL
            return one.first not in stretches and (is_small or reading.folded[one.first] not in self._beside)

        def is_particle(one: Stretch) -> bool:
            # It is before the name in small letters.
            piece = reading.folded[one.first]
            return len(piece) > 1 and piece in self._beside

        while is_loose(run[-1]):
            run = run[:-1]
        while is_loose(run[0]) and not is_particle(run[0]):
            run = run[1:]
        return run


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in words_of(text)]


def _joined(words: Sequence[str]) -> Iterator[tuple[str, How]]:
    """Words of a name without anything between: in order, the last ones first, or with initials of the others."""
    forms = [words[at : at + count] for count in range(2, len(words) + 1) for at in range(len(words) - count + 1)]
    for at in range(1, len(words)):
        initials = "".join(word[0] for word in words[:at])
        forms += [(*words[at:], *words[:at]), (words[0], words[at]), (words[at], words[0]), (words[0], words[at][0])]
        forms += [pair for some in (words[0][0], initials) for pair in ((some, words[at]), (words[at], some))]
    for form in map(tuple, forms):
        n_words = sum(len(word) > 1 or is_without_blanks(word) for word in form)
        yield "".join(form), "in one word" if n_words > 1 else "user name"


def _is_near(reading: Reading, at: int) -> bool:
    """Whether a piece and the one before it may be of one name; a full stop is behind initials and the like."""
    gap, is_short = reading.gap(at), len(reading.folded[at - 1]) <= _SHORTEST
    return _GAP.fullmatch(gap) is not None or (is_short and _AFTER_SHORT.fullmatch(gap) is not None)


def _is_again(reading: Reading, run: Iterable[Stretch], after: Stretch) -> bool:
    """Whether a word of the name is in a run already and a sign is between, as where the same name follows."""
    word = reading.folded[after.first : after.after]
    return reading.gap(after.first).strip() != "" and any(reading.folded[one.first : one.after] == word for one in run)


def _place(reading: Reading, run: Sequence[Stretch], stretches: Mapping[int, Stretch]) -> Place:
    of_name = [one for one in run if one.first in stretches]
    initials = [one for one in run if one.first not in stretches and len(reading.folded[one.first]) == 1]
    start, end = reading.places[run[0].first][0], reading.places[run[-1].after - 1][1]
    end += run[-1] in initials and reading.text[end : end + 1] == "."
    plain: How = "initials" if initials else "exact"
    how = next((one.how for one in of_name if one.how != "exact"), plain)
    # Two words of a name support each other, but not two short forms, as in `we will bill you`.
    if len(of_name) > 1 and any(one.how != "short form" for one in of_name):
        return Place(start, end, how)
    needs_sign = len(run) == len(of_name) and any(_is_doubtful(reading, one) for one in of_name)
    return Place(start, end, how, tuple(word for one in of_name for word in doubtful_words(reading, one)), needs_sign)


def doubtful_words(reading: Reading, stretch: Stretch) -> tuple[str, ...]:
    """The folded words of a stretch, which may be words of the language; none if its signs say that they are not."""
    words: list[str] = []
    for at in range(stretch.first, stretch.after):
        if at > stretch.first and not reading.gap(at):
            words[-1] += reading.folded[at]
        else:
            words.append(reading.folded[at])
    signs = [gap.strip() for at in range(stretch.first + 1, stretch.after) if (gap := reading.gap(at))]
    is_name = reading.written(stretch.first, stretch.after)[0].isupper() and all(signs)
    return () if len(words) > 1 and (is_name or all(len(word) == 1 for word in words)) else tuple(words)


def _is_doubtful(reading: Reading, stretch: Stretch) -> bool:
    """Whether a single word may well be another: a short user name, or a short form in small letters."""
    start, end = reading.places[stretch.first][0], reading.places[stretch.after - 1][1]
    if stretch.how == "user name":
        beside = reading.text[max(0, start - 1) : start] + reading.text[end : end + 1]
        is_small = stretch.after - stretch.first == 1 and end - start < _LONG_USER_NAME
        return is_small and not any(c.isdigit() or c in "@#_" for c in beside)
    return stretch.how == "short form" and (reading.text[start].islower() or end - start <= _SHORTEST + 1)
