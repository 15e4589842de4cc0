"""The regex submodel: patterns and their files, learned labels and precision, candidates, time on hostile text."""

import itertools
import re
import time
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.submodels.base import Candidate
from phistack.submodels.regex.pattern_files import (
    ANY_SET,
    VALIDATORS,
    Pattern,
    format_patterns,
    parse_patterns,
    shipped_patterns,
    user_patterns,
)
from phistack.submodels.regex.scanner import Scanner
from phistack.submodels.regex.submodel import RegexSubmodel

PATTERN_FOLDER = resources.files("phistack.submodels.regex") / "patterns"
FILES = sorted(entry.name.removesuffix(".toml") for entry in PATTERN_FOLDER.iterdir())
LANGUAGES = [name for name in FILES if name != "common"]
SHIPPED = {pattern.name: pattern for language in LANGUAGES for pattern in shipped_patterns(language)}
HOSTILE = ("A", "1 ", "1-", "A-", " ", "Aa, ", "a.a@", "Dr. Aa A. ", "Hospital de la ")


def tables(*documents: Document, language: str = "en") -> list[FeatureTable]:
    """Tables without columns, since the regex submodel reads none."""
    return FeatureSpace(FeatureSettings(language=language, without=("gazetteers",))).fit(documents)


@cache
def shipped(language: str, label_set: str) -> tuple[RegexSubmodel, FeatureSpace]:
    """Patterns as shipped, and the space of their tables."""
    learned_from = tables(Document("1", "-"))
    return RegexSubmodel(label_set=label_set, language=language).fit(learned_from), learned_from[0].space


def marked(text: str, language: str = "en", label_set: str = "i2b2-2014") -> dict[str, str]:
    """Chosen PHI -> its label, from patterns as shipped."""
    submodel, space = shipped(language, label_set)
    [table] = space.tables([Document("2", text)])
    [candidates] = submodel.propose([table])
    spans = (table.view.in_note(c.span) for c in candidates if c.chosen)
    return {text[span.start : span.end]: span.label for span in spans}


def note(id: str, text: str, **spans: str) -> Document:
    """A note whose spans are given as label="the PHI"."""
    found = (Span(text.index(phi), text.index(phi) + len(phi), label) for label, phi in spans.items())
    return Document(id, text, tuple(found))


def own_patterns(tmp_path: Path, toml: str) -> str:
    path = tmp_path / "own.toml"
    path.write_text(toml, encoding="utf-8")
    return str(path)


# What shipped patterns find


