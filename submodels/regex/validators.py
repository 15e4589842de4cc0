"""Whether a matched text can be what its pattern takes it for.

    VALIDATORS["luhn"]("4539578763621486", "en")     True
    VALIDATORS["date"]("45/45/2012", "en")           False

A validator is a function from the matched text and the language of the notes to a truth value. Numbers are checked by
phonenumbers (the numbering plans of the ITU) and python-stdnum (the check digits of each national standard).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from ipaddress import ip_address

Validator = Callable[[str, str], bool]

REGIONS: Mapping[str, str] = {
    "da": "DK", "de": "DE", "en": "US", "es": "ES", "fi": "FI", "fr": "FR", "it": "IT", "nl": "NL", "no": "NO",
    "pt": "PT", "sv": "SE",
}  # fmt: skip
"""Language -> the country whose numbering plan reads a telephone number without a country code."""

STANDARDS = ("iban", "luhn", "de_idnr", "es_nif", "fr_nir", "gb_nhs", "nl_bsn", "se_personnummer", "us_ssn")
"""Validators that are modules of python-stdnum: `de_idnr` is `stdnum.de.idnr`."""

_DATE_NUMBERS = re.compile(r"\d+")


def phone(text: str, language: str) -> bool:
    """Whether a telephone number has a length that the country's numbering plan knows; extensions are allowed."""
    import phonenumbers

    try:
        number = phonenumbers.parse(text, REGIONS.get(language))
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))


def date(text: str, language: str) -> bool:
    """Whether the numbers of a date can be a day, a month and perhaps a year, in any of the usual orders."""
    numbers = [int(digits[:5]) for digits in _DATE_NUMBERS.findall(text)]
    if len(numbers) == 3:
        year = numbers.pop(0) if numbers[0] > 31 else numbers.pop()
        if not (year < 100 or 1850 <= year <= 2150):
            return False
    return len(numbers) == 2 and 1 <= min(numbers) <= 12 and max(numbers) <= 31


def ip(text: str, language: str) -> bool:
    """Whether the text is an address of the Internet Protocol, version 4 or 6."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _standard(name: str) -> Validator:
    module = f"stdnum.{name.replace('_', '.')}"
    return lambda text, language: bool(import_module(module).is_valid(text))


VALIDATORS: Mapping[str, Validator] = {
    "phone": phone, "date": date, "ip": ip, **{name: _standard(name) for name in STANDARDS},
}  # fmt: skip
"""Name, as pattern files use it -> validator."""
