import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.evaluation import Resampling, criterion_named, evaluate, holm, paired_randomisation
from phistack.ensemble.evaluation.resampling import Bootstrap, Units
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.experiments.cases import cases_as_text, patterns, places_of, saved_by_the_stack
from phistack.ensemble.experiments.learning_curve import interval_of_mean
from phistack.ensemble.experiments.parts import systems_of
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError, SettingsError
from phistack.features.labels import LabelSet

TEXT = "Seen by Dr. Gorse on 05/12/2019 in Alderton."
LABELS = LabelSet.named("i2b2-2014")
DOCTOR, DATE, CITY = Span(12, 17, "DOCTOR"), Span(21, 31, "DATE"), Span(35, 43, "CITY")
GOLD = Corpus((Document("1-01", TEXT, (DOCTOR, DATE)), Document("2-01", TEXT, (CITY,)), Document("3-01", TEXT)), LABELS)
ANSWERS = [[DOCTOR, Span(21, 31, "AGE")], [CITY, DATE], []]

counts_by_document = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=8)


def different(n: int) -> list[str]:
    """The patients of as many notes, of which no two have the same."""
    return [str(number) for number in range(n)]


def test_counts_are_those_of_the_evaluation() -> None:
    system = Corpus(tuple(d.with_spans(s) for d, s in zip(GOLD.documents, ANSWERS, strict=True)), LABELS)
    report = evaluate(GOLD, system, resampling=Resampling(draws=1))
    for name in ("i2b2 strict", "meddocan spans strict", "i2b2 token"):
        found = systems_of(GOLD, {"a": ANSWERS}, LABELS, criterion_named(name), seed=0).scores["a"]
        assert found.by_document.tolist() == report.score(name).by_document.tolist()


def test_short_names_stand_for_the_two_usual_criteria() -> None:
    assert criterion_named("strict").name == "i2b2 strict"
    assert criterion_named("spans").name == "meddocan spans strict"
    with pytest.raises(SettingsError, match=r"there is no criterion named other; there are strict, spans, i2b2 token"):
        criterion_named("other")


@given(counts_by_document)
@settings(max_examples=20, deadline=None)
def test_intervals_of_f1_are_those_of_the_evaluation(rows: list[tuple[int, ...]]) -> None:
    counts = np.array(rows, dtype=np.int64)
    how, patients = Resampling(draws=200, seed=5), different(len(rows))
    score = Systems({"a": counts}, patients, how).scores["a"]
    assert [score.f1] == Bootstrap(counts[:, None], Units.of(patients, how)).measures("f1")


@given(counts_by_document)
@settings(max_examples=20, deadline=None)
def test_a_system_does_not_differ_from_itself(rows: list[tuple[int, ...]]) -> None:
    counts = np.array(rows, dtype=np.int64)
    systems = Systems({"a": counts, "b": counts}, different(len(rows)), Resampling(draws=20, shuffles=20))
    (found,) = systems.differences([("a", "b")], ["f1"]).values()
    assert found == ((0, 0, 0), 1, 1)


def test_precision_and_recall_are_micro() -> None:
    score = Systems({"a": np.array([[3, 1, 0], [0, 0, 2]])}, ["1", "2"]).scores["a"]
    assert score.counts == (3, 1, 2)
    assert (score.precision.value, score.recall.value) == (0.75, 0.6)
    assert score.precision.low <= 0.75 <= score.precision.high


def test_differences_are_corrected_over_all_comparisons() -> None:
    counts = {
        "good": np.array([[9, 1, 1]] * 20),
        "worse": np.array([[7, 2, 3]] * 20),
        "alike": np.array([[9, 1, 1]] * 19 + [[9, 1, 2]]),
    }
    pairs = [("worse", "good"), ("alike", "good")]
    worse, alike = Systems(counts, different(20), Resampling(shuffles=999)).differences(pairs, ["f1"]).values()
    plain = [paired_randomisation(counts[n], counts["good"], shuffles=999, seed=0) for n in ("worse", "alike")]
    assert [worse.p_holm, alike.p_holm] == list(holm(plain))
    assert worse.gap.high < 0
    assert worse.p_holm < 0.05 < alike.p_holm


def test_systems_on_different_documents_cannot_be_measured_together() -> None:
    with pytest.raises(EvaluationError, match="same documents"):
        Systems({"a": np.zeros((2, 3), dtype=int), "b": np.zeros((3, 3), dtype=int)}, ["1", "2"])
    with pytest.raises(EvaluationError, match="at least one"):
        Systems({"a": np.zeros((0, 3), dtype=int)}, [])


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


def test_places_of_notes_without_any_marks_are_none() -> None:
    assert places_of(GOLD.documents[2:], {"crf": [[]], "stack": [[]]}) == []


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


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).normal(0.9, 0.02, size=(4000, 5))
    held = [low <= 0.9 <= high for low, high in map(interval_of_mean, draws.tolist())]
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)