I2B2, MED, NUT = "i2b2-2014", "meddocan", "nut"
FOUND = {
    ("en", I2B2): [
        "seen by Dr. [[DOCTOR|Olivia Hartley]] today", "Attending: [[DOCTOR|Victor Amsel]], M.D.",
        "for Mr. [[PATIENT|Dunmore]]", "MRN: [[MEDICALRECORD|7301946]]", "a [[AGE|45]]-year-old man",
        "a [[AGE|62]] yo F", "on [[DATE|March 3, 2014]] he", "on [[DATE|3 Apr]].", "Record date: [[DATE|2071-08-09]]",
        "on [[DATE|04/18/2073]]", "in [[DATE|June 2011]]", "Tel: [[PHONE|(617) 555-0199 x1234]]",
        "fax [[FAX|617-555-0100]]", "pager #[[PHONE|23456]]", "[[STREET|12 Elm Street, Apt 3]]",
        "[[CITY|Boston]], [[STATE|MA]] [[ZIP|02115]]", "at [[HOSPITAL|Quince Valley Hospital]] for",
        "mail [[EMAIL|ann.lee@example.org]] now", "from [[IPADDR|192.168.0.12]]",
        "PID|1||[[MEDICALRECORD|123456]]^^^MRN||[[PATIENT|BIRCHWOOD^ANSELM^Q]]||[[DATE|19500403]]|M|||"
        "[[STREET|12 ELM ST]]^^[[CITY|ALBION]]^^[[ZIP|62704]]||[[PHONE|(217)555-0134]]",
        "NK1|1|[[PATIENT|BIRCHWOOD^EDNA]]|SPO", "mail ann.lee@[[EMAIL|example org]] now",
        "by Dr. [[DOCTOR|Hilda]]|[[DOCTOR|Quackenbush]] today",
        "by Dr. [[DOCTOR|Hilda]].[[DOCTOR|Quackenbush]] today",
        "PV1|1|I|4E^12||||[[IDNUM|30117]]^[[DOCTOR|BRANDVOLD^TROND]]|", "PV1|1|I|||||20^Y|[[IDNUM|30442]]^B|",
        '{"family":"[[PATIENT|Birchwood]]","given":["[[PATIENT|Anselm]]"],"status":"final"}',
        "<family>[[PATIENT|Birchwood]]</family><status>final</status>",
        "pt_name=[[PATIENT|anselm.birchwood]];ssn=[[SSN|078051120]];unit=mg", "user=[[USERNAME|tgrubb2]] action=VIEW",
        "(0010,0010) Patient's Name: [[PATIENT|BIRCHWOOD^ANSELM]]", "birchwood_ct_[[DATE|2016-04-20]].pdf",
        "birchwood_ct_[[DATE|20160420]].pdf",
    ],
    ("es", MED): [
        "Nombre: [[NOMBRE_SUJETO_ASISTENCIA|Elvira]].\nX",
        "\ufeffNombre:  [[NOMBRE_SUJETO_ASISTENCIA|Elvira]] .\r\nApellidos: [[NOMBRE_SUJETO_ASISTENCIA|Soto]]",
        "Médico: [[NOMBRE_PERSONAL_SANITARIO|Eva de la Vega]] NºCol: [[ID_TITULACION_PERSONAL_SANITARIO|41 41 12345]].",
        "NºCol: [[ID_TITULACION_PERSONAL_SANITARIO|41 41 12345]].", "CP: [[TERRITORIO|41001]].",
        "Edad: [[EDAD_SUJETO_ASISTENCIA|70 años]] Sexo: [[SEXO_SUJETO_ASISTENCIA|H]].",
        "desde [[FECHAS|marzo de 2011]] refiere", "en el [[HOSPITAL|Hospital Virgen del Puerto]].",
        "País: [[PAIS|España]].", '"apellidos":"[[NOMBRE_SUJETO_ASISTENCIA|Larrañeta Quiles]]"',
        "placa [[IDENTIF_VEHICULOS_NRSERIE_PLACAS|KXN 42E]] en vía", "ingresa el [[FECHAS|jue 23/3]] por disnea",
        "desde [[FECHAS|Semana Santa]], en [[FECHAS|otoño de 2019]]",
        "vive con su [[FAMILIARES_SUJETO_ASISTENCIA|hija]] [[FAMILIARES_SUJETO_ASISTENCIA|Loli]]",
        "RUT [[ID_SUJETO_ASISTENCIA|9.604.118-K]]", "CURP: [[ID_SUJETO_ASISTENCIA|HEXG740612MMCRCD07]]",
        "cel [[NUMERO_TELEFONO|55 3948 2216]]", "[[CALLE|Cra 12 bis # 8-41 apto 302]]",
        "derivado de [[CENTRO_SALUD|CESFAM Los Aromos]]",
        "en tratamiento con la lic. [[NOMBRE_PERSONAL_SANITARIO|Etcheverry]]",
    ],
    ("nl", I2B2): ["gezien door dr. [[DOCTOR|J. van der Berg]]", "op [[DATE|3 mei 2011]]"],
    ("de", I2B2): [
        "Herr [[PATIENT|Brandt]] wurde", "am [[DATE|3. Mai 2011]]", "seit Anfang [[DATE|Mai]] müde",
        "Kontrolle [[DATE|KW 12/23]] hier", "ED [[DATE|09/23]], R0", "am [[DATE|Ostermontag]]",
        "Handy: [[PHONE|0171 5509 2231]],", "Kasse [[ORGANIZATION|AOK Bayern]] VNR [[HEALTHPLAN|K482917365]]",
        "LANR [[LICENSE|728193401]]", "Fall-Nr.: [[IDNUM|22-004417]] vom", "Schaft SN [[DEVICE|CK-77120934]].",
        "<nachname>[[PATIENT|Querfurth]]</nachname>",
    ],
    ("sv", I2B2): [
        "Doktor [[DOCTOR|Lindqvist]] ringde", "den [[DATE|3 maj 2011]]",
        "pnr [[SSN|540203-4431]] saknar kontrollsiffra", "åter [[DATE|v 26]].", "[[DATE|Tors 8/12]]: sov gott",
        "dottern [[PATIENT|Karin Lo]] ringde", "sønnen [[PATIENT|Kai Roger]] 90", "overlege [[DOCTOR|Bårdsen]]",
        "den [[DATE|3. desember 2011]]", "på [[DATE|mandag]]", "[[DATE|våren 2014]]", "f.nr. [[SSN|070546 38517]]",
        "tlf [[PHONE|41 77 20 95]] kveld", "bor i [[STREET|Elveveien 14 B]]", "innlagt ved [[HOSPITAL|Namdal sykehus]]",
    ],
    ("fr", I2B2): ["le Dr [[DOCTOR|Marchand]]", "le [[DATE|3 mai 2011]]"],
    ("it", I2B2): ["il [[DATE|03/05/2011]]"],
    ("nl", NUT): [
        "achternaam=[[Name|hoogeveen]];", "proefverlof op [[Date|1/11]] gepland",
        "controle [[Date|wo 18/5]] en [[Date|ma 14-3-2022]]", "van [[Date|3 t/m 9 oktober 2021]]",
        "sinds [[Date|het najaar van 2020]], [[Date|2e kerstdag]]", "bel [[Phone_fax|06 – 48 19 02 77]]",
        "bel [[Phone_fax|077-3889 214]]", "mail [[Email|poli@zorg.example]]",
        "fam. [[Name|Loeffen]] en HA [[Name|Blommers]]", "[[Name|v.d. Sluis]], delier",
        "[[Name|KOOIJMAN-DE LEEUW, H.C.]]", "Registratie: BIG [[ID|49028816502]]",
        "[[Care_Institute|Huisartsenpraktijk 't Vennetje]]", "[[Address|Burgemeester van Tienhovenlaan 250]]",
        "[[Internal_Location|verpleegunit 4C]], sein [[Phone_fax|6114]]",
    ],
}  # fmt: skip
"""Language and label set -> texts with all that is found in them."""

