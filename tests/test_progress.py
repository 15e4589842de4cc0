"""Whatever takes long reports progress from the first second on, and Ctrl-C says what is kept."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools import progress as shown
from phistack.ensemble.tools.processes import in_processes, keeping
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.fit_runs import Fit, FitWatch, reporting
from phistack.features.formats import write_corpus
from phistack.features.reporting import report
from tests.fixture_types import Phistack

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("progress") / "notes"
    write_corpus(synthesize(12, seed=1), folder, format="i2b2")
    return folder


def test_the_first_line_comes_at_once_and_steps_that_have_a_name_at_their_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("measuring", total=2) as advance:
        assert capsys.readouterr().err == "measuring: 0%\n"
        advance("")
        assert capsys.readouterr().err == ""
        advance("regex")
        assert capsys.readouterr().err == "measuring: 100%, 2 of 2: regex\n"


def test_a_line_comes_also_while_nothing_moves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "_SECONDS_BETWEEN_LINES", 0.1)
    with stage("loading"):
        time.sleep(1.5)
    assert len(capsys.readouterr().err.splitlines()) >= 3


def test_stages_within_count_for_their_weight_in_the_outermost(capsys: pytest.CaptureFixture[str]) -> None:
    with stage("curve", total=4):
        with stage("round 1 of 2", total=1, weight=3):
            pass
        with stage("round 2 of 2", total=2, weight=1), progress("training", total=2) as advance:
            advance("crf")
    shown = ["curve: 0%", "curve: round 2 of 2: training: 81%, 1 of 2: crf", "curve: 100%"]
    assert capsys.readouterr().err.splitlines() == shown


def test_the_time_left_is_that_of_what_was_done_since_the_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    with stage("de-identifying", total=1.0) as at:
        at.first, at.done = 0.5, 0.75
        at.begin -= 600
        at.finish()
    assert capsys.readouterr().err.splitlines()[1] == "de-identifying: 75%, about 10 min left"


def test_no_time_left_is_reported_before_a_fit_tells_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A one-minute curve once began with "about 7 h 45 min left"."""
    watch = FitWatch(
        [Fit("tbed", "fold 1 of 2", 9000.0, 30.0), Fit("tbed", "fold 2 of 2", 9000.0, 30.0)], tmp_path / "reports"
    )
    (tmp_path / "reports").write_text('[0, 10.0, null, ""]\n')
    with stage("training", total=1.0) as at:
        at.done, at.begin = 0.01, at.begin - 60
        with stage("", total=1.0, weight=0.9, look=watch.look) as fits:
            fits.finish()
            assert (
                capsys.readouterr().err.splitlines()[-1].endswith("1%, 0 of 2 fits, now tbed, fold 1 of 2, after 60 s")
            )
            watch.fits[0].seconds = 60.0
            fits.finish()
    assert re.search(r"46%, about 7\d s left", capsys.readouterr().err)


