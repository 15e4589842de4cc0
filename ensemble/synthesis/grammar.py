"""The notation of templates.

    [[DOCTOR]]              PHI: its kind
    [[DATE.birth:full]]     PHI: its kind, the role of the person, place or day, and the form in which it is written
    {drug}                  an entry of the vocabulary, or a word that fits the patient (`{He}`, `{his}`, `{Mr}`)
    {drug_cap}              the same with a capital letter; {drug_upper} in capitals
    (left|right)            one of the alternatives; brackets without a bar are literal
    <60-90>, <0.6-1.4>      a number in the range, ends included, with as many decimals as its lower end
    \\n, \\f                  a line break, a page break

Vocabulary and alternatives may use the notation again. Example: `expand("(no|mild) edema, Dr. [[DOCTOR:last]]", ...)`
gives `["mild edema, Dr. ", Placeholder("DOCTOR", "", "last")]`.

A date is written in a format, a `str.format` pattern: `{d} {month_name} {y}` is `12 May 2081`. The day of the week,
holidays, seasons, months and years alone are dates too, as in the i2b2 2014 guidelines; the time of day is not part of
a date.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from phistack.features.errors import SettingsError

_NOTATION = re.compile(
    r"\[\[(?P<kind>[A-Z-]+)(?:\.(?P<role>\w+))?(?::(?P<form>\w+))?\]\]"
    r"|\{(?P<word>\w+)\}"
    r"|\((?P<alternatives>[^()]*\|[^()]*)\)"
    r"|<(?P<low>\d+(?:\.\d+)?)-(?P<high>\d+(?:\.\d+)?)>"
)

FORMS = {
    "hl7": ("{y}{mm}{dd}",),
    "stamp": ("{y}{mm}{dd}{hour}{minute}", "{y}{mm}{dd}{hour}{minute}{second}"),
    "iso": ("{y}-{mm}-{dd}",),
}
"""Form -> its formats, in every language: dates in structured text."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A place for PHI: its kind, its role (whose or which it is), and the form in which it is written."""

    kind: str
    role: str = ""
    form: str = ""


TemplatePiece = str | Placeholder


def placeholders(template: str) -> tuple[Placeholder, ...]:
    """The PHI that a template names, those inside alternatives included."""
    outer = [m for m in _NOTATION.finditer(template)]
    inner = [p for m in outer if m["alternatives"] for p in placeholders(m["alternatives"])]
    return (*(_placeholder(m) for m in outer if m["kind"]), *inner)


def expand(template: str, words: Mapping[str, Sequence[str]], rng: random.Random) -> list[TemplatePiece]:
    """Choose everything that a template leaves open, except the PHI.

    :param words: vocabulary: the name in braces -> its entries.
    :returns: literal text and placeholders in turn; no two literals follow each other.
    :raises SettingsError: if the template names an unknown vocabulary.
    """
    merged: list[TemplatePiece] = []
    for piece in _expand(template.replace("\\n", "\n").replace("\\f", "\f"), words, rng):
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece:
            merged.append(piece)
    return merged


def _expand(template: str, words: Mapping[str, Sequence[str]], rng: random.Random) -> Iterator[TemplatePiece]:
    end = 0
    for match in _NOTATION.finditer(template):
        yield template[end : match.start()]
        end = match.end()
        if match["kind"]:
            yield _placeholder(match)
        elif match["word"]:
            yield from _vocabulary_entry(match["word"], words, rng)
        elif match["alternatives"]:
            yield from _expand(rng.choice(match["alternatives"].split("|")), words, rng)
        else:
            yield _number(match["low"], match["high"], rng)
    yield template[end:]


def _number(low: str, high: str, rng: random.Random) -> str:
    decimals = len(low.partition(".")[2])
    scale = 10**decimals
    return f"{rng.randint(round(float(low) * scale), round(float(high) * scale)) / scale:.{decimals}f}"


def _placeholder(match: re.Match[str]) -> Placeholder:
    return Placeholder(match["kind"], match["role"] or "", match["form"] or "")


def _vocabulary_entry(name: str, words: Mapping[str, Sequence[str]], rng: random.Random) -> list[TemplatePiece]:
    entries = words.get(name.removesuffix("_cap").removesuffix("_upper"))
    if not entries:
        raise SettingsError(f"a template names the vocabulary {name}, which words.toml does not have")
    pieces = expand(rng.choice(entries), words, rng)
    if name.endswith("_cap") and isinstance(pieces[0], str):
        pieces[0] = pieces[0][:1].upper() + pieces[0][1:]
    if name.endswith("_upper"):
        pieces = [piece.upper() if isinstance(piece, str) else piece for piece in pieces]
    return pieces


def write_date(day: date, pattern: str, names: Mapping[str, Any], rng: random.Random) -> str:
    """A date in a format.

    :param names: the table `[dates]` of a language, which has the names of months and weekdays.
    :param rng: chooses between names of a month, and the time of day in a time stamp.
    """
    return pattern.format(**_fields(day, names, rng)) if "{" in pattern else pattern


def _fields(day: date, names: Mapping[str, Any], rng: random.Random) -> dict[str, object]:
    month = names["months"][day.month - 1]
    if rng.random() < 0.4:
        month = names.get("other_months", {}).get(month, month)
    season = names.get("seasons", ("",) * 4)[day.month % 12 // 3]
    short_weekdays = names.get("short_weekdays", [name[:3] for name in names["weekdays"]])
    ending = "th" if day.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    clock = {name: f"{rng.randint(0, last):02d}" for name, last in (("hour", 23), ("minute", 59), ("second", 59))}
    return {
        "y": day.year, "yy": f"{day.year % 100:02d}", "m": day.month, "mm": f"{day.month:02d}", "d": day.day,
        "dd": f"{day.day:02d}", "nth": f"{day.day}{ending}", "e": max(1, day.day - rng.randint(1, 7)),
        "w": day.isocalendar().week, "month_name": month, "mon": names["short_months"][day.month - 1],
        "upper": month[:3].upper(), "weekday_name": names["weekdays"][day.weekday()],
        "wd": short_weekdays[day.weekday()], "season": season, "Season": season.title(),
        **clock,
    }  # fmt: skip
