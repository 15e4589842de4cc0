"""Repeated mentions: names and numbers that the stacker accepted, searched for again in the patient's notes.

search           unmarked repeats of accepted mentions
word_counts      words of the language: `Grace period` is not Grace
repeat_features  a repeat described by named numbers
classifier       which repeats are PHI, learned out of fold
"""
