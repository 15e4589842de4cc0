"""A whole corpus of invented notes.

    synthesize(200, seed=7)                      documents 100-01, 100-02, 101-01, ..., about two a patient
    synthesize(200, seed=7, registers="all")     the same, in all registers of the language
    note_types_of(110, seed=7, language="en", registers="all")    ("visit", "question"): of the notes of one patient

Each patient has a random generator of its own, seeded by the seed and the number of the patient.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import count, islice

from phistack.ensemble.synthesis.lexicon import LEXICONS
from phistack.ensemble.synthesis.notes import write_note
from phistack.ensemble.synthesis.patients import invent_patient
from phistack.ensemble.synthesis.templates import table
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet

LANGUAGES = ("en", "de", "es", "nl", "no", "sv")
"""In which there are notes."""

REGISTERS = ("hospital", "all")
"""Which notes: of a few types, or in every register that the language has."""

_FIRST_PATIENT = 100
_NOTES_PER_PATIENT = (1, 2, 2, 2, 3)


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
