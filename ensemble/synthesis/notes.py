"""Notes from the parts of their types, and a whole corpus of them.

    synthesize(200, seed=7)                      documents 100-01, 100-02, 101-01, ..., about two a patient
    synthesize(200, seed=7, registers="all")     the same, in all registers of the language
    write_note(patient, "letter", note_date, rng)                     a note of a hospital: (text, spans)
    write_note(patient, "letter", note_date, rng, registers="all")    with noise and pasted structured text

A part draws templates from its pool without repeating one, by weight, and lays them out as lines, prose or a list. In
lines, no two name the same fact, so a header has one record number. Each patient has a random generator of its
own, seeded by the seed and the number of the patient.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count, islice
from typing import Any

from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.marked_text import Marked, Style, TextBuilder, noisy, trimmed
from phistack.ensemble.synthesis.patients import PEOPLE, Patient, invent_patient
from phistack.ensemble.synthesis.scene import Scene
from phistack.ensemble.synthesis.templates import LEXICONS, NoteTemplate, clinical_words, pool_of, table
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet

LANGUAGES = ("en", "de", "es", "nl", "no", "sv")
"""The languages that there are notes in."""

REGISTERS = ("hospital", "all")
"""Which notes: of a few types, or in every register of the language."""

_FIRST_PATIENT = 100
_NOTES_PER_PATIENT = (1, 2, 2, 2, 3)

Pool = Sequence[NoteTemplate]
Recipe = Mapping[str, Any]
"""A note type: a table of `note_types.toml`."""

_MARKERS = ("- ", "* ", "", "")
_ENDINGS = (".", ":", "?", "!", ",")
_OF_MANY = frozenset(("KIN", "COLLEAGUE", "NURSE", "PCP"))
"""A note may name several of these."""
_WITHOUT_PHI = 0.1
"""The share of notes without PHI, if their type has no `without_phi`."""
_PASTED_SHARE = 0.06
_PASTED: Recipe = {"pool": "structured/line", "layout": "lines", "least": 1, "most": 4, "headings": [""]}
"""The share of notes of `all` registers with structured text in the middle, and the part that writes it."""

_FIELD = "k_"
"""The prefix of word lists of field names; each note uses one name of a list."""

_NOISE: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]] = {
    "hospital": ((37, ()), (56, ("hard wrap",)), (5, ("upper", "hard wrap")), (2, ("lower", "hard wrap"))),
    "all": (
        *((45, ()), (4, ("disguised",))),
        *((8, ("upper",)), (6, ("lower",)), (7, ("scan",)), (2, ("scan", "joined")), (5, ("joined",))),
        *((5, ("wrapped",)), (3, ("hard wrap",)), (3, ("hard wrap", "spaced")), (2, ("spaced",)), (5, ("typing",))),
        *((3, ("accents lost",)), (1, ("accents lost", "upper", "wrapped")), (1, ("lower", "typing"))),
    ),
}
"""Registers -> share of their notes, and what is done to them, as in `ensemble.synthesis.marked_text`."""


def synthesize(
    n_documents: int, *, seed: int = 0, language: str = "en", registers: str = "hospital", lexicon: str = "whole"
) -> Corpus:
    """Invent annotated notes, with the labels of i2b2 2014 or of a corpus in their language: MEDDOCAN, NUT, Stockholm.

    The first notes of a large corpus are those of a small one with the same seed.

    :param n_documents: how many notes; at least 0.
    :param seed: the same seed gives the same notes on every machine and in every process.
    :param language: one of `LANGUAGES`.
    :param registers: `hospital` for notes of a few types, or `all` for every register that the language has.
    :param lexicon: `train` leaves out a fifth of the names and of the words that merely look like PHI, `test` uses
        those alone, `whole` uses all.
    :returns: documents named `PATIENT-RECORD`, grouped by patient; English hospital notes with labels about as
        frequent as in the i2b2 2014 corpus (Zhao et al. 2020, table 2).
    :raises SettingsError: if the number is negative, or there are no such notes in the language.
    """
    for what, given, known in (("registers", registers, REGISTERS), ("lexicon", lexicon, LEXICONS)):
        if given not in known:
            raise SettingsError(f"unknown {what} {given}; choose from {', '.join(known)}")
    if language not in LANGUAGES:
        raise SettingsError(f"there are no synthetic notes in the language {language}, only in {', '.join(LANGUAGES)}")
    if n_documents < 0:
        raise SettingsError(f"the number of notes must be at least 0, not {n_documents}")
    notes = (
        note
        for number in count(_FIRST_PATIENT)
        for note in _notes(number, seed=seed, language=language, registers=registers, lexicon=lexicon)
    )
    label_set = LabelSet.named(table(f"{language}/world")["label_set"])
    return Corpus(tuple(islice(notes, n_documents)), label_set)


def note_types_of(number: int, *, seed: int, language: str, registers: str) -> tuple[str, ...]:
    """The types of a patient's notes, the oldest first."""
    rng = random.Random(f"{seed}/note types/{language}/{registers}/{number}")
    recipes = table(f"{language}/note_types").items()
    shares = {
        name: recipe.get("share", 1) for name, recipe in recipes if registers == "all" or recipe.get("hospital", True)
    }
    return tuple(rng.choices(list(shares), list(shares.values()), k=rng.choice(_NOTES_PER_PATIENT)))


def _notes(number: int, *, seed: int, language: str, registers: str, lexicon: str) -> Iterator[Document]:
    """The notes of one patient, the oldest first."""
    patient = invent_patient(number, seed=seed, language=language, lexicon=lexicon)
    rng = random.Random(f"{seed}/notes/{language}/{registers}/{number}")
    day = patient.first_visit
    types = note_types_of(number, seed=seed, language=language, registers=registers)
    for record, note_type in enumerate(types, start=1):
        text, spans = write_note(patient, note_type, day, rng, registers=registers)
        yield Document(f"{number}-{record:02d}", text, spans, group=str(number))
        day += timedelta(days=rng.randint(2, 500))


def write_note(
    patient: Patient, note_type: str, note_date: date, rng: random.Random, *, registers: str = "hospital"
) -> Marked:
    """A note of one of the types of the patient's language; its spans are sorted and do not overlap."""
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
    """The note with a random kind of noise, or with none."""
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
    """Writes one note; `words` are what templates may name in braces, `pool` gives the templates of a part."""

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
        if not drawn:
            return
        is_set_off = part["pool"] in ("letterhead", "header") or builder.rng.random() < 0.9
        builder.literal("\n" if is_set_off or not builder.at_line_start else "")
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
