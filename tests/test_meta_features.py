"""The stacker's features against their definitions, one candidate at a time."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import float64

from phistack.ensemble.stacking.candidate_arrays import CandidateArrays
from phistack.ensemble.stacking.candidates import PooledCandidate, pooled
from phistack.ensemble.stacking.meta_features import FEATURE_SETS, MetaFeatures
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.submodels.base import Candidate

SOURCES = ("regex", "crf", "blstm")
LABELS = ("DATE", "DOCTOR", "HOSPITAL")
WORDS = ["Ann", "ann", "Lee", "of", "to", "3", "May", "\n", "ward-of"]
KINDS = {"other type": (True, False), "overlap": (False, True), "overlap, other type": (False, False)}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
marks = st.tuples(st.integers(0, 40), st.integers(1, 8), st.sampled_from([*LABELS, "ELSE"]), st.sampled_from(SOURCES))
votes = st.lists(st.tuples(marks, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=12)


@pytest.fixture(scope="module")
def space() -> FeatureSpace:
    space = FeatureSpace()
    space.fit([Document("1", "Ann Lee")])
    return space


def _pool(text: str, votes: list[tuple[tuple[int, int, str, str], float, bool]]) -> list[PooledCandidate]:
    """Candidates from random marks, cut to the text."""
    found = []
    for (start, length, label, source), score, chosen in votes:
        start %= len(text)
        found.append(Candidate(Span(start, min(start + length, len(text)), label), source, score, chosen))
    return pooled([found])


def _defined(
    table: FeatureTable, pool: list[PooledCandidate], candidate: PooledCandidate
) -> dict[str, bool | float | float64]:
    """All columns of one candidate, straight from the definitions."""

    def mention(other: Any) -> Any:
        return table.document.text[other.span.start : other.span.end].lower()

    def same_span(other: Any) -> Any:
        return (other.span.start, other.span.end) == (candidate.span.start, candidate.span.end)

    def same_label(other: Any) -> Any:
        return other.span.label == candidate.span.label

    def times(other: Any) -> Any:
        return sum(vote.chosen for vote in other.votes)

    def best(others: Any, source: Any, value: Any) -> Any:
        return max((value(vote) for other in others for vote in other.votes if vote.source == source), default=0.0)

    others = [other for other in pool if other is not candidate]
    rivals = [other for other in others if other.span.overlaps(candidate.span)]
    chosen = [other for other in rivals if times(other)]
    repeats = [other for other in others if mention(other) == mention(candidate)]
    touched = zip(*(offsets.tolist() for offsets in table.offsets), table.words, strict=True)
    tokens = [w.lower() for a, b, w in touched if a < candidate.span.end and b > candidate.span.start]
    columns = {
        "same span": times(candidate) > 1 or any(map(same_span, chosen)),
        "same span and type": times(candidate) > 1,
        "overlapping": bool(chosen),
        "overlapping, same type": any(map(same_label, chosen)),
        "function word": "of" in tokens or "to" in tokens,
        "times predicted": times(candidate),
        "times span predicted": sum(times(other) for other in pool if same_span(other)),
        "tokens": np.log1p(len(tokens)),
        "times in record": np.log1p(sum(same_label(other) and times(other) > 0 for other in repeats)),
        "mean score": sum(vote.score for vote in candidate.votes) / len(SOURCES),
        "same type in record": np.log1p(sum(same_label(other) and times(other) > 0 for other in pool)),
        "characters": np.log1p(candidate.span.end - candidate.span.start),
    }
    for label in LABELS:
        columns[f"label:{label}"] = candidate.span.label == label
    for source in SOURCES:
        columns[f"vote:{source}"] = best([candidate], source, lambda vote: vote.chosen)
        columns[f"score:{source}"] = best([candidate], source, lambda vote: vote.score)
        for kind, agreement in KINDS.items():
            some = [other for other in rivals if (same_span(other), same_label(other)) == agreement]
            columns[f"{kind}:{source}"] = best(some, source, lambda vote: vote.chosen)
            columns[f"score of {kind}:{source}"] = best(some, source, lambda vote: vote.score)
        alike = [other for other in repeats if same_label(other)]
        unlike = [other for other in repeats if not same_label(other)]
        columns[f"score of repeat:{source}"] = best(alike, source, lambda vote: vote.score)
        columns[f"score of repeat, other type:{source}"] = best(unlike, source, lambda vote: vote.score)
        columns[f"log-odds:{source}"] = _log_odds(columns[f"score:{source}"])
        columns[f"log-odds of rival:{source}"] = _log_odds(best(rivals, source, lambda vote: vote.score))

    def mean(others: Any) -> Any:
        return max((sum(vote.score for vote in other.votes) / len(SOURCES) for other in others), default=0.0)

    for kind, agreement in KINDS.items():
        some = [other for other in rivals if (same_span(other), same_label(other)) == agreement]
        columns[f"log-odds of {kind}"] = _log_odds(mean(some))
    columns["spread"] = np.std([columns[f"log-odds:{source}"] for source in SOURCES])
    columns["mean score of repeat"] = mean(other for other in repeats if same_label(other))
    columns["mean score of repeat, other type"] = mean(other for other in repeats if not same_label(other))
    return columns


def _log_odds(score: float) -> float:
    bounded = min(max(score, 0.005), 0.995)
    return math.log(bounded) - math.log(1 - bounded)


@given(notes=st.lists(st.tuples(texts, votes), max_size=3), names=st.sampled_from(FEATURE_SETS))
def test_every_feature_is_what_its_definition_says(
    space: FeatureSpace, notes: list[tuple[str, list[tuple[tuple[object, ...], float, bool]]]], names: str
) -> None:
    tables = [space.table(Document(f"{i}", text)) for i, (text, _) in enumerate(notes)]
    pools = [_pool(text, votes) for text, votes in notes]
    features = MetaFeatures(SOURCES, LABELS, names)
    matrices = features.matrices(tables, pools)
    assert [len(matrix) for matrix in matrices] == [len(pool) for pool in pools]
    for table, pool, matrix in zip(tables, pools, matrices, strict=True):
        for candidate, row in zip(pool, matrix, strict=True):
            expected = _defined(table, pool, candidate)
            assert row.tolist() == pytest.approx([float(expected[name]) for name in features.columns])


def test_every_definition_is_that_of_a_feature(space: FeatureSpace) -> None:
    pool = pooled([[Candidate(Span(0, 3, "DOCTOR"), "crf")]])
    columns = {column for names in FEATURE_SETS for column in MetaFeatures(SOURCES, LABELS, names).columns}
    assert set(_defined(space.table(Document("1", "Ann Lee")), pool, pool[0])) == columns


def test_the_work_grows_with_the_overlaps_and_not_with_the_square_of_the_candidates(space: FeatureSpace) -> None:
    """A note of one line, 20,000 candidates in a row that overlap their neighbours, and one over all of them."""
    n = 20_000
    text = "ab" * (n + 1)
    marked = [Candidate(Span(2 * i, 2 * i + 4, "DOCTOR"), "crf", 0.5) for i in range(n)]
    marked.append(Candidate(Span(0, len(text), "DOCTOR"), "crf", 0.25))
    tables, pools = [space.table(Document("1", text))], [pooled([marked])]
    arrays = CandidateArrays(tables, pools, ("crf",))
    assert len(arrays.overlapping[0]) == 2 * (n - 1 + n)
    features = MetaFeatures(("crf",), ("DOCTOR",), "all")
    matrix = features.matrices(tables, pools)[0]
    values = dict(zip(features.columns, matrix[n // 2], strict=True))
    assert values["score of overlap:crf"] == values["score of repeat:crf"] == 0.5
    assert values["times in record"] == pytest.approx(np.log1p(n - 1))
