"""A whole corpus of invented notes.

    synthesize(200, seed=7)                      documents 100-01, 100-02, 101-01, ..., about two a patient
    synthesize(200, seed=7, registers="all")     the same, in all registers of the language

Each patient has a random generator of its own, seeded by the seed and the number of the patient.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import count, islice

from phistack.ensemble.synthesis.lexicon import LEXICONS
from phistack.ensemble.synthesis.local import invent_local_patient, write_local_note
from phistack.ensemble.synthesis.notes import write_note
from phistack.ensemble.synthesis.people import invent_patient
from phistack.ensemble.synthesis.registers import register_records
from phistack.ensemble.synthesis.templates import ENGLISH, NOTE_TYPES, table
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet

LANGUAGES = (ENGLISH, "de", "es", "nl", "no", "sv")
"""In which there are notes."""

REGISTERS = ("hospital", "all")
"""Which notes: of a few types, or in every register that the language has."""

_FIRST_PATIENT = 100
_RECORDS_PER_PATIENT = (1, 2, 2, 2, 3)


def synthesize(
    n_documents: int,
    *,
    seed: int = 0,
    language: str = ENGLISH,
    registers: str = "hospital",
    lexicon: str = "whole",
) -> Corpus:
    """Invent annotated notes, with the labels of i2b2 2014 or of a corpus in their language: MEDDOCAN, NUT, Stockholm.

    The first notes of a large corpus are those of a small one with the same seed.

    :param n_documents: how many notes; at least 0.
    :param seed: the same seed gives the same notes on every machine and in every process.
    :param language: one of `LANGUAGES`.
    :param registers: `hospital` for notes of a few types, or `all` for every register that the language has.
    :param lexicon: with `all`: `train` leaves out a fifth of the names and of the words that merely look like PHI,
        `test` uses those alone, `whole` uses all.
    :returns: documents named `PATIENT-RECORD`, grouped by patient; English ones with labels about as frequent as in the
        i2b2 2014 corpus (Zhao et al. 2020, table 2).
    :raises SettingsError: if the number is negative, or there are no such notes in the language.
    """
    _check(n_documents, language, registers, lexicon)
    records: Callable[[int, int], Iterator[Document]]
    label_set = "i2b2-2014"
    if language == ENGLISH:
        records = partial(_records_of_all_registers, lexicon) if registers == "all" else _records
    else:
        records = partial(_local_records, language, registers, lexicon)
        label_set = table(f"{language}/world")["label_set"]
    patients = (documents for number in count(_FIRST_PATIENT) for documents in records(number, seed))
    return Corpus(tuple(islice(patients, n_documents)), LabelSet.named(label_set))


def _check(n_documents: int, language: str, registers: str, lexicon: str) -> None:
    if language not in LANGUAGES:
        raise SettingsError(f"there are no synthetic notes in the language {language}, only in {', '.join(LANGUAGES)}")
    if n_documents < 0:
        raise SettingsError(f"the number of notes must be at least 0, not {n_documents}")
    if registers not in REGISTERS:
        raise SettingsError(f"there is no choice of registers {registers}, only {' and '.join(REGISTERS)}")
    if lexicon not in LEXICONS:
        raise SettingsError(f"there is no lexicon {lexicon}, only {', '.join(LEXICONS)}")
    if lexicon != "whole" and registers == "hospital":
        raise SettingsError(f"the lexicon {lexicon} needs all registers: the notes of a hospital have one lexicon")


def _records(number: int, seed: int) -> Iterator[Document]:
    """The notes of one patient, the oldest first."""
    patient = invent_patient(number, seed=seed)
    rng = random.Random(f"{seed}/notes/{number}")
    shares = [table("note_types")[note_type]["share"] for note_type in NOTE_TYPES]
    day = patient.first_visit
    for record in range(1, rng.choice(_RECORDS_PER_PATIENT) + 1):
        text, spans = write_note(patient, rng.choices(NOTE_TYPES, shares)[0], day, rng)
        yield Document(f"{number}-{record:02d}", text, spans, group=str(number))
        day += timedelta(days=rng.randint(4, 600))


def _records_of_all_registers(lexicon: str, number: int, seed: int) -> Iterator[Document]:
    """The notes of one patient in the registers drawn for them, the oldest first."""
    for record, (text, spans) in enumerate(register_records(number, seed=seed, lexicon=lexicon), start=1):
        yield Document(f"{number}-{record:02d}", text, spans, group=str(number))


def _local_records(language: str, registers: str, lexicon: str, number: int, seed: int) -> Iterator[Document]:
    """The notes of one patient of another language, the oldest first."""
    patient = invent_local_patient(number, seed=seed, language=language, lexicon=lexicon)
    rng = random.Random(f"{seed}/notes/{language}/{number}")
    recipes = table(f"{language}/note_types").items()
    note_types = [name for name, recipe in recipes if registers == "all" or recipe.get("hospital", True)]
    day = patient.first_visit
    for record in range(1, rng.choice(_RECORDS_PER_PATIENT) + 1):
        text, spans = write_local_note(patient, rng.choice(note_types), day, rng, registers)
        yield Document(f"{number}-{record:02d}", text, spans, group=str(number))
        day += timedelta(days=rng.randint(2, 400))
