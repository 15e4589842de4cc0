"""Tables in every command that reads notes, and notes through pipes."""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from subprocess import Popen
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.rows import FormatSettings, open_format
from phistack.ensemble.command_line.app import app
from phistack.ensemble.command_line.groups import ReadingOptions
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features import files
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.formats.recognise import recognise
from phistack.features.labels import LabelSet
from tests.annotated import annotated
from tests.fixture_types import Phistack

ROOT = Path(__file__).parents[1]
OWN = ("--id-column", "note_id", "--text-column", "body", "--patient-column", "mrn")
OTHERS = {"demo", "synthesize", "engines", "deidentify", "reidentify", "audit", "attack"}
COLUMNS = ("note_id", "mrn", "body", "spans", "ward", "dob")


def _corpus(n: int = 8) -> Corpus:
    text = "Seen by Dr. [Gorse{}|DOCTOR],\non [0{}/12/2019|DATE] at ward {}."
    notes = (annotated(text.format("abcdefghij"[i], i + 1, i), f"n{i}", f"p{i}") for i in range(n))
    return Corpus(tuple(notes), LabelSet.named("i2b2-2014"))


def _rows(corpus: Corpus) -> list[dict[str, int | str]]:
    return [
        {"note_id": d.id, "mrn": d.group, "body": d.text, "spans": json.dumps([vars_of(s) for s in d.spans]), "ward": 7,
         "dob": "1951"}
        for d in corpus.documents
    ]  # fmt: skip


def vars_of(span: Span) -> dict[str, int | str]:
    return {"start": span.start, "end": span.end, "label": span.label}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an engine, and notes as a table of the columns of somebody else."""
    folder = tmp_path_factory.mktemp("tables")
    write_corpus(_corpus(), folder / "notes.jsonl", format="jsonl")
    table = pyarrow.Table.from_pylist(_rows(_corpus()))
    parquet.write_table(table, folder / "own.parquet")
    lines = [";".join(COLUMNS)]
    for row in _rows(_corpus()):
        quoted = ('"{}"'.format(str(row[name]).replace('"', '""')) for name in COLUMNS)
        lines.append(";".join(quoted))
    (folder / "own.csv").write_text("\n".join(lines))
    train_bundle(_corpus(), folder / "engine", EngineSettings(folds=2).only(("regex", "crf")))
    return folder


@pytest.fixture
def piped(phistack: Phistack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Run a command with something on its standard input."""

    def run(content: Any, *arguments: Any) -> Any:
        files.standard_input.cache_clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return phistack(*arguments)

    yield run
    files.standard_input.cache_clear()


def test_every_command_that_reads_notes_takes_their_format_and_columns() -> None:
    wanted = set(signature(ReadingOptions).parameters)
    callbacks = {command.callback.__name__: command.callback for command in app.registered_commands}
    assert {name for name, command in callbacks.items() if not wanted <= set(signature(command).parameters)} == OTHERS


@pytest.mark.parametrize("table", ["own.csv", "own.parquet"])
def test_a_table_of_others_goes_through_convert_train_annotate_evaluate_and_explain(
    phistack: Phistack, home: Path, tmp_path: Path, table: str
) -> None:
    notes, engine, found = home / table, tmp_path / "engine", tmp_path / "found.csv"
    status, _, error = phistack("convert", notes, tmp_path / "notes.jsonl", *OWN)
    assert (status, error) == (0, "phistack: warning: columns left out, ward, dob: 2\n")
    assert read_corpus(tmp_path / "notes.jsonl") == _corpus()
    quick = ("--submodels", "regex,crf", "--folds", 2, "--jobs", 1)
    assert phistack("train", notes, "--model", engine, *quick, *OWN)[0] == 0
    status, _, error = phistack("annotate", notes, found, "--model", engine, *OWN)
    assert status == 0
    assert "columns left out, ward, dob: 2" in error
    assert [(d.id, d.text, d.group) for d in read_corpus(found).documents] == [
        (d.id, d.text, d.group) for d in _corpus().documents
    ]
    status, shown, _ = phistack("evaluate", notes, notes, *OWN)
    assert status == 0
    assert "100.00" in shown
    status, shown, _ = phistack("explain", notes, "--model", engine, *OWN)
    assert status == 0
    assert "DOCTOR" in shown


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3))
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet"])
def test_what_is_read_as_a_corpus_is_what_deidentify_reads(ending: str, texts: list[str]) -> None:
    """Two readers of the same tables, one whole and one row by row."""
    documents = tuple(Document(f"n{i}", text, (), f"p{i % 2}") for i, text in enumerate(texts))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"notes.{ending}"
        write_corpus(Corpus(documents, LabelSet.named("nut")), path, format=ending.removesuffix(".gz"))
        rows = [row for row in open_format(path, path, FormatSettings(Columns(rest="keep"))).rows() if row.is_note]
        assert [(row.id, row.texts, row.patient) for row in rows] == [(d.id, (d.text,), d.group) for d in documents]
        assert read_corpus(path).documents == documents


def test_a_wrong_column_is_reported_with_those_there_and_the_option(
    phistack: Phistack, home: Any, tmp_path: Path
) -> None:
    status, _, error = phistack("convert", home / "own.csv", tmp_path / "x.jsonl", "--id-column", "noteid")
    assert status == 1
    assert "no column noteid (did you mean note_id?); it has note_id, mrn, body, spans, ward, dob" in error
    assert "--id-column" in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "conll"])
