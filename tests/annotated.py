"""Annotated notes from plain strings: PHI in brackets, each with its label.

annotated("Seen by Dr. [Lee|DOCTOR] today.")        a note with the span 12-15
seen(0, "Lee", ".")                                 Seen by Dr. Lee on 01/12/2019.
corpus_of("Dr. [Lee|DOCTOR]", "Dr. [Ray|DOCTOR]")   notes 100-01 and 101-01 of two patients
"""

from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet
from tests.invented_names import NAMES


def annotated(text: str, id: str = "1", group: str = "") -> Document:
    """A note from text in which each PHI is `[text|LABEL]`."""
    plain, spans = "", []
    for i, part in enumerate(text.replace("]", "[").split("[")):
        words, _, label = part.partition("|") if i % 2 else (part, "", "")
        if i % 2:
            spans.append(Span(len(plain), len(plain) + len(words), label))
        plain += words
    return Document(id, plain, tuple(spans), group)


def seen(number: int, name: str, more: str = "", group: str = "") -> Document:
    """A note on a patient whom a doctor saw, with more annotated text after name and date."""
    date = f"0{number % 9 + 1}/12/2019"
    return annotated(f"Seen by Dr. [{name}|DOCTOR] on [{date}|DATE]{more}", f"{100 + number}-01", group)


def small_corpus(n: int = 10) -> Corpus:
    """Notes in which the name after `Dr.` is always a doctor's."""
    notes = (
        seen(i, name, f".\nPlan: rest and fluids. Call Dr. [{name}|DOCTOR].", f"{100 + i}")
        for i, name in enumerate(NAMES[:n])
    )
    return Corpus(tuple(notes), LabelSet.named("i2b2-2014"))


def corpus_of(*texts: str, first: int = 100, labels: str = "i2b2-2014") -> Corpus:
    """One note for each patient; :param first: the number of the first patient."""
    notes = (annotated(text, f"{number}-01") for number, text in enumerate(texts, first))
    return Corpus(tuple(notes), LabelSet.named(labels))
