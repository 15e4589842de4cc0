"""The columns of a table: none passes unless an option names it, and each comes out as asked."""

import csv
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, audit_run, deidentify
from phistack.ensemble.batch.columns import engine_label, treatments_of
from phistack.ensemble.batch.reports.shown_summary import done, held_back
from phistack.ensemble.batch.rows import Part, open_format
from phistack.ensemble.batch.workers import pool as workers
from phistack.ensemble.batch.workers.column_identifiers import with_column_identifiers
from phistack.ensemble.batch.workers.pool import Workers
from phistack.ensemble.batch.workers.work import process_chunk
from phistack.ensemble.deidentification import Policy, kind_of
from phistack.ensemble.deidentification.kinds import name_role
from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.features.documents import Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus
from phistack.features.formats.csv_table import parsed
from phistack.features.labels import LabelSet
from tests import batch_engines as engines
from tests.batch_runs import run_over
from tests.fixture_types import Phistack

KEY = b"0123456789abcdef-key"
ROWS = [
    {"id": "110-01", "name": "Hill, Ann", "born": "03/12/1950", "text": "Patient Ann Hill saw Dr. Ames.", "ward": "7"},
    {"id": "110-02", "name": "Hill, Ann", "born": "03/12/1950", "text": "Seen by Dr. Pell.", "ward": "of Ann Hill"},
]
ID_KEPT, KEPT = (Columns(others=dict.fromkeys(names, "keep")) for names in (["id"], ["id", "group"]))
NAMED = {"id": "keep", "name": "PATIENT", "born": "DATE", "ward": "keep"}


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows in the format that the file name says."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def read(path: Path) -> list[dict[str, float | str | None]]:
    """The rows of a file, each as a dictionary of strings."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    from pyarrow import parquet

    return parquet.read_table(path).to_pylist()


def done_over(
    path: Path, rows: list[dict[str, object]], columns: Columns, *more: Any
) -> tuple[list[dict[str, Any]], Any]:
    """The rows and the summary of a run over rows in the format that the path says."""
    run = run_over(write(path, rows), columns, *more)
    summary = deidentify(run)
    assert audit_run(run.target).problems == ()
    return read(run.target), summary


EACH_FORMAT = pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])


@EACH_FORMAT
def test_a_column_without_a_treatment_stops_the_run_before_the_first_note(tmp_path: Path, name: str) -> None:
    run = run_over(write(tmp_path / name, ROWS), Columns(others={"ward": "keep"}))
    with pytest.raises(CorpusError) as refused:
        deidentify(run)
    reported = str(refused.value)
    assert "what becomes of id, name, born; the columns of" in reported
    assert "are id, name, born, text, ward." in reported
    assert "--column id=ID --column name=NAME --column born=DATE (keep" in reported
    assert {path.name for path in tmp_path.iterdir()} == {name, "bundle"}


def test_a_column_that_only_the_last_line_has_stops_the_run_too(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"id": str(i), "text": "Dr. Ames"} for i in range(300)]
    source = write(tmp_path / "in.jsonl", [*rows, {"id": "x", "text": "", "nick": "Annie"}])
    run = run_over(source, ID_KEPT)
    with pytest.raises(CorpusError, match="what becomes of nick;"):
        deidentify(run)


def test_a_line_with_a_column_without_a_treatment_is_held_back(tmp_path: Path) -> None:
    """As in a file that grew after its columns were looked at."""
    source = write(tmp_path / "in.jsonl", [{"id": "1", "text": "a"}, {"id": "2", "text": None, "nick": "Annie"}])
    rows = list(open_format(source, tmp_path / "out.jsonl", FormatSettings(ID_KEPT)).rows())
    assert [row.problem for row in rows] == ["", "it has a column that no option names"]


@EACH_FORMAT
def test_each_column_comes_out_as_it_was_asked_for(tmp_path: Path, name: str) -> None:
    rows = [{**row, "mrn": "A-4711", "more": "Dr. Rusk called."} for row in ROWS]
    columns = Columns(others={**NAMED, "mrn": "remove", "more": "redact"})
    written, summary = done_over(tmp_path / name, rows, columns)
    assert written == [
        {"id": row["id"], "name": "[PATIENT]", "born": "[DATE]", "text": text, "ward": row["ward"],
         "more": "Dr. [DOCTOR] called."}
        for row, text in zip(ROWS, ["Patient [PATIENT] saw Dr. [DOCTOR].", "Seen by Dr. [DOCTOR]."], strict=True)
    ]  # fmt: skip
    assert summary.by_label == {"DOCTOR": 4, "PATIENT": 3, "DATE": 2}
    assert summary.settings["columns"]["patient"] is None, "no column group is there"
    assert summary.settings["columns"]["others"] == dict(columns.others)


@EACH_FORMAT
def test_a_column_of_names_has_the_surrogates_of_the_note(tmp_path: Path, name: str) -> None:
    rows = [{**row, "text": f"Patient Ann Hill came on {row['born']}."} for row in ROWS]
    for row in done_over(tmp_path / name, rows, Columns(others=NAMED), "surrogate", KEY)[0]:
        last, first = row["name"].split(", ")
        assert row["text"] == f"Patient {first} {last} came on {row['born']}."
        assert {first, last} & {"Ann", "Hill"} == set() and row["born"] != "03/12/1950"


@EACH_FORMAT
def test_identifiers_in_columns_are_replaced_in_the_texts_and_searched_for_in_kept_columns(
    tmp_path: Path, name: str
) -> None:
    texts = ["The wife of Ann Hill. HILL came from the hill, 03-12-1950.", "Ann: MRN 4711 or 47 11."]
    rows = [{**row, "text": text, "mrn": "4711"} for row, text in zip(ROWS, texts, strict=True)]
    columns = Columns(others={**NAMED, "mrn": "MEDICALRECORD"})
    written, summary = done_over(tmp_path / name, rows, columns)
    assert [row["text"] for row in written] == [
        "The wife of [PATIENT]. [PATIENT] came from the hill, [DATE].",
        "[PATIENT]: MRN [MEDICALRECORD] or [MEDICALRECORD].",
    ]
    assert summary.in_kept_columns == {"ward": 2}, "Ann Hill, and Hill alone"
    assert summary.still_there == {"PATIENT": 1}, "the hill"
    assert "3 identifiers may still be in the output, 2 of them in the column ward (see" in done(
        summary, tmp_path / "out"
    )


@EACH_FORMAT
@pytest.mark.parametrize(("treatment", "is_there"), [("MEDICALRECORD", True), ("remove", False)])
def test_the_column_of_the_patient_can_be_replaced_or_removed(
    tmp_path: Path, name: str, treatment: str, is_there: bool
) -> None:
    rows = [{"id": i, "text": "MRN 4711, Mr. Ng.", "name": "Ng", "mrn": 4711} for i in range(2)]
    rows[1] |= {"name": "", "text": "Ng is well; 4711."}
    columns = Columns(patient="mrn", others={"id": "keep", "mrn": treatment, "name": "PATIENT"})
    written, summary = done_over(tmp_path / name, rows, columns, "number", KEY)
    assert not any("Ng" in str(row) for row in written), "both are of one patient"
    assert any("4711" in str(row) for row in written) is not is_there
    assert len({row.get("mrn", "none") for row in written}) == 1
    assert all(("mrn" in row) is is_there for row in written)
    reported = done(summary, Path("x"))
    assert "; 1 column kept as it is: id; " in reported
    assert ("redacted: name, mrn; " if is_there else "removed: mrn; ") in reported


def test_the_column_of_the_patient_is_no_text() -> None:
    with pytest.raises(SettingsError, match="mrn holds the id or the patient, not a text of the note"):
        Columns(patient="mrn", others={"mrn": "redact"})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Mr. Ng. NG's wife: T. Ng sleeps; 5 ng/ml.", "Mr. [PATIENT]. [PATIENT]'s wife: [PATIENT] sleeps; 5 ng/ml."),
        ("Ng Tam, tam ng.", "[PATIENT], [PATIENT]."),
        ("No IV fluids, seen by an MD.", "No IV fluids, seen by an MD."),
    ],
)
def test_a_name_of_two_letters_in_a_column_is_replaced_except_in_small_letters(
    tmp_path: Path, text: str, written: str
) -> None:
    rows: list[dict[str, object]] = [{"id": "1", "name": "Ng, Tam IV, MD", "text": text}]
    columns = Columns(others={"id": "keep", "name": "PATIENT"})
    assert done_over(tmp_path / "in.csv", rows, columns)[0][0]["text"] == written


@EACH_FORMAT
def test_a_column_is_a_roster_of_the_patient(tmp_path: Path, name: str) -> None:
    """In any spelling, in any text of the patient's rows; ordinary words need a sign that they are a name."""
    texts = [
        "A. Castellanos (b. March 12, 1950), called Castelanos at work. Tel 0049 170 555 0193.",
        "Seen with CASTELLANOS A on 12-Mar-50; age 45, aged 45. She has hope.",
    ]
    known = {"name": "Ann Hope Castellanos", "born": "1950-03-12", "tel": "0170/5550193", "age": "45"}
    rows = [{"id": f"110-0{i}", **known, "text": text, "comment": text} for i, text in enumerate(texts)]
    labels = {"id": "keep", "name": "NAME", "born": "DATE", "tel": "CONTACT", "age": "AGE"}
    columns = Columns(("id"), ("text", "comment"), others=labels)
    found, _ = done_over(tmp_path / name, rows, columns)
    written = [
        "[PATIENT] (b. [DATE]), called [PATIENT] at work. Tel [PHONE].",
        "Seen with [PATIENT] on [DATE]; age 45, aged 45. She has hope.",
    ]
    for row, text in zip(found, written, strict=True):
        assert row["text"] == row["comment"] == text


