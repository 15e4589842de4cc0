"""Spans as tags and back, in both schemes."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.documents import Span
from phistack.features.tags import OUTSIDE, SCHEMES, decode, encode
from phistack.features.tokens import Tokeniser, TokenOffsets

TEXT = "Ann Lee saw Bo"
TOKENS = Tokeniser()(TEXT)


def grid(n_tokens: int) -> TokenOffsets:
    """Tokens of two characters with a blank between them."""
    starts = np.arange(n_tokens, dtype=np.int32) * 3
    return starts, starts + 2


@st.composite
def token_spans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, str]]]:
    """A number of tokens, and spans over them that do not overlap, as `decode` gives them."""
    n_tokens = draw(st.integers(0, 12))
    cuts = sorted(draw(st.sets(st.integers(0, n_tokens))))
    pieces = list(itertools.pairwise(cuts))
    labels = draw(st.lists(st.sampled_from(["", "DATE", "AGE-OVER-90"]), min_size=len(pieces), max_size=len(pieces)))
    return n_tokens, [(a, b, label) for (a, b), label in zip(pieces, labels, strict=True) if label]


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [("BIO", "B-PATIENT I-PATIENT O B-DOCTOR"), ("BIOES", "B-PATIENT E-PATIENT O S-DOCTOR")],
)
def test_examples(scheme: str, tags: str) -> None:
    spans = [Span(0, 7, "PATIENT"), Span(12, 14, "DOCTOR")]
    assert encode(spans, TOKENS, scheme=scheme) == tags.split()
    assert decode(tags.split(), scheme=scheme) == [(0, 2, "PATIENT"), (3, 4, "DOCTOR")]


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
@given(case=token_spans())
def test_what_is_encoded_is_decoded(case: tuple[int, list[tuple[int, int, str]]], scheme: str) -> None:
    n_tokens, spans = case
    starts, ends = grid(n_tokens)
    counts: Counter[str] = Counter()
    given_spans = [Span(int(starts[a]), int(ends[b - 1]), label) for a, b, label in spans]
    tags = encode(given_spans, (starts, ends), scheme=scheme, counts=counts)
    assert len(tags) == n_tokens
    assert decode(tags, scheme=scheme) == spans
    assert not +counts


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
@given(tags=st.lists(st.sampled_from(["O", *(f"{p}-{label}" for p in "BIES" for label in ("A", "B-C"))]), max_size=12))
def test_any_tags_decode_to_spans_in_order(tags: list[str], scheme: str) -> None:
    """Also tags that no encoder writes: spans are not empty, do not overlap, and cover exactly the tagged tokens."""
    spans = decode(tags, scheme=scheme)
    assert all(a < b for a, b, _ in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    covered = {i: label for a, b, label in spans for i in range(a, b)}
    assert covered == {i: tag.partition("-")[2] for i, tag in enumerate(tags) if tag != OUTSIDE}


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("I-A I-A", [(0, 2, "A")]),
        ("O I-A O", [(1, 2, "A")]),
        ("B-A I-B", [(0, 1, "A"), (1, 2, "B")]),
        ("B-A B-A", [(0, 1, "A"), (1, 2, "A")]),
        ("B-A O I-A", [(0, 1, "A"), (2, 3, "A")]),
        ("", []),
    ],
)
def test_bio_is_decoded_leniently(tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert decode(tags.split()) == spans


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-A E-A I-A", [(0, 2, "A"), (2, 3, "A")]),
        ("S-A I-A E-A", [(0, 1, "A"), (1, 3, "A")]),
        ("E-A E-A", [(0, 1, "A"), (1, 2, "A")]),
        ("B-A S-A", [(0, 1, "A"), (1, 2, "A")]),
        ("B-A", [(0, 1, "A")]),
    ],
)
def test_bioes_is_decoded_leniently(tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert decode(tags.split(), scheme="BIOES") == spans


def test_a_span_off_the_grid_is_given_to_all_tokens_that_it_touches() -> None:
    counts: Counter[str] = Counter()
    assert encode([Span(1, 6, "A")], TOKENS, counts=counts) == ["B-A", "I-A", "O", "O"]
    assert counts == {"spans off the token grid": 1}


def test_blanks_at_a_spans_ends_are_off_the_grid() -> None:
    counts: Counter[str] = Counter()
    assert encode([Span(3, 8, "A")], TOKENS, counts=counts) == ["O", "B-A", "O", "O"]
    assert counts == {"spans off the token grid": 1}


def test_the_longer_of_overlapping_spans_is_tagged() -> None:
    counts: Counter[str] = Counter()
    spans = [Span(0, 3, "A"), Span(0, 7, "B"), Span(4, 10, "C"), Span(0, 3, "A")]
    assert encode(spans, TOKENS, counts=counts) == ["B-B", "I-B", "O", "O"]
    assert counts == {"overlapping spans": 2}


def test_a_span_of_blanks_has_no_token() -> None:
    counts: Counter[str] = Counter()
    assert encode([Span(3, 4, "A")], TOKENS, counts=counts) == ["O"] * 4
    assert counts == {"spans without a token": 1}


def test_no_tokens_no_tags() -> None:
    assert encode([], grid(0)) == []
    assert decode([]) == []


def test_the_offsets_are_looked_up_for_all_spans_at_once() -> None:
    class Offsets(np.ndarray[Any, np.dtype[np.int32]]):
        looked_up = 0

        def searchsorted(self, *given: Any, **options: Any) -> Any:
            Offsets.looked_up += 1
            return np.asarray(self).searchsorted(*given, **options)

    starts = np.arange(0, 400, 4, dtype=np.int32).view(Offsets)
    spans = [Span(start, start + 3, "DATE") for start in range(0, 400, 8)]
    tags = encode(spans, (starts, starts + np.int32(3)))
    assert tags == ["B-DATE", "O"] * 50
    assert Offsets.looked_up == 2
