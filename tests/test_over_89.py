"""Safe Harbor on age, 45 CFR 164.514(b)(2)(i)(C): no age over 89 and no date that reveals one, marked or not."""

from dataclasses import replace
from datetime import date

import pytest

from phistack.ensemble.deidentification import Deidentifier, PatientMemory, Policy, verify
from phistack.features.documents import Document
from phistack.features.labels import LabelSet
from tests.annotated import annotated

THIS_YEAR = date.today().year


def safe(text: str, *others: str, year: int = 0, heading: str = "", language: str = "en") -> str:
    """The note as Safe Harbor releases it, beside other notes of the patient; all with `[mention|LABEL]`."""
    document, *rest = (annotated(note, str(number)) for number, note in enumerate((text, *others)))
    policy, memory = Policy.named("safe-harbor"), PatientMemory()
    policy = replace(policy, options=replace(policy.options, present_year=year))
    deidentifier = Deidentifier(policy, LabelSet.named("i2b2-2014"), language)
    for known in (document, *rest):
        deidentifier.remember(memory, known, known.spans)
    result = deidentifier.apply(document, document.spans, memory, heading=heading)
    verify(document, result, document.spans)
    return result.text


def test_the_present_year_is_that_of_today_unless_it_is_given() -> None:
    born = f"{THIS_YEAR - 95}"
    assert safe(f"DOB [{born}|DATE], well") == "DOB [DATE], well"
    assert safe(f"DOB [{born}|DATE], well", year=THIS_YEAR - 10) == f"DOB {born}, well"


def test_a_year_of_birth_goes_where_the_note_states_an_age_over_89() -> None:
    text = "Seen [3/4/2022|DATE] (DOB [1925|DATE]), a [97-year-old|AGE]"
    assert safe(text, year=2010) == "Seen 2022 (DOB [DATE]), a 90+-year-old"


@pytest.mark.parametrize("stated", ["He is ninety-seven years old.", "97f bib ems", "100m bib ems", "age 9 5"])
def test_an_age_that_nothing_marked_takes_the_years_of_birth_of_all_notes_away(stated: str) -> None:
    assert safe("DOB [1990|DATE].", stated) == "DOB [DATE]."


@pytest.mark.parametrize("seen", ["4 March 2022", "3/4/22", "Mar 4, '22"])
def test_the_latest_date_of_any_note_counts_also_with_a_year_of_two_digits(seen: str) -> None:
    born = "DOB [1930|DATE]"
    assert safe(born, year=2018) == "DOB 1930"
    assert safe(born, f"Seen [{seen}|DATE]", year=2018) == "DOB [DATE]"


def test_an_age_that_later_notes_bring_over_89_goes_whole() -> None:
    then = "Seen [3/4/10|DATE], is [80|AGE] yo"
    assert safe(then, "seen [3/4/22|DATE]", year=2022) == "Seen '10, is [AGE] yo"
    assert safe(then, "born [3/4/22|DATE]", year=2022) == "Seen '10, is 80 yo", "no date of a visit"


def test_a_date_before_a_birth_date_is_not_taken_for_one() -> None:
    text = "Seen [3/4/2022|DATE] (DOB [1925|DATE]), [1926|DATE] (born)"
    assert safe(text) == "Seen 2022 (DOB [DATE]), [DATE] (born)"


@pytest.mark.parametrize("column", ["birth_year", "yob", "DOB", "date of birth", "dateofbirth"])
def test_the_name_of_a_column_says_that_its_years_are_of_birth(column: str) -> None:
    year = f"{THIS_YEAR - 80}"
    assert safe(f"[{year}|DATE]", "97f", heading=column) == "[DATE]"
    assert safe(f"[{year}|DATE]", "97f", heading="admitted") == year


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("97f bib ems", "90+f bib ems"),
        ("100m bib ems", "90+m bib ems"),
        ("(97M)", "(90+M)"),
        ("97 F c/o cp", "90+ F c/o cp"),
        ("F/97", "F/90+"),
        ("97, F", "90+, F"),
        ("97wm", "90+wm"),
        ("97 AAF", "90+ AAF"),
        ("97yoF", "90+yoF"),
        ("97 y f", "90+ y f"),
        ("97 y/o", "90+ y/o"),
        ("97 \u2013 year \u2013 old", "90+ \u2013 year \u2013 old"),
        ("97+ years old", "90+ years old"),
        ("9 5 yo man", "90+ yo man"),
        ("9 5 f with cough", "90+ f with cough"),
        ("1 0 2 yo", "90+ yo"),
        ("ninety-seven years old", "90+ years old"),
        ("ninetyseven year old", "90+ year old"),
        ("97 (ninety-seven) years", "90+ (90+) years"),
        ("a hundred and two years old", "90+ years old"),
        ("she is ninety seven", "she is 90+"),
        ("in his late nineties", "in his late 90+"),
        ("a centenarian", "a [AGE]"),
        ("noventa y dos a\u00f1os", "90+ a\u00f1os"),
        ("born on March 4, 1925 in", "born on [DATE] in"),
        ("YOB: 1925", "YOB: [DATE]"),
        ("DOB \u201925", "DOB [DATE]"),
        ("b. 1925", "b. [DATE]"),
        ("Smith *1925", "Smith *[DATE]"),
    ],
)
def test_ages_and_birth_dates_that_nothing_marked(text: str, expected: str) -> None:
    assert safe(text) == expected


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("9 5", "90+"),
        ("1 0 2", "90+"),
        ("97wm", "90+wm"),
        ("ninety-seven", "90+"),
        ("ninety", "90+"),
        ("one hundred and three years", "90+ years"),
        ("eighty-nine", "[AGE]"),
    ],
)
def test_marked_ages(mention: str, expected: str) -> None:
    assert safe(f"([{mention}|AGE])") == f"({expected})"


@pytest.mark.parametrize(
    "text",
    [
        "WBC 97, BP 97/60, HR 97, SpO2 97%, T 98 F, T 97F, temp 99.1 F",
        "walked 100 m, then swam 100m freestyle",
        "97 mg, 95 kg, 90 days old, 97 weeks",
        "born at 32-36 weeks, 2500 g",
        "wife aged 89, 89f, eighty-nine years old",
        "room 97, page 90",
        "90% of 120",
        "quit 95 years ago",
    ],
)
def test_other_figures_stay(text: str) -> None:
    assert safe(text) == text


def test_other_policies_change_no_age_that_nothing_marked() -> None:
    document = Document("1", "97f, ninety-seven years old, DOB 1925")
    result = Deidentifier(Policy.named("tag"), LabelSet.named("i2b2-2014"), "en").apply(document, ())
    assert result.text == document.text