def test_for_a_patient_of_many_rows_the_work_grows_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that differ from row to row are found in each row in any format, by one index."""
    made = []
    index = RecordSearch.index

    def counting(self: Any, record: Any) -> Any:
        made.append(sum(map(len, record.values())))
        return index(self, record)

    monkeypatch.setattr(RecordSearch, "index", counting)
    notes = []
    for i in range(40):
        month, day = divmod(i, 28)
        text = f"A. Castellanos, seen {month + 1}/{day + 1}/19."
        columns = Part("Ann Castellanos", "PATIENT"), Part(f"2019-{month + 1:02}-{day + 1:02}", "DATE")
        notes.append((*columns, Part(f"{4711000 + i}", "IDNUM"), Part(text)))
    found = [[(Span(0, len(p.text), p.label),) if p.label else () for p in parts] for parts in notes]
    known = with_column_identifiers(notes, found, RecordSearch(LabelSet.named("i2b2-2014"), "en"))
    assert made == [81], "a name, and the dates and numbers of 40 rows"
    for parts, (*_, in_text) in zip(notes, known, strict=True):
        there = {parts[-1].text[span.start : span.end] for span in in_text}
        assert {"A. Castellanos", parts[-1].text.partition("seen ")[2].rstrip(".")} <= there


def test_a_policy_that_keeps_what_the_detector_saw_uncovers_no_identifier_of_a_column(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.csv", [{"id": "1", "name": "Ann Hill", "text": "Dr. Hill, seen by Dr. Ames. Ann fell."}]
    )
    run = run_over(source, Columns(others={"id": "keep", "name": "PATIENT"}))
    deidentify(replace(run, policy=run.policy.with_overrides({"DOCTOR": "keep"})))
    assert read(tmp_path / "out.csv")[0]["text"] == "Dr. [PATIENT], seen by Dr. Ames. [PATIENT] fell."


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [("in.csv", "", "has no header line"), ("in.xlsx", "PK", "is a spreadsheet; save its sheet as CSV in UTF-8")],
)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path: Path, name: str, content: str, reason: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError, match=reason):
        deidentify(run_over(tmp_path / name, ID_KEPT))
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "out.csv.partial").exists()


def test_the_same_person_has_one_surrogate_in_all_columns_and_files(tmp_path: Path) -> None:
    found = set()
    for number, suffix in enumerate((".csv", ".jsonl")):
        (tmp_path / str(number)).mkdir()
        texts = ({"text": "Patient Ann Hill came.", "plan": "Call Ann Hill."}, {"text": "HILL, ANN", "plan": ""})
        rows = [{"id": f"110-{number}{i}", "name": "Hill, Ann", **text} for i, text in enumerate(texts)]
        source = write(tmp_path / str(number) / f"in{suffix}", rows)
        columns = Columns(texts=("text", "plan"), others={"id": "keep", "name": "PATIENT"})
        deidentify(run_over(source, columns, "surrogate", KEY))
        for row in read(source.with_name("out" + suffix)):
            last, first = str(row["name"]).split(", ")
            found.add((last, first))
            there = (f"Patient {first} {last} came.", f"Call {first} {last}."), (f"{last}, {first}".upper(), "")
            assert (row["text"], row["plan"]) in there
    assert len(found) == 1 and found != {("Hill", "Ann")}


def test_numbers_and_dates_of_columns_are_identifiers_too(tmp_path: Path) -> None:
    import datetime

    born, seen = datetime.date(1950, 3, 12), datetime.datetime(2019, 3, 12, 10, 30)
    row = {"id": 1, "mrn": 4711, "born": born, "seen": seen, "text": "MRN 47-11", "weight": 80.5}
    rows = [row, {**row, "mrn": None, "born": None}]
    others = {"id": "keep", "mrn": "MEDICALRECORD", "born": "DATE", "seen": "DATE", "weight": "keep"}
    written, summary = done_over(tmp_path / "in.parquet", rows, Columns(others=others), "mask")
    assert written == [
        {"id": 1, "mrn": "****", "born": "*" * 10, "seen": "*" * 19, "text": "MRN *****", "weight": 80.5},
        {"id": 1, "mrn": None, "born": None, "seen": "*" * 19, "text": "MRN *****", "weight": 80.5},
    ]
    assert summary.by_label == {"DATE": 3, "MEDICALRECORD": 3}
    first, listed = '{"id": 1, "mrn": 4711, "text": null}', '{"id": 2, "mrn": [1], "text": ""}'
    last = '{"mrn": null, "text": "", "id": 3}'
    (tmp_path / "in.jsonl").write_text(f"{first}\n{listed}\n{last}\n")
    summary = deidentify(
        run_over(tmp_path / "in.jsonl", Columns(others={"id": "keep", "mrn": "MEDICALRECORD"}), "mask")
    )
    assert (tmp_path / "out.jsonl").read_text() == first.replace("4711", '"****"') + f"\n{last}\n"
    assert held_back(summary) == [
        "1 note held back: mrn is neither a string nor a number; remove the column with --column NAME=remove"
    ]


def test_values_that_have_no_text_are_refused_before_the_first_note(tmp_path: Path) -> None:
    source = write(tmp_path / "in.parquet", [{"id": 1, "text": "x", "list": ["Ann Hill"]}])
    with pytest.raises(
        CorpusError, match=r"list .* holds list<.*>, which cannot be de-identified; give --column list=remove"
    ):
        deidentify(run_over(source, Columns(others={"id": "keep", "list": "redact"})))
    assert not (tmp_path / "out.parquet.partial").exists()


def test_what_pandas_noted_of_a_column_goes_with_it(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"id": ["1"], "text": ["Dr. Ames"], "secret": ["Ann"]})
    notes = {"pandas": json.dumps({"columns": [{"name": "secret"}]}), "made by": "a test"}
    parquet.write_table(table.replace_schema_metadata(notes), tmp_path / "in.parquet")
    deidentify(run_over(tmp_path / "in.parquet", Columns(others={"id": "keep", "secret": "remove"})))
    assert parquet.read_schema(tmp_path / "out.parquet").metadata == {b"made by": b"a test"}
    assert b"secret" not in (tmp_path / "out.parquet").read_bytes()


def test_annotations_never_pass_and_what_was_converted_comes_out_readable(tmp_path: Path, phistack: Phistack) -> None:
    line = {"id": "1", "group": "p", "text": "Dr. Ames", "spans": [{"start": 4, "end": 8, "label": "DOCTOR"}]}
    quoting = {**line, "id": "2", "spans": [{"start": 4, "end": 8, "label": "DOCTOR", "text": "Ames"}]}
    (tmp_path / "notes.jsonl").write_text(json.dumps(line) + "\n")
    assert phistack("convert", tmp_path / "notes.jsonl", tmp_path / "in.jsonl", "--to", "jsonl")[0] == 0
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write(json.dumps(quoting) + "\n")
    deidentify(run_over(tmp_path / "in.jsonl", KEPT))
    assert read(tmp_path / "out.jsonl") == [{"id": id, "group": "p", "text": "Dr. [DOCTOR]"} for id in "12"]
    assert [note.text for note in read_corpus(tmp_path / "out.jsonl").documents] == ["Dr. [DOCTOR]"] * 2
    with pytest.raises(SettingsError, match="spans belong to the text before de-identification"):
        Columns(others={"id": "keep", "spans": "keep"})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{ "a": 1 , "id" : "1","text": "", "b":[2, {"c": ","}] }\n', '{ "id" : "1","text": ""}\n'),
        ('{"text":"","a":"x","id":1,"b":null}', '{"text":"","id":1}'),
        ('\ufeff{"id": 1, "a": "}", "text": ""}\r\n', '\ufeff{"id": 1, "text": ""}\r\n'),
        ('{"id": 1, "b": 2, "a": 1, "text": null}', '{"id": 1, "text": null}'),
    ],
)
def test_of_a_json_line_the_rest_stays_byte_for_byte_where_members_are_removed(
    tmp_path: Path, line: str, expected: str
) -> None:
    (tmp_path / "in.jsonl").write_text(line, newline="")
    form = open_format(
        tmp_path / "in.jsonl",
        tmp_path / "out.jsonl",
        FormatSettings(Columns(others={"id": "keep", "a": "remove", "b": "remove"})),
    )
    assert form.encode([(row, row.texts) for row in form.rows()]).decode() == expected


def test_of_a_csv_file_the_rest_stays_byte_for_byte_where_columns_are_removed(tmp_path: Path) -> None:
    content = '\ufeffa;"text";b;id;c\r\nx;"Seen;""ok""";"1;\r\n2";1; 007 \r\n\r\n;;;2;"q"'
    (tmp_path / "in.csv").write_text(content, newline="")
    others = {"a": "remove", "b": "remove", "c": "keep", "id": "keep"}
    form = open_format(tmp_path / "in.csv", tmp_path / "out.csv", FormatSettings(Columns(others=others)))
    written = form.encode([(row, row.texts) for row in form.rows()]).decode()
    assert written == '\ufeff"text";id;c\r\n"Seen;""ok""";1; 007 \r\n\r\n;2;"q"'


