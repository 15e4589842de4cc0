"""From a placeholder, a patient and a day to the words of the note.

    Scene(patient, note_date, record, rng).written(Placeholder("DATE", "past"))    "5/12/81"

Every label of i2b2 2014 that templates name has one function in `_WRITERS`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from phistack.ensemble.synthesis import dates
from phistack.ensemble.synthesis.grammar import Placeholder
from phistack.ensemble.synthesis.identifiers import SHAPES, random_code
from phistack.ensemble.synthesis.people import Patient, Person, faker_of
from phistack.ensemble.synthesis.places import Address, invent_address
from phistack.ensemble.synthesis.templates import table
from phistack.features.errors import SettingsError

_DATE_ROLES: Mapping[str, tuple[int, int, tuple[str, ...]]] = {
    "note": (0, 0, dates.FULL_FORMATS),
    "soon": (0, 4, dates.FULL_FORMATS),
    "recent": (-14, -1, (*dates.DAY_FORMATS, *("{m}/{d}",) * 12, *("{weekday}",) * 5)),
    "past": (-3000, -20, dates.DAY_FORMATS),
    "next": (3, 120, (*dates.DAY_FORMATS, *("{weekday}",) * 3)),
    "weekday": (-7, -1, ("{weekday}",)),
    "month": (-2500, -40, dates.MONTH_FORMATS),
    "nextmonth": (40, 500, dates.MONTH_FORMATS),
    "season": (-2000, -100, dates.SEASON_FORMATS),
    "year": (-12000, -400, dates.YEAR_FORMATS),
    "wrong": (-20000, -8000, dates.FULL_FORMATS),
}
_ADULT = 19


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the PHI of one note depends on.

    :param patient: whose note it is.
    :param note_date: the day on which it is written.
    :param admitted: the day on which the stay began.
    :param rng: chooses persons, days and forms.
    :param date_format: the format in which this note writes most full dates.
    """

    patient: Patient
    note_date: date
    admitted: date
    rng: random.Random = field(repr=False)
    date_format: str = "{mm}/{dd}/{y}"

    def written(self, placeholder: Placeholder) -> str:
        """The text of a placeholder; :raises SettingsError: for a label that no function writes."""
        try:
            writer = _WRITERS[placeholder.label]
        except KeyError:
            raise SettingsError(f"a template names the label {placeholder.label}, for which there is no text") from None
        return writer(self, placeholder)

    def pieces(self, placeholder: Placeholder) -> list[tuple[str, str]]:
        """The text of a placeholder in pieces, each with its label; an article before it is no PHI and has none."""
        text = self.written(placeholder)
        article = [("the ", "")] if text.startswith("the ") else []
        return [*article, (text.removeprefix("the "), placeholder.label)]

    def age(self) -> int:
        """The patient's age in years on the day of the note."""
        born, now = self.patient.born, self.note_date
        return now.year - born.year - ((now.month, now.day) < (born.month, born.day))


def _date(scene: Scene, slot: Placeholder) -> str:
    rng = scene.rng
    if slot.role == "holiday":
        return str(rng.choice(table("places")["holidays"]))
    if slot.role == "birthday":
        return dates.write_date(scene.patient.born, ("{m}/{d}", "{month} {d}", "{month} {nth}"), rng)
    day, formats = day_of(scene, slot.role)
    if slot.form == "full":
        formats = dates.FULL_FORMATS
    if formats is dates.FULL_FORMATS and rng.random() < 0.6:
        formats = (scene.date_format,)
    return dates.write_date(day, formats, rng)


def day_of(scene: Scene, role: str) -> tuple[date, tuple[str, ...]]:
    """A day in a role, never before the patient's first birthday, and the formats that are usual for it."""
    if role == "birth":
        return scene.patient.born, dates.FULL_FORMATS
    if role == "admit":
        return scene.admitted, dates.FULL_FORMATS
    first, last, formats = _DATE_ROLES[role or "past"]
    day = scene.note_date + timedelta(days=scene.rng.randint(first, last))
    return max(day, scene.patient.born + timedelta(days=365)), formats


def _patient(scene: Scene, slot: Placeholder) -> str:
    person = scene.patient.relative if slot.role == "relative" else scene.patient.name
    return person.written(slot.form, scene.rng)


