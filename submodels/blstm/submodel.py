"""The BLSTM-CNN-CRF submodel: a neural network that reads words, their characters and their feature columns.

    blstm = BlstmSubmodel(epochs=8).fit(tables, seed=1)
    blstm.propose(tables)[0]      [Candidate(Span(12, 17, "DOCTOR"), "blstm", 0.97), ...]

Ma and Hovy 2016, with feature embeddings as in Zhao 2020: a bidirectional LSTM over word embedding, character CNN and
feature embeddings gives each tag a score at each token, and a linear chain over the tags joins them. The scores and
transitions of several networks with different first weights are averaged, which is the log-linear pool of their
distributions (Genest and Zidek 1986). As annotated notes are few, each pass reads them with some mentions replaced (Dai
and Adel 2020), and the network also learns to predict words (Rei 2017). Training and proposing need NumPy alone;
TensorFlow can train the same network.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NotRequired, Self, TypedDict

import numpy as np

from phistack.features.arrays import Floats32, Integers32
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.features.reporting import report
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.tags import OUTSIDE, decode
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, LineMask, Pretraining, Submodel, saved_submodel
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.blstm.inference import SentenceRun, emissions_of, states_in
from phistack.submodels.blstm.rows import EncodedNote, Excerpt, blocks_of
from phistack.submodels.blstm.settings import NO_LANGUAGE_MODELS, BlstmSettings
from phistack.submodels.blstm.weights import (
    InitialValues,
    NetworkWeights,
    from_saved,
    network_shapes,
    to_saved,
    transferred_weights,
)
from phistack.submodels.chain.candidates import HasTokens, propose
from phistack.submodels.chain.crf import Chain

_LOG = logging.getLogger("phistack")
_SETTINGS_FILE = "settings.json"
_VOCABULARY_FILE = "vocabularies.json"
_WEIGHTS_FILE = "weights-{}.npz"

# Large, as the folds or settings of one run have neighbouring seeds and must not share networks.
_BETWEEN_SEEDS = 1_000_003


class _Vocabularies(TypedDict):
    """What `vocabularies.json` holds."""

    words: list[str]
    characters: list[str]
    columns: list[str]
    values: list[list[int]]
    tags: list[str]
    word_size: NotRequired[int]


class BlstmSubmodel(BlstmSettings, Submodel):
    """Bidirectional LSTM with character CNN, feature embeddings and a CRF on top.

    Learned by `fit`: `encoder_` (words, characters and feature values), `tags_`, `weights_` (of each network),
    `word_size_`; `language_models_` are those of the features, or `None`. `start_` holds pretrained networks for `fit`.
    """

    kind: ClassVar[str] = "blstm.v1"
    cost: ClassVar[float] = 110.0
    discreet: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    start_: BlstmSubmodel | None = None

    def pretraining(self) -> Pretraining | None:
        """Half as many epochs of pretraining on invented and other notes."""
        if not (self.invented_notes or self.pretraining_notes):
            return None
        changes = {
            "invented_notes": 0, "pretraining_notes": (), "epochs": max(1, self.epochs // 2), "development": 0.0,
            "bits": 32,
        }  # fmt: skip
        return Pretraining(self.invented_notes, changes, self.pretraining_notes)

    def warm_start(self, files: SavedFiles, space: FeatureSpace) -> None:
        """Begin with all but the tag layers of pretrained networks."""
        self.start_ = self.load(files, space)

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes.

        :param seed: decides the first weights of each network, the order of the notes and dropout.
        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if a setting is out of its range.
        """
        from phistack.submodels.blstm.mention_replacement import Mentions
        from phistack.submodels.blstm.training import EarlyStopping, Trainer, TrainingPlan, f1_of, held_back, train

        self.check()
        tables, development = held_back(tables, self.development, seed=seed)
        tags = [table.tags(scheme=self.scheme) for table in tables]
        self.tags_ = tuple(sorted({OUTSIDE}.union(*tags)))
        if self.tags_ == (OUTSIDE,):
            raise TrainingError(f"the BLSTM-CNN-CRF needs PHI to learn from, and none of {len(tables)} notes has any")
        space = tables[0].space
        vectors = space.representations_.vectors if self.pretrained else None
        self.word_size_ = vectors.size if vectors else self.word_size
        further = vectors.words if vectors else ()
        self.encoder_ = Encoder.of(tables, self.columns_in(space), further=further, min_count=self.min_count)
        start, self.start_ = self.start_, None
        if start is not None:
            self.encoder_ = start.encoder_.joined(self.encoder_)
        known = [InitialValues("word", self.encoder_.word_ids(vectors.words), vectors.rows)] if vectors else []
        spellings: dict[str, int] = {}
        self._use_language_models(space)
        notes = self._encoded(tables, spellings, self.tags_)
        mentions = Mentions(notes, [decode(note, scheme=self.scheme) for note in tags], self.encoder_.columns)
        characters = self.encoder_.spell(spellings)
        plan = TrainingPlan(self, self._shapes(), notes, characters, self.encoder_.offsets[:-1])
        self.weights_: list[NetworkWeights] = []

        def f1_on_development(weights: NetworkWeights) -> float:
            trial = copy(self)
            trial.weights_, trial.threshold = [weights], 1.0
            return f1_of(development, trial.propose(development))

        for number in range(self.networks):
            _LOG.info("blstm: network %d of %d", number + 1, self.networks)
            its_seed = seed + _BETWEEN_SEEDS * number
            stopping = EarlyStopping(f1_on_development, self.patience) if development else None
            earlier = transferred_weights(start.weights_[number], start.encoder_, self.encoder_) if start else []
            trainer = Trainer(plan, seed=its_seed, known=[*known, *earlier])
            reported = partial(self._report, number)
            weights = train(trainer, mentions, plan, seed=its_seed, reported=reported, stopping=stopping)
            self.weights_.append(from_saved(to_saved(weights, self.bits), plan.shapes, self.bits))
        return self

    def _report(self, number: int, share: float, words: str) -> None:
        network = f"network {number + 1} of {self.networks}, " if self.networks > 1 else ""
        report((number + share) / self.networks, network + words)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans of each note's best path, and others that are probable enough."""
        return self._candidates(tables, list(map(line_bounds, tables)), self.emissions(tables))

    def propose_in(self, tables: Sequence[FeatureTable], wanted: Sequence[LineMask]) -> list[list[Candidate]]:
        """The same for some lines; only the rows that hold one are read."""
        excerpts = [Excerpt(table, lines, self.window) for table, lines in zip(tables, wanted, strict=True)]
        spellings: dict[str, int] = {}
        encoded = [
            row
            for table, excerpt in zip(tables, excerpts, strict=True)
            for row in self.encoder_.encode_rows(table, excerpt.rows, spellings)
        ]
        runs = [(table, *row) for table, excerpt in zip(tables, excerpts, strict=True) for row in excerpt.rows]
        nothing = np.zeros((0, len(self.tags_)), dtype=np.float32)
        read = iter(self._emissions_of(self._with_states(encoded, runs), spellings))
        emissions = [
            np.concatenate([nothing, *islice(read, len(excerpt.rows))])[excerpt.places] for excerpt in excerpts
        ]
        return self._candidates(excerpts, [excerpt.bounds for excerpt in excerpts], emissions)

    def emissions(self, tables: Sequence[FeatureTable]) -> list[Floats32]:
        """The score of each tag at each token of each note, of shape `(n_tokens, n_tags)`."""
        spellings: dict[str, int] = {}
        return self._emissions_of(self._encoded(tables, spellings), spellings)

    def _use_language_models(self, space: FeatureSpace) -> None:
        """Use those of the features; :raises SettingsError: if the network reads them and there are none."""
        self.language_models_ = space.representations_.language_models if self.contextual else None
        if self.contextual and self.language_models_ is None:
            raise SettingsError(NO_LANGUAGE_MODELS)

    def _encoded(
        self, tables: Sequence[FeatureTable], spellings: dict[str, int], tags: Sequence[str] = ()
    ) -> list[EncodedNote]:
        """Whole notes as the network reads them; see `Encoder.encode`."""
        notes = [self.encoder_.encode(table, spellings, tags, scheme=self.scheme) for table in tables]
        return self._with_states(notes, [(table, 0, len(table)) for table in tables])

    def _with_states(self, notes: list[EncodedNote], runs: Sequence[SentenceRun]) -> list[EncodedNote]:
        """The notes, with the states of the language models if the network reads them."""
        if self.language_models_ is None:
            return notes
        states = states_in(self.language_models_, runs)
        return [replace(note, states=of_note) for note, of_note in zip(notes, states, strict=True)]

    def _emissions_of(self, notes: Sequence[EncodedNote], spellings: Iterable[str]) -> list[Floats32]:
        blocks = blocks_of(() if self.feature_layer else self.encoder_.columns)
        return emissions_of(self.weights_, notes, self.encoder_.spell(spellings), blocks, self.window)

    def _candidates(
        self, notes: Sequence[HasTokens], bounds: Sequence[Integers32], emissions: Sequence[Floats32]
    ) -> list[list[Candidate]]:
        """:param bounds: for each note where its tag sequences begin, then its number of tokens."""
        scores = np.concatenate([np.zeros((0, len(self.tags_)), dtype=np.float32), *emissions])
        return propose(self.chain(), scores, notes, bounds, self.name, self.threshold)

    def chain(self) -> Chain:
        """The averaged transitions between tags, with those that the scheme forbids ruled out."""
        n_tags = len(self.tags_)
        if self.crf:
            names = ("transitions", "start", "end")
            of_all = ([weights[name] for weights in self.weights_] for name in names)
            scores = [np.stack(of_networks).mean(axis=0, dtype=np.float64) for of_networks in of_all]
        else:
            scores = [np.zeros((n_tags, n_tags)), np.zeros(n_tags), np.zeros(n_tags)]
        return Chain(self.tags_, *scores).constrained(self.scheme)

    def save(self, folder: Path) -> None:
        """Write `settings.json`, `vocabularies.json` and the weights of each network."""
        vocabularies = {
            "words": self.encoder_.words,
            "characters": self.encoder_.characters,
            "columns": list(self.encoder_.columns),
            "values": self.encoder_.values,
            "tags": list(self.tags_),
            "word_size": self.word_size_,
        }
        write_json(folder / _SETTINGS_FILE, self.settings())
        write_json(folder / _VOCABULARY_FILE, vocabularies, indent=None)
        for number, weights in enumerate(self.weights_, start=1):
            np.savez(folder / _WEIGHTS_FILE.format(number), allow_pickle=False, **to_saved(weights, self.bits))

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that, or belongs to another feature space."""
        settings = files.json(_SETTINGS_FILE, dict[str, Any])
        found = files.json(_VOCABULARY_FILE, _Vocabularies)
        if not set(found["columns"]) <= set(space.columns):
            raise BundleError("the BLSTM-CNN-CRF reads feature columns that this engine does not have")
        if settings.pop("half_precision", False):  # of bundles older than `bits`
            settings["bits"] = 16
        with damage_refused("the BLSTM-CNN-CRF of the engine"):
            model = saved_submodel(cls, settings)
            model.check()
            model.tags_ = tuple(found["tags"])
            model._use_language_models(space)
            model.word_size_ = found.get("word_size", model.word_size)
            for name, ids in zip(found["columns"], found["values"], strict=True):
                if not all(0 < number < len(space.values(name)) for number in ids):
                    raise BundleError("the BLSTM-CNN-CRF knows feature values that this engine does not have")
            model.encoder_ = Encoder(found["words"], found["characters"], found["columns"], found["values"])
            saved = [files.arrays(_WEIGHTS_FILE.format(number)) for number in range(1, model.networks + 1)]
            model.weights_ = [from_saved(weights, model._shapes(), model.bits) for weights in saved]
            model.chain()
        return model

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of a network's weights."""
        return network_shapes(
            replace(self, word_size=self.word_size_),
            words=len(self.encoder_.words) + 2,
            characters=len(self.encoder_.characters) + 2,
            values=int(self.encoder_.offsets[-1]),
            columns=len(self.encoder_.columns),
            tags=len(self.tags_),
            states=self.language_models_.size if self.language_models_ else 0,
        )