TREATMENTS = st.sampled_from(["keep", "remove", "redact", "PATIENT", "MEDICALRECORD"])
VALUES = st.text("abcXYZ,;\"'\n\r é\\{}[]:0", max_size=6)


@given(
    treatments=st.lists(TREATMENTS, min_size=1, max_size=5),
    rows=st.lists(st.lists(VALUES, min_size=5, max_size=5), min_size=1, max_size=6),
    form=st.sampled_from([".csv", ".jsonl", ".parquet"]),
    broken=st.sets(st.integers(0, 5)),
    policy=st.sampled_from(["tag", "number", "mask", "remove"]),
)
@settings(max_examples=25)
def test_only_what_is_kept_comes_out(
    tmp_path_factory: pytest.TempPathFactory,
    treatments: list[str],
    rows: list[list[str]],
    form: str,
    broken: set[int],
    policy: str,
) -> None:
    """Each value has a mark that shows if it comes out anywhere; some rows cannot be read."""
    folder = tmp_path_factory.mktemp("table")
    names = [f"column {i}" for i in range(len(treatments))]
    table = [
        {"text": f"Dr. text{i} ok", "id": f"id{i}"}
        | {name: f"{'Dr. ' * (t == 'redact')}mark{k}x{i} {value}" for k, (name, t, value) in enumerate(cells)}
        for i, row in enumerate(rows)
        for cells in [list(zip(names, treatments, row, strict=False))]
    ]
    source = write(folder / f"in{form}", table)
    broken = {i for i in broken if i < len(rows)} if form == ".jsonl" else set()
    if broken:
        lines = source.read_bytes().splitlines()
        source.write_bytes(b"".join(line[: -3 * (i in broken) or None] + b"\n" for i, line in enumerate(lines)))
    run = run_over(source, Columns(others={"id": "keep", **dict(zip(names, treatments, strict=True))}), policy)
    summary = deidentify(run)
    assert summary.quarantined == len(broken)
    written = read(run.target)
    assert len(written) + len(broken) == len(rows)
    whole = run.target.read_bytes() if form != ".parquet" else json.dumps(written).encode()
    for k, (name, treatment) in enumerate(zip(names, treatments, strict=True)):
        marks = [f"mark{k}x{i} ".encode() in whole for i in range(len(rows)) if i not in broken]
        assert all(marks) if treatment == "keep" else not any(marks)
        expected = [row[name] for i, row in enumerate(table) if i not in broken]
        if treatment == "keep":
            assert [row[name] for row in written] == expected
        assert all((name in row) == (treatment != "remove") for row in written)
    assert b"text0" not in whole and audit_run(run.target).problems == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ward": "kepp"}, r"--column ward=kepp: .* \(did you mean keep\?\)"),
        ({"ward": "PATIANT"}, r"--column ward=PATIANT: .* \(did you mean PATIENT\?\)"),
        ({"wrad": "keep"}, r"no column wrad \(did you mean ward\?\); it has id, name, .*--column"),
    ],
)
def test_a_slip_in_a_treatment_or_a_name_is_reported_with_the_nearest(tmp_path: Path, given: Any, message: Any) -> None:
    others = {"id": "keep", "name": "PATIENT", "born": "DATE", **given}
    with pytest.raises((SettingsError, CorpusError), match=message):
        deidentify(run_over(write(tmp_path / "in.csv", ROWS), Columns(others=others)))