def _doctor(scene: Scene, slot: Placeholder) -> str:
    person: Person = scene.rng.choice(scene.patient.doctors[slot.role or "attending"])
    return person.written(slot.form, scene.rng)


def _username(scene: Scene, slot: Placeholder) -> str:
    return scene.patient.facts[f"username {scene.rng.randrange(2)}"]


def _age(scene: Scene, slot: Placeholder) -> str:
    own = scene.age()
    young = scene.rng.randint(12, max(_ADULT, min(own, 50)))
    future = own + scene.rng.randint(1, 5)
    age = {"relative": scene.rng.randint(35, 96), "young": young, "future": future}.get(slot.role, own)
    return f"{age // 10 * 10}s" if slot.form == "decade" else str(age)


def _phone(scene: Scene, slot: Placeholder) -> str:
    if slot.role == "extension":
        return random_code(SHAPES["extension"], scene.rng)
    if slot.role == "pager":
        return scene.patient.facts["pager"] if scene.rng.random() < 0.5 else random_code(SHAPES["pager"], scene.rng)
    return scene.patient.facts[f"phone {slot.role or 'home'}"]


def _hospital(scene: Scene, slot: Placeholder) -> str:
    return scene.rng.choice(scene.patient.hospitals[slot.role or "own"]).written(slot.form, scene.rng)


def _address(scene: Scene, slot: Placeholder) -> Address:
    if slot.role == "home":
        return scene.patient.home
    return invent_address(faker_of(scene.rng), scene.rng)


def _city(scene: Scene, slot: Placeholder) -> str:
    city = _address(scene, slot).city
    return city.upper() if slot.form == "upper" else city


def _state(scene: Scene, slot: Placeholder) -> str:
    address = _address(scene, slot)
    return address.state_letters if slot.form == "short" else address.state


def _organization(scene: Scene, slot: Placeholder) -> str:
    kinds = {"pharmacy": "pharmacies", "ambulance": "ambulances", "agency": "agencies"}
    if slot.role in kinds:
        return str(scene.rng.choice(table("places")[kinds[slot.role]]))
    return scene.patient.facts["employer"]


def _email(scene: Scene, slot: Placeholder) -> str:
    doctor = scene.patient.doctors["attending"][0]
    name = "".join(c for c in f"{doctor.first[0]}{doctor.last}".lower() if c.isalpha())
    return f"{name}@{_domain(scene)}"


def _url(scene: Scene, slot: Placeholder) -> str:
    return scene.rng.choice(("www.{}", "http://www.{}/clinic", "{}/portal", "https://{}")).format(_domain(scene))


def _domain(scene: Scene) -> str:
    founder = scene.patient.hospitals["own"][0].founder.lower()
    return "".join(c for c in founder if c.isalpha()) + scene.rng.choice((".example.org", "health.example.com"))


def _number(scene: Scene, slot: Placeholder) -> str:
    return scene.patient.facts[slot.form] if slot.form else random_code(SHAPES["IDNUM"], scene.rng)


def _fact(kind: str) -> Callable[[Scene, Placeholder], str]:
    return lambda scene, slot: scene.patient.facts[slot.form or kind]


def _listed(name: str) -> Callable[[Scene, Placeholder], str]:
    return lambda scene, slot: str(scene.rng.choice(table("places")[name]))


_WRITERS: Mapping[str, Callable[[Scene, Placeholder], str]] = {
    "AGE": _age,
    "BIOID": lambda scene, slot: random_code(SHAPES["BIOID"], scene.rng),
    "CITY": _city,
    "COUNTRY": _listed("countries"),
    "DATE": _date,
    "DEVICE": _fact("DEVICE"),
    "DOCTOR": _doctor,
    "EMAIL": _email,
    "FAX": _fact("FAX"),
    "HEALTHPLAN": _fact("HEALTHPLAN"),
    "HOSPITAL": _hospital,
    "IDNUM": _number,
    "LOCATION-OTHER": _listed("landmarks"),
    "MEDICALRECORD": _fact("MEDICALRECORD"),
    "ORGANIZATION": _organization,
    "PATIENT": _patient,
    "PHONE": _phone,
    "PROFESSION": _fact("profession"),
    "STATE": _state,
    "STREET": lambda scene, slot: _address(scene, slot).street,
    "URL": _url,
    "USERNAME": _username,
    "ZIP": lambda scene, slot: _address(scene, slot).postcode,
}
