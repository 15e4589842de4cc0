"""Known identifiers of a note's patient, proposed in addition to the submodels' candidates.

roster       the records, by patient: what each column holds, and the label that it has in an engine
names, dates, signs    how identifiers and initials may be written, and which context supports them
search       one index of all identifiers, and their places in a text
identifiers  which hits are accepted, and how they change decisions that they overlap; before a release, identifiers
             found in one note of a patient are searched for in the others
"""

KNOWN = "known"
"""The source of the votes for identifiers of a record."""
