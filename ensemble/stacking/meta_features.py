"""The named features from which the stacker judges a candidate.

    features = MetaFeatures(sources=("regex", "crf"), labels=("DOCTOR", "PATIENT"), names="liu2017")
    features.matrices(tables, pools)    for each note an array of shape (n_candidates, n_features)
    features.columns                    ("vote:regex", "vote:crf", "same span", ...)

Four sets: `log-odds` has the log-odds of the submodels' scores for the candidate and its rivals, and its type;
`liu2017` has the ten features of Liu 2017; `zhao2020` has who proposed the candidate, its overlap with others and its
type (Zhao 2020, after Kim and Riloff 2015); `all` has the latter two, and the submodels' scores for the candidate and
its rivals. A feature is a function from the candidates of some notes, as arrays, to its column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidate_arrays import RIVALS, CandidateArrays
from phistack.ensemble.stacking.candidates import PooledCandidate, Pools
from phistack.features.arrays import Floats
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Span
from phistack.features.errors import SettingsError, no_such
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

_Column = Callable[[CandidateArrays], Floats]


def _votes(sources: Sequence[str]) -> dict[str, _Column]:
    """Which submodels chose exactly this candidate."""

    def column(source: str) -> _Column:
        return lambda pool: pool.chosen[source]

    return {f"vote:{source}": column(source) for source in sources}


def _overlaps(sources: Sequence[str]) -> dict[str, _Column]:
    """For each submodel, whether it chose an overlapping candidate, by agreement of span and of type."""

    def column(source: str, kind: str) -> _Column:
        return lambda pool: pool.best_rival(pool.chosen[source], kind)

    return {f"{kind}:{source}": column(source, kind) for source in sources for kind in RIVALS}


def _labels(labels: Sequence[str]) -> dict[str, _Column]:
    """The candidate's type, one of n."""

    def column(label: str) -> _Column:
        return lambda pool: pool.has_label(label)

    return {f"label:{label}": column(label) for label in labels}


def _liu(sources: Sequence[str], language: str) -> dict[str, _Column]:
    """The ten features of Liu 2017, section 3.7."""
    function_words = _FUNCTION_WORDS.get(language, frozenset())
    return {
        "same span": lambda pool: np.maximum(pool.times > 1, pool.best_rival(pool.any_chosen, "other type")),
        "same span and type": lambda pool: (pool.times > 1).astype(np.float64),
        "overlapping": lambda pool: np.maximum.reduce([pool.best_rival(pool.any_chosen, kind) for kind in RIVALS]),
        "overlapping, same type": lambda pool: pool.best_rival(pool.any_chosen, "overlap"),
        "function word": lambda pool: (pool.tokens_among(function_words) > 0).astype(np.float64),
        **_votes(sources),
        "times predicted": lambda pool: pool.times,
        "times span predicted": lambda pool: pool.sum_over(pool.span_groups, pool.times),
        "tokens": lambda pool: np.log1p(pool.n_tokens),
        "times in record": lambda pool: np.log1p(
            pool.sum_over(pool.mention_and_label_groups, pool.any_chosen) - pool.any_chosen
        ),
    }


def _scores(sources: Sequence[str]) -> dict[str, _Column]:
    """Each submodel's score for the candidate, and its best score for a rival of each kind and for a repeat."""

    def own(source: str) -> _Column:
        return lambda pool: pool.score[source]

    def rival(source: str, kind: str) -> _Column:
        return lambda pool: pool.best_rival(pool.score[source], kind)

    def repeat(source: str) -> _Column:
        return lambda pool: pool.best_repeat(pool.score[source])

    def repeat_of_other_type(source: str) -> _Column:
        return lambda pool: pool.best_repeat_of_other_type(pool.score[source])

    columns: dict[str, _Column] = {}
    for source in sources:
        columns[f"score:{source}"] = own(source)
        columns |= {f"score of {kind}:{source}": rival(source, kind) for kind in RIVALS}
        columns[f"score of repeat:{source}"] = repeat(source)
        columns[f"score of repeat, other type:{source}"] = repeat_of_other_type(source)
    columns["mean score"] = lambda pool: pool.total_score / len(sources)
    columns["same type in record"] = lambda pool: np.log1p(pool.sum_over(pool.label_groups, pool.any_chosen))
    columns["characters"] = lambda pool: np.log1p(pool.end - pool.start)
    return columns


