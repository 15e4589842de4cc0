"""The nine causes of wrong spans: each that is computed on a case of its own, and the sheet for the others."""

from pathlib import Path

import pytest

from phistack.ensemble.papers.causes import CAUSES, WrongSpan, causes_sheet, causes_table, judged, wrong_spans
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

LABELS = LabelSet.named("nut")
Marked = list[tuple[str, str]]


def corpora(*notes: tuple[str, Marked, Marked]) -> tuple[Corpus, Corpus]:
    """Gold and system, from texts with the mentions that each marks."""
    sides: tuple[list[Document], list[Document]] = ([], [])
    for number, (text, *marked) in enumerate(notes):
        for side, mentions in zip(sides, marked, strict=True):
            spans = [Span(text.index(m), text.index(m) + len(m), label) for m, label in mentions]
            side.append(Document(f"{number}-01", text, tuple(spans)))
    gold, system = (Corpus(tuple(side), LABELS) for side in sides)
    return gold, system


def causes(*notes: tuple[str, Marked, Marked]) -> list[tuple[str, str, str]]:
    return [(wrong.side, wrong.text, wrong.cause) for wrong in wrong_spans(*corpora(*notes))]


def test_the_nine_causes_are_those_of_the_paper() -> None:
    assert [*CAUSES] == [
        *("Abbreviation", "Ambiguity", "Debatable", "Prefix", "Common language", "Other reason"),
        *("Missing annotation", "Annotation error", "Tokenization error"),
    ]


def test_articles_at_the_beginning_are_a_prefix_on_both_sides() -> None:
    wrong = causes(("Bij de Linde", [("de Linde", "Care_Institute")], [("Linde", "Care_Institute")]))
    assert wrong == [("missed", "de Linde", "Prefix"), ("false", "Linde", "Prefix")]


def test_abbreviations_and_words_of_the_language_are_seen() -> None:
    notes = [("Ik heb beter horen gebeld", Marked(), Marked())] * 2
    wrong = causes(
        *notes,
        ("Bel ASVZ of J.B. of Beter Horen of Wilgenhof", [
            ("ASVZ", "Care_Institute"), ("J.B.", "Initials"), ("Beter Horen", "Organization_Company"),
            ("Wilgenhof", "Care_Institute"),
        ], []),
    )  # fmt: skip
    assert [cause for _, _, cause in wrong] == ["Abbreviation", "Abbreviation", "Common language", ""]


def test_what_gold_marks_elsewhere_is_missing_here() -> None:
    wrong = causes(
        ("Jan Jansen", [("Jan Jansen", "Name")], [("Jan Jansen", "Name")]),
        ("Jan Jansen en Piet", [], [("Jan Jansen", "Name"), ("Piet", "Name")]),
    )
    assert wrong == [("false", "Jan Jansen", "Missing annotation"), ("false", "Piet", "")]


def test_bad_bounds_are_errors_of_annotation_or_of_tokens() -> None:
    wrong = causes(
        ("door Jansen, arts", [("Jansen,", "Name")], [("Jansen", "Name")]),
        ("door Jansenarts", [("Jansen", "Name")], [("Jansenarts", "Name")]),
    )
    assert {cause for _, text, cause in wrong[:2]} == {"Annotation error"}
    assert {cause for _, text, cause in wrong[2:]} == {"Tokenization error"}


def test_a_sheet_that_a_person_filled_in_decides(tmp_path: Path) -> None:
    gold, system = corpora(("Bel ASVZ of Wilgenhof", [("ASVZ", "Care_Institute"), ("Wilgenhof", "Care_Institute")], []))
    wrong = wrong_spans(gold, system)
    path = tmp_path / "sheet.csv"
    path.write_text(causes_sheet(wrong).replace("Abbreviation", "ambiguity").replace(",\n", ",Debatable\n"))
    assert [w.cause for w in judged(wrong, path)] == ["Ambiguity", "Debatable"]
    path.write_text(causes_sheet(wrong).replace(",", ";"))
    assert [w.cause for w in judged(wrong, path)] == ["Abbreviation", ""]
    rows = causes_table(judged(wrong, path)).sections
    assert rows[0][0][:2] == ("Abbreviation", "1") and rows[2][0][1] == "1"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("Abbreviation", "Tiredness"), "line 2: there is no cause named Tiredness"),
        (("0-01", "9-01"), "line 2: these annotations do not have this error"),
        (("cause", "reason"), "it has no column cause"),
    ],
)
def test_a_sheet_that_cannot_be_used_is_one_sentence(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    wrong = [WrongSpan("0-01", "missed", 4, 8, "Name", "Abbreviation")]
    path = tmp_path / "sheet.csv"
    path.write_text(causes_sheet(wrong).replace(*change))
    with pytest.raises(SettingsError, match=complaint):
        judged(wrong, path)


def test_the_command_writes_the_sheet_and_takes_it_back(tmp_path: Path, phistack: Phistack) -> None:
    gold, system = corpora(("Bel Zelkowitz", [("Zelkowitz", "Name")], []))
    write_corpus(gold, tmp_path / "gold.jsonl", format="jsonl")
    write_corpus(system, tmp_path / "system.jsonl", format="jsonl")
    common = ("causes", tmp_path / "gold.jsonl", tmp_path / "system.jsonl", "--label-set", "nut")
    _, first, _ = phistack(*common, "--sheet", tmp_path / "sheet.csv")
    sheet = (tmp_path / "sheet.csv").read_text()
    assert "a person must judge 1 of 1" in first and "Zelkowitz" not in sheet + first
    (tmp_path / "judged.csv").write_text(sheet.replace(",\n", ",Other reason\n"))
    _, second, _ = phistack(*common, "--judged", tmp_path / "judged.csv", "--latex", tmp_path / "table.tex")
    assert "must judge" not in second and "100.0" in (tmp_path / "table.tex").read_text()
