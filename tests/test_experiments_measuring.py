import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.evaluation import Resampling, criterion_named, evaluate
from phistack.ensemble.experiments.cases import cases_as_text, patterns, places_of, saved_by_the_stack
from phistack.ensemble.experiments.learning_curve import interval_of_mean
from phistack.ensemble.experiments.parts import systems_of
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet

TEXT = "Seen by Dr. Gorse on 05/12/2019 in Alderton."
LABELS = LabelSet.named("i2b2-2014")
DOCTOR, DATE, CITY = Span(12, 17, "DOCTOR"), Span(21, 31, "DATE"), Span(35, 43, "CITY")
GOLD = Corpus((Document("1-01", TEXT, (DOCTOR, DATE)), Document("2-01", TEXT, (CITY,)), Document("3-01", TEXT)), LABELS)
ANSWERS = [[DOCTOR, Span(21, 31, "AGE")], [CITY, DATE], []]


def test_counts_are_those_of_the_evaluation() -> None:
    system = Corpus(tuple(d.with_spans(s) for d, s in zip(GOLD.documents, ANSWERS, strict=True)), LABELS)
    report = evaluate(GOLD, system, resampling=Resampling(draws=1))
    for name in ("i2b2 strict", "meddocan spans strict", "i2b2 token"):
        found = systems_of(GOLD, {"a": ANSWERS}, LABELS, criterion_named(name)).scores["a"]
        assert found.by_document.tolist() == report.score(name).by_document.tolist()


def test_short_names_stand_for_the_two_usual_criteria() -> None:
    assert criterion_named("strict").name == "i2b2 strict"
    assert criterion_named("spans").name == "meddocan spans strict"
    with pytest.raises(SettingsError, match=r"there is no criterion named other; there are strict, spans, i2b2 token"):
        criterion_named("other")


SAID = {
    "regex": [[DATE], [], [DATE]],
    "crf": [[DOCTOR, Span(21, 31, "AGE")], [Span(32, 43, "CITY")], []],
    "stack": [[DOCTOR, DATE], [Span(32, 43, "CITY")], []],
}


def test_a_place_is_where_gold_or_a_system_marks_something() -> None:
    places = places_of(GOLD.documents, SAID)
    assert [(p.document, p.start, p.end) for p in places] == [
        ("1-01", 12, 17),
        ("1-01", 21, 31),
        ("2-01", 32, 43),
        ("3-01", 21, 31),
    ]
    assert [place.right for place in places] == [("crf", "stack"), ("regex", "stack"), (), ("crf", "stack")]


def test_cases_are_where_the_stack_is_right_and_a_submodel_wrong() -> None:
    places = places_of(GOLD.documents, SAID)
    assert [(c.document, c.wrong) for c in saved_by_the_stack(places)] == [
        ("1-01", ("regex",)),
        ("1-01", ("crf",)),
        ("3-01", ("regex",)),
    ]
    assert patterns(places)[0] == (("crf", "stack"), 2)


def test_cases_name_ids_and_offsets_and_never_text() -> None:
    reported = cases_as_text(places_of(GOLD.documents, SAID), tuple(SAID))
    assert "1-01      DATE 21-31    right       AGE 21-31" in reported
    assert "3-01      nothing       DATE 21-31  right" in reported
    assert not any(word in reported for word in ("Gorse", "Alderton", "05/12/2019"))


@given(st.lists(st.floats(0, 1), min_size=5, max_size=9))
@settings(deadline=None)
def test_the_interval_holds_the_mean_and_stays_within_0_and_1(scores: list[float]) -> None:
    low, high = interval_of_mean(scores)
    assert 0 <= low <= sum(scores) / len(scores) + 1e-9
    assert sum(scores) / len(scores) - 1e-9 <= high <= 1


def test_the_interval_is_students_t() -> None:
    margin = 2.776445 * 0.025**0.5 / 5**0.5
    assert interval_of_mean([0.3, 0.4, 0.5, 0.6, 0.7]) == pytest.approx((0.5 - margin, 0.5 + margin))


def test_a_few_scores_have_no_interval() -> None:
    # By Student's t the mean of these two would lie between 65 and 100 %.
    assert interval_of_mean([0.905, 0.935]) is None
    assert interval_of_mean([0.9, 0.91, 0.92, 0.93]) is None
