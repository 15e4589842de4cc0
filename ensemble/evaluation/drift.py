"""Whether notes are like others, from summaries that hold no text: the drift check of a certificate.

    facts = facts_of(texts, scores, known, ("en",))     NoteFacts(length=2104, unknown=0.04, phi=31.2, score=0.9, ...)
    summaries = Summaries()
    summaries.add("patient 7", facts)
    summaries.profile                                      {"note length": {"44": 12, "45": 31, ...}, ...}
    differences(profile, another)                          {"language": 0.0002}, in what they differ

The units are patients, as notes of one patient are alike: each counts with the means of their notes. Ordered figures
are compared by the Kolmogorov-Smirnov test, languages by the chi-squared test; all p-values have Holm's correction.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from phistack.ensemble.evaluation.resampling import holm
from phistack.features.language_gate import languages_of
from phistack.features.letters import fold
from phistack.features.text_words import words_of

LEVEL = 0.01
"""How often notes of the same kind are taken for different ones."""

Profile = Mapping[str, Mapping[str, int]]
"""What is compared -> class or language -> the number of patients."""

LANGUAGE = "language"
_UNKNOWN_LANGUAGE = "unknown"
_SHORTEST = 3
_FEW = 5
"""Languages with fewer patients form one class."""


class NoteFacts(NamedTuple):
    """A note in figures.

    :ivar length: characters.
    :ivar unknown: share of its words that the engine never saw.
    :ivar phi: how many identifiers the engine expects, the sum of the probabilities of its candidates.
    :ivar score: the mean of these probabilities; 1 without a candidate.
    :ivar language: as ISO 639-1 code, or script.
    """

    length: int
    unknown: float
    phi: float
    score: float
    language: str


_CLASSES: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "length": ("note length", lambda mean: 4 * math.log2(1 + mean)),
    "unknown": ("share of unknown words", lambda mean: 100 * mean),
    "phi": ("PHI a note", lambda mean: 4 * math.log2(1 + mean)),
    "score": ("scores of candidates", lambda mean: 50 * mean),
}
"""Field of the facts -> its name, and on what scale a patient's mean is rounded to a class."""


def facts_of(
    texts: Sequence[str], scores: Sequence[float], known: Collection[str], languages: Collection[str]
) -> NoteFacts:
    """The facts of a note.

    :param texts: its parts.
    :param scores: the probabilities of the candidates.
    :param known: the folded words that the engine has seen; empty if it does not say.
    :param languages: those that it reads.
    """
    words = [fold(text[start:end]) for text in texts for start, end in words_of(text) if end - start >= _SHORTEST]
    unknown = sum(word not in known for word in words if known) / max(len(words), 1)
    found = languages_of(["\n".join(texts)], languages).most_common(1)
    return NoteFacts(
        length=sum(map(len, texts)),
        unknown=round(unknown, 4),
        phi=round(math.fsum(scores), 3),
        score=round(math.fsum(scores) / len(scores), 4) if scores else 1.0,
        language=found[0][0] if found else _UNKNOWN_LANGUAGE,
    )


class Summaries:
    """Sums of the facts of notes by patient."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._languages: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, patient: str, facts: NoteFacts) -> None:
        """Add a note of a patient, under any name that is unique."""
        self._sums[patient].update({"notes": 1, **{name: getattr(facts, name) for name in _CLASSES}})
        self._languages[patient][facts.language] += 1

    @property
    def profile(self) -> Profile:
        """How many patients are in each class."""
        counted = {
            name: Counter(str(round(scale(sums[field] / sums["notes"]))) for sums in self._sums.values())
            for field, (name, scale) in _CLASSES.items()
        }
        counted[LANGUAGE] = Counter(languages.most_common(1)[0][0] for languages in self._languages.values())
        return {name: dict(sorted(classes.items())) for name, classes in counted.items()}


def differences(these: Profile, others: Profile) -> dict[str, float]:
    """The properties in which notes differ from others -> p-values after Holm's correction; empty if there are none."""
    names = [name for name in these if these[name] and others.get(name)]
    tests = (_by_chi_squared if name == LANGUAGE else _by_rank for name in names)
    p_values = [test(these[name], others[name]) for name, test in zip(names, tests, strict=True)]
    return {name: round(p, 6) for name, p in zip(names, holm(p_values), strict=True) if p < LEVEL}


def _by_rank(these: Mapping[str, int], others: Mapping[str, int]) -> float:
    from scipy.stats import ks_2samp

    samples = (np.repeat([int(name) for name in counts], [*counts.values()]) for counts in (these, others))
    return float(ks_2samp(*samples, method="asymp").pvalue)


def _by_chi_squared(these: Mapping[str, int], others: Mapping[str, int]) -> float:
    from scipy.stats import chi2_contingency

    totals = Counter(these) + Counter(others)
    rare = [name for name, n in totals.items() if n < _FEW]
    classes = [*([name] for name in totals if name not in rare), *([rare] if rare else [])]
    table = [[sum(counts.get(name, 0) for name in names) for names in classes] for counts in (these, others)]
    return float(chi2_contingency(table).pvalue) if len(classes) > 1 else 1.0
