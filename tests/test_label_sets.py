"""The shipped label sets and the mappings between them."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import LabelError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet, label_mapping
from phistack.submodels.regex.pattern_files import Pattern

TABLES = Path(__file__).parents[1] / "features" / "label_sets"
MAPPINGS = tomllib.loads((TABLES / "mappings.toml").read_text(encoding="utf-8"))
PAIRS = [(source, target) for source, targets in MAPPINGS.items() for target in targets]
HIPAA_SCRIPT = (
    "PATIENT CITY STREET ZIP ORGANIZATION DATE AGE PHONE FAX EMAIL SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE "
    "VEHICLE DEVICE BIOID IDNUM"
)


@pytest.mark.parametrize(
    ("name", "n_labels", "language"),
    [("i2b2-2014", 32, "en"), ("ngrid-2016", 31, "en"), ("meddocan", 29, "es"), ("nut", 16, "nl")],
)
def test_each_set_has_the_published_types_in_eight_categories(name: str, n_labels: int, language: str) -> None:
    labels = LabelSet.named(name)
    assert (len(labels.labels), labels.language) == (n_labels, language)
    assert len({labels.category(label) for label in labels.labels}) == 8
    assert labels.hipaa_labels <= set(labels.labels)


@pytest.mark.parametrize("name", ["i2b2-2014", "ngrid-2016"])
def test_hipaa_types_are_those_of_the_tasks_criteria(name: str) -> None:
    assert LabelSet.named(name).hipaa_labels - {"AGE-OVER-90"} == set(HIPAA_SCRIPT.split())


def test_meddocan_takes_the_hipaa_status_of_the_english_types_and_protects_relatives() -> None:
    """The task has no such criteria: our reading of its types, which stands in docs/evaluation.md."""
    spanish, english = LabelSet.named("meddocan"), LabelSet.named("i2b2-2014")
    listed = {label for label, mapped in label_mapping("meddocan", "i2b2-2014").items() if english.hipaa(mapped)}
    assert spanish.hipaa_labels == listed | {"FAMILIARES_SUJETO_ASISTENCIA"}
    assert not spanish.hipaa_labels & {"NOMBRE_PERSONAL_SANITARIO", "HOSPITAL", "PAIS", "PROFESION", "URL_WEB"}


@pytest.mark.parametrize(
    ("name", "label", "category", "hipaa"),
    [
        ("i2b2-2014", "DOCTOR", "NAME", False),
        ("i2b2-2014", "LOCATION-OTHER", "LOCATION", False),
        ("i2b2-2014", "OTHER", "PHI", False),
        ("i2b2-2014", "IDNUM", "ID", True),
        ("meddocan", "SEXO_SUJETO_ASISTENCIA", "OTHER", False),
        ("meddocan", "CALLE", "LOCATION", True),
        ("nut", "Care_Institute", "LOCATION", False),
    ],
)
def test_category_and_hipaa_status(name: Any, label: Any, category: Any, hipaa: Any) -> None:
    labels = LabelSet.named(name)
    assert (labels.category(label), labels.hipaa(label)) == (category, hipaa)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_mapping_covers_its_source_and_stays_in_its_target(source: str, target: str) -> None:
    mapping = label_mapping(source, target)
    assert set(mapping) == set(LabelSet.named(source).labels)
    assert set(mapping.values()) <= set(LabelSet.named(target).labels)


@pytest.mark.parametrize("source", LabelSet.names())
@pytest.mark.parametrize("target", ["i2b2-2014", "ngrid-2016"])
def test_every_set_maps_to_the_english_ones(source: str, target: str) -> None:
    assert source == target or label_mapping(source, target)


def test_mappings_keep_hipaa_status_into_the_coarser_dutch_set() -> None:
    english, dutch = LabelSet.named("i2b2-2014"), LabelSet.named("nut")
    lost = [s for s, t in label_mapping("i2b2-2014", "nut").items() if english.hipaa(s) and not dutch.hipaa(t)]
    assert lost == []


def test_the_classes_of_the_papers_are_all_there() -> None:
    assert (len(LabelSet.named("stockholm-epr-phi").labels), LabelSet.named("stockholm-epr-phi").language) == (8, "sv")
    assert LabelSet.named("tjongkimsang2019").labels == ("PER", "ORG", "LOC", "MISC", "NUM", "DATE", "MAIL", "URL")
    groups = LabelSet.named("anonymate2019").categories
    counted = {group: list(groups.values()).count(group) for group in ("PII", "CII", "Other")}
    assert counted == {"PII": 7, "CII": 4, "Other": 13}


@pytest.mark.parametrize("source", ["i2b2-2014", "ngrid-2016", "meddocan", "nut", "stockholm-epr-phi", "anonymate2019"])
def test_every_set_maps_to_the_eight_classes_and_keeps_hipaa_status(source: str) -> None:
    mapping, labels = label_mapping(source, "tjongkimsang2019"), LabelSet.named(source)
    lost = [a for a, b in mapping.items() if labels.hipaa(a) and b == "MISC"]
    assert lost == (["FAMILIARES_SUJETO_ASISTENCIA"] if source == "meddocan" else [])


def test_a_mapping_that_is_not_there_is_refused_with_what_to_do() -> None:
    with pytest.raises(LabelError, match=r"there is no label set named i2b2-1999 .*there are .*i2b2-2014"):
        LabelSet.named("i2b2-1999")
    with pytest.raises(LabelError, match="from the label set custom to nut; rename the labels in the corpus"):
        label_mapping("custom", "nut")
    with pytest.raises(LabelError, match=r"did you mean nut.*; map to .*nut"):
        label_mapping("meddocan", "nutt")


OWN = """
language = "sv"