MARK = re.compile(r"\[\[(\w+)\|(.+?)\]\]")


@pytest.mark.parametrize(
    ("language", "label_set", "text"), [(*key, text) for key, texts in FOUND.items() for text in texts]
)
def test_shipped_patterns_find_phi(language: str, label_set: str, text: str) -> None:
    found = {phi: label for label, phi in MARK.findall(text)}
    assert marked(MARK.sub(r"\2", text), language, label_set) == found


ONLY_LOOKS_LIKE_PHI = {
    "en": [
        "BP 120/80", "CK of 1028", "SVR of 1739", "version 1.2.3.400", "on 45/45/2012", "L4-5", "chest_ct_axial.dcm",
        "OBX|1|NM|GLU^Glucose||98|mg/dL|70-105||||F", "OBR|1|||80053^COMPREHENSIVE METABOLIC PANEL^CPT",
        "DG1|1||I10^Hypertension", '{"status":"final","code":"E11.9","value":98}', "(0018,0015) Body Part: KNEE",
        "<status>final</status><value>7</value>", "sys=120;dia=80;unit=mmol;smoker=former",
    ],
    "de": ["um 9.30 Uhr", "20-20-20-20", "OPS 5-820.00", "RR 120/80", "TK 8,0", "im Mai-Grünwald"],
    "sv": ["gravid i v 40+5", "uke 34+2", "v 7,5"],
}  # fmt: skip


@pytest.mark.parametrize("language", ONLY_LOOKS_LIKE_PHI)
def test_what_only_looks_like_phi(language: str) -> None:
    assert {text: marked(text, language) for text in ONLY_LOOKS_LIKE_PHI[language] if marked(text, language)} == {}