@pytest.mark.parametrize(
    ("columns", "option"),
    [
        (Columns(id="ID"), "--id-column"),
        (Columns(texts=("txt",)), "--text-column"),
        (Columns(patient="who"), "--patient-column"),
    ],
)
def test_a_missing_column_is_reported_with_those_that_are_there_and_the_option(
    tmp_path: Path, columns: Any, option: Any
) -> None:
    with pytest.raises(CorpusError, match=f"it has id, name, born, text, ward: name the right one with {option}"):
        deidentify(run_over(write(tmp_path / "in.csv", ROWS), columns))


def test_treatments_are_read_as_they_are_written() -> None:
    assert treatments_of(["a=keep", "b=c=PATIENT", "=remove"]) == {"a": "keep", "b=c": "PATIENT", "": "remove"}
    for wrong in (["a"], ["a="], ["a=keep", "a=remove"]):
        with pytest.raises(SettingsError, match="--column"):
            treatments_of(wrong)


def test_the_id_may_tell_the_patient_by_itself(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"id": "7", "text": "Dr. Ames"}]
    summary = done_over(tmp_path / "in.csv", rows, replace(ID_KEPT, patient="id"))[1]
    assert "1 column kept as it is: id;" in done(summary, tmp_path / "out.csv")


def test_notes_in_files_have_no_columns(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("Dr. Ames")
    run = run_over(tmp_path / "notes", Columns(others={"ward": "keep"}))
    with pytest.raises(SettingsError, match="leave out --column"):
        deidentify(run)
    assert deidentify(run_over(tmp_path / "notes", Columns())).settings["columns"] == {}


def test_a_warning_says_if_no_column_names_the_patient(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"id": "1", "text": "", "group": "p"}]
    with caplog.at_level(logging.WARNING, "phistack"):
        deidentify(run_over(write(tmp_path / "in.jsonl", rows), KEPT))
        assert caplog.text == ""
        deidentify(run_over(write(tmp_path / "in.csv", ROWS), Columns(others=NAMED)))
    assert (
        "no column names the patient of a note, so its id is used" in caplog.text and "--patient-column" in caplog.text
    )


