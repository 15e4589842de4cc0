"""The BLSTM-CNN-CRF submodel: a neural network that reads words, their characters and their feature columns.

    blstm = BlstmSubmodel(epochs=8).fit(tables, seed=1)
    blstm.propose(tables)[0]      [Candidate(Span(12, 17, "DOCTOR"), "blstm", 0.97), ...]

Ma and Hovy 2016, with feature embeddings as in Zhao 2020: a bidirectional LSTM over word embedding, character CNN and
feature embeddings gives each tag a score at each token, and a linear chain over the tags joins them. Several networks
that begin with other random weights are averaged: their scores and transitions, which is the log-linear pool of their
distributions (Genest and Zidek 1986). As annotated notes are few, each pass reads them with other mentions in the place
of some (Dai and Adel 2020), and the network also learns to foresee words (Rei 2017). Training and proposing
need NumPy alone; Keras on TensorFlow can train the same network.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NotRequired, Self, TypedDict

import numpy as np

from features.arrays import Floats32, Integers32, check_shapes
from features.columns.lines import line_bounds
from features.columns.table import FeatureSpace, FeatureTable
from features.errors import BundleError, SettingsError, TrainingError
from features.reporting import report
from features.saved_files import SavedFiles, damage_refused
from features.suggestions import no_such
from features.tags import OUTSIDE, SCHEMES, decode
from features.writing import write_json
from submodels.base import Candidate, LineMask, Submodel, saved_submodel
from submodels.blstm.character_states import SentenceRun, states_in
from submodels.blstm.development import EarlyStopping, f1_of, held_back
from submodels.blstm.encoder import EncodedNote, Encoder
from submodels.blstm.excerpts import Excerpt
from submodels.blstm.inference import blocks_of, emissions_of
from submodels.blstm.mention_replacement import Mentions
from submodels.blstm.schedules import SCHEDULES
from submodels.blstm.training import OPTIMISERS, NumpyTrainer, Trainer, TrainingPlan, train
from submodels.blstm.weights import (
    NetworkSizes,
    NetworkWeights,
    WordStart,
    as_floats32,
    rounded,
    save_weights,
)
from submodels.blstm.word_prediction import WordPrediction
from submodels.chain.candidates import HasTokens, batches, propose
from submodels.chain.crf import Chain

__all__ = ["DEFAULT_COLUMNS", "BlstmSubmodel"]

_LOG = logging.getLogger("phistack")
_SETTINGS_FILE = "settings.json"
_VOCABULARY_FILE = "vocabularies.json"
_WEIGHTS_FILE = "weights-{}.npz"

DEFAULT_COLUMNS = (
    "key", "key_distance", "key_in_document", "section", "shape", "line_start", "line_position", "line_from_start",
    "line_length", "space_before", "number", "starts_upper", "all_upper", "times_in_document", "document_position",
    "first_name", "last_name", "city", "region", "country", "month", "weekday", "occupation", "relative",
    "piece_shape", "place_in_piece",
)  # fmt: skip
"""The feature columns that are read where nothing else is said."""

_LIMITS = {
    "window": (1, 10_000), "word_size": (1, 4096), "character_size": (1, 1024), "character_lstm": (0, 1024),
    "feature_layer": (0, 4096), "channels": (1, 1024),
    "feature_size": (1, 1024), "lstm_size": (1, 4096), "dropout": (0, 0.95), "word_dropout": (0, 0.95),
    "value_dropout": (0, 0.95), "replacement": (0, 1), "language_model": (0, 1000),
    "foreseen_words": (1, 10**6), "epochs": (1, 10_000), "batch_tokens": (1, 10**6), "batch_rows": (0, 10**6),
    "least_steps": (0, 10**6), "least_rate": (0, 1),
    "learning_rate": (1e-8, 1), "decay": (0.01, 1), "development": (0, 0.9), "patience": (1, 10_000),
    "clip": (1e-6, 1e6), "average": (0, 0.99999),
    "easy_below": (0, 1000), "easy_share": (0, 1),
    "threshold": (1e-6, 1), "networks": (1, 100), "threads": (0, 1024),
}  # fmt: skip
"""Setting -> the least and the greatest value that it may have."""

_TRAINERS = ("numpy", "tensorflow")

_NO_LANGUAGE_MODELS = (
    "the network reads contextual string embeddings, and there are no language models: make them from notes without "
    "annotation with `phistack language-model NOTES models`, and name them under [features] of a settings file as "
    'language_models = "models"'
)

_BATCHES_OF_A_PASS = 100
"""Where notes are few, batches are so small that there are about so many."""

_SMALLEST_BATCH = 128
"""In tokens."""

# So far apart that the folds or settings of one run, whose seeds are neighbours, do not share networks.
_BETWEEN_SEEDS = 1_000_003


class _Vocabularies(TypedDict):
    """What `vocabularies.json` holds."""

    words: list[str]
    characters: list[str]
    columns: list[str]
    values: list[list[int]]
    tags: list[str]
    word_size: NotRequired[int]


@dataclass(kw_only=True, eq=False, repr=False)
class BlstmSubmodel(Submodel):
    """Bidirectional LSTM with character CNN, feature embeddings and a CRF on top.

    Learned by `fit`: `encoder_` (words, characters and feature values), `tags_`, `weights_` (of each network),
    `word_size_`; `language_models_` are those of the features, or `None`.

    :param columns: feature columns that are read; those that the feature space leaves out are dropped, and those of
        other packages are read too; with an empty list none is read.
    :param scheme: `BIO` or `BIOES`.
    :param crf: whether a linear chain over the tags is learned; without it each token has the softmax of its scores,
        and only what the scheme forbids is left out.
    :param networks: how many are trained and averaged; time and size grow with them.
    :param window: lines are joined to about so many tokens, so that the network sees what is around them; with 1 it
        reads each sentence alone.
    :param word_size: length of a word's vector.
    :param pretrained: whether words begin with the vectors that the feature settings name, where these name any; then
        their length counts, and every word that has one is known.
    :param contextual: whether it also reads contextual string embeddings, the states of the character language models
        that the feature settings name.
    :param character_size: length of a character's vector.
    :param kernels: widths of the convolutions over characters, at most 22; with an empty list none reads characters.
    :param channels: outputs of each convolution.
    :param character_lstm: in the place of the convolutions, a bidirectional LSTM reads the characters of a word, whose
        state has this length in each direction; 0 for none.
    :param feature_size: length of the vector of a feature value.
    :param feature_layer: with so many outputs, a layer after the LSTM joins the vectors of feature values to its
        states; 0 lets the LSTM read them.
    :param lstm_size: length of the LSTM's state in each direction.
    :param dropout: rate for the input of the LSTM and for its output.
    :param locked_dropout: whether it sets the same numbers to zero at all tokens of a row.
    :param word_dropout: share of words read as unknown in training.
    :param value_dropout: share of feature values read as unknown in training.
    :param replacement: share of mentions of PHI that each pass replaces by others of their label.
    :param language_model: weight of a second task in training, to foresee the words beside each word; 0 for none.
    :param foreseen_words: so many of the most frequent words are distinguished in it.
    :param epochs: of training: passes over the notes, or several passes where the notes are few.
    :param batch_tokens: tokens of a batch; less where the notes are few.
    :param batch_rows: in its place, how many rows a batch has, each of a sentence or more; see `window`.
    :param least_steps: steps of training that few notes get at least.
    :param learning_rate: the highest of the schedule; Zhao 2020 has 0.0002.
    :param optimiser: `adam`, or `sgd`, stochastic gradient descent without momentum.
    :param schedule: how the learning rate goes: `rise and fall`, to nothing in the end, `constant`, or `halve on
        plateau`, where the training loss has not decreased for `patience` epochs in a row.
    :param least_rate: of `halve on plateau`: training ends where the rate falls below it.
    :param decay: the rate is multiplied with this after each epoch; 1 for none.
    :param development: share of the patients on whose notes each epoch is scored and none is trained; the best epoch
        counts. 0 for none.
    :param patience: after so many epochs in a row that are no better there training ends; also of `halve on plateau`.
    :param clip: the largest norm of a gradient.
    :param average: how much of the running average of the weights is kept at each step; 0 for the last weights.
    :param easy_below: a row of lines whose loss was less when it was last read is easy; 0 for none.
    :param easy_share: share of the easy rows that each pass reads.
    :param threshold: least probability of a candidate that is not on the best path.
    :param half_precision: whether weights are rounded to 16 bits once they are learned, which halves the bundle.
    :param trainer: `numpy`, the fastest on a processor, or `tensorflow`, which computes the same and can use a GPU.
    :param threads: threads of TensorFlow within one operation; 0 for all cores, or one where each core has a process of
        its own. Without effect once TensorFlow has begun to work.
    """

    kind: ClassVar[str] = "blstm.v1"
    cost: ClassVar[float] = 110.0
    costly: ClassVar[bool] = True

    columns: Sequence[str] = DEFAULT_COLUMNS
    scheme: str = "BIOES"
    crf: bool = True
    networks: int = 2
    window: int = 64
    word_size: int = 64
    pretrained: bool = True
    contextual: bool = False
    character_size: int = 16
    kernels: tuple[int, ...] = (2, 3, 4, 5)
    channels: int = 16
    character_lstm: int = 0
    feature_size: int = 4
    feature_layer: int = 0
    lstm_size: int = 96
    dropout: float = 0.3
    locked_dropout: bool = False
    word_dropout: float = 0.05
    value_dropout: float = 0.02
    replacement: float = 0.3
    language_model: float = 0.1
    foreseen_words: int = 400
    epochs: int = 12
    batch_tokens: int = 2048
    batch_rows: int = 0
    least_steps: int = 240
    learning_rate: float = 0.011
    optimiser: str = "adam"
    schedule: str = "rise and fall"
    least_rate: float = 1e-4
    decay: float = 1.0
    development: float = 0.0
    patience: int = 3
    clip: float = 10.0
    average: float = 0.99
    easy_below: float = 0.3
    easy_share: float = 0.2
    threshold: float = 0.05
    half_precision: bool = False
    trainer: str = "numpy"
    threads: int = 0

    def __post_init__(self) -> None:
        self.columns, self.kernels = tuple(self.columns), tuple(self.kernels)

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes.

        :param seed: decides on the first weights of each network, on the order of the notes and on dropout.
        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if a setting is out of its range.
        """
        self._check_settings()
        tables, development = held_back(tables, self.development, seed=seed)
        tags = [table.tags(scheme=self.scheme) for table in tables]
        self.tags_ = tuple(sorted({OUTSIDE}.union(*tags)))
        if self.tags_ == (OUTSIDE,):
            raise TrainingError(f"the BLSTM-CNN-CRF needs PHI to learn from, and none of {len(tables)} notes has any")
        space = tables[0].space
        vectors = space.representations_.vectors if self.pretrained else None
        self.word_size_ = vectors.size if vectors else self.word_size
        self.encoder_ = Encoder.of(tables, self._columns_of(space), further=vectors.words if vectors else ())
        start = WordStart(self.encoder_.word_ids(vectors.words), vectors.rows) if vectors else None
        spellings: dict[str, int] = {}
        self._use_language_models(space)
        encoded = [self.encoder_.encode(table, spellings, self.tags_, scheme=self.scheme) for table in tables]
        notes = self._with_states(encoded, [(table, 0, len(table)) for table in tables])
        characters = self.encoder_.spell(spellings)
        mentions = Mentions.of(notes, [decode(note, scheme=self.scheme) for note in tags], self.encoder_.columns)
        plan = self._plan(notes)
        self.weights_ = []
        for number in range(self.networks):
            _LOG.info("blstm: network %d of %d", number + 1, self.networks)
            its_seed = seed + _BETWEEN_SEEDS * number
            trainer = self._trainer(notes, characters, plan, its_seed, start)
            stopping = EarlyStopping(partial(self._f1, development), self.patience) if development else None
            reported = partial(self._report, number)
            weights = train(trainer, mentions, plan, seed=its_seed, reported=reported, stopping=stopping)
            self.weights_.append(rounded(weights) if self.half_precision else weights)
        return self

    def _f1(self, tables: Sequence[FeatureTable], weights: NetworkWeights) -> float:
        """How well one network with these weights does on annotated notes."""
        trial = copy(self)
        trial.weights_, trial.threshold = [weights], 1.0
        return f1_of(tables, trial.propose(tables))

    def _report(self, number: int, share: float, words: str) -> None:
        """Report how far the training of one of the networks is."""
        network = f"network {number + 1} of {self.networks}, " if self.networks > 1 else ""
        report((number + share) / self.networks, network + words)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans of each note's best path, and the others that are probable enough."""
        return self._candidates(tables, list(map(line_bounds, tables)), self.emissions(tables))

    def propose_in(self, tables: Sequence[FeatureTable], wanted: Sequence[LineMask]) -> list[list[Candidate]]:
        """The same for some lines; only the rows that hold one are read."""
        excerpts = [Excerpt.of(table, lines, self.window) for table, lines in zip(tables, wanted, strict=True)]
        spellings: dict[str, int] = {}
        encoded = [
            row
            for table, excerpt in zip(tables, excerpts, strict=True)
            for row in self.encoder_.encode_rows(table, excerpt.rows, spellings)
        ]
        stretches = [(table, *row) for table, excerpt in zip(tables, excerpts, strict=True) for row in excerpt.rows]
        rows = self._with_states(encoded, stretches)
        nothing = np.zeros((0, len(self.tags_)), dtype=np.float32)
        read = iter(self._emissions_of(rows, spellings))
        emissions = [
            np.concatenate([nothing, *islice(read, len(excerpt.rows))])[excerpt.places] for excerpt in excerpts
        ]
        return self._candidates(excerpts, [excerpt.bounds for excerpt in excerpts], emissions)

    def emissions(self, tables: Sequence[FeatureTable]) -> list[Floats32]:
        """The score of each tag at each token of each note, of shape `(n_tokens, n_tags)`."""
        spellings: dict[str, int] = {}
        encoded = [self.encoder_.encode(table, spellings) for table in tables]
        notes = self._with_states(encoded, [(table, 0, len(table)) for table in tables])
        return self._emissions_of(notes, spellings)

    def _use_language_models(self, space: FeatureSpace) -> None:
        """Take those of the features; :raises SettingsError: if the network is to read any and there are none."""
        self.language_models_ = space.representations_.language_models if self.contextual else None
        if self.contextual and self.language_models_ is None:
            raise SettingsError(_NO_LANGUAGE_MODELS)

    def _with_states(self, notes: Sequence[EncodedNote], stretches: Sequence[SentenceRun]) -> list[EncodedNote]:
        """The notes with what language models say of their tokens, where the network reads that."""
        if self.language_models_ is None:
            return list(notes)
        states = states_in(self.language_models_, stretches)
        return [replace(note, states=of_note) for note, of_note in zip(notes, states, strict=True)]

    def _emissions_of(self, notes: Sequence[EncodedNote], spellings: Iterable[str]) -> list[Floats32]:
        blocks = blocks_of(() if self.feature_layer else self.encoder_.columns)
        return emissions_of(self.weights_, notes, self.encoder_.spell(spellings), blocks, self.window)

    def _candidates(
        self, notes: Sequence[HasTokens], bounds: Sequence[Integers32], emissions: Sequence[Floats32]
    ) -> list[list[Candidate]]:
        """:param bounds: for each note where its tag sequences begin, then its number of tokens."""
        chain = self.chain()
        return [
            candidates
            for part in batches(notes)
            for candidates in propose(
                chain, np.concatenate(emissions[part]), notes[part], bounds[part], self.name, self.threshold
            )
        ]

    def chain(self) -> Chain:
        """The averaged transitions between tags, those that the scheme forbids left out."""
        if not self.crf:
            n_tags = len(self.tags_)
            return Chain(self.tags_, np.zeros((n_tags, n_tags)), np.zeros(n_tags), np.zeros(n_tags)).constrained(
                self.scheme
            )
        transitions, start, end = (
            np.stack([weights[name] for weights in self.weights_]).astype(np.float64).mean(axis=0)
            for name in ("transitions", "start", "end")
        )
        return Chain(self.tags_, transitions, start, end).constrained(self.scheme)

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
            save_weights(folder / _WEIGHTS_FILE.format(number), weights, half_precision=self.half_precision)

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that, or belongs to another feature space."""
        settings = files.json(_SETTINGS_FILE, dict[str, Any])
        found = files.json(_VOCABULARY_FILE, _Vocabularies)
        if not set(found["columns"]) <= set(space.columns):
            raise BundleError("the BLSTM-CNN-CRF reads feature columns that this engine does not have")
        with damage_refused("the BLSTM-CNN-CRF of the engine"):
            model = saved_submodel(cls, settings)
            model._check_settings()
            model.tags_ = tuple(found["tags"])
            model._use_language_models(space)
            model.word_size_ = found.get("word_size", model.word_size)
            for name, ids in zip(found["columns"], found["values"], strict=True):
                if not all(0 < number < len(space.values(name)) for number in ids):
                    raise BundleError("the BLSTM-CNN-CRF knows feature values that this engine does not have")
            model.encoder_ = Encoder(found["words"], found["characters"], found["columns"], found["values"])
            numbers = range(1, model.networks + 1)
            saved = [files.arrays(_WEIGHTS_FILE.format(number)) for number in numbers]
            for weights in saved:
                check_shapes(weights, model._sizes().shapes(), np.float16 if model.half_precision else np.float32)
            model.weights_ = [as_floats32(weights) for weights in saved]
            model.chain()
        return model

    def _check_settings(self) -> None:
        for name, (least, most) in _LIMITS.items():
            if not least <= getattr(self, name) <= most:
                raise SettingsError(f"the BLSTM-CNN-CRF's setting {name} must lie between {least} and {most}")
        if not all(1 <= width <= 22 for width in self.kernels):
            raise SettingsError("the BLSTM-CNN-CRF's setting kernels must hold widths between 1 and 22")
        if self.scheme not in SCHEMES:
            raise SettingsError(no_such("tag scheme", self.scheme, SCHEMES))
        if self.schedule not in SCHEDULES:
            raise SettingsError(no_such("schedule of the learning rate", self.schedule, SCHEDULES))
        if self.optimiser not in OPTIMISERS:
            raise SettingsError(no_such("optimiser of the BLSTM-CNN-CRF", self.optimiser, OPTIMISERS))
        if self.trainer not in _TRAINERS:
            raise SettingsError(no_such("trainer of the BLSTM-CNN-CRF", self.trainer, _TRAINERS))

    def _columns_of(self, space: FeatureSpace) -> list[str]:
        if not self.columns:
            return []
        missing = [name for name in self.columns if name not in space.columns]
        if missing:
            _LOG.info("blstm: %d columns are not read, as the features lack %s", len(missing), ", ".join(missing))
        return [*(name for name in self.columns if name in space.columns), *space.further_columns(self.columns)]

    def _trainer(
        self,
        notes: Sequence[EncodedNote],
        characters: Integers32,
        plan: TrainingPlan,
        seed: int,
        start: WordStart | None,
    ) -> Trainer:
        prediction = None
        if self.language_model:
            prediction = WordPrediction.of(notes, words=self.foreseen_words, weight=self.language_model)
        if self.trainer == "numpy":
            return NumpyTrainer(self._sizes(), characters, plan, prediction, seed=seed, start=start)
        from submodels.blstm.keras_training import KerasTrainer, load_keras

        load_keras(self.threads)
        from submodels.blstm.network import TaggingNetwork

        dropout, locked = self.dropout, self.locked_dropout
        network = TaggingNetwork(
            self._sizes(), dropout=dropout, locked=locked, prediction=prediction, seed=seed, start=start
        )
        return KerasTrainer(network, characters, plan)

    def _sizes(self) -> NetworkSizes:
        return NetworkSizes(
            words=len(self.encoder_.words) + 2,
            characters=len(self.encoder_.characters) + 2,
            values=int(self.encoder_.offsets[-1]),
            columns=len(self.encoder_.columns),
            tags=len(self.tags_),
            word=self.word_size_,
            character=self.character_size,
            kernels=() if self.character_lstm else self.kernels,
            character_lstm=self.character_lstm,
            feature_layer=self.feature_layer,
            channels=self.channels,
            feature=self.feature_size,
            lstm=self.lstm_size,
            chain=self.crf,
            states=self.language_models_.size if self.language_models_ else 0,
        )

    def _plan(self, notes: Sequence[EncodedNote]) -> TrainingPlan:
        """With few notes, batches are smaller and an epoch may have several passes, so that there are steps enough."""
        n_tokens = sum(len(note.words) for note in notes)
        batch_tokens = min(self.batch_tokens, max(_SMALLEST_BATCH, n_tokens // _BATCHES_OF_A_PASS))
        steps = max(n_tokens // batch_tokens, 1) * self.epochs
        return TrainingPlan(
            epochs=self.epochs,
            passes=max(1, round(self.least_steps / steps)),
            batch_tokens=batch_tokens,
            batch_rows=self.batch_rows,
            window=self.window,
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            decay=self.decay,
            patience=self.patience,
            least_rate=self.least_rate,
            optimiser=self.optimiser,
            clip=self.clip,
            dropout=self.dropout,
            locked_dropout=self.locked_dropout,
            word_dropout=self.word_dropout,
            value_dropout=self.value_dropout,
            unknown_values=self.encoder_.offsets[:-1],
            replacement=self.replacement,
            average=self.average,
            easy_below=self.easy_below,
            easy_share=self.easy_share,
        )
