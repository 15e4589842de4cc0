"""Regular expressions for PHI, as TOML files that a person can read and edit.

    [parts]
    month = "jan|feb|mar"

    [[patterns]]
    name = "month-and-year"
    regex = '(?P<phi>{{month}} \\d{4})'
    flags = "i"
    validator = "date"
    labels = { "i2b2-2014" = "DATE", "meddocan" = "FECHAS" }

`{{month}}` stands for a part of the same file, as a group. The group `phi` is the PHI where the regex also holds its
context; otherwise the whole match is. Flags are those of Python (`i`, `m`, `s`, `x`). `label = "DATE"` in place of
`labels` holds in any label set. Shipped are `patterns/common.toml` and one file a language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from phistack.features.errors import BundleError, LabelError, SettingsError
from phistack.features.labels import label_mapping
from phistack.features.regular_files import read_regular
from phistack.features.user_files import file_named
from phistack.submodels.regex.pattern_safety import LONGEST, refuse_blow_up
from phistack.submodels.regex.validators import VALIDATORS

ANY_SET = "*"
"""Stands for every label set in `Pattern.labels`."""

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
_KEYS = frozenset(("name", "regex", "flags", "validator", "label", "labels", "precision", "matches", "tag"))
_LARGEST_FILE, _MOST_PATTERNS, _LONGEST_NAME = 2**20, 2_000, 100
_PART = re.compile(r"\{\{(\w+)\}\}")
_FOLDER = resources.files("phistack.submodels.regex") / "patterns"


@dataclass(frozen=True)
class Pattern:
    """One regular expression and what it finds.

    :param name: unique among the patterns of an engine; the evidence of its candidates.
    :param regex: with its parts filled in.
    :param labels: label set -> label; `ANY_SET` for a label that holds everywhere.
    :param flags: letters out of `imsx`.
    :param validator: name in `VALIDATORS`, or empty.
    :param precision: share of matches that are exactly a gold span with the label, in [0, 1], smoothed; 0.5 if unknown.
    :param matches: how many matches in training the precision rests on.
    :param tag: what the first token of a match gets, in `submodels.regex.token_tagger` only; empty elsewhere.
    :raises SettingsError: if the regex, a flag, the validator or the labels are not usable, or the regex may never end.
    """

    name: str
    regex: str = field(repr=False)
    labels: Mapping[str, str]
    flags: str = ""
    validator: str = ""
    precision: float = 0.5
    matches: int = 0
    tag: str = ""

    def __post_init__(self) -> None:
        if set(self.flags) - set(_FLAGS):
            raise SettingsError(f"the pattern {self.name} has a flag that is not one of {', '.join(_FLAGS)}")
        if self.validator and self.validator not in VALIDATORS:
            raise SettingsError(
                f"the pattern {self.name} names the unknown validator {self.validator}; "
                f"there are {', '.join(VALIDATORS)}"
            )
        if not self.labels or not all(isinstance(label, str) and label for label in self.labels.values()):
            raise SettingsError(f'the pattern {self.name} has no label; add label = "..." or labels = {{ ... }}')
        if not 0 <= self.precision <= 1:
            raise SettingsError(f"the pattern {self.name} has a precision that is not from 0 to 1")
        try:
            self.compiled  # noqa: B018  compiles now, so that a bad regex is found on reading
        except re.error as error:
            raise SettingsError(f"the pattern {self.name} is not a regular expression: {error.msg}") from None
        except (OverflowError, RecursionError):
            raise SettingsError(f"the pattern {self.name} is too large; split it in two") from None
        refuse_blow_up(self.compiled, self.name)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The regex, ready for use."""
        flags = re.NOFLAG
        for letter in self.flags:
            flags |= _FLAGS[letter]
        return re.compile(self.regex, flags)

    def find(self, text: str, language: str) -> Iterator[tuple[int, int]]:
        """Starts and ends of the PHI that the pattern matches in a text."""
        found = (self.phi_of(match, language) for match in self.compiled.finditer(text))
        return (phi for phi in found if phi is not None)

    def phi_of(self, match: re.Match[str], language: str) -> tuple[int, int] | None:
        """Start and end of the PHI in a match, without blanks at either end; nothing where it is not valid."""
        start, end = match.span("phi" if "phi" in self.compiled.groupindex else 0)
        found = match.string[start:end] if start >= 0 else ""
        phi = found.strip()
        if not phi or (self.validator and not VALIDATORS[self.validator](phi, language)):
            return None
        start += len(found) - len(found.lstrip())
        return start, start + len(phi)

    def label_in(self, label_set: str) -> str:
        """The label that the pattern declares for a label set, by way of a mapping if need be; empty if none.

        :param label_set: a name, or the path of a file, which is named after it.
        """
        direct = self.labels.get(Path(label_set).stem) or self.labels.get(ANY_SET)
        if direct:
            return direct
        for known, label in self.labels.items():
            try:
                return label_mapping(known, label_set)[label]
            except (LabelError, KeyError):
                continue
        return ""