def test_what_was_done_is_reported_and_never_that_nothing_is_left(tmp_path: Path) -> None:
    summary = done_over(tmp_path / "in.csv", ROWS, Columns(others={**NAMED, "born": "remove"}))[1]
    reported = done(summary, Path("clean.csv"))
    assert reported == (
        "5 identifiers replaced in 2 notes, written to clean.csv; 2 columns kept as they are: id, ward; 1 column "
        "redacted: name; 1 column removed: born; 1 identifier may still be in the output, 1 of them in the column ward "
        "(see clean.csv.run/summary.html)"
    )
    many = msgspec.structs.replace(summary, by_strategy={"tag": 1204, "keep": 2}, in_kept_columns={})
    assert "1,204 identifiers replaced" in done(many, Path("x")) and "2 identifiers kept by the policy" in done(
        many, Path("x")
    )
    assert "the checks found no others" in done(many, Path("x")) and "without PHI" not in reported


BAD = {
    "in.jsonl": [
        b'{"id": "1", "text": "\xff"}',
        b'{"id": "1", "text": ',
        b'{"text": "x"}',
        b'{"id": "1"}',
        b'{"id": "1", "text": "x", "group": [1]}',
        b'{"id": "1", "text": "FAIL"}',
        b'{"id": "1", "text": "WAIT"}',
    ],
    "in.csv": [b"id,text", b"1,\xff", b",x", b"2,a,b", b'3,"open'],
}


