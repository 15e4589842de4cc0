"""How far two annotations of the same notes agree.

    agreement = agree(first, second)
    agreement.score.f1                  strict F1 of all types together, the same whichever is taken for gold
    agreement.kappa                     Cohen's kappa (1960) over tokens
    agreement.types[0].kappa            the same of one type against the rest
    agreement.doubts                    what is to be looked at before both become one; see `adjudication`

F1 is how agreement on spans is measured, as there is no number of places that are rightly not marked (Hripcsak and
Rothschild 2005; Deleger et al. 2012; Trienes et al. 2020, table 3). Kappa is over tokens, as Adams et al. (2019) report
it: the label of a token is that of the span that holds any of it, of all spans where there are several, or none. Most
tokens are no PHI in either annotation, which kappa corrects for in part only: take it beside F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from phistack.ensemble.evaluation.adjudication import CHECKS, Doubt, doubts
from phistack.ensemble.evaluation.pairing import AnnotatedText, DocumentPair, pair, vocabulary
from phistack.ensemble.evaluation.scores import Score
from phistack.ensemble.evaluation.scoring import evaluate
from phistack.ensemble.evaluation.tables import Table, share, strong
from phistack.features.documents import Corpus
from phistack.features.shown import shown_label
from phistack.features.tokens import Tokeniser

SCHEMA = "phistack.agreement.v1"
_NOTHING = ""


@dataclass(frozen=True, slots=True)
class TypeAgreement:
    """Agreement on one type.

    :param score: with the first annotation as gold; F1 is the same the other way round.
    :param kappa: of the tokens of this type against all others.
    """

    score: Score
    kappa: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """All that `agree` found.

    :param names: of the two annotations.
    :param n_documents: how many notes both have.
    :param score: strict, of all types together.
    :param kappa: Cohen's, over tokens and their labels.
    :param types: by type, in the order of the label set.
    :param doubts: places to look at.
    """

    names: tuple[str, str]
    n_documents: int
    n_tokens: int
    score: Score
    kappa: float
    types: tuple[TypeAgreement, ...]
    doubts: tuple[Doubt, ...]

    def tables(self) -> list[Table]:
        """Agreement by type, and how many places each check found."""
        first, second = self.names
        rows = [_row(shown_label(t.score.name, t.score.counts.support), t.score, t.kappa) for t in self.types]
        figures = Table(
            ("type", first, second, "both", "F1", "kappa"),
            [rows, [_row(strong("all"), self.score, self.kappa)]],
            f"Agreement on {self.n_documents} notes",
            f"F1: strict, with 95 % interval by bootstrap; kappa: Cohen's, over {self.n_tokens} tokens",
        )
        found = Counter(doubt.check for doubt in self.doubts)
        checks = [(name, means, str(found[name])) for name, means in CHECKS.items()]
        return [figures, Table(("check", "means", "places"), [checks], "To be looked at", n_texts=2)]

    def to_dict(self, *, with_text: bool = False) -> dict[str, Any]:
        """All figures and places, as JSON can hold them; text only where it is asked for."""
        return {
            "schema": SCHEMA,
            "annotations": list(self.names),
            "documents": self.n_documents,
            "tokens": self.n_tokens,
            "all": {**self.score.to_dict(), "kappa": self.kappa},
            "types": {t.score.name: {**t.score.to_dict(), "kappa": t.kappa} for t in self.types},
            "places": [doubt.to_dict(with_text=with_text) for doubt in self.doubts],
        }


def _row(name: Any, score: Score, kappa: float) -> tuple[Any, ...]:
    tp, fp, fn = score.counts
    return (name, str(tp + fn), str(tp + fp), str(tp), share(score.f1), f"{kappa:.3f}")


def agree(
    first: Corpus,
    second: Corpus,
    *,
    names: tuple[str, str] = ("first", "second"),
    allow_missing: bool = False,
    seed: int = 0,
) -> Agreement:
    """Compare two annotations of the same notes.

    :param names: of the annotations, for tables.
    :param allow_missing: compare the notes that both have, instead of refusing.
    :param seed: of the bootstrap.
    :raises EvaluationError: as for `evaluate`.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    report = evaluate(first, second, allow_missing=allow_missing, seed=seed)
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
    )


def _tokens(pair: DocumentPair) -> Iterable[tuple[Sequence[str], Sequence[str]]]:
    """The labels that each side has for each token."""
    starts, ends = Tokeniser("liu")(pair.gold.text)
    sides = (_labels(starts.tolist(), ends.tolist(), side) for side in (pair.gold, pair.system))
    return zip(*sides, strict=True)


def _labels(starts: list[int], ends: list[int], side: AnnotatedText) -> list[tuple[str, ...]]:
    at: list[set[str]] = [set() for _ in range(len(side.text) + 1)]
    for phi in side.phi:
        for place in range(phi.start, phi.end):
            at[place].add(phi.label)
    return [tuple(sorted(set().union(*at[start:end]))) for start, end in zip(starts, ends, strict=True)]


def cohens_kappa(judged: Iterable[tuple[str, str]]) -> float:
    """Agreement beyond chance of two judges on the same items, by Cohen (1960).

    :param judged: what each of the two said of each item.
    :returns: 1 where they always say the same, though it be of one kind only; 0 where they agree as often as chance.
    """
    counts = Counter(judged)
    n = counts.total()
    first, second = Counter[str](), Counter[str]()
    for (one, other), times in counts.items():
        first[one] += times
        second[other] += times
    same = sum(times for (one, other), times in counts.items() if one == other)
    by_chance = sum(first[said] * second[said] for said in first)
    return 1.0 if n * n == by_chance or not n else (n * same - by_chance) / (n * n - by_chance)
