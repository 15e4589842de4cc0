"""Egofication: biographies in the third person told in the first, in Dutch and English, with their spans."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.papers.egofication import Subject, egofied
from phistack.features.documents import Document
from tests.annotated import annotated
from tests.fixture_types import Phistack

REMBRANDT, HARI = Subject("Rembrandt van Rijn", "male"), Subject("Mata Hari", "female")
CURIE, DARWIN = Subject("Marie Curie", "female"), Subject("Charles Darwin", "male")


@pytest.mark.parametrize(
    ("subject", "language", "text", "expected"),
    [
        (REMBRANDT, "nl", "Rembrandt van Rijn werd in Leiden geboren.", "Ik werd in Leiden geboren."),
        (REMBRANDT, "nl", "Toen trouwde hij met Saskia, zijn vrouw.", "Toen trouwde ik met Saskia, mijn vrouw."),
        (REMBRANDT, "nl", "Hij liet hem aan Rembrandt zien.", "Ik liet mij aan mij zien."),
        (REMBRANDT, "nl", "Rembrandts werk en dat van Titus van Rijn.", "Mijn werk en dat van Titus van Rijn."),
        (
            REMBRANDT,
            "nl",
            "Dat moet te zijn. Ze zijn er. Zij waren daar.",
            "Dat moet te zijn. Ze zijn er. Zij waren daar.",
        ),
        (REMBRANDT, "nl", "Hij vestigde zich daar, en zag zichzelf.", "Ik vestigde me daar, en zag mezelf."),
        (REMBRANDT, "nl", "Toen hij zijn vader zag, ging hij.", "Toen ik mijn vader zag, ging ik."),
        (REMBRANDT, "nl", "In 1631 ging Van Rijn weg.", "In 1631 ging ik weg."),
        (HARI, "nl", "Mata Hari danste. Haar vader kende haar niet.", "Ik danste. Mijn vader kende mij niet."),
        (HARI, "nl", "Zij danste; ze waren arm. Hij ging.", "Ik danste; ze waren arm. Hij ging."),
        (CURIE, "en", "Curie won it. She and her husband met him.", "I won it. I and my husband met him."),
        (CURIE, "en", "Her mother saw her today. It was hers.", "My mother saw me today. It was mine."),
        (CURIE, "en", "A letter to Marie Curie; she herself came.", "A letter to me; I myself came."),
        (DARWIN, "en", "Darwin's book was his. His wife knew him.", "My book was mine. My wife knew me."),
        (DARWIN, "en", "Emma Darwin stayed. Charles left.", "Emma Darwin stayed. I left."),
    ],
)
def test_name_and_pronouns_become_those_of_the_first_person(
    subject: Subject, language: str, text: str, expected: str
) -> None:
    assert egofied(Document("1", text), subject, language).text == expected


def test_spans_move_along_and_those_of_the_name_are_gone() -> None:
    note = annotated(
        "[Rembrandt van Rijn|PER] kwam uit [Leiden|LOC]. Hij woonde in [Amsterdam|LOC] bij [Museum Rembrandt Huis|ORG]."
    )
    found = egofied(note, REMBRANDT, "nl")
    assert found.text == "Ik kwam uit Leiden. Ik woonde in Amsterdam bij Museum Rembrandt Huis."
    shown = [(found.text[s.start : s.end], s.label) for s in found.spans]
    assert shown == [("Leiden", "LOC"), ("Amsterdam", "LOC"), ("Museum Rembrandt Huis", "ORG")]


WORDS = ["Rembrandt", "hij", "Hij", "zijn", "hem", "Leiden", "Titus", "van", "Rijn", "zich", ".", "\n", "werk", "1631"]


@given(st.lists(st.sampled_from(WORDS), max_size=14), st.data())
def test_every_span_that_stays_has_its_text(words: list[str], data: st.DataObject) -> None:
    marked = ("[Leiden|LOC]" if word == "Leiden" and data.draw(st.booleans()) else word for word in words)
    note = annotated("".join(f"{word} " for word in marked))
    found = egofied(note, REMBRANDT, "nl")
    assert [found.text[s.start : s.end] for s in found.spans] == ["Leiden"] * len(note.spans)
    assert not {"hij", "hem", "zich"} & {word.lower() for word in found.text.split()}
    assert found.text.count("1631") == words.count("1631")


def test_the_command_writes_the_notes_in_the_format_that_they_had(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "bio.jsonl").write_text(json.dumps({"id": "1", "text": "Mata Hari danste. Haar vader kwam."}) + "\n")
    status, _, _ = phistack("egofy", tmp_path / "bio.jsonl", tmp_path / "ego.jsonl", "--subject", "Mata Hari",
                            "--gender", "female", "--language", "nl")  # fmt: skip
    assert status == 0
    assert json.loads((tmp_path / "ego.jsonl").read_text(encoding="utf-8"))["text"] == "Ik danste. Mijn vader kwam."


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--subject", "12", "--gender", "male"], "name of the subject has no letter"),
        (["--subject", "Ann", "--gender", "x"], "must be male or female"),
        (
            ["--subject", "Ann", "--gender", "female", "--language", "es"],
            "egofy has no words for es; the languages are nl, en",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    phistack: Phistack, tmp_path: Path, arguments: list[str], reported: str
) -> None:
    (tmp_path / "bio.jsonl").write_text(json.dumps({"id": "1", "text": "Ann came."}) + "\n")
    status, _, error = phistack("egofy", tmp_path / "bio.jsonl", tmp_path / "out.jsonl", *arguments)
    assert status == 1 and reported in error and not (tmp_path / "out.jsonl").exists()
