"""How far two annotations of the same notes agree.

    agreement = agree(first, second)
    agreement.score.f1                  strict F1 of all types together, the same whichever is taken for gold
    agreement.kappa                     Cohen's kappa (1960) over tokens
    agreement.doubts                    places to look at before both become one: [Doubt("touching spans", ...), ...]

F1 measures agreement on spans, as the number of places that are rightly unmarked is unknown (Hripcsak and Rothschild
2005; Deleger et al. 2012; Trienes et al. 2020, table 3). Kappa is over tokens, as Adams et al. (2019) report it: a
token has the labels of all spans that hold any of it, or none. Most tokens are not PHI in either annotation; kappa
corrects for this only in part, so read it beside F1.

The checks are those used to make the gold standard of NUT (Trienes et al. 2020, section 3.3), and two more for
differences between the annotators. Strings are compared as written, by tokens, so `Ann` is not found in `Annette`. The
text of a place is kept out of `repr`, and out of JSON and sheets unless asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.pairing import DocumentPair, Phi, pair, vocabulary
from phistack.ensemble.evaluation.report import evaluate
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Score
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, share, strong
from phistack.features.documents import Corpus
from phistack.features.files import sheet
from phistack.features.labels import most_frequent
from phistack.features.shown import shown_label
from phistack.features.text_words import Phrases
from phistack.features.tokens import Tokeniser

SCHEMA = "phistack.agreement.v1"

CHECKS = {
    "one annotator only": "no span of the other annotation shares a character with it",
    "other label": "the other annotation has the same start and end with another label",
    "other extent": "the other annotation overlaps it, with another start or end",
    "same string, other label": "the string mostly has another label, in both annotations together",
    "touching spans": "a span of the same annotation and label begins where it ends, or after blanks only",
    "unmarked elsewhere": "the string is marked here, and neither annotation marks it there",
}
"""Check -> what is true of a place that it finds."""

_SHORTEST = 4
_COLUMNS = ("check", "document", "start", "end", "label", "annotation", "instead")


@dataclass(frozen=True, slots=True)
class Doubt:
    """A place to look at.

    :param check: a key of `CHECKS`.
    :param annotation: the name of the annotation that has the span; empty if none has.
    :param instead: other labels, or another extent.
    """

    check: str
    document: str
    start: int
    end: int
    label: str
    annotation: str
    instead: str = ""
    text: str = field(default="", repr=False)

    def to_dict(self, *, with_text: bool = False) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in _COLUMNS}
        return {**row, "text": self.text} if with_text else row


def doubts_sheet(found: Iterable[Doubt], *, with_text: bool = False) -> str:
    """The places as CSV."""
    columns = (*_COLUMNS, "text") if with_text else _COLUMNS
    return sheet(columns, ([getattr(doubt, name) for name in columns] for doubt in found))


class TypeAgreement(NamedTuple):
    """Agreement on one type: the score with the first annotation as gold, and kappa against all other types."""

    score: Score
    kappa: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """All that `agree` found.

    :param kappa: Cohen's, over tokens and their labels.
    """

    names: tuple[str, str]
    n_documents: int
    n_tokens: int
    score: Score
    kappa: float
    types: tuple[TypeAgreement, ...]
    doubts: tuple[Doubt, ...]
    units: Units

    def tables(self) -> list[Table]:
        """Agreement by type, and how many places each check found."""
        first, second = self.names

        def row(name: str | Cell, score: Score, kappa: float) -> TableRow:
            tp, fp, fn = score.counts
            return (name, str(tp + fn), str(tp + fp), str(tp), share(score.f1), f"{kappa:.3f}")

        rows = [row(shown_label(t.score.name, t.score.counts.support), t.score, t.kappa) for t in self.types]
        figures = Table(
            ("type", first, second, "both", "F1", "kappa"),
            [rows, [row(strong("all"), self.score, self.kappa)]],
            f"Agreement on {self.n_documents} notes",
            f"F1: strict, {self.units.intervals}; kappa: Cohen's, over {self.n_tokens} tokens",
        )
        found = Counter(doubt.check for doubt in self.doubts)
        checks = [(name, means, str(found[name])) for name, means in CHECKS.items()]
        return [figures, Table(("check", "means", "places"), [checks], "To look at", n_texts=2)]

    def to_dict(self, *, with_text: bool = False) -> dict[str, Any]:
        """All figures and places, as JSON can hold them."""
        return {
            "schema": SCHEMA,
            "annotations": list(self.names),
            "documents": self.n_documents,
            "tokens": self.n_tokens,
            "all": {**self.score.to_dict(), "kappa": self.kappa},
            "types": {t.score.name: {**t.score.to_dict(), "kappa": t.kappa} for t in self.types},
            "places": [doubt.to_dict(with_text=with_text) for doubt in self.doubts],
        }


def agree(
    first: Corpus,
    second: Corpus,
    *,
    names: tuple[str, str] = ("first", "second"),
    allow_missing: bool = False,
    resampling: Resampling = BY_PATIENT,
) -> Agreement:
    """Compare two annotations of the same notes.

    :param allow_missing: compare the notes that both have, instead of refusing.
    :raises EvaluationError: as for `evaluate`, which also raises a LabelError.
    """
    report = evaluate(first, second, allow_missing=allow_missing, resampling=resampling)
    labels = vocabulary(first.label_set, second.label_set)
    pairs = pair(first, second, labels, allow_missing=allow_missing).pairs
    tokens = [labelled for note in pairs for labelled in _tokens(note)]
    return Agreement(
        names,
        len(pairs),
        len(tokens),
        report.strict,
        cohens_kappa(("+".join(one), "+".join(other)) for one, other in tokens),
        tuple(
            TypeAgreement(score, cohens_kappa((str(score.name in a), str(score.name in b)) for a, b in tokens))
            for score in report.types
        ),
        tuple(doubts(pairs, names)),
        report.units,
    )


def _tokens(pair: DocumentPair) -> Iterator[tuple[list[str], ...]]:
    """The labels that each side has for each token."""
    sides = []
    for side in (pair.gold, pair.system):
        at: list[set[str]] = [set() for _ in side.text]
        for phi in side.phi:
            for labels in at[phi.start : phi.end]:
                labels.add(phi.label)
        sides.append(at)
    starts, ends = Tokeniser("liu")(pair.gold.text)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield tuple(sorted(set().union(*at[start:end])) for at in sides)


def cohens_kappa(judged: Iterable[tuple[str, str]]) -> float:
    """Agreement beyond chance of two judges on the same items, by Cohen (1960).

    :param judged: for each item, the labels that the two give it.
    :returns: 1 where they always agree, even if they use one label only; 0 where they agree as often as by chance.
    """
    from sklearn.metrics import cohen_kappa_score

    counts = Counter(judged)
    if len({label for pair in counts for label in pair}) < 2:  # undefined, by scikit-learn
        return 1.0
    first, second = zip(*counts, strict=True)
    return float(cohen_kappa_score(first, second, sample_weight=list(counts.values())))


def doubts(pairs: Sequence[DocumentPair], names: tuple[str, str]) -> list[Doubt]:
    """All places that the checks find in the notes of two annotations with these names, check by check."""
    sides = [
        _Side(note.id, note.gold.text, name, own.phi, other.phi)
        for note in pairs
        for name, own, other in zip(names, (note.gold, note.system), (note.system, note.gold), strict=True)
    ]
    found = [*_differences(sides), *_other_labels(sides), *_touching(sides), *_unmarked(pairs)]
    return sorted(found, key=lambda doubt: [*CHECKS].index(doubt.check))


class _Side(NamedTuple):
    """A note as one annotation has it, and the PHI that the other has there."""

    document: str
    text: str
    name: str
    phi: tuple[Phi, ...]
    others: tuple[Phi, ...]

    def doubt(self, check: str, phi: Phi, instead: str) -> Doubt:
        text = self.text[phi.start : phi.end]
        return Doubt(check, self.document, phi.start, phi.end, phi.label, self.name, instead, text)


def _differences(sides: Sequence[_Side]) -> Iterator[Doubt]:
    for side in sides:
        theirs = {(phi.start, phi.end, phi.label) for phi in side.others}
        for phi in side.phi:
            if (phi.start, phi.end, phi.label) not in theirs:
                near = [other for other in side.others if other.start < phi.end and phi.start < other.end]
                same = [other for other in near if (other.start, other.end) == (phi.start, phi.end)]
                check = "other label" if same else "other extent" if near else "one annotator only"
                instead = "+".join(p.label for p in same) or "+".join(f"{p.start}-{p.end} {p.label}" for p in near)
                yield side.doubt(check, phi, instead)


def _other_labels(sides: Sequence[_Side]) -> Iterator[Doubt]:
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for side in sides:
        for phi in side.phi:
            labels[side.text[phi.start : phi.end]][phi.label] += 1
    usual = {string: most_frequent(counts) for string, counts in labels.items()}
    for side in sides:
        for phi in side.phi:
            if phi.label != usual[side.text[phi.start : phi.end]]:
                yield side.doubt("same string, other label", phi, usual[side.text[phi.start : phi.end]])


def _touching(sides: Sequence[_Side]) -> Iterator[Doubt]:
    for side in sides:
        for phi, after in pairwise(side.phi):
            between = side.text[phi.end : after.start]
            if phi.end <= after.start and phi.label == after.label and not between.strip():
                yield side.doubt("touching spans", phi, f"{after.start}-{after.end}")


def _unmarked(pairs: Sequence[DocumentPair]) -> Iterator[Doubt]:
    """Strings of four letters and digits or more that are marked elsewhere, and unmarked here in both annotations."""
    marked: dict[str, Counter[str]] = defaultdict(Counter)
    for note in pairs:
        for phi in {*note.gold.phi, *note.system.phi}:
            string = note.gold.text[phi.start : phi.end]
            if sum(map(str.isalnum, string)) >= _SHORTEST:
                marked[string][phi.label] += 1
    phrases = Phrases({string: most_frequent(labels) for string, labels in marked.items()})
    for note in pairs:
        text, taken = note.gold.text, bytearray(len(note.gold.text))
        for phi in (*note.gold.phi, *note.system.phi):
            taken[phi.start : phi.end] = b"\1" * (phi.end - phi.start)
        for start, end, label in phrases.find(text, taken):
            yield Doubt("unmarked elsewhere", note.id, start, end, label, "", "", text[start:end])
