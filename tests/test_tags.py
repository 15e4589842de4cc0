"""Spans as tags and back, in both schemes."""

import itertools
from collections import Counter

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
    """Tokens of two characters, separated by blanks."""
    starts = np.arange(n_tokens, dtype=np.int32) * 3
    return starts, starts + 2


@st.composite
def token_spans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, str]]]:
    """A number of tokens, and spans over them that do not overlap, as from `decode`."""
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
    ("scheme", "tags", "spans"),
    [
        ("BIO", "I-A I-A", [(0, 2, "A")]),
        ("BIO", "O I-A O", [(1, 2, "A")]),
        ("BIO", "B-A I-B", [(0, 1, "A"), (1, 2, "B")]),
        ("BIO", "B-A B-A", [(0, 1, "A"), (1, 2, "A")]),
        ("BIO", "B-A O I-A", [(0, 1, "A"), (2, 3, "A")]),
        ("BIOES", "B-A E-A I-A", [(0, 2, "A"), (2, 3, "A")]),
        ("BIOES", "S-A I-A E-A", [(0, 1, "A"), (1, 3, "A")]),
        ("BIOES", "E-A E-A", [(0, 1, "A"), (1, 2, "A")]),
        ("BIOES", "B-A S-A", [(0, 1, "A"), (1, 2, "A")]),
        ("BIOES", "B-A", [(0, 1, "A")]),
    ],
)
def test_tags_are_decoded_leniently(scheme: str, tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert decode(tags.split(), scheme=scheme) == spans


@pytest.mark.parametrize(
    ("spans", "tags", "counted"),
    [
        ([Span(1, 6, "A")], "B-A I-A O O", {"spans off the token grid": 1}),
        ([Span(3, 8, "A")], "O B-A O O", {"spans off the token grid": 1}),
        ([Span(0, 3, "A"), Span(0, 7, "B"), Span(4, 9, "C"), Span(0, 3, "A")], "B-B I-B O O", {"overlapping spans": 2}),
        ([Span(3, 4, "A")], "O O O O", {"spans without a token": 1}),
    ],
)
def test_what_tags_cannot_express_is_counted(spans: list[Span], tags: str, counted: dict[str, int]) -> None:
    counts: Counter[str] = Counter()
    assert encode(spans, TOKENS, counts=counts) == tags.split()
    assert counts == counted
