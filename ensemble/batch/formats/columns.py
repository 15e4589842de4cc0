"""The columns of a table, and what becomes of each.

    columns = Columns(others={"patient_name": "PATIENT", "ward": "keep"})
    columns.treatment("ward")        "keep"
    columns.treatment("dob")         "": nobody said it, so no run begins over a table with this column

    id             kept: it names the note
    patient        kept too, unless `others` has it: a record number can name the patient and be left out of the output
    texts          read by the detector
    keep           as it is, byte for byte
    remove         not in the output
    redact         a further text for the detector
    LABEL          the whole value is one identifier, for example PATIENT or DATE

`spans`, the annotations of phistack's own JSON lines, are always removed: they quote or count characters of the text as
it was; and new ones would show which of its names are surrogates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats.columns import SPANS, listed_names, shown_names
from phistack.features.suggestions import did_you_mean, no_such

TREATMENTS = KEEP, REMOVE, REDACT = "keep", "remove", "redact"
_PATIENT_COLUMN = "group"
_MOST_TOLD = 100

_SUGGESTED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"doctor|physician|clinician|nurse|provider|author|medic", ("DOCTOR", "NOMBRE_PERSONAL_SANITARIO", "Name")),
    (r"user|login", ("USERNAME",)),
    (r"hospital|clinic", ("HOSPITAL", "Hospital")),
    (r"name|nombre|apellido|namn|naam", ("PATIENT", "NOMBRE_SUJETO_ASISTENCIA", "Name")),
    (r"dob|birth|born|date|time|fecha|nacimiento|admi|discharge|datum", ("DATE", "FECHAS", "Date")),
    (r"\bage\b|edad|alder|leeftijd", ("AGE", "EDAD_SUJETO_ASISTENCIA", "Age")),
    (r"phone|mobile|tel", ("PHONE", "NUMERO_TELEFONO", "Phone_fax")),
    (r"mail", ("EMAIL", "CORREO_ELECTRONICO", "Email")),
    (r"street|address|calle|adres", ("STREET", "CALLE", "Address")),
    (r"city|town", ("CITY", "TERRITORIO", "Address")),
    (r"zip|post", ("ZIP", "TERRITORIO", "Address")),
    (r"ssn|social", ("SSN", "ID_ASEGURAMIENTO")),
    (r"mrn|record|nhc", ("MEDICALRECORD", "ID_SUJETO_ASISTENCIA", "ID")),
    (r"comment|remark|note|summary|history|description", (REDACT,)),
    (r"\bward\b|\btype\b|category|language|specialty|status|version|\bicd|\bcode\b", (KEEP,)),
)
"""What the name of a column looks like -> the treatment to suggest, as the engine's labels have it; else `remove`."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What becomes of each column of JSONL, CSV or Parquet.

    :param id: names the note in reports.
    :param texts: the note; one column or more.
    :param patient: whose note it is; where a row has nothing in it, and where the input lacks the column of the
        usual name, it is read from the id. None if the input is known to lack it.
    :param others: column -> keep, remove, redact or a label; the patient too, but for redact.
    :param rest: the treatment of columns that nobody named; empty where they stop the run.
    :raises SettingsError: if a column is given two uses, as one of them would show it in reports or let it pass.
    """

    id: str = "id"
    texts: tuple[str, ...] = ("text",)
    patient: str | None = _PATIENT_COLUMN
    others: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""

    def __post_init__(self) -> None:
        if not self.texts:
            raise SettingsError("no column holds the text; name one with --text-column")
        for name in self.texts:
            if name in (self.id, self.patient):
                ways = "name a column for each with --text-column, --id-column and --patient-column"
                raise SettingsError(f"the column {name} cannot hold both the text and the id or the patient; {ways}")
        for name in self.others:
            if name in (self.id, *self.texts):
                raise SettingsError(f"the column {name} is already the id or a text column; leave it out of --column")
        if self.patient is not None and self.others.get(self.patient) == REDACT:
            raise SettingsError(
                f"the column {self.patient} holds the patient, not a text of the note; give it a label, or remove"
            )
        if self.others.get(SPANS) == KEEP:
            raise SettingsError(
                f"{SPANS} belong to the text before de-identification, so they cannot be kept; leave them out of "
                "--column"
            )

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; :raises KeyError, TypeError, ValueError: for anything else."""
        return cls(table["id"], tuple(table["texts"]), table["patient"], dict(table["others"]), table["rest"])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "texts": list(self.texts)}

    @property
    def is_patient_named(self) -> bool:
        """Whether somebody named a column of patients, which must then be there."""
        return self.patient not in (None, _PATIENT_COLUMN)

    @property
    def labels(self) -> dict[str, str]:
        """Column -> label, where the whole value is one identifier."""
        return {name: given for name, given in self.others.items() if given not in TREATMENTS}

    @property
    def kept(self) -> list[str]:
        """The columns that pass as they are: the id, mostly the patient, and those to be kept."""
        named = dict.fromkeys([self.id, self.patient or self.id, *self.others])
        return [name for name in named if self.treatment(name) == KEEP]

    def treatment(self, name: str) -> str:
        """keep, remove, redact or a label; nothing if nobody said it."""
        if name in self.others:
            return self.others[name]
        if name in (self.id, self.patient):
            return KEEP
        if name in self.texts:
            return REDACT
        return REMOVE if name == SPANS else self.rest

    def label(self, name: str) -> str | None:
        """The label of a column of identifiers, empty for a text; None for a column that is kept or removed."""
        given = self.treatment(name)
        return None if given in (KEEP, REMOVE, "") else "" if given == REDACT else given

    def unnamed(self, names: Sequence[str]) -> list[str]:
        """The columns of which nobody said what becomes of them."""
        return [name for name in names if not self.treatment(name)]

    def found(self, path: Path, names: Sequence[str], labels: Collection[str] = ()) -> Columns:
        """The same for a table with these columns, and no others.

        :param labels: of the engine, for what is suggested.
        :raises CorpusError: if a column is missing, doubled or has no treatment, with the words that help.
        """
        for name, option in self._asked_for(names):
            if names.count(name) != 1:
                raise CorpusError(_not_once(path, name, names, option))
        unnamed = self.unnamed(names)
        if unnamed:
            raise CorpusError(_unnamed(path, names, unnamed, labels))
        named = {self.id, self.patient, *self.texts} - self.others.keys()
        others = {name: self.treatment(name) for name in names if name not in named}
        return replace(self, patient=self.patient if self.patient in names else None, others=others)

    def of_output(self) -> Columns:
        """The same for the output, which lacks what was removed, and has no patient that was replaced."""
        patient = None if self.patient in self.others else self.patient
        return replace(
            self, patient=patient, others={name: given for name, given in self.others.items() if given != REMOVE}
        )

    def _asked_for(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The columns that must be there once, each with the option that names it."""
        yield self.id, "--id-column"
        yield from ((name, "--text-column") for name in self.texts)
        if self.patient is not None and (self.is_patient_named or self.patient in names):
            yield self.patient, "--patient-column"
        yield from ((name, "--column") for name in self.others)


def check_labels(columns: Mapping[str, str], labels: Collection[str]) -> None:
    """Refuse a column of a label that the engine does not have; :raises SettingsError: with the nearest one."""
    for name, label in columns.items():
        if label not in labels:
            raise SettingsError(
                f"--column {name}={label}: {no_such('treatment or label', label, (*TREATMENTS, *labels))}"
            )


def treatments_of(given: Sequence[str]) -> dict[str, str]:
    """Column -> treatment, from `NAME=keep`, `NAME=PATIENT` and the like.

    :raises SettingsError: for anything else, and for a column that is named twice.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, treatment = text.rpartition("=")
        if not equals or not treatment.strip():
            raise SettingsError(f"--column takes NAME=keep, NAME=remove, NAME=redact or NAME=LABEL, not {text}")
        if name in found:
            raise SettingsError(f"--column names {name} twice; give one treatment")
        found[name] = treatment.strip()
    return found


def _not_once(path: Path, name: str, names: Sequence[str], option: str) -> str:
    if not any(names):
        return f"{path} has no header line with the names of its columns; add one"
    there = f"the columns of {path} are {_listed(names)}"
    if name in names:
        return f"the column {name} occurs more than once; rename one of the two; {there}"
    near = did_you_mean(name, shown_names(names))
    return f"there is no column {name}{near}; {there}: name the right one with {option}"


def _unnamed(path: Path, names: Sequence[str], unnamed: Sequence[str], labels: Collection[str]) -> str:
    look_like_it = shown_names([*filter(None, names)])
    shown = [name for name in dict.fromkeys(unnamed) if name in look_like_it or not name] or ["NAME"]
    words = " ".join(f"--column {_shell(f'{name}={_suggestion(name, labels)}')}" for name in shown[:_MOST_TOLD])
    named = f"{', '.join(shown[:_MOST_TOLD])}; " if look_like_it and any(shown) else f"{len({*unnamed})} columns; "
    return (
        f"nobody said what becomes of {named}the columns of {path} are {_listed(names)}. Say it of each, for example: "
        f"{words} (keep: as it is; remove: not in the output; redact: a further text of the note; a label: the whole "
        f"value is one such identifier)"
    )


def _listed(names: Sequence[str]) -> str:
    """The names as a message says them: each once, and not too many, as every line of JSON may have another."""
    distinct = list(dict.fromkeys(filter(None, names)))
    more = [f"{len(distinct) - _MOST_TOLD} more"] if len(distinct) > _MOST_TOLD else []
    more += ["one without a name"] if "" in names else []
    return " and ".join([listed_names(distinct[:_MOST_TOLD]), *more])


def _shell(word: str) -> str:
    return word if re.fullmatch(r"[\w=.:-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _suggestion(name: str, labels: Collection[str]) -> str:
    plain = re.sub(r"[\W_]+", " ", name).lower()
    for pattern, treatments in _SUGGESTED:
        if re.search(pattern, plain):
            usable = (one for one in treatments if one in (KEEP, REDACT) or not labels or one in labels)
            return next(usable, REMOVE)
    return REMOVE
