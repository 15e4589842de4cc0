"""Annotated notes as one writes them: PHI in brackets, each with its label.

annotated("Seen by Dr. [Lee|DOCTOR] today.")        a note with the span 12-15
corpus_of("Dr. [Lee|DOCTOR]", "Dr. [Ray|DOCTOR]")   notes 100-01 and 101-01 of two patients
"""

from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet


def annotated(text: str, id: str = "1", group: str = "") -> Document:
    """A note from text in which each PHI is `[text|LABEL]`."""
    plain, spans = "", []
    for i, part in enumerate(text.replace("]", "[").split("[")):
        words, _, label = part.partition("|") if i % 2 else (part, "", "")
        if i % 2:
            spans.append(Span(len(plain), len(plain) + len(words), label))
        plain += words
    return Document(id, plain, tuple(spans), group)


def corpus_of(*texts: str, first: int = 100, labels: str = "i2b2-2014") -> Corpus:
    """A note a patient; :param first: the number of the first patient."""
    notes = (annotated(text, f"{number}-01") for number, text in enumerate(texts, first))
    return Corpus(tuple(notes), LabelSet.named(labels))
