"""The tables from which notes are made, read once.

    templates("plan", "radiology")        the templates from which a radiology report draws its plan
    table("names")                        `templates/names.toml`
    templates("plan", "report", "nl")     those of Dutch notes, in `templates/nl/plan.txt`
    templates("portal", "body", "en")     those of the register of portal messages, in `templates/en/portal.txt`

A file `templates/PART.txt` has sections: a line `= discharge letter` names the note types that draw on the lines
below it. What stands before the first section is a comment.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from phistack.ensemble.synthesis.grammar import Placeholder, placeholders

ENGLISH = "en"
"""The language whose tables of hospital notes lie beside each other; each other one has a folder of its own."""

NOTE_TYPES = ("discharge", "letter", "nursing", "radiology", "telephone", "problems")

_FILES = resources.files("phistack.ensemble.synthesis") / "templates"


@dataclass(frozen=True, slots=True)
class NoteTemplate:
    """One sentence or block of a part.

    :param text: in the notation of `ensemble.synthesis.grammar`.
    :param slots: the PHI that it names.
    :param weight: how often it is drawn, relative to its neighbours; greater than 0.
    """

    text: str
    slots: tuple[Placeholder, ...]
    weight: float

    @property
    def key(self) -> str:
        """What stands before the first colon, in lower case; empty where there is none."""
        before, colon, _ = self.text.replace(".pcp:", "").partition(": ")
        return before.casefold() if colon else ""


@cache
def table(name: str) -> dict[str, Any]:
    """The TOML table `templates/NAME.toml`; `NAME` is `nl/world` for that of a language."""
    return tomllib.loads((_FILES / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def templates(part: str, note_type: str, folder: str = "") -> tuple[NoteTemplate, ...]:
    """The templates of one part of one note type, each once, in the order of the file."""
    factors = {} if folder else table("label_factors")
    found: dict[str, NoteTemplate] = {}
    drawing: list[str] = []
    for line in (_FILES / folder / f"{part}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            drawing = line.split()[1:]
        elif line and note_type in drawing:
            found[line] = _template(line, factors)
    return tuple(found.values())


def _template(line: str, factors: dict[str, float]) -> NoteTemplate:
    slots = placeholders(line)
    labels = {slot.label for slot in slots} or {"none"}
    return NoteTemplate(line, slots, math.prod(factors.get(label, 1.0) for label in labels))
