"""Setup for every test: quiet numeric libraries with one thread each, and the same random examples each time."""

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from phistack.ensemble.command_line.app import main

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# The phase that explains a failure traces every line and may take longer than the suite.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)
# How fast examples are drawn depends on what else the machine does.
SLOW = (HealthCheck.too_slow,)
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=25, phases=PHASES, suppress_health_check=SLOW
)
settings.register_profile("explore", deadline=None, max_examples=1000, phases=PHASES, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: Any) -> None:
    """Files with slow tests come first, so none of them starts when the other processes have finished."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def phistack(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run the command; gives its status, standard output and standard error.

    A training on few notes is not compared with the engine that ships, as this would take longer than the training;
    tests marked `beside_shipped` do compare.
    """
    if request.node.get_closest_marker("beside_shipped") is None:
        monkeypatch.setattr("phistack.ensemble.tasks.training._FEW", 0)

    def run(*arguments: Any) -> Any:
        monkeypatch.setattr(sys, "argv", ["phistack", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return ended.value.code or 0, output.out, output.err

    return run
