"""From a placeholder to the words of a note of any register: as in `phi`, with people and places of many origins.

    scene.written(Placeholder("DATE", "recent"))       "12.05.2021", "Tuesday", "2021-05-12", "5/12"
    scene.written(Placeholder("PHONE", "other"))       "+44 7700 900482"
    scene.pieces(Placeholder("IDNUM", "", "social"))   [("482-10-7731", "SSN")], a label that hospital notes do not use

Placeholders of hospital notes mean what they mean in `phi`. Beside their roles there are PATIENT.other (somebody new),
DOCTOR.new, HOSPITAL.new, HOSPITAL.clinic, ORGANIZATION.school, DATE.iso and SSN, ACCOUNT, LICENSE, VEHICLE, IPADDR.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from phistack.ensemble.synthesis import dates
from phistack.ensemble.synthesis.grammar import Placeholder
from phistack.ensemble.synthesis.identifiers import SHAPES, random_code
from phistack.ensemble.synthesis.institutions import invent_city, invent_home, invent_institution
from phistack.ensemble.synthesis.people import Patient, Person
from phistack.ensemble.synthesis.persons import invent_person
from phistack.ensemble.synthesis.phi import Scene, day_of
from phistack.ensemble.synthesis.places import Address
from phistack.ensemble.synthesis.word_lists import names
from phistack.features.letters import fold

NOTE_FORMATS = (
    *("{m}/{d}/{y}", "{mm}/{dd}/{y}", "{m}/{d}/{yy}", "{y}-{mm}-{dd}", "{month} {d}, {y}") * 3,
    *("{dd}/{mm}/{y}", "{d}/{m}/{yy}", "{dd}.{mm}.{y}", "{d} {month} {y}", "{dd}-{mon}-{y}", "{mon} {d}, {y}") * 2,
    *(
        "{dd}.{mm}.{yy}",
        "{nth} {month} {y}",
        "{nth} of {month} {y}",
        "{y}/{mm}/{dd}",
        "{dd} {mon} {y}",
        "{upper} {d}, {y}",
    ),
    *("{dd}-{mm}-{y}", "{y}.{mm}.{dd}", "{dd}{upper}{y}", "{weekday}, {month} {d}, {y}", "{month} {nth}, {y}"),
    *("{weekday} {d} {month} {y}", "{m}-{d}-{y}", "{mon} {nth} {y}"),
)
"""One of them is the format of most full dates of a note: American, British, dotted, ISO."""

_PARTIAL = (
    "{m}/{d}",
    "{month} {d}",
    "{month} {nth}",
    "{d} {month}",
    "{weekday}",
    "{mon} {d}",
    "{nth} {month}",
    "{dd}/{mm}",
)
_SHORT_ROLES = frozenset(("recent", "next", "past"))
_SINGLE_ROLES = frozenset(("weekday", "month", "nextmonth", "season", "year", "holiday", "birthday"))

RICH_SHAPES: Mapping[str, Sequence[str]] = {
    "SSN": ("###-##-####", "###-##-####", "#########", "### ## ####", "XXX-XX-####", "***-**-####"),
    "ACCOUNT": ("##########", "@@######", "####-####-####", "#########", "####-######", "ACCT#######", "@#########"),
    "LICENSE": (
        "@#######",
        "@@######",
        "@###-####-####",
        "########",
        "@@-######",
        "@## ### ###",
        "@@####@",
        "RN######",
    ),
    "VEHICLE": ("@@@ ####", "#@@@###", "@@@-####", "@@## @@@", "#@@###@#@@@######", "@@@####", "### @@@", "@## ###"),
    "IPADDR": (
        "192.168.#.%#",
        "10.#.%#.1%#",
        "172.16.#.%%",
        "1%%.%#.1##.%#",
        "203.0.113.%#",
        "2001:db8::#?#?",
        "fe80::#??#",
    ),
    "MEDICALRECORD": (
        *SHAPES["MEDICALRECORD"],
        "MRN-#######",
        "MR#########",
        "@@@-##-####",
        "###-###-####",
        "##########",
    ),
    "HEALTHPLAN": (*SHAPES["HEALTHPLAN"], "#@@#-@@#-@@##", "@@@#########", "##########@", "### ### ####"),
    "DEVICE": (
        *SHAPES["DEVICE"],
        "SN-####-@@##",
        "@@#########",
        "(01)00########(21)####",
        "DEV-######",
        "@@@##-####-##",
    ),
    "BIOID": (*SHAPES["BIOID"], "FP-######", "BIO-####-@@", "IRIS-#####", "VP######"),
    "IDNUM": (*SHAPES["IDNUM"], "@@##-######", "S##-#####", "ENC########", "#####", "PT-####-##", "@@@@######"),
    "PHONE": (
        *SHAPES["PHONE"],
        *("+1 %## %## ####", "+1-%##-%##-####", "+1 (%##) %##-####", "%##%######", "%##-####", "1 (800) %##-####"),
        *("07### ######", "020 7### ####", "0161 ### ####", "+44 7### ######", "+44 20 #### ####", "01### ######"),
        *("(%##)-%##-####", "+52 55 #### ####", "+91 ##### #####", "+49 30 #######", "555-01##", "(%##) 555-01##"),
    ),
    "FAX": (*SHAPES["FAX"], "%##%######", "+1 %##-%##-####", "020 7### ####", "(%##) 555-01##"),
    "username": (*SHAPES["username"], "@???????", "???.????", "???_##", "????????##"),
}
"""Label or kind -> shapes beside those of hospital notes."""

_FREE = frozenset(("MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "DEVICE", "LICENSE", "VEHICLE", "BIOID", "IDNUM"))
_GROUPS = ("##", "###", "####", "#####", "@", "@@", "@@@", "@#", "@##", "#@#", "@@##", "##@")

_DOMAINS = ("gmail.com", "yahoo.com", "hotmail.com", "outlook.com", "aol.com", "icloud.com", "nhs.net", "example.org")
_SITES = (
    "www.{}.example.org",
    "https://{}.org/portal",
    "http://www.{}health.com",
    "{}.com",
    "https://mychart.{}.org/login",
)


@dataclass(frozen=True, slots=True)
class RichScene(Scene):
    """As a `Scene`, in a lexicon."""

    lexicon: str = "whole"

    def written(self, placeholder: Placeholder) -> str:
        """The text of a placeholder; :raises SettingsError: for a label that no function writes."""
        writer = _WRITERS.get(placeholder.label)
        return writer(self, placeholder) if writer else Scene.written(self, placeholder)

    def pieces(self, placeholder: Placeholder) -> list[tuple[str, str]]:
        """The text of a placeholder in pieces, each with its label."""
        if (placeholder.label, placeholder.form) == ("IDNUM", "social"):
            placeholder = Placeholder("SSN")
        return Scene.pieces(self, placeholder)


def invent_rich_patient(number: int, *, seed: int, lexicon: str) -> Patient:
    """The patient of a number, with people and places of many origins."""
    rng = random.Random(f"{seed}/patient/all registers/{lexicon}/{number}")
    sex, sex_of_relative = rng.choice("FM"), rng.choice("FM")
    name, relative = invent_person(sex, lexicon, rng), invent_person(sex_of_relative, lexicon, rng)
    family = rng.choice((name.last, name.last, relative.last))
    first_visit = date(rng.randint(1998, 2026), 1, 1) + timedelta(days=rng.randrange(365))
    age = rng.gauss(55, 20) if rng.random() < 0.85 else rng.uniform(0, 18)
    own, other = invent_institution("hospital", lexicon, rng), invent_institution("hospital", lexicon, rng)
    codes = {kind: _new_code(kind, rng) for kind in RICH_SHAPES}
    phones = {f"phone {role}": random_code(RICH_SHAPES["PHONE"], rng) for role in _PHONES}
    users = {f"username {turn}": random_code(RICH_SHAPES["username"], rng) for turn in range(2)}
    work = {"profession": rng.choice(names(lexicon)["profession"]), "social": codes["SSN"]}
    return Patient(
        number=number,
        sex=sex,
        name=name,
        relation=rng.choice(_RELATIONS[sex_of_relative]),
        relative=Person(relative.first, "", family),
        born=first_visit - timedelta(days=int(365.25 * min(99, max(0, age))) + rng.randrange(30, 365)),
        first_visit=first_visit,
        home=invent_home(lexicon, rng),
        doctors={role: tuple(_doctors(n, lexicon, rng)) for role, n in _STAFF.items()},
        hospitals={
            "own": (own,),
            "other": (other, invent_institution("hospital", lexicon, rng)),
            "nursing": (invent_institution("nursing", lexicon, rng),),
            "clinic": (invent_institution("clinic", lexicon, rng),),
        },
        facts={**codes, **phones, **users, **work, "pager": random_code(SHAPES["pager"], rng)},
    )


_PHONES = ("home", "work", "clinic", "cell", "relative")
_STAFF = {"attending": 1, "pcp": 1, "other": 3, "nurse": 2}
_RELATIONS = {
    "F": ("wife", "daughter", "sister", "mother", "niece", "aunt", "granddaughter", "mom", "partner", "neighbor"),
    "M": ("husband", "son", "brother", "father", "nephew", "uncle", "grandson", "dad", "partner", "friend"),
}


def _doctors(number: int, lexicon: str, rng: random.Random) -> list[Person]:
    return [invent_person(rng.choice("FM"), lexicon, rng) for _ in range(number)]


def _date(scene: RichScene, slot: Placeholder) -> str:
    rng = scene.rng
    if slot.role == "iso":
        return dates.write_date(day_of(scene, "past")[0], ("{y}-{mm}-{dd}",), rng)
    if slot.role in _SINGLE_ROLES or rng.random() < 0.2:
        return Scene.written(scene, slot)
    day, _ = day_of(scene, slot.role)
    if slot.role in _SHORT_ROLES and slot.form != "full" and rng.random() < 0.4:
        return dates.write_date(day, _PARTIAL, rng)
    return dates.write_date(day, (scene.date_format,) if rng.random() < 0.75 else NOTE_FORMATS, rng)


def _patient(scene: RichScene, slot: Placeholder) -> str:
    person = scene.patient.relative if slot.role == "relative" else scene.patient.name
    if slot.role == "other":
        person = invent_person(scene.rng.choice("FM"), scene.lexicon, scene.rng)
    if slot.role == "relative" and slot.form in ("nick", "short", "lower", "dotted", "given"):
        return person.first.lower() if slot.form == "lower" else person.first
    return person.written(slot.form, scene.rng)


def _doctor(scene: RichScene, slot: Placeholder) -> str:
    if slot.role == "new":
        person: Person = invent_person(scene.rng.choice("FM"), scene.lexicon, scene.rng)
    else:
        person = scene.rng.choice(scene.patient.doctors[slot.role or "attending"])
    return person.written(slot.form, scene.rng)


def _hospital(scene: RichScene, slot: Placeholder) -> str:
    if slot.role == "new":
        return invent_institution("hospital", scene.lexicon, scene.rng).written(slot.form, scene.rng)
    return scene.rng.choice(scene.patient.hospitals[slot.role or "own"]).written(slot.form, scene.rng)


def _address(scene: RichScene, slot: Placeholder) -> Address:
    return scene.patient.home if slot.role == "home" else invent_home(scene.lexicon, scene.rng)


def _city(scene: RichScene, slot: Placeholder) -> str:
    city = scene.patient.home.city if slot.role == "home" else invent_city(scene.lexicon, scene.rng)
    return {"upper": city.upper(), "lower": city.lower()}.get(slot.form, city)


def _state(scene: RichScene, slot: Placeholder) -> str:
    address = _address(scene, slot)
    return address.state_letters if slot.form == "short" else address.state


def _organization(scene: RichScene, slot: Placeholder) -> str:
    kinds = {"pharmacy": "pharmacy", "ambulance": "agency", "agency": "agency", "school": "school"}
    return invent_institution(kinds.get(slot.role, "employer"), scene.lexicon, scene.rng).written("full", scene.rng)


def _plain(name: str) -> str:
    return "".join(c for c in fold(name) if c.isascii() and c.isalnum())


def _email(scene: RichScene, slot: Placeholder) -> str:
    rng = scene.rng
    person = scene.patient.doctors["attending"][0] if slot.role == "doctor" else scene.patient.name
    first, last = _plain(person.first) or "x", _plain(person.last) or "y"
    who = rng.choice(
        (f"{first}.{last}", f"{first[0]}{last}", f"{first}{rng.randint(1, 99)}", f"{last}_{first}", f"{first}{last}")
    )
    return f"{who}@{rng.choice((*_DOMAINS, f'{_site(scene)}.org'))}"


def _site(scene: RichScene) -> str:
    return _plain(scene.patient.hospitals["own"][0].founder)[:14]


def _url(scene: RichScene, slot: Placeholder) -> str:
    site = scene.rng.choice(
        (_site(scene), f"{_plain(scene.patient.name.last)}family", "patientportal", "myhealthrecord")
    )
    return scene.rng.choice(_SITES).format(site)


def _phone(scene: RichScene, slot: Placeholder) -> str:
    if slot.role == "other":
        return random_code(RICH_SHAPES["PHONE"], scene.rng)
    return Scene.written(scene, slot)


def _age(scene: RichScene, slot: Placeholder) -> str:
    if slot.role == "child":
        return str(scene.rng.randint(1, 17))
    return Scene.written(scene, slot) if slot.role or scene.age() else "1"


def _code(scene: RichScene, slot: Placeholder) -> str:
    own = slot.role != "other" and slot.label in scene.patient.facts
    return scene.patient.facts[slot.label] if own else _new_code(slot.label, scene.rng)


def _new_code(label: str, rng: random.Random) -> str:
    """A code in one of the shapes of its label or, where each institution has its own, now and then in a new shape."""
    if label not in _FREE or rng.random() > 0.3:
        return random_code(RICH_SHAPES[label], rng)
    groups = [random_code(_GROUPS, rng) for _ in range(rng.randint(1, 3))]
    return rng.choice(("-", "-", "", "", "/", ".", " ")).join((*groups, random_code(("###", "####", "#####"), rng)))


def _listed(name: str) -> Callable[[RichScene, Placeholder], str]:
    return lambda scene, slot: scene.rng.choice(names(scene.lexicon)[name]).removeprefix("the ")


def _landmark(scene: RichScene, slot: Placeholder) -> str:
    lists, rng = names(scene.lexicon), scene.rng
    if slot.role == "county":
        name = rng.choice((*lists["county"], *lists["anglo.family"]))
        return f"{name} {rng.choice(('County', 'county', 'Parish'))}"
    return rng.choice(lists["area" if slot.role == "area" else "landmark"]).removeprefix("the ")


_WRITERS: Mapping[str, Callable[[RichScene, Placeholder], str]] = {
    "AGE": _age,
    "CITY": _city,
    "COUNTRY": _listed("country"),
    "DATE": _date,
    "DOCTOR": _doctor,
    "EMAIL": _email,
    "HOSPITAL": _hospital,
    "LOCATION-OTHER": _landmark,
    "ORGANIZATION": _organization,
    "PATIENT": _patient,
    "PHONE": _phone,
    "PROFESSION": lambda scene, slot: (
        scene.rng.choice(names(scene.lexicon)["profession"]) if slot.role else scene.patient.facts["profession"]
    ),
    "STATE": _state,
    "STREET": lambda scene, slot: _address(scene, slot).street,
    "URL": _url,
    "ZIP": lambda scene, slot: _address(scene, slot).postcode,
    **dict.fromkeys(
        ("SSN", "ACCOUNT", "LICENSE", "VEHICLE", "IPADDR", "MEDICALRECORD", "HEALTHPLAN", "DEVICE", "BIOID", "FAX"),
        _code,
    ),
    "IDNUM": lambda scene, slot: _new_code("IDNUM", scene.rng),
}
