"""Repeated mentions: names and numbers that the stacker accepted, searched for again in the patient's notes.

search           unmarked repeats of accepted mentions
word_counts      words of the language: `Grace period` is not Grace
repeat_features  a repeat described by named numbers
scores           F1 of the training notes with accepted repeats
classifier       which repeats are PHI, learned out of fold
"""

from phistack.ensemble.stacking.repeats.search import Repeat, SearchMode, search, search_mode
from phistack.ensemble.stacking.repeats.word_counts import WordCounts

__all__ = ["Repeat", "SearchMode", "WordCounts", "search", "search_mode"]