def test_an_error_leaves_no_stage_behind(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with pytest.raises(ValueError), stage("outer"), stage("inner"):
            raise ValueError
    assert capsys.readouterr().err == "outer\nouter\n"


def test_what_a_fit_reports_is_read_by_another_process(tmp_path: Path) -> None:
    watch = FitWatch(
        [Fit("crf", "fold 1 of 2", 100.0, 242.0), Fit("crf", "fold 2 of 2", 100.0, 242.0)], tmp_path / "reports"
    )
    assert watch.look() == (0.0, "0 of 2 fits")
    with reporting(tmp_path / "reports", 1):
        time.sleep(0.6)
        report(0.5, "iteration 20 of 40")
        share, words = watch.look()
        assert words == "0 of 2 fits, now crf, fold 2 of 2 (iteration 20 of 40)"
        assert share == pytest.approx(0.25)
    watch.fits[1].seconds = 12.0
    assert watch.look() == (pytest.approx(0.5), "1 of 2 fits")
    report(0.1, "nobody listens")


def test_a_fit_that_costs_next_to_nothing_does_not_say_what_the_others_take(tmp_path: Path) -> None:
    costs = {"blstm": 110.0, "crf": 35.0, "regex": 0.5}
    watch = FitWatch([Fit(name, "all", 1.0, cost) for name, cost in costs.items()], tmp_path / "reports")
    watch.fits[2].seconds = 3.0
    assert watch.look()[0] == 0.0
    watch.fits[1].seconds = 35.0
    assert watch.look()[0] == pytest.approx(38 / (38 + 110 * 38 / 35.5))


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    watch = FitWatch([Fit("crf", "all", 1.0, 242.0)], path)
    path.write_text('[0, 3.0, 0.5, "iter')
    assert watch.look()[1] == "0 of 1 fits"
    with path.open("a") as file:
        file.write('ation 2"]\n')
    assert watch.look()[1].endswith("(iteration 2)")


@given(data=st.data())
def test_the_share_is_one_whatever_is_known(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fits") / "reports"
    costs = {"blstm": 574.0, "crf": 242.0, "regex": 1.0}
    names = st.tuples(st.sampled_from([*costs]), st.integers(1, 10**6))
    fits = [Fit(name, "all", size, costs[name]) for name, size in data.draw(st.lists(names, min_size=1, max_size=6))]
    watch = FitWatch(fits, path)
    share = st.none() | st.floats(0, 1)
    for number in data.draw(st.lists(st.integers(0, len(fits) - 1))):
        with path.open("a") as file:
            file.write(json.dumps([number, data.draw(st.floats(0, 1e6)), data.draw(share), "words"]) + "\n")
        assert 0 <= watch.look()[0] <= 1
    for number in range(len(fits)):
        assert 0 <= watch.look()[0] <= 1
        watch.fits[number].seconds = data.draw(st.just(0.0) | st.floats(0.001, 1e5))
    assert watch.look()[0] == pytest.approx(1.0)


def test_a_fit_that_came_from_the_cache_does_not_make_the_rest_look_quick(tmp_path: Path) -> None:
    fits = [Fit("crf", f"fold {i} of 4", 100.0, 242.0) for i in range(4)]
    watch = FitWatch(fits, tmp_path / "reports")
    watch.fits[0].seconds = 0.0
    watch.fits[1].seconds = 0.0
    assert watch.look()[0] == 0
    watch.fits[2].seconds = 9.0
    assert watch.look()[0] == pytest.approx(0.5)


def _square(number: Any) -> Any:
    return number * number


def _die() -> None:
    os._exit(1)


def _refuse() -> None:
    raise ValueError("no")


@pytest.mark.parametrize("jobs", [1, 2])
def test_calls_in_processes_give_what_they_give(jobs: Any) -> None:
    calls = [partial(_square, number) for number in range(9)]
    assert list(in_processes(calls, jobs=jobs, in_order=True)) == [n * n for n in range(9)]
    assert sorted(in_processes(calls, jobs=jobs)) == [n * n for n in range(9)]
    with pytest.raises(ValueError, match="no"):
        list(in_processes([_refuse], jobs=jobs))


def test_a_process_that_dies_is_reported_as_want_of_memory() -> None:
    with pytest.raises(MemoryError):
        list(in_processes([_die], jobs=2))
    assert list(in_processes([partial(_square, 3)], jobs=2)) == [9]


_ASKED = """
from functools import partial
from pathlib import Path
from phistack.ensemble.tools.processes import in_processes
print(*in_processes([partial(Path.read_text, Path("/proc/self/status"))], jobs=2))
"""


def test_the_first_processes_of_a_command_do_not_hear_ctrl_c_either() -> None:
    """They once did while starting, and showed tracebacks; a process that has worked already has a tracker."""
    status = subprocess.run([sys.executable, "-c", _ASKED], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    blocked = int(re.search(r"SigBlk:\s*([0-9a-f]+)", status)[1], 16)
    assert blocked >> (signal.SIGINT - 1) & 1


def test_the_innermost_words_on_what_is_kept_are_reported() -> None:
    with pytest.raises(KeyboardInterrupt, match="inner"), keeping(lambda: "outer"), keeping(lambda: "inner"):
        raise KeyboardInterrupt


def _started(arguments: Any, folder: Any, *, terminal: Any) -> Any:
    """The command in its own process group, and the pipe or terminal that it writes to."""
    folder.mkdir()
    environment = os.environ | {"TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "COLUMNS": "120", "TERM": "xterm"}
    command = [sys.executable, "-m", "phistack.ensemble.command_line.app", *map(str, arguments)]
    ours, theirs = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT, start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    os.close(theirs)
    return process, ours


def _read_until(descriptor: Any, words: Any) -> Any:
    """What is written until some words appear, or to the end."""
    written = b""
    with suppress(OSError):  # a terminal whose other end is closed
        while words not in written and (more := os.read(descriptor, 65_536)):
            written += more
    return written


def _read_while(descriptor: Any, condition: Any) -> None:
    """Keep reading while a condition holds, so that no writer blocks."""
    while condition():
        if select.select([descriptor], [], [], 0.05)[0]:
            assert os.read(descriptor, 65_536)


def _processor_seconds(pid: Any) -> Any:
    """Processor seconds of a process so far, which do not depend on other work of the machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _alive(group: Any) -> Any:
    """The processes of a group that still run."""
    found = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True).stdout.split()
    return [status for status in found if not status.startswith("Z")]


def _wait_for_the_end_of(group: Any) -> Any:
    end = time.monotonic() + 30
    while _alive(group) and time.monotonic() < end:
        time.sleep(0.1)
    return _alive(group)


@pytest.mark.parametrize(
    ("terminal", "to_all", "stop"),
    [(False, False, signal.SIGTERM), (False, True, signal.SIGINT), (True, True, signal.SIGINT)],
)
def test_train_shows_life_within_a_second_and_says_when_stopped_what_is_kept(
    notes: Any, tmp_path: Path, terminal: Any, to_all: Any, stop: Any
) -> None:
    kept = ("--cache", tmp_path / "cache")
    arguments = ("train", notes, "--model", tmp_path / "engine", "--submodels", "regex,crf", *kept)
    process, output = _started(arguments, tmp_path / "temporary", terminal=terminal)
    _read_until(output, b"reading the notes")
    assert _processor_seconds(process.pid) < 1
    _read_while(output, lambda: not any((tmp_path / "cache").glob("*.json")))
    (os.killpg if to_all else os.kill)(process.pid, stop)
    reported = _read_until(output, b"not there").decode()
    assert process.wait(30) == 130
    assert re.search(
        r"phistack: stopped; \d+ of 12 fits are kept in .*cache, and the same command continues from there", reported
    )
    assert "Traceback" not in reported and "Error" not in reported
    assert not _wait_for_the_end_of(process.pid)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "temporary"]
    assert not list((tmp_path / "temporary").iterdir())
    os.close(output)


@pytest.mark.slow
def test_annotate_and_curve_show_life_too(phistack: Phistack, notes: Any, tmp_path: Path) -> None:
    assert phistack("train", notes, "--model", tmp_path / "engine", "--submodels", "regex", "--folds", 2)[0] == 0
    _, _, reported = phistack("annotate", notes, tmp_path / "out", "--model", tmp_path / "engine")
    assert reported.startswith("loading the engine\n") and "\nreading the notes\n" in reported
    assert re.search(r"^annotating: 0%.*\nannotating: 100%, 12 of 12", reported, re.MULTILINE)
    arguments = (notes, "--submodels", "regex", "--folds", 2, "--jobs", 1)
    _, _, reported = phistack("curve", *arguments, "--out", tmp_path / "curve", "--shares", "100", "--samples", 1)
    assert reported.startswith("reading the notes\nlearning curve: 0%\n")
    write_corpus(synthesize(10, seed=2), tmp_path / "others", format="i2b2")
    _, _, reported = phistack("transfer", tmp_path / "others", *arguments, "--out", tmp_path / "transfer", "--no-stack")
    assert reported.startswith("reading the notes\ntransfer: 0%\n")
    _, _, reported = phistack("ablate", *arguments, "--out", tmp_path / "ablation")
    assert reported.startswith("reading the notes\nablation: 0%\n")
    assert "ablation: stacking: 100%" in reported


def test_ctrl_c_on_annotate_writes_nothing_and_says_so(phistack: Phistack, notes: Any, tmp_path: Path) -> None:
    assert phistack("train", notes, "--model", tmp_path / "engine", "--submodels", "regex", "--folds", 2)[0] == 0
    arguments = ("annotate", notes, tmp_path / "out", "--model", tmp_path / "engine")
    process, output = _started(arguments, tmp_path / "temporary", terminal=False)
    _read_until(output, b"loading the engine")
    process.send_signal(signal.SIGINT)
    assert b"phistack: stopped; nothing was written\n" in _read_until(output, b"not there")
    assert process.wait(30) == 130
    assert not (tmp_path / "out").exists()
    os.close(output)
