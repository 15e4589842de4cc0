"""Where a rule applies, in a grid that reads its columns and in one that knows the places of their values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.tbed.grid import TokenGrid
from phistack.tbed.templates import TAG


def _grid(*texts: str) -> TokenGrid:
    tables = FeatureSpace(FeatureSettings()).fit([Document(str(i), text) for i, text in enumerate(texts)])
    return TokenGrid.of(tables, ("word", "shape"), reach=2)


@given(st.lists(st.text("ab. \n", max_size=20), min_size=1, max_size=3), st.data())
def test_both_find_the_same_places(texts: list[str], data: st.DataObject) -> None:
    grid = _grid(*texts)
    tags = grid.laid_out(np.arange(len(grid.places)) % 2, edge=2)
    offsets = st.sampled_from([range(1), range(-2, 0), range(-1, 2), range(2, 3)])
    asked = st.tuples(st.sampled_from(["word", "shape", TAG]), offsets, st.integers(0, 3))
    conditions = [
        (column, near, min(value, grid.edges.get(column, 2)))
        for column, near, value in data.draw(st.lists(asked, min_size=1, max_size=3))
    ]
    for tag in (0, 1):
        found = grid.indexed().where(conditions, tags, tag)
        assert found.tolist() == grid.where(conditions, tags, tag).tolist()


def test_one_that_knows_the_places_reads_no_column_again() -> None:
    grid = _grid("Seen by Dr. Ash and by Dr. Elm")
    tags = grid.laid_out(np.zeros(len(grid.places)), edge=1)
    conditions = [("word", range(1), int(grid.columns["word"][grid.places[1]]))]
    indexed = grid.indexed()
    indexed.columns["word"][:] = -1
    assert indexed.where(conditions, tags, 0).tolist() == grid.places[[1, 6]].tolist()
