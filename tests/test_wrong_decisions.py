"""The kinds of wrong decisions, on handmade cases, and what must hold for all of them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.evaluation import Resampling, evaluate
from phistack.ensemble.experiments.choosers import majority_vote, plain_mean
from phistack.ensemble.stacking.candidates import Decision, PooledCandidate
from phistack.ensemble.stacking.wrong_decisions import FALSE, MISSED, WrongDecision, wrong_decisions
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate

LABELS = LabelSet.named("i2b2-2014")
MEMBERS = ("regex", "tbed", "crf")
TEXT = "x" * 40
DOCTOR, OTHER, SHORTER, ELSEWHERE = (
    Span(4, 9, "DOCTOR"),
    Span(4, 9, "PATIENT"),
    Span(4, 8, "DOCTOR"),
    Span(20, 25, "DATE"),
)


def decision(span: Span, accepted: bool, *, chosen: str = "", offered: str = "", probability: float = 0.4) -> Decision:
    votes = [Candidate(span, name, 0.9) for name in filter(None, chosen.split(","))]
    votes += [Candidate(span, name, 0.2, chosen=False) for name in filter(None, offered.split(","))]
    return Decision(span, probability, accepted, tuple(votes))


def kinds(gold: tuple[Span, ...], *decisions: Decision) -> list[tuple[str, str]]:
    return [(w.kind.side, w.kind.name) for w in wrong_decisions(Document("n", TEXT, gold), decisions)]


CASES: dict[str, tuple[tuple[Span, ...], tuple[Decision, ...], list[tuple[str, str]]]] = {
    "all is right": ((DOCTOR,), (decision(DOCTOR, True),), []),
    "no gold and no candidates": ((), (), []),
    "nobody proposed it": ((DOCTOR,), (), [("missed", "nothing proposed")]),
    "only beside it": ((DOCTOR,), (decision(ELSEWHERE, False),), [("missed", "nothing proposed")]),
    "it ends where a candidate begins": (
        (DOCTOR,), (decision(Span(9, 12, "DOCTOR"), False),), [("missed", "nothing proposed")],
    ),
    "only overlapping": ((DOCTOR,), (decision(SHORTER, False),), [("missed", "only overlapping")]),
    "only another label": ((DOCTOR,), (decision(OTHER, False),), [("missed", "only other label")]),
    "another label comes before overlapping": (
        (DOCTOR,), (decision(SHORTER, False), decision(OTHER, False)), [("missed", "only other label")],
    ),
    "beaten comes before all": (
        (DOCTOR,), (decision(SHORTER, False), decision(DOCTOR, False), decision(OTHER, False)),
        [("missed", "proposed and beaten")],
    ),
    "refused where nothing is accepted is beaten too": (
        (DOCTOR,), (decision(DOCTOR, False),), [("missed", "proposed and beaten")],
    ),
    "beaten by another extent": (
        (DOCTOR,), (decision(SHORTER, True), decision(DOCTOR, False)),
        [("false", "overlaps"), ("missed", "proposed and beaten")],
    ),
    "beaten by another label": (
        (DOCTOR,), (decision(DOCTOR, False), decision(OTHER, True)),
        [("missed", "proposed and beaten"), ("false", "other label")],
    ),
    "the gold has another label, and another extent": (
        (DOCTOR, SHORTER), (decision(OTHER, True),),
        [("missed", "only overlapping"), ("missed", "only other label"), ("false", "other label")],
    ),
    "one span over two of the gold": (
        (Span(4, 6, "DOCTOR"), Span(7, 9, "DOCTOR")), (decision(DOCTOR, True),),
        [("missed", "only overlapping"), ("false", "overlaps"), ("missed", "only overlapping")],
    ),
    "two spans in one of the gold": (
        (DOCTOR,), (decision(Span(4, 6, "DOCTOR"), True), decision(Span(7, 9, "DOCTOR"), True)),
        [("false", "overlaps"), ("missed", "only overlapping"), ("false", "overlaps")],
    ),
    "nothing there": ((DOCTOR,), (decision(DOCTOR, True), decision(ELSEWHERE, True)), [("false", "nothing there")]),
    "a gold span that is there twice counts once": ((DOCTOR, DOCTOR), (), [("missed", "nothing proposed")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_wrong_decision_is_of_the_kind_that_comes_closest(case: str) -> None:
    gold, decisions, expected = CASES[case]
    assert kinds(gold, *decisions) == expected


def test_who_said_so_is_who_proposed_what_decides_on_the_kind() -> None:
    decisions = [
        decision(SHORTER, True, chosen="regex", probability=0.8),
        decision(DOCTOR, False, chosen="tbed", offered="crf", probability=0.3),
        decision(ELSEWHERE, True, chosen="repeated mention", probability=0.9),
    ]
    assert wrong_decisions(Document("n", TEXT, (DOCTOR,)), decisions) == [
        WrongDecision("n", SHORTER, FALSE[1], ("regex",), (), (DOCTOR,), 0.8),
        WrongDecision("n", DOCTOR, MISSED[0], ("tbed",), ("crf",), (SHORTER,), 0.3),
        WrongDecision("n", ELSEWHERE, FALSE[2], ("repeated mention",), (), (), 0.9),
    ]


def test_all_candidates_that_come_equally_close_count_as_having_said_so() -> None:
    decisions = [
        decision(SHORTER, False, chosen="regex"),
        decision(OTHER, False, chosen="tbed", offered="crf"),
        decision(Span(4, 9, "CITY"), False, chosen="crf"),
    ]
    (wrong,) = wrong_decisions(Document("n", TEXT, (DOCTOR,)), decisions)
    assert (wrong.chosen_by, wrong.offered_by, wrong.probability) == (("crf", "tbed"), (), None)


spans = st.builds(
    lambda start, length, label: Span(start, start + length, label),
    st.integers(0, 12),
    st.integers(1, 4),
    st.sampled_from(("DOCTOR", "PATIENT", "DATE")),
)
gold_spans = st.lists(spans, max_size=6)


@st.composite
def decided(draw: Any) -> list[Decision]:
    """Candidates with votes; neither each member's choices nor the accepted ones overlap."""
    found = sorted(draw(st.sets(spans, max_size=9)))
    pool = [PooledCandidate(span, ()) for span in found]
    votes: list[list[Candidate]] = [[] for _ in found]
    for name in MEMBERS:
        scores = [draw(st.floats(-1, 1)) for _ in found]
        chosen = non_overlapping(pool, scores)
        for i, score in enumerate(scores):
            if i in chosen or score > 0:
                votes[i].append(Candidate(found[i], name, score, chosen=i in chosen))
    gains = [draw(st.floats(-1, 1)) for _ in found]
    accepted = non_overlapping(pool, gains)
    return [Decision(span, 0.5, i in accepted, tuple(votes[i])) for i, span in enumerate(found)]


