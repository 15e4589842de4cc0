"""The shipped label sets and the mappings between them."""

import tomllib
from pathlib import Path

import pytest

from features.errors import LabelError
from features.labels import LabelSet, label_mapping

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
def test_each_set_has_the_published_number_of_types_in_eight_categories(name, n_labels, language):
    labels = LabelSet.named(name)
    assert (len(labels.labels), labels.language) == (n_labels, language)
    assert len({labels.category(label) for label in labels.labels}) == 8
    assert labels.hipaa_labels <= set(labels.labels)


@pytest.mark.parametrize("name", ["i2b2-2014", "ngrid-2016"])
def test_hipaa_types_are_those_of_the_tasks_criteria(name):
    assert LabelSet.named(name).hipaa_labels - {"AGE-OVER-90"} == set(HIPAA_SCRIPT.split())


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
def test_category_and_hipaa_status(name, label, category, hipaa):
    labels = LabelSet.named(name)
    assert (labels.category(label), labels.hipaa(label)) == (category, hipaa)


def test_the_sets_are_listed():
    assert LabelSet.names() == ("i2b2-2014", "meddocan", "ngrid-2016", "nut")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_mapping_covers_its_source_and_stays_in_its_target(source, target):
    mapping = label_mapping(source, target)
    assert set(mapping) == set(LabelSet.named(source).labels)
    assert set(mapping.values()) <= set(LabelSet.named(target).labels)


@pytest.mark.parametrize("source", LabelSet.names())
@pytest.mark.parametrize("target", ["i2b2-2014", "ngrid-2016"])
def test_every_set_maps_to_the_english_ones(source, target):
    assert source == target or label_mapping(source, target)


def test_mappings_keep_hipaa_status_into_the_coarser_dutch_set():
    english, dutch = LabelSet.named("i2b2-2014"), LabelSet.named("nut")
    lost = [s for s, t in label_mapping("i2b2-2014", "nut").items() if english.hipaa(s) and not dutch.hipaa(t)]
    assert lost == []


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(LabelError, match="i2b2-2014"):
        LabelSet.named("i2b2-1999")
    with pytest.raises(LabelError, match="nut to meddocan"):
        label_mapping("nut", "meddocan")


def test_a_mapping_that_is_not_there_is_refused_with_what_to_do():
    with pytest.raises(LabelError, match="from the label set custom to nut; rename the labels in the corpus"):
        label_mapping("custom", "nut")
    with pytest.raises(LabelError, match=r"did you mean nut.*; map to .*nut"):
        label_mapping("meddocan", "nutt")
