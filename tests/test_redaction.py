from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.deidentification import Deidentifier, Policy, redact, strategies
from phistack.features.documents import Document, Span
from phistack.features.errors import VerificationError
from phistack.features.labels import LabelSet


def test_a_span_becomes_its_label_and_the_rest_stays() -> None:
    text = "\ufeffSeen by Ann Lee\r\non 3 May 🩺."
    document = Document("1", text, (Span(9, 16, "DOCTOR"), Span(21, 26, "DATE")))
    assert redact(document) == "\ufeffSeen by [DOCTOR]\r\non [DATE] 🩺."


def test_overlapping_spans_leave_nothing_of_either() -> None:
    document = Document("1", "abcdefgh", (Span(1, 4, "A"), Span(3, 6, "B"), Span(1, 2, "C")))
    assert redact(document) == "a[A]gh"


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9)), max_size=6))
def test_everything_outside_the_spans_is_kept_and_nothing_inside(text: str, stretches: list[tuple[int, int]]) -> None:
    spans = tuple(Span(start, start + n, "X") for start, n in stretches if start + n <= len(text))
    covered = {i for span in spans for i in range(span.start, span.end)}
    outside = "".join(c for i, c in enumerate(text) if i not in covered)
    assert redact(Document("1", text, spans)).replace("[X]", "") == outside.replace("[X]", "")


@given(
    st.text("ab [X]é🩺", max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9), st.sampled_from("XYZ"))),
)
def test_it_is_the_policy_tag(text: Any, stretches: Any) -> None:
    spans = tuple(Span(start, start + n, label) for start, n, label in stretches if start + n <= len(text))
    document = Document("1", text, spans)
    tagged = Deidentifier(Policy.named("tag"), LabelSet.named("i2b2-2014"), "en").apply(document, document.spans)
    assert redact(document) == tagged.text


def test_text_that_is_not_proven_does_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = iter(["Lee", "[DOCTOR]"])
    monkeypatch.setattr(strategies, "tag", lambda label: next(tags))
    with pytest.raises(VerificationError, match="document 1, offset 8: the strategy tag was not applied"):
        redact(Document("1", "Seen by Lee.", (Span(8, 11, "DOCTOR"),)))
