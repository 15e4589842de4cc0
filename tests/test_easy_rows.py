"""Which rows a pass of training leaves out."""

import numpy as np

from phistack.submodels.blstm.rows import EncodedNote
from phistack.submodels.blstm.training import EasyRows


def note_of(lengths: list[int]) -> EncodedNote:
    n, bounds = sum(lengths), np.cumsum([0, *lengths]).astype(np.int32)
    ids = np.zeros(n, dtype=np.int32)
    return EncodedNote(ids, ids, ids[:, None], bounds, bounds, ids)


def test_rows_are_left_out_once_they_cost_little() -> None:
    notes, generator = [note_of([3, 4, 5])], np.random.default_rng(0)
    easy = EasyRows(notes, below=0.3, share=0.0)
    rows = [(0, 0, 7), (0, 7, 12)]
    assert easy.left_out(rows, notes, generator) == rows
    easy.remember(rows, notes, np.array([0.2, 0.4]))
    assert easy.left_out(rows, notes, generator) == rows[1:]
    easy.remember(rows[:1], notes, np.array([0.9]))
    assert easy.left_out(rows, notes, generator) == rows


def test_a_row_that_begins_elsewhere_costs_what_its_lines_do() -> None:
    notes, generator = [note_of([3, 4, 5])], np.random.default_rng(0)
    easy = EasyRows(notes, below=0.3, share=0.0)
    easy.remember([(0, 0, 7), (0, 7, 12)], notes, np.array([0.2, 0.25]))
    assert easy.left_out([(0, 0, 3), (0, 3, 12)], notes, generator) == [(0, 3, 12)]
    # A line may be read by its sentences, and rows are of longer notes where mentions were replaced.
    longer = [note_of([3, 9, 5])]
    assert easy.left_out([(0, 0, 3), (0, 3, 6), (0, 6, 12), (0, 12, 17)], longer, generator) == []


def test_a_share_of_the_easy_rows_is_read_all_the_same() -> None:
    notes = [note_of([2]) for _ in range(2000)]
    rows = [(number, 0, 2) for number in range(2000)]
    easy = EasyRows(notes, below=0.3, share=0.2)
    easy.remember(rows, notes, np.zeros(2000))
    assert 320 < len(easy.left_out(rows, notes, np.random.default_rng(1))) < 480
    assert EasyRows(notes, below=0.0, share=0.0).left_out(rows, notes, np.random.default_rng(1)) == rows
