"""Small invented corpora, unlike the synthetic notes of the package: German letters and Spanish legal prose.

    german_letters(60)         key and value lines, then prose; labels of i2b2 2014
    spanish_legal_prose(40)    long paragraphs, each one line, with few PHI; labels of its own

Names, places and numbers come from Faker, which is seeded by the number of the document: the first documents of a large
corpus are those of a small one.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from faker import Faker

from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

LEGAL_LABELS = ("PERSONA", "FECHA", "DNI", "DIRECCION", "LOCALIDAD", "ORGANO", "TELEFONO")


@dataclass
class Writer:
    """A text that grows, and the spans in it."""

    parts: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, label: str = "") -> None:
        if label:
            self.spans.append(Span(self.length, self.length + len(text), label))
        self.parts.append(text)
        self.length += len(text)

    def fill(self, template: str, values: dict[str, tuple[str, str]]) -> None:
        """A template with `{name}` for each PHI; `values` gives its text and label."""
        for i, piece in enumerate(template.replace("}", "{").split("{")):
            self.add(*values[piece]) if i % 2 else self.add(piece)

    def document(self, id: str, group: str = "") -> Document:
        return Document(id, "".join(self.parts), tuple(self.spans), group)


def german_letters(n: int) -> Corpus:
    """Short German hospital letters, one a patient."""
    return Corpus(tuple(map(_letter, range(n))), LabelSet.named("i2b2-2014"))


def spanish_legal_prose(n: int) -> Corpus:
    """Spanish court decisions in long paragraphs without line ends, one a case."""
    return Corpus(
        tuple(map(_decision, range(n))), LabelSet("legal", {label: label for label in LEGAL_LABELS}, language="es")
    )


_HEAD = """{clinic}
{street}, {zip} {city}
Tel. {phone}

Patient: {patient}
Geb.: {born}, {age} Jahre
Fallnr.: {record}
Aufnahme am {admitted}, Entlassung am {left}

Sehr geehrte Frau Kollegin {doctor},