def test_shipped_patterns_have_labels_of_the_label_sets_that_they_name() -> None:
    for pattern in SHIPPED.values():
        assert all(label in LabelSet.named(label_set) for label_set, label in pattern.labels.items()), pattern.name


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_no_shipped_pattern_is_slow_on_hostile_text(name: str) -> None:
    """At most a tenth of a second on 100 000 characters, or more in proportion if the machine is slow just then."""
    scanner = Scanner([SHIPPED[name]])
    for unit in HOSTILE:
        text = (unit * (100_000 // len(unit) + 1))[:100_000]
        in_time = any(seconds(scanner, text) < 0.1 for _ in range(3))
        assert in_time or any(seconds(scanner, text) < 0.1 * slowness() for _ in range(20)), unit


def slowness() -> float:
    """How many times longer than usual a fixed search takes; 1 on a machine that is as fast or faster."""
    text, word = "A-" * 50_000, re.compile(r"\b[A-Z][A-Za-z'-]{0,30}(?!\w)[ \t]")
    begun = time.process_time()
    for place in range(0, len(text), 2):
        word.match(text, place)
    return max(1.0, (time.process_time() - begun) / _USUAL)


_USUAL = 0.06
"""Seconds of processor time that the search of `slowness` usually takes on the machines of CI."""


def seconds(scanner: Scanner, text: str) -> float:
    begun = time.process_time()
    for _ in scanner.find([text], "en"):
        pass
    return time.process_time() - begun


def test_a_label_is_mapped_to_other_label_sets() -> None:
    pattern = Pattern("p", "x", {"i2b2-2014": "DOCTOR"})
    assert pattern.label_in("i2b2-2014") == "DOCTOR"
    assert pattern.label_in("nut") == "Name"
    assert pattern.label_in("no such set") == ""


# What is learned


def test_labels_are_learned_from_the_corpus() -> None:
    train = tables(note("1", "Dr. Olivia Hartley came", ARZT="Olivia Hartley"))
    [[candidate]] = RegexSubmodel().fit(train).propose(tables(Document("2", "Dr. Ann Lee")))
    assert candidate == Candidate(Span(4, 11, "ARZT"), "regex", pytest.approx(2 / 3), True)
    assert candidate.evidence == "en-title-doctor"


def test_the_score_is_the_smoothed_precision() -> None:
    train = tables(note("1", "Dr. Ann", DOCTOR="Ann"), note("2", "Dr. Bo"), note("3", "Dr. Cy", DOCTOR="Cy"))
    submodel = RegexSubmodel().fit(train)
    [pattern] = [pattern for pattern in submodel.patterns_ if pattern.name == "en-title-doctor"]
    assert pattern.matches == 3
    assert pattern.precision == pytest.approx((2 + 1) / (3 + 2))


def test_precision_is_that_where_no_surer_pattern_matches(tmp_path: Path) -> None:
    own = own_patterns(
        tmp_path,
        "patterns = [{ name = 'part', regex = 'b c', label = 'X' }, { name = 'whole', regex = 'a b c', label = 'X' }]",
    )
    train = tables(*(note(str(i), "a b c", X="a b c") for i in range(20)), note("z", "b c", X="b c"))
    kept = {pattern.name: pattern for pattern in RegexSubmodel(patterns_file=own).fit(train).patterns_}
    assert kept["whole"].precision == pytest.approx(21 / 22)
    assert kept["part"].precision == pytest.approx((1 + 2 * 2 / 23) / 3)
    assert kept["part"].matches == 21


def test_a_pattern_that_is_often_wrong_is_left_out() -> None:
    train = tables(*(note(str(i), "Dr. Ann at 04/18/2073", DATE="04/18/2073", DOCTOR="at") for i in range(12)))
    assert "en-title-doctor" not in {pattern.name for pattern in RegexSubmodel().fit(train).patterns_}
    kept = RegexSubmodel(min_precision=0.0, label_set="i2b2-2014").fit(train)
    assert "en-title-doctor" in {pattern.name for pattern in kept.patterns_}
    [candidates] = kept.propose(tables(Document("x", "Dr. Ann")))
    assert candidates and not any(candidate.chosen for candidate in candidates)


def test_a_pattern_without_matches_keeps_a_label_that_the_corpus_knows() -> None:
    labels = {p.labels[ANY_SET] for p in RegexSubmodel().fit(tables(note("1", "in Xy", CITY="Xy"))).patterns_}
    assert labels == {"CITY"}


def test_a_named_label_set_keeps_all_its_patterns() -> None:
    submodel = RegexSubmodel(label_set="i2b2-2014").fit(tables(Document("1", "-")))
    assert len(submodel.patterns_) == len(shipped_patterns("en"))
    assert {pattern.precision for pattern in submodel.patterns_} == {0.5}


def test_the_language_is_that_of_the_tables_unless_set() -> None:
    document = note("1", "País: España.", PAIS="España")
    assert RegexSubmodel().fit(tables(document, language="es")).language_ == "es"
    assert RegexSubmodel(language="nl").fit(tables(document, language="es")).language_ == "nl"


def test_an_unknown_label_set_is_refused() -> None:
    with pytest.raises(SettingsError, match="i2b2-2014"):
        RegexSubmodel(label_set="i2b2").fit(tables(Document("1", "-")))


# Candidates


@given(st.lists(st.sampled_from(["Dr. Ann Lee", "MRN: 7301946", "12/03/2081", "45-year-old", "617-555-0100", "é\r\n"])))
@settings(max_examples=20)
def test_chosen_candidates_never_overlap_and_none_is_proposed_twice(pieces: list[str]) -> None:
    text = " ".join(pieces)
    [candidates] = FITTED.propose(tables(Document("2", text)))
    spans = [candidate.span for candidate in candidates if candidate.chosen]
    assert spans == sorted(spans) and not any(a.overlaps(b) for a, b in itertools.pairwise(spans))
    assert len({candidate.span for candidate in candidates}) == len(candidates)
    assert all(text[c.span.start : c.span.end].strip() == text[c.span.start : c.span.end] for c in candidates)
    assert all(0 < c.score < 1 and c.source == "regex" and c.evidence in SHIPPED for c in candidates)


FITTED = RegexSubmodel(label_set="i2b2-2014").fit(tables(Document("1", "-")))


def test_of_overlapping_matches_the_surest_is_chosen_and_then_the_longest(tmp_path: Path) -> None:
    own = own_patterns(
        tmp_path,
        "patterns = ["
        "{ name = 'long', regex = 'a b c', label = 'X' }, { name = 'short', regex = 'b', label = 'X' },"
        "{ name = 'sure', regex = 'c d', label = 'Y' } ]",
    )
    train = tables(note("1", "b. b. c d", Y="c d"), note("2", "c d", Y="c d"), note("3", "a b c", X="a b c"))
    [candidates] = RegexSubmodel(patterns_file=own).fit(train).propose(tables(Document("4", "a b c. a b c d")))
    chosen = [(c.evidence, c.span.start) for c in candidates if c.chosen]
    assert chosen == [("long", 0), ("sure", 11)]
    assert {(c.evidence, c.span.start) for c in candidates if not c.chosen} >= {("long", 7)}


# A user's own patterns


def test_a_users_pattern_is_added_and_replaces_one_of_the_same_name(tmp_path: Path) -> None:
    own = own_patterns(
        tmp_path,
        """
        [parts]
        digit = '[0-9]'
        [[patterns]]
        name = "ward"
        regex = 'ward \\s (?P<phi>{{digit}}+)  # the number only'
        flags = "ix"
        label = "ROOM"
        [[patterns]]
        name = "email"
        regex = 'never matches'
        labels = { i2b2-2014 = "EMAIL" }
        """,
    )
    submodel = RegexSubmodel(patterns_file=own, label_set="i2b2-2014").fit(tables(Document("1", "-")))
    [candidates] = submodel.propose(tables(Document("2", "Ward 12, a@b.org")))
    assert [(c.span, c.evidence) for c in candidates if c.chosen] == [(Span(5, 7, "ROOM"), "ward")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("name = 'ward', regex = '(', label = 'A'", r"ward \(.*own.toml\) is not a regular expression"),
        ("name = 'ward', regex = 'x'", "ward has no label"),
        ("name = 'ward', regex = 'x', label = ''", "ward has no label"),
        ("name = 'ward', regex = 'x', label = 3", "ward has no label"),
        ("name = 'ward', regex = 'x', label = 'A', validator = 'magic'", "ward names the unknown validator magic"),
        ("name = 'ward', regex = 'x', label = 'A', flags = 'q'", "ward has a flag"),
        ("name = 'ward', regex = '{{y}}', label = 'A'", "ward uses the part y"),
        ("name = 'ward', label = 'A'", "ward has no regex"),
        ("name = 'ward', regex = 'x', labels = 3", "ward has a value of the wrong type"),
        ("name = 'ward', regex = 'x', label = 'A', colour = 'red'", "ward has the unknown key colour"),
        ("regex = 'x', label = 'A'", "number 1 of the file has no name"),
    ],
)
def test_a_users_mistake_is_reported_by_the_patterns_name(row: str, message: str, tmp_path: Path) -> None:
    own = own_patterns(tmp_path, f"patterns = [{{ {row} }}]")
    with pytest.raises(SettingsError, match=message):
        RegexSubmodel(patterns_file=own, label_set="i2b2-2014").fit(tables(Document("1", "-")))


@pytest.mark.parametrize(
    "toml", ["patterns = 3", 'patterns = "ab"', "[[patterns", "patterns = [1]", "parts = 1\npatterns = [{name='a'}]"]
)
def test_a_file_of_another_kind_is_refused(toml: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        user_patterns(Path(own_patterns(tmp_path, toml)))


def test_an_absent_file_and_two_patterns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.toml cannot be used"):
        user_patterns(tmp_path / "absent.toml")
    row = "{ name = 'a', regex = 'x', label = 'A' }"
    with pytest.raises(SettingsError, match="two patterns are named a"):
        parse_patterns(f"patterns = [{row}, {row}]")


def test_patterns_are_written_as_they_are_read() -> None:
    patterns = list(SHIPPED.values())
    toml = format_patterns(patterns)
    assert parse_patterns(toml) == patterns
    assert tomllib.loads(toml)["patterns"][0]["name"] == patterns[0].name


# Bundles


# Validators


@pytest.mark.parametrize(
    ("name", "language", "right", "wrong"),
    [
        ("phone", "es", "912 345 678", "12 34"),
        ("phone", "en", "+44 20 7946 0958", "+999 1"),
        ("date", "en", "29/02/2012", "31/13/2012"),
        ("date", "en", "2012-12-31", "2012-32-31"),
        ("date", "en", "12/31", "32/12"),
        ("date", "en", "1.2.99", "1.2.3.4"),
        ("ip", "en", "192.168.0.1", "192.168.0.256"),
        ("iban", "es", "GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 33"),
        ("luhn", "en", "4539578763621486", "4539578763621487"),
        ("es_nif", "es", "54362315K", "54362315Z"),
        ("nl_bsn", "nl", "111222333", "111222334"),
        ("us_ssn", "en", "536-90-4399", "000-12-3456"),
        ("se_personnummer", "sv", "880320-0016", "880320-0018"),
    ],
)
def test_validators(name: str, language: str, right: str, wrong: str) -> None:
    assert VALIDATORS[name](right, language)
    assert not VALIDATORS[name](wrong, language)


@pytest.mark.parametrize("name", sorted(VALIDATORS))
@given(text=st.text(st.sampled_from("0129-/. +AZé٣²"), max_size=20))
@settings(max_examples=15)
def test_validators_answer_for_any_text(name: str, text: str) -> None:
    assert VALIDATORS[name](text, "en") in (True, False)
    assert VALIDATORS[name](text, "xx") in (True, False)
