"""Plain notes that carry invented identifiers: what is replaced, marked and left out."""

from pathlib import Path

from typer.testing import CliRunner

from phistack.ensemble.command_line.app import app
from phistack.ensemble.synthesis import carry
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus

VISIT = """CHIEF COMPLAINT

Wrist pain.

HISTORY OF PRESENT ILLNESS

Ms. Thistlewood is a 41-year-old female. The patient fell on Tuesday and has had pain since 2019. She grew up
in Chicago. Philippa Thistlewood denies numbness. Dr. Quarrington saw the fracture first. Seen with her friend Philippa.
Strength is 4/5. She works as a carpenter. Lachman's test is negative, pain 2/7 days.

PLAN

Continue ibuprofen 400 mg. Ms. Thistlewood will return in 2 weeks.
"""


def carried(copies: int = 8, seed: int = 3) -> Corpus:
    return carry([Document("v1", VISIT)], seed=seed, copies=copies)


def found(document: Document) -> dict[str, str]:
    return {document.text[span.start : span.end]: span.label for span in document.spans}


def test_nobody_of_the_note_remains() -> None:
    for document in carried().documents:
        words = document.text.lower()
        assert not any(name in words for name in ("thistlewood", "quarrington", "philippa")), document.id


def test_a_sentence_that_may_identify_by_another_word_is_left_out() -> None:
    for document in carried().documents:
        words = document.text.lower()
        assert "chicago" not in words
        assert "carpenter" not in words


def test_what_is_no_identifier_stays_and_is_not_marked() -> None:
    kept = ("wrist pain", "ibuprofen 400 mg", "lachman", "2/7 days", "4/5")
    for document in carried().documents:
        text = document.text.lower().replace("\n", " ")
        shown = [text.find(words) for words in kept]
        assert sum(at >= 0 for at in shown) >= len(kept) - 2, "most words stand, but for typing errors"
        assert not any(span.start <= at < span.end for at in shown if at >= 0 for span in document.spans), document.id


def test_ages_days_and_years_of_the_note_are_marked() -> None:
    marked = [found(document) for document in carried().documents]
    assert all(labels.get("41") == "AGE" for labels in marked)
    assert all({text.lower(): label for text, label in labels.items()}.get("tuesday") == "DATE" for labels in marked)


def test_identifiers_of_many_kinds_are_strewn_in() -> None:
    labels = {span.label for document in carried(30).documents for span in document.spans}
    assert {"PATIENT", "DOCTOR", "DATE", "MEDICALRECORD", "HOSPITAL"} <= labels


def test_the_same_seed_gives_the_same_notes_and_copies_are_of_other_patients() -> None:
    assert carried() == carried()
    assert carried() != carried(seed=4)
    texts = [document.text for document in carried().documents]
    assert len(set(texts)) == len(texts)
    assert {document.group for document in carried().documents} == {"v1"}


def test_the_command_writes_them_behind_the_invented_notes(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "v1.txt").write_text(VISIT, encoding="utf-8")
    command = ["synthesize", str(tmp_path / "out.jsonl"), "--documents", "3", "--carriers", str(tmp_path / "plain")]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    notes = read_corpus(tmp_path / "out.jsonl").documents
    assert [note.id for note in notes] == ["100-01", "100-02", "101-01", "v1-1"]
    assert "Thistlewood" not in notes[-1].text


def test_other_languages_are_refused(tmp_path: Path) -> None:
    command = ["synthesize", str(tmp_path / "out"), "--language", "nl", "--carriers", str(tmp_path)]
    answer = CliRunner().invoke(app, command)
    assert isinstance(answer.exception, SettingsError)
    assert not (tmp_path / "out").exists()
