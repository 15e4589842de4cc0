"""OMOP's NOTE without options: as CSV, as Parquet, and in databases, complete or not at all, and never in place."""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w

from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, audit_run, deidentify
from phistack.ensemble.batch.reports.note_nlp import refuse_without_ids, write_note_nlp
from phistack.ensemble.batch.rows import laid_out
from phistack.ensemble.command_line.options import LAYOUTS
from phistack.features.errors import CorpusError, PhistackError, SettingsError, StorageError
from phistack.features.formats import database_table
from phistack.features.registry import packaged_table
from tests import batch_engines as engines
from tests.batch_runs import quarantine, run_over

NOTE = {
    **{"note_id": "INTEGER", "person_id": "INTEGER", "note_date": "DATE", "note_datetime": "TIMESTAMP"},
    **{"note_type_concept_id": "INTEGER", "note_class_concept_id": "INTEGER", "note_title": "VARCHAR(250)"},
    **{"note_text": "TEXT", "encoding_concept_id": "INTEGER", "language_concept_id": "INTEGER"},
    **{"provider_id": "INTEGER", "visit_occurrence_id": "INTEGER", "visit_detail_id": "INTEGER"},
    **{"note_source_value": "VARCHAR(50)", "note_event_id": "BIGINT", "note_event_field_concept_id": "INTEGER"},
}
"""The columns of CDM 5.4, and their types."""


def row(i: int) -> dict[str, Any]:
    """A row of 150, of 50 persons in mixed order; one fails, one has no text, and most have no title."""
    text = (
        "FAIL for Zebulon Quist"
        if i == 40
        else None
        if i == 41
        else f"Dr. Ames saw\n\tPatient Ann Hill, na\u00efve \u2013 {i}."
    )
    known = {"note_id": i, "person_id": i % 50, "note_date": "2019-03-07", "note_datetime": "2019-03-07 10:30:00"}
    title = "Letter of Dr. Birch" if i == 7 else None
    more = {
        "note_title": title,
        "note_text": text,
        "note_source_value": "MRN 17",
        "note_event_id": 2**40,
        "provider_id": 3,
    }
    return {**dict.fromkeys(NOTE), **known, "language_concept_id": 4180186, **more}


ROWS = [row(i) for i in range(150)]


def came_out(found: list[dict[str, Any]]) -> None:
    """Whether rows are the expected output for these, by columns."""
    by_id = {int(one["note_id"]): one for one in found}
    assert sorted(by_id) == [i for i in range(150) if i != 40] and len(found) == 149
    assert {*found[0]} == {*NOTE} - {"note_source_value"}
    assert by_id[7]["note_title"] == "Letter of Dr. [DOCTOR]" and not by_id[8]["note_title"]
    assert (
        by_id[9]["note_text"] == "Dr. [DOCTOR] saw\n\tPatient [PATIENT], na\u00efve \u2013 9."
        and not by_id[41]["note_text"]
    )
    assert by_id[9]["note_date"] == by_id[9]["note_datetime"] == "[DATE]"
    kept = ("person_id", "note_event_id", "language_concept_id", "provider_id")
    assert [str(by_id[9][name]) for name in kept] == ["9", str(2**40), "4180186", "3"]
    assert not by_id[9]["visit_detail_id"]


def run_of(source: Path, **more: Any) -> RunSettings:
    """A run with the layout alone, as the command makes it."""
    settings = laid_out(source, "omop", FormatSettings(Columns()))
    return replace(run_over(source, **({"load": engines.faulty} | more)), form_settings=settings)


def test_the_layout_has_every_column_of_note_and_the_command_line_names_it() -> None:
    layouts = packaged_table("phistack.ensemble.batch", "columns.toml")["layouts"]
    assert tuple(layouts) == LAYOUTS
    assert {*layouts["omop"]["columns"], "note_text"} == {*NOTE}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_with_the_columns_of_note_needs_no_option(tmp_path: Path, ending: str) -> None:
    source = tmp_path / f"NOTE.{ending}"
    if ending == "csv":
        with source.open("w", newline="", encoding="utf-8") as file:
            sheet = csv.DictWriter(file, [name.upper() for name in NOTE])
            sheet.writeheader()
            sheet.writerows({name.upper(): value for name, value in one.items()} for one in ROWS)
    else:
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.Table.from_pylist(ROWS), source)
    run = run_of(source)
    deidentify(run)
    if ending == "csv":
        with run.target.open(newline="", encoding="utf-8") as file:
            found = [{name.lower(): value for name, value in one.items()} for one in csv.DictReader(file)]
    else:
        found = parquet.read_table(run.target).to_pylist()
    came_out(found)
    assert [note["id"] for note in quarantine(run)] == ["40"]
    assert write_note_nlp(run.target, tmp_path / "nlp.csv") == 2 * 148
    with (tmp_path / "nlp.csv").open(newline="", encoding="utf-8") as file:
        first, second, *_ = csv.DictReader(file)
    assert [first[name] for name in ("note_nlp_id", "note_id", "offset")] == ["1", "0", "4"]
    assert (second["lexical_variant"], second["term_modifiers"]) == ("[PATIENT]", "label=PATIENT;strategy=tag")


