"""The features of a repeat, from which an SVM learns whether it is PHI.

place = RepeatPlace(repeat, 0, "Smith, Dana: fell.", decisions, counts)
REPEAT_FEATURES["best seed"](place)     0.98
matrix_of([place])                      all numbers, (1, len(REPEAT_FEATURES))

They describe the probability and frequency of the repeated mentions, which part of them the repeat has, how it is
written, whether its words are words of the language, and the stacker's decisions on overlapping candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.deidentification.names.tables import is_known_name
from phistack.ensemble.deidentification.word_lists import known_words
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.repeats.search import Repeat
from phistack.ensemble.stacking.repeats.word_counts import Seen, WordCounts
from phistack.features.letters import fold

_BEFORE = 16


@dataclass(frozen=True, slots=True)
class RepeatPlace:
    """A repeat and its surroundings.

    :param note: index of its note among the patient's.
    :param decisions: of the stacker, on candidates that overlap the repeat.
    :param patient: a training patient, left out of the counts.
    """

    repeat: Repeat
    note: int
    text: str = field(repr=False)
    decisions: Sequence[Decision] = field(repr=False)
    counts: WordCounts = field(repr=False)
    patient: str = field(default="", repr=False)

    @property
    def written(self) -> str:
        """The text of the repeat."""
        return self.text[self.repeat.span.start : self.repeat.span.end]

    def seen(self, least: Callable[[Seen], int]) -> float:
        """The least count over the words that matter, as a logarithm."""
        return min(log1p(least(self.counts.count(word, self.patient))) for word in self.repeat.parts)

    def best(self, *, exact: bool = False, label: bool = False, accepted: bool = False) -> float:
        """The largest probability of the decisions: on the same span, of the same label, or accepted ones."""
        span, alike = self.repeat.span, [one for one in self.decisions if one.accepted == accepted]
        alike = [one for one in alike if one.span.label == span.label] if label else alike
        alike = [one for one in alike if (one.span.start, one.span.end) == (span.start, span.end)] if exact else alike
        return max((one.probability for one in alike), default=0.0)


def is_plain_name(place: RepeatPlace) -> bool:
    """Whether a repeat is part of a name and has a capital and a word that is not a word of the language."""
    is_new = not all(map(place.counts.is_word, place.repeat.parts))
    return place.repeat.is_name and place.written[:1].isupper() and is_new


def _share(place: RepeatPlace) -> float:
    """The largest share of a seed's words that the repeat has."""
    here = place.repeat.parts
    return max(len(here & seed.parts) / len(seed.parts) if seed.parts else 1.0 for seed in place.repeat.seeds)


def _best_vote(place: RepeatPlace) -> float:
    """The best score that a submodel gave to an overlapping candidate that was not accepted."""
    refused = (decision for decision in place.decisions if not decision.accepted)
    return max((vote.score for decision in refused for vote in decision.votes), default=0.0)


def _word_before(place: RepeatPlace) -> str:
    before = place.text[max(0, place.repeat.span.start - _BEFORE) : place.repeat.span.start]
    words = before.replace(".", " ").split()
    return fold(words[-1]) if words and "\n" not in before[before.rfind(words[-1]) :] else ""


REPEAT_FEATURES: Mapping[str, Callable[[RepeatPlace], float]] = {
    "best seed": lambda place: max(seed.probability for seed in place.repeat.seeds),
    "mentions": lambda place: log1p(sum(seed.times for seed in place.repeat.seeds)),
    "notes of mentions": lambda place: log1p(len({note for seed in place.repeat.seeds for note in seed.places})),
    "said in this note": lambda place: any(place.note in seed.places for seed in place.repeat.seeds),
    "is a name": lambda place: place.repeat.is_name,
    "share of seed": _share,
    "words": lambda place: log1p(len(place.repeat.words)),
    "has last word": lambda place: any(fold(place.repeat.words[-1]) == s.words[-1] for s in place.repeat.seeds),
    "has first word": lambda place: any(fold(place.repeat.words[0]) == s.words[0] for s in place.repeat.seeds),
    # With the same capitals and accents.
    "written as in seed": lambda place: any(s.written.issuperset(place.repeat.words) for s in place.repeat.seeds),
    "capitalised": lambda place: all(word[:1].isupper() for word in place.repeat.words),
    "in capitals": lambda place: place.written.isupper(),
    "in small letters": lambda place: place.written.islower(),
    "characters": lambda place: log1p(len(place.written)),
    "line start": lambda place: not place.text[: place.repeat.span.start].rpartition("\n")[2].strip(),
    "after title": lambda place: _word_before(place) in known_words(place.counts.language, "names", "titles"),
    "common word": lambda place: all(map(place.counts.is_common, place.repeat.parts)),
    "known name": lambda place: any(map(is_known_name, place.repeat.parts)),
    "seen small": lambda place: place.seen(lambda seen: seen.small),
    "seen outside": lambda place: place.seen(lambda seen: seen.outside),
    "seen in names": lambda place: place.seen(lambda seen: seen.inside),
    "refused, same": lambda place: place.best(exact=True, label=True),
    "refused, same type": lambda place: place.best(label=True),
    "refused": lambda place: place.best(),
    "best vote for refused": _best_vote,
    "accepted, same type": lambda place: place.best(label=True, accepted=True),
    "accepted": lambda place: place.best(accepted=True),
}
"""Name -> the feature, from a place."""


def matrix_of(places: Sequence[RepeatPlace]) -> NDArray[np.float64]:
    """The features of some repeats, of shape `(n_repeats, len(REPEAT_FEATURES))`."""
    rows = [[float(number(place)) for number in REPEAT_FEATURES.values()] for place in places]
    return np.array(rows, dtype=np.float64).reshape(len(places), len(REPEAT_FEATURES))
