"""Quick and faulty engines for the tests of batch runs, in a module that worker processes can import."""

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

from benchmarks.function_engine import FunctionEngine
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Span

_PATTERNS = (
    ("DOCTOR", re.compile(r"(?<=Dr\. )\w+")),
    ("PATIENT", re.compile(r"(?<=Patient )\w+(?: \w+)?")),
    ("DATE", re.compile(r"\d{2}/\d{2}/\d{4}")),
)


def bundle(folder: Path) -> Path:
    """A folder that looks like a bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"protocol": 2, "kinds": {"quick": "regex.v1"}, "trained_on": {}, "figures": {}, "files": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def _decisions(document: Any) -> Any:
    return [
        Decision(Span(match.start(), match.end(), label), 0.9, True, ())
        for label, pattern in _PATTERNS
        for match in pattern.finditer(document.text)
    ]


def quick(path: Path) -> Engine:
    """Finds names and dates by patterns."""
    return FunctionEngine(_decisions)


def slow(path: Path, seconds: float = 0.001) -> Engine:
    """The same, a thousandth of a second a note."""

    def decide(document: Any) -> Any:
        time.sleep(seconds)
        return _decisions(document)

    return FunctionEngine(decide)


def faulty(path: Path) -> Engine:
    """Does what the note says: fails, waits, or makes its process die."""

    def decide(document: Any) -> Any:
        if "FAIL" in document.text:
            raise ValueError(f"this message quotes {document.text}")
        if "WAIT" in document.text:
            time.sleep(60)
        if "DIE" in document.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return _decisions(document)

    return FunctionEngine(decide)


def waiting(path: Path) -> Engine:
    """Fails if the note says so, and waits as long as a certain file exists."""

    def decide(document: Any) -> Any:
        if "FAIL" in document.text:
            raise ValueError
        if "WAIT" in document.text and (path / "wait").exists():
            time.sleep(60)
        return _decisions(document)

    return FunctionEngine(decide)


def dawdling(path: Path) -> Engine:
    """The same, a fiftieth of a second a note."""
    return slow(path, 0.02)


def unlucky(path: Path) -> Engine:
    """Its process is killed, as if from outside, at the first four notes with the word, and then no more."""
    deaths = path / "deaths"
    deaths.mkdir(exist_ok=True)

    def decide(document: Any) -> Any:
        number = len(list(deaths.iterdir()))
        if "UNLUCKY" in document.text and number < 4:
            (deaths / str(number)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return _decisions(document)

    return FunctionEngine(decide)


def deadly_machine(path: Path) -> Engine:
    """Its process is killed at every note, as long as a file says so."""

    def decide(document: Any) -> Any:
        if (path / "kill").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return _decisions(document)

    return FunctionEngine(decide)


def failing_second_pass(path: Path) -> Engine:
    """Finds PHI, and fails on redacted text."""

    def decide(document: Any) -> Any:
        if "[DOCTOR]" in document.text:
            raise RuntimeError
        return _decisions(document)

    return FunctionEngine(decide)
