"""Dates shifted by one keyed number of days: valid, with the same intervals, in the original format."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.deidentification import Deidentifier, Policy, verify
from phistack.ensemble.deidentification.dates.parsing import names, parse_dates
from phistack.ensemble.deidentification.dates.shift import offset, shift_dates
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices
from phistack.ensemble.deidentification.policy import PolicyOptions
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet

KEY = b"a key of the tests, not a secret"
LANGUAGES = ("en", "es", "nl", "sv", "de")
FULL = {
    "en": (
        "{m}/{d}/{y}",
        "{mm}/{dd}/{y}",
        "{month} {d}, {y}",
        "{d} {mon} {y}",
        "{y}-{mm}-{dd}",
        "{weekday}, {month} {d}, {y}",
    ),
    "es": (
        "{d}/{m}/{y}",
        "{dd}-{mm}-{y}",
        "{d} de {month} de {y}",
        "{d} de {month} del {y}",
        "{weekday} {d} de {month} de {y}",
    ),
    "nl": ("{d}-{m}-{y}", "{d} {month} {y}", "{d} {mon} {y}", "{weekday} {d} {month} {y}", "{dd}.{mm}.{y}"),
    "sv": ("{y}-{mm}-{dd}", "den {d} {month} {y}", "{d} {mon} {y}", "{d}/{m} {y}", "{y}{mm}{dd}"),
    "de": ("{d}.{m}.{y}", "{dd}.{mm}.{y}", "{d}. {month} {y}", "{weekday}, {d}. {month} {y}"),
}
DAYS = st.dates(date(1900, 1, 1), date(2150, 12, 31))
OFFSETS = st.integers(-364, 364).filter(bool)
languages = st.sampled_from(LANGUAGES)


def written(day: date, form: str, language: str) -> str:
    known = names(language)
    return form.format(
        d=day.day,
        dd=f"{day.day:02d}",
        m=day.month,
        mm=f"{day.month:02d}",
        y=day.year,
        month=known.full_months[day.month - 1],
        mon=known.short_months[day.month - 1],
        weekday=known.full_weekdays[day.weekday()],
    )


def read(text: str, language: str) -> date:
    (point,) = [p for p in parse_dates(text, language, language != "en") if p.days]
    return date(point.year, point.month, point.days[0])


def shifted(text: str, days: int, language: str = "en", near: int | None = None) -> str | None:
    return shift_dates(text, days, language, language != "en", near)


@given(st.data(), languages, DAYS, OFFSETS)
def test_a_whole_date_is_shifted_exactly_and_written_as_it_was(
    data: st.DataObject, language: str, day: date, days: int
) -> None:
    form = data.draw(st.sampled_from(FULL[language]))
    new = shifted(written(day, form, language), days, language)
    expected = day + timedelta(days=days)
    assert read(new, language) == expected
    if day.day > 9 and expected.day > 9 and day.month > 9 and expected.month > 9:
        assert new == written(expected, form, language)


@given(st.data(), languages, DAYS, DAYS, st.binary(min_size=16, max_size=16))
def test_intervals_within_a_note_are_kept(
    data: st.DataObject, language: str, first: date, second: date, key: bytes
) -> None:
    forms = [data.draw(st.sampled_from(FULL[language])) for _ in range(2)]
    texts = [written(day, form, language) for day, form in zip((first, second), forms, strict=True)]
    text = "\n".join(texts)
    spans = (Span(0, len(texts[0]), "DATE"), Span(len(texts[0]) + 1, len(text), "DATE"))
    document = Document("1", text, spans, "p")
    result = Deidentifier(Policy.named("surrogate"), LabelSet.named("i2b2-2014"), language, key).apply(document, spans)
    verify(document, result, spans)
    new = [result.text[r.start_in_output : r.end_in_output] for r in result.replacements]
    if "[DATE]" not in new:
        assert read(new[1], language) - read(new[0], language) == second - first
        assert new[0] != texts[0] and new[1] != texts[1]


@given(st.binary(min_size=16, max_size=16), st.text(max_size=5), st.booleans())
def test_the_offset_is_never_zero_and_of_whole_weeks_where_weekdays_stay(
    key: bytes, group: str, keep_weekday: bool
) -> None:
    options = PolicyOptions(keep_weekday=keep_weekday)
    days = offset(KeyedChoices(key, group), options)
    assert 1 <= abs(days) <= 364
    assert not keep_weekday or days % 7 == 0
    assert days == offset(KeyedChoices(key, group), options)


def test_offsets_of_many_patients_spread_over_the_whole_range() -> None:
    found = [offset(KeyedChoices(KEY, str(n)), PolicyOptions()) for n in range(2000)]
    assert len(set(found)) > 600
    assert 900 < sum(days > 0 for days in found) < 1100


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "the 3rd of May, 2019", "the 6th of January, 2019"),
        ("en", "5/12/81", "1/15/81"),
        ("en", "May 2019", "January 2019"),
        ("en", "03/2019", "11/2018"),
        ("en", "2019", "2018"),
        ("en", "'81", "'80"),
        ("en", "Monday", "Wednesday"),
        ("en", "Mon 5/3", "Wed 1/6"),
        ("en", "3-5 May 2019", "6-8 January 2019"),
        ("en", "28-30 May 2019", "31 January 2019 - 2 February 2019"),
        ("en", "12MAR2019", "15NOV2018"),
        ("en", "2019-05-03T10:30:00", "2019-01-06T10:30:00"),
        ("en", "25/12/2019", "30/08/2019"),
        ("en", "1/2/19 - 3/4/19", "9/7/18 - 11/7/18"),
        ("es", "12 de marzo", "15 de noviembre"),
        ("es", "del 3 al 5 de mayo de 2019", "del 6 al 8 de enero de 2019"),
        ("es", "año 2019", "año 2018"),
        ("es", "1º de mayo", "4 de enero"),
        ("nl", "12 mrt '19", "15 nov '18"),
        ("nl", "3 t/m 5 mei 2019", "6 t/m 8 januari 2019"),
        ("sv", "3:e maj", "6:e januari"),
        ("sv", "190503", "190106"),
        ("en", "5/3 2019", "1/6 2019"),
        ("es", "el 3/5 2019", "el 6/1 2019"),
        ("sv", "3/5-19", "6/1-19"),
        ("sv", "3/5 - 2019", "6/1 - 2019"),
        ("sv", "3/5 2019", "6/1 2019"),
        ("sv", "20190503", "20190106"),
        ("sv", "19-05-03", "19-01-06"),
        ("de", "3.-5. Mai 2019", "6.-8. Januar 2019"),
        ("de", "vom 3.5. bis 5.5.2019", "vom 6.1. bis 8.1.2019"),
    ],
)
def test_ways_of_writing(language: str, text: str, expected: str) -> None:
    assert shifted(text, -117, language) == expected


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "1980s",
        "13/13/2019",
        "31/02/2019",
        "2019-02-30",
        "3/5 and Smith",
        "99",
        "",
        "the",
        "1/2/3/4",
        "0/0/2019",
    ],
)
def test_what_cannot_be_read_is_not_shifted(text: str) -> None:
    assert shifted(text, 40) is None


def test_a_date_that_leaves_the_range_of_years_is_not_shifted() -> None:
    assert shifted("1800", -40) is None
    assert shifted("3 May 1799", 40) is None


def test_the_order_of_day_and_month_is_that_of_the_note() -> None:
    assert shift_dates("3/5/2019", 1, "en", day_first=False) == "3/6/2019"
    assert shift_dates("3/5/2019", 1, "en", day_first=True) == "4/5/2019"
    text = "25/12/2019 3/5/2019"
    spans = (Span(0, 10, "DATE"), Span(11, 19, "DATE"))
    document = Document("1", text, spans, "p")
    result = Deidentifier(Policy.named("surrogate"), LabelSet.named("i2b2-2014"), "en", KEY).apply(document, spans)
    first, second = (read_day_first(word) for word in result.text.split())
    assert first - second == date(2019, 12, 25) - date(2019, 5, 3)


def read_day_first(text: str) -> date:
    day, month, year = map(int, text.split("/"))
    return date(year, month, day)


@given(st.integers(1, 12), OFFSETS)
def test_a_month_never_stays_and_a_leap_day_is_always_somewhere(month: int, days: int) -> None:
    name = names("en").full_months[month - 1]
    assert shifted(f"{name} 2019", days) != f"{name} 2019"
    assert shifted(name, days) != name
    assert shifted("29 February", days, near=2019) is not None
    assert shifted("29 February 2020", days) is not None


@given(st.integers(0, 99), st.integers(1950, 2100))
def test_two_digit_years_are_of_the_nearest_century(year: int, near: int) -> None:
    (point,) = parse_dates(f"3/5/{year:02d}", "en", False, near)
    assert point.year % 100 == year and abs(point.year - near) <= 50


@given(languages, st.text("0123456789/-.: abcdemayMr,'", max_size=14))
def test_whatever_is_parsed_is_a_date(language: str, text: str) -> None:
    for point in parse_dates(text, language, True) or ():
        for day in point.days:
            assert point.month is None or date(point.year or 2000, point.month, day)


def test_dates_without_separators_are_dates() -> None:
    for written, form in (("20220916", "%Y%m%d"), ("09162022", "%m%d%Y"), ("091622", "%m%d%y")):
        note = Document("1", f"seen {written} here, again on 09/20/2022")
        spans = [Span(5, 5 + len(written), "DATE"), Span(len(note.text) - 10, len(note.text), "DATE")]
        result = Deidentifier(Policy.named("surrogate"), LabelSet.named("i2b2-2014"), "en", KEY).apply(note, spans)
        days = [result.text[r.start_in_output : r.end_in_output] for r in result.replacements]
        first, second = datetime.strptime(days[0], form), datetime.strptime(days[1], "%m/%d/%Y")
        assert (second - first).days == 4
