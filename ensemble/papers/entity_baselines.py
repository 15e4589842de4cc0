"""The baselines that any engine must beat: what was PHI in training is PHI again, and nothing else is.

    found = entity_baselines(training, test)
    found["most frequent"]      the test notes with what training has, each with the label that it mostly had
    found["unambiguous"]        only what had one label throughout

Adams et al. (2019, table 4) set their models against these two; the second is that of the CoNLL task of 2003 (Tjong Kim
Sang and De Meulder 2003). A phrase is found as it was written, the longest first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from phistack.features.documents import Corpus, Span
from phistack.features.errors import TrainingError
from phistack.features.labels import most_frequent
from phistack.features.text_words import Phrases


def entity_baselines(training: Corpus, test: Corpus) -> dict[str, Corpus]:
    """The test notes as each of the baselines annotates them.

    :param training: annotated notes.
    :param test: others; their own spans are not looked at.
    :raises TrainingError: if the training notes have no PHI.
    """
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for note in training.documents:
        for span in note.spans:
            labels[note.text[span.start : span.end]][span.label] += 1
    if not labels:
        raise TrainingError("the training notes have no annotated PHI, so there is nothing to find again")
    unambiguous = {entity: had for entity, had in labels.items() if len(had) == 1}
    return {"unambiguous": _annotated(test, unambiguous), "most frequent": _annotated(test, labels)}


def _annotated(test: Corpus, labels: Mapping[str, Counter[str]]) -> Corpus:
    phrases = Phrases({entity: most_frequent(had) for entity, had in labels.items()})
    return test.with_spans([[Span(*found) for found in phrases.find(note.text)] for note in test.documents])
