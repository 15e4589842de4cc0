"""A program with the face of DEDUCE, for tests: it marks titles with a word after them, and dates."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from phistack.ensemble.papers.deduce import program

_MARKS = {
    "persoon": re.compile(r"(?:[Dd]r|[Mm]w|[Dd]hr)\. \w+"),
    "datum": re.compile(r"\d\d?(?:[/-]\d\d?[/-]| [a-z]+ )(?:\d{4}|\d\d)\b"),
    "ziekte": re.compile("Parkinson"),
}


class StandIn:
    """Marks like those of the program; some offsets are NumPy numbers."""

    def deidentify(self, text: str) -> Any:
        """A document with annotations."""
        return SimpleNamespace(annotations=[
            SimpleNamespace(start_char=np.int64(match.start()), end_char=np.int64(match.end()), tag=tag)
            for tag, pattern in _MARKS.items() for match in pattern.finditer(text)
        ])  # fmt: skip


def install(monkeypatch: pytest.MonkeyPatch, version: str = "3.0.6") -> None:
    """Make the stand-in the installed program."""
    monkeypatch.setattr(program, "need", lambda *what: None)
    monkeypatch.setattr(program, "_version", lambda: version)
    monkeypatch.setattr(program, "_program", StandIn)