@pytest.mark.parametrize("name", BAD)
def test_every_reason_of_the_quarantine_comes_with_a_remedy(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\n".join(BAD[name]) + b"\n")
    run = run_over(tmp_path / name, ID_KEPT if name == "in.csv" else KEPT, timeout=0.2)
    summary = deidentify(RunSettings(**{**vars(run), "load": engines.faulty}))
    reported = held_back(summary)
    assert sum(int(line.split()[0]) for line in reported) == summary.quarantined > 3
    assert all("; " in line for line in reported)
    expected = (
        "not utf-8 at byte N of the record; try --encoding cp1252" if name == "in.csv" else "convert the file to UTF-8"
    )
    assert sum(expected in line for line in reported) == 1


@given(st.text(st.sampled_from('",a\n\r'), max_size=30))
def test_a_record_is_read_by_the_grammar_or_not_at_all(record: str) -> None:
    """The grammar of RFC 4180 by itself, for whole records of one comma-separated line of fields."""
    field = r'(?:"(?:[^"]|"")*"|[^",\r\n]*)'
    whole = re.fullmatch(rf"({field}(?:,{field})*)\r?\n?", record)
    read = parsed(record, ",")
    assert (read is None) == (whole is None)
    if read is not None:
        assert ",".join(read.spelled) + read.end == record
        assert [value.count('"') for value in read.values] == [
            (spelled.count('"') - 2) // 2 if spelled.startswith('"') else 0 for spelled in read.spelled
        ]


def test_a_field_of_many_megabytes_takes_no_step_for_each_character() -> None:
    record = '1,"' + "Nothing to report.\n" * 500_000 + '",x\n'
    begin = time.process_time()
    read = parsed(record, ",")
    assert read is not None and len(read.values) == 3
    assert time.process_time() - begin < 0.3


@pytest.mark.parametrize(
    ("header", "reported"),
    [
        (
            ",id,text",
            "what becomes of 1 column; the columns of {} are id, text and one without a name. .* --column =remove",
        ),
        ("id,text,Ann Hill came in with a cough today", "what becomes of 1 column; .* are 3 that do not look like"),
        ("id,text,Name of ward", "what becomes of Name of ward; .* --column 'Name of ward=NAME'"),
    ],
)
def test_names_are_reported_only_where_all_look_like_names(tmp_path: Path, header: Any, reported: Any) -> None:
    """A file without a header has a note there."""
    (tmp_path / "in.csv").write_text(header + "\n1,2,3\n")
    with pytest.raises(CorpusError, match=reported.format(tmp_path / "in.csv")) as refused:
        deidentify(run_over(tmp_path / "in.csv", ID_KEPT))
    assert "cough" not in str(refused.value)


@pytest.mark.parametrize("reported", [["id"], "id", {"id": "id", "texts": 3}, {"others": 5}])
def test_a_summary_whose_columns_were_changed_is_refused(tmp_path: Path, reported: Any) -> None:
    run = run_over(write(tmp_path / "in.csv", ROWS), Columns(others=NAMED))
    summary = deidentify(run).to_dict()
    summary["settings"]["columns"] = reported
    (run.reports / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(CorpusError, match="was changed"):
        audit_run(run.target)


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv.gz"])
def test_an_output_named_as_a_table_of_another_form_is_refused(tmp_path: Path, ending: str) -> None:
    run = run_over(write(tmp_path / "in.csv", ROWS), Columns(others=NAMED))
    target = tmp_path / f"out{ending}"
    if ending.startswith(".csv"):
        deidentify(replace(run, target=target))
    else:
        with pytest.raises(SettingsError, match=rf"out{ending} would be written as csv, .* the file ending of csv"):
            deidentify(replace(run, target=target))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "in.csv"]


def test_identifiers_in_the_names_of_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Ann_Hill.txt").write_text("Patient Ann Hill.")
    (tmp_path / "notes" / "1.txt").write_text("Patient Ann Hill.")
    summary = deidentify(run_over(tmp_path / "notes", Columns()))
    assert "; 2 file names kept as they are; 1 identifier" in done(summary, tmp_path / "out")
    assert "1 identifier may still be in the output, 1 of them in the names of files (see" in done(summary, Path("x"))
    assert audit_run(tmp_path / "out").problems == ()


def test_the_share_that_is_done_never_goes_back_where_chunks_come_back_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.Workers, "process", _last_first)
    shares = []
    monkeypatch.setattr(
        "phistack.ensemble.batch.runner.meter", lambda _: nullcontext(lambda n, share, q: shares.append(share))
    )
    rows = [{"id": i, "text": "Dr. Ames"} for i in range(400)]
    deidentify(run_over(write(tmp_path / "in.jsonl", rows), ID_KEPT))
    assert len(shares) > 2 and shares == sorted(shares) and shares[0] < 0.5 and shares[-1] == pytest.approx(1)


