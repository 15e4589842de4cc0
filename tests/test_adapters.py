"""One contract for every adapter: the text of the local run, nothing else changed, and no text in error messages."""

import importlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

from phistack import FormatSettings, RunSettings, redact_batches, redact_series, synthesize, write_corpus
from phistack.ensemble.adapters import core
from phistack.ensemble.adapters.core import job_of, redact_texts
from phistack.ensemble.batch import Columns, deidentify
from phistack.ensemble.deidentification import Policy
from phistack.features.errors import BundleError, PhistackError, SettingsError
from tests import batch_engines as engines
from tests import golden_bundle
from tests.adapters_contract import ADAPTERS, OF_PATIENTS, spark_session
from tests.batch_runs import KEY, run_over
from tests.test_readme import ROOT, Example, examples_of

NOTES = [
    ("110", "Patient Ann Hill saw Dr. Ames on 03/12/2019."),
    ("110", "Dr. Birch, not Dr. Ames, called\n\tPatient Hill \u2013 5 mg b.i.d."),
    ("110", ""),
    ("112", "Dr. Ames was away; Dr. Carter was not. Nothing else, na\u00efvely."),
    ("112", None),
    ("113", "No identifier at all."),
]
PATIENTS, TEXTS = [patient for patient, _ in NOTES], [text for _, text in NOTES]
GOLDEN = golden_bundle.GOLDEN.with_suffix(".zip")
LIBRARIES = (
    "datasets",
    "duckdb",
    "litellm",
    "pandas",
    "presidio_anonymizer",
    "pyarrow",
    "pyspark",
    "ray.data",
    "spacy",
)
PAGE = [e for e in examples_of((ROOT / "docs" / "adapters.md").read_text("utf-8")) if e.language == "python"]
COLUMNS = Columns(others={"id": "keep", "group": "keep"})


@pytest.fixture
def local(tmp_path: Path) -> Any:
    """Settings of adapters, and the notes as the command line redacts them with the same settings."""

    def run(policy: str, key: bytes | None = None) -> Any:
        rows = [{"id": f"n{i}", "group": of, "text": text} for i, (of, text) in enumerate(NOTES)]
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        settings = run_over(tmp_path / "in.jsonl", COLUMNS, policy, key, target=tmp_path / f"{policy}.jsonl")
        deidentify(settings)
        found = [json.loads(line)["text"] for line in settings.target.read_text().splitlines()]
        return {"model": GOLDEN, "policy": policy, "key": key, "load": engines.quick}, found

    return run


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_text_is_that_of_the_local_run_and_nothing_else_changed(name: str, local: Any) -> None:
    settings, expected = local("tag")
    assert ADAPTERS[name](TEXTS, PATIENTS, **settings) == [(text, False) for text in expected]
    assert expected[1] == "Dr. [DOCTOR], not Dr. [DOCTOR], called\n\tPatient [PATIENT] \u2013 5 mg b.i.d."
    assert [text for text, before in zip(expected, TEXTS, strict=True) if text == before] == ["", None, TEXTS[5]]


