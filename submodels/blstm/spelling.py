"""The character CNN forwards and back, for training: a vector for each distinct word of a batch.

    spelling = Spelling.of(characters, weights, kernels=(2, 3))     spelling.vectors: (n_words, 2 * channels)
    spelling.back(of_vectors, weights)                              the gradients of its weights

A convolution over characters adds up what each character says at each of its places, so what the few characters say is
computed once and looked up. Back from the strongest window of a word only that window counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from phistack.features.arrays import Floats32, Integers, Integers32
from phistack.submodels.blstm.weights import NetworkWeights


@dataclass(frozen=True)
class Spelling:
    """The vectors of words, and which windows of them were the strongest.

    :param characters: ids, of shape `(n_words, n_characters)`.
    :param vectors: of shape `(n_words, n_kernels * channels)`.
    :param strongest: for each width of a kernel the first character of the strongest window: `(n_words, channels)`.
    """

    characters: Integers32 = field(repr=False)
    vectors: Floats32 = field(repr=False)
    strongest: Mapping[int, Integers] = field(repr=False)

    @classmethod
    def of(cls, characters: Integers32, weights: NetworkWeights, kernels: Sequence[int]) -> Self:
        """Read words of at least as many characters as the widest kernel; without kernels nothing is read."""
        vectors, strongest = [np.zeros((len(characters), 0), dtype=np.float32)], {}
        for width in kernels:
            n_windows = characters.shape[1] - width + 1
            # (n_characters, channels) looked up for (n_words, n_windows): what stands at each place of the window.
            answers = sum(
                (weights["character"] @ kernel)[characters[:, place : place + n_windows]]
                for place, kernel in enumerate(weights[f"kernel{width}"])
            )
            best = strongest[width] = answers.argmax(axis=1)
            found = np.take_along_axis(answers, best[:, None, :], axis=1)[:, 0]
            vectors.append(found + weights[f"kernel{width}_bias"])
        return cls(characters, np.maximum(np.concatenate(vectors, axis=1), 0), strongest)

    def back(self, of_vectors: Floats32, weights: NetworkWeights) -> dict[str, Floats32]:
        """The gradients of the characters' vectors, the kernels and their biases.

        :param of_vectors: the gradient of `vectors`.
        """
        table = weights["character"]
        gradients = {"character": np.zeros_like(table)}
        parts = np.split(of_vectors * (self.vectors > 0), len(self.strongest), axis=1) if self.strongest else []
        for (width, first), part in zip(self.strongest.items(), parts, strict=True):
            kernel = weights[f"kernel{width}"]
            channels = np.arange(part.shape[1])
            of_kernel = np.empty_like(kernel)
            for place in range(width):
                # (n_words, channels) added up to (n_characters, channels).
                ids = np.take_along_axis(self.characters, first + place, axis=1) * len(channels) + channels
                summed = np.bincount(ids.ravel(), part.ravel(), minlength=len(table) * len(channels))
                of_characters = summed.reshape(len(table), -1).astype(np.float32)
                of_kernel[place] = table.T @ of_characters
                gradients["character"] += of_characters @ kernel[place].T
            gradients |= {f"kernel{width}": of_kernel, f"kernel{width}_bias": part.sum(axis=0)}
        return gradients
