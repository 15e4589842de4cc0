"""A linear-chain conditional random field over hand-made features, trained by CRFsuite.

    crf = CrfSubmodel().fit(tables)
    crf.propose(tables)[0]       [Candidate(Span(12, 17, "DOCTOR"), "crf", 0.93), ...]

Lafferty, McCallum and Pereira 2001; as a submodel in Liu 2017 and Zhao 2020. CRFsuite (Okazaki 2007) learns the
weights of attributes and transitions. Tagging sums rows of weights and runs the inference of `submodels.chain`, which
also gives the probability of each span.
"""

from __future__ import annotations

import ctypes
import logging
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats, Floats32, Integers, Integers32
from phistack.features.columns.lines import line_bounds
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.features.reporting import report
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.tags import OUTSIDE
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, NoteProposals, Submodel, saved_submodel
from phistack.submodels.chain.candidates import batches, propose
from phistack.submodels.chain.crf import Chain
from phistack.submodels.crf.crfsuite_file import read_weights
from phistack.submodels.crf.emissions import AttributeWeights
from phistack.submodels.crf.settings import CrfSettings
from phistack.submodels.crf.templates import Crosses, usable

_LOG = logging.getLogger("phistack")
_MODEL_FILE = "model.crfsuite"
_SETTINGS_FILE = "settings.json"
_ITERATION = re.compile(r"(?:Iteration|Epoch) #(\d+)|Loss: ([\d.]+)")