@pytest.mark.parametrize(("name", "treatment"), [("note.csv", "remove"), ("note.txt", "keep")])
def test_note_nlp_without_ids_is_refused_before_the_run(tmp_path: Path, name: str, treatment: str) -> None:
    (tmp_path / name).write_text("id,text\n1,Dr. Ames\n")
    with pytest.raises(CorpusError, match="has no column of ids"):
        refuse_without_ids(tmp_path / name, FormatSettings(Columns(others={"id": treatment})))


def test_what_an_option_says_of_a_column_goes_before_the_layout(tmp_path: Path) -> None:
    (tmp_path / "note.csv").write_text("note_id,person_id,note_title,note_text,own\n1,1,Dr. Ames,Dr. Ames,x\n")
    given = Columns(texts=("note_text", "note_title"), others={"person_id": "ID", "own": "keep"})
    found = laid_out(tmp_path / "note.csv", "omop", FormatSettings(given)).columns
    assert (found.id, found.texts, found.patient) == ("note_id", ("note_text", "note_title"), "person_id")
    assert found.others == {"note_id": "keep", "person_id": "ID", "own": "keep"}
    (tmp_path / "note.txt").write_text("Dr. Ames")
    with pytest.raises(
        CorpusError, match=r"note\.txt is text and no table; omop names columns of jsonl, csv, parquet, "
    ):
        laid_out(tmp_path / "note.txt", "omop", FormatSettings())


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for these tests, on a socket in a folder."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not found or find_spec("psycopg") is None:
        pytest.skip("PostgreSQL's server or psycopg is not installed")
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(f"/tmp/phistack-pg-{os.getpid()}")  # A path of pytest's is too long for a socket.
    folder.mkdir(mode=0o700)
    if user:
        shutil.chown(folder, user)
    data, quiet = folder / "data", {"check": True, "user": user, "stdout": subprocess.DEVNULL, "cwd": folder}
    try:
        subprocess.run([found[-1], "-D", data, "-A", "trust", "-U", "me", "--no-sync", "-E", "UTF8"], **quiet)  # type: ignore[call-overload]
        control = [found[-1].with_name("pg_ctl"), "-D", data, "-w", "-l", folder / "log"]
        subprocess.run([*control, "-o", f"-c listen_addresses= -c fsync=off -k {folder}", "start"], **quiet)  # type: ignore[call-overload]
        yield f"postgresql+psycopg://me@/postgres?host={folder}"
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The address of a database with the table NOTE, and what its tables hold."""
    sql = pytest.importorskip("sqlalchemy")
    is_server = request.param == "postgresql"
    url = request.getfixturevalue("postgresql") if is_server else f"sqlite:///{tmp_path / 'cdm.db'}"
    engine = sql.create_engine(url, poolclass=sql.pool.NullPool)
    with engine.begin() as connection:
        for name in sql.inspect(connection).get_table_names():
            connection.execute(sql.text(f"DROP TABLE {name}"))
        connection.execute(sql.text(f"CREATE TABLE note ({', '.join(f'{n} {kind}' for n, kind in NOTE.items())})"))
        names = ", ".join(NOTE)
        connection.execute(sql.text(f"INSERT INTO note ({names}) VALUES (:{names.replace(', ', ', :')})"), ROWS)

    def tables() -> dict[str, list[dict[str, Any]]]:
        with engine.begin() as connection:
            there = sql.inspect(connection).get_table_names()
            return {n: [dict(r) for r in connection.execute(sql.text(f"SELECT * FROM {n}")).mappings()] for n in there}

    described = {"database": url, "table": "note", "order": ["person_id", "note_id"], "output": {"table": "clean"}}
    (tmp_path / "note.toml").write_text(tomli_w.dumps(described))
    return tmp_path / "note.toml", tables, engine


def test_in_a_database_the_notes_of_a_person_go_together_into_another_table(database: Any) -> None:
    source, tables, engine = database
    before = tables()["note"]
    run = run_of(source)
    summary = deidentify(run)
    after = tables()
    assert {*after} == {"note", "clean"} and after["note"] == before
    came_out(after["clean"])
    assert [one["person_id"] for one in after["clean"]] == sorted(i % 50 for i in range(150) if i != 40)
    assert (summary.notes, summary.quarantined) == (len(ROWS), 1) and quarantine(run)[0]["id"] == "40"
    assert audit_run(run.target).problems == () and not run.work.exists()
    assert deidentify(run).notes == summary.notes, "a finished run is not done again"
    with pytest.raises(SettingsError, match=r"^the table clean is already there; drop it or name another"):
        deidentify(replace(run, target=run.target.with_name("again.toml")))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE clean SET note_text = 'Ann Hill' WHERE note_id = 9")
    assert len(audit_run(run.target).problems) == 1, "whoever changes the output in the database is found out"


def test_a_database_that_goes_away_in_mid_run_is_one_sentence_and_nothing_is_doubled(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tables, engine = database
    is_server = engine.dialect.name == "postgresql"
    run, gone = run_of(source), []
    monkeypatch.setattr(database_table, "_ROWS_AT_ONCE", 50)

    def load(path: Path) -> Any:
        if is_server:
            with engine.begin() as connection:
                others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'me'"
                gone.append(connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {others}").all())
        return engines.faulty(path)

    if is_server:
        with pytest.raises(
            StorageError, match=r"^the database with the table note does not answer or refuses \("
        ) as raised:
            deidentify(replace(run, load=load))
        assert gone and "note_text" not in str(raised.value) and raised.value.__cause__ is None
    # Then it disappears while the output is written, and the process ends between the last two renames.
    decode, calls = msgspec.msgpack.decode, iter(range(3))
    monkeypatch.setattr("msgspec.msgpack.decode", lambda chunk: decode(chunk) if next(calls) else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        deidentify(run)
    monkeypatch.undo()
    assert {*tables()} == {"note", "clean_phistack_partial"} and not run.target.exists()
    monkeypatch.setattr("phistack.ensemble.batch.run_folder.make_way", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        deidentify(run)
    monkeypatch.undo()
    assert {*tables()} == {"note", "clean"} and not run.target.exists()
    deidentify(run)
    assert {*tables()} == {"note", "clean"}
    came_out(tables()["clean"])
    assert audit_run(run.target).problems == ()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_notes_that_were_held_back_for_the_time_limit_are_tried_again_and_the_table_is_replaced(database: Any) -> None:
    source, tables, engine = database
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE note SET note_text = 'WAIT for Dr. Ames' WHERE note_id = 40")
    run = run_of(source, load=engines.waiting, timeout=0.5)
    (run.model / "wait").touch()
    assert deidentify(run).quarantined == 1 and len(tables()["clean"]) == 149
    (run.model / "wait").unlink()
    assert deidentify(run).quarantined == 0 and len(tables()["clean"]) == 150
    assert [one["note_text"] for one in tables()["clean"] if one["note_id"] == 40] == ["WAIT for Dr. [DOCTOR]"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "note"}, "Object contains unknown field `rows`"),
        ({"order": []}, "order must name columns of note by which its rows are always in one order"),
        ({"order": ["mrn"]}, "order must name columns of note"),
        ({"table": "notes"}, "the database has no table notes"),
        ({"database": "postgresql://me:secret@/cdm"}, "leave the password out of the file, and set PHISTACK_DATABASE_"),
        ({"database": "nothing"}, "SQLAlchemy does not know such a database; give for example sqlite:///cdm.db"),
        ({"database": "nosuch://cdm"}, "SQLAlchemy does not know such a database"),
        ({"database": "sqlite:///none/cdm.db"}, "does not answer or refuses (OperationalError)"),
        ({"output": {"table": "note"}}, "the table note is already there"),
        ({"output": None}, "does not say what to write; add [output] with the name of a table"),
    ],
)
def test_a_description_that_cannot_work_is_one_sentence(
    tmp_path: Path, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = pytest.importorskip("sqlalchemy")
    with sql.create_engine(f"sqlite:///{tmp_path / 'cdm.db'}", poolclass=sql.pool.NullPool).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE note (note_id, person_id, note_text)")
        connection.exec_driver_sql("INSERT INTO note VALUES (1, 1, 'Dr. Ames')")
    described: dict[str, Any] = {"database": f"sqlite:///{tmp_path / 'cdm.db'}", "table": "note", "order": ["note_id"]}
    described = described | {"output": {"table": "clean"}} | change
    source = tmp_path / "note.toml"
    source.write_text(tomli_w.dumps({name: value for name, value in described.items() if value is not None}))
    with pytest.raises(PhistackError) as raised:
        deidentify(run_of(source))
    assert message in str(raised.value) and "secret" not in str(raised.value)
    assert not (tmp_path / "out.toml").exists() and not (tmp_path / "out.toml.partial").exists()
