"""The columns of a table in a run, and the treatment of each.

    columns = Columns(patient="mrn", others={"id": "keep", "mrn": "pseudonym", "name": "NAME", "ward": "keep"})
    columns.treatment("ward")        "keep"
    columns.treatment("dob")         "": no option names it, so no run begins over a table with this column

    keep           as it is, byte for byte
    remove         not in the output
    redact         a further text for the detector
    pseudonym      an identifier, replaced by a code that only the key links to it, the same in every row and run
    NAME, DATE, ID, CONTACT, LOCATION, AGE
                   the whole value is one identifier, under a label of whichever engine reads the row
    LABEL          the same, under a label of the engine, for example DOCTOR

The detector reads texts; every other column needs a treatment, including those of the id and the patient. `spans`, the
annotations of phistack's own JSON lines, are always removed: they quote the old text or count its characters, and new
ones would show which names are surrogates.
"""

from __future__ import annotations

import hmac
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from phistack.ensemble.deidentification import Deidentified, Replacement, kind_of
from phistack.ensemble.deidentification.keyed_choices import KEY_HINT
from phistack.ensemble.deidentification.kinds import name_role
from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError, SettingsError, no_such
from phistack.features.formats.records import (
    PATIENT_COLUMN,
    SPANS,
    listed_names,
    refuse_not_once,
    refuse_shared,
    shown_names,
)
from phistack.features.labels import LabelSet
from phistack.features.registry import packaged_table

TREATMENTS = KEEP, REMOVE, REDACT, PSEUDONYM = "keep", "remove", "redact", "pseudonym"
_NO_LABELS = {KEEP: None, REMOVE: None, "": None, REDACT: "", PSEUDONYM: "ID"}
_MOST_SUGGESTED = 100
_CODE_DIGITS = 16

_TABLE = packaged_table("phistack.ensemble.batch", "columns.toml")
_KINDS: Mapping[str, Sequence[str]] = _TABLE["kinds"]
"""Names of labels that hold for every engine -> the kinds of PHI that they are."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The treatment of each column of JSONL, CSV or Parquet.

    :param id: names the note in reports; None to name it by its place.
    :param texts: the note; one column or more.
    :param patient: whose note it is; if a row has nothing in it, or the input lacks the column of the usual name, the
        patient is read from the id. None if the input is known to lack it.
    :param others: column -> treatment, of all columns but the texts.
    :param rest: the treatment of columns that no option names; empty if they stop the run.
    :param numbered: whether the columns are rules of records: `HumanName.*[3]` is a value by the rule `HumanName.*`.
    :raises SettingsError: if a column is given two uses, as one of them would show it in reports or let it pass.
    """

    id: str | None = "id"
    texts: tuple[str, ...] = ("text",)
    patient: str | None = PATIENT_COLUMN
    others: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    numbered: bool = False

    def __post_init__(self) -> None:
        if not self.texts:
            raise SettingsError("no column holds the text; name one with --text-column")
        for name in self.texts:
            refuse_shared(name, self.id, self.patient)
            if name in self.others:
                raise SettingsError(f"the column {name} is already a text column; leave it out of --column")
        for named in (self.id, self.patient):
            if self.others.get(named or "") == REDACT:
                raise SettingsError(
                    f"the column {named} holds the id or the patient, not a text of the note; give it another treatment"
                )
        if self.others.get(SPANS) == KEEP:
            raise SettingsError(
                f"{SPANS} belong to the text before de-identification, so they cannot be kept; leave them out of "
                "--column"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "texts": list(self.texts)}

    @property
    def is_patient_named(self) -> bool:
        """Whether an option names the column of patients, which must then exist."""
        return self.patient not in (None, PATIENT_COLUMN)

    @property
    def labels(self) -> dict[str, str]:
        """Column -> label, of the columns whose values are one identifier each."""
        return {name: label for name in self.others if (label := self.label(name))}

    def having(self, *treatments: str) -> list[str]:
        """The columns with one of these treatments."""
        return [name for name, given in self.others.items() if given in treatments]

    def treatment(self, name: str) -> str:
        """The treatment of a column; empty if no option gives one."""
        name = self.plain(name)
        if name in self.others:
            return self.others[name]
        return REDACT if name in self.texts else REMOVE if name == SPANS else self.rest

    def plain(self, name: str) -> str:
        """The name of a column, without the number of the value."""
        return name.rpartition("[")[0] or name if self.numbered else name

    def label(self, name: str) -> str | None:
        """The label of a column of identifiers, empty for a text; None for a column that is kept or removed."""
        given = self.treatment(name)
        return _NO_LABELS.get(given, given)

    def found(self, place: str, names: Sequence[str], *, keyed: bool) -> Columns:
        """The same for a table with these columns, and no others.

        :raises CorpusError: if a column is missing, doubled or has no treatment, saying what to do.
        :raises SettingsError: if a pseudonym lacks a key.
        """
        options = {} if self.id is None else {self.id: "--id-column"}
        options |= dict.fromkeys(self.texts, "--text-column")
        if self.patient is not None and (self.is_patient_named or self.patient in names):
            options[self.patient] = "--patient-column"
        for name, option in (dict.fromkeys(self.others, "--column") | options).items():
            refuse_not_once(place, name, names, option)
        untreated = [name for name in names if not self.treatment(name)]
        if untreated:
            raise CorpusError(self._untreated(place, names, untreated, keyed=keyed))
        if self.having(PSEUDONYM) and not keyed:
            raise SettingsError(
                f"--column {self.having(PSEUDONYM)[0]}={PSEUDONYM} makes codes with a secret key; give --key-file"
            )
        others = {name: self.treatment(name) for name in names if name not in self.texts}
        return replace(self, patient=self.patient if self.patient in names else None, others=others)

    def of_rules(self, form: str, rules: Mapping[str, str], *, keyed: bool) -> Columns:
        """The same for records with these rules; :raises SettingsError: for named columns, and without a key."""
        if self.id not in (None, "id") or self.patient not in (None, PATIENT_COLUMN) or len(self.texts) > 1:
            raise SettingsError(f"records of {form} name notes and patients themselves; leave out options of columns")
        if not keyed:
            raise SettingsError(
                f"the ids of {form} that link records become codes of a secret key; give --key-file KEYFILE; {KEY_HINT}"
            )
        return replace(self, texts=("notes",), others=dict(rules), numbered=True)

    def of_layout(self, layout: str, names: Sequence[str]) -> Columns:
        """The same for a table of a known layout, whose names may be in any case; options override it."""
        known, there, usual = _TABLE["layouts"][layout], {name.lower(): name for name in names}, Columns()
        id, text, patient = (there.get(known[role], known[role]) for role in ("id", "text", "patient"))
        texts = (text,) if self.texts == usual.texts else self.texts
        treated = {there[name]: given for name, given in known["columns"].items() if name in there}
        return replace(
            self,
            id=id if self.id == usual.id else self.id,
            texts=texts,
            patient=patient if self.patient == usual.patient else self.patient,
            others={name: given for name, given in treated.items() if name not in texts} | {**self.others},
        )

    def of_output(self) -> Columns:
        """The same for the output: without removed columns, and without id and patient, which may be replaced."""
        others = {name: given for name, given in self.others.items() if given != REMOVE}
        return replace(self, id=None, patient=None, others=others, rest=KEEP)

    def _untreated(self, place: str, names: Sequence[str], untreated: Sequence[str], *, keyed: bool) -> str:
        are_shown = shown_names([*filter(None, names)])
        shown = [name for name in dict.fromkeys(untreated) if name in are_shown or not name][:_MOST_SUGGESTED]
        count = len({*untreated})
        what = ", ".join(shown) if any(shown) else f"{count} column{'s' * (count > 1)}"
        for_ids = PSEUDONYM if keyed else "ID"
        given = {name: for_ids if name in (self.id, self.patient) else _suggestion(name) for name in shown or ["NAME"]}
        options = " ".join(f"--column {shlex.quote(f'{name}={treatment}')}" for name, treatment in given.items())
        return (
            f"no option says what becomes of {what}; the columns of {place} are {listed_names(names)}. Give one "
            f"for each, for example: {options} (keep: as it is; remove: not in the output; redact: a further text of "
            f"the note; {', '.join(_KINDS)} or a label of the engine: the whole value is one such identifier; "
            "pseudonym: a code that is the same in every row, which needs --key-file)"
        )


