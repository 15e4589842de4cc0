"""The settings of the CRF submodel.

CrfSettings(algorithm="l2sgd", c2=0.1).check()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phistack.features.columns.settings import FeatureSettings
from phistack.features.errors import SettingsError
from phistack.features.suggestions import no_such
from phistack.features.tags import SCHEMES
from phistack.submodels.base import refuse_beyond
from phistack.submodels.crf.cross_files import named_crosses
from phistack.submodels.crf.templates import TEMPLATES, Cross

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
"""How weights are learned: by L-BFGS, or by stochastic gradient descent."""

_FURTHEST = 50
"""Tokens from the one that a template is read at."""


@dataclass(kw_only=True, eq=False, repr=False)
class CrfSettings:
    """What the CRF reads and how it is trained.

    :param templates: the feature crosses, or a file of them by its name or path (`submodels.crf.cross_files`); those
        that name a column left out of the feature space are dropped. A column of another package that they do not
        name is read at the token and at the ones beside it.
    :param whole_words: whether offsets in templates count words, where tokens are pieces of words: at -1 is the last
        piece of the word before, rather than another piece of the same word.
    :param scheme: `BIO` or `BIOES`.
    :param join_sentences: whether sentences of one line are one sequence; see `features.columns.lines.line_bounds`.
    :param algorithm: `lbfgs`, or `l2sgd`, stochastic gradient descent.
    :param c1: coefficient of the L1 penalty, which leaves most attributes without a weight; only with L-BFGS.
    :param c2: coefficient of the L2 penalty.
    :param regularisation: in the place of c2, the weight of half the squared weights beside the mean loss of a
        sequence, as most programs have it; 0 for c2, which stands beside the sum of all losses.
    :param learning_rate: of stochastic gradient descent.
    :param max_iterations: it stops after so many passes over the corpus, or earlier where nothing is gained.
    :param min_count: an attribute that occurs at fewer of the tokens that it learns from is left out.
    :param look_alikes: how many tokens that look like PHI it learns from for each token of PHI; see
        `submodels.crf.instructive`.
    :param others: the share of all other tokens that it learns from; 1 is all.
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
        """The templates that are declared; :raises SettingsError: if their file cannot be used."""
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
            raise SettingsError(f"the CRF's templates must look at most {_FURTHEST} tokens before or after")
