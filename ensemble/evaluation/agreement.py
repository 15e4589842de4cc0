"""How far two annotations of the same notes agree.

    agreement = agree(first, second)
    agreement.score.f1                  strict F1 of all types together, the same whichever is taken for gold
    agreement.kappa                     Cohen's kappa (1960) over tokens
    agreement.types[0].kappa            the same of one type against the rest
    agreement.doubts                    places to look at before both become one; see `adjudication`

F1 measures agreement on spans, as the number of places that are rightly unmarked is unknown (Hripcsak and Rothschild
2005; Deleger et al. 2012; Trienes et al. 2020, table 3). Kappa is over tokens, as Adams et al. (2019) report it: a
token has the labels of all spans that hold any of it, or none. Most tokens are no PHI in either annotation, which kappa
corrects for only in part, so read it beside F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from phistack.ensemble.evaluation.adjudication import CHECKS, Doubt, doubts
from phistack.ensemble.evaluation.pairing import DocumentPair, pair, vocabulary
from phistack.ensemble.evaluation.report import evaluate
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Score
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, share, strong
from phistack.features.documents import Corpus
from phistack.features.shown import shown_label
from phistack.features.tokens import Tokeniser

SCHEMA = "phistack.agreement.v1"


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

    :param judged: what each of the two says of each item.
    :returns: 1 where they always agree, even if they use one label only; 0 where they agree as often as by chance.
    """
    from sklearn.metrics import cohen_kappa_score

    counts = Counter(judged)
    if len({label for pair in counts for label in pair}) < 2:  # undefined, by scikit-learn
        return 1.0
    first, second = zip(*counts, strict=True)
    return float(cohen_kappa_score(first, second, sample_weight=list(counts.values())))
