"""What a hospital knows of the patient of a note, proposed beside what the submodels propose.

known = KnownIdentifiers(Roster.open(path), RecordSearch(label_set, "en"))
known.added(document, decisions)           the decisions, and what the record of the note's patient says

columns      what each column of a roster holds, and the label that it has in an engine
reading      the rows of CSV, JSON lines and Parquet
roster       the records, by patient
dates        a date in any usual format, whole or in part
initials     those of a name, without a word of it
signs        what speaks for initials and parts of a date that may be anything else
search       names, codes, telephone numbers and addresses, however they are written
identifiers  which of these are accepted, and what becomes of decisions that they overlap
"""

from phistack.ensemble.stacking.known.identifiers import KNOWN, KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster, roster_digest

__all__ = ["KNOWN", "KnownIdentifiers", "RecordSearch", "Roster", "roster_digest"]
