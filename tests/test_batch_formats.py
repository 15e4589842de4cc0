"""Every input format: read row by row, written again, and only the text changed."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.rows import TABLES, FormatSettings, Row, open_format
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet

NAMED = FormatSettings(Columns("note", ("body",), rest="keep"))
needs_pyarrow = pytest.mark.skipif(util.find_spec("pyarrow") is None, reason="pyarrow is not installed")


def rewritten(
    path: Path, target: Path, settings: Any = NAMED, change: Callable[..., Any] | type[str] = str.upper, name: str = ""
) -> list[Row]:
    """What a run does with the rows: those that can be read are changed, the others are left out."""
    form = open_format(path, target, settings, name)
    rows = list(form.rows())
    pairs = [(row, [change(text) for text in row.texts]) for row in rows if not row.problem]
    form.table.assemble([form.encode(pairs[:2]), form.encode([]), form.encode(pairs[2:])], target)
    return rows


LINES = [
    b'{"body": "Dr. Ames", "note": "1", "x": 1.50, "y": {"body": "inner"}, "group": "p"}\n',
    b'  {"note":2,"body":"caf\xc3\xa9 \\u00e9","z":[1,  2]}\r\n',
    b"\n",
    b'{"note": "3", "body": "plain \\u00e9", "big": 123456789012345678901234567890}\n',
    b'{"note": "4", "body": null, "group": "q"}\n',
    b'{"note": "5", "body": ""}',
]


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.ndjson"])
def test_of_json_lines_only_the_value_of_the_text_changes(tmp_path: Path, name: str) -> None:
    content = b"".join(LINES)
    source, target = tmp_path / name, tmp_path / ("out-" + name)
    source.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    rows = rewritten(source, target)
    out = gzip.decompress(target.read_bytes()) if name.endswith(".gz") else target.read_bytes()
    expected = content.replace(b'"Dr. Ames"', b'"DR. AMES"').replace(b'"caf\xc3\xa9 \\u00e9"', '"CAFÉ É"'.encode())
    assert out == expected.replace(b'"plain \\u00e9"', b'"PLAIN \\u00c9"')
    assert [(row.id, row.patient, row.is_note) for row in rows if row.raw] == [
        ("1", "p", True), ("2", "2", True), ("", "", False), ("3", "3", True), ("4", "q", False), ("5", "5", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        b'{"note": "1", "body": "cut off',
        b'{"note": "1", "body": "secret"} x',
        b'{"note": "1", "body": "secret", "body": "twice"}',
        b'{"note": "1", "body": ["secret"]}',
        b'{"body": "secret"}',
        b'{"note": "1", "text": "secret"}',
        b'{"note": "se\\ncret", "body": "secret"}',
        b'["secret"]',
        b'{"note": "1", "body": "secret \xff"}',
        b"{" * 100_000,
    ],
)
def test_a_line_that_cannot_be_read_has_a_problem_without_text(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "in.jsonl").write_bytes(LINES[0] + line + b"\n" + LINES[0])
    rows = rewritten(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert [bool(row.problem) for row in rows] == [False, True, False]
    assert not rows[1].parts and rows[1].place == "line 2"
    assert not any("cret" in reported for reported in (rows[1].problem, rows[1].id, repr(rows[1])))
    assert (tmp_path / "out.jsonl").read_bytes() == 2 * LINES[0].replace(b"Dr. Ames", b"DR. AMES")


_JSON = st.recursive(st.none() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists, max_leaves=4)


@given(st.dictionaries(st.text(), _JSON, max_size=4), st.text(st.characters()), st.booleans())
def test_any_json_object_comes_back_with_the_new_text(
    tmp_path_factory: pytest.TempPathFactory,
    others: dict[str, float | list[float | list[float | list[str | None] | str | None] | str | None] | str | None],
    text: str,
    ascii_only: bool,
) -> None:
    record = {**others, "body": text, "note": "n"}
    line = json.dumps(record, ensure_ascii=ascii_only or not _utf8(json.dumps(record, ensure_ascii=False)))
    folder = tmp_path_factory.mktemp("json")
    (folder / "in.jsonl").write_text(line, encoding="utf-8", newline="")
    rewritten(folder / "in.jsonl", folder / "same.jsonl", change=str)
    assert (folder / "same.jsonl").read_text(encoding="utf-8") == line
    rewritten(folder / "in.jsonl", folder / "out.jsonl", change=lambda old: old + '"é\n')
    assert json.loads((folder / "out.jsonl").read_text(encoding="utf-8")) == {**record, "body": text + '"é\n'}


def _utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def test_a_line_longer_than_the_limit_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(LINES[0] + b'{"note": "9", "body": "' + b"x" * 500 + b'"}\n' + LINES[0])
    rows = rewritten(tmp_path / "in.jsonl", tmp_path / "out", FormatSettings(NAMED.columns, max_bytes=200))
    assert [row.problem for row in rows] == ["", "longer than the limit", ""]


def test_of_csv_only_the_field_of_the_text_changes(tmp_path: Path) -> None:
    content = '\ufeffgroup;body;note;"x y"\r\np;"Seen; ""ok""\r\nby Dr";1; 007 \r\nq;plain;2;""\r\n\r\nr;;3;"a;b"'
    (tmp_path / "in.csv").write_bytes(content.encode())
    rows = rewritten(tmp_path / "in.csv", tmp_path / "out.csv")
    expected = content.replace('"Seen; ""ok""\r\nby Dr"', '"SEEN; ""OK""\r\nBY DR"').replace("plain", "PLAIN")
    assert (tmp_path / "out.csv").read_bytes() == expected.encode()
    assert [(row.id, row.patient, row.place) for row in rows if row.is_note] == [
        ("1", "p", "line 2"), ("2", "q", "line 4"), ("3", "r", "line 6"),
    ]  # fmt: skip


_FIELDS = st.lists(st.tuples(st.text("ab,;\"\r\n é'", max_size=8), st.text('ab,;"\r\n é', max_size=8)), max_size=5)


@given(_FIELDS, st.sampled_from(",;\t|"), st.booleans())
def test_csv_is_read_as_the_csv_module_reads_it(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str]], delimiter: str, quote_all: bool
) -> None:
    written = io.StringIO()
    # The module leaves a carriage return unquoted if the line end is a newline.
    quoting, line_end = (csv.QUOTE_ALL, "\n") if quote_all else (csv.QUOTE_MINIMAL, "\r\n")
    writer = csv.writer(written, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows([("note", "body", "z"), *((i, *record) for i, record in enumerate(records))])
    folder = tmp_path_factory.mktemp("csv")
    (folder / "in.csv").write_text(written.getvalue(), encoding="utf-8", newline="")
    rows = rewritten(folder / "in.csv", folder / "same.csv", change=str)
    assert [row.texts for row in rows if row.is_note] == [(text,) for text, _ in records]
    assert (folder / "same.csv").read_bytes() == (folder / "in.csv").read_bytes()
    rewritten(folder / "in.csv", folder / "out.csv", change=lambda old: f'{old}{delimiter}"\n')
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.reader(file, delimiter=delimiter))
    assert read[1:] == [[str(i), f'{text}{delimiter}"\n', z] for i, (text, z) in enumerate(records)]


@pytest.mark.parametrize("record", ['1,"secret" x,a', "1,secret,a,b", "1,secret", '1,se"cre"t,a', "1,secret\xff,a"])
def test_a_csv_record_that_breaks_the_grammar_has_a_problem_without_text(tmp_path: Path, record: str) -> None:
    lines = ["note,body,z", "0,good,a", record, "2,good,a", ""]
    (tmp_path / "in.csv").write_bytes("\n".join(lines).encode("latin-1"))
    rows = rewritten(tmp_path / "in.csv", tmp_path / "out.csv")
    assert [bool(row.problem) for row in rows] == [False, False, True, False]
    assert "secret" not in repr(rows[2]) + rows[2].problem + rows[2].id
    assert (tmp_path / "out.csv").read_text() == "note,body,z\n0,GOOD,a\n2,GOOD,a\n"


def test_what_follows_an_open_quote_is_never_taken_for_records(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('note,body\n0,good\n1,"Mr Smith, seen\nMr Jones, seen\n')
    rows = rewritten(tmp_path / "in.csv", tmp_path / "out.csv")
    assert [bool(row.problem) for row in rows] == [False, False, True]
    small = FormatSettings(NAMED.columns, max_bytes=20)
    rows = rewritten(tmp_path / "in.csv", tmp_path / "small.csv", small)
    assert [bool(row.problem) for row in rows] == [False, False, True]
    assert (tmp_path / "small.csv").read_text() == "note,body\n0,GOOD\n"


def test_single_byte_encodings_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("note,body,z\n1,café,señor\n".encode("cp1252"))
    rewritten(tmp_path / "in.csv", tmp_path / "out.csv", FormatSettings(NAMED.columns, "cp1252"))
    assert (tmp_path / "out.csv").read_bytes() == "note,body,z\n1,CAFÉ,señor\n".encode("cp1252")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "shift_jis", "no-such", "cp037"])
def test_encodings_in_which_lines_cannot_be_told_apart_are_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in.csv").write_text("note,body\n")
    with pytest.raises(SettingsError, match="encoding"):
        open_format(tmp_path / "in.csv", tmp_path / "out.csv", FormatSettings(NAMED.columns, encoding))


@needs_pyarrow
def test_of_parquet_only_the_text_column_changes(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    kind = pyarrow.struct([("a", pyarrow.list_(pyarrow.int32()))])
    table = pyarrow.table(
        {
            "x": pyarrow.array([{"a": [i]} if i % 3 else None for i in range(600)], kind),
            "note": pyarrow.array(range(600), pyarrow.int64()),
            "body": pyarrow.array([None if i % 7 == 0 else f"text {i}" for i in range(600)], pyarrow.large_string()),
            "group": pyarrow.array([f"p{i // 2}" for i in range(600)]).dictionary_encode(),
        }
    ).replace_schema_metadata({"made by": "a test"})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=250, compression="zstd")
    rows = rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")
    read = parquet.read_table(tmp_path / "out.parquet")
    assert read.schema.metadata[b"made by"] == b"a test"
    assert read.drop(["body"]).equals(parquet.read_table(tmp_path / "in.parquet").drop(["body"]))
    assert read["body"].to_pylist() == [None if i % 7 == 0 else f"TEXT {i}" for i in range(600)]
    assert parquet.ParquetFile(tmp_path / "out.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
    assert [row.patient for row in rows[:4]] == ["p0", "p0", "p1", "p1"]
    assert sum(row.is_note for row in rows) == sum(i % 7 != 0 for i in range(600))


@needs_pyarrow
def test_a_damaged_row_group_is_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    ids = [f"n{i}" for i in range(30)]
    table = pyarrow.table({"note": ids, "body": [f"words {i} " * 50 for i in range(30)]})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=10, compression="gzip")
    group = parquet.ParquetFile(tmp_path / "in.parquet").metadata.row_group(1)
    content = bytearray((tmp_path / "in.parquet").read_bytes())
    start = group.column(1).dictionary_page_offset or group.column(1).data_page_offset
    content[start : start + group.column(1).total_compressed_size] = b"\xff" * group.column(1).total_compressed_size
    (tmp_path / "in.parquet").write_bytes(content)
    rows = rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert [row.place for row in rows if row.problem] == [f"row {i}" for i in range(11, 21)]
    assert parquet.read_table(tmp_path / "out.parquet")["note"].to_pylist() == ids[:10] + ids[20:]


def test_folders_of_text_come_out_with_their_folders(tmp_path: Path) -> None:
    for name in ("b/110-02.txt", "b/110-01.txt", "a.txt", "c/d/e.TXT", ".hidden.txt", "b/scan.pdf"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    rows = rewritten(tmp_path / "in", tmp_path / "out")
    assert [(row.id, row.patient) for row in rows] == [
        ("a", "a"), ("b/110-01", "110"), ("b/110-02", "110"), ("c/d/e", "e"),
    ]  # fmt: skip
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert written == {"a.txt", "b/110-01.txt", "b/110-02.txt", "c/d/e.TXT"}
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"\xef\xbb\xbfONE\r\nTWO"


def test_annotation_that_quotes_phi_never_comes_out(tmp_path: Path) -> None:
    (tmp_path / "brat").mkdir()
    (tmp_path / "brat" / "1.txt").write_text("Dr. Ames")
    (tmp_path / "brat" / "1.ann").write_text("T1\tDOCTOR 4 8\tAmes\n")
    rewritten(tmp_path / "brat", tmp_path / "out")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"1.txt": "DR. AMES", "1.ann": ""}
    (tmp_path / "xml").mkdir()
    tag = '<NAME id="P0" start="4" end="8" text="Ames" TYPE="DOCTOR" comment=""/>'
    xml = f"<deIdi2b2>\n<TEXT><![CDATA[Dr. Ames &\n]]></TEXT>\n<TAGS>{tag}</TAGS>\n</deIdi2b2>\n"
    (tmp_path / "xml" / "110-01.xml").write_text(xml)
    (tmp_path / "xml" / "110-02.xml").write_text(xml.replace("</TEXT>", ""))
    rows = rewritten(tmp_path / "xml", tmp_path / "xml-out")
    assert [bool(row.problem) for row in rows] == [False, True] and str(tmp_path) not in rows[1].problem
    assert [path.name for path in (tmp_path / "xml-out").iterdir()] == ["110-01.xml"]
    assert "Ames" not in (tmp_path / "xml-out" / "110-01.xml").read_text()
    note = read_corpus(tmp_path / "xml-out").documents[0]
    assert (note.text, note.spans) == ("DR. AMES &\n", ())


def test_notes_in_mixed_encodings_do_not_come_out_wrong(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for encoding in ("utf-8", "cp1252", "utf-16"):
        (tmp_path / "in" / f"{encoding}.txt").write_bytes("señor García".encode(encoding))
    rows = rewritten(tmp_path / "in", tmp_path / "out")
    assert {row.id: bool(row.problem) for row in rows} == {"utf-8": False, "cp1252": True, "utf-16": True}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["utf-8.txt"]


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
@pytest.mark.parametrize("source", ["in.csv", "in.csv.gz"])
def test_csv_is_compressed_if_the_name_of_the_output_says_so(tmp_path: Path, source: str, name: str) -> None:
    content = b"note,body\n1,one\n2,two\n3,three\n"
    (tmp_path / source).write_bytes(gzip.compress(content) if source.endswith(".gz") else content)
    rewritten(tmp_path / source, tmp_path / name)
    written = (tmp_path / name).read_bytes()
    expected = content.replace(b"one", b"ONE").replace(b"two", b"TWO").replace(b"three", b"THREE")
    assert (gzip.decompress(written) if name.endswith(".gz") else written) == expected
    assert [row.texts for row in open_format(tmp_path / name, tmp_path / name, NAMED).rows() if row.is_note] == [
        ("ONE",), ("TWO",), ("THREE",),
    ]  # fmt: skip


@needs_pyarrow
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_parquet_keeps_its_compression(tmp_path: Path, compression: str) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"note": ["1", "2", "3"], "body": ["a", None, "b"]})
    parquet.write_table(table, tmp_path / "in.parquet", compression=compression)
    rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = [parquet.ParquetFile(tmp_path / f"{name}.parquet").metadata.row_group(0) for name in ("in", "out")]
    assert found[0].column(1).compression == found[1].column(1).compression
    assert parquet.read_table(tmp_path / "out.parquet")["body"].to_pylist() == ["A", None, "B"]


def test_a_column_of_patients_that_was_named_must_be_there(tmp_path: Path) -> None:
    """A typing error in its name would give every note its own patient, and surrogates would not fit together."""
    named = FormatSettings(Columns("note", ("body",), "subject", rest="keep"))
    (tmp_path / "in.csv").write_text("note,body,group\n1,a,p\n")
    with pytest.raises(CorpusError, match=r"has no column subject; .* --patient-column"):
        rewritten(tmp_path / "in.csv", tmp_path / "out.csv", named)
    (tmp_path / "in.jsonl").write_text('{"note": "1", "body": "a"}\n{"note": "2", "body": "a", "subject": null}\n')
    rows = rewritten(tmp_path / "in.jsonl", tmp_path / "out.jsonl", named)
    assert [row.problem for row in rows] == ["subject is missing or not a valid name of a patient", ""]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_whole_numbers_name_the_same_patient_however_they_are_stored(tmp_path: Path, form: str) -> None:
    """Tables with gaps turn whole numbers into floating-point numbers."""
    if form == "jsonl":
        patients = ["17", "17.0", '"17"', "null", "[1]", "true", '""']
        lines = [f'{{"note": "{i}-01", "body": "x", "group": {value}}}\n' for i, value in enumerate(patients)]
        (tmp_path / "in.jsonl").write_text("".join(lines))
        rows = rewritten(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
        assert [row.patient for row in rows if not row.problem] == ["17", "17", "17", "3", "6"]
        assert [row.place for row in rows if row.problem] == ["line 5", "line 6"]
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pyarrow.table({"note": ["1-01", "2-01"], "body": ["x", "x"], "group": [17.0, None]})
        parquet.write_table(table, tmp_path / "in.parquet")
        assert [row.patient for row in rewritten(tmp_path / "in.parquet", tmp_path / "out.parquet")] == ["17", "2"]


@pytest.mark.parametrize("columns", [("text", ("text",), "group"), ("id", ("text",), "text")])
def test_a_column_of_text_that_would_name_notes_in_reports_is_refused(columns: tuple[str, tuple[str], str]) -> None:
    with pytest.raises(SettingsError, match="cannot hold both"):
        Columns(*columns)


def test_what_is_wrong_with_a_file_is_reported_without_its_name(tmp_path: Path) -> None:
    (tmp_path / "in" / "ward").mkdir(parents=True)
    xml = "<deIdi2b2>\n<TEXT>Dr. Ames</TEXT>\n<TEXT>Dr. Hill</TEXT>\n<TAGS/>\n</deIdi2b2>\n"
    (tmp_path / "in" / "ward" / "ann-hill.xml").write_text(xml)
    (row,) = rewritten(tmp_path / "in", tmp_path / "out")
    assert row.problem and "hill" not in row.problem


def test_a_single_brat_file_becomes_a_single_file(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Dr. Ames")
    (tmp_path / "in.ann").write_text("T1\tDOCTOR 4 8\tAmes\n")
    rewritten(tmp_path / "in.txt", tmp_path / "out.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "in.ann", "out.txt"}


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in TABLES])
def test_every_format_of_notes_comes_out_in_the_same_form_with_the_new_text_and_no_spans(
    tmp_path: Path, format: str
) -> None:
    label = "FECHAS" if format == "meddocan" else "DATE"
    spans = () if format == "text" else (Span(4, 8, label),)
    notes = (Document("110-01", "Dr. Ames\nsaw café", spans, "110"), Document("110-02", "x ]]> y", (), "110"))
    labels = LabelSet.named("meddocan" if format == "meddocan" else "i2b2-2014")
    source, target = tmp_path / f"in.{format}", tmp_path / f"out.{format}"
    write_corpus(Corpus(notes, labels), source, format=format)
    rows = rewritten(source, target, FormatSettings(), name=format)
    assert [(row.id, row.patient, row.texts) for row in rows] == [(d.id, "110", (d.text,)) for d in notes]
    assert [dict(row.kept) for row in rows] == [{row.kept[0][0]: row.id} for row in rows]
    read = read_corpus(target, format=format)
    assert [(d.id, d.group, d.text, d.spans) for d in read.documents] == [
        (d.id, "110", d.text.upper(), ()) for d in notes
    ]
    with pytest.raises(CorpusError, match=r"must be given as a file|there is no file|holds no notes"):
        open_format(tmp_path if FORMATS[format].single_file else tmp_path / "none", target, FormatSettings(), format)


def test_one_note_of_a_file_that_cannot_be_read_or_written_stops_no_other(tmp_path: Path) -> None:
    lines = ["-DOCSTART-", '# id = "1"', '# text = "Ann"', "", "-DOCSTART-", '# id = "2"', '# text = "Bo"', "Ann 0 3 O"]
    (tmp_path / "in.conll").write_text("\n".join(lines))
    rows = rewritten(tmp_path / "in.conll", tmp_path / "out.conll", FormatSettings())
    assert [(row.id, row.texts) for row in rows] == [("1", ("Ann",)), ("2", ("Bo",))], "no span is read"
    form = open_format(tmp_path / "in.conll", tmp_path / "x.conll", FormatSettings())
    with pytest.raises(CorpusError, match="lone surrogate"):
        form.encode([(rows[0], ["\ud800"])])
    (tmp_path / "in.conll").write_text("\n".join([*lines, "a word without a tag"]))
    with pytest.raises(CorpusError, match=r"in.conll, line 9, is not a word with its BIO tag"):
        list(open_format(tmp_path / "in.conll", tmp_path / "x", FormatSettings()).rows())


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in"])
def test_an_input_in_another_encoding_is_refused_after_its_first_rows(tmp_path: Path, name: str) -> None:
    line = {"in.csv": "{},García\n", "in.jsonl": '{{"note": "{}", "body": "García"}}\n'}.get(name, "García {}")
    lines = [line.format(i) for i in range(3000)]
    if name == "in":
        (tmp_path / name).mkdir()
        for i, text in enumerate(lines[:20]):
            (tmp_path / name / f"{i}.txt").write_bytes(text.encode("cp1252"))
    else:
        header = "note,body\n" * (name == "in.csv")
        (tmp_path / name).write_bytes((header + "".join(lines)).encode("cp1252"))
    settings = FormatSettings(Columns() if name == "in" else NAMED.columns)
    ways = "convert it to UTF-8$" if name == "in.jsonl" else "convert .* or give --encoding cp1252"
    with pytest.raises(CorpusError, match=f"another encoding than utf-8: [0-9]+ of its first [0-9]+ notes .*; {ways}"):
        open_format(tmp_path / name, tmp_path / "out", settings).refuse_other_encoding()
    if name != "in.jsonl":
        open_format(tmp_path / name, tmp_path / "out", replace(settings, encoding="cp1252")).refuse_other_encoding()


def test_some_rows_in_another_encoding_do_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("note,body\n1,García\n".encode() + "".join("2,é\n" * 9).encode("cp1252"))
    open_format(tmp_path / "in.csv", tmp_path / "out", NAMED).refuse_other_encoding()
