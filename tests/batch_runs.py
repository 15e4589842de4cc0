"""Runs for the tests: their settings, their output, and a run in a process that can be killed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from phistack.ensemble.batch import Columns, FormatSettings, RunSettings
from phistack.ensemble.deidentification import Policy
from tests import batch_engines as engines

PLACES = filter(None, (os.environ.get("PYTHONPATH"), str(Path(__file__).parents[1])))
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PLACES), "OMP_NUM_THREADS": "1"}
KEY = b"0123456789abcdef"
REST_KEPT = Columns(rest="keep")
SCRIPT = """
import sys
from pathlib import Path
from tests import batch_engines
from tests.batch_runs import KEY, run_over
from phistack.ensemble.batch import deidentify
from phistack.features.errors import PhistackError
source, target, jobs, load = sys.argv[1:]
if __name__ == "__main__":
    try:
        deidentify(run_over(Path(source), policy="number", key=KEY, target=Path(target),
                            jobs=int(jobs), load=getattr(batch_engines, load)))
    except PhistackError as error:
        sys.exit(str(error))
"""


def run_over(
    source: Path, columns: Columns = REST_KEPT, policy: str = "tag", key: bytes | None = None, **more: Any
) -> RunSettings:
    """A run over an input by a quick engine; the output is `out` beside the input."""
    usual = {"target": source.with_name("out" + source.suffix), "load": engines.quick}
    bundle = engines.bundle(source.parent / "bundle")
    return RunSettings(
        source=source, model=bundle, policy=Policy.named(policy), key=key,
        **(usual | {"form_settings": FormatSettings(columns)} | more),
    )  # fmt: skip


def results(run: RunSettings) -> Any:
    """Everything that a run wrote, except times."""
    names = ("audit.jsonl", "quarantine.jsonl", "replaced.jsonl", "review.tsv", "summary.html")
    return [run.target.read_bytes(), *((run.reports / name).read_bytes() for name in names)]


def quarantine(run: RunSettings) -> Any:
    return [json.loads(line) for line in (run.reports / "quarantine.jsonl").read_text().splitlines()]


def started(run: RunSettings, load: str = "slow", jobs: int | str = 1, script: str = SCRIPT) -> Any:
    """A process that does a run with the settings of the fixtures of killed runs."""
    path = run.target.with_name("script.py")
    path.write_text(script)
    command = [sys.executable, path, run.source, run.target, str(jobs), load]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def finish(process: Any) -> None:
    reported = process.communicate(timeout=120)[1]
    assert process.returncode == 0, reported
