"""The named features from which the stacker judges a candidate.

    features = MetaFeatures(sources=("regex", "crf"), labels=("DOCTOR", "PATIENT"), names="liu2017")
    features.matrices(tables, pools)    for each note an array of shape (n_candidates, n_features)
    features.columns                    ("vote:regex", "vote:crf", "same span", ...)

Four sets: `log-odds` has the log-odds of the submodels' scores for the candidate and its rivals, and its type;
`liu2017` has the ten features of Liu 2017; `zhao2020` has who proposed the candidate, its overlap with others and its
type (Zhao 2020, after Kim and Riloff 2015); `all` has the latter two, and the submodels' scores for the candidate and
its rivals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidate_arrays import RIVALS, CandidateArrays
from phistack.ensemble.stacking.candidates import PooledCandidate, Pools, Tables
from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Span
from phistack.submodels.base import Candidate

_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    "en": frozenset("and or but of in on at to for with from by as per".split()),
    "es": frozenset("y e o u pero de del en a al para por con sin sobre entre desde".split()),
    "nl": frozenset("en of maar van in op aan te voor met uit bij door".split()),
    "de": frozenset("und oder aber von vom in im an am auf zu zum zur für mit aus bei durch".split()),
    "sv": frozenset("och eller men av i på till för med från vid genom".split()),
    "fr": frozenset("et ou mais de du des en à au aux pour par avec sans sur chez".split()),
    "it": frozenset("e o ma di del della in a al per con da su tra".split()),
    "pt": frozenset("e ou mas de do da em no na a ao para por com sem".split()),
}
"""Conjunctions and prepositions by language."""

FEATURE_SETS = ("log-odds", "liu2017", "zhao2020", "all")
_Columns = dict[str, Floats]

_SUREST = 0.995
"""Scores are clipped to this and its opposite; the score of a submodel that does not propose a candidate is 0."""


def log_odds(scores: Floats, surest: float = _SUREST) -> Floats:
    """The log-odds of scores, which are clipped to `surest` and its opposite."""
    clipped = np.clip(scores, 1 - surest, surest)
    odds: Floats = np.log(clipped / (1 - clipped))
    return odds


def _votes(pool: CandidateArrays) -> _Columns:
    """Which submodels chose exactly this candidate."""
    return {f"vote:{source}": chosen for source, chosen in pool.chosen.items()}


def _overlaps(pool: CandidateArrays) -> _Columns:
    """For each submodel, whether it chose an overlapping candidate, by agreement of span and of type."""
    return {
        f"{kind}:{source}": pool.best_rival(chosen, kind) for source, chosen in pool.chosen.items() for kind in RIVALS
    }


def _labels(pool: CandidateArrays, labels: Sequence[str]) -> _Columns:
    """The candidate's type, one-hot."""
    return {f"label:{label}": pool.has_label(label) for label in labels}


def _liu(pool: CandidateArrays, language: str) -> _Columns:
    """The ten features of Liu 2017, section 3.7."""
    rivals = {kind: pool.best_rival(pool.any_chosen, kind) for kind in RIVALS}
    in_record = pool.sum_over(pool.mention_and_label_groups, pool.any_chosen) - pool.any_chosen
    return {
        "same span": np.maximum(pool.times > 1, rivals["other type"]),
        "same span and type": (pool.times > 1).astype(np.float64),
        "overlapping": np.maximum.reduce([*rivals.values()]),
        "overlapping, same type": rivals["overlap"],
        "function word": (pool.tokens_among(_FUNCTION_WORDS.get(language, ())) > 0).astype(np.float64),
        **_votes(pool),
        "times predicted": pool.times,
        "times span predicted": pool.sum_over(pool.span_groups, pool.times),
        "tokens": np.log1p(pool.n_tokens),
        "times in record": np.log1p(in_record),
    }


def _scores(pool: CandidateArrays) -> _Columns:
    """Each submodel's score for the candidate, and its best score for a rival of each kind and for a repeat."""
    columns: _Columns = {}
    for source, score in pool.score.items():
        columns[f"score:{source}"] = score
        columns |= {f"score of {kind}:{source}": pool.best_rival(score, kind) for kind in RIVALS}
        columns[f"score of repeat:{source}"] = pool.best_repeat(score)
        columns[f"score of repeat, other type:{source}"] = pool.best_repeat_of_other_type(score)
    columns["mean score"] = pool.mean_score
    columns["same type in record"] = np.log1p(pool.sum_over(pool.label_groups, pool.any_chosen))
    columns["characters"] = np.log1p(pool.end - pool.start)
    return columns


def _log_odds(pool: CandidateArrays) -> _Columns:
    """The log-odds of the scores for the candidate and its best rivals; its length and repeats."""
    own = {source: log_odds(score) for source, score in pool.score.items()}
    return {
        **{f"log-odds:{source}": odds for source, odds in own.items()},
        **{f"log-odds of rival:{name}": log_odds(pool.best_of_rivals(score)) for name, score in pool.score.items()},
        **{f"log-odds of {kind}": log_odds(pool.best_rival(pool.mean_score, kind)) for kind in RIVALS},
        "spread": np.std([*own.values()], axis=0),
        "times predicted": pool.times,
        "mean score of repeat": pool.best_repeat(pool.mean_score),
        "mean score of repeat, other type": pool.best_repeat_of_other_type(pool.mean_score),
        "tokens": np.log1p(pool.n_tokens),
        "characters": np.log1p(pool.end - pool.start),
    }


@dataclass(frozen=True)
class MetaFeatures:
    """One of `FEATURE_SETS` for given submodels and labels.

    :param labels: the labels seen in training; others have all label features 0.
    """

    sources: tuple[str, ...]
    labels: tuple[str, ...]
    names: str = "log-odds"
    language: str = "en"

    def _of(self, pool: CandidateArrays) -> _Columns:
        match self.names:
            case "log-odds":
                return _log_odds(pool) | _votes(pool) | _labels(pool, self.labels)
            case "liu2017":
                return _liu(pool, self.language)
            case "zhao2020":
                return _votes(pool) | _overlaps(pool) | _labels(pool, self.labels)
        return _liu(pool, self.language) | _overlaps(pool) | _labels(pool, self.labels) | _scores(pool)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._of(CandidateArrays([], [], self.sources)))

    def extremes(self, table: FeatureTable) -> Floats:
        """The features of a candidate with score 1 of every submodel, and of one with score 0.

        :param table: any note with a token.
        :returns: of shape `(2, n_features)`.
        """
        span = Span(int(table.offsets[0][0]), int(table.offsets[1][0]), self.labels[0] if self.labels else "PHI")
        pools = [
            [PooledCandidate(span, tuple(Candidate(span, source, float(sure), sure) for source in self.sources))]
            for sure in (True, False)
        ]
        return np.concatenate(self.matrices([table, table], pools))

    def matrices(self, tables: Tables, pools: Pools) -> list[NDArray[np.float64]]:
        """The features of the candidates of many notes.

        :param pools: for each note its candidates, sorted by span.
        :returns: for each note an array of shape `(n_candidates, n_features)`.
        """
        together = CandidateArrays(tables, pools, self.sources)
        matrix = np.stack([*self._of(together).values()], axis=1)
        return np.split(matrix, np.cumsum([len(pool) for pool in pools])[:-1]) if pools else []
