"""What a hospital knows of the patient of a note, proposed beside what the submodels propose.

columns      what each column of a roster holds, and the label that it has in an engine
roster       the records, by patient
names, dates, initials, spellings, signs    how what is known may be written, and what supports it
search       all of it compiled into one index, and found in a text
identifiers  which hits are accepted, and what becomes of decisions that they overlap
unmarked     what was found in one note of a patient, searched for in the others before release
"""

KNOWN = "known"
"""The source of the votes for what a record holds."""
