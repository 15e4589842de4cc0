"""What was found once is sought again: in the same note, and in the notes of the patient beside it.

repeats = search(texts, mentions, "en")                where accepted names and numbers stand again, unmarked
classifier.extended(tables, decisions)               the stacker's decisions, with the repeats that are accepted

search           names and numbers found again, and which mentions they repeat
word_counts      which words are words of the language, so that `Grace period` is not taken for Grace
repeat_features  a repeat described by named numbers
unmarked         what must not be released although no stacker accepted it
scores           what accepted repeats do to the F1 of the training notes
classifier       learned from repeats in notes that nothing was trained on: which repeats are PHI
"""

from phistack.ensemble.stacking.repeats.search import Mention, Repeat, SearchMode, search, search_mode
from phistack.ensemble.stacking.repeats.word_counts import WordCounts

__all__ = ["Mention", "Repeat", "SearchMode", "WordCounts", "search", "search_mode"]
