"""Regular expressions that a user wrote, matched within a time limit.

    number = LimitedRegex(r"WD-(?P<phi>\\d+)", "i", "the pattern ward in line 4 of own.toml")
    [match.span("phi") for _, match in number.find_all(["see wd-12"])]     [(7, 9)]
    LimitedRegex("(a+)+b", "", "the pattern ward").try_out()          UnsafePatternError, after three seconds

Python's `re` backtracks without a time limit. The package `regex` accepts the same expressions and raises
`TimeoutError` after a given processor time. Whether an expression is too slow is measured, not proved: a trial on texts
that repeat its own characters finds the usual mistakes before a note is read, and each search in a note has a limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations, product
from typing import Any

from phistack.features.errors import SettingsError, UnsafePatternError

LONGEST = 20_000
"""The most characters of an expression, with its parts filled in."""

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
"""Letter of a flag -> the flag, the same number in both packages."""


SECONDS, SECONDS_PER_CHARACTER = 1.0, 5e-6
"""The time limit of a search: a hundred times what the shipped expressions take, plus one second."""

_TRIAL_SECONDS = 3.0
_TRIED = "a0 A.-\né"
_MOST_CHARACTERS, _MOST_PAIRED, _MOST_WORDS = 24, 10, 6
_LONG, _SHORT = 2_000, 400
_REPEATS = re.compile(r"[*+]|\{\d*,")
_WORDS = re.compile(r"[\w .,:;/#-]{2,}")


def flags_of(letters: str) -> re.RegexFlag:
    """The flags of some letters."""
    return re.RegexFlag(sum(FLAGS[letter] for letter in set(letters)))


class LimitedRegex:
    """An expression of the package `regex`, used as one of `re`.

    :param expression: as `re` reads it; what `regex` adds to that works too.
    :param flags: letters out of `FLAGS`.
    :param named: its name in messages, with file and line.
    :raises SettingsError: if it is not a regular expression, or too large.
    """

    def __init__(self, expression: str, flags: str, named: str) -> None:
        import regex

        self.named = named
        if len(expression) > LONGEST:
            raise SettingsError(f"{named} has more than {LONGEST} characters; split it in two")
        try:
            self._compiled = regex.compile(expression, flags_of(flags) | regex.VERSION0)
        except regex.error as error:
            place = f", at its character {error.pos + 1}" if error.pos is not None else ""
            raise SettingsError(f"{named} is not a regular expression: {error.msg}{place}") from None
        except (OverflowError, RecursionError, ValueError):
            raise SettingsError(f"{named} is too large; split it in two") from None
        self.groupindex = self._compiled.groupindex

    def find_all(self, texts: Sequence[str]) -> list[tuple[int, Any]]:
        """All matches in some texts, each with the number of its text.

        :raises UnsafePatternError: if that takes too long for all texts together.
        """
        length = sum(map(len, texts))
        end = time.process_time() + SECONDS + length * SECONDS_PER_CHARACTER
        found: list[tuple[int, Any]] = []
        with self._in_time(f"on {length} characters of text"):
            for i, text in enumerate(texts):
                matches = self._compiled.finditer(text, timeout=max(end - time.process_time(), 1e-3))
                found += [(i, match) for match in matches]
        return found

    def search(self, text: str) -> Any:
        """The first match in a text, or `None`; :raises UnsafePatternError: if that takes too long."""
        with self._in_time(f"on {len(text)} characters of text"):
            return self._compiled.search(text, timeout=SECONDS)

    def match(self, text: str, start: int) -> Any:
        """The match that begins at a place, or `None`; :raises UnsafePatternError: if that takes too long."""
        with self._in_time(f"on {len(text)} characters of text"):
            return self._compiled.match(text, start, timeout=SECONDS)

    def try_out(self) -> None:
        """Search texts on which bad expressions are slow; :raises UnsafePatternError: if this one is."""
        expression = self._compiled.pattern
        end = time.process_time() + _TRIAL_SECONDS
        with self._in_time("on a trial"):
            for text in _hostile_texts(expression) if _REPEATS.search(expression) else ():
                for _ in self._compiled.finditer(text, timeout=max(end - time.process_time(), 1e-3)):
                    pass

    @contextmanager
    def _in_time(self, where: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise UnsafePatternError(
                f"{self.named} took too long {where}; it may read the same text in several ways, as (a+)+ and "
                "\\w+\\s*\\w+ do: let its parts begin with different characters, or limit repetitions, as in \\w{1,20}"
            ) from None


def _hostile_texts(expression: str) -> Iterator[str]:
    """Repetitions of its characters and pairs of them, also after its words.

    Each ends with the expression itself, as `regex` first checks that a text has the characters that a match needs.
    """
    end = f"\x01{expression}"
    characters = list(dict.fromkeys(_TRIED + expression))[:_MOST_CHARACTERS]
    for one in characters:
        yield one * _LONG + end
    for one, other in permutations(characters[:_MOST_PAIRED], 2):
        yield (one + other) * _SHORT + end
    for word, one in product(_WORDS.findall(expression.replace("\\", ""))[:_MOST_WORDS], characters[:_MOST_PAIRED]):
        yield word + one * _SHORT + end
