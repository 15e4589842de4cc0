"""The kind of PHI behind each label, so that policies and surrogates work with every label set.

    kind_of("DOCTOR", "i2b2-2014")       "PERSON"
    kind_of("TERRITORIO", "meddocan")    "PLACE"
    kind_of("PER", "custom")             "PERSON", by its name
    kind_of("NEWTYPE", "i2b2-2014")      "OTHER", for which there are no surrogates: it is tagged

The tables are in `kinds.toml`, with every label of every label set that phistack ships, and the usual names of kinds in
corpora with labels of their own.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from phistack.features.labels import LabelSet

KINDS = (
    *("PERSON", "INITIALS", "USERNAME", "RELATIVE", "SEX", "PROFESSION", "DATE", "AGE"),
    *("PHONE", "EMAIL", "URL", "ID"),
    *("STREET", "CITY", "STATE", "ZIP", "COUNTRY", "PLACE", "ADDRESS"),
    *("HOSPITAL", "ORGANIZATION", "DEPARTMENT", "ROOM", "OTHER"),
)
"""PLACE is a city, a state or a postcode; ADDRESS is that or a street; URL is also an address of the Internet
protocol; PHONE is also a fax number."""

_OWN_LABELS = "own labels"
_ROLES = {"FIRST_NAME": "first", "LAST_NAME": "last", "SURNAME": "last", "APELLIDOS": "last"}


def kind_of(label: str, label_set: str) -> str:
    """The kind of a label.

    :param label: a label, also one that the set does not know.
    :param label_set: the name of a label set.
    :returns: one of `KINDS`; for a label or a set without an entry, what the name says anywhere.
    """
    return _tables().get(label_set, {}).get(label) or kind_anywhere(label)


@cache
def kind_anywhere(label: str) -> str:
    """The kind that a label has in whichever label set knows it, for corpora with labels of their own.

    :returns: one of `KINDS`; OTHER for a label that no set has and that is no usual name of a kind.
    """
    kinds = (table[label] for name, table in _tables().items() if name in LabelSet.recognised() and label in table)
    usual = _tables()[_OWN_LABELS].get(label.upper().replace("-", "_"), "OTHER")
    return next(kinds, usual)


_BROADER = {
    **dict.fromkeys(("STREET", "CITY", "STATE", "ZIP", "COUNTRY"), ("PLACE", "ADDRESS")),
    **dict.fromkeys(("PLACE", "ADDRESS"), ("CITY", "STREET")),
    **dict.fromkeys(("HOSPITAL", "DEPARTMENT", "ROOM"), ("ORGANIZATION", "HOSPITAL")),
    **dict.fromkeys(("INITIALS", "USERNAME", "RELATIVE"), ("PERSON",)),
    **dict.fromkeys(("EMAIL", "URL"), ("PHONE",)),
}
"""The kinds that come nearest, where a label set has no label of a kind itself."""


def label_like(label: str, label_set: LabelSet, target: LabelSet) -> str:
    """The label of another set that is most like a label: of the same kind, or of one that is near.

    :returns: the label itself if the other set has it, or nothing like it.
    """
    if label in target.labels:
        return label
    kind = kind_of(label, label_set.name)
    for wanted in (kind, *_BROADER.get(kind, ()), "OTHER"):
        of_kind = [own for own in target.labels if kind_of(own, target.name) == wanted]
        if of_kind:
            return of_kind[0]
    return label


def name_role(label: str) -> str:
    """Which part of a name a label marks, `first` or `last`; empty for most, which mark either."""
    return _ROLES.get(label.upper().replace("-", "_"), "")


@cache
def _tables() -> dict[str, dict[str, str]]:
    text = (resources.files("phistack.ensemble.deidentification") / "kinds.toml").read_text(encoding="utf-8")
    return {
        label_set: {label: kind for kind, labels in kinds.items() for label in labels}
        for label_set, kinds in tomllib.loads(text).items()
    }