[types]
Namn = { category = "NAME", hipaa = true }
Plats = { category = "LOCATION" }

[from.nut]
Name = "Namn"
Hospital = "Plats"
"""


def test_a_file_of_ones_own_does_wherever_a_name_does(tmp_path: Path) -> None:
    path = tmp_path / "ward.toml"
    path.write_text(OWN, encoding="utf-8")
    labels = LabelSet.of(str(path))
    assert (labels.name, labels.labels, labels.language) == ("ward", ("Namn", "Plats"), "sv")
    assert (labels.category("Plats"), labels.hipaa("Namn"), labels.hipaa("Plats")) == ("LOCATION", True, False)
    assert LabelSet.of("nut") == LabelSet.named("nut")
    assert label_mapping("nut", str(path)) == {"Name": "Namn", "Hospital": "Plats"}
    assert Pattern("p", "x", {"nut": "Hospital"}).label_in(str(path)) == "Plats"
    assert Pattern("p", "x", {"ward": "Namn", "nut": "Hospital"}).label_in(str(path)) == "Namn"
    note = Document("n1", "Bo på Alfa", (Span(0, 2, "Name"), Span(6, 10, "Hospital")))
    mapped = Corpus((note,), LabelSet.named("nut")).mapped(str(path))
    assert [span.label for span in mapped.documents[0].spans] == ["Namn", "Plats"]
    assert mapped.label_set == labels
    write_corpus(mapped, tmp_path / "notes.jsonl", format="jsonl")
    assert read_corpus(tmp_path / "notes.jsonl", label_set=str(path)).label_set == labels


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (("[types]", "[type]"), "unknown field `type`"),
        (("[types]", "[colours]\nred = 1\n[types]"), "unknown field `colours`"),
        (('category = "NAME"', "category = 3"), "Expected `str`, got `int`"),
        (("Namn =", '"Nam n" ='), "'Nam n' is no label of it: a letter, then"),
        (('Name = "Namn"', 'Name = "Name"'), "'Name' is no label of it"),
        (("language", "language ="), "line 2"),
    ],
)
def test_a_file_that_is_no_label_set_is_one_sentence(tmp_path: Path, change: Any, reported: Any) -> None:
    path = tmp_path / "ward.toml"
    path.write_text(OWN.replace(*change), encoding="utf-8")
    with pytest.raises(LabelError, match=rf"the label set file .*ward\.toml cannot be used: .*{reported}"):
        LabelSet.of(str(path))
    (tmp_path / "nut.toml").write_text(OWN, encoding="utf-8")
    with pytest.raises(LabelError, match="a shipped label set has its name"):
        LabelSet.of(str(tmp_path / "nut.toml"))
    with pytest.raises(LabelError, match=r"none\.toml cannot be used: No such file"):
        LabelSet.of("none.toml")


def test_a_file_without_the_mapping_says_where_it_belongs(tmp_path: Path) -> None:
    (tmp_path / "ward.toml").write_text(OWN, encoding="utf-8")
    with pytest.raises(LabelError, match=r"from the label set meddocan in .*; add a table \[from\.meddocan\]"):
        label_mapping("meddocan", str(tmp_path / "ward.toml"))


def test_the_file_of_the_manual_is_a_label_set(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```toml\n(# ward.toml.*?)^```$", manual, re.M | re.S)
    (tmp_path / "ward.toml").write_text(shown, encoding="utf-8")
    assert LabelSet.of(str(tmp_path / "ward.toml")).labels == ("Namn", "Plats")
