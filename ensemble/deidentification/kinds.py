"""The kind of PHI behind each label, so that policies and surrogates work with every label set.

    kind_of("DOCTOR", "i2b2-2014")       "PERSON"
    kind_of("TERRITORIO", "meddocan")    "PLACE"
    kind_of("NEWTYPE", "i2b2-2014")      "OTHER", for which there are no surrogates: it is tagged

The tables are in `kinds.toml`, with every label of every label set that phistack ships.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

__all__ = ["KINDS", "kind_anywhere", "kind_of"]

KINDS = (
    *("PERSON", "INITIALS", "USERNAME", "RELATIVE", "SEX", "PROFESSION", "DATE", "AGE"),
    *("PHONE", "EMAIL", "URL", "ID"),
    *("STREET", "CITY", "STATE", "ZIP", "COUNTRY", "PLACE", "ADDRESS"),
    *("HOSPITAL", "ORGANIZATION", "DEPARTMENT", "ROOM", "OTHER"),
)
"""PLACE is a city, a state or a postcode; ADDRESS is that or a street; URL is also an address of the Internet
protocol; PHONE is also a fax number."""

_USUAL_NAMES = {
    "PERSON": "PER PERS PERSON PERSONA PERSONS NAME NAMES NOM NOMBRE NOME NAAM NAMN PERSON_NAME STAFF NURSE PHYSICIAN",
    "PHONE": "TEL TELEPHONE TELEFONO PHONE_NUMBER",
    "EMAIL": "MAIL E-MAIL EMAIL_ADDRESS",
    "ID": "ID_NUMBER IDENTIFIER NUMBER_ID DNI NIF NHC MRN",
}
"""Kind -> labels by which corpora outside the shared tasks often mean it."""


def kind_of(label: str, label_set: str) -> str:
    """The kind of a label.

    :param label: a label, also one that the set does not know.
    :param label_set: the name of a label set.
    :returns: one of `KINDS`; OTHER for a label or a set without an entry.
    """
    return _tables().get(label_set, {}).get(label, "OTHER")


@cache
def kind_anywhere(label: str) -> str:
    """The kind that a label has in whichever label set knows it, for corpora with labels of their own.

    :returns: one of `KINDS`; OTHER for a label that no set has and that is no usual name of a kind.
    """
    kinds = (table[label] for table in _tables().values() if label in table)
    return next(kinds, _usual_names().get(label.upper(), "OTHER"))


@cache
def _usual_names() -> dict[str, str]:
    return {name: kind for kind, names in _USUAL_NAMES.items() for name in names.split()}


@cache
def _tables() -> dict[str, dict[str, str]]:
    text = (resources.files("ensemble.deidentification") / "kinds.toml").read_text(encoding="utf-8")
    return {
        label_set: {label: kind for kind, labels in kinds.items() for label in labels}
        for label_set, kinds in tomllib.loads(text).items()
    }