def _last_first(self: Workers, todo: Iterator[Any], deaths: Callable[..., Any]) -> Iterator[Any]:
    for chunk, notes in reversed(list(todo)):
        yield chunk, process_chunk(self.job, notes)


def test_all_that_is_in_the_way_of_an_output_is_named_at_once(tmp_path: Path) -> None:
    run = run_over(write(tmp_path / "in.csv", ROWS), Columns(others=NAMED))
    deidentify(run)
    other = replace(run, policy=Policy.named("mask"))
    with pytest.raises(SettingsError, match=r"/out.csv and \S*/out.csv.run are already there; remove them or give"):
        deidentify(other)
    run.target.unlink()
    with pytest.raises(SettingsError, match=r"/out.csv.run is already there; remove it or give"):
        deidentify(other)


@EACH_FORMAT
def test_a_pseudonym_is_one_code_in_every_row_and_run_and_is_searched_for_in_the_texts(
    tmp_path: Path, name: str
) -> None:
    mrns: list[object] = [4711, 4712, 4711]
    rows = [{"id": f"n{i}", "mrn": mrn, "text": f"MRN {mrn}, of Ann."} for i, mrn in enumerate(mrns)]
    columns = Columns(patient="mrn", others={"id": "keep", "mrn": "pseudonym"})
    run = run_over(write(tmp_path / name, rows), columns, "tag", KEY)
    summary = deidentify(run)
    codes = [row["mrn"] for row in read(run.target)]
    assert codes[0] == codes[2] != codes[1] and all(re.fullmatch("[0-9a-f]{16}", str(code)) for code in codes)
    assert [row["text"] for row in read(run.target)] == ["MRN [IDNUM], of Ann."] * 3
    assert "; 1 column kept as it is: id; 1 column replaced by codes: mrn; " in done(summary, run.target)
    assert audit_run(run.target).problems == ()
    again = replace(run, target=tmp_path / f"again{run.target.suffix}", policy=Policy.named("remove"))
    deidentify(again)
    assert [row["mrn"] for row in read(again.target)] == codes, "whatever the policy"
    other = replace(run, target=tmp_path / f"other{run.target.suffix}", key=b"another-key-of-16")
    deidentify(other)
    assert {row["mrn"] for row in read(other.target)}.isdisjoint(codes)
    with pytest.raises(SettingsError, match="--column mrn=pseudonym makes codes with a secret key; give --key-file"):
        deidentify(replace(run, target=tmp_path / f"none{run.target.suffix}", key=None))


