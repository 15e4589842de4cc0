"""The tables from which notes are made, read once.

    table("nl/world")                       `templates/nl/world.toml`
    pool_of("plan", "radiology", "en")      the section `radiology` of `templates/en/plan.txt`
    pool_of("visit/chief", "visit", "en")   the section `chief` of `templates/en/visit.txt`
    pool_of("structured/line", "any", "sv") of `templates/structured.txt`, which all languages share

A language is a folder of text and TOML. A text file has sections: a line `= discharge letter` names the note types (or
parts) that draw on the lines below it. What comes before the first section is a comment.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from phistack.ensemble.synthesis.grammar import Placeholder, placeholders

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
        """The text before the first colon, in lower case; empty if there is no colon."""
        before, colon, _ = self.text.partition(": ")
        return before.casefold() if colon else ""


@cache
def table(name: str) -> dict[str, Any]:
    """The TOML table `templates/NAME.toml`."""
    return tomllib.loads((_FILES / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def all_text(language: str) -> str:
    """The text of all templates of a language."""
    files = (file for file in (_FILES / language).iterdir() if file.name.endswith(".txt"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@cache
def pool_of(pool: str, note_type: str, language: str) -> tuple[NoteTemplate, ...]:
    """The templates of a part of a note type, each once, in the order of the file.

    :param pool: `FILE`, for its section of the note type, or `FILE/SECTION`; the file is that of the language, or one
        that all languages share.
    """
    name, _, section = pool.partition("/")
    file = _FILES / language / f"{name}.txt"
    shared = _FILES / f"{name}.txt"
    found: dict[str, NoteTemplate] = {}
    drawing: list[str] = []
    for line in (file if file.is_file() else shared).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            drawing = line.split()[1:]
        elif line and (section or note_type) in drawing:
            found[line] = _template(line, name, language)
    return tuple(found.values())


def _template(line: str, file: str, language: str) -> NoteTemplate:
    world, slots = table(f"{language}/world"), placeholders(line)
    factors = world.get("factors", {})
    if file not in factors.get("parts", ()):
        return NoteTemplate(line, slots, 1.0)
    labels = {world["labels"].get(slot.kind, "") for slot in slots} or {"none"}
    return NoteTemplate(line, slots, math.prod(factors.get(label, 1.0) for label in labels))
