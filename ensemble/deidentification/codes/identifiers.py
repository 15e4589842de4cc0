"""Surrogates of record numbers, identity cards, accounts, plates and other codes.

    surrogate_identifier("NHC-1203491", context)    "QPT-5518027"
    surrogate_identifier("12345678Z", context)      "48091177T" in Spanish notes: the letter is that of the number

The pattern stays. Where the original is valid under a standard with a check digit, so is the surrogate; Swedish
personal numbers hold a date of birth, which is shifted as all dates of the patient are.
"""

from __future__ import annotations

import importlib
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from phistack.ensemble.deidentification.codes.patterns import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.shift import offset

_TRIES = 40
_LONGEST_WORD = 12


@dataclass(frozen=True, slots=True)
class Standard:
    """A kind of number with a check digit, as python-stdnum knows it.

    :param module: of the package `stdnum`.
    :param languages: of the notes in which it is looked for; nothing for all.
    :param lengths: of the number, in letters and digits.
    """

    module: str
    languages: tuple[str, ...]
    lengths: tuple[int, ...]


STANDARDS = (
    Standard("iban", (), tuple(range(15, 35))),
    Standard("se.personnummer", ("sv",), (10, 12)),
    Standard("es.nif", ("es",), (9,)),
    Standard("es.cif", ("es",), (9,)),
    Standard("es.ccc", ("es",), (20,)),
    Standard("nl.bsn", ("nl",), (9,)),
    Standard("de.idnr", ("de",), (11,)),
    Standard("us.ssn", ("en",), (9,)),
    Standard("gb.nhs", ("en",), (10,)),
    Standard("luhn", (), tuple(range(13, 20))),
)
"""Asked in this order; the first under which the original is valid decides."""


def surrogate_identifier(mention: str, context: Context) -> str | None:
    """Another code of the same pattern, with a valid check digit where the original has one.

    :returns: nothing for a long word without digits, which is no code.
    """
    code = "".join(c for c in mention if c.isalnum())
    if not code or (code.isalpha() and len(code) > _LONGEST_WORD):
        return None
    for standard in STANDARDS:
        fits = (not standard.languages or context.language in standard.languages) and len(code) in standard.lengths
        if fits and code.isascii() and _is_valid(standard.module, code):
            new = _valid(standard.module, code, context)
            return None if new is None else _in_pattern(mention, new)
    return same_pattern(mention, context, "identifier")


def _valid(module: str, code: str, context: Context) -> str | None:
    """Another number that is valid, by trying what the check digit may be."""
    attempted = context
    for _ in range(_TRIES):
        coded = same_pattern(code, attempted, module) or ""
        for candidate in _candidates(module, code, coded, attempted):
            if _is_valid(module, candidate):
                return candidate
        attempted = attempted.next()
    return None


def _candidates(module: str, code: str, coded: str, context: Context) -> list[str]:
    if module == "iban":
        return [code[:2] + _iban_check(code[:2], coded[4:]) + coded[4:]]
    if module == "se.personnummer":
        coded = _born(code, context) + coded[len(code) - 4 :]
    if module == "de.idnr":
        coded = _exchanged(code, context)
    if module == "es.ccc":
        return [coded[:8] + _ccc_check(coded[:8], coded[10:]) + coded[10:]]
    keeps_first = code[0].isalpha()
    stem = (code[0] if keeps_first else coded[0]) + coded[1:-1]
    last = string.digits if code[-1].isdigit() else string.ascii_uppercase
    return [stem + (check if code[-1].isupper() or check.isdigit() else check.lower()) for check in last]


def _iban_check(country: str, account: str) -> str:
    """The two check digits of ISO 13616, computed as ISO 7064 MOD 97-10."""
    rearranged = "".join(str(int(c, 36)) for c in f"{account}{country}00".upper())
    return f"{98 - int(rearranged) % 97:02d}"


def _ccc_check(bank: str, account: str) -> str:
    """The two check digits of a Spanish account number."""
    calculate: Callable[[str], str] = importlib.import_module("stdnum.es.ccc").calc_check_digits
    return calculate(f"{bank}00{account}")


def _exchanged(code: str, context: Context) -> str:
    """Digit for digit, always the same for the same one: a German tax number repeats exactly one of its digits."""
    free = list(string.digits)
    order = [free.pop(context.number(len(free), "digits", code, place)) for place in range(len(string.digits))]
    return "".join(order[int(c)] for c in code)


def _born(code: str, context: Context) -> str:
    """The date at the beginning of a Swedish personal number, shifted."""
    form = "%Y%m%d" if len(code) == 12 else "%y%m%d"
    born = datetime.strptime(code[:-4], form) + timedelta(days=offset(context.choices, context.options))
    return born.strftime(form)


def _is_valid(module: str, code: str) -> bool:
    check: Callable[..., bool] = importlib.import_module(f"stdnum.{module}").is_valid
    return check(code, check_country=False) if module == "iban" else check(code)


def _in_pattern(mention: str, code: str) -> str:
    """The new letters and digits in the places of the old ones."""
    signs = iter(code)
    return "".join(next(signs) if c.isalnum() else c for c in mention)
