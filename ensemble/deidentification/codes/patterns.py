"""Codes of the same pattern: a digit for a digit, a letter for a letter of the same case, all else as it is.

    same_pattern("AB-1203/x", context)     "QM-7405/t"

A first digit other than 0 does not become 0, so that no number gets shorter; a leading 0 stays.
"""

from __future__ import annotations

import string

from phistack.ensemble.deidentification.context import Context
from phistack.features.letters import fold

_RANGE = 10**12
_TRIES = 5


def same_pattern(code: str, context: Context, *purpose: object) -> str | None:
    """A code of the same pattern, the same for every way of writing the original.

    :returns: None if there is no letter or digit in it, or none but a leading 0.
    """
    original = "".join(c for c in fold(code) if c.isalnum())
    written = (_written(code, context, *purpose, number, original) for number in range(_TRIES if original else 0))
    return next((new for new in written if fold(new) != fold(code)), None)


def _written(code: str, context: Context, *parts: object) -> str:
    written: list[str] = []
    place = 0
    for c in code:
        if c.isalnum():
            dice = context.number(_RANGE, "code", *parts, place)
            written.append(_replacement(c, dice, first=place == 0))
            place += 1
        elif not "\u0300" <= c <= "\u036f":  # A combining accent goes with its letter.
            written.append(c)
    return "".join(written)


def _replacement(c: str, dice: int, first: bool) -> str:
    if c.isalpha():
        letters = string.ascii_uppercase if c.isupper() else string.ascii_lowercase
        return letters[dice % 26]
    if first:
        return "0" if c == "0" else string.digits[1 + dice % 9]
    return string.digits[dice % 10]