def counts(gold: list[Span], answers: list[Span]) -> Any:
    corpus = Corpus((Document("n", TEXT, tuple(gold)),), LABELS)
    return evaluate(corpus, corpus.with_spans([answers]), resampling=Resampling(draws=1)).strict


@given(gold_spans, decided())
def test_every_missed_and_every_false_span_has_exactly_one_kind(gold: list[Span], decisions: list[Decision]) -> None:
    wrong = wrong_decisions(Document("n", TEXT, tuple(gold)), decisions)
    found = {d.span for d in decisions if d.accepted}
    assert [w.span for w in wrong if w.kind in MISSED] == sorted({*gold} - found)
    assert [w.span for w in wrong if w.kind in FALSE] == sorted(found - {*gold})
    strict = counts(gold, sorted(found)).counts
    sides = Counter(w.kind.side for w in wrong)
    assert (sides["missed"], sides["false"]) == (strict.fn, strict.fp)


@given(decided())
def test_what_the_other_choosers_mark_never_overlaps(decisions: list[Decision]) -> None:
    for answers in (majority_vote(decisions, MEMBERS), plain_mean(decisions, MEMBERS, 0.1)):
        assert not [(a, b) for a in answers for b in answers if a < b and a.overlaps(b)]


def test_a_majority_is_more_than_half_and_said_again_has_no_vote() -> None:
    two, all_three = decision(DOCTOR, True, chosen="regex,crf"), decision(ELSEWHERE, True, chosen="regex,tbed,crf")
    one = decision(Span(30, 33, "DATE"), True, chosen="tbed,repeated mention", offered="crf,regex")
    assert majority_vote([two, all_three, one], MEMBERS) == [DOCTOR, ELSEWHERE]
    assert majority_vote([two, all_three, one], (*MEMBERS, "blstm")) == [ELSEWHERE]
    assert majority_vote([decision(DOCTOR, True, chosen="regex")], ("regex", "crf")) == []


def test_a_mean_counts_who_is_silent_as_nought_and_must_be_above_the_threshold() -> None:
    votes = (Candidate(DOCTOR, "regex", 1.0), Candidate(DOCTOR, "crf", 0.5), Candidate(DOCTOR, "repeated mention", 1.0))
    found = [PooledCandidate(DOCTOR, votes)]
    assert plain_mean(found, ("regex", "tbed", "crf"), 0.49) == [DOCTOR]
    assert plain_mean(found, ("regex", "tbed", "crf"), 0.5) == []
    rival = PooledCandidate(SHORTER, (Candidate(SHORTER, "tbed", 1.0), Candidate(SHORTER, "crf", 1.0)))
    assert plain_mean([rival, *found], ("regex", "tbed", "crf"), 0.4) == [SHORTER]
