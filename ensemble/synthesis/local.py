"""Notes in languages other than English: patients, and the words of what templates name, by the tables of a language.

    patient = invent_local_patient(110, seed=7, language="nl")
    write_local_note(patient, "report", patient.first_visit, rng)      (text, spans)
    scene.pieces(Placeholder("PATIENT", "", "full"))                   [("Karin", "First_Name"), (" ", ""),
                                                                        ("Berg", "Last_Name")]

A language is a folder `templates/LANGUAGE`: sentences by part, `words.toml` (clinical words), `note_types.toml`, and
`world.toml`: the label of each kind of PHI (a kind without one is no PHI in that label set), how dates and numbers are
written, and of what the names of people, places and institutions are made. Placeholders name the kind of a person or
place and not a label, so that languages with other label sets share the notation:

    [[PATIENT]] [[RELATIVE]] [[DOCTOR]] [[COLLEAGUE]] [[NURSE]]     forms: those of `LocalName.parts`
    [[KIN:first]]       somebody else each time, as the many of a family history
    [[DATE.recent]]     roles note, soon, recent, past, next, birth; forms: those of the table [dates]
    [[AGE]] [[AGE.relative]] [[AGE.child]] [[AGE.old]] [[AGE:number]] [[ADDRESS.home]] [[EMAIL]]
    [[HOSPITAL.other]]  any kind of the tables [things] and [shapes], or any word that fits the patient ([[SEX]])

What has a role other than `other` is the same in all notes of a patient, and so is what a patient has one of.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from phistack.ensemble.synthesis.builder import TextBuilder
from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.identifiers import random_code
from phistack.ensemble.synthesis.lexicon import lists_of
from phistack.ensemble.synthesis.names import LocalName, faker_of_locale, invent_name
from phistack.ensemble.synthesis.noise import noisy
from phistack.ensemble.synthesis.notes import Telling, compose, style
from phistack.ensemble.synthesis.templates import NoteTemplate, table, templates
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from phistack.features.letters import fold

_DAYS = {"note": (0, 0), "soon": (0, 3), "recent": (-20, -1), "past": (-3500, -30), "next": (3, 150)}
"""Role of a date -> between how many days from the note it lies."""

_PERSONS = {"PATIENT": 1, "RELATIVE": 1, "DOCTOR": 1, "COLLEAGUE": 3, "NURSE": 2}
"""Placeholder -> of how many persons it means one."""

_ANYBODY = "KIN"
"""The placeholder of a new person each time."""

_AGES = {"child": (1, 17), "old": (88, 104)}
"""Role of an age that is not the patient's -> from which to which; any other is an adult's."""

_ONE_A_PATIENT = frozenset(("HOSPITAL", "HOME", "SSN", "HEALTHPLAN", "MEDICALRECORD", "PROFESSION"))
"""What a patient has one of, where the template gives no role."""

_WITHOUT_PHI = 0.1
"""The share of notes that name nobody."""

_SMALL_NAMES = 0.2
"""In how many of the notes that hospital notes have with names in small letters, those of all registers have them,
where their type has no `small_names` that says otherwise."""

_NOISE: Sequence[tuple[int, tuple[str, ...]]] = (
    *((60, ()), (5, ("upper",)), (3, ("lower",)), (5, ("scan",)), (2, ("scan", "joined")), (5, ("joined",))),
    *((5, ("wrapped",)), (5, ("hard wrap",)), (2, ("hard wrap", "spaced")), (5, ("typing",)), (3, ("accents lost",))),
)
"""Share of notes of all registers -> what is done to them, as in `ensemble.synthesis.noise`."""


@dataclass(frozen=True, slots=True)
class LocalPatient:
    """What does not change between the notes of one patient.

    :param key: seeds what stays the same, such as an address.
    :param sex: `F` or `M`.
    :param people: placeholder -> the names of the persons that it may mean.
    :param relation: of the relative, in words.
    :param lexicon: from which all names and words come.
    """

    key: str
    language: str
    lexicon: str
    sex: str
    people: Mapping[str, tuple[LocalName, ...]] = field(repr=False)
    relation: str
    born: date = field(repr=False)
    first_visit: date


def invent_local_patient(number: int, *, seed: int, language: str, lexicon: str = "whole") -> LocalPatient:
    """The patient of a number; the same seed, number, language and lexicon give the same patient."""
    key = f"{seed}/patient/{language}/{number}"
    rng = random.Random(key)
    sex, sex_of_relative = rng.choice("FM"), rng.choice("FM")
    known_sex = {"PATIENT": sex, "RELATIVE": sex_of_relative}
    people = {
        kind: tuple(invent_name(language, known_sex.get(kind) or rng.choice("FM"), rng, lexicon) for _ in range(n))
        for kind, n in _PERSONS.items()
    }
    if rng.random() < 0.5:
        surnames = people["PATIENT"][0].surnames
        people["RELATIVE"] = tuple(replace(name, surnames=surnames) for name in people["RELATIVE"])
    first_visit = date(rng.randint(2005, 2024), 1, 1) + timedelta(days=rng.randrange(365))
    born = first_visit - timedelta(days=int(365.25 * min(97, max(19, rng.gauss(65, 18)))) + rng.randrange(365))
    relation = rng.choice(table(f"{language}/world")["relations"][sex_of_relative])
    return LocalPatient(key, language, lexicon, sex, people, relation, born, first_visit)


@dataclass(frozen=True, slots=True)
class LocalScene:
    """All that the PHI of one note depends on."""

    patient: LocalPatient
    note_date: date
    rng: random.Random = field(repr=False)
    date_format: str

    def pieces(self, placeholder: Placeholder) -> list[tuple[str, str]]:
        """The text of a placeholder in pieces with labels, those of one label together.

        :raises SettingsError: for a placeholder that has no words.
        """
        if placeholder.label in _PERSONS or placeholder.label == _ANYBODY:
            return _as_one(self._name(placeholder))
        if placeholder.label == "ADDRESS":
            return _as_one(self._address())
        if placeholder.label == "DATE":
            return [self._date(placeholder)]
        return [(self._thing(placeholder), self._label(placeholder.label))]

    @property
    def world(self) -> Mapping[str, Any]:
        """The tables of the language."""
        return table(f"{self.patient.language}/world")

    @property
    def words(self) -> Mapping[str, Sequence[str]]:
        """Words that fit the patient."""
        return {**self.world["by_sex"][self.patient.sex], "relation": (self.patient.relation,)}

    def _label(self, *kinds: str) -> str:
        """The label of the first of the kinds that has one."""
        return next((str(label) for kind in kinds if (label := self.world["labels"].get(kind))), "")

    def _name(self, slot: Placeholder) -> list[tuple[str, str]]:
        if slot.label == _ANYBODY:
            name = invent_name(self.patient.language, self.rng.choice("FM"), self.rng, self.patient.lexicon)
        else:
            name = self.rng.choice(self.patient.people[slot.label])
        parts = name.parts(slot.form, self.rng)
        return [(text, self._label(part, slot.label) if part else "") for part, text in parts]

    def _address(self) -> list[tuple[str, str]]:
        expanded = expand(self.rng.choice(self.world["address"]), {}, self.rng)
        return [piece for part in expanded for piece in ([(part, "")] if isinstance(part, str) else self.pieces(part))]

    def _date(self, slot: Placeholder) -> tuple[str, str]:
        formats = self.world["dates"]
        if slot.role == "birth":
            day = self.patient.born
        else:
            first, last = _DAYS[slot.role or "past"]
            day = self.note_date + timedelta(days=self.rng.randint(first, last))
        form = slot.form or self.rng.choice(("full", "full", "full", "part"))
        pattern = self.rng.choice(formats[form])
        if form == "full" and self.rng.random() < 0.6:
            pattern = self.date_format
        label = self._label("date" if form in ("full", "range") else "date part", "DATE")
        return pattern.format(**_fields(day, formats, self.rng)), label

    def _thing(self, slot: Placeholder) -> str:
        role = slot.role or ("own" if slot.label in _ONE_A_PATIENT else "other")
        rng = self.rng if role == "other" else random.Random(f"{self.patient.key}/{slot.label}.{role}")
        world, kind = self.world, slot.label
        if kind == "AGE":
            age = self.rng.randint(*_AGES.get(slot.role, (25, 96))) if slot.role else self._age()
            return str(age) if slot.form == "number" else self.rng.choice(world["ages"]).format(age=age)
        if kind == "EMAIL":
            return self._email()
        if kind in world["shapes"]:
            code = random_code(world["shapes"][kind], rng)
            return code.format(**_fields(self.patient.born, world["dates"], rng)) if "{" in code else code
        if kind in world["things"]:
            return self._made(world["things"][kind], rng)
        if kind.lower() in self.words:
            return str(self.rng.choice(self.words[kind.lower()]))
        raise SettingsError(f"a template names {kind}, for which there is no text")

    def _made(self, patterns: Sequence[str], rng: random.Random) -> str:
        world, faker = self.world, faker_of_locale(self.world["locale"], rng)
        words = {name: (str(getattr(faker, method)()),) for name, method in world["faker"].items()}
        words |= {"domain": (self._domain(),)}
        inside = lists_of(f"{self.patient.language}/world", "inside", self.patient.lexicon)
        return "".join(map(str, expand(rng.choice(patterns), {**inside, **words}, rng)))

    def _email(self) -> str:
        person = self.rng.choice(self.patient.people[self.rng.choice(("DOCTOR", "DOCTOR", "NURSE", "PATIENT"))])
        first, last = ("".join(filter(str.isalnum, fold(text))) for text in (person.first, person.surnames[0]))
        boxes = (box.format(first=first, last=last) for box in self.world.get("mailboxes", ()))
        user = self.rng.choice(
            (f"{first[0]}.{last}", f"{first[0]}.{last}", f"{first}.{last}", f"{last}{first[0]}", last, *boxes)
        )
        return f"{user}@{self._domain()}"

    def _domain(self) -> str:
        """Where a language has patterns of whole domains, one of these; otherwise one below `example.org`."""
        rng = random.Random(f"{self.patient.key}/domain")
        inside = lists_of(f"{self.patient.language}/world", "inside", self.patient.lexicon)
        made = fold("".join(map(str, expand(rng.choice(self.world["domains"]), inside, rng))))
        name = "".join(sign for sign in made if sign.isalnum() or sign in ".-")
        return name if "." in name else f"{name}.example.org"

    def _age(self) -> int:
        born, now = self.patient.born, self.note_date
        return now.year - born.year - ((now.month, now.day) < (born.month, born.day))


def _as_one(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pieces as one where they have one label only."""
    labels = {label for _, label in pieces} - {""}
    return [("".join(text for text, _ in pieces), labels.pop())] if len(labels) == 1 else pieces


