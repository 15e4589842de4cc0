"""One note, from the parts of its type.

    write_note(patient, "letter", note_date, rng)                     a note of a hospital: (text, spans)
    write_note(patient, "letter", note_date, rng, registers="all")    with noise and pasted structured text

A part draws templates from its pool without repeating one, by weight, and lays them out as lines, prose or a list. In
lines, no two name the same fact, so that a header has one record number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from phistack.ensemble.synthesis.builder import Style, TextBuilder
from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.lexicon import clinical_words
from phistack.ensemble.synthesis.noise import Marked, noisy, trimmed
from phistack.ensemble.synthesis.patients import PEOPLE, Patient
from phistack.ensemble.synthesis.scene import Scene
from phistack.ensemble.synthesis.templates import NoteTemplate, pool_of, table
from phistack.features.documents import Span

Pool = Sequence[NoteTemplate]
Recipe = Mapping[str, Any]
"""A note type: a table of `note_types.toml`."""

_MARKERS = ("- ", "* ", "", "")
_ENDINGS = (".", ":", "?", "!", ",")
_OF_MANY = frozenset(("KIN", "COLLEAGUE", "NURSE", "PCP"))
"""Of these a note names several."""
_WITHOUT_PHI = 0.1
"""The share of notes without PHI, if their type has no `without_phi`."""
_PASTED_SHARE = 0.06
_PASTED: Recipe = {"pool": "structured/line", "layout": "lines", "least": 1, "most": 4, "headings": [""]}
"""How many notes of all registers have structured text in the middle, and that part."""

_FIELD = "k_"
"""Before the word lists of field names, of which each note has one."""

_NOISE: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]] = {
    "hospital": ((37, ()), (56, ("hard wrap",)), (5, ("upper", "hard wrap")), (2, ("lower", "hard wrap"))),
    "all": (
        *((58, ()), (5, ("upper",)), (3, ("lower",)), (4, ("scan",)), (2, ("scan", "joined")), (5, ("joined",))),
        *((5, ("wrapped",)), (3, ("hard wrap",)), (3, ("hard wrap", "spaced")), (2, ("spaced",)), (5, ("typing",))),
        *((3, ("accents lost",)), (1, ("accents lost", "upper", "wrapped")), (1, ("lower", "typing"))),
    ),
}
"""Registers -> share of their notes, and what is done to them, as in `ensemble.synthesis.noise`."""


def write_note(
    patient: Patient, note_type: str, note_date: date, rng: random.Random, *, registers: str = "hospital"
) -> Marked:
    """A note of one of the types of the patient's language.

    :param rng: makes every choice.
    :returns: the text and its spans, sorted and without overlap.
    """
    recipe: Recipe = table(f"{patient.language}/note_types")[note_type]
    typed = style(recipe.get("informal", False), rng)
    if registers == "all":
        typed = replace(
            typed, small_names=rng.random() < recipe.get("lower_names", 0.05 if recipe.get("informal") else 0.01)
        )
        if rng.random() < _PASTED_SHARE and len(recipe["parts"]) > 1:
            at = rng.randint(1, len(recipe["parts"]))
            recipe = {**recipe, "parts": [*recipe["parts"][:at], _PASTED, *recipe["parts"][at:]]}
    without_phi = rng.random() < recipe.get("without_phi", _WITHOUT_PHI)
    writer = NoteWriter.begun(patient, note_type, note_date, rng, typed, recipe.get("once", ()))
    marked = writer.compose(_stripped(recipe) if without_phi else recipe, without_phi=without_phi)
    if rng.random() < recipe.get("lower", 0):
        marked = noisy(*marked, ("lower",), rng)
    return with_noise(*trimmed(*marked), rng, registers)


def style(is_informal: bool, rng: random.Random) -> Style:
    """How a note is typed; informal ones with less care."""
    careless = rng.random() < (0.5 if is_informal else 0.2)
    return Style(is_informal and rng.random() < 0.25, 0.03 if careless else 0.002, 0.06 if careless else 0.01)


def with_noise(text: str, spans: Sequence[Span], rng: random.Random, registers: str) -> Marked:
    """The note after what is done to one of so many."""
    shares, kinds = zip(*_NOISE[registers], strict=True)
    return noisy(text, spans, rng.choices(kinds, shares)[0], rng)


def _stripped(recipe: Recipe) -> Recipe:
    """The recipe without titles, leads and headings that name PHI."""
    parts = [{**part, "lead": [], "headings": _plain(part["headings"])} for part in recipe["parts"]]
    return {**recipe, "titles": _plain(recipe["titles"]), "parts": parts}


def _plain(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if "[[" not in text] or [""]


@dataclass(frozen=True, slots=True)
class NoteWriter:
    """Writes one note.

    :param words: what templates may name in braces.
    :param pool: part -> the templates that fit the patient.
    """

    builder: TextBuilder
    scene: Scene
    words: Mapping[str, Sequence[str]]
    pool: Callable[[str], Pool]

    @classmethod
    def begun(
        cls,
        patient: Patient,
        note_type: str,
        day: date,
        rng: random.Random,
        typed: Style,
        once: Sequence[Mapping[str, str]] = (),
    ) -> NoteWriter:
        """A note without text so far.

        :param once: sets of words of which one is chosen for the whole note, such as how a transcript names speakers.
        """
        world = patient.world
        names = {label for kind, label in world["labels"].items() if kind in (*PEOPLE, "first", "last")}
        places = {world["labels"].get(kind, "") for kind in ("HOSPITAL", "CITY", "STREET", "PROFESSION")}
        builder = TextBuilder(typed, rng, names, names | places, english=patient.language == "en")
        words = {**clinical_words(patient.language, patient.lexicon), **patient.words}
        words |= {name: (rng.choice(words[name]),) for name in words if name.startswith(_FIELD)}
        words |= {name: (word,) for name, word in rng.choice(once).items()} if once else {}
        return cls(builder, Scene.begun(patient, day, rng), words, lambda pool: fitting(pool, note_type, patient))

    def compose(self, recipe: Recipe, *, without_phi: bool = False) -> Marked:
        """The whole note; :param without_phi: whether only templates without PHI are drawn."""
        self.write(self.scene.rng.choice(recipe["titles"]))
        for part in recipe["parts"]:
            pool = self.pool(part["pool"])
            pool = [template for template in pool if not template.slots] if without_phi else pool
            if pool:
                self._write_part(part, pool)
        return self.builder.build()

    def write(self, template: str) -> None:
        """Write what a template says, with its PHI."""
        for piece in expand(template, self.words, self.scene.rng):
            for text, label in [(piece, "")] if isinstance(piece, str) else self.scene.pieces(piece):
                if label:
                    self.builder.phi(text, label)
                else:
                    self.builder.literal(text)

    def _write_part(self, part: Mapping[str, Any], pool: Pool) -> None:
        builder, rng, layout = self.builder, self.scene.rng, part["layout"]
        drawn = _draw(pool, rng.randint(part["least"], part["most"]), layout != "prose", rng)
        heading, marker = rng.choice(part["headings"]), rng.choice(_MARKERS) if layout == "list" else ""
        builder.literal("\n" if part["pool"] in ("letterhead", "header") or builder.rng.random() < 0.9 else "")
        if lead := part.get("lead"):
            self.write(rng.choice(lead))
            builder.literal("\n")
        if heading:
            self.write(heading)
            builder.literal(" " if layout == "prose" and heading.endswith(":") and rng.random() < 0.5 else "\n")
        for position, template in enumerate(drawn):
            if position:
                builder.literal(" " if layout == "prose" else "\n")
            self.write(("" if template.text[0] in "#*-1234" else marker) + template.text)
            if layout == "prose" and not template.text.endswith(_ENDINGS):
                builder.literal(".")
        builder.literal("\n")


def fitting(pool: str, note_type: str, patient: Patient) -> Pool:
    """The templates of a pool without those about the other sex, and without kinds that the language lacks."""
    world = patient.world
    other = world.get("one_sex", {}).get("M" if patient.sex == "F" else "F", ())
    found = pool_of(pool, note_type, patient.language)
    if pool.startswith("structured/"):
        known = {*PEOPLE, "DATE", "AGE", "EMAIL", "SEXLETTER", *world["shapes"], *world["things"]}
        found = tuple(template for template in found if known.issuperset(slot.kind for slot in template.slots))
    return [template for template in found if not any(words in template.text for words in other)]


def _draw(pool: Pool, number: int, distinct_facts: bool, rng: random.Random) -> list[NoteTemplate]:
    order = sorted(pool, key=lambda template: -(rng.random() ** (1 / template.weight)))
    return list(_without_repeats(order, number) if distinct_facts else order[:number])


def _without_repeats(order: Pool, number: int) -> Iterator[NoteTemplate]:
    seen: set[str] = set()
    for template in order:
        facts = {f"{slot.kind}.{slot.role}" for slot in template.slots if _is_fact(slot)}
        keys = {*facts, template.key} - {""}
        if number and not keys & seen:
            seen |= keys
            number -= 1
            yield template


def _is_fact(slot: Placeholder) -> bool:
    """Whether a header has it once."""
    if slot.kind in ("DATE", "DOCTOR"):
        return slot.role in ("birth", "admit", "note", "")
    return slot.kind not in _OF_MANY and slot.role != "other"
