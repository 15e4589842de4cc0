"""The settings of the CRF submodel: `CrfSettings(algorithm="l2sgd", c2=0.1).check()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phistack.features.columns.settings import FeatureSettings
from phistack.features.errors import SettingsError, no_such
from phistack.features.tags import SCHEMES
from phistack.submodels.base import refuse_beyond
from phistack.submodels.crf.templates import TEMPLATES, Cross, named_crosses

_LIMITS = {
    "c1": (0, 1e6),
    "c2": (0, 1e6),
    "max_iterations": (1, 10**6),
    "min_count": (1, 10**9),
    "look_alikes": (0, 1e6),
    "others": (0, 1),
    "learning_rate": (1e-6, 10),
    "regularisation": (0, 1e3),
    "threshold": (1e-6, 1),
}
_ALGORITHMS = ("lbfgs", "l2sgd")
_FURTHEST = 50
"""The largest offset of a template, in tokens."""


@dataclass(kw_only=True, eq=False, repr=False)
class CrfSettings:
    """The features of the CRF and its training.

    :param templates: the feature crosses, or a file of them by name or path (`submodels.crf.templates`); those with a
        column that the feature space lacks are dropped. Columns of other packages that they do not name are read at
        the token and its two neighbours.
    :param whole_words: whether offsets in templates count words, where tokens are pieces of words: -1 is the last
        piece of the previous word, not another piece of the same word.
    :param scheme: `BIO` or `BIOES`.
    :param join_sentences: whether sentences of one line are one sequence; see `features.columns.lines.line_bounds`.
    :param algorithm: `lbfgs`, or `l2sgd`, stochastic gradient descent.
    :param c1: coefficient of the L1 penalty, which removes most attributes; only with L-BFGS.
    :param c2: coefficient of the L2 penalty.
    :param regularisation: replaces c2: the coefficient of half the squared weights relative to the mean loss of a
        sequence, as in most programs, where c2 is relative to the sum of losses; 0 for c2.
    :param learning_rate: of stochastic gradient descent.
    :param max_iterations: the most passes over the corpus; training may converge earlier.
    :param min_count: attributes of fewer training tokens are dropped.
    :param look_alikes: number of hard negatives to learn from, per token of PHI; see `submodels.crf.instructive`.
    :param others: the share of all tokens to learn from as well; 1 is all.
    :param threshold: least probability of a candidate that is not on the best path.
    """

    templates: str | Sequence[Cross] = TEMPLATES
    whole_words: bool = False
    scheme: str = "BIOES"
    join_sentences: bool = True
    algorithm: str = "lbfgs"
    c1: float = 0.05
    c2: float = 0.05
    regularisation: float = 0.0
    learning_rate: float = 0.1
    max_iterations: int = 40
    min_count: int = 2
    look_alikes: float = 0.3
    others: float = 0.05
    threshold: float = 0.05

    def __post_init__(self) -> None:
        if not isinstance(self.templates, str):
            given = self.templates
            self.templates = tuple(tuple((str(name), int(offset)) for name, offset in cross) for cross in given)

    @property
    def declared(self) -> tuple[Cross, ...]:
        """The templates, read from their file if one is named; :raises SettingsError: if it cannot be used."""
        return named_crosses(self.templates) if isinstance(self.templates, str) else tuple(self.templates)

    def check(self, features: FeatureSettings | None = None) -> None:
        """See `Submodel.check`."""
        if self.scheme not in SCHEMES:
            raise SettingsError(f"the CRF's setting scheme must be one of {', '.join(SCHEMES)}")
        if self.algorithm not in _ALGORITHMS:
            raise SettingsError(no_such("algorithm of the CRF", self.algorithm, _ALGORITHMS))
        if self.algorithm == "l2sgd" and not (self.c2 or self.regularisation):
            raise SettingsError("the CRF's algorithm l2sgd needs c2 or regularisation above 0")
        refuse_beyond(_LIMITS, self, "the CRF")
        if any(not template or abs(offset) > _FURTHEST for template in self.declared for _, offset in template):
            raise SettingsError(f"the CRF's templates can have offsets of at most {_FURTHEST} tokens")