"""
_LETTER_SENTENCES = (
    "wir berichten über {patient_short}, der sich am {admitted} mit Husten und Fieber bei uns vorstellte.",
    "Die Aufnahme erfolgte über die Notaufnahme bei seit drei Tagen zunehmender Luftnot.",
    "Das Röntgenbild vom {imaging} zeigte eine Verschattung rechts basal ohne Erguss.",
    "Im Labor fielen erhöhte Entzündungswerte auf, das Kreatinin lag im Normbereich.",
    "Unter Antibiose über sieben Tage besserte sich der Zustand rasch.",
    "Ein Konsil durch {consultant} ergab keinen Hinweis auf eine kardiale Ursache.",
    "Herr {patient_short} lebt in {home} und arbeitet als {work}.",
    "Der Blutdruck war mit 135/80 mmHg gut eingestellt.",
    "Wir empfehlen eine Kontrolle in vier Wochen, bei Beschwerden unter {phone} jederzeit früher.",
    "Die Medikation blieb unverändert, Ramipril 5 mg morgens und ASS 100 mg.",
    "Die Verlegung aus dem {other_clinic} geschah auf Wunsch der Angehörigen.",
    "Bekannt sind ein Morbus {eponym} und eine Allergie gegen {drug}.",
    "{drug} wurde nach der {eponym}-Formel angepasst, der Spiegel lag bei {number} ng/ml.",
    "Laut {relative} bestand der Husten schon im Urlaub in {home}.",
    "Der Score nach {eponym} betrug {small}, die Leukozyten {number}/µl (Charge {lot}).",
    "Rückfragen an {consultant_last}, Station {small}, Pforte {number}.",
    "{consultant_last} befundete das EKG: Sinusrhythmus, {number_small}/min.",
)
_WORK = ("Maurer", "Lehrer", "Bäcker", "Buchhalterin", "Krankenpfleger", "Landwirt", "Schlosser", "Rentner")
_EPONYMS = ("Hodgkin", "Parkinson", "Wegener", "Paget", "Child", "Wells", "Cockcroft", "Basedow")
_DRUGS = ("Metamizol", "Clarithromycin", "Tacrolimus", "Valproat", "Ramipril", "Rivaroxaban")
_RELATIVES = ("Tochter", "Ehemann", "Sohn", "Schwester")
_HEADS = (
    _HEAD,
    _HEAD.replace("Patient: ", "Name: ").replace("Fallnr.", "Aufn.-Nr."),
    _HEAD.replace("Tel. {phone}\n", ""),
)
_CLINICS = ("Klinikum", "Krankenhaus", "Kreiskrankenhaus", "Universitätsklinikum")


def _letter(number: int) -> Document:
    rng = random.Random(f"letter {number}")
    fake = _faker("de_DE", rng)
    last, doctor_last = fake.last_name(), fake.last_name()
    day = _days("{d:02d}.{m:02d}.{y}", rng)
    values = {
        "clinic": (f"{rng.choice(_CLINICS)} {fake.city_name()}", "HOSPITAL"),
        "other_clinic": (f"{rng.choice(_CLINICS)} {fake.city_name()}", "HOSPITAL"),
        "street": (fake.street_address().replace("\n", " "), "STREET"),
        "zip": (fake.postcode(), "ZIP"),
        "city": (fake.city_name(), "CITY"),
        "home": (fake.city_name(), "CITY"),
        "phone": (f"0{rng.randint(200, 999)} {rng.randint(10000, 999999)}", "PHONE"),
        "patient": (f"{fake.first_name()} {last}", "PATIENT"),
        "patient_short": (last, "PATIENT"),
        "born": (day(), "DATE"),
        "age": (str(rng.randint(20, 95)), "AGE"),
        "record": (str(rng.randint(10**6, 10**7)), "MEDICALRECORD"),
        "admitted": (day(), "DATE"),
        "left": (day(), "DATE"),
        "imaging": (day(), "DATE"),
        "doctor": (f"Dr. {fake.last_name()}", "DOCTOR"),
        "consultant": (f"Dr. {fake.first_name()} {doctor_last}", "DOCTOR"),
        "consultant_last": (doctor_last, "DOCTOR"),
        "work": (rng.choice(_WORK), "PROFESSION"),
        "eponym": (rng.choice(_EPONYMS), ""),
        "drug": (rng.choice(_DRUGS), ""),
        "relative": (f"{rng.choice(_RELATIVES)} {fake.first_name()}", ""),
        "number": (str(rng.randint(1000, 19999)), ""),
        "number_small": (str(rng.randint(40, 120)), ""),
        "small": (str(rng.randint(1, 9)), ""),
        "lot": (str(rng.randint(10**6, 10**7)), ""),
    }
    writer = Writer()
    writer.fill(rng.choice(_HEADS), values)
    writer.fill(" ".join(rng.sample(_LETTER_SENTENCES, 8)), values)
    writer.fill("\n\nMit freundlichen Grüßen\n{consultant}\n", values)
    return writer.document(f"brief-{number:03d}")


_FACTS = (
    "que la parte actora presentó escrito de demanda en el que, tras exponer los hechos y fundamentos de derecho que "
    "estimó pertinentes, suplicaba que se dictase sentencia conforme a lo pedido",
    "que {person}, con documento {dni} y domicilio en {address}, de {town}, compareció en autos representado por "
    "{other}",
    "que el contrato se celebró el {date}, sin que conste que las obligaciones pactadas se hayan cumplido en plazo",
    "que en el juicio se practicaron las pruebas admitidas, con el resultado que obra en la grabación, y quedaron los "
    "autos conclusos para dictar sentencia",
    "que la doctrina reiterada sobre la carga de la prueba obliga a quien afirma un hecho a acreditarlo, sin que baste "
    "la mera alegación de parte",
    "que el órgano competente, {court}, tuvo por formulada la oposición el {date}",
    "que no se aprecia temeridad ni mala fe, por lo que cada parte abonará las costas causadas a su instancia y las "
    "comunes por mitad",
    "que el perito {other} ratificó su informe y respondió a cuanto se le preguntó, siendo localizable en el {phone}",
    "que la cantidad reclamada devengará el interés legal desde la interpelación judicial hasta su completo pago",
    "que resulta aplicable la Ley {law}, de {other_date}, en la redacción dada por el Real Decreto {law}",
    "que así lo declaró el Tribunal Supremo en sentencias de {other_date} y {other_date}, recurso {docket}",
    "que la finca registral {docket}, tomo {number}, libro {number}, se halla libre de cargas",
    "que {short} negó los hechos y {short_two} los reconoció en parte, según el acta del {date}",
    "que la entidad aseguradora consignó {number} euros, cantidad que la actora tuvo por insuficiente",
    "que el artículo {number} del Código Civil, conforme lo interpretan García de Enterría y Díez-Picazo, impone a los "
    "contratantes el deber de buena fe",
)
_OPENINGS = ("RESULTANDO", "CONSIDERANDO", "PRIMERO.-", "SEGUNDO.-", "TERCERO.-", "ANTECEDENTES.-")
_MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()


def _decision(number: int) -> Document:
    rng = random.Random(f"decision {number}")
    fake = _faker("es_ES", rng)
    writer = Writer()
    for opening in _OPENINGS[: rng.randint(3, 6)]:
        writer.add(f"{opening} ")
        for fact in rng.sample(_FACTS, 6):
            writer.fill(fact, _legal_values(fake, rng))
            writer.add("; ")
        writer.add("y así se declara.\n")
    return writer.document(f"sentencia-{number:03d}")


def _legal_values(fake: Faker, rng: random.Random) -> dict[str, tuple[str, str]]:
    name: Callable[[], str] = lambda: f"{fake.first_name()} {fake.last_name()} {fake.last_name()}"  # noqa: E731
    date = f"{rng.randint(1, 28)} de {rng.choice(_MONTHS)} de {rng.randint(1995, 2020)}"
    law_date = f"{rng.randint(1, 28)} de {rng.choice(_MONTHS)}{rng.choice(('', f' de {rng.randint(1985, 2020)}'))}"
    return {
        "person": (f"D. {name()}", "PERSONA"),
        "other": (name(), "PERSONA"),
        "dni": (f"{rng.randint(10**7, 10**8 - 1)}-{rng.choice('TRWAGMYFPDXBNJZSQVHLCKE')}", "DNI"),
        "address": (f"calle {fake.last_name()}, {rng.randint(1, 120)}", "DIRECCION"),
        "town": (fake.city(), "LOCALIDAD"),
        "short": (f"D. {fake.first_name()}", "PERSONA"),
        "short_two": (f"la señora {fake.last_name()}", "PERSONA"),
        "date": (date, "FECHA"),
        "other_date": (law_date, ""),
        "law": (f"{rng.randint(1, 60)}/{rng.randint(1985, 2020)}", ""),
        "docket": (f"{rng.randint(100, 9999)}/{rng.randint(1985, 2020)}", ""),
        "number": (str(rng.randint(100, 1999)), ""),
        "court": (f"Juzgado de Primera Instancia nº {rng.randint(1, 30)} de {fake.city()}", "ORGANO"),
        "phone": (f"9{rng.randint(10**7, 10**8 - 1)}", "TELEFONO"),
    }


def _faker(locale: str, rng: random.Random) -> Faker:
    fake = Faker(locale)
    fake.seed_instance(rng.random())
    return fake


def _days(form: str, rng: random.Random) -> Callable[[], str]:
    return lambda: form.format(d=rng.randint(1, 28), m=rng.randint(1, 12), y=rng.randint(1935, 2022))


def joined(id: str, documents: Iterable[Document]) -> Document:
    """All documents as one, with an empty line between any two."""
    writer = Writer()
    for document in documents:
        writer.spans += [Span(s.start + writer.length, s.end + writer.length, s.label) for s in document.spans]
        writer.add(document.text + "\n\n")
    return writer.document(id)