def test_a_pseudonym_of_nothing_is_nothing_and_17_and_17_0_are_one(tmp_path: Path) -> None:
    lines = [{"id": i, "mrn": mrn, "text": ""} for i, mrn in enumerate([17, 17.0, "17", "", None])]
    columns = Columns(patient="mrn", others={"id": "pseudonym", "mrn": "pseudonym"})
    written, _ = done_over(tmp_path / "in.jsonl", lines, columns, "tag", KEY)
    assert len({row["mrn"] for row in written[:3]}) == 1 and [row["mrn"] for row in written[3:]] == ["", None]
    assert len({row["id"] for row in written}) == 5


@EACH_FORMAT
def test_the_id_may_be_replaced_or_removed(tmp_path: Path, name: str) -> None:
    for treatment in ("ID", "remove"):
        (tmp_path / treatment).mkdir()
        rows: list[dict[str, object]] = [{"id": f"{i}-01", "text": "Dr. Ames"} for i in range(3)]
        written, _ = done_over(tmp_path / treatment / name, rows, Columns(others={"id": treatment}), "remove")
        assert [row.get("id", "none") for row in written] == ["" if treatment == "ID" else "none"] * 3


@pytest.mark.parametrize("labels", LabelSet.names())
def test_names_that_hold_for_all_engines_are_labels_of_each(labels: str) -> None:
    label_set = LabelSet.named(labels)
    kinds = {"NAME": {"PERSON"}, "DATE": {"DATE"}, "ID": {"ID"}, "AGE": {"AGE"}, "CONTACT": {"PHONE", "EMAIL", "URL"}}
    for name, expected in kinds.items():
        label = engine_label(name, label_set)
        assert kind_of(label, labels) in expected or (label == name and label not in label_set)
        assert not name_role(label) and engine_label(label_set.labels[0], label_set) == label_set.labels[0]
    assert engine_label("ID", LabelSet.named("i2b2-2014")) == "IDNUM"
    assert engine_label("LOCATION", LabelSet.named("meddocan")) == "CALLE"


def test_a_birth_year_in_a_column_goes_where_a_note_says_that_the_patient_is_over_89(tmp_path: Path) -> None:
    year = str(date.today().year - 80)
    rows = [{"id": f"{i}", "group": f"{i}", "yob": year, "text": text} for i, text in enumerate(("97f", "well"))]
    columns = Columns(others={"yob": "DATE", "group": "keep", "id": "keep"})
    written, _ = done_over(tmp_path / "in.csv", rows, columns, "safe-harbor")
    assert [(row["yob"], row["text"]) for row in written] == [("[DATE]", "90+f"), (year, "well")]
