"""A linear-chain conditional random field over hand-made features, trained by CRFsuite.

    crf = CrfSubmodel(algorithm="l2sgd", c2=0.1).fit(tables)
    crf.propose(tables)[0]       [Candidate(Span(12, 17, "DOCTOR"), "crf", 0.93), ...]

Lafferty, McCallum and Pereira 2001; as a submodel in Liu 2017 and Zhao 2020. CRFsuite (Okazaki 2007) learns the
weights of attributes and transitions. Tagging sums rows of weights and runs the inference of `submodels.chain`, which
also gives the probability of each span.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats32, Integers32
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.errors import BundleError, SettingsError, TrainingError, no_such
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.tags import OUTSIDE, SCHEMES
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, NoteProposals, Submodel, refuse_beyond, saved_submodel
from phistack.submodels.chain.candidates import batches, propose
from phistack.submodels.chain.crf import Chain
from phistack.submodels.crf.crfsuite import read_weights
from phistack.submodels.crf.emissions import AttributeWeights
from phistack.submodels.crf.templates import TEMPLATES, Cross, Crosses, named_crosses, usable

_LOG = logging.getLogger("phistack")
_MODEL_FILE = "model.crfsuite"
_SETTINGS_FILE = "settings.json"

_LIMITS = {
    "c1": (0, 1e6), "c2": (0, 1e6), "regularisation": (0, 1e3), "learning_rate": (1e-6, 10),
    "max_iterations": (1, 10**6), "min_count": (1, 10**9), "look_alikes": (0, 1e6), "others": (0, 1), "noise": (0, 0.9),
    "threshold": (1e-6, 1),
}  # fmt: skip
_ALGORITHMS = ("lbfgs", "l2sgd")
_FURTHEST = 50
"""The largest offset of a template, in tokens."""


@dataclass(kw_only=True, eq=False, repr=False)
class CrfSubmodel(Submodel):
    """The CRF.

    Learned by `fit`: `crosses_` (the templates in use), `chain_` (tags and transitions), `weights_` (of attributes),
    `model_` (CRFsuite's file).

    :param templates: the feature crosses, or a file of them by name or path (`submodels.crf.templates`); a template
        with a column that the feature space lacks is dropped. Columns of other packages that no template names are read
        at the token and its two neighbours.
    :param whole_words: whether offsets in templates count words, where tokens are pieces of words: -1 is the last
        piece of the previous word, not another piece of the same word.
    :param scheme: `BIO` or `BIOES`.
    :param join_sentences: whether sentences of one line are one sequence; see `features.columns.table.line_bounds`.
    :param algorithm: `lbfgs`, or `l2sgd`, stochastic gradient descent.
    :param c1: coefficient of the L1 penalty, which removes most attributes; only with L-BFGS.
    :param c2: coefficient of the L2 penalty.
    :param regularisation: replaces c2: the coefficient of half the squared weights relative to the mean loss of a
        sequence, as in most programs, while c2 is relative to the sum of losses; 0 to use c2.
    :param learning_rate: of stochastic gradient descent.
    :param max_iterations: the most passes over the corpus; training may converge earlier.
    :param min_count: attributes of fewer training tokens are dropped.
    :param look_alikes: number of hard negatives to learn from, per token of PHI; see `submodels.crf.crfsuite`.
    :param others: the share of all tokens to learn from as well; 1 is all.
    :param noise: share of the attributes of each token that are not read in training, drawn by the seed, so that weight
        is spread over more of them (feature noising; Wang et al. 2013). For notes unlike those that it learns from.
    :param threshold: least probability of a candidate that is not on the best path.
    """

    kind: ClassVar[str] = "crf.v1"
    cost: ClassVar[float] = 40.0
    discreet: ClassVar[bool] = True

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
    noise: float = 0.0
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

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes.

        :param seed: for the noise and the order of stochastic gradient descent; L-BFGS uses no random numbers.
        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if a setting is out of its range.
        """
        from phistack.submodels.crf.crfsuite import train

        self.check()
        tags = [table.tags(scheme=self.scheme) for table in tables]
        if all(tag == OUTSIDE for note in tags for tag in note):
            raise TrainingError(f"the CRF needs PHI to learn from, and none of the {len(tables)} notes has any")
        self.crosses_ = self._crosses(tables[0].space)
        if missing := sorted(self._columns - set(tables[0].space.columns)):
            _LOG.info("crf: templates with %s are left out, as the features lack these columns", ", ".join(missing))
        self._use(train(self, tables, tags, seed))
        _LOG.info("crf: %d attributes with a weight, %d tags", self.weights_.n_attributes, len(self.chain_.tags))
        return self

    def emissions(self, tables: Sequence[FeatureTable]) -> Floats32:
        """The score of each tag at each token of the notes, laid end to end, of shape `(n_tokens, L)`."""
        return self.weights_.emissions(tables)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans of each note's best path, and the other probable ones."""
        return [note.candidates for note in self.proposals(tables)]

    def proposals(self, tables: Sequence[FeatureTable]) -> list[NoteProposals]:
        """The same, with the probability of further PHI in each line."""
        found: list[NoteProposals] = []
        for part in batches(tables):
            notes = tables[part]
            edges = np.cumsum([0, *map(len, notes)])
            is_phi = np.empty(edges[-1])
            bounds = list(map(self.sequences, notes))
            emissions = self.emissions(notes)
            of_notes = propose(self.chain_, emissions, notes, bounds, self.name, self.threshold, is_phi=is_phi)
            found += map(NoteProposals.of, notes, of_notes, np.split(is_phi, edges[1:-1]))
        return found

    def save(self, folder: Path) -> None:
        """Write `settings.json`, with all templates, and CRFsuite's `model.crfsuite`."""
        write_json(folder / _SETTINGS_FILE, {**self.settings(), "templates": self.declared})
        (folder / _MODEL_FILE).write_bytes(self.model_)

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that, or belongs to another feature space."""
        settings = files.json(_SETTINGS_FILE, dict[str, Any])
        with damage_refused("the CRF of the engine"):
            model = saved_submodel(cls, settings)
            if isinstance(model.templates, str):
                raise BundleError("the CRF of the engine names a file of templates, which engines spell out")
            model.check()
            model.crosses_ = model._crosses(space)
            model._use(files.read(_MODEL_FILE))
        return model

    def sequences(self, table: FeatureTable) -> Integers32:
        """The first tokens of a note's tag sequences, then its number of tokens."""
        return line_bounds(table) if self.join_sentences else table.sentences

    def _crosses(self, space: FeatureSpace) -> Crosses:
        further = (((name, offset),) for name in space.further_columns(self._columns) for offset in (-1, 0, 1))
        return Crosses.of((*usable(self.declared, space.columns), *further), space, whole_words=self.whole_words)

    @property
    def _columns(self) -> set[str]:
        return {name for template in self.declared for name, _ in template}

    def _use(self, model: bytes) -> None:
        """Take tags and weights from CRFsuite's file; :raises BundleError: if it is damaged or does not fit."""
        self.model_, weights = model, read_weights(model)
        attributes = numbers_of(weights.attributes)
        if len(attributes) and attributes[:, 0].max() >= len(self.crosses_.templates):
            raise BundleError("the CRF was trained with more feature columns than this engine has; train again")
        most = np.array([math.prod(self.crosses_.bases(i)) for i in range(len(self.crosses_.templates))], np.int64)
        if (attributes < 0).any() or (attributes[:, 1] >= most[attributes[:, 0]]).any():
            raise BundleError("the CRF's model file holds attributes that no template gives; train again")
        nothing = np.zeros(len(weights.labels))
        self.chain_ = Chain(weights.labels, weights.transitions, nothing, nothing).constrained(self.scheme)
        self.weights_ = AttributeWeights(self.crosses_, attributes[:, 0], attributes[:, 1], weights.state)


def numbers_of(attributes: Sequence[str]) -> NDArray[np.int64]:
    """The template and value in the name of each attribute, of shape `(A, 2)`; :raises BundleError: for other names."""
    try:
        if any(name.count(":") != 1 for name in attributes):
            raise ValueError("not a template and a value")
        pairs = ":".join(attributes).split(":") if attributes else []
        return np.fromiter(map(int, pairs), np.int64, len(pairs)).reshape(-1, 2)
    except (ValueError, OverflowError):
        raise BundleError("the CRF's model file holds attributes that no template gives; train again") from None
