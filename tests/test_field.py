"""Other tools beside ours: what is counted, and what is distinguished."""

from pathlib import Path

import pytest

import benchmarks.field as field
from benchmarks.field import Notes, corpora, draw
from benchmarks.measuring import ROOT
from benchmarks.peers import Peer
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

NOTE = Document(
    "1", "Ann Hill, aged 44, came on 3/14 to rest", (Span(0, 8, "PATIENT"), Span(15, 17, "AGE"), Span(27, 31, "DATE"))
)
NOTES = Notes("invented", "en", Corpus((NOTE, Document("2", "Rest well", ())), LabelSet.named("i2b2-2014")))


def test_what_a_tool_does_not_claim_is_told_apart() -> None:
    """It finds the date, half of the name, an age that may stay, and a word of the clean note."""
    name, tool, *cells = NOTES.row("tool", [[(0, 3), (15, 17), (27, 31)], [(0, 4)]], frozenset({"DATE"}))
    touched, claimed, covered, right, changed, lost = cells
    assert (name, tool) == ("invented", "tool")
    assert [cell.split()[0] for cell in (touched, claimed, covered, right)] == ["100.00", "100.00", "50.00", "66.67"]
    assert (changed, lost) == ("100.00", f"{1000 / 7:.1f}")


def test_a_tool_that_finds_nothing_has_no_share_of_right_changes() -> None:
    _, _, touched, claimed, _, right, changed, lost = NOTES.row("tool", [[], []], frozenset({"ID"}))
    assert touched.startswith("0.00") and (claimed, right) == ("", "")
    assert (changed, lost) == ("0.00", "0.0")


def test_labels_of_the_queries_have_categories() -> None:
    queries = Notes("queries", "en", NOTES.gold)
    assert [queries.category(label) for label in ("NAME", "GEOGRAPHIC_LOCATION", "FAX_NUMBER", "ACCOUNT_NUMBER")] == [
        "NAME", "LOCATION", "CONTACT", "ID",
    ]  # fmt: skip
    assert NOTES.category("DOCTOR") == "NAME"


def test_corpora_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    found = list(corpora(tmp_path, 10, 0))
    assert [notes.language for notes in found] == ["en", "de", "es", "nl"]
    assert all(len(notes.gold) == 10 for notes in found)


def test_a_tool_that_cannot_run_is_reported_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def install(peer: Peer, folder: Path) -> Path:
        if peer.name == "stella":
            raise OSError
        return tmp_path

    monkeypatch.setattr(field, "corpora", lambda folder, number, seed: [NOTES])
    monkeypatch.setattr(field, "install", install)
    monkeypatch.setattr(field, "_ours", lambda notes, engines, meddocan: [*notes.row("ours", [[], []], None), "1", "1"])
    measured = {"notes": 2, "seconds": 1.0, "spans": [[[0, 8, "x"]], []]}
    monkeypatch.setattr(field, "run_peer", lambda peer, python, texts, language: measured)
    monkeypatch.setattr("sys.argv", ["field", "--peers", str(tmp_path)])
    field.main()
    shown = capsys.readouterr()
    assert "stella was not measured on invented: OSError" in shown.err
    assert "philter" in shown.out and "stella" not in shown.out and "deduce" not in shown.out


def test_the_picture_has_a_panel_for_each_corpus_and_a_name_for_each_tool(tmp_path: Path) -> None:
    found = [[(0, 3)], [(0, 4)]]
    draw([[NOTES.row("phistack english", found, None), NOTES.row("tool 1.2", found, None)]], tmp_path / "field.svg")
    drawn = (tmp_path / "field.svg").read_text(encoding="utf-8")
    assert all(f">{text}</text>" in drawn for text in ("invented", "phistack english", "tool"))


def test_the_page_has_the_markers() -> None:
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert page.count("<!-- field:") == page.count("<!-- /field -->") == 1
