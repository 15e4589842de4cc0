"""Users' ids, file names and labels in messages and tables."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from phistack.ensemble.batch import Columns, deidentify
from phistack.ensemble.engine import Reading
from phistack.ensemble.evaluation import compare, evaluate, print_comparison, print_report
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.ensemble.views.explanation import print_explanation
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, LabelError, PhistackError, VerificationError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_view
from phistack.features.shown import explained, hashed, shown_id, shown_label
from tests.annotated import annotated
from tests.batch_runs import run_over
from tests.fixture_types import Phistack

NAME = "Birchwood_Anselm-01"
LABELS = LabelSet.named("i2b2-2014")


@pytest.mark.parametrize(
    "id",
    ["110-01", "S0004-06142005000700014-1", "es-S0210-56912007000900007-3", "note_00012", "line 17", "a", "7/12.3"],
)
def test_ids_of_numbers_and_words_of_corpora_are_shown(id: str) -> None:
    assert shown_id(id) == id


@pytest.mark.parametrize(
    "id", [NAME, "Li-1", "Ann", "peña", "岡田", "anselm.birchwood", "note Birchwood", "1" * 65, "1\n2", ""]
)
def test_any_other_id_is_shown_as_a_hash(id: str) -> None:
    assert shown_id(id) == hashed(id) and len(shown_id(id)) == 9 and shown_id(id)[0] == "#"


@given(st.text(min_size=3, alphabet=st.characters(categories=["L"])))
def test_no_id_of_letters_is_shown_unless_it_is_a_word_of_corpora(name: str) -> None:
    shown = shown_id(name + "-01")
    assert shown.startswith("#") or shown_id(name) == name


@pytest.mark.parametrize("labels", [LabelSet.named(name) for name in LabelSet.names()])
def test_labels_of_every_label_set_are_shown(labels: LabelSet) -> None:
    assert all(shown_label(label) == label for label in labels.labels)
    assert shown_label("PER") == "PER" and shown_label("Name_Patient") == "Name_Patient"
    assert shown_label("Birchwood") == hashed("Birchwood")


def test_everything_is_shown_where_the_user_asks_and_a_key_keeps_hashes_from_being_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = shown_id(NAME)
    monkeypatch.setenv("PHISTACK_KEY", "0123456789abcdef" * 2)
    assert shown_id(NAME)[0] == "#" and shown_id(NAME) != plain
    monkeypatch.setenv("PHISTACK_SHOW_IDS", "1")
    assert shown_id(NAME) == NAME and shown_label("Birchwood") == "Birchwood"
    assert explained("document 110-01: bad") == "" and "PHISTACK_SHOW_IDS=1" in explained(f"document {plain}: bad")


def refusals(tmp_path: Path) -> Iterator[Any]:
    """Calls that raise an error about a note named after its patient, or about a label that is a name."""
    note = Document(NAME, "Dr. Ames \ud800", (Span(4, 8, "DOCTOR"),))
    corpus = Corpus((note,), LABELS)
    yield lambda: Document(NAME, "short", (Span(4, 800, "DOCTOR"),))
    yield lambda: Corpus((note, note), LABELS)
    yield lambda: LABELS.category("Birchwood")
    yield lambda: Corpus((Document("1", "Dr. Ames", (Span(4, 8, "Birchwood"),)),), LABELS).mapped("meddocan")
    for format in ("i2b2", "brat", "text", "conll"):
        yield lambda format=format: write_corpus(corpus, tmp_path / f"out-{format}", format=format)
    files = {
        "latin.txt": b"\xff",
        "xml.xml": b"<deIdi2b2>",
        "two.xml": b"<deIdi2b2><TEXT/><TEXT/></deIdi2b2>",
        "ann.ann": b"nonsense",
        "offset.ann": b"T1\tDOCTOR 4 99\tAmes\n",
        "json.jsonl": b'{"id": "Birchwood_Anselm", "text": "x", "spans": [{"start": 0, "end": 9, "label": "DOCTOR"}]}',
    }
    for name, content in files.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{NAME}.{name.partition('.')[2]}").write_bytes(content)
        if name.endswith(".ann"):
            (folder / f"{NAME}.txt").write_text("Dr. Ames")
        yield lambda folder=folder: read_corpus(folder)


def test_no_message_tells_a_name_that_stands_in_an_id_a_file_name_or_a_label(tmp_path: Path) -> None:
    reported = []
    for refused in refusals(tmp_path):
        with pytest.raises(PhistackError) as error:
            refused()
        reported.append(str(error.value))
    assert len(reported) == 14
    for message in reported:
        assert "birchwood" not in message.lower() and "anselm" not in message.lower() and "#" in message, message


def test_a_label_that_is_a_name_is_not_reported_by_the_reader_of_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("Dr. Ames")
    (tmp_path / "1.ann").write_text("T1\tBirchwood 4 8\tAmes\n")
    with pytest.raises((LabelError, CorpusError)) as error:
        read_corpus(tmp_path, label_set="i2b2-2014")
    assert "Birchwood" not in str(error.value) and hashed("Birchwood") in str(error.value)
    (remark,) = read_corpus(tmp_path).remarks
    assert "Birchwood" not in remark and hashed("Birchwood") in remark


def test_the_terminal_tells_how_to_see_the_name(
    phistack: Phistack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / f"{NAME}.txt").write_bytes(b"\xff")
    for shows, asked in ((False, ""), (True, "1")):
        monkeypatch.setenv("PHISTACK_SHOW_IDS", asked)
        status, _, error = phistack("convert", tmp_path / "notes", tmp_path / "out", "--to", "jsonl")
        assert status == 1 and (NAME in error) == shows and ("PHISTACK_SHOW_IDS=1" in error) != shows


def test_reasons_in_the_reports_name_no_note_and_count_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(document: Any, result: Any, spans: Any) -> None:
        raise VerificationError(f"document {shown_id(document.id)}, offset 3: it differs; do not use its output")

    monkeypatch.setattr("phistack.ensemble.batch.workers.work.verify", failing)
    (tmp_path / "notes").mkdir()
    for name in (NAME, "110-01"):
        (tmp_path / "notes" / f"{name}.txt").write_text("Dr. Ames")
    run = run_over(tmp_path / "notes", Columns())
    summary = deidentify(run)
    lines = [json.loads(line) for line in (run.reports / "quarantine.jsonl").read_text().splitlines()]
    assert [line["place"] for line in lines] == ["110-01.txt", f"{NAME}.txt"]
    assert {line["reason"] for line in lines} == {"the note, offset 3: it differs; do not use its output"}
    assert summary.by_reason == {"it differs; do not use its output": 2}


def scored_notes() -> Corpus:
    """Two notes with a name as id, one of them with a name as label."""
    texts = "Dr. [Ames|VICTIMA] saw Dr. [Ames|VICTIMA], Dr. [Ames|VICTIMA]", "Dr. [Ames|Birchwood]"
    notes = (annotated(text, f"{NAME}{i}") for i, text in enumerate(texts))
    return Corpus(tuple(notes), LabelSet("custom", {"VICTIMA": "OTHER", "Birchwood": "OTHER"}))


def test_tables_of_scores_tell_no_name_and_show_the_labels_that_come_often() -> None:
    gold, out = scored_notes(), StringIO()
    fewer = Corpus(gold.documents[:1], gold.label_set)
    console = Console(file=out, width=100)
    print_report(evaluate(gold, gold), console)
    print_report(evaluate(gold, fewer, allow_missing=True), console)
    print_comparison(compare(gold, {"a": gold, "b": fewer}, allow_missing=True), console)
    printed = " ".join(out.getvalue().split())
    assert "birchwood" not in printed.lower() and "NOT SCORED" in printed and "NOT COMPARED" in printed
    assert "VICTIMA" in printed and hashed("Birchwood") in printed and "PHISTACK_SHOW_IDS=1 shows it" in printed


def test_a_label_that_is_a_name_is_not_reported_by_training(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"Seen by Dr. {name} on 03/1{i}/2019." for i, name in enumerate(("Alder", "Rusk", "Vance", "Osgood"))]
    labels = ("DOCTOR", "DOCTOR", "DOCTOR", "Birchwood")
    notes = [
        Document(f"{i}-01", text, (Span(12, text.index(" on"), label),))
        for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    corpus = Corpus(tuple(notes), LabelSet("custom", {"DOCTOR": "NAME", "Birchwood": "OTHER"}))
    train(corpus, EngineSettings(folds=2, submodels={"regex": {}}))
    assert "in one fold only" in caplog.text and "Birchwood" not in caplog.text


def test_an_id_with_brackets_is_no_markup() -> None:
    out, note = StringIO(), Document("note[/b]", "Dr. Ames")
    print_explanation(Reading(note, plain_view(note)), Console(file=out), show_text=True)
    assert "note[/b]: 0 PHI" in out.getvalue()
