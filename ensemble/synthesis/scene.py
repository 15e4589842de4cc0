"""From a placeholder, a patient and a day to the words of the note, by the tables of the language.

    scene.pieces(Placeholder("PATIENT", "", "full"))    [("Karin", "First_Name"), (" ", ""), ("Berg", "Last_Name")]

Placeholders name the kind of a person, place or number and not a label, so languages with different label sets
share the notation. The table [labels] of `world.toml` gives the label of each kind; a kind without one is not PHI in
that label set.

    [[PATIENT]] [[RELATIVE]] [[DOCTOR]] [[PCP]] [[COLLEAGUE]] [[NURSE]]    forms: those of `templates/forms.toml`
    [[KIN:first]] [[PATIENT.other]]    a new person each time, as in a family history
    [[NURSE.word]]      a new person whose names are words, if the language has such names
    [[DATE.recent]]     roles: those of `_DAYS`, birth and admit; forms: those of [dates] and `grammar.FORMS`
    [[AGE]] [[AGE.relative]] [[AGE.young]] [[AGE.child]] [[AGE.old]] [[AGE.future]]    forms: number, decade
    [[ADDRESS.home]] [[EMAIL.doctor]]
    [[HOSPITAL.other]]  any kind of the tables [things] and [shapes], or any word that fits the patient ([[SEX]]);
                        forms: short, letters

A kind with a role other than `other` is the same in all notes of a patient, and so is a kind of which a patient has
only one. Any form may have `upper_` or `lower_` before it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from phistack.ensemble.synthesis.grammar import FORMS, Placeholder, expand, write_date
from phistack.ensemble.synthesis.names import invent_name
from phistack.ensemble.synthesis.patients import PEOPLE, Patient

_DAYS = {
    "note": (0, 0), "soon": (0, 3), "recent": (-20, -1), "past": (-3500, -30), "next": (3, 150), "later": (40, 500),
    "long": (-12000, -400), "wrong": (-20000, -8000),
}  # fmt: skip
"""Role of a date -> the range of its distance from the note, in days."""

PARTS = {
    "first": Placeholder("DOCTOR", "", "first"), "last": Placeholder("DOCTOR", "", "last"),
    "date": Placeholder("DATE", "", "full"), "date part": Placeholder("DATE", "", "part"),
}  # fmt: skip
"""Parts of names and dates, where they have labels of their own."""

_ANYBODY = "KIN"
"""The placeholder of a new person each time."""

_AGES: Mapping[str, Callable[[int], tuple[int, int]]] = {
    "child": lambda own: (1, 17),
    "young": lambda own: (12, max(19, min(own, 50))),
    "old": lambda own: (88, 104),
    "future": lambda own: (own + 1, own + 5),
    "relative": lambda own: (25, 96),
}
"""Role of an age other than the patient's own -> from the patient's age to the range of ages."""

_AGE_FORMS = {"number": "{age}", "decade": "{tens}s"}


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that the PHI of one note depends on; most full dates of a note have one format."""

    patient: Patient
    note_date: date
    rng: random.Random = field(repr=False)
    date_format: str

    @classmethod
    def begun(cls, patient: Patient, note_date: date, rng: random.Random) -> Scene:
        """The scene of a new note, with one of the full date formats of the language."""
        return cls(patient, note_date, rng, rng.choice(patient.world["dates"]["full"]))

    def pieces(self, slot: Placeholder) -> list[tuple[str, str]]:
        """The text of a placeholder in pieces with labels, as one piece if there is only one label.

        :raises SettingsError: for a placeholder that has no words.
        """
        case, _, rest = slot.form.partition("_")
        if case in ("upper", "lower") and slot.kind not in PEOPLE:
            plain = self.pieces(Placeholder(slot.kind, slot.role, rest))
            return [(getattr(text, case)(), label) for text, label in plain]
        if slot.kind in PEOPLE or slot.kind == _ANYBODY:
            return _as_one(self._name(slot))
        if slot.kind == "ADDRESS":
            return _as_one(self._address())
        if slot.kind == "DATE":
            text, label = self._date(slot)
        else:
            text, label = self._thing(slot), self._label(slot.kind)
        article = "the " if text.startswith("the ") else ""
        return [*([(article, "")] if article else []), (text.removeprefix(article), label)]

    def _label(self, *kinds: str) -> str:
        """The label of the first of the kinds that has one."""
        return next((str(label) for kind in kinds if (label := self.patient.world["labels"].get(kind))), "")

    def _name(self, slot: Placeholder) -> list[tuple[str, str]]:
        patient = self.patient
        if slot.role == "word":
            name = invent_name(patient.language, self.rng.choice("FM"), self.rng, patient.lexicon, wordlike=1)
        elif slot.kind == _ANYBODY or slot.role == "other":
            name = invent_name(patient.language, self.rng.choice("FM"), self.rng, patient.lexicon)
        else:
            name = self.rng.choice(patient.people[slot.kind])
        parts = name.parts(slot.form, self.rng, patient.world.get("forms", {}))
        return [(text, self._label(part, slot.kind) if part else "") for part, text in parts]

    def _address(self) -> list[tuple[str, str]]:
        expanded = expand(self.rng.choice(self.patient.world["address"]), {}, self.rng)
        return [piece for part in expanded for piece in ([(part, "")] if isinstance(part, str) else self.pieces(part))]

    def _date(self, slot: Placeholder) -> tuple[str, str]:
        formats = self.patient.world["dates"]
        form = slot.form or self.rng.choice(formats.get("usual", ("full", "full", "full", "part")))
        pattern = self.rng.choice(formats[form] if form in formats else FORMS[form])
        if form == "full" and self.rng.random() < 0.6:
            pattern = self.date_format
        label = self._label("date" if form in ("full", "range", *FORMS) else "date part", "DATE")
        return write_date(self._day(slot.role), pattern, formats, self.rng), label

    def _day(self, role: str) -> date:
        born = self.patient.born
        if role == "birth":
            return born
        if role == "admit":
            return self.note_date - timedelta(random.Random(f"{self.patient.key}/{self.note_date}").randint(1, 14))
        day = self.note_date + timedelta(self.rng.randint(*_DAYS[role or "past"]))
        return max(day, born + timedelta(days=365))

    def _thing(self, slot: Placeholder) -> str:
        if slot.kind == "AGE":
            return self._age(slot)
        if slot.kind == "EMAIL" and slot.role:
            return self.patient.invented(f"EMAIL.{slot.role}", self.rng)
        role = slot.role or ("own" if self.patient.has_one(slot.kind) else "other")
        text = self.patient.invented(slot.kind, self.rng) if role == "other" else self.patient.fact(slot.kind, role)
        return self._shortened(text, slot)

    def _shortened(self, text: str, slot: Placeholder) -> str:
        world = self.patient.world
        form = slot.form
        if not form and slot.kind in world.get("short", {}):
            form = self.rng.choice(("full", "full", "full", "full", "short", "letters"))
        if form in ("", "full"):
            return text
        if form == "letters":
            capitals = "".join(re.findall(r"\b[A-Z]", text.replace("'", "").replace("The ", "")))
            return capitals if len(capitals) > 2 else text
        if slot.kind in world.get("short", {}):
            return re.sub(world["short"][slot.kind], "", text)
        return str(world.get("codes", {}).get(text, text))

    def _age(self, slot: Placeholder) -> str:
        born, now, rng = self.patient.born, self.note_date, self.rng
        age = max(1, now.year - born.year - ((now.month, now.day) < (born.month, born.day)))
        if slot.role:
            age = rng.randint(*_AGES[slot.role](age))
        pattern = _AGE_FORMS.get(slot.form) or str(rng.choice(self.patient.world["ages"]))
        return pattern.format(age=age, tens=age // 10 * 10)


def _as_one(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pieces as one if they have only one label."""
    labels = {label for _, label in pieces} - {""}
    return [("".join(text for text, _ in pieces), labels.pop())] if len(labels) == 1 else pieces
