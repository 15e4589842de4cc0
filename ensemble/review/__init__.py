"""A page in which a person reviews notes: from what an engine suggests to annotated notes and a better engine.

decisions     what was decided, in a journal that survives a kill
order         which notes to look at first
session       notes under review, and the figures of the review
retraining    engines that learn from it meanwhile
server        the page, for this machine only
"""
