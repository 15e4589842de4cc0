"""Names and numbers that the stacker accepted once, searched for again in the patient's notes.

search           where accepted mentions are repeated, unmarked, and which ones
word_counts      which words are words of the language, so that `Grace period` is not taken for Grace
repeat_features  a repeat described by named numbers
scores           what accepted repeats do to the F1 of the training notes
classifier       learned from repeats in held-out notes: which repeats are PHI
"""

from phistack.ensemble.stacking.repeats.search import Repeat, SearchMode, search, search_mode
from phistack.ensemble.stacking.repeats.word_counts import WordCounts

__all__ = ["Repeat", "SearchMode", "WordCounts", "search", "search_mode"]
