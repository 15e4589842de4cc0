"""Regular expressions for PHI, in TOML files that a person can read and edit, and their validators.

    [parts]
    month = "jan|feb|mar"

    [[patterns]]
    name = "month-and-year"
    regex = '(?P<phi>{{month}} \\d{4})'
    flags = "i"
    validator = "date"
    labels = { "i2b2-2014" = "DATE", "meddocan" = "FECHAS" }

`{{month}}` is replaced by a part of the same file, as a group. The group `phi` is the PHI where the regex also holds
its context; otherwise the whole match is. Flags are those of Python (`i`, `m`, `s`, `x`). `label = "DATE"` in place of
`labels` holds in any label set. phistack ships `patterns/common.toml` and one file for each language.

A validator decides by the matched text and the language of the notes. Numbers are checked by phonenumbers (the
numbering plans of the ITU) and python-stdnum (the check digits of each national standard).

Python's `re` matches the shipped expressions, which tests keep fast. All other expressions, including those of a
bundle, are matched within a time limit (`features.limited_regex`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib import import_module, resources
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from phistack.features.errors import BundleError, LabelError, SettingsError
from phistack.features.files import file_named, read_regular
from phistack.features.labels import label_mapping
from phistack.features.limited_regex import FLAGS, LONGEST, LimitedRegex, flags_of

_REGIONS: Mapping[str, str] = {
    "da": "DK", "de": "DE", "en": "US", "es": "ES", "fi": "FI", "fr": "FR", "it": "IT", "nl": "NL", "no": "NO",
    "pt": "PT", "sv": "SE",
}  # fmt: skip
"""Language -> the country whose numbering plan reads a telephone number without a country code."""


def _phone(text: str, language: str) -> bool:
    """Whether a telephone number has a length that the country's numbering plan knows; extensions are allowed."""
    import phonenumbers

    try:
        number = phonenumbers.parse(text, _REGIONS.get(language))
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))


def _date(text: str, language: str) -> bool:
    """Whether the numbers of a date can be a day, a month and perhaps a year, in any of the usual orders."""
    numbers = [int(digits[:5]) for digits in re.findall(r"\d+", text)]
    if len(numbers) == 3:
        year = numbers.pop(0) if numbers[0] > 31 else numbers.pop()
        if not (year < 100 or 1850 <= year <= 2150):
            return False
    return len(numbers) == 2 and 1 <= min(numbers) <= 12 and max(numbers) <= 31


def _ip(text: str, language: str) -> bool:
    """Whether the text is an address of the Internet Protocol, version 4 or 6."""
    with suppress(ValueError):
        return bool(ip_address(text))
    return False


def _follows(standard: str, text: str, language: str) -> bool:
    """Whether the check digits fit; `de_idnr` is the module `stdnum.de.idnr` of python-stdnum."""
    return bool(import_module(f"stdnum.{standard.replace('_', '.')}").is_valid(text))


_STANDARDS = ("iban", "luhn", "de_idnr", "es_nif", "fr_nir", "gb_nhs", "nl_bsn", "se_personnummer", "us_ssn")
VALIDATORS: Mapping[str, Callable[[str, str], bool]] = {
    "phone": _phone, "date": _date, "ip": _ip, **{name: partial(_follows, name) for name in _STANDARDS},
}  # fmt: skip
"""Name, as pattern files use it -> whether a text can be that."""

ANY_SET = "*"
"""In `Pattern.labels`: every label set."""

_WRITTEN = ("name", "regex", "flags", "validator", "labels", "precision", "matches", "tag")
_LARGEST_FILE, _MOST_PATTERNS, _LONGEST_NAME, _DEEPEST = 2**20, 2_000, 100, 10
_PART = re.compile(r"\{\{(\w+)\}\}")
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*patterns[ \t]*\]\]", re.MULTILINE)
_FOLDER = resources.files("phistack.submodels.regex") / "patterns"


