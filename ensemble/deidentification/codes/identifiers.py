"""Surrogates of record numbers, identity cards, accounts, plates and other codes.

    same_pattern("AB-1203/x", context)              "QM-7405/t"
    surrogate_identifier("12345678Z", context)      "48091177T" in Spanish notes: the letter is that of the number

The pattern stays: a digit for a digit, a letter for a letter of the same case, all else unchanged. If the original is
valid under a standard with a check digit, so is the surrogate. The date of birth in a Swedish personal number is
shifted like all dates of the patient.
"""

from __future__ import annotations

import importlib
import string
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.shift import offset
from phistack.features.letters import fold

_RANGE = 10**12
_TRIES_OF_PATTERN, _TRIES = 5, 40
_LONGEST_WORD = 12

_STANDARDS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("iban", "", tuple(range(15, 35))),
    ("se.personnummer", "sv", (10, 12)),
    ("es.nif", "es", (9,)),
    ("es.cif", "es", (9,)),
    ("es.ccc", "es", (20,)),
    ("nl.bsn", "nl", (9,)),
    ("de.idnr", "de", (11,)),
    ("us.ssn", "en", (9,)),
    ("gb.nhs", "en", (10,)),
    ("luhn", "", tuple(range(13, 20))),
)
"""Module of the package `stdnum`, language of the notes (or any), lengths in letters and digits; the first
standard that the original meets is used."""


def surrogate_identifier(mention: str, context: Context) -> str | None:
    """Another code of the same pattern, with a valid check digit where the original has one.

    :returns: None for a long word without digits, which is not a code.
    """
    code = "".join(c for c in mention if c.isalnum())
    if not code or (code.isalpha() and len(code) > _LONGEST_WORD):
        return None
    for module, language, lengths in _STANDARDS:
        fits = language in ("", context.language) and len(code) in lengths and code.isascii()
        if fits and _is_valid(module, code):
            new = next(filter(lambda other: _is_valid(module, other), _candidates(module, code, context)), None)
            signs = iter(new or "")
            return new and "".join(next(signs) if c.isalnum() else c for c in mention)
    return same_pattern(mention, context, "identifier")


def _candidates(module: str, code: str, context: Context) -> Iterator[str]:
    """Codes of the same pattern, with every possible check digit."""
    for _ in range(_TRIES):
        coded = same_pattern(code, context, module) or ""
        if module == "iban":
            check = _stdnum(module).calc_check_digits(code[:2] + "00" + coded[4:])
            yield code[:2] + check + coded[4:]
        elif module == "es.ccc":
            yield coded[:8] + _stdnum(module).calc_check_digits(coded) + coded[10:]
        else:
            if module == "se.personnummer":
                coded = _born(code, context) + coded[len(code) - 4 :]
            if module == "de.idnr":
                coded = _exchanged(code, context)
            stem = (code[0] if code[0].isalpha() else coded[0]) + coded[1:-1]
            last = string.digits if code[-1].isdigit() else string.ascii_uppercase
            yield from (stem + (check if code[-1].isupper() else check.lower()) for check in last)
        context = context.next()


def _exchanged(code: str, context: Context) -> str:
    """The code with its digits mapped one to one: a German tax number must repeat exactly one of its digits."""
    free = list(string.digits)
    order = [free.pop(context.number(len(free), "digits", code, place)) for place in range(len(string.digits))]
    return "".join(order[int(c)] for c in code)


def _born(code: str, context: Context) -> str:
    """The date at the beginning of a Swedish personal number, shifted."""
    form = "%Y%m%d" if len(code) == 12 else "%y%m%d"
    born = datetime.strptime(code[:-4], form) + timedelta(days=offset(context.choices, context.options))
    return born.strftime(form)


def _is_valid(module: str, code: str) -> bool:
    return bool(_stdnum(module).is_valid(code, **({"check_country": False} if module == "iban" else {})))


def _stdnum(module: str) -> Any:
    return importlib.import_module(f"stdnum.{module}")


def same_pattern(code: str, context: Context, *purpose: object) -> str | None:
    """A code of the same pattern, the same however the original is written.

    A first digit other than 0 never becomes 0, which would shorten a number; a leading 0 stays.

    :returns: None if it has no letter or digit apart from a leading 0.
    """
    original = "".join(c for c in fold(code) if c.isalnum())
    tries = range(_TRIES_OF_PATTERN if original else 0)
    written = (_written(code, context, *purpose, number, original) for number in tries)
    return next((new for new in written if fold(new) != fold(code)), None)


def _written(code: str, context: Context, *parts: object) -> str:
    written: list[str] = []
    place = 0
    for c in code:
        if c.isalnum():
            letters = string.ascii_uppercase if c.isupper() else string.ascii_lowercase
            digits = string.digits if place else "0" if c == "0" else string.digits[1:]
            signs = letters if c.isalpha() else digits
            written.append(signs[context.number(_RANGE, "code", *parts, place) % len(signs)])
            place += 1
        elif not "\u0300" <= c <= "\u036f":  # A combining accent goes with its letter.
            written.append(c)
    return "".join(written)
