from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.documents import Corpus, Document, Span, patient_of
from phistack.features.errors import CorpusError, LabelError
from phistack.features.labels import LabelSet
from phistack.features.shown import hashed

I2B2 = LabelSet.named("i2b2-2014")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        *((lambda a=a, b=b: Span(a, b, "DATE"), "0 <= start < end") for a, b in ((-1, 3), (3, 3), (4, 3))),
        (lambda: Span(0, 1, ""), "the span 0-1 has an empty label"),
        (lambda: Document("", "a"), "a document must have an id"),
        (lambda: Corpus((Document("1", "a"), Document("1", "b")), I2B2), "the first is 1"),
    ],
)
def test_what_cannot_be_is_never_born(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(CorpusError, match=reason):
        make()


@given(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9))
def test_spans_overlap_when_they_share_a_character(a: Any, n: Any, b: Any, m: Any) -> None:
    one, other = Span(a, a + n, "X"), Span(b, b + m, "Y")
    shared = set(range(a, a + n)) & set(range(b, b + m))
    assert one.overlaps(other) == other.overlaps(one) == bool(shared)


def test_a_document_keeps_its_spans_sorted_with_repeats() -> None:
    spans = (Span(4, 6, "B"), Span(0, 2, "A"), Span(4, 6, "B"))
    assert Document("1", "abcdefgh", spans).spans == (Span(0, 2, "A"), Span(4, 6, "B"), Span(4, 6, "B"))


def test_a_span_beyond_the_text_is_refused_without_showing_text() -> None:
    with pytest.raises(CorpusError, match=r"document 7: the span 2-9 ends beyond the text") as refused:
        Document("7", "secret", (Span(2, 9, "DATE"),))
    assert "secret" not in str(refused.value)


def test_offsets_count_code_points() -> None:
    text = "🩺 José"
    assert Document("1", text, (Span(2, 6, "PATIENT"),)).text[2:6] == "José"
    with pytest.raises(CorpusError):
        Document("1", text, (Span(2, 7, "PATIENT"),))


def test_no_repr_shows_text() -> None:
    document = Document("1", "secret", (Span(0, 6, "PATIENT"),))
    assert "secret" not in repr(document) + repr(Corpus((document,), I2B2))


@pytest.mark.parametrize(("id", "patient"), [("110-02", "110"), ("110-2", "110-2"), ("S0004-061", "S0004-061")])
def test_the_patient_is_read_from_a_shared_task_name(id: str, patient: str) -> None:
    assert patient_of(id) == patient


def test_the_group_is_the_document_where_no_patient_is_known() -> None:
    assert Document("1", "a").group == "1"
    assert Document("1", "a", group="p").group == "p"


def test_a_corpus_takes_other_spans_note_by_note() -> None:
    corpus = Corpus((Document("1", "a b"), Document("2", "c")), I2B2, remarks=("as read",))
    other = corpus.with_spans([[Span(0, 1, "DATE")], []])
    assert [document.spans for document in other.documents] == [(Span(0, 1, "DATE"),), ()]
    assert other.with_spans([[], []]) == corpus
    with pytest.raises(ValueError, match="zip"):
        corpus.with_spans([[]])


def test_labels_are_mapped_to_another_set() -> None:
    corpus = Corpus((Document("1", "abcdef", (Span(0, 2, "DOCTOR"), Span(3, 5, "CITY"))),), I2B2).mapped("nut")
    assert [span.label for span in corpus.documents[0].spans] == ["Name", "Address"]
    assert corpus.label_set.name == "nut"


def test_a_label_without_mapping_is_named() -> None:
    corpus = Corpus((Document("1", "abcdef", (Span(0, 2, "WIZARD"),)),), I2B2.extended({"WIZARD": "NAME"}))
    with pytest.raises(LabelError, match=f"does not have the label {hashed('WIZARD')}"):
        corpus.mapped("nut")
