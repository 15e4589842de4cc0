"""English notes of all registers: each document of a register drawn by its share, with noise drawn by its share.

    list(register_records(110, seed=7, lexicon="train"))    the notes of one patient, each a text and its spans
    registers_of(110, seed=7)                               ("visit", "question"): their registers

`templates/en/registers.toml` says which registers there are, how often, and how a note of each is built; its parts name
sections of `templates/en/REGISTER.txt`, or of another file as `common/exam`. The register `hospital` has the types and
templates of hospital notes, with people, places and words of the other registers. Some documents have no PHI at all:
they are made of the templates that name none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from phistack.ensemble.synthesis.builder import Style, TextBuilder
from phistack.ensemble.synthesis.noise import Marked, noisy
from phistack.ensemble.synthesis.notes import Telling, compose, fitting, spoken_words
from phistack.ensemble.synthesis.rich_scene import NOTE_FORMATS, RichScene, invent_rich_patient
from phistack.ensemble.synthesis.templates import NOTE_TYPES, NoteTemplate, table, templates
from phistack.ensemble.synthesis.word_lists import FOLDER, terms
from phistack.features.documents import Span

_TABLE = table(f"{FOLDER}/registers")
_REGISTERS: Mapping[str, Mapping[str, Any]] = _TABLE["register"]

REGISTER_NAMES = tuple(_REGISTERS)
"""Of all registers."""

_RECORDS_PER_PATIENT = (1, 1, 2, 2, 3)


def registers_of(number: int, *, seed: int) -> tuple[str, ...]:
    """The registers of a patient's notes, the oldest first."""
    rng = random.Random(f"{seed}/registers/{number}")
    shares = [recipe["share"] for recipe in _REGISTERS.values()]
    return tuple(rng.choices(REGISTER_NAMES, shares, k=rng.choice(_RECORDS_PER_PATIENT)))


def register_records(number: int, *, seed: int, lexicon: str) -> Iterator[Marked]:
    """The notes of one patient, the oldest first, each in a register of its own."""
    patient = invent_rich_patient(number, seed=seed, lexicon=lexicon)
    rng = random.Random(f"{seed}/notes/all registers/{lexicon}/{number}")
    day = patient.first_visit
    for register in registers_of(number, seed=seed):
        admitted = day - timedelta(days=rng.randint(1, 14))
        scene = RichScene(patient, day, admitted, rng, rng.choice(NOTE_FORMATS), lexicon)
        kinds = rng.choices(_TABLE["noise"], [noise["share"] for noise in _TABLE["noise"]])[0]["kinds"]
        yield noisy(*_trimmed(*_written(register, scene)), kinds, rng)
        day += timedelta(days=rng.randint(2, 500))


TemplatePools = Mapping[str, tuple[NoteTemplate, ...]]
"""Part -> its templates."""


def _written(register: str, scene: RichScene) -> Marked:
    recipe, rng, patient = _REGISTERS[register], scene.rng, scene.patient
    without_phi = rng.random() < recipe.get("without_phi", 0.1)
    built, pools = _recipe(register, rng)
    if without_phi:
        built, pools = _without_phi(built, pools)
    words = {**spoken_words(patient), **terms(scene.lexicon), **_chosen_once(recipe, rng)}
    style = Style("lower names" if rng.random() < recipe.get("lower_names", 0.02) else "", 0, 0.004, 0.015)
    builder = TextBuilder(style, rng)
    return compose(built, Telling(builder, scene, words, lambda part: fitting(pools[part], patient)))


def _recipe(register: str, rng: random.Random) -> tuple[Mapping[str, Any], TemplatePools]:
    if register == "hospital":
        note_type = rng.choice(NOTE_TYPES)
        built: Mapping[str, Any] = table("note_types")[note_type]
        return built, {part["pool"]: templates(part["pool"], note_type) for part in built["parts"]}
    built = _REGISTERS[register]
    return built, {part["pool"]: pool_of(part["pool"], register) for part in built["parts"]}


def pool_of(part: str, register: str) -> tuple[NoteTemplate, ...]:
    """The templates of a part: of a section of the register's file, or of another file's as in `common/exam`."""
    file, _, section = part.rpartition("/")
    return templates(file or register, section, FOLDER)


def _without_phi(recipe: Mapping[str, Any], pools: TemplatePools) -> tuple[Mapping[str, Any], TemplatePools]:
    """The recipe without whatever names PHI."""
    plain = {part: tuple(one for one in pool if not one.slots) for part, pool in pools.items()}
    parts = [
        {**part, "lead": [], "headings": [h for h in part["headings"] if "[[" not in h] or [""]}
        for part in recipe["parts"]
        if plain[part["pool"]]
    ]
    return {"titles": [t for t in recipe["titles"] if "[[" not in t] or [""], "parts": parts}, plain


def _chosen_once(recipe: Mapping[str, Any], rng: random.Random) -> dict[str, tuple[str, ...]]:
    """What is the same throughout a note, such as how a transcript names its speakers."""
    together = rng.choice(recipe.get("once", [{}]))
    return {name: (word,) for name, word in together.items()}


def _trimmed(text: str, spans: tuple[Span, ...]) -> Marked:
    start = len(text) - len(text.lstrip())
    return text.strip(), tuple(Span(span.start - start, span.end - start, span.label) for span in spans)
