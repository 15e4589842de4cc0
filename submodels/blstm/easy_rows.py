"""Which rows the network already knows, so that a pass over the notes may leave most of them out.

    easy = EasyRows(notes, below=0.3, share=0.2)
    rows = easy.left_out(rows, notes, generator)     all hard rows, and a fifth of the easy ones
    easy.remember(rows, notes, losses)               what reading them has shown

Most lines of a note are learned in a few passes, and then teach nothing: half of the tokens of a pass cost half of its
time and less than a hundredth of its loss. So what a row cost when it was last read says whether it is read again
(selective backpropagation, Jiang et al. 2019, with losses of the pass before instead of a forward run of their own).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phistack.features.arrays import Floats
from phistack.submodels.blstm.encoder import EncodedNote, TokenRange


class EasyRows:
    """What each line cost when it was last read. Rows begin elsewhere in each pass, so a row is the sum of its lines.

    :param notes: that are trained on.
    :param below: a row whose loss was less is easy; 0 for none.
    :param share: how likely an easy row is to be read all the same.
    """

    def __init__(self, notes: Sequence[EncodedNote], *, below: float, share: float) -> None:
        self._losses = [np.full(len(note.lines), np.inf) for note in notes]
        self._below, self._share = below, share

    def left_out(
        self, rows: Sequence[TokenRange], notes: Sequence[EncodedNote], generator: np.random.Generator
    ) -> list[TokenRange]:
        """The rows without most of those that are easy."""
        lucky = generator.random(len(rows)) < self._share
        return [row for row, kept in zip(rows, lucky, strict=True) if kept or self._of(row, notes).sum() >= self._below]

    def remember(self, rows: Sequence[TokenRange], notes: Sequence[EncodedNote], losses: Floats) -> None:
        """Keep what rows cost; `losses` is of shape `(n_rows,)`."""
        for row, loss in zip(rows, losses, strict=True):
            lines = self._of(row, notes)
            lines[:] = loss / len(lines)

    def _of(self, row: TokenRange, notes: Sequence[EncodedNote]) -> Floats:
        """The losses of the lines of a row, as a view."""
        number, first, last = row
        bounds = notes[number].lines
        return self._losses[number][np.searchsorted(bounds, first, "right") - 1 : np.searchsorted(bounds, last)]
