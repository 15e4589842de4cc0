"""The role of each column of a roster, and its label in an engine.

    role_of("Date of birth")                        "birth_date"
    label_of("staff", LabelSet.named("meddocan"))   "NOMBRE_PERSONAL_SANITARIO"
    role_of("DOCTOR"), role_of("ward")              "", "": the first can be a label of the engine

A role is the relation of a value to the patient: `name`, `relative`, `staff`, `birth_date` and so on. The tables are in
`columns.toml`. A column may also have the name of a label; its values are then searched for as that kind of PHI.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Literal

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.registry import packaged_table

PATIENT = "patient"
"""The role of the column that names the patient."""

PARTS = ("first", "middle", "last")
"""The roles of columns with a part of the patient's name, in order."""

SearchedAs = Literal["name", "date", "code", "phone", "phrase", "address"]
"""How a value is searched for, see `ensemble.stacking.known.search`."""

_tables = partial(packaged_table, "phistack.ensemble.stacking.known", "columns.toml")
_BY_KIND: dict[str, SearchedAs] = {
    "PERSON": "name", "RELATIVE": "name", "DATE": "date", "PHONE": "phone", "ID": "code", "ZIP": "code",
    "STREET": "address", "ADDRESS": "address",
}  # fmt: skip
"""For columns that are named as a label; others contain phrases."""


@cache
def role_of(column: str) -> str:
    """The role of a column by its name; empty for an unusual name."""
    name, tables = re.sub(r"[\W_]+", "_", fold(column)).strip("_"), _tables()
    columns = {role: table["columns"] for role, table in tables["roles"].items()} | tables["parts"]
    return next(
        (role for role, names in {**columns, PATIENT: tables["patient"]["columns"]}.items() if name in names), ""
    )


def roles() -> tuple[str, ...]:
    """The names of all roles but that of the patient."""
    return tuple(_tables()["roles"])


def searched_as(role: str, label: str, label_set: str = "") -> SearchedAs:
    """How the values of a role, or of a column named as a label, are searched for.

    :param label_set: the name of the label set, for the kind of the label.
    """
    known: dict[str, SearchedAs] = _tables()["roles"].get(role, {})
    return known.get("search") or _BY_KIND.get(kind_of(label, label_set), "phrase")


def label_of(role: str, label_set: LabelSet) -> str:
    """The label of a role; :raises SettingsError: if the set has none."""
    tables = _tables()
    usual = tables["labels"].get(label_set.name, {}).get(role)
    kinds = tables["roles"][role]["kinds"]
    fitting = (label for kind in kinds for label in label_set.labels if kind_of(label, label_set.name) == kind)
    label: str | None = usual if usual in label_set.labels else next(fitting, None)
    if label is None:
        raise SettingsError(f"the engine has no label for {role.replace('_', ' ')}; leave that column out")
    return label