class CrfSubmodel(CrfSettings, Submodel):
    """The CRF.

    Learned by `fit`: `crosses_` (the templates in use), `chain_` (tags and transitions), `weights_` (of attributes),
    `model_` (CRFsuite's file).
    """

    kind: ClassVar[str] = "crf.v1"
    cost: ClassVar[float] = 40.0

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes.

        :param seed: for the order of stochastic gradient descent; L-BFGS uses no random numbers.
        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if a setting is out of its range.
        """
        self.check()
        tags = [table.tags(scheme=self.scheme) for table in tables]
        if all(tag == OUTSIDE for note in tags for tag in note):
            raise TrainingError(f"the CRF needs PHI to learn from, and none of the {len(tables)} notes has any")
        started = perf_counter()
        self.crosses_ = self._crosses(tables[0].space)
        self._log_dropped(tables[0].space)
        self.model_ = self._train(tables, tags, seed)
        self._use(self.model_)
        _LOG.info(
            "crf: %d attributes with a weight, %d tags, in %.0f s",
            self.weights_.n_attributes, len(self.chain_.tags), perf_counter() - started,
        )  # fmt: skip
        return self

    def emissions(self, tables: Sequence[FeatureTable]) -> Floats32:
        """The score of each tag at each token of the notes, laid end to end, of shape `(n_tokens, L)`."""
        return self.weights_.emissions(tables)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans of each note's best path, and the other probable ones."""
        return self._proposed(tables)

    def proposals(self, tables: Sequence[FeatureTable]) -> list[NoteProposals]:
        """The same, with the probability of further PHI in each line."""
        is_phi = np.empty(sum(map(len, tables)))
        notes = np.split(is_phi, np.cumsum([len(table) for table in tables])[:-1])
        return [NoteProposals.of(*note) for note in zip(tables, self._proposed(tables, is_phi), notes, strict=False)]

    def _proposed(self, tables: Sequence[FeatureTable], is_phi: Floats | None = None) -> list[list[Candidate]]:
        found: list[list[Candidate]] = []
        first = 0
        for part in batches(tables):
            some = tables[part]
            last = first + sum(map(len, some))
            found += propose(
                self.chain_,
                self.emissions(some),
                some,
                [self._sequences(table) for table in some],
                self.name,
                self.threshold,
                is_phi=None if is_phi is None else is_phi[first:last],
            )
            first = last
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
            model.model_ = files.read(_MODEL_FILE)
            model.crosses_ = model._crosses(space)
            model._use(model.model_)
        return model

    def _sequences(self, table: FeatureTable) -> Integers32:
        return line_bounds(table) if self.join_sentences else table.sentences

    def _crosses(self, space: FeatureSpace) -> Crosses:
        further = (((name, offset),) for name in space.further_columns(self._columns) for offset in (-1, 0, 1))
        return Crosses.of((*usable(self.declared, space.columns), *further), space, whole_words=self.whole_words)

    @property
    def _columns(self) -> set[str]:
        return {name for template in self.declared for name, _ in template}

    def _log_dropped(self, space: FeatureSpace) -> None:
        if missing := sorted(self._columns - set(space.columns)):
            n_declared, n_left = len(self.declared), len(usable(self.declared, space.columns))
            _LOG.info(
                "crf: %d of %d templates are left out, as the features lack %s",
                n_declared - n_left, n_declared, ", ".join(missing),
            )  # fmt: skip

    def _train(self, tables: Sequence[FeatureTable], tags: Sequence[list[str]], seed: int) -> bytes:
        """CRFsuite's model file."""
        from pycrfsuite import Trainer

        from phistack.submodels.crf.instructive import instructive_tokens, pieces

        trainer = Trainer(self.algorithm, verbose=False)
        trainer.message = _progress(self.max_iterations)
        names, attributes = self._attributes(tables)
        flat = np.array([tag for note in tags for tag in note], dtype=object)
        lines = self._lines(tables)
        is_phi = flat != OUTSIDE
        learned = instructive_tokens(attributes, is_phi, lines, look_alikes=self.look_alikes, others=self.others)
        # (n_attributes,): those with enough training tokens; index 0 of the counts is for none.
        kept = np.bincount(attributes[:, learned].ravel() + 1, minlength=len(names) + 1)[1:] >= self.min_count
        sequences = list(pieces(learned, lines))
        for piece in sequences:
            of_tokens = attributes[:, piece].T
            present = (of_tokens >= 0) & kept[of_tokens]
            of_piece = [names[row[has]].tolist() for row, has in zip(of_tokens, present, strict=True)]
            trainer.append(of_piece, flat[piece].tolist())
        trainer.set_params(self._parameters(len(sequences)))
        if self.algorithm == "l2sgd":
            _seed_c_library(seed)
        with TemporaryDirectory() as folder:
            trainer.train(str(Path(folder) / _MODEL_FILE))
            return (Path(folder) / _MODEL_FILE).read_bytes()

    def _parameters(self, n_sequences: int) -> dict[str, float]:
        """CRFsuite's parameters.

        Its l2sgd has the rate `eta / (1 + lambda * eta * t)` at step t, with lambda = 2 * c2 / n_sequences. It tries
        several values of eta first, unless the number of trials is one.
        """
        shared = {
            "c2": self.regularisation / 2 * n_sequences if self.regularisation else self.c2,
            "max_iterations": self.max_iterations,
            "feature.possible_states": False,
            "feature.possible_transitions": False,
        }
        own = {"lbfgs": {"c1": self.c1}, "l2sgd": {"calibration.eta": self.learning_rate, "calibration.max_trials": 1}}
        return {**shared, **own[self.algorithm]}

    def _lines(self, tables: Sequence[FeatureTable]) -> Integers:
        """The number of each token's sequence, over all notes; of shape `(n_tokens,)`."""
        lengths = np.concatenate([np.diff(self._sequences(table)) for table in tables])
        return np.repeat(np.arange(len(lengths)), lengths)

    def _attributes(self, tables: Sequence[FeatureTable]) -> tuple[NDArray[np.object_], Integers32]:
        """The names of all attributes that are frequent enough, and the attributes of each token.

        :returns: names of shape `(n_attributes,)`, and indices of shape `(n_templates, n_tokens)`, -1 for none.
        """
        names: list[str] = []
        found = np.empty((len(self.crosses_.templates), sum(map(len, tables))), dtype=np.int32)
        # (n_templates, n_tokens): the frequent values of all templates, numbered consecutively.
        for number, values in enumerate(self.crosses_.read(tables)):
            distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
            kept = (distinct >= 0) & (counts >= self.min_count)
            found[number] = np.where(kept, len(names) + np.cumsum(kept) - 1, -1)[places]
            names.extend([f"{number}:{value}" for value in distinct[kept].tolist()])
        return np.array(names, dtype=object), found

    def _use(self, model: bytes) -> None:
        """Take tags and weights from CRFsuite's file; :raises BundleError: if it is damaged or does not fit."""
        weights = read_weights(model)
        try:
            if any(name.count(":") != 1 for name in weights.attributes):
                raise ValueError("not a template and a value")
            pairs = ":".join(weights.attributes).split(":") if weights.attributes else []
            attributes = np.fromiter(map(int, pairs), np.int64, len(pairs)).reshape(-1, 2)
        except (ValueError, OverflowError):
            raise BundleError("the CRF's model file holds attributes that no template gives; train again") from None
        if len(attributes) and attributes[:, 0].max() >= len(self.crosses_.templates):
            raise BundleError("the CRF was trained with more feature columns than this engine has; train again")
        most = np.array([math.prod(self.crosses_.bases(i)) for i in range(len(self.crosses_.templates))], np.int64)
        if (attributes < 0).any() or (attributes[:, 1] >= most[attributes[:, 0]]).any():
            raise BundleError("the CRF's model file holds attributes that no template gives; train again")
        nothing = np.zeros(len(weights.labels))
        self.chain_ = Chain(weights.labels, weights.transitions, nothing, nothing).constrained(self.scheme)
        self.weights_ = AttributeWeights(self.crosses_, attributes[:, 0], attributes[:, 1], weights.state)


def _seed_c_library(seed: int) -> None:
    """Seed the C library, whose random numbers CRFsuite uses; :raises SettingsError: if it cannot be reached."""
    try:
        seed_with = ctypes.CDLL(None).srand
    except (OSError, TypeError, AttributeError):
        raise SettingsError(
            "the CRF's algorithm l2sgd draws from the C library, which cannot be seeded on this system, so no training "
            "could be repeated; use the algorithm lbfgs"
        ) from None
    seed_with(ctypes.c_uint(seed % 2**32))


_READING = 0.15
"""The approximate share of a fit before the first iteration."""


def _progress(most: int) -> Callable[[str], None]:
    """Turns the messages of CRFsuite into progress reports, and logs every tenth iteration."""
    iteration = 0

    def on_message(message: str) -> None:
        nonlocal iteration
        match = _ITERATION.search(message)
        if match and match[1]:
            iteration = int(match[1])
            report(_READING + (1 - _READING) * iteration / most, f"iteration {iteration} of {most}")
        elif match and iteration % 10 == 0:
            _LOG.info("crf: iteration %d, loss %s", iteration, match[2])

    return on_message
