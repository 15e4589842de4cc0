"""Whole notes: text outside the PHI stays, nothing inside does, and both are verified."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.deidentification import (
    Deidentified,
    Deidentifier,
    PatientMemory,
    Policy,
    read_key,
    redact,
    verify,
)
from phistack.ensemble.deidentification.deidentifier import CHANGES
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices, key_check
from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError, SettingsError, VerificationError
from phistack.features.labels import LabelSet
from phistack.features.letters import normalised
from tests.annotated import annotated

KEY = b"a key of the tests, not a secret"
LABELS = LabelSet.named("i2b2-2014")
NOTE = (
    "\ufeff[John Smith|PATIENT] (MRN [4711-08-15|MEDICALRECORD]), [47|AGE], of [123 N. Main St|STREET], [Boston|CITY], "
    "[MA|STATE] [02114|ZIP], was seen at [Mercy General Hospital|HOSPITAL]\r\non [5/12/2019|DATE] by Dr. "
    "[García|DOCTOR]; next visit [26 May 2019|DATE]. Mr. [Smith|PATIENT] works as a [carpenter|PROFESSION] 🩺. Mail: "
    "[john.smith@mercy.org|EMAIL], phone [(617) 555-0123|PHONE].\n"
)


def note(id: str = "1", group: str = "p") -> Document:
    return annotated(NOTE, id, group)


def deidentifier(policy: str = "surrogate", key: bytes | None = KEY) -> Deidentifier:
    chosen = policy if isinstance(policy, Policy) else Policy.named(policy)
    return Deidentifier(chosen, LABELS, "en", key)


def outside(text: str, spans: Sequence[Span]) -> str:
    covered = {i for span in spans for i in range(span.start, span.end)}
    return "".join(c for i, c in enumerate(text) if i not in covered)


def test_a_note_of_surrogates_reads_on_and_holds_no_original() -> None:
    document = note()
    result = deidentifier().apply(document, document.spans)
    verify(document, result, document.spans)
    assert result.unresolved == ()
    for span in document.spans:
        if span.label != "AGE":
            assert document.text[span.start : span.end] not in result.text
    assert "Mr. " in result.text and " 🩺." in result.text and result.text.startswith("\ufeff")


def test_the_result_is_the_same_for_every_note_of_the_patient_and_in_every_process() -> None:
    first, second = note("1"), note("2")
    again = pickle.loads(pickle.dumps(deidentifier()))
    results = [tool.apply(d, d.spans).text for tool in (deidentifier(), again) for d in (first, second)]
    assert len(set(results)) == 1
    assert results[0] != deidentifier().apply(note("1", "q"), note().spans).text
    assert results[0] != deidentifier(key=b"another key of the tests").apply(first, first.spans).text


spans_of_text = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12), st.sampled_from(LABELS.labels)), max_size=8)
texts = st.text(st.sampled_from("abz AZñé0179/-.,@\n🩺'"), min_size=1, max_size=52)


@given(
    texts, spans_of_text, st.sampled_from(["tag", "mask", "remove", "number", "surrogate", "safe-harbor", "i2b2-2014"])
)
def test_outside_the_spans_nothing_changes_and_every_span_is_replaced(
    text: str, stretches: list[tuple[int, int, str]], policy: str
) -> None:
    spans = tuple(Span(start, start + n, label) for start, n, label in stretches if start + n <= len(text))
    document = Document("1", text, spans)
    result = deidentifier(policy).apply(document, spans)
    verify(document, result, spans)
    new = [
        Span(r.start_in_output, r.end_in_output, "X")
        for r in result.replacements
        if r.end_in_output > r.start_in_output
    ]
    assert outside(result.text, new) == outside(text, spans)
    identifiers = {normalised(text[r.span.start : r.span.end]) for r in result.replacements}
    for r in result.replacements:
        if r.strategy == "surrogate":
            assert normalised(result.text[r.start_in_output : r.end_in_output]) not in identifiers


def test_overlapping_spans_are_one_stretch_under_the_strategy_that_takes_the_most() -> None:
    text = "seen by Ann Lee Smith in May"
    spans = (Span(8, 15, "STATE"), Span(12, 21, "DOCTOR"), Span(12, 15, "DATE"))
    document = Document("1", text, spans)
    result = deidentifier("safe-harbor").apply(document, spans)
    verify(document, result, spans)
    assert result.text == "seen by [DOCTOR] in May"
    assert [r.span for r in result.replacements] == [Span(8, 21, "DOCTOR")]


def test_touching_spans_stay_two() -> None:
    document = Document("1", "AnnLee", (Span(0, 3, "PATIENT"), Span(3, 6, "DOCTOR")))
    assert deidentifier("tag").apply(document, document.spans).text == "[PATIENT][DOCTOR]"


def test_numbers_are_the_order_of_mention_without_a_key_and_lasting_with_one() -> None:
    text = "John Smith, Mary Jones; Mr. Smith, John."
    marked = ("John Smith", "Mary Jones", "Smith, J", "John.")
    spans = [Span(text.index(m), text.index(m) + len(m.rstrip(".").removesuffix(", J")), "PATIENT") for m in marked]
    document = Document("1", text, tuple(spans))
    result = deidentifier("number", None).apply(document, spans)
    assert result.text == "[PATIENT-1], [PATIENT-2]; Mr. [PATIENT-1], [PATIENT-1]."
    keyed = [deidentifier("number").apply(Document(id, text, (), "p"), spans).text for id in ("1", "2")]
    assert keyed[0] == keyed[1] != deidentifier("number").apply(Document("1", text, (), "q"), spans).text
    memory = PatientMemory()
    tool = deidentifier("number", None)
    second = Document("2", "Mary Jones", (Span(0, 10, "PATIENT"),))
    tool.apply(document, spans, memory)
    assert tool.apply(second, second.spans, memory).text == "[PATIENT-2]"


def test_what_no_surrogate_can_be_made_for_is_tagged_and_reported() -> None:
    text = "Seen by 王小明 on the ides."
    spans = (Span(8, 11, "DOCTOR"), Span(15, 23, "DATE"))
    result = deidentifier().apply(Document("1", text, spans), spans)
    assert result.text == "Seen by [DOCTOR] on [DATE]."
    assert result.unresolved == spans
    assert result.counts == {("DOCTOR", "tag"): 1, ("DATE", "tag"): 1}


def test_a_memory_of_the_patient_keeps_surrogates_off_the_names_of_all_notes() -> None:
    first = Document("1", "Ann Smith", (Span(0, 9, "PATIENT"),), "p")
    surname = deidentifier().apply(first, first.spans).text.split()[1]
    second = Document("2", surname, (Span(0, len(surname), "DOCTOR"),), "p")
    memory, tool = PatientMemory(), deidentifier()
    for document in (first, second):
        tool.remember(memory, document, document.spans)
    found = tool.apply(first, first.spans, memory).text
    assert surname not in found and found != first.text


def test_a_span_beyond_the_text_is_refused() -> None:
    with pytest.raises(CorpusError, match="ends beyond the text"):
        deidentifier("tag").apply(Document("1", "short"), [Span(0, 9, "PATIENT")])


def tampered(result: Deidentified) -> Iterator[Any]:
    first = result.replacements[0]
    yield replace(result, text="X" + result.text[1:]), "was changed"
    yield replace(result, text=result.text + "x"), "after the last replacement"
    yield replace(result, replacements=result.replacements[1:]), "was changed"
    yield replace(result, replacements=(replace(first, strategy="keep"), *result.replacements[1:])), "not applied"
    yield replace(result, replacements=(replace(first, strategy="mask"), *result.replacements[1:])), "not applied"
    yield replace(result, replacements=(first, *result.replacements)), "was changed"
    yield Deidentified("Xeen by Ann", ()), "was changed"


def test_the_proof_fails_for_every_kind_of_tampering_and_shows_no_text() -> None:
    document = Document("note-7", "Seen by Ann Lee and Bob Ray.", (Span(8, 15, "DOCTOR"), Span(20, 27, "DOCTOR")))
    result = deidentifier("tag").apply(document, document.spans)
    for wrong, reason in tampered(result):
        with pytest.raises(VerificationError, match=reason) as caught:
            verify(document, wrong, document.spans)
        assert "note-7" in str(caught.value) and "Ann" not in str(caught.value)


def test_the_proof_fails_for_a_span_that_was_forgotten() -> None:
    document = Document("1", "Seen by Ann Lee.", (Span(8, 15, "DOCTOR"),))
    result = deidentifier("tag").apply(document, [Span(8, 11, "DOCTOR")])
    verify(document, result)
    with pytest.raises(VerificationError, match="offset 8: a span was not replaced"):
        verify(document, result, document.spans)


def test_nothing_shows_text_or_the_key() -> None:
    document = note()
    tool = deidentifier()
    result, memory = tool.apply(document, document.spans), PatientMemory()
    tool.remember(memory, document, document.spans)
    shown = repr((tool, result, memory, KeyedChoices(KEY, "p")))
    assert "Smith" not in shown and "tests" not in shown and result.text[1:8] not in shown


def test_the_key_is_read_from_a_file_and_a_bad_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_bytes(b"8f3a5c1e9b7d2f4068acbd13579e2460\n")
    assert read_key(path) == b"8f3a5c1e9b7d2f4068acbd13579e2460"
    assert "8f3a" not in str([read_key(path)]) + str(read_key(path))
    assert key_check(read_key(path)) != key_check(KEY) and len(key_check(KEY)) == 8
    for bad in (b"0123456789abcdef\n", bytes(range(32)), b"a sentence that somebody can guess", b"", b"0" * 5000):
        path.write_bytes(bad)
        with pytest.raises(SettingsError, match=r"at least 32 hexadecimal digits; make one .*openssl rand -hex 32"):
            read_key(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_key(tmp_path / "none")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_file_that_others_may_read_is_refused_with_what_to_type(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"8f3a5c1e9b7d2f4068acbd13579e2460")
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"type: chmod 600 {path}"):
        read_key(path)
    path.chmod(0o600)
    assert read_key(path)


@given(st.integers(1, 10**6), st.lists(st.text(max_size=4), max_size=3))
def test_keyed_numbers_are_in_range_and_depend_on_how_the_parts_are_cut(below: int, parts: list[str]) -> None:
    keyed = KeyedChoices(KEY, "p")
    assert 0 <= keyed.number(below, *parts) < below
    assert keyed.number(10**30, "ab", "c") != keyed.number(10**30, "a", "bc")


def test_a_span_becomes_its_label_and_the_rest_stays() -> None:
    text = "\ufeffSeen by Ann Lee\r\non 3 May 🩺."
    document = Document("1", text, (Span(9, 16, "DOCTOR"), Span(21, 26, "DATE")))
    assert redact(document) == "\ufeffSeen by [DOCTOR]\r\non [DATE] 🩺."


def test_text_that_is_not_proven_does_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHANGES, "tag", lambda note, span: "Lee")
    with pytest.raises(VerificationError, match="document 1, offset 8: the strategy tag was not applied"):
        redact(Document("1", "Seen by Lee.", (Span(8, 11, "DOCTOR"),)))
