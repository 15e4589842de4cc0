"""A whole corpus of invented notes.

    synthesize(200, seed=7)    documents 100-01, 100-02, 101-01, ..., about two a patient

Each patient has a random generator of its own, seeded by the seed and the number of the patient.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import count, islice

from ensemble.synthesis.local import invent_local_patient, write_local_note
from ensemble.synthesis.notes import write_note
from ensemble.synthesis.people import invent_patient
from ensemble.synthesis.templates import ENGLISH, NOTE_TYPES, table
from features.documents import Corpus, Document
from features.errors import SettingsError
from features.labels import LabelSet

__all__ = ["LANGUAGES", "synthesize"]

LANGUAGES = (ENGLISH, "nl", "sv")
"""In which there are notes."""

_FIRST_PATIENT = 100
_RECORDS_PER_PATIENT = (1, 2, 2, 2, 3)


def synthesize(n_documents: int, *, seed: int = 0, language: str = ENGLISH) -> Corpus:
    """Invent annotated notes: in the label set of i2b2 2014, or of NUT in Dutch, or of Stockholm EPR PHI in Swedish.

    The first notes of a large corpus are those of a small one with the same seed.

    :param n_documents: how many notes; at least 0.
    :param seed: the same seed gives the same notes on every machine and in every process.
    :param language: `en`, `nl` or `sv`.
    :returns: documents named `PATIENT-RECORD`, grouped by patient; English ones with labels about as frequent as in the
        i2b2 2014 corpus (Zhao et al. 2020, table 2).
    :raises SettingsError: if the number is negative, or there are no notes in the language.
    """
    if language not in LANGUAGES:
        raise SettingsError(f"there are no synthetic notes in the language {language}, only in {', '.join(LANGUAGES)}")
    if n_documents < 0:
        raise SettingsError(f"the number of notes must be at least 0, not {n_documents}")
    if language == ENGLISH:
        records, label_set = _records, "i2b2-2014"
    else:
        records, label_set = partial(_local_records, language), table(f"{language}/world")["label_set"]
    patients = (documents for number in count(_FIRST_PATIENT) for documents in records(number, seed))
    return Corpus(tuple(islice(patients, n_documents)), LabelSet.named(label_set))


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


def _local_records(language: str, number: int, seed: int) -> Iterator[Document]:
    """The notes of one patient of another language, the oldest first."""
    patient = invent_local_patient(number, seed=seed, language=language)
    rng = random.Random(f"{seed}/notes/{language}/{number}")
    note_types = table(f"{language}/world")["note_types"]
    day = patient.first_visit
    for record in range(1, rng.choice(_RECORDS_PER_PATIENT) + 1):
        text, spans = write_local_note(patient, rng.choice(list(note_types)), day, rng)
        yield Document(f"{number}-{record:02d}", text, spans, group=str(number))
        day += timedelta(days=rng.randint(2, 400))
