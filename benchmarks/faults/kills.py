"""Batch runs whose processes are killed at random moments, and runs over a note of 20 MB: which notes survive.

    losses = kill_runs(Path("engine"), Path("work"), kills=100)         the run itself, which the same command resumes
    losses = kill_workers(Path("engine"), Path("work"), kills=100)      its workers, while it continues
    huge_note(Path("engine"), Path("work"))                             (1, 5, seconds): held back, written, how long

Every killed run must end with the output of an undisturbed one, byte for byte, and hold no note back.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 900.0


@dataclass(slots=True)
class Losses:
    """The losses through kills.

    :param kills: processes killed.
    :param runs: runs that ended normally.
    :param stopped: runs that ended with an error, and were resumed.
    :param lost: notes that are neither in the output nor listed.
    :param held_back: notes that are listed and not in the output.
    :param differing: runs whose output is not that of an undisturbed run, byte for byte.
    """

    kills: int = 0
    runs: int = 0
    stopped: int = 0
    lost: int = 0
    held_back: int = 0
    differing: int = 0


def write_notes(path: Path, n_notes: int) -> Path:
    """Write invented notes as JSON lines without annotation, eight for each patient; returns the path."""
    from phistack.ensemble.synthesis import synthesize

    texts = [document.text for document in synthesize(min(n_notes, 40), seed=3).documents]
    lines = (
        json.dumps({"id": f"{i // 8}-{i % 8 + 10}", "text": texts[i % len(texts)], "group": str(i // 8)})
        for i in range(n_notes)
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def kill_runs(engine: Path, work: Path, *, kills: int, n_notes: int = 400, seed: int = 0) -> Losses:
    """Kill runs at random moments, resuming each with the same command until it ends, until so many kills are done."""
    chance, losses = random.Random(seed), Losses()
    case = _Case(engine, work, n_notes)
    while losses.kills < kills:
        process = case.start()
        # Late enough that some runs have done something, early enough that they are not finished.
        if _ends_within(process, chance.uniform(0.0, 1.1) * case.seconds):
            case.judge(process.returncode, losses)
        else:
            process.send_signal(signal.SIGKILL)
            process.wait()
            losses.kills += 1
    case.finish(losses)
    return losses


def kill_workers(engine: Path, work: Path, *, kills: int, n_notes: int = 400, seed: int = 0) -> Losses:
    """Kill one worker after another while runs continue, until so many kills are done."""
    chance, losses = random.Random(seed), Losses()
    case = _Case(engine, work, n_notes)
    while losses.kills < kills:
        process = case.start()
        while not _ends_within(process, chance.uniform(0.1, 1.0) * case.seconds):
            workers = _workers(process.pid)
            with suppress(IndexError, ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                losses.kills += 1
        case.judge(process.returncode, losses)
    case.finish(losses)
    return losses


class _Case:
    """A run to disturb.

    :param engine: a bundle.
    :param work: an empty folder.
    """

    def __init__(self, engine: Path, work: Path, n_notes: int) -> None:
        self.engine = engine
        self.notes = write_notes(work / "notes.jsonl", n_notes)
        self.n_notes = n_notes
        self.out = work / "out.jsonl"
        self.partial = work / "out.jsonl.partial"
        begin = time.monotonic()
        if self.start().wait(_SECONDS) != 0:
            raise RuntimeError("the undisturbed run failed")
        self.seconds = time.monotonic() - begin
        self.right = _digest(self.out)
        self.clear()

    def start(self) -> subprocess.Popen[bytes]:
        """The command, in two worker processes."""
        kept = ("--column", "id=keep", "--column", "group=keep")
        given = ("--model", self.engine, "--jobs", 2, "--policy", "tag", *kept)
        return _phistack("deidentify", self.notes, self.out, *given)

    def finish(self, losses: Losses) -> None:
        """Let the run that was disturbed last finish."""
        if self.partial.exists():
            self.judge(self.start().wait(_SECONDS), losses)

    def judge(self, status: int, losses: Losses) -> None:
        """Count what a finished run lost, and remove it; one that stopped with an error stays to be resumed."""
        if status not in (0, 3):
            losses.stopped += 1
            return
        summary = json.loads((self.out.with_name(self.out.name + ".run") / "summary.json").read_text())
        with self.out.open("rb") as file:
            n_out = sum(1 for _ in file)
        losses.runs += 1
        losses.held_back += summary["quarantined"]
        losses.lost += self.n_notes - n_out - summary["quarantined"]
        losses.differing += _digest(self.out) != self.right
        self.clear()

    def clear(self) -> None:
        """Remove the output and the reports."""
        self.out.unlink()
        shutil.rmtree(self.out.with_name(self.out.name + ".run"))


def huge_note(
    engine: Path, work: Path, *, characters: int = 20_000_000, timeout: float = 0.2
) -> tuple[int, int, float]:
    """De-identify five small notes and a huge one in one line.

    :param work: an empty folder.
    :param timeout: seconds for each 100,000 characters of a note, too few for the huge one.
    :returns: how many notes were held back and written, and the seconds of the whole run, by the clock.
    """
    notes = work / "notes"
    notes.mkdir()
    for i in range(5):
        (notes / f"{i}.txt").write_text(f"Seen by Dr. Anselm Birchwood on March {i + 1}rd, 2021.\n")
    (notes / "huge.txt").write_text("[1-(" * (characters // 4))
    begin = time.monotonic()
    _phistack("deidentify", notes, work / "out", "--model", engine, "--timeout", timeout, "--jobs", 2).wait()
    seconds = time.monotonic() - begin
    summary = json.loads((work / "out.run" / "summary.json").read_text())
    return summary["quarantined"], len(list((work / "out").glob("*.txt"))), seconds


def _phistack(*arguments: object) -> subprocess.Popen[bytes]:
    """A phistack command, started in its own process, which prints nothing."""
    command = [sys.executable, "-m", "phistack.ensemble.command_line.app", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _workers(parent: int) -> list[int]:
    """The worker processes that a run has started."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(parent).children(recursive=True)
        return [child.pid for child in children if "popen_loky" in " ".join(_command_of(child))]
    return []


def _command_of(process: object) -> list[str]:
    import psutil

    try:
        return list(process.cmdline())  # type: ignore[attr-defined]
    except psutil.Error:
        return []


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
