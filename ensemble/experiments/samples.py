"""Growing parts of the training notes for a learning curve, by patients or by sentences.

    samples_of(corpus, shares=(10, 100), samples=3, seed=0)                  the notes of 10 % and 100 % of the patients
    samples_of(corpus, by="sentences", sizes=(50, 100), samples=3, seed=0)   notes with 50 and 100 of their sentences
    Sentences.of(corpus, FeatureSettings()).chosen([0, 1, 7])                notes with these three sentences

Each sample is one random order, and its parts are beginnings of it, so larger parts contain the smaller ones. A note
keeps the order of its drawn sentences, with a line end where some were left out. PHI is never cut: sentences that share
a span count as one. A whole corpus stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import NamedTuple, Self

import numpy as np

from phistack.ensemble.stacking.folds import fold_groups_of, of_fold_groups
from phistack.features.columns.settings import FeatureSettings, lines_end_sentences
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError, no_such
from phistack.features.plain_view import plain_view
from phistack.features.tokens import Tokeniser, learned_abbreviations, offsets_of, sentence_starts

UNITS = PATIENTS, SENTENCES = "patients", "sentences"
"""What is drawn."""


class Sample(NamedTuple):
    """Notes to train on: share in percent and number of patients or sentences, and the number of the random order."""

    share: float
    size: int
    number: int
    corpus: Corpus


class SentencePlace(NamedTuple):
    """A sentence: the number of its note, and offsets in the text."""

    note: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of some notes, cut as for an engine that is trained on them.

    :param places: in the order of the notes; together they cover each note that has a token.
    :param line_ends: how many line ends always separate sentences.
    """

    corpus: Corpus
    places: Sequence[SentencePlace]
    line_ends: int

    @classmethod
    def of(cls, corpus: Corpus, settings: FeatureSettings) -> Self:
        """Cut notes into sentences; the settings decide whether a line end ends one."""
        views = [plain_view(document, html=settings.html) for document in corpus.documents]
        marked = [view.document.text[span.start : span.end] for view in views for span in view.document.spans]
        by_lines = lines_end_sentences(settings, marked)
        abbreviations = learned_abbreviations(marked)
        places = []
        for number, (view, document) in enumerate(zip(views, corpus.documents, strict=True)):
            words, gaps = Tokeniser().cut(view.document.text)
            firsts = sentence_starts(words, gaps, split_lines=by_lines, abbreviations=abbreviations)[:-1]
            begins = offsets_of(words, gaps)[0]
            starts = [view.place(int(begins[token]), int(begins[token]) + 1)[0] for token in firsts]
            cuts = [at for at in starts[1:] if not any(span.start < at < span.end for span in document.spans)]
            bounds = [0, *cuts, len(document.text)] if starts else []
            places += [SentencePlace(number, a, b) for a, b in pairwise(bounds)]
        return cls(corpus, places, 1 if by_lines else 2)

    def __len__(self) -> int:
        return len(self.places)

    def chosen(self, numbers: Collection[int]) -> Corpus:
        """Notes with the chosen sentences only; notes without any are left out."""
        if len(numbers) == len(self):
            return self.corpus
        of_note = groupby((self.places[number] for number in sorted(numbers)), key=lambda place: place.note)
        notes = (self._note(self.corpus.documents[note], list(places)) for note, places in of_note)
        return replace(self.corpus, documents=tuple(notes))

    def _note(self, document: Document, places: Sequence[SentencePlace]) -> Document:
        text, spans, end = "", [], places[0].start
        for place in places:
            if place.start > end:
                gap = text[len(text.rstrip()) :]
                text += "\n" * (self.line_ends - (gap.count("\n") or gap.count("\r")))
            by, end = len(text) - place.start, place.end
            text += document.text[place.start : place.end]
            spans += [span.moved(by) for span in document.spans if place.start <= span.start < place.end]
        return replace(document, text=text, spans=tuple(spans))


def samples_of(
    corpus: Corpus,
    *,
    shares: Sequence[int] = (),
    sizes: Sequence[int] = (),
    samples: int,
    seed: int,
    by: str = PATIENTS,
    features: FeatureSettings | None = None,
) -> Iterator[Sample]:
    """The samples, order by order, each growing from at least two patients or sentences.

    :param by: `patients` or `sentences`.
    :param shares: percent of these; `sizes`, if given, are their numbers instead.
    :param features: the settings that decide where sentences end.
    :raises SettingsError: for another `by`, a share outside 1 to 100, a size above their number, no samples, or fewer
        than two patients.
    """
    if samples < 1:
        raise SettingsError(f"the number of samples must be at least 1, not {samples}")
    if by not in UNITS:
        raise SettingsError(no_such("unit to draw by", by, UNITS))
    patients = sorted(fold_groups_of(corpus))
    if len(patients) < 2:
        raise SettingsError("a learning curve needs training notes of at least two patients")
    sentences = Sentences.of(corpus, features or FeatureSettings()) if by == SENTENCES else None
    n = len(patients) if sentences is None else len(sentences)
    parts = _parts(n, shares, sizes, by)
    for number in range(1, samples + 1):
        order = np.random.default_rng((seed, number)).permutation(n).tolist()
        for share, size in parts:
            drawn = {*order[:size]}
            part = sentences.chosen(drawn) if sentences else of_fold_groups(corpus, {patients[i] for i in drawn})
            yield Sample(share, size, number, part)


def _parts(n: int, shares: Sequence[int], sizes: Sequence[int], by: str) -> list[tuple[float, int]]:
    """Share and size of each part, growing."""
    if sizes:
        if not all(2 <= size <= n for size in sizes):
            raise SettingsError(f"--sizes: there are {n} {by} to train on; give numbers from 2 to {n}")
        return [(round(100 * size / n, 2), size) for size in sorted(set(sizes))]
    if not shares or not all(1 <= share <= 100 for share in shares):
        raise SettingsError(f"--shares: percents of the training {by} are from 1 to 100")
    return [(percent, max(2, round(n * percent / 100))) for percent in sorted(set(shares))]
