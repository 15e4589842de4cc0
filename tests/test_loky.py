"""joblib's copy of loky, which is not public: what `ensemble/tools/processes.py` relies on and offers.

If this fails after an update of joblib, fix that file, or require a joblib below this version.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import pytest
from joblib.externals.loky import ProcessPoolExecutor, get_reusable_executor, process_executor

from phistack.ensemble.tools.numerics import ONE_THREAD
from phistack.ensemble.tools.processes import end_pool, in_processes, start_pool

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("make", [ProcessPoolExecutor, get_reusable_executor])
def test_pools_take_what_we_give(make: Any) -> None:
    assert {"max_workers", "timeout", "initializer", "initargs", "env"} <= set(inspect.signature(make).parameters)


def test_a_pool_can_be_ended_by_force_and_says_what_we_silence() -> None:
    assert "kill_workers" in inspect.signature(ProcessPoolExecutor.shutdown).parameters
    assert "A worker stopped while some jobs were given" in inspect.getsource(process_executor)


def test_workers_have_the_environment_and_die_with_the_pool() -> None:
    import os

    pool = start_pool(1)
    assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == ONE_THREAD["OMP_NUM_THREADS"]
    worker = pool.submit(os.getpid).result()
    end_pool(pool)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_no_other_module_of_ours_knows_it() -> None:
    packages = ("features", "tbed", "submodels", "ensemble", "benchmarks")
    knowing = {
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("joblib.externals")
    }
    assert knowing == {"ensemble/tools/processes.py"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_call_may_wait_for_what_another_returns(jobs: int) -> None:
    found: list[int] = []

    def calls() -> Iterator[Callable[[], int] | None]:
        yield partial(add, 1, 2)
        while 3 not in found:
            yield None
        yield partial(add, found[found.index(3)], 4)
        yield partial(add, 5, 6)

    for result in in_processes(calls(), jobs=jobs):
        found.append(result)
    assert sorted(found) == [3, 7, 11]