@pytest.mark.parametrize("name", OF_PATIENTS)
def test_notes_of_a_patient_share_what_is_known_as_in_the_local_run(name: str, local: Any) -> None:
    settings, expected = local("number")
    assert OF_PATIENTS[name](TEXTS, PATIENTS, **settings) == [(text, False) for text in expected]
    assert expected[1].startswith("Dr. [DOCTOR-2], not Dr. [DOCTOR-1],") and "[DOCTOR-1] was away" in expected[3]
    settings, expected = local("surrogate", KEY)
    assert OF_PATIENTS[name](TEXTS, PATIENTS, **settings) == [(text, False) for text in expected]


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_note_that_fails_or_takes_too_long_is_held_back_alone_and_never_quoted(
    name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    notes = ["Seen by Dr. Ames.", "FAIL for Zebulon Quist.", "WAIT for Zebulon Quist.", "Dr. Birch agrees."]
    caplog.set_level(logging.DEBUG)
    found = ADAPTERS[name](notes, ["1", "2", "3", "4"], model=GOLDEN, load=engines.faulty, timeout=0.5)
    assert found == [("Seen by Dr. [DOCTOR].", False), (None, True), (None, True), ("Dr. [DOCTOR] agrees.", False)]
    said = caplog.text + "".join(capfd.readouterr())
    assert "Zebulon" not in said and "Quist" not in said and "Ames" not in said


def test_errors_are_codes_with_a_reason(tmp_path: Path) -> None:
    job = job_of(engines.bundle(tmp_path / "bundle"), load=engines.faulty, timeout=0.2)
    given = ["FAIL Quist", "WAIT Quist", 17, None, float("nan")]
    found = [*redact_texts(((text, text) if text == 17 else (text, None) for text in given), job)]
    assert [result.error and result.error.partition(":")[0] for result in found[:2]] == ["failed", "time-limit"]
    assert [result.error for result in found[2:3]] == ["type: it is not a string"]
    assert found[3].error is None and [result.text for result in found] == [None] * 5
    assert "Quist" not in repr(found)


def test_columns_that_are_no_strings_are_held_back_row_by_row(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    settings: Any = {"model": engines.bundle(tmp_path / "bundle"), "load": engines.quick}
    [batch] = redact_batches([arrow.record_batch({"text": [1, None]})], **settings)
    assert batch.to_pylist() == [
        {"text": None, "phistack_error": "type: it is not a string"},
        {"text": None, "phistack_error": None},
    ]
    large = arrow.record_batch({"text": arrow.array(["Dr. Ames", None], arrow.large_string())})
    [empty, batch, last] = redact_batches([large[:0], large, large[:0]], **settings)
    assert (empty.num_rows, last.num_rows, batch.schema.field("text").type) == (0, 0, arrow.large_string())
    assert batch["text"].to_pylist() == ["Dr. [DOCTOR]", None]


def test_a_series_of_mixed_values_keeps_its_index_and_its_gaps(tmp_path: Path) -> None:
    settings: Any = {"model": engines.bundle(tmp_path / "bundle"), "load": engines.quick}
    mixed = pytest.importorskip("pandas").Series(["Dr. Ames", 3, None, float("nan")], index=[9, 8, 7, 6])
    found = redact_series(mixed, **settings)
    assert found.index.tolist() == [9, 8, 7, 6]
    assert found["error"].notna().tolist() == [False, True, False, False]


def test_ten_thousand_empty_rows_stay_empty(tmp_path: Path) -> None:
    job = job_of(engines.bundle(tmp_path / "bundle"), load=engines.quick)
    found = [*redact_texts((("", "1") for _ in range(10_000)), job)]
    assert {(result.text, result.error) for result in found} == {("", None)} and len(found) == 10_000


def test_a_trained_engine_writes_what_its_local_run_writes_and_says_what_it_cannot_read(tmp_path: Path) -> None:
    notes = synthesize(3, seed=9)
    given = [(document.text, document.group) for document in notes.documents]
    odd = ["\0\1\2" * 9, "Pacjent Anzelm skarży się na ból w klatce piersiowej od trzech dni i kaszel.\n" * 3]
    write_corpus(notes, tmp_path / "in.jsonl", format="jsonl")
    kept = FormatSettings(COLUMNS)
    deidentify(RunSettings(tmp_path / "in.jsonl", tmp_path / "out.jsonl", GOLDEN, Policy(), form_settings=kept))
    expected = [json.loads(line)["text"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    found = [*redact_texts([*given, *((text, None) for text in odd)], job_of(GOLDEN))]
    assert [result.text for result in found] == [*expected, None, None]
    assert [result.error.partition(":")[0] for result in found[-2:]] == ["not-text", "language"]
    assert all(0 < likely <= 1 for result in found for _, likely in result.places)


@pytest.mark.parametrize("example", PAGE, ids=lambda example: f"line-{example.line}")
def test_examples_of_the_page_run(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in filter(example.body.__contains__, LIBRARIES):
        pytest.importorskip(name)
    if "litellm" in example.body:
        pytest.importorskip("litellm")
    if "spacy" in example.body:
        importlib.import_module("phistack.ensemble.adapters.spacy_component")  # which an entry point imports
    if "ray.data" in example.body:
        warnings.simplefilter("ignore")  # Those of Ray for itself; pytest restores what was.
    if "pyspark" in example.body:
        spark_session()
    monkeypatch.setattr(core, "bundle_path", lambda name: GOLDEN)
    exec(example.body, {})  # noqa: S102


def test_what_cannot_work_is_refused_at_once_in_a_sentence(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    bundle = engines.bundle(tmp_path / "bundle")
    with pytest.raises(BundleError, match="there is no bundle at nowhere"):
        redact_batches([], model="nowhere")
    with pytest.raises(SettingsError, match="no policy named sfae-harbor"):
        redact_batches([], model=bundle, policy="sfae-harbor")
    batch = arrow.record_batch({"note": ["Dr. Ames"], "phistack_error": ["x"]})
    with pytest.raises(PhistackError, match="no column named text"):
        [*redact_batches([batch], model=bundle, load=engines.quick)]
    with pytest.raises(PhistackError, match="column phistack_error already"):
        [*redact_batches([batch], text="note", model=bundle, load=engines.quick)]
    series = pytest.importorskip("pandas").Series
    with pytest.raises(SettingsError, match="takes a series of pandas or polars"):
        redact_series(["text"], model=bundle)
    with pytest.raises(SettingsError, match="there are 2 texts and 1 patients"):
        redact_series(series(["a", "b"]), series(["1"]), model=bundle, load=engines.quick)