def _fields(day: date, names: Mapping[str, Any], rng: random.Random) -> dict[str, object]:
    month, short = names["months"][day.month - 1], names["short_months"][day.month - 1]
    if rng.random() < 0.4:
        month = names.get("other_months", {}).get(month, month)
    return {
        "y": day.year, "yy": f"{day.year % 100:02d}", "m": day.month, "mm": f"{day.month:02d}", "d": day.day,
        "dd": f"{day.day:02d}", "e": max(1, day.day - rng.randint(1, 7)), "w": day.isocalendar().week,
        "month_name": month, "mon": short, "weekday_name": names["weekdays"][day.weekday()],
        "wd": names.get("short_weekdays", [name[:3] for name in names["weekdays"]])[day.weekday()],
    }  # fmt: skip


def write_local_note(
    patient: LocalPatient, note_type: str, note_date: date, rng: random.Random, registers: str = "hospital"
) -> tuple[str, tuple[Span, ...]]:
    """A note of one of the types of the language; :returns: the text and its spans, sorted and without overlap."""
    language = patient.language
    world, recipe = table(f"{language}/world"), table(f"{language}/note_types")[note_type]
    scene = LocalScene(patient, note_date, rng, rng.choice(world["dates"]["full"]))
    labels = {label for kind, label in world["labels"].items() if kind in (*_PERSONS, "first", "last")}
    typed = style(recipe["informal"], rng)
    if registers == "all":
        keeps_small = typed.case == "lower names" and rng.random() < recipe.get("small_names", _SMALL_NAMES)
        typed = replace(typed, case=typed.case if keeps_small else "", width=0)
    builder = TextBuilder(typed, rng, labels, labels, english=False)
    words = {**lists_of(f"{language}/words", "", patient.lexicon), **scene.words}
    names_nobody = rng.random() < _WITHOUT_PHI

    def pool(part: str) -> Sequence[NoteTemplate]:
        found = templates(part, note_type, language)
        return [template for template in found if not template.slots] if names_nobody else found

    text, spans = compose(recipe, Telling(builder, scene, words, pool))
    shares, kinds = zip(*_NOISE, strict=True)
    return noisy(text, spans, rng.choices(kinds, shares)[0], rng) if registers == "all" else (text, spans)
