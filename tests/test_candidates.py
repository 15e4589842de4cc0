from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.candidates import PooledCandidate, chosen_spans, pooled
from phistack.features.documents import Document, Span
from phistack.features.plain_view import plain_view
from phistack.features.ranges import non_overlapping
from phistack.submodels.base import Candidate

spans = st.builds(
    lambda start, length, label: Span(start, start + length, label),
    st.integers(0, 10),
    st.integers(1, 6),
    st.sampled_from(["DOCTOR", "PATIENT"]),
)
weighted = st.lists(st.tuples(spans, st.floats(-1, 2, allow_nan=False)), max_size=7)


def _free_of_overlap(items: list[PooledCandidate], chosen: tuple[int, ...]) -> bool:
    return not any(items[a].span.overlaps(items[b].span) for a, b in combinations(chosen, 2))


@given(weighted)
def test_the_chosen_set_has_the_largest_gain_of_all_sets_without_overlap(pairs: list[tuple[Span, float]]) -> None:
    items = [PooledCandidate(span, ()) for span, _ in pairs]
    gains = [gain for _, gain in pairs]
    chosen = non_overlapping(items, gains)
    sets = (s for size in range(len(items) + 1) for s in combinations(range(len(items)), size))
    best = max(sum(gains[i] for i in s) for s in sets if _free_of_overlap(items, s))
    assert _free_of_overlap(items, tuple(chosen))
    assert sum(gains[i] for i in chosen) == pytest.approx(best)


def test_equal_spans_are_pooled_with_every_vote() -> None:
    span = Span(3, 8, "DOCTOR")
    pool = pooled([[Candidate(span, "crf", 0.9)], [Candidate(span, "blstm", 0.4, chosen=False)], []])
    assert [(vote.source, vote.chosen) for vote in pool[0].votes] == [("crf", True), ("blstm", False)]


def test_of_two_votes_of_one_submodel_the_chosen_one_counts() -> None:
    span = Span(3, 8, "DOCTOR")
    pool = pooled([[Candidate(span, "regex", 0.9, chosen=False), Candidate(span, "regex", 0.6)]])
    assert [(vote.score, vote.chosen) for vote in pool[0].votes] == [(0.6, True)]


@given(st.lists(spans, max_size=8))
def test_a_pool_is_sorted_and_without_repeats(found: list[Span]) -> None:
    pool = pooled([[Candidate(span, "crf") for span in found], [Candidate(span, "regex") for span in found]])
    assert [candidate.span for candidate in pool] == sorted(set(found))


def test_only_chosen_candidates_are_a_submodels_own_result() -> None:
    chosen, offered = Span(0, 4, "DATE"), Span(5, 9, "DATE")
    candidates = [Candidate(offered, "crf", 0.2, chosen=False), Candidate(chosen, "crf", 0.8)]
    assert chosen_spans(candidates, plain_view(Document("n", "Anne came"))) == [chosen]
    assert chosen_spans(candidates, plain_view(Document("n", "A\u200dnne came"))) == [Span(0, 5, "DATE")]
