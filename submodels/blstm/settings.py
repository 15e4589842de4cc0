"""The settings of the BLSTM-CNN-CRF submodel.

BlstmSettings(networks=1, crf=False).check()
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from phistack.features.columns.representations import BROWN_COLUMNS
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.errors import SettingsError, need, no_such
from phistack.features.tags import SCHEMES
from phistack.submodels.base import refuse_beyond

_LOG = logging.getLogger("phistack")

DEFAULT_COLUMNS = (
    "key", "key_distance", "key_in_document", "section", "shape", "line_start", "line_position", "line_from_start",
    "line_length", "space_before", "number", "starts_upper", "all_upper", "times_in_document", "document_position",
    "first_name", "last_name", "city", "region", "country", "month", "weekday", "occupation", "relative",
    "piece_shape", "place_in_piece", *BROWN_COLUMNS,
)  # fmt: skip
"""The feature columns that are read by default."""

_LIMITS = {
    "invented_notes": (0, 10**6), "window": (1, 10_000), "word_size": (1, 4096), "character_size": (1, 1024),
    "character_lstm": (0, 1024), "feature_layer": (0, 4096), "channels": (1, 1024),
    "feature_size": (1, 1024), "lstm_size": (1, 4096), "dropout": (0, 0.95), "word_dropout": (0, 0.95),
    "value_dropout": (0, 0.95), "replacement": (0, 1), "language_model": (0, 1000),
    "foreseen_words": (1, 10**6), "epochs": (1, 10_000), "batch_tokens": (1, 10**6), "batch_rows": (0, 10**6),
    "least_steps": (0, 10**6), "least_rate": (0, 1),
    "learning_rate": (1e-8, 1), "decay": (0.01, 1), "development": (0, 0.9), "patience": (1, 10_000),
    "clip": (1e-6, 1e6), "average": (0, 0.99999),
    "easy_below": (0, 1000), "easy_share": (0, 1),
    "threshold": (1e-6, 1), "min_count": (1, 10**6), "networks": (1, 100), "threads": (0, 1024),
}  # fmt: skip
"""Setting -> the least and the greatest value that it may have."""

NO_LANGUAGE_MODELS = (
    "the network reads contextual string embeddings, and there are no language models: make them from notes without "
    "annotation with `phistack language-model NOTES models`, and name them under [features] of a settings file as "
    'language_models = "models"'
)

RISE_AND_FALL, CONSTANT, HALVED = SCHEDULES = ("rise and fall", "constant", "halve on plateau")

_CHOICES = {
    "scheme": ("tag scheme", SCHEMES),
    "schedule": ("schedule of the learning rate", SCHEDULES),
    "optimiser": ("optimiser of the BLSTM-CNN-CRF", ("adam", "sgd")),
    "trainer": ("trainer of the BLSTM-CNN-CRF", ("numpy", "tensorflow")),
}
"""Setting -> its name in messages, and its possible values."""


@dataclass(kw_only=True, eq=False, repr=False)
class BlstmSettings:
    """How the network is built and trained.

    :param columns: feature columns to read, if the feature space has them; columns of other packages are added. An
        empty list for no columns at all.
    :param scheme: `BIO` or `BIOES`.
    :param crf: whether a linear chain over the tags is learned; without it each token has the softmax of its scores,
        restricted to what the scheme allows.
    :param invented_notes: pretrain on this many invented notes, if the language has any, to know more words, names and
        forms than the training notes hold; 0 for none.
    :param pretraining_notes: paths of annotated notes to pretrain on too; they may have other labels. Notes of the
        training among them are not read.
    :param networks: how many are trained and averaged; time and size grow with them.
    :param window: lines are joined to about this many tokens, so the network sees their context; with 1 it reads
        each sentence alone.
    :param word_size: length of a word's vector.
    :param pretrained: whether words begin with the vectors that the feature settings name, if any; then every word with
        a vector is known, and `word_size` is ignored.
    :param contextual: whether the network also reads contextual string embeddings, the states of the character language
        models that the feature settings name.
    :param character_size: length of a character's vector.
    :param kernels: widths of the convolutions over characters, at most 22; with an empty list there are none.
    :param channels: outputs of each convolution.
    :param character_lstm: state size of a bidirectional LSTM over a word's characters, which replaces the convolutions;
        0 for none.
    :param feature_size: length of the vector of a feature value.
    :param feature_layer: outputs of a layer after the LSTM that joins the vectors of feature values to its states; with
        0 the LSTM reads them.
    :param lstm_size: length of the LSTM's state in each direction.
    :param dropout: rate for the input of the LSTM and for its output.
    :param locked_dropout: whether it sets the same numbers to zero at all tokens of a row.
    :param word_dropout: share of words read as unknown in training.
    :param value_dropout: share of feature values read as unknown in training.
    :param replacement: share of mentions of PHI that each pass replaces by others of their label.
    :param language_model: weight of a second task in training, to predict the words beside each word; 0 for none.
    :param foreseen_words: the task's vocabulary: this many of the most frequent words.
    :param epochs: of training: passes over the notes, or several passes each if notes are few.
    :param batch_tokens: tokens of a batch; fewer if notes are few.
    :param batch_rows: rows of a batch, instead of `batch_tokens`; see `window`.
    :param least_steps: the least number of training steps, however few the notes.
    :param learning_rate: the highest of the schedule; Zhao 2020 has 0.0002.
    :param optimiser: `adam`, or `sgd`, stochastic gradient descent without momentum.
    :param schedule: how the learning rate changes: `rise and fall`, to nothing in the end, `constant`, or `halve on
        plateau`, after `patience` epochs in a row in which the training loss has not decreased.
    :param least_rate: of `halve on plateau`: training ends when the rate falls below it.
    :param decay: the rate is multiplied with this after each epoch; 1 for none.
    :param development: share of the patients whose notes are held out to score each epoch; the best epoch counts. 0 for
        none.
    :param patience: epochs in a row without a better score, after which training ends; also of `halve on plateau`.
    :param clip: the largest norm of a gradient.
    :param average: share of the running average of the weights kept at each step; 0 for the last weights.
    :param easy_below: a row with a smaller loss when it was last read is easy; 0 for none.
    :param easy_share: share of the easy rows that each pass reads.
    :param threshold: least probability of a candidate that is not on the best path.
    :param min_count: words, characters and values of columns that occur less often are unknown; for notes made from
        templates, a larger count keeps the network from memorising their words.
    :param bits: the precision of saved weights: 32, 16 or 8. A network of 8 bits has a quarter of the size.
    :param trainer: `numpy`, the fastest on a processor, or `tensorflow`, which computes the same and can use a GPU.
    :param threads: threads of TensorFlow within one operation; 0 for all cores, or 1 with a process on each core. No
        effect once TensorFlow has started.
    """

    columns: Sequence[str] = DEFAULT_COLUMNS
    scheme: str = "BIOES"
    crf: bool = True
    invented_notes: int = 400
    pretraining_notes: tuple[str, ...] = ()
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
    min_count: int = 2
    bits: int = 32
    trainer: str = "numpy"
    threads: int = 0

    def __post_init__(self) -> None:
        self.columns, self.kernels = tuple(self.columns), tuple(self.kernels)
        self.pretraining_notes = tuple(self.pretraining_notes)

    def check(self, features: FeatureSettings | None = None) -> None:
        """See `Submodel.check`; :raises MissingResourceError: if TensorFlow is set and not installed."""
        refuse_beyond(_LIMITS, self, "the BLSTM-CNN-CRF")
        if not all(1 <= width <= 22 for width in self.kernels):
            raise SettingsError("the BLSTM-CNN-CRF's setting kernels must hold widths between 1 and 22")
        for name, (what, choices) in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingsError(no_such(what, getattr(self, name), choices))
        if self.bits not in (32, 16, 8):
            raise SettingsError("the BLSTM-CNN-CRF's setting bits must be 32, 16 or 8")
        if self.trainer == "tensorflow" and features is not None:
            # A trained network, which is checked without features, works without TensorFlow.
            need("tensorflow", "tensorflow", "the network's trainer `tensorflow`")
        if self.contextual and features is not None and not features.language_models:
            raise SettingsError(NO_LANGUAGE_MODELS)

    def columns_in(self, space: FeatureSpace) -> list[str]:
        """The columns of a feature space that are read."""
        if not self.columns:
            return []
        missing = [name for name in self.columns if name not in space.columns]
        if missing:
            _LOG.info("blstm: %d columns are not read, as the features lack %s", len(missing), ", ".join(missing))
        return [*(name for name in self.columns if name in space.columns), *space.further_columns(self.columns)]
