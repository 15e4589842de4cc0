"""Known identifiers of a note's patient, proposed beside the proposals of the submodels.

columns      what each column of a roster holds, and the label that it has in an engine
roster       the records, by patient
names, dates, initials, spellings, signs    how identifiers may be written, and which context supports them
search       one index of all identifiers, and their places in a text
identifiers  which hits are accepted, and how they change decisions that they overlap
unmarked     identifiers found in one note of a patient, searched for in the others before release
"""

KNOWN = "known"
"""The source of the votes for what a record holds."""
