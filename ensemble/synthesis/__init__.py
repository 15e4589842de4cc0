"""Annotated notes of patients who never lived, in six languages: English, German, Spanish, Dutch, Norwegian, Swedish.

    corpus = synthesize(200, seed=7)              200 notes of about 100 patients, the same on every machine
    corpus = synthesize(200, seed=7, language="nl")

    grammar      the notation of templates: `[[DOCTOR.pcp:last]]`, `{drug}`, `(a|b)`, `<60-90>`
    templates    folders of text and TOML: sentences by part and note type, vocabulary, names, places
    people       persons and their forms of name; a patient with facts that two records share
    dates        the formats in which a date, month, season or year is written
    identifiers  record numbers, telephone numbers, usernames and other codes
    places       hospitals, addresses and organizations
    phi          from a placeholder and a patient to the words of the note
    builder      text that grows together with its spans, typing errors and line breaks
    notes        one note from the parts of its type
    noise        what scanners and exports do to a note, in any language, with exact spans
    carriers     plain clinical prose that carries invented identifiers
    lexicon      which words training notes may use, and which are kept for measuring
    local        patients, and the words of placeholders, of the languages that are all tables: `templates/de`, `nl`
    names        names of many origins for these languages, and the forms in which notes write them

English notes of all registers, in `templates/en`, have files of their own:

    registers     which registers there are, how often, and one patient's notes in them
    rich_scene    from a placeholder to the words of a note, with people and places of many origins
    persons       persons of 29 origins, in all the ways in which notes write their names
    institutions  hospitals, clinics, schools, firms and addresses
    word_lists    the lists of names and of terms that look like PHI, as a lexicon has them

The notes are hard on purpose. People are called May, Parkinson or Graves in notes that speak of Graves' disease;
values such as `SVR of 1739` look like years and are not; names come upper-case, lower-case and mistyped.
"""

from phistack.ensemble.synthesis.carriers import carry
from phistack.ensemble.synthesis.corpus import synthesize

__all__ = ["carry", "synthesize"]
