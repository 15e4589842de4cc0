"""Every adapter as one function, by its library: texts and patients in, texts and errors out."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from phistack import PhiRemover, redact_batches, redact_duckdb, redact_examples, redact_series, redact_spark
from phistack.ensemble.adapters.spans import presidio_recognizer

Redact = Callable[..., list[tuple[str | None, bool]]]
"""(texts, patients, **settings) -> the text and whether it is held back, of each."""


def _batches(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"n": [*range(len(texts))], "text": arrow.array(texts, arrow.string()), "of": patients})
    [*found] = redact_batches(table.to_batches(max_chunksize=2), patient="of", **settings)
    assert [batch.num_rows for batch in found] == [batch.num_rows for batch in table.to_batches(max_chunksize=2)]
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [(row["n"], row["of"]) for row in rows] == [*enumerate(patients)]
    return [(row["text"], row["phistack_error"] is not None) for row in rows]


def _series(library: str) -> Redact:
    def redact(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
        series: Any = pytest.importorskip(library).Series
        found = redact_series(series(texts), series(patients), **settings)
        missing: Any = (lambda v: v.isna().tolist()) if library == "pandas" else (lambda v: v.is_null().to_list())
        values = zip(found["text"].to_list(), missing(found["text"]), missing(found["error"]), strict=True)
        return [(None if is_null else text, not is_well) for text, is_null, is_well in values]

    return redact


def _datasets(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    notes = pytest.importorskip("datasets").Dataset.from_dict({"text": texts, "of": patients})
    found = notes.map(redact_examples(patient="of", **settings), batched=True)
    return [(row["text"], row["phistack_error"] is not None) for row in found]


def _duckdb(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    connection = pytest.importorskip("duckdb").connect()
    notes = pytest.importorskip("pyarrow").table({"n": [*range(len(texts))], "text": texts, "of": patients})
    connection.register("notes", notes)
    redact_duckdb(connection, **settings)
    found = connection.sql("SELECT r.text, r.error FROM (SELECT n, redact(text, of) AS r FROM notes) ORDER BY n")
    return [(text, error is not None) for text, error in found.fetchall()]


def _sklearn(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    named = {name: settings.pop(name) for name in ("model", "policy") if name in settings}
    with pytest.warns() if any("FAIL" in str(text) for text in texts) else pytest.MonkeyPatch.context():
        found = PhiRemover(**named, settings=settings).fit_transform(texts)
    return [(new, new is None and old is not None) for old, new in zip(texts, found, strict=True)]


def _marked(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    for start, end, label in sorted(spans, reverse=True):
        text = f"{text[:start]}[{label}]{text[end:]}"
    return text


def _spacy(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    nlp = pytest.importorskip("spacy").blank("en")
    from phistack.ensemble.adapters.core import job_of
    from phistack.ensemble.adapters.spacy_component import PhiMarker

    docs = nlp.pipe([text or "" for text in texts])
    found = []
    for text, doc in zip(texts, PhiMarker(job_of(**settings)).pipe(docs), strict=True):
        group = doc.spans["phistack"]
        assert len(group.attrs["scores"]) == len(group)
        new = _marked(doc.text, [(span.start_char, span.end_char, span.label_) for span in group])
        error = group.attrs["error"]
        assert not error or new in ("", "[TEXT THAT CANNOT BE READ]")
        found.append((None if error or text is None else new, bool(error)))
    return found


def _presidio(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    analyzer = pytest.importorskip("presidio_analyzer")
    anonymizer = pytest.importorskip("presidio_anonymizer").AnonymizerEngine()
    engine = analyzer.nlp_engine.SpacyNlpEngine()
    engine.nlp = {"en": pytest.importorskip("spacy").blank("en")}
    registry = analyzer.RecognizerRegistry([presidio_recognizer(**settings)])
    looking = analyzer.AnalyzerEngine(registry, engine)
    found = []
    for text in texts:
        results = looking.analyze(text or "", "en")
        held = [result.entity_type for result in results] == ["TEXT THAT CANNOT BE READ"]
        new = anonymizer.anonymize(text or "", results).text.replace("<", "[").replace(">", "]")
        assert not held or new == "[TEXT THAT CANNOT BE READ]"
        found.append((None if held or text is None else new, held))
    return found


def _spark(texts: Sequence[Any], patients: Sequence[Any], **settings: Any) -> Any:
    session = spark_session()
    rows = [*zip(range(len(texts)), texts, patients, strict=True)]
    notes = session.createDataFrame(rows, "n int, text string, of string")
    found = redact_spark(notes, patient="of", order="n", **settings).orderBy("n").collect()
    return [(row["text"], row["phistack_error"] is not None) for row in found]


def spark_session() -> Any:
    """A session of two cores; its workers import what this process imports."""
    sql = pytest.importorskip("pyspark.sql")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}
    return sql.SparkSession.builder.master("local[2]").config(map=options).getOrCreate()


OF_PATIENTS: dict[str, Redact] = {
    "batches": _batches,
    "pandas": _series("pandas"),
    "polars": _series("polars"),
    "datasets": _datasets,
    "duckdb": _duckdb,
    "spark": _spark,
}
"""Those that are told whose note each is."""

ADAPTERS: dict[str, Redact] = OF_PATIENTS | {"scikit-learn": _sklearn, "spacy": _spacy, "presidio": _presidio}

FOLDER = Path(__file__).parent
