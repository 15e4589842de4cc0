"""Annotated notes of invented patients, in six languages: English, German, Spanish, Dutch, Norwegian, Swedish.

    corpus = synthesize(200, seed=7)              200 notes of about 100 patients, the same on every machine
    corpus = synthesize(200, seed=7, language="nl")

    grammar      the notation of templates: `[[DOCTOR:last]]`, `{drug}`, `(a|b)`, `<60-90>`, and of dates
    templates    folders of text and TOML: sentences by part and note type, words, names, places; what is held out
    names        names of many origins, and the forms in which notes write them
    patients     a patient with the facts that all notes of the patient share: numbers, places, people
    scene        from a placeholder, a patient and a day to the words of the note
    marked_text  text that grows together with its spans, typing errors and noise
    notes        one note, from the parts of its type, with pasted structured text; all notes of a seed
    habits       what templates have in a context: kind, role and form of a label's next mention
    carriers     plain clinical prose with invented identifiers put in

A language is a folder of `templates/`. The notes are hard on purpose: people are called May, Parkinson or Graves in
notes about Graves' disease; values such as `SVR of 1739` look like years; names are in capitals, in small letters and
mistyped; lines of HL7, JSON, XML or file names are pasted in, with identifiers and without.
"""

from phistack.ensemble.synthesis.carriers import carry
from phistack.ensemble.synthesis.notes import synthesize

__all__ = ["carry", "synthesize"]