@dataclass(frozen=True)
class Pattern:
    """One regular expression and what it finds.

    :param name: unique in an engine; the evidence of its candidates.
    :param regex: with its parts filled in.
    :param labels: label set -> label; `ANY_SET` for a label that holds everywhere.
    :param flags: letters out of `imsx`.
    :param validator: name in `VALIDATORS`, or empty.
    :param precision: share of matches that are exactly a gold span with the label, in [0, 1], smoothed; 0.5 if unknown.
    :param matches: number of matches in training from which the precision was computed.
    :param tag: what the first token of a match gets, in `submodels.regex.token_tagger` only; empty elsewhere.
    :param place: where a user wrote it, such as `line 4 of own.toml`, for messages; empty if unknown.
    :param shipped: whether the expression comes with phistack, so it needs no time limit.
    :raises SettingsError: if a flag, the validator or the labels cannot be used.
    """

    name: str
    regex: str = field(repr=False)
    labels: Mapping[str, str]
    flags: str = ""
    validator: str = ""
    precision: float = 0.5
    matches: int = 0
    tag: str = ""
    place: str = field(default="", repr=False, compare=False)
    shipped: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if set(self.flags) - set(FLAGS):
            raise SettingsError(f"{self.title} has a flag that is not one of {', '.join(FLAGS)}")
        if self.validator and self.validator not in VALIDATORS:
            raise SettingsError(
                f"{self.title} names the unknown validator {self.validator}; there are {', '.join(VALIDATORS)}"
            )
        if not self.labels or not all(isinstance(label, str) and label for label in self.labels.values()):
            raise SettingsError(f'{self.title} has no label; add label = "..." or labels = {{ ... }}')
        if not 0 <= self.precision <= 1:
            raise SettingsError(f"{self.title} has a precision that is not from 0 to 1")

    @property
    def title(self) -> str:
        """The pattern as messages name it."""
        return f"the pattern {self.name}{self.place and f' ({self.place})'}"

    @cached_property
    def compiled(self) -> re.Pattern[str] | LimitedRegex:
        """The regex, ready for use; :raises SettingsError: if it is not a regular expression."""
        if self.shipped:
            return re.compile(self.regex, flags_of(self.flags))
        return LimitedRegex(self.regex, self.flags, self.title)

    def try_out(self) -> None:
        """Search texts on which bad expressions are slow; :raises SettingsError: if the regex is wrong or too slow."""
        LimitedRegex(self.regex, self.flags, self.title).try_out()

    def find(self, text: str, language: str) -> Iterator[tuple[int, int]]:
        """Starts and ends of the PHI in a text; :raises UnsafePatternError: if the search takes too long."""
        return ((start, end) for _, start, end in self.find_in([text], language))

    def find_in(self, texts: Sequence[str], language: str) -> Iterator[tuple[int, int, int]]:
        """The same for several texts, which share one time limit: the number of the text, the start and the end."""
        if isinstance(self.compiled, LimitedRegex):
            found = iter(self.compiled.find_all(texts))
        else:
            found = ((i, match) for i, text in enumerate(texts) for match in self.compiled.finditer(text))
        return ((i, *phi) for i, match in found if (phi := self.phi_of(match, language)) is not None)

    def phi_of(self, match: re.Match[str], language: str) -> tuple[int, int] | None:
        """Start and end of the PHI in a match, without blanks at either end; `None` if it is not valid."""
        start, end = match.span("phi" if "phi" in self.compiled.groupindex else 0)
        found = match.string[start:end] if start >= 0 else ""
        phi = found.strip()
        if not phi or (self.validator and not VALIDATORS[self.validator](phi, language)):
            return None
        start += len(found) - len(found.lstrip())
        return start, start + len(phi)

    def label_in(self, label_set: str) -> str:
        """The label that the pattern declares for a label set, through a mapping if needed; empty if none.

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
    """The patterns for all languages and those for one, as an ISO 639-1 code; not every language has a file."""
    return [pattern for name in ("common", "structured", language) for pattern in _shipped(name)]


def structured_patterns() -> tuple[Pattern, ...]:
    """The shipped patterns for structured text (HL7, DICOM, fields of JSON and XML, keys and values) and addresses."""
    return _shipped("structured")


@cache
def _shipped(name: str) -> tuple[Pattern, ...]:
    # The language may be that of a bundle, which must not name a file elsewhere.
    file = _FOLDER / f"{name}.toml"
    if not (name.isalpha() and file.is_file()):
        return ()
    return tuple(parse_patterns(file.read_text(encoding="utf-8"), shipped=True))


def user_patterns(path: Path) -> list[Pattern]:
    """The patterns of a user's file, each of them tried out.

    :raises SettingsError: if the file cannot be read or has no pattern; with its line, if one is wrong or too slow.
    """
    with file_named("the pattern file", path):
        patterns = parse_patterns(read_regular(path).decode("utf-8"), path=path)
        if not patterns:
            raise SettingsError("it holds no pattern; write them as [[patterns]] tables")
    for pattern in patterns:
        pattern.try_out()
    return patterns


def parse_patterns(toml: str, *, path: Path | None = None, shipped: bool = False) -> list[Pattern]:
    """The patterns of a TOML text; expressions are compiled when first used.

    :param path: of the file, for messages.
    :param shipped: whether it comes with phistack.
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
    lines = [toml.count("\n", 0, header.start()) + 1 for header in _HEADER.finditer(toml)]
    patterns: dict[str, Pattern] = {}
    for i, row in enumerate(rows):
        pattern = _pattern(row, table.get("parts", {}), i + 1)
        if pattern.name in patterns:
            raise SettingsError(f"two patterns are named {pattern.name}")
        place = f"line {lines[i]} of {path}" if len(lines) == len(rows) else f"{path}"
        patterns[pattern.name] = replace(pattern, place=place if path else "", shipped=shipped)
    return list(patterns.values())


