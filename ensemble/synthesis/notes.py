"""One note, from the parts of its type.

    write_note(patient, "letter", note_date, rng)    (text, spans)
    compose(recipe, "letter", telling)               the same, for whatever scene, words and templates

A part draws templates from its pool without repeating one, by weight, and lays them out as lines, prose or a list.
Where PHI stands in lines, no two lines name the same fact, so that a header has one record number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol

from phistack.ensemble.synthesis.builder import Style, TextBuilder
from phistack.ensemble.synthesis.dates import FULL_FORMATS
from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.people import Patient
from phistack.ensemble.synthesis.phi import Scene
from phistack.ensemble.synthesis.templates import NoteTemplate, table, templates
from phistack.features.documents import Span

_ONE_SEX: Mapping[str, tuple[str, ...]] = {
    "F": ("ravida", "Pap ", "LMP", "hCG", "pregnant", "Hysterectomy", "ovarian"),
    "M": ("Prostate", "PSA", "BPH"),
}  # what a template says only of patients of one sex
_INFORMAL = frozenset(("nursing", "telephone"))
_MARKERS = ("- ", "* ", "", "")
_ENDINGS = (".", ":", "?", "!", ",")
_BY_SEX: Mapping[str, Mapping[str, Sequence[str]]] = {
    "F": {"he": ("she",), "He": ("She",), "his": ("her",), "His": ("Her",), "him": ("her",), "Mr": ("Ms.", "Mrs."),
          "man": ("woman",), "m": ("F",), "M": ("female",), "gender": ("Female", "F")},
    "M": {"he": ("he",), "He": ("He",), "his": ("his",), "His": ("His",), "him": ("him",), "Mr": ("Mr.",),
          "man": ("man",), "m": ("M",), "M": ("male",), "gender": ("Male", "M")},
}  # fmt: skip


def write_note(patient: Patient, note_type: str, note_date: date, rng: random.Random) -> tuple[str, tuple[Span, ...]]:
    """A note of one type.

    :param patient: whose facts the note uses.
    :param note_type: one of `ensemble.synthesis.templates.NOTE_TYPES`.
    :param note_date: the day on which it is written.
    :param rng: makes every choice.
    :returns: the text and its spans, sorted and without overlap.
    """
    admitted = note_date - timedelta(days=rng.randint(1, 14))
    scene = Scene(patient, note_date, admitted, rng, rng.choice(FULL_FORMATS))
    builder = TextBuilder(style(note_type in _INFORMAL, rng), rng)
    told = Telling(builder, scene, spoken_words(patient), lambda part: fitting(templates(part, note_type), patient))
    return compose(table("note_types")[note_type], told)


def spoken_words(patient: Patient) -> Mapping[str, Sequence[str]]:
    """What templates may name in braces, in notes of a patient."""
    return {**table("vocabulary"), **_BY_SEX[patient.sex], "relative": (patient.relation,)}


class PiecewiseScene(Protocol):
    """What knows the words of a placeholder."""

    @property
    def rng(self) -> random.Random:
        """What makes all choices."""
        ...

    def pieces(self, placeholder: Placeholder) -> list[tuple[str, str]]:
        """Its text in pieces, each with its label, or with none where it is no PHI."""
        ...


@dataclass(frozen=True, slots=True)
class Telling:
    """What a note is told with.

    :param builder: in which it grows.
    :param scene: all that its PHI depends on.
    :param words: what templates may name in braces.
    :param pool: part -> its templates.
    """

    builder: TextBuilder
    scene: PiecewiseScene
    words: Mapping[str, Sequence[str]]
    pool: Callable[[str], Sequence[NoteTemplate]]


def compose(recipe: Mapping[str, Any], told: Telling) -> tuple[str, tuple[Span, ...]]:
    """A note by a recipe, as `note_types.toml` has them: titles, and parts with their headings."""
    write_template(told.scene.rng.choice(recipe["titles"]), told)
    for part in recipe["parts"]:
        _write_part(part, told)
    return told.builder.build()


def style(is_informal: bool, rng: random.Random) -> Style:
    """How a note is typed; informal ones with less care."""
    dice = rng.random()
    case = "upper" if dice < 0.05 else "lower" if dice < 0.07 else ""
    if not case and is_informal and rng.random() < 0.25:
        case = "lower names"
    careless = rng.random() < (0.5 if is_informal else 0.2)
    width = rng.choice((0, 0, 72, 78, 90))
    return Style(case, width, 0.03 if careless else 0.002, 0.06 if careless else 0.01)


def _write_part(part: Mapping[str, Any], told: Telling) -> None:
    builder, rng, layout = told.builder, told.scene.rng, part["layout"]
    drawn = _draw(told.pool(part["pool"]), rng.randint(part["least"], part["most"]), layout != "prose", rng)
    heading, marker = rng.choice(part["headings"]), rng.choice(_MARKERS) if layout == "list" else ""
    builder.literal(_paragraph_break(part["pool"], builder))
    if lead := part.get("lead"):
        write_template(rng.choice(lead), told)
        builder.literal("\n")
    if heading:
        write_template(heading, told)
        builder.literal(" " if layout == "prose" and heading.endswith(":") and rng.random() < 0.5 else "\n")
    for position, template in enumerate(drawn):
        if position:
            builder.literal(" " if layout == "prose" else "\n")
        write_template(("" if template.text[0] in "#*-1234" else marker) + template.text, told)
        if layout == "prose" and not template.text.endswith(_ENDINGS):
            builder.literal(".")
    builder.literal("\n")


def _paragraph_break(pool: str, builder: TextBuilder) -> str:
    return "\n" if pool in ("letterhead", "header") or builder.rng.random() < 0.9 else ""


def fitting(pool: Sequence[NoteTemplate], patient: Patient) -> list[NoteTemplate]:
    """The templates without what is said of the other sex only."""
    other = _ONE_SEX["M" if patient.sex == "F" else "F"]
    return [template for template in pool if not any(words in template.text for words in other)]


def _draw(pool: Sequence[NoteTemplate], number: int, distinct_facts: bool, rng: random.Random) -> list[NoteTemplate]:
    order = sorted(pool, key=lambda template: -(rng.random() ** (1 / template.weight)))
    return list(_without_repeats(order, number) if distinct_facts else order[:number])


def _without_repeats(order: Sequence[NoteTemplate], number: int) -> Iterator[NoteTemplate]:
    seen: set[str] = set()
    for template in order:
        facts = {f"{slot.label}.{slot.role}" for slot in template.slots if _is_fact(slot)}
        keys = {*facts, template.key} - {""}
        if number and not keys & seen:
            seen |= keys
            number -= 1
            yield template


def _is_fact(slot: Placeholder) -> bool:
    """Whether a header would say it once; of kin there are many, of dates and doctors most but for a few."""
    of_many = ("DATE", "DOCTOR")
    return slot.label != "KIN" and (slot.label not in of_many or slot.role in ("birth", "admit", "note", ""))


def write_template(template: str, told: Telling) -> None:
    """Write what a template says, with its PHI."""
    for piece in expand(template, told.words, told.scene.rng):
        for text, label in [(piece, "")] if isinstance(piece, str) else told.scene.pieces(piece):
            if label:
                told.builder.phi(text, label)
            else:
                told.builder.literal(text)
