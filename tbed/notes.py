"""Notes for the rule learner: their tables, and the tags of their tokens.

notes = Notes(tables, initial, gold)
flat_tags(notes.tables, notes.gold, ids)      (n_tokens,) the tags of all notes as ids
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.columns.table import FeatureTable
from phistack.features.errors import SettingsError

TagSequences = Sequence[Sequence[str]]
"""For each note one tag a token."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes with initial and gold tags.

    :param tables: the notes.
    :param initial: for each note one tag a token.
    :param gold: of the same shape.
    """

    tables: Sequence[FeatureTable] = field(repr=False)
    initial: TagSequences = field(repr=False)
    gold: TagSequences = field(repr=False)


def flat_tags(tables: Sequence[FeatureTable], sequences: TagSequences, ids: dict[str, int]) -> Integers32:
    """The tags of all notes as ids, of shape `(n_tokens,)`; new tags are entered into `ids`.

    :raises SettingsError: if the tags are not one a token.
    """
    if [len(table) for table in tables] != [len(tags) for tags in sequences]:
        raise SettingsError("the rule learner needs exactly one tag for each token of each note")
    for tags in sequences:
        for tag in dict.fromkeys(tags):
            ids.setdefault(tag, len(ids))
    parts = [np.fromiter(map(ids.__getitem__, tags), dtype=np.int32, count=len(tags)) for tags in sequences]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
