"""Forward and backward character language models, and their folder.

    models = CharacterModels.read(Path("models"))
    models.ids("Jan")               [0, 14, 3, 9, 0]: a line end before and after, 1 for a character that is not known
    models.size                     length of a word's embedding: the states of both directions

    models/language_models.json     characters, sizes, what they were trained on, and the SHA-256 of the other file
    models/language_models.npz      the weights, as NumPy arrays

One LSTM predicts the next character of a sentence, another reads it backwards. Their states are contextual string
embeddings (Akbik, Blythe and Vollgraf 2018). `phistack language-model` trains them on text without annotations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np

from phistack.features.arrays import Floats32, Integers32, check_shapes
from phistack.features.errors import BundleError
from phistack.features.files import file_named, read_regular
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import new_folder, write_json

LINE_END, UNKNOWN = 0, 1
STATE_FILE, _WEIGHTS_FILE = "language_models.json", "language_models.npz"
_FORMAT = "phistack.language-models.v1"


class _State(TypedDict):
    """What `language_models.json` holds."""

    format: str
    characters: list[str]
    vector: int
    units: int
    trained: dict[str, float]
    sha256: str


def model_shapes(n_characters: int, vector: int, units: int) -> dict[str, tuple[int, ...]]:
    """Name of each weight -> its shape.

    :param n_characters: number of ids, including those of the line end and of unknown characters.
    :param vector: length of a character's vector.
    :param units: of the LSTM in each direction.
    """
    of_lstm = {name: (vector + units, 4 * units) for name in ("forward", "backward")}
    return {
        "word": (n_characters, vector),
        **of_lstm,
        **{f"{name}_bias": (4 * units,) for name in of_lstm},
        "next_word": (units, n_characters),
        "previous_word": (units, n_characters),
    }


@dataclass(frozen=True, eq=False)
class CharacterModels:
    """Two language models over the same characters.

    :param characters: in the order of their ids, from 2.
    :param weights: by name, as in `model_shapes`; the names are those of a network over words.
    :param trained: facts about their training, such as `notes` and `perplexity`.
    """

    characters: Sequence[str] = field(repr=False)
    weights: Mapping[str, Floats32] = field(repr=False)
    trained: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """Length of the state in each direction."""
        return len(self.weights["next_word"])

    @property
    def size(self) -> int:
        """Length of a word's embedding."""
        return 2 * self.units

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {character: number for number, character in enumerate(self.characters, 2)}

    def ids(self, text: str) -> Integers32:
        """The ids of a sentence's characters between two line ends, of shape `(n_characters + 2,)`."""
        inner = [self._ids.get(character, UNKNOWN) for character in text]
        return np.array([LINE_END, *inner, LINE_END], dtype=np.int32)

    @cached_property
    def digest(self) -> str:
        """A hash of characters and weights."""
        digest = hashlib.sha256("".join(self.characters).encode())
        for name in sorted(self.weights):
            digest.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write both files into an existing folder."""
        with (folder / _WEIGHTS_FILE).open("wb") as file:
            np.savez(file, allow_pickle=False, **self.weights)
        state: _State = {
            "format": _FORMAT,
            "characters": list(self.characters),
            "vector": self.weights["word"].shape[1],
            "units": self.units,
            "trained": dict(self.trained),
            "sha256": hashlib.sha256((folder / _WEIGHTS_FILE).read_bytes()).hexdigest(),
        }
        write_json(folder / STATE_FILE, state)

    def write(self, folder: Path) -> None:
        """Save to a new folder, complete or not at all; :raises SettingsError: if it is taken."""
        with new_folder(folder) as part:
            self.save(part)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote; :raises SettingsError: naming the folder and what is wrong in it."""
        with file_named("the folder of language models", folder):
            files = SavedFiles({name: read_regular(folder / name) for name in (STATE_FILE, _WEIGHTS_FILE)})
            return cls.load(files)

    @classmethod
    def load(cls, files: SavedFiles) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json(STATE_FILE, _State)
        if state["format"] != _FORMAT:
            raise BundleError(f"the language models are not of the format {_FORMAT}; make them again")
        if hashlib.sha256(files.read(_WEIGHTS_FILE)).hexdigest() != state["sha256"]:
            raise BundleError(f"the file {_WEIGHTS_FILE} is not the one that {STATE_FILE} names; get both again")
        with damage_refused("the language models"):
            if any(len(character) != 1 for character in state["characters"]):
                raise ValueError("a character of another length")
            arrays: dict[str, Any] = files.arrays(_WEIGHTS_FILE)
            shapes = model_shapes(len(state["characters"]) + 2, state["vector"], state["units"])
            check_shapes(arrays, shapes, np.float32)
        return cls(state["characters"], {name: arrays[name] for name in shapes}, state["trained"])