def saved_patterns(toml: str, shipped: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """The patterns of an engine, which have one label each.

    :param shipped: patterns that may be among them and need no time limit.
    :raises BundleError: if they cannot be used.
    """
    known = {(pattern.regex, pattern.flags) for pattern in shipped}
    try:
        patterns = tuple(replace(p, shipped=(p.regex, p.flags) in known) for p in parse_patterns(toml))
        for pattern in patterns:
            if not pattern.shipped:
                pattern.compiled  # noqa: B018  a wrong expression is found when it is read
    except SettingsError as error:
        raise BundleError(f"the patterns of the engine cannot be used: {error}") from None
    if not all(ANY_SET in pattern.labels for pattern in patterns):
        raise BundleError("a pattern of the engine has no label")
    return patterns


def _pattern(row: Mapping[str, Any], parts: Mapping[str, str], number: int) -> Pattern:
    name = row.get("name")
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise SettingsError(f"pattern number {number} of the file has no name of at most {_LONGEST_NAME} characters")
    unknown = sorted(set(row) - {*_WRITTEN, "label"})
    if unknown:
        raise SettingsError(f"the pattern {name} has the unknown key {unknown[0]}")
    if not isinstance(row.get("regex"), str):
        raise SettingsError(f"the pattern {name} has no regex")
    try:
        return Pattern(
            name,
            _filled(row["regex"], parts, name),
            dict(row.get("labels", {})) | ({ANY_SET: row["label"]} if "label" in row else {}),
            flags=str(row.get("flags", "")),
            validator=str(row.get("validator", "")),
            precision=float(row.get("precision", 0.5)),
            matches=int(row.get("matches", 0)),
            tag=str(row.get("tag", "")),
        )
    except (TypeError, ValueError):
        raise SettingsError(f"the pattern {name} has a value of the wrong type") from None


def _filled(regex: str, parts: Mapping[str, str], name: str) -> str:
    """The regex with its parts in place; a part may use parts."""
    for _ in range(_DEEPEST):
        used = _PART.findall(regex)
        missing = next((part for part in used if part not in parts), None)
        if missing is not None:
            raise SettingsError(f"the pattern {name} uses the part {missing}, which its file does not define")
        if not used:
            return regex
        if len(regex) + sum(len(parts[part]) for part in used) > LONGEST:
            raise SettingsError(f"the pattern {name} has more than {LONGEST} characters with its parts; make two of it")
        regex = _PART.sub(lambda match: f"(?:{parts[match[1]]})", regex)
    raise SettingsError(f"the parts of the pattern {name} use each other in a circle; write one of them out")


def format_patterns(patterns: Iterable[Pattern]) -> str:
    """Patterns as the TOML that `parse_patterns` reads, with what was learned about each."""
    import tomli_w

    rows = [{key: getattr(pattern, key) for key in _WRITTEN if key != "tag" or pattern.tag} for pattern in patterns]
    return tomli_w.dumps({"patterns": rows})
