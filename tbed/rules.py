"""Rules, and the text file that holds them.

    O -> B-DOCTOR if lower[-1] = "dr" and short_shape[0] = "Aa"; gain 31, broken 2, example "110-01" at 345
    off B-DATE -> O if tag[1..3] = "I-AGE" and word[-1] = edge

Rules are applied from top to bottom. The file may be edited and reordered; `off` before a rule switches it off, `#` at
the beginning of a line makes it a comment. Values are JSON strings; `edge` matches positions beyond the sentence. After
the semicolon comes the record of training: the gain, how many tokens the rule broke, and a token that it corrected
(document id and offset). `parse_rules(format_rules(rules)) == rules`, and back, code point for code point.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NoReturn

from phistack.features.errors import SettingsError
from phistack.tbed.templates import ATOM, TAG, Atom

EDGE = None
"""The value of a position beyond the sentence."""

Value = str | None
Example = tuple[str, int]
"""Document id, and the offset of a token's first character."""

_TAG_NAME = re.compile(r"[^\s;#\"]+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER = re.compile(r"-?\d{1,9}(?!\d)")


@dataclass(frozen=True, slots=True)
class Rule:
    """Change one tag into another where all conditions hold.

    :param before: the tag that a token has.
    :param after: the tag that it gets.
    :param conditions: atoms and the value that each must have; `EDGE` for beyond the sentence.
    :param gain: tokens corrected minus tokens broken in training; `None` for a rule written by hand.
    :param broken: tokens broken in training.
    :param example: a token that the rule corrected.
    :param off: the rule is kept but not applied.
    :param comments: comment lines above the rule, each with its `#`, or empty.
    """

    before: str
    after: str
    conditions: tuple[tuple[Atom, Value], ...] = field(repr=False)
    gain: int | None = None
    broken: int = 0
    example: Example | None = field(default=None, repr=False)
    off: bool = False
    comments: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise SettingsError(f"a rule must change a tag into another, not {self.before} into itself")

    @property
    def columns(self) -> frozenset[str]:
        """The feature columns that the rule looks at."""
        return frozenset(atom.column for atom, _ in self.conditions) - {TAG}

    @property
    def reach(self) -> int:
        """The furthest offset, in tokens."""
        return max((max(abs(atom.first), abs(atom.last)) for atom, _ in self.conditions), default=0)

    def __str__(self) -> str:
        """The rule as in the file, without its training record."""
        change = f"{self.before} -> {self.after}"
        conditions = " and ".join(f"{atom} = {_literal(value)}" for atom, value in self.conditions)
        return f"{change} if {conditions}" if conditions else change

    def sentence(self) -> str:
        """The rule in words."""
        conditions = " and ".join(_condition_in_words(atom, value) for atom, value in self.conditions)
        return f"{self.before} becomes {self.after}" + (f" where {conditions}" if conditions else "")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of a file, those that are off included, and the comment lines after the last one."""

    rules: tuple[Rule, ...] = field(repr=False)
    ending: tuple[str, ...] = field(default=(), repr=False)


def _literal(value: Value) -> str:
    return "edge" if value is EDGE else json.dumps(value, ensure_ascii=False)


def _condition_in_words(atom: Atom, value: Value) -> str:
    if value is EDGE:
        return f"{atom.words()} is beyond the sentence"
    return f"{atom.words()} is {_literal(value)}" if value else f"{atom.words()} is none"


def format_rules(file: RuleFile) -> str:
    """The text of a rule file."""
    lines = [line for rule in file.rules for line in (*rule.comments, _line(rule))] + list(file.ending)
    return "".join(line + "\n" for line in lines)


def _line(rule: Rule) -> str:
    parts = [f"{'off ' if rule.off else ''}{rule}"]
    if rule.gain is not None:
        parts.append(f"; gain {rule.gain}, broken {rule.broken}")
        if rule.example is not None:
            parts.append(f", example {_literal(rule.example[0])} at {rule.example[1]}")
    return "".join(parts)


def parse_rules(
    text: str, *, name: str = "rules", tags: Collection[str] | None = None, columns: Collection[str] | None = None
) -> RuleFile:
    """Read a rule file.

    :param name: what error messages call the file.
    :param tags: the tags that rules may name; all if not given.
    :param columns: the feature columns that rules may name; all if not given.
    :raises SettingsError: at the first mistake, with its line and column.
    """
    rules: list[Rule] = []
    comments: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            comments.append(line)
        else:
            rules.append(_LineParser(line, f"{name}, line {number}", tags, columns).rule(tuple(comments)))
            comments.clear()
    return RuleFile(tuple(rules), tuple(comments))


class _LineParser:
    """Reads one rule from left to right.

    `at` is the index of the next character; `begun`, that of the last word, is where mistakes are.
    """

    def __init__(self, line: str, where: str, tags: Collection[str] | None, columns: Collection[str] | None) -> None:
        self.line, self.where, self.tags, self.columns = line, where, tags, columns
        self.at = self.begun = 0

    def rule(self, comments: tuple[str, ...]) -> Rule:
        off = self._skip("off ")
        before = self._tag()
        self._expect("->")
        after = self._tag()
        if after == before:
            self._fail("a rule must change a tag into a different one")
        conditions: list[tuple[Atom, Value]] = []
        if self._skip("if "):
            conditions.append(self._condition())
            while self._skip("and "):
                conditions.append(self._condition())
        gain, broken, example = self._record() if self._skip(";") else (None, 0, None)
        self._blanks()
        if self.at < len(self.line):
            self._fail('the rule should end here, or go on with "if", "and" or a semicolon')
        return Rule(before, after, tuple(conditions), gain, broken, example, off, comments)

    def _condition(self) -> tuple[Atom, Value]:
        match = self._match(ATOM, "an atom such as word[-1] or tag[1..3]")
        try:
            atom = Atom.of_match(match)
        except SettingsError as error:
            self._fail(str(error))
        if self.columns is not None and atom.column != TAG and atom.column not in self.columns:
            self._fail(f"there is no feature column {atom.column}")
        self._expect("=")
        if self._skip("edge"):
            return atom, EDGE
        value = self._string()
        return atom, self._known(value) if atom.column == TAG else value

    def _record(self) -> tuple[int, int, Example | None]:
        self._expect("gain")
        gain = int(self._match(_NUMBER, "a number")[0])
        self._expect(",")
        self._expect("broken")
        broken = int(self._match(_NUMBER, "a number")[0])
        if broken < 0 or gain + broken < 0:
            self._fail("the numbers of tokens that a rule broke or corrected cannot be negative")
        if not self._skip(","):
            return gain, broken, None
        self._expect("example")
        document = self._string()
        self._expect("at")
        return gain, broken, (document, int(self._match(_NUMBER, "an offset")[0]))

    def _tag(self) -> str:
        return self._known(self._match(_TAG_NAME, "a tag")[0])

    def _known(self, tag: str) -> str:
        if self.tags is not None and tag not in self.tags:
            self._fail("the tag is not one of those that this engine knows")
        return tag

    def _string(self) -> str:
        literal = self._match(_STRING, "a value in double quotes")[0]
        try:
            return str(json.loads(literal))
        except ValueError:
            self._fail("the value is not a JSON string")

    def _blanks(self) -> None:
        while self.at < len(self.line) and self.line[self.at] in " \t\r":
            self.at += 1
        self.begun = self.at

    def _skip(self, word: str) -> bool:
        self._blanks()
        found = self.line.startswith(word, self.at)
        self.at += len(word) * found
        return found

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            self._fail(f'"{word}" is expected here')

    def _match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        self._blanks()
        match = pattern.match(self.line, self.at)
        if match is None:
            self._fail(f"{what} is expected here")
        self.at = match.end()
        return match

    def _fail(self, message: str) -> NoReturn:
        raise SettingsError(f"{self.where}, column {self.begun + 1}: {message}")
