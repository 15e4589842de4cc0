"""The kind of PHI behind each label, which lets policies and surrogates work with every label set.

    kind_of("DOCTOR", "i2b2-2014")       "PERSON"
    kind_of("TERRITORIO", "meddocan")    "PLACE"
    kind_of("PER", "custom")             "PERSON", by its name
    kind_of("NEWTYPE", "i2b2-2014")      "OTHER", which has no surrogates: it is tagged

`kinds.toml` has every label of every label set that phistack ships, and the usual names of kinds in other corpora.
"""

from __future__ import annotations

from functools import cache

from phistack.ensemble.deidentification.word_lists import shipped
from phistack.features.labels import LabelSet

KINDS = (
    *("PERSON", "INITIALS", "USERNAME", "RELATIVE", "SEX", "PROFESSION", "DATE", "AGE"),
    *("PHONE", "EMAIL", "URL", "ID"),
    *("STREET", "CITY", "STATE", "ZIP", "COUNTRY", "PLACE", "ADDRESS"),
    *("HOSPITAL", "ORGANIZATION", "DEPARTMENT", "ROOM", "OTHER"),
)
"""PLACE is a city, a state or a postcode; ADDRESS is that or a street; URL is also an IP address; PHONE is also a fax
number."""

_ROLES = {"FIRST_NAME": "first", "LAST_NAME": "last", "SURNAME": "last", "APELLIDOS": "last"}


_BROADER = {
    **dict.fromkeys(("STREET", "CITY", "STATE", "ZIP", "COUNTRY"), ("PLACE", "ADDRESS")),
    **dict.fromkeys(("PLACE", "ADDRESS"), ("CITY", "STREET")),
    **dict.fromkeys(("HOSPITAL", "DEPARTMENT", "ROOM"), ("ORGANIZATION", "HOSPITAL")),
    **dict.fromkeys(("INITIALS", "USERNAME", "RELATIVE"), ("PERSON",)),
    **dict.fromkeys(("EMAIL", "URL"), ("PHONE",)),
}
"""The nearest kinds, for label sets without a label of the kind itself."""


def kind_of(label: str, label_set: str) -> str:
    """The kind of a label, one of `KINDS`.

    :param label: a label, which the set may lack.
    :param label_set: the name of a label set; for one that is unknown or lacks the label, the label's name decides.
    """
    return _tables().get(label_set, {}).get(label) or kind_anywhere(label)


@cache
def kind_anywhere(label: str) -> str:
    """The kind that any label set gives to a label, or that its name usually has; OTHER if unknown."""
    kinds = (table[label] for name, table in _tables().items() if name in LabelSet.recognised() and label in table)
    return next(kinds, _tables()["own labels"].get(label.upper().replace("-", "_"), "OTHER"))


def label_like(label: str, label_set: LabelSet, target: LabelSet) -> str:
    """The label of another set that is most like a label: of the same kind, or of a near one.

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
    return {
        label_set: {label: kind for kind, labels in kinds.items() for label in labels}
        for label_set, kinds in shipped("kinds").items()
    }