def shipped_patterns(language: str) -> list[Pattern]:
    """The patterns of every language and those of one, as an ISO 639-1 code; a language may have none of its own."""
    files = [_FOLDER / "common.toml", _FOLDER / f"{language}.toml"]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return [pattern for text in texts for pattern in parse_patterns(text)]


def user_patterns(path: Path) -> list[Pattern]:
    """The patterns of a user's file; :raises SettingsError: if it cannot be read, naming the pattern at fault."""
    with file_named("the pattern file", path):
        return parse_patterns(read_regular(path).decode("utf-8"))


def read_own_patterns(path: Path) -> list[Pattern]:
    """The same of a file that was given for its patterns; :raises SettingsError: also if there are none."""
    patterns = user_patterns(path)
    if not patterns:
        raise SettingsError(f"the pattern file {path} holds no pattern; write them as [[patterns]] tables")
    return patterns


def parse_patterns(toml: str) -> list[Pattern]:
    """The patterns of a TOML text.

    :raises SettingsError: if the text is not TOML, or a pattern is not usable, or two share a name.
    """
    if len(toml) > _LARGEST_FILE:
        raise SettingsError(f"more than {_LARGEST_FILE} characters, far too many for patterns")
    try:
        table = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"not TOML: {error}") from None
    except RecursionError:
        raise SettingsError("nested too deep") from None
    rows = table.get("patterns", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SettingsError("it must hold its patterns as [[patterns]] tables")
    if len(rows) > _MOST_PATTERNS:
        raise SettingsError(f"more than {_MOST_PATTERNS} patterns; split it in two")
    parts = table.get("parts", {})
    patterns = [_pattern(row, parts, number) for number, row in enumerate(rows, start=1)]
    names = [pattern.name for pattern in patterns]
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise SettingsError(f"two patterns are named {repeated}")
    return patterns


def saved_patterns(toml: str) -> tuple[Pattern, ...]:
    """The patterns of an engine, which have one label each; :raises BundleError: if they cannot be used."""
    try:
        patterns = tuple(parse_patterns(toml))
    except SettingsError as error:
        raise BundleError(f"the patterns of the engine cannot be used: {error}") from None
    if not all(ANY_SET in pattern.labels for pattern in patterns):
        raise BundleError("a pattern of the engine has no label")
    return patterns


def _pattern(row: Mapping[str, Any], parts: Mapping[str, str], number: int) -> Pattern:
    name = row.get("name")
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise SettingsError(f"pattern number {number} of the file has no name of at most {_LONGEST_NAME} characters")
    unknown = sorted(set(row) - _KEYS)
    if unknown:
        raise SettingsError(f"the pattern {name} has the unknown key {unknown[0]}")
    if not isinstance(row.get("regex"), str):
        raise SettingsError(f"the pattern {name} has no regex")
    try:
        labels = dict(row.get("labels", {})) | ({ANY_SET: row["label"]} if "label" in row else {})
        regex = _filled(row["regex"], parts, name)
        return Pattern(
            name, regex, labels, str(row.get("flags", "")), str(row.get("validator", "")),
            float(row.get("precision", 0.5)), int(row.get("matches", 0)), str(row.get("tag", "")),
        )  # fmt: skip
    except (TypeError, ValueError):
        raise SettingsError(f"the pattern {name} has a value of the wrong type") from None


def _filled(regex: str, parts: Mapping[str, str], name: str) -> str:
    """The regex with its parts in place; a part may use parts."""
    for _ in range(5):
        missing = next((part for part in _PART.findall(regex) if part not in parts), None)
        if missing is not None:
            raise SettingsError(f"the pattern {name} uses the part {missing}, which its file does not define")
        regex = _PART.sub(lambda match: f"(?:{parts[match[1]]})", regex)
        if len(regex) > LONGEST:
            raise SettingsError(f"the pattern {name} has more than {LONGEST} characters with its parts; make two of it")
    return regex


def format_patterns(patterns: Iterable[Pattern]) -> str:
    """Patterns as the TOML that `parse_patterns` reads, with what was learned about each."""
    import tomli_w

    rows = [
        {
            "name": pattern.name,
            "regex": pattern.regex,
            "flags": pattern.flags,
            "validator": pattern.validator,
            "labels": dict(pattern.labels),
            "precision": pattern.precision,
            "matches": pattern.matches,
            **({"tag": pattern.tag} if pattern.tag else {}),
        }
        for pattern in patterns
    ]
    return tomli_w.dumps({"patterns": rows})
