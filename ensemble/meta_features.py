"""The named features from which the stacker judges a candidate.

    features = MetaFeatures(sources=("regex", "crf"), labels=("DOCTOR", "PATIENT"), names="liu2017")
    features.matrix(table, pool)        (n_candidates, n_features)
    features.columns                    ("vote:regex", "vote:crf", "same span", ...)

Three sets: `liu2017` has the ten features of Liu 2017; `zhao2020` has who proposed the candidate, its overlap with
others and its type (Zhao 2020, after Kim and Riloff 2015); `all` has both, and the submodels' scores for it and its
rivals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ensemble.candidates import PooledCandidate
from features.errors import SettingsError
from features.table import FeatureTable
from submodels.base import Candidate

__all__ = ["FEATURE_SETS", "MetaFeatures"]

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

_Value = Callable[["_Note", PooledCandidate], float]


@dataclass(frozen=True)
class _Note:
    """One note's candidates, indexed for the questions that features ask."""

    table: FeatureTable
    pool: Sequence[PooledCandidate]

    @cached_property
    def words(self) -> list[str]:
        return [word.lower() for word in self.table.words]

    @cached_property
    def rivals(self) -> dict[PooledCandidate, list[PooledCandidate]]:
        """For each candidate, the others that share a character with it."""
        found: dict[PooledCandidate, list[PooledCandidate]] = {candidate: [] for candidate in self.pool}
        for i, candidate in enumerate(self.pool):
            for other in self.pool[i + 1 :]:
                if other.span.start >= candidate.span.end:
                    break
                found[candidate].append(other)
                found[other].append(candidate)
        return found

    @cached_property
    def mentions(self) -> dict[str, list[PooledCandidate]]:
        """Candidates by their text in lower case."""
        found: defaultdict[str, list[PooledCandidate]] = defaultdict(list)
        for candidate in self.pool:
            found[self.mention(candidate)].append(candidate)
        return found

    @cached_property
    def label_counts(self) -> Counter[str]:
        return Counter(candidate.span.label for candidate in self.pool if _chosen(candidate))

    def mention(self, candidate: PooledCandidate) -> str:
        return self.table.document.text[candidate.span.start : candidate.span.end].lower()

    def tokens(self, candidate: PooledCandidate) -> list[str]:
        starts, ends = self.table.offsets
        first = int(ends.searchsorted(candidate.span.start, side="right"))
        return self.words[first : int(starts.searchsorted(candidate.span.end, side="left"))]

    def repeats(self, candidate: PooledCandidate) -> list[PooledCandidate]:
        return [other for other in self.mentions[self.mention(candidate)] if other is not candidate]


def _chosen(candidate: PooledCandidate) -> bool:
    return any(vote.chosen for vote in candidate.votes)


def _same_span(a: PooledCandidate, b: PooledCandidate) -> bool:
    return (a.span.start, a.span.end) == (b.span.start, b.span.end)


def _same_label(a: PooledCandidate, b: PooledCandidate) -> bool:
    return a.span.label == b.span.label


def _score(vote: Candidate | None) -> float:
    return vote.score if vote else 0.0


def _best(candidates: Sequence[PooledCandidate], source: str) -> float:
    return max((_score(candidate.vote_of(source)) for candidate in candidates), default=0.0)


def _votes(sources: Sequence[str]) -> dict[str, _Value]:
    """Which submodels proposed exactly this."""

    def value(source: str) -> _Value:
        return lambda note, candidate: float((vote := candidate.vote_of(source)) is not None and vote.chosen)

    return {f"vote:{source}": value(source) for source in sources}


def _overlaps(sources: Sequence[str]) -> dict[str, _Value]:
    """For each submodel, whether it chose something else there, by agreement of span and of type."""

    def value(source: str, same_span: bool, same_label: bool) -> _Value:
        def present(note: _Note, candidate: PooledCandidate) -> float:
            return float(
                any(
                    _same_span(candidate, other) == same_span
                    and _same_label(candidate, other) == same_label
                    and (vote := other.vote_of(source)) is not None
                    and vote.chosen
                    for other in note.rivals[candidate]
                )
            )

        return present

    kinds = {"other type": (True, False), "overlap": (False, True), "overlap, other type": (False, False)}
    return {f"{name}:{source}": value(source, *agreement) for source in sources for name, agreement in kinds.items()}


def _labels(labels: Sequence[str]) -> dict[str, _Value]:
    """The candidate's type, one of n."""

    def value(label: str) -> _Value:
        return lambda note, candidate: float(candidate.span.label == label)

    return {f"label:{label}": value(label) for label in labels}


