"""A run on Spark, classic and by Spark Connect: the output of the local run, and no text in Spark's logs."""

import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from phistack.ensemble.batch import RunSettings, deidentify
from phistack.ensemble.batch.workers.clusters import connected
from phistack.features.errors import SettingsError
from tests import batch_engines as engines
from tests.batch_runs import ENVIRONMENT, KEY, SCRIPT, quarantine, results, run_over, started
from tests.test_batch_recovery import wait_for

HAS_SPARK = find_spec("pyspark") is not None and which("java") is not None
needs_spark = pytest.mark.skipif(not HAS_SPARK, reason="pyspark or java is not installed")
NAMES = ("Quist", "Zebulon", "Ames", "Hill")
NOTES = [
    (f"n{i}", f"p{i // 3}", f"Dr. Ames{i} saw Patient Ann Hill{i % 7}\non 03/12/2019, \u2013 na\u00efvely.")
    for i in range(300)
]
NOTES[40] = ("n40", "p13", "FAIL for Zebulon Quist")
MASTER = """
    if "sc:" in jobs:
        from pyspark.sql import SparkSession
        SparkSession.builder.remote("local[2]").getOrCreate()
    try:"""


def run_of(folder: Path, ending: str, load: str, **more: Any) -> RunSettings:
    """A run over the same notes in a format; one of them makes its process die, or wait."""
    folder.mkdir()
    NOTES[250] = ("n250", "p83", f"{'WAIT' if load == 'waiting' else 'DIE'} for Zebulon Quist")
    source = folder / f"in.{ending}"
    if ending == "csv":
        rows = "".join(f'{id},{group},"{text}"\n' for id, group, text in NOTES)
        source.write_text(f"id,group,text\n{rows}", encoding="utf-8")
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = dict(zip(("id", "group", "text"), zip(*NOTES, strict=True), strict=True))
        parquet.write_table(pytest.importorskip("pyarrow").table(columns), source)
    return run_over(source, policy="number", key=KEY, load=getattr(engines, load), **more)


@pytest.fixture
def on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts a run on Spark with an event log; and what Spark logged."""
    events = tmp_path / "events"
    events.mkdir()
    kept = {"enabled": "true", "compress": "false", "dir": events}
    options = " ".join([f"--conf spark.eventLog.{name}={value}" for name, value in kept.items()] + ["pyspark-shell"])
    for name, value in (("SUBMIT_ARGS", options), ("PYTHON", sys.executable)):
        monkeypatch.setitem(ENVIRONMENT, f"PYSPARK_{name}", value)
    monkeypatch.setitem(ENVIRONMENT, "SPARK_LOCAL_IP", "127.0.0.1")

    def start(run: RunSettings, load: str, master: str) -> Any:
        return started(run, load, master, SCRIPT.replace("jobs=int(jobs)", "spark=jobs").replace("\n    try:", MASTER))

    def logged() -> str:
        return b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file()).decode()

    return start, logged


@needs_spark
@pytest.mark.slow
def test_a_run_on_spark_writes_what_the_local_run_writes_and_spark_logs_no_text(tmp_path: Path, on_spark: Any) -> None:
    start, logged = on_spark
    local, run = (run_of(tmp_path / name, "parquet", "faulty", jobs=2) for name in ("local", "spark"))
    process = start(run, "faulty", "local[2]")
    deidentify(local)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 0, said
    assert results(run) == results(local)
    assert [note["id"] for note in quarantine(run)] == ["n40", "n250"]
    assert len(logged()) > 10_000 and "crashed" in logged()
    assert not [name for name in NAMES if name in said + logged()]


@needs_spark
@pytest.mark.slow
def test_a_run_by_spark_connect_that_is_killed_goes_on_with_what_is_missing(tmp_path: Path, on_spark: Any) -> None:
    start, logged = on_spark
    local, run = (run_of(tmp_path / name, "csv", "waiting") for name in ("local", "spark"))
    (run.model / "wait").touch()
    process = start(run, "waiting", "sc://localhost")
    wait_for(lambda: len(list(run.work.rglob("*.json"))) == 2 or process.poll() is not None)
    process.kill()
    said = process.communicate()[1]
    (run.model / "wait").unlink()
    deidentify(local)
    assert 0 < deidentify(run).start.notes < len(NOTES), said
    assert results(run) == results(local)
    assert [note["id"] for note in quarantine(run)] == ["n40"]
    assert len(logged()) > 10_000 and not [name for name in NAMES if name in said + logged()]


def test_two_clusters_are_one_sentence() -> None:
    with pytest.raises(SettingsError, match=r"^--cluster and --spark both say who does the work; give one of them$"):
        connected("tcp://127.0.0.1:9", "local[2]")
