"""Policies: the strategy for each label, built-in policies, files, overrides; and the kinds behind the labels."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.deidentification import KINDS, Deidentifier, Policy, kind_of, verify
from phistack.ensemble.deidentification.policy import RESTRICTED_ZIP3, PolicyOptions
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from tests.annotated import annotated

KEY = b"a key of the tests, not a secret"
I2B2 = LabelSet.named("i2b2-2014")


def apply(
    policy: str | Policy,
    note: str | Document,
    *,
    key: bytes | None = None,
    language: str = "en",
    labels: LabelSet = I2B2,
) -> str:
    """What a policy makes of a note, which may be given as text with `[mention|LABEL]`."""
    chosen = policy if isinstance(policy, Policy) else Policy.named(policy)
    document = note if isinstance(note, Document) else annotated(note)
    result = Deidentifier(chosen, labels, language, key).apply(document, document.spans)
    verify(document, result, document.spans)
    return result.text


def others_of(label_set: str) -> set[str]:
    """Labels of what is marked and not removed, except dates."""
    return {label for label, group in LabelSet.named(label_set).categories.items() if group == "Other"} - {"Date"}


@pytest.mark.parametrize("label_set", LabelSet.names())
def test_every_label_of_every_shipped_set_has_a_kind(label_set: str) -> None:
    labels = LabelSet.named(label_set).labels
    assert {kind_of(label, label_set) for label in labels} <= set(KINDS)
    without = {label for label in labels if kind_of(label, label_set) == "OTHER"}
    own = {"meddocan": {"OTROS_SUJETO_ASISTENCIA"}, "nut": {"Other"}, "stockholm-epr-phi": set()}
    papers = {"tjongkimsang2019": {"MISC"}, "anonymate2019": {"Product", "Facility", *others_of("anonymate2019")}}
    assert without == (own | papers).get(label_set, {"OTHER"})


@pytest.mark.parametrize("label_set", LabelSet.names())
def test_the_policy_of_a_label_set_names_each_of_its_labels(label_set: str) -> None:
    policy = Policy.named(label_set)
    assert set(policy.strategies) == set(LabelSet.named(label_set).labels)
    policy.check(LabelSet.named(label_set))


@pytest.mark.parametrize("name", [name for name in Policy.names() if name not in LabelSet.names()])
@pytest.mark.parametrize("label_set", LabelSet.names())
def test_the_other_policies_work_with_every_label_set(name: str, label_set: str) -> None:
    Policy.named(name).check(LabelSet.named(label_set))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("tag", "Zoë [PATIENT]."),
        ("number", "Zoë [PATIENT-1]."),
        ("name", "Zoë PATIENT."),
        ("numbered", "Zoë PATIENT 1."),
        ("mask", "Zoë *** ****."),
        ("remove", "Zoë ."),
        ("keep", "Zoë Ann Ngũĩ."),
    ],
)
def test_each_simple_strategy(strategy: str, expected: str) -> None:
    policy = Policy.named("tag").with_overrides({"PATIENT": strategy})
    if strategy == "mask":
        expected = "Zoë " + "*" * len("Ann Ngũĩ") + "."
    assert apply(policy, "Zoë [Ann Ngũĩ|PATIENT].") == expected


@given(st.text(min_size=1, max_size=12))
def test_a_mask_leaves_no_character_of_any_alphabet(mention: str) -> None:
    note = Document("1", f"<{mention}>", (Span(1, 1 + len(mention), "PATIENT"),))
    assert apply("mask", note).strip("<>*") == ""


def test_a_label_beats_its_kind_and_an_override_beats_both() -> None:
    policy = Policy("mine", {"PERSON": "mask", "DOCTOR": "keep"})
    assert policy.strategy("DOCTOR", "PERSON") == "keep"
    assert policy.strategy("PATIENT", "PERSON") == "mask"
    assert policy.strategy("PHONE", "PHONE") == "tag"
    assert policy.with_overrides({"PERSON": "remove"}).strategy("DOCTOR", "PERSON") == "remove"


def test_an_unknown_label_is_tagged_and_never_left_by_every_shipped_policy_but_those_that_do_more() -> None:
    for name in Policy.names():
        if (name in LabelSet.names() and name != "i2b2-2014") or name == "trienes2020":  # which needs a corpus
            continue
        text = apply(name, "It is [Xylo|NEWTYPE].", key=KEY)
        assert "Xylo" not in text
        assert text == "It is [NEWTYPE]." or name in ("mask", "remove", "number", "substitute")


def test_a_policy_file_is_read_and_its_name_is_not_part_of_its_digest(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    for path in (first, second):
        path.write_text(
            'default = "mask"\n[strategies]\nDATE = "surrogate"\n[options]\nkeep_weekday = true\n', encoding="utf-8"
        )
    policy = Policy.from_toml(first)
    assert (policy.name, policy.default, policy.options.keep_weekday) == ("a", "mask", True)
    assert policy.digest == Policy.from_toml(second).digest
    assert policy.digest != policy.with_overrides({"AGE": "tag"}).digest
    assert policy.digest != replace(policy, options=PolicyOptions(shift_days=30)).digest


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ('default = "hide"', "there is no strategy named hide"),
        ("[options]\nshift_days = 3", "shift_days must be a whole number from 7"),
        ("[options]\nshift = 3", "no entry shift"),
        ("[options]\nshift_day = 7", "did you mean shift_days"),
        ("[options]\npresent_year = 19", "present_year must be a year from 1900 to 2199"),
        ('[options]\npresent_year = "2019"', "present_year must be a year from 1900 to 2199"),
        ("defaults = 1", "no entry defaults"),
        ("strategies = 3", "must be a table"),
        ("[strategies", "cannot be used"),
    ],
)
def test_a_bad_policy_file_is_refused_by_name(tmp_path: Path, content: str, part: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=part) as caught:
        Policy.from_toml(path)
    assert "bad.toml" in str(caught.value)


def test_a_missing_policy_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be used"):
        Policy.from_toml(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match=r"there are .*safe-harbor"):
        Policy.named("../secrets")


def test_a_policy_that_names_neither_label_nor_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"PATIENTS .*PATIENT.*, which is neither a label of i2b2-2014 nor a kind"):
        Deidentifier(Policy.named("tag").with_overrides({"PATIENTS": "keep"}), I2B2, "en")


@pytest.mark.parametrize("key", [None, b"short"])
def test_surrogates_without_a_usable_key_are_refused_with_how_to_make_one(key: bytes | None) -> None:
    with pytest.raises(SettingsError, match="openssl rand"):
        Deidentifier(Policy.named("surrogate"), I2B2, "en", key)


def test_surrogates_in_a_language_without_them_are_refused() -> None:
    with pytest.raises(SettingsError, match="in the language fi"):
        Deidentifier(Policy.named("surrogate"), I2B2, "fi", KEY)
    assert apply("tag", "[Aino|PATIENT]", language="fi") == "[PATIENT]"


@pytest.mark.parametrize(
    ("mention", "label", "expected"),
    [
        ("5/12/2081", "DATE", "2081"),
        ("May 12th, 2081", "DATE", "2081"),
        ("5/12/81", "DATE", "'81"),
        ("May 12", "DATE", "[DATE]"),
        ("Christmas 2081", "DATE", "2081"),
        ("2080-2081", "DATE", "[DATE]"),
        ("89 years", "AGE", "89 years"),
        ("90 years", "AGE", "90+ years"),
        ("101-year-old", "AGE", "90+-year-old"),
        ("90 days", "AGE", "90 days"),
        ("three weeks", "AGE", "three weeks"),
        ("ninety-four", "AGE", "90+"),
        ("45 John", "AGE", "[AGE]"),
        ("02114", "ZIP", "021"),
        ("02114-1234", "ZIP", "021"),
        ("03601", "ZIP", "000"),
        ("SW1A 1AA", "ZIP", "[ZIP]"),
        ("MA", "STATE", "MA"),
        ("Boston", "CITY", "[CITY]"),
        ("Ann Lee", "DOCTOR", "[DOCTOR]"),
    ],
)
def test_safe_harbor(mention: str, label: str, expected: str) -> None:
    assert apply("safe-harbor", f"([{mention}|{label}])") == f"({expected})"


def test_safe_harbor_hides_a_year_that_shows_an_age_of_ninety() -> None:
    text = "Born in [1925|DATE], seen in [2019|DATE], first in [1999|DATE]."
    assert apply("safe-harbor", text) == "Born in [DATE], seen in 2019, first in 1999."


@given(st.from_regex(r"[0-9]{5}(-[0-9]{4})?", fullmatch=True))
def test_the_zip_rule(code: str) -> None:
    expected = "000" if code[:3] in RESTRICTED_ZIP3 else code[:3]
    assert apply("safe-harbor", f"([{code}|ZIP])") == f"({expected})"


def test_a_limited_data_set_keeps_dates_towns_states_and_postcodes() -> None:
    text = "[Ann Lee|PATIENT], [94|AGE], of [3 Elm St|STREET], [Boston|CITY], [MA|STATE] [02114|ZIP], "
    text += "seen [5/12/2081|DATE], tel [555-0100|PHONE]"
    expected = "[PATIENT], 94, of [STREET], Boston, MA 02114, seen 5/12/2081, tel [PHONE]"
    assert apply("limited-data-set", text) == expected


def test_the_kinds_of_another_label_set_are_treated_alike() -> None:
    text = "Visto el [12 de marzo de 2019|FECHAS], [94 años|EDAD_SUJETO_ASISTENCIA]"
    found = apply("safe-harbor", text, language="es", labels=LabelSet.named("meddocan"))
    assert found == "Visto el 2019, 90+ años"


@pytest.mark.parametrize(
    ("mention", "is_kept"),
    [
        *((word, True) for word in ("madre", "Abuela materna", "ESPOSO", "dos hermanos", "nieto", "hermano segundo")),
        *((word, False) for word in ("Nieto", "Segundo", "hija Loli", "madre, 19 años", "Carmen")),
    ],
)
def test_safe_harbor_keeps_words_for_relatives_and_no_names(mention: str, is_kept: bool) -> None:
    note = annotated(f"Acude su [{mention}|FAMILIARES_SUJETO_ASISTENCIA].")
    cleaned = apply("safe-harbor", note, language="es", labels=LabelSet.named("meddocan"))
    assert cleaned == (note.text if is_kept else "Acude su [FAMILIARES_SUJETO_ASISTENCIA].")