def _liu(sources: Sequence[str], language: str) -> dict[str, _Value]:
    """The ten features of Liu 2017, section 2.5."""
    function_words = _FUNCTION_WORDS.get(language, frozenset())

    def others(note: _Note, candidate: PooledCandidate) -> list[PooledCandidate]:
        return [other for other in note.rivals[candidate] if _chosen(other)]

    def agreeing(same_span: bool, same_label: bool) -> _Value:
        def value(note: _Note, candidate: PooledCandidate) -> float:
            if same_span and len([vote for vote in candidate.votes if vote.chosen]) > 1:
                return 1.0
            return float(
                any(
                    (not same_span or _same_span(candidate, other))
                    and (not same_label or _same_label(candidate, other))
                    for other in others(note, candidate)
                )
            )

        return value

    def times(candidate: PooledCandidate) -> float:
        return float(sum(vote.chosen for vote in candidate.votes))

    return {
        "same span": agreeing(True, False),
        "same span and type": lambda note, candidate: float(times(candidate) > 1),
        "overlapping": agreeing(False, False),
        "overlapping, same type": agreeing(False, True),
        "function word": lambda note, candidate: float(not function_words.isdisjoint(note.tokens(candidate))),
        **_votes(sources),
        "times predicted": lambda note, candidate: times(candidate),
        "times span predicted": lambda note, candidate: (
            times(candidate) + sum(times(other) for other in note.rivals[candidate] if _same_span(candidate, other))
        ),
        "tokens": lambda note, candidate: float(np.log1p(len(note.tokens(candidate)))),
        "times in record": lambda note, candidate: float(
            np.log1p(sum(_same_label(candidate, other) and _chosen(other) for other in note.repeats(candidate)))
        ),
    }


def _scores(sources: Sequence[str]) -> dict[str, _Value]:
    """How sure each submodel is of the candidate, and of the surest rival of each kind."""

    def own(source: str) -> _Value:
        return lambda note, candidate: _score(candidate.vote_of(source))

    def rival(source: str, same_span: bool, same_label: bool) -> _Value:
        return lambda note, candidate: _best(
            [
                other
                for other in note.rivals[candidate]
                if _same_span(candidate, other) == same_span and _same_label(candidate, other) == same_label
            ],
            source,
        )

    def repeat(source: str, same_label: bool) -> _Value:
        return lambda note, candidate: _best(
            [other for other in note.repeats(candidate) if _same_label(candidate, other) == same_label], source
        )

    values: dict[str, _Value] = {}
    for source in sources:
        values[f"score:{source}"] = own(source)
        values[f"score of other type:{source}"] = rival(source, True, False)
        values[f"score of overlap:{source}"] = rival(source, False, True)
        values[f"score of overlap, other type:{source}"] = rival(source, False, False)
        values[f"score of repeat:{source}"] = repeat(source, True)
        values[f"score of repeat, other type:{source}"] = repeat(source, False)
    values["mean score"] = lambda note, candidate: sum(vote.score for vote in candidate.votes) / len(sources)
    values["same type in record"] = lambda note, candidate: float(np.log1p(note.label_counts[candidate.span.label]))
    values["characters"] = lambda note, candidate: float(np.log1p(candidate.span.end - candidate.span.start))
    return values


def _values(name: str, sources: Sequence[str], labels: Sequence[str], language: str) -> dict[str, _Value]:
    sets: dict[str, Callable[[], dict[str, _Value]]] = {
        "liu2017": lambda: _liu(sources, language),
        "zhao2020": lambda: _votes(sources) | _overlaps(sources) | _labels(labels),
        "all": lambda: _liu(sources, language) | _overlaps(sources) | _labels(labels) | _scores(sources),
    }
    return sets[name]()


FEATURE_SETS = ("liu2017", "zhao2020", "all")


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
    names: str = "all"
    language: str = "en"
    _functions: Mapping[str, _Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.names not in FEATURE_SETS:
            raise SettingsError(
                f"no set of stacker features is named {self.names}; there are {', '.join(FEATURE_SETS)}"
            )
        object.__setattr__(self, "_functions", _values(self.names, self.sources, self.labels, self.language))

    @property
    def columns(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(self._functions)

    def matrix(self, table: FeatureTable, pool: Sequence[PooledCandidate]) -> NDArray[np.float64]:
        """The features of one note's candidates, of shape `(n_candidates, n_features)`."""
        note = _Note(table, pool)
        rows = [[value(note, candidate) for value in self._functions.values()] for candidate in pool]
        return np.array(rows, dtype=np.float64).reshape(len(pool), len(self._functions))
