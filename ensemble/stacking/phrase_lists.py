"""Lists that a hospital writes by hand: words, phrases and regular expressions, under the labels that they have.

    # our wards
    [HOSPITAL]
    Ward 7B
    St. Anselm's
    /\\bWD-\\d{4}\\b/

    always = read_list(Path("ours.txt"), ALWAYS)
    list(always.find("moved to ward 7b", "en"))      [Hit(9, 16, "HOSPITAL", "line 3")]

One phrase a line; blank lines and lines that begin with `#` mean nothing. `[LABEL]` holds for the lines below it. What
stands between slashes is a regular expression, with the flags of Python (`i`, `m`, `s`, `x`) behind the last one. A
phrase is found where its words stand as whole words, with any white space between them: those of a list of what is
always PHI in small and capital letters alike, those of one of what never is only as they are written, so that `Brown`
uncovers no `BROWN`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from phistack.features.errors import SettingsError
from phistack.features.limited_regex import LimitedRegex
from phistack.features.plain_view import plain_text
from phistack.features.regular_files import read_regular
from phistack.features.suggestions import no_such
from phistack.features.user_files import file_named
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern

ALWAYS, NEVER = "always", "never"
"""What a list says of its phrases, and the source of its votes."""

_LARGEST_FILE, _MOST_PATTERNS, _MOST_WORDS = 2**24, 2_000, 100
_PIECE = re.compile(r"\w+|[^\w\s]")
_REGEX = re.compile(r"/(.+)/([imsx]*)")


@dataclass(frozen=True, slots=True)
class Hit:
    """Where something that a user wrote stands in a text.

    :param start: in code points.
    :param end: after the last character.
    :param label: empty for any.
    :param evidence: the line or the name of what was found; never text of a note.
    """

    start: int
    end: int
    label: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """One line of a list.

    :param line: its number.
    :param column: where the phrase begins, from 1.
    :param label: empty for any.
    :param words: its words and marks in order; nothing for a regular expression.
    :param pattern: the regular expression; nothing for words.
    """

    line: int
    column: int
    label: str
    words: tuple[str, ...] = field(default=(), repr=False)
    pattern: Pattern | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, ...]:
        """What two lists must not both hold."""
        return ("/", self.pattern.regex) if self.pattern else tuple(word.casefold() for word in self.words)

    def hit(self, start: int, end: int) -> Hit:
        """The phrase where it stands."""
        return Hit(start, end, self.label, f"line {self.line}")


@dataclass(frozen=True)
class PhraseList:
    """The phrases of a file.

    :param kind: `ALWAYS`, for which small and capital letters are one, or `NEVER`.
    :param phrases: in the order of the file.
    :param path: of the file, for messages.
    :param text: of the file, which decides what a run makes.
    """

    kind: str
    phrases: tuple[Phrase, ...] = field(default=(), repr=False)
    path: Path = Path()
    text: str = field(default="", repr=False)

    @cached_property
    def _by_words(self) -> dict[tuple[str, ...], list[Phrase]]:
        found: dict[tuple[str, ...], list[Phrase]] = {}
        for phrase in self.phrases:
            if phrase.words:
                found.setdefault(tuple(map(self._read, phrase.words)), []).append(phrase)
        return found

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """How many words the phrases have that begin with a word."""
        lengths: dict[str, set[int]] = {}
        for words in self._by_words:
            lengths.setdefault(words[0], set()).add(len(words))
        return {word: sorted(found) for word, found in lengths.items()}

    def _read(self, word: str) -> str:
        return word.casefold() if self.kind == ALWAYS else word

    def find(self, text: str, language: str) -> Iterator[Hit]:
        """Every place of a text in its plain view at which a phrase stands; they may overlap."""
        if not self.phrases:
            return
        pieces = list(_PIECE.finditer(text))
        words = [self._read(piece[0]) for piece in pieces]
        for i, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                for phrase in self._by_words.get(tuple(words[i : i + length]), ()):
                    yield phrase.hit(pieces[i].start(), pieces[i + length - 1].end())
        for phrase in self.phrases:
            if phrase.pattern:
                yield from (phrase.hit(*place) for place in phrase.pattern.find(text, language))

    def check_labels(self, labels: Collection[str]) -> None:
        """See that an engine has all labels; :raises SettingsError: with line and column of one that it does not."""
        for phrase in self.phrases:
            if phrase.label and phrase.label not in labels:
                with file_named(f"the list of --{self.kind}", self.path):
                    raise SettingsError(f"line {phrase.line}: {no_such('label', phrase.label, labels)}")


def read_list(path: Path | None, kind: str) -> PhraseList:
    """The list in a file; one without phrases for `None`.

    :param kind: `ALWAYS` or `NEVER`.
    :raises SettingsError: with line and column, for what cannot be used.
    """
    if path is None:
        return PhraseList(kind)
    with file_named(f"the list of --{kind}", path):
        return parse_list(_decoded(read_regular(path, _LARGEST_FILE)), kind, path)


def parse_list(text: str, kind: str, path: Path = Path()) -> PhraseList:
    """The list in a text; :raises SettingsError: with line and column, for what cannot be used."""
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
        before = content[: error.start].rpartition(b"\n")
        line, column = content.count(b"\n", 0, error.start) + 1, len(before[2].decode("utf-8-sig")) + 1
    raise SettingsError(f"line {line}, column {column}: it is not UTF-8; save it as UTF-8")


def _phrases(text: str, kind: str, path: Path) -> Iterator[Phrase]:
    label = ""
    for number, line in enumerate(text.split("\n"), 1):
        entry, column = line.strip(), len(line) - len(line.lstrip()) + 1
        if entry.startswith("["):
            label = entry[1:-1].strip() if entry.endswith("]") else ""
            if not label:
                raise _wrong(number, column, "a label stands between brackets, as in [HOSPITAL]")
        elif entry and not entry.startswith("#"):
            if kind == ALWAYS and not label:
                raise _wrong(number, column, "the phrase has no label; put a line such as [HOSPITAL] before it")
            yield _phrase(number, column, label, entry, path)


def _phrase(line: int, column: int, label: str, entry: str, path: Path) -> Phrase:
    if entry.startswith("/"):
        return Phrase(line, column, label, pattern=_pattern(line, column, entry, path))
    words = tuple(_PIECE.findall(plain_text(entry)))
    if not any(character.isalnum() for word in words for character in word):
        raise _wrong(line, column, "the phrase is empty: it has no letter or digit")
    if len(words) > _MOST_WORDS:
        raise _wrong(line, column, f"the phrase has more than {_MOST_WORDS} words and marks; write a shorter one")
    return Phrase(line, column, label, words)


def _pattern(line: int, column: int, entry: str, path: Path) -> Pattern:
    form = _REGEX.fullmatch(entry)
    if form is None or not form[1].strip():
        raise _wrong(line, column, "write a regular expression between two slashes, as in /WD-\\d{4}/ or /wd-\\d+/i")
    try:
        LimitedRegex(form[1], form[2], "what the slashes enclose").try_out()
    except SettingsError as error:
        raise _wrong(line, column, str(error)) from None
    return Pattern(f"in line {line} of {path}", form[1], {ANY_SET: ANY_SET}, form[2])


def _wrong(line: int, column: int, reason: str) -> SettingsError:
    return SettingsError(f"line {line}, column {column}: {reason}")