def test_notes_come_through_a_pipe_and_the_format_is_seen(
    phistack: Phistack, piped: Callable[..., Any], home: Path, tmp_path: Path, format: str
) -> None:
    write_corpus(_corpus(), tmp_path / "in", format=format)
    content = (tmp_path / "in").read_bytes()
    status, _, error = piped(content, "convert", "-", tmp_path / "out.jsonl")
    assert (status, error) == (0, "")
    assert read_corpus(tmp_path / "out.jsonl") == _corpus()


@pytest.mark.parametrize("format", ["jsonl", "csv", "conll"])
def test_standard_output_holds_the_notes_and_nothing_else(
    phistack: Phistack, home: Path, tmp_path: Path, format: str
) -> None:
    status, shown, error = phistack("convert", home / "notes.jsonl", "-", "--to", format)
    assert status == 0
    assert error == "8 notes with 16 PHI are on standard output\n"
    (tmp_path / "out").write_text(shown, newline="")
    assert read_corpus(tmp_path / "out", format=format) == _corpus()


@pytest.mark.parametrize("ending", ["csv", "parquet", "conll", "jsonl.gz"])
def test_the_ending_of_the_output_tells_its_format(phistack: Phistack, tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    assert phistack("synthesize", first, "--documents", 3)[0] == 0
    assert phistack("convert", first, second)[0] == 0
    assert recognise(second).format.name == ending.removesuffix(".gz")
    assert first.read_bytes() == second.read_bytes()


def test_a_note_of_plain_text_is_annotated_through_pipes(piped: Callable[..., Any], home: Path) -> None:
    status, shown, error = piped(
        "Seen by Dr. Gorseä,\non 05/12/2019 at ward 9.".encode(), "annotate", "-", "-", "--model", home / "engine"
    )
    assert status == 0
    note = json.loads(shown)
    assert note["id"] == "stdin"
    assert {"start": 23, "end": 33, "label": "DATE"} in note["spans"]
    assert "on standard output" in error


def test_lines_are_annotated_through_pipes_in_the_format_of_the_input(piped: Callable[..., Any], home: Path) -> None:
    content = (home / "own.csv").read_bytes()
    status, shown, _ = piped(content, "annotate", "-", "-", "--model", home / "engine", *OWN)
    assert status == 0
    assert shown.startswith("id,group,text,spans\r\n")
    status, shown, _ = piped(content, "explain", "-", "--model", home / "engine", *OWN)
    assert status == 0
    assert "DOCTOR" in shown


@pytest.mark.parametrize(
    ("content", "arguments", "reported"),
    [
        (b'{"id": "1", "text', ("convert", "-", "-", "--to", "jsonl"), "/dev/stdin, line 1: not valid JSON"),
        (b"\xff", ("convert", "-", "-", "--to", "jsonl"), "not utf-8 at byte 0"),
        (b"x", ("convert", "-", "-"), "the name - does not show a format; give one with --to"),
        (b"x", ("convert", "-", "folder"), "the name folder does not show a format; give one with --to"),
        (b"x", ("convert", "-", "-", "--to", "brat"), "brat takes several files, and standard output takes one"),
        (b"x", ("convert", "-", "-", "--to", "jsonl", "--from", "brat"), "brat has two files for each note, and"),
        (b"x", ("convert", "-", "-", "--to", "cvs"), "there is no format named cvs (did you mean csv?)"),
        (b"x", ("train", "-", "--model", "x"), "standard input is taken by annotate, convert and explain"),
        (b"x", ("deidentify", "-", "x", "--model", "x"), "interrupted run can continue; give file names, not -"),
        (b"x", ("deidentify", "x", "-", "--model", "x"), "interrupted run can continue; give file names, not -"),
    ],
)
def test_what_cannot_go_through_a_pipe_is_one_sentence_and_no_output(
    piped: Callable[..., Any], content: bytes, arguments: tuple[str, ...], reported: Any
) -> None:
    status, shown, error = piped(content, *arguments)
    assert (status, shown) == (1, "")
    assert reported in error
    assert error.count("phistack: ") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_more_notes_than_a_pipe_holds_come_through_whole(tmp_path: Path, unbuffered: str) -> None:
    many = Corpus(tuple(Document(f"n{i}", "x" * 1000) for i in range(500)), LabelSet.named("i2b2-2014"))
    write_corpus(many, tmp_path / "many.jsonl", format="jsonl")
    with _started("convert", tmp_path / "many.jsonl", "-", "--to", "jsonl", PYTHONUNBUFFERED=unbuffered) as process:
        assert process.stdout.read() == (tmp_path / "many.jsonl").read_bytes()
        assert process.wait(60) == 0


def _started(*arguments: Path | str, **environment: str) -> Popen[bytes]:
    code = "from phistack.ensemble.command_line.app import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip


def test_a_reader_that_leaves_early_ends_the_command_quietly(tmp_path: Path) -> None:
    """As `phistack convert notes - | head -1`, with more notes than a pipe holds."""
    many = Corpus(tuple(Document(f"n{i}", "x" * 1000) for i in range(500)), LabelSet.named("i2b2-2014"))
    write_corpus(many, tmp_path / "many.jsonl", format="jsonl")
    with _started("convert", tmp_path / "many.jsonl", "-", "--to", "jsonl") as process:
        assert process.stdout.readline().startswith(b'{"id": "n0"')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_tables_that_nobody_reads_end_quietly_too(home: Path) -> None:
    with _started("evaluate", home / "notes.jsonl", home / "notes.jsonl") as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_another_pipe_that_breaks_is_reported(phistack: Phistack, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("phistack.ensemble.tasks.annotating.explain_corpus", fail)
    monkeypatch.setattr("phistack.ensemble.command_line.app._is_cut_off", lambda: False)
    status, shown, error = phistack("explain", home / "notes.jsonl", "--model", home / "engine")
    assert (status, shown) == (1, "")
    assert "a process of this run ended early" in error