def _log_odds(sources: Sequence[str]) -> dict[str, _Column]:
    """The log-odds of the scores for the candidate and its best rivals; its length and repeats."""

    def own(source: str) -> _Column:
        return lambda pool: log_odds(pool.score[source])

    def rival(source: str) -> _Column:
        return lambda pool: log_odds(pool.best_of_rivals(pool.score[source]))

    def rival_of(kind: str) -> _Column:
        return lambda pool: log_odds(pool.best_rival(mean(pool), kind))

    def mean(pool: CandidateArrays) -> Floats:
        return pool.total_score / len(sources)

    return {
        **{f"log-odds:{source}": own(source) for source in sources},
        **{f"log-odds of rival:{source}": rival(source) for source in sources},
        **{f"log-odds of {kind}": rival_of(kind) for kind in RIVALS},
        "spread": lambda pool: np.std([log_odds(pool.score[source]) for source in sources], axis=0),
        "times predicted": lambda pool: pool.times,
        "mean score of repeat": lambda pool: pool.best_repeat(mean(pool)),
        "mean score of repeat, other type": lambda pool: pool.best_repeat_of_other_type(mean(pool)),
        "tokens": lambda pool: np.log1p(pool.n_tokens),
        "characters": lambda pool: np.log1p(pool.end - pool.start),
    }


_SUREST = 0.995
"""Scores are clipped to this and its opposite; the score of a submodel that does not propose a candidate is 0."""


def log_odds(scores: Floats, surest: float = _SUREST) -> Floats:
    """The log-odds of scores, which are clipped to `surest` and its opposite."""
    clipped = np.clip(scores, 1 - surest, surest)
    odds: Floats = np.log(clipped / (1 - clipped))
    return odds


def _columns(name: str, sources: Sequence[str], labels: Sequence[str], language: str) -> dict[str, _Column]:
    sets: dict[str, Callable[[], dict[str, _Column]]] = {
        "log-odds": lambda: _log_odds(sources) | _votes(sources) | _labels(labels),
        "liu2017": lambda: _liu(sources, language),
        "zhao2020": lambda: _votes(sources) | _overlaps(sources) | _labels(labels),
        "all": lambda: _liu(sources, language) | _overlaps(sources) | _labels(labels) | _scores(sources),
    }
    return sets[name]()


FEATURE_SETS = ("log-odds", "liu2017", "zhao2020", "all")


@dataclass(frozen=True)
class MetaFeatures:
    """One set of stacker features for given submodels and labels.

    :param sources: names of the submodels.
    :param labels: the labels seen in training; others have all label features 0.
    :param names: one of `FEATURE_SETS`.
    :param language: ISO 639-1 code, for conjunctions and prepositions.
    :raises SettingsError: for an unknown set.
    """

    sources: tuple[str, ...]
    labels: tuple[str, ...]
    names: str = "log-odds"
    language: str = "en"

    def __post_init__(self) -> None:
        if self.names not in FEATURE_SETS:
            raise SettingsError(no_such("set of stacker features", self.names, FEATURE_SETS))

    @cached_property
    def _functions(self) -> Mapping[str, _Column]:
        return _columns(self.names, self.sources, self.labels, self.language)

    @property
    def columns(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(self._functions)

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

    def matrices(self, tables: Sequence[FeatureTable], pools: Pools) -> list[NDArray[np.float64]]:
        """The features of the candidates of many notes.

        :param pools: for each note its candidates, sorted by span.
        :returns: for each note an array of shape `(n_candidates, n_features)`.
        """
        together = CandidateArrays.of(tables, pools, self.sources)
        matrix = np.empty((len(together), len(self._functions)))
        for place, function in enumerate(self._functions.values()):
            matrix[:, place] = function(together)
        return np.split(matrix, np.cumsum([len(pool) for pool in pools])[:-1]) if pools else []
