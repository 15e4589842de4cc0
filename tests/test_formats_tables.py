"""Other people's tables as corpora: their columns, delimiters, kinds of values and packing."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.formats.recognise import recognise
from phistack.features.formats.records import ColumnNames
from phistack.features.labels import LabelSet

OWN = ColumnNames("note_id", "body", "mrn")
NOTE = Document("7", "Dr. Ames,\r\nward; 7", (Span(4, 8, "DOCTOR"),), "110")
CORPUS = Corpus((NOTE, Document("8", "", (), "110")), LabelSet.named("i2b2-2014"))
SPANS = json.dumps([{"start": 4, "end": 8, "label": "DOCTOR"}])


def csv_of(delimiter: str) -> str:
    quoted = f'"{SPANS.replace(chr(34), 2 * chr(34))}"'
    rows = [
        ("note_id", "ward", "mrn", "body", "spans"),
        ("7", "x", "110", f'"{NOTE.text}"', quoted),
        ("8", '""', "110", "", ""),
    ]
    return "".join(delimiter.join(row) + "\r\n" for row in rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.csv.gz", "notes.CSV"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_csv_of_others_in_any_dress(delimiter: str, name: str, mark: str, tmp_path: Path) -> None:
    content = (mark + csv_of(delimiter)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    corpus = read_corpus(tmp_path / name, columns=OWN, format="csv" if name == "notes.tsv" else None)
    assert corpus.documents == CORPUS.documents
    assert corpus.warnings == {"columns left out, ward": 1}


def test_a_tsv_is_a_table_if_its_first_line_says_so_and_else_conll(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\ttext\n1\tDr. Ames\n")
    (tmp_path / "b.tsv").write_text("Dr\tO\nAmes\tB-DOCTOR\n")
    assert read_corpus(tmp_path / "a.tsv").documents == (Document("1", "Dr. Ames"),)
    assert read_corpus(tmp_path / "b.tsv").documents == (Document("b", "Dr Ames", (Span(3, 7, "DOCTOR"),)),)


@pytest.mark.parametrize("spans", [SPANS, json.loads(SPANS)])
@pytest.mark.parametrize("id", ["7", 7, 7.0])
@pytest.mark.parametrize("patient", ["110", 110, 110.0])
def test_a_parquet_of_others(
    spans: list[dict[str, int | str]] | str, id: float | str, patient: float | str, tmp_path: Path
) -> None:
    table = pyarrow.table({"note_id": [id], "ward": [[1]], "mrn": [patient], "body": [NOTE.text], "spans": [spans]})
    parquet.write_table(table, tmp_path / "notes.parquet")
    corpus = read_corpus(tmp_path / "notes.parquet", columns=OWN)
    assert corpus.documents == (NOTE,)
    assert corpus.warnings == {"columns left out, ward": 1}


def test_categories_as_pandas_writes_them_and_a_table_without_patients(tmp_path: Path) -> None:
    ids = pyarrow.array(["7", "8"]).dictionary_encode()
    parquet.write_table(pyarrow.table({"id": ids, "text": ["Dr. Ames", "x"]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("id,text\n7,Dr. Ames\n8,x\n")
    first, second = (read_corpus(tmp_path / name) for name in ("a.csv", "a.parquet"))
    assert first == second
    assert [document.group for document in first.documents] == ["7", "8"]
    assert first.warnings == {"notes without a column group, so that the patient is read from the id": 2}


@pytest.mark.parametrize(("ending", "format"), [("jsonl.gz", "jsonl"), ("csv.gz", "csv")])
def test_a_packed_corpus_comes_back_and_is_the_same_bytes_each_time(ending: str, format: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_corpus(CORPUS, tmp_path / name / f"notes.{ending}", format=format)
    first, second = ((tmp_path / name / f"notes.{ending}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert gzip.decompress(first)
    assert read_corpus(tmp_path / "a") == CORPUS
    (tmp_path / "a" / f"notes.{ending}").write_bytes(first[:-9])
    with pytest.raises(CorpusError, match="is a damaged gzip file"):
        read_corpus(tmp_path / "a")


def test_a_table_beside_notes_is_about_them_and_alone_it_is_the_corpus(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "notes", format="brat")
    (tmp_path / "notes" / "wards.csv").write_text("id,ward\n1,2\n")
    assert recognise(tmp_path / "notes").format.name == "brat"
    for part in ("part-0", "part-1"):
        document = Document(part, "x")
        write_corpus(Corpus((document,), CORPUS.label_set), tmp_path / "parts" / f"{part}.parquet", format="parquet")
    assert [document.id for document in read_corpus(tmp_path / "parts").documents] == ["part-0", "part-1"]


@pytest.mark.parametrize(
    ("columns", "reported"),
    [
        (ColumnNames(id="note_idd"), r"no column note_idd \(did you mean note_id\?\); .* with --id-column"),
        (ColumnNames("note_id", "bdy"), r"no column bdy \(did you mean body\?\); it has note_id, ward, mrn,"),
        (ColumnNames("note_id", "body", "mnr"), r"no column mnr \(did you mean mrn\?\); .* with --patient-column"),
    ],
)
@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
def test_a_missing_column_is_reported_with_those_there_the_nearest_and_the_option(
    format: Any, columns: Any, reported: Any, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{format}"
    if format == "csv":
        path.write_text(csv_of(","))
    elif format == "jsonl":
        path.write_text(json.dumps({"note_id": "1", "ward": 7, "mrn": None, "body": "x", "spans": None}))
    else:
        parquet.write_table(pyarrow.table({name: ["x"] for name in csv_of(",").splitlines()[0].split(",")}), path)
    with pytest.raises(CorpusError, match=reported):
        read_corpus(path, columns=columns)


def test_one_column_cannot_be_two_things() -> None:
    with pytest.raises(SettingsError, match="--id-column, --text-column and --patient-column"):
        ColumnNames("text")


@given(st.text(max_size=40), st.integers(0, 3))
def test_no_header_shows_a_note(text: str, place: int) -> None:
    """A file without a header has a note where the names should be."""
    header = ["Birchwood", "ward", "Anselm"]
    header.insert(place, f"{text} was seen by Dr. Birchwood on the third of March")
    with pytest.raises(CorpusError) as caught:
        ColumnNames("a", "b").check("notes.csv", header)
    assert "Birchwood" not in str(caught.value)
    assert "Anselm" not in str(caught.value)
