"""A user's lists of words, phrases and regular expressions, by label.

    # our wards
    [HOSPITAL]
    Ward 7B
    St. Anselm's
    /\\bWD-\\d{4}\\b/

    always = read_list(Path("ours.txt"), ALWAYS)
    list(always.find("moved to ward 7b", "en"))      [Hit(9, 16, "HOSPITAL", "line 3")]

One phrase per line; blank lines and lines that begin with `#` are ignored. `[LABEL]` applies to the lines below it. A
line between slashes is a regular expression, with Python's flags (`i`, `m`, `s`, `x`) after the second slash. A phrase
matches whole words, with any white space between them and any form of hyphens, apostrophes and quotation marks. An
`always` list also ignores case and accents, as a roster does; a `never` list does not, so `Brown` does not uncover
`BROWN`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_regular
from phistack.features.letters import fold
from phistack.features.limited_regex import LimitedRegex
from phistack.features.plain_view import plain_text
from phistack.features.text_words import Index
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern

ALWAYS, NEVER = "always", "never"
"""The kind of a list, and the source of its votes."""

_LARGEST_FILE, _MOST_PATTERNS, _MOST_WORDS = 2**24, 2_000, 100
_PIECE = re.compile(r"\w+|[^\w\s]")
_SIGNS = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc\u00b4\u0060\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"), '"'),
}
"""Dashes, apostrophes and quotation marks -> their ASCII form."""

_END = "\0"
"""Ends each word or sign, so only whole ones match."""
_REGEX = re.compile(r"/(.+)/([imsx]*)")


class Hit(NamedTuple):
    """A match of a list or a pattern in a text; without a label, for any.

    :param evidence: the line of the list or the name of the pattern; never text of a note.
    """

    start: int
    end: int
    label: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """One line of a list.

    :param column: where the phrase begins, from 1.
    :param label: empty for any.
    :param words: its words and marks in order; empty for a regular expression.
    """

    line: int
    column: int
    label: str
    words: tuple[str, ...] = field(default=(), repr=False)
    pattern: Pattern | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for phrases that must not be in both lists."""
        return ("/", self.pattern.regex) if self.pattern else tuple(_as_read(word, ALWAYS) for word in self.words)


@dataclass(frozen=True)
class PhraseList:
    """The phrases of a file.

    :param kind: `ALWAYS`, which ignores case and accents, or `NEVER`.
    :param phrases: in the order of the file.
    :param text: of the file, for its digest.
    """

    kind: str
    phrases: tuple[Phrase, ...] = field(default=(), repr=False)
    path: Path = Path()
    text: str = field(default="", repr=False)

    @cached_property
    def _index(self) -> Index[Phrase]:
        phrases = (phrase for phrase in self.phrases if phrase.words)
        return Index(("".join(self._read(word) for word in phrase.words), phrase) for phrase in phrases)

    @cached_property
    def folded(self) -> frozenset[str]:
        """The phrases that are not regular expressions, folded, with one blank between words."""
        return frozenset(fold(" ".join(phrase.words)) for phrase in self.phrases)

    def _read(self, word: str) -> str:
        """A word or sign as it is in the index; empty for an accent that is not part of a letter."""
        read = _as_read(word, self.kind)
        return read and read + _END

    def find(self, text: str, language: str) -> Iterator[Hit]:
        """All matches in the plain view of a text; they may overlap."""
        if not self.phrases:
            return
        pieces = [(*match.span(), read) for match in _PIECE.finditer(text) if (read := self._read(match[0]))]
        for first, after, phrase in self._index.find([read for _, _, read in pieces]):
            yield Hit(pieces[first][0], pieces[after - 1][1], phrase.label, f"line {phrase.line}")
        for phrase in self.phrases:
            for start, end in phrase.pattern.find(text, language) if phrase.pattern else ():
                yield Hit(start, end, phrase.label, f"line {phrase.line}")

    def check_labels(self, labels: Collection[str]) -> None:
        """Check that an engine has all labels; :raises SettingsError: with the line of one that it does not have."""
        for phrase in self.phrases:
            if phrase.label and phrase.label not in labels:
                with file_named(f"the list of --{self.kind}", self.path):
                    raise SettingsError(f"line {phrase.line}: {no_such('label', phrase.label, labels)}")


def _as_read(word: str, kind: str) -> str:
    """A word or sign as it is compared."""
    return fold(word.translate(_SIGNS)) if kind == ALWAYS else word.translate(_SIGNS)


def read_list(path: Path | None, kind: str) -> PhraseList:
    """The list in a file; empty for `None`.

    :raises SettingsError: with line and column, if it cannot be used.
    """
    if path is None:
        return PhraseList(kind)
    with file_named(f"the list of --{kind}", path):
        return parse_list(_decoded(read_regular(path, _LARGEST_FILE)), kind, path)


def parse_list(text: str, kind: str, path: Path = Path()) -> PhraseList:
    """The list in a text; :raises SettingsError: with line and column, if it cannot be used."""
    phrases = tuple(_phrases(text, kind, path))
    if not phrases:
        raise SettingsError("it holds no phrase; write one on each line")
    if sum(phrase.pattern is not None for phrase in phrases) > _MOST_PATTERNS:
        raise SettingsError(f"it has more than {_MOST_PATTERNS} regular expressions; join some of them with |")
    return PhraseList(kind, phrases, path, text)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].rpartition(b"\n")[2].decode("utf-8-sig")
        line = content.count(b"\n", 0, error.start) + 1
    raise _wrong(line, len(before) + 1, "it is not UTF-8; save it as UTF-8")


def _phrases(text: str, kind: str, path: Path) -> Iterator[Phrase]:
    label = ""
    for number, line in enumerate(text.split("\n"), 1):
        entry, column = line.strip(), len(line) - len(line.lstrip()) + 1
        if entry.startswith("["):
            label = entry[1:-1].strip() if entry.endswith("]") else ""
            if not label:
                raise _wrong(number, column, "a label is written between brackets, as in [HOSPITAL]")
        elif entry and not entry.startswith("#"):
            if kind == ALWAYS and not label:
                raise _wrong(number, column, "the phrase has no label; put a line such as [HOSPITAL] before it")
            yield _phrase(number, column, label, entry, path)


def _phrase(line: int, column: int, label: str, entry: str, path: Path) -> Phrase:
    if entry.startswith("/"):
        form = _REGEX.fullmatch(entry)
        if form is None or not form[1].strip():
            reason = "write a regular expression between two slashes, as in /WD-\\d{4}/ or /wd-\\d+/i"
            raise _wrong(line, column, reason)
        try:
            LimitedRegex(form[1], form[2], "what the slashes enclose").try_out()
        except SettingsError as error:
            raise _wrong(line, column, str(error)) from None
        pattern = Pattern(f"in line {line} of {path}", form[1], {ANY_SET: ANY_SET}, form[2])
        return Phrase(line, column, label, pattern=pattern)
    words = tuple(_PIECE.findall(plain_text(entry)))
    if not any(character.isalnum() for word in words for character in word):
        raise _wrong(line, column, "the phrase is empty: it has no letter or digit")
    if len(words) > _MOST_WORDS:
        raise _wrong(line, column, f"the phrase has more than {_MOST_WORDS} words and marks; write a shorter one")
    return Phrase(line, column, label, words)


def _wrong(line: int, column: int, reason: str) -> SettingsError:
    return SettingsError(f"line {line}, column {column}: {reason}")
