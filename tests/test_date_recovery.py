"""What reveals by how many days dates were shifted, and that a shift changes only dates."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from phistack.ensemble.batch.attack import Released, shifts_left
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.deidentification.dates.recovery import clues, possible_shifts, weekday_beside
from phistack.features.labels import LabelSet
from tests.annotated import annotated

KEY = b"8f3a5c1e9b7d2f4068acbd13579e2460"
LABELS = LabelSet.named("i2b2-2014")


def left(text: str, *dates: str, language: str = "en", taken: str = "") -> list[int]:
    """The shifts that a text with shifted dates still allows."""
    places = [(text.index(day), text.index(day) + len(day)) for day in dates]
    more = [(text.index(taken), text.index(taken) + len(taken))] if taken else []
    return possible_shifts(clues(text, places, [*places, *more], language, day_first=language != "en"))


def test_a_weekday_beside_a_date_leaves_every_seventh_shift() -> None:
    shifts = left("Seen on Monday, 3/4/2020.", "3/4/2020")  # a Wednesday
    assert shifts == [days for days in range(-364, 365) if (date(2020, 3, 4) - timedelta(days)).weekday() == 0]
    assert len(left("Vista el 4/3/2020 (lunes).", "4/3/2020", language="es")) == 104
    assert len(left("Seen on Monday, 3/4/2020.", "3/4/2020", taken="Monday")) == 728


def test_a_holiday_and_a_season_narrow_it_down_and_what_contradicts_is_passed_over() -> None:
    assert {*left("Fell on Christmas (3/12/2020).", "3/12/2020")} == {*range(71, 86), *range(-295, -280)}
    assert 100 < len(left("Worse in winter, on 3/12/2020.", "3/12/2020")) < 350
    both = left("Tuesday, 3/3/2020.\nMonday, 3/4/2020.\nWednesday, 3/4/2020.", "3/3/2020", "3/4/2020")
    assert len(both) == 104


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Monday 3/4/2020", "Monday"), ("mon 3/4/2020", ""), ("Mon. 3/4/2020", "Mon"), ("3/4/2020 (Friday)", "Friday"),
        ("Monday\n3/4/2020", ""), ("Monday or 3/4/2020", ""), ("3/4/2020, on Friday", ""),
    ],
)  # fmt: skip
def test_a_weekday_is_beside_a_date_if_only_marks_are_between(text: str, found: str) -> None:
    start = text.index("3/4")
    place = weekday_beside(text, start, start + 8, "en")
    assert (text[slice(*place)] if place else "") == found


def test_a_weekday_that_nobody_marked_moves_with_its_date() -> None:
    text = "Seen Wednesday, [3/4/2020|DATE], and again Friday [3/6/2020|DATE]; clinic is on Friday."
    for patient in "abcdefgh":
        note = annotated(text, group=patient)
        policy = Policy.named("surrogate")
        result = Deidentifier(policy, LABELS, "en", KEY).apply(note, note.spans)
        replaced = [(r.start_in_output, r.end_in_output, r.span.label, r.strategy) for r in result.replacements]
        assert len(replaced) == 4 and result.text.endswith("; clinic is on Friday.")
        assert shifts_left([Released.of(replace(note, text=result.text, spans=()), replaced)], "en") == {728: 1}


def test_a_shift_moves_all_dates_alike_and_nothing_else() -> None:
    note = annotated(
        "Age 44. On [3/4/2020|DATE] potassium 3.4, 5 days later ([3/9/2020|DATE]) 4.1; dose 2020 mg since "
        "[12/31/2019|DATE], ward 3/4."
    )
    days = [note.text[s.start : s.end] for s in note.spans]
    result = Deidentifier(Policy.named("surrogate"), LABELS, "en", KEY).apply(note, note.spans)
    moved = [result.text[r.start_in_output : r.end_in_output] for r in result.replacements]
    as_days = [[date(int(y), int(m), int(d)) for m, d, y in (day.split("/") for day in some)] for some in (days, moved)]
    assert len({new - old for old, new in zip(*as_days, strict=True)}) == 1
    restored = result.text
    for r, day in reversed(list(zip(result.replacements, days, strict=True))):
        restored = restored[: r.start_in_output] + day + restored[r.end_in_output :]
    assert restored == note.text