def _suggestion(name: str) -> str:
    plain = re.sub(r"[\W_]+", " ", name).lower()
    return next((given for pattern, given in _TABLE["suggested"].items() if re.search(pattern, plain)), REMOVE)


def check_labels(columns: Mapping[str, str], labels: Collection[str]) -> None:
    """Refuse a column of a label that the engine does not have; :raises SettingsError: with the nearest one."""
    for name, label in columns.items():
        if label not in labels and label not in _KINDS:
            known = (*TREATMENTS, *dict.fromkeys((*_KINDS, *labels)))
            raise SettingsError(f"--column {name}={label}: {no_such('treatment or label', label, known)}")


def engine_label(label: str, labels: LabelSet) -> str:
    """The label that an engine has for a column's label, which may hold for every engine.

    :returns: the same, if the engine has none of the kind; its kind is then known by its name.
    """
    if label in labels or label not in _KINDS:
        return label
    kinds = _KINDS[label]
    fitting = [other for other in labels.labels if kind_of(other, labels.name) in kinds and not name_role(other)]
    fitting.sort(key=lambda other: kinds.index(kind_of(other, labels.name)))
    # Label sets list identifiers from the particular to the general, and others the other way round.
    return (fitting[-1] if label == "ID" else fitting[0]) if fitting else label


def coded(value: Document, spans: Sequence[Span], key: bytes) -> Deidentified:
    """A code in place of an identifier: 64 bits of its HMAC-SHA256, which cannot be computed or undone without the
    key; 17 and 17.0 are one identifier.

    :param spans: the whole value; none if it is blank.
    """
    if not spans:
        return Deidentified(value.text, ())
    span = Span(spans[0].start, spans[-1].end, spans[0].label)
    written = value.text.strip().removesuffix(".0").encode("utf-8", "surrogatepass")
    code = hmac.digest(key, b"pseudonym:" + written, "sha256").hex()[:_CODE_DIGITS]
    text = value.text[: span.start] + code + value.text[span.end :]
    return Deidentified(text, (Replacement(span, span.start, span.start + len(code), "surrogate"),))


def treatments_of(given: Iterable[str]) -> dict[str, str]:
    """Column -> treatment, from `NAME=keep`, `NAME=DATE` and the like.

    :raises SettingsError: for anything else, and for a column that is named twice.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, treatment = text.rpartition("=")
        if not equals or not treatment.strip():
            raise SettingsError(f"--column takes NAME={', NAME='.join(TREATMENTS)} or NAME=LABEL, not {text}")
        if name in found:
            raise SettingsError(f"--column names {name} twice; give one treatment")
        found[name] = treatment.strip()
    return found
