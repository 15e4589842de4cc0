"""Where arrays bite, each function says what shape they have; see the house rules in CONTRIBUTING.md."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = (
    "submodels/chain/lattice.py", "submodels/chain/lines.py", "submodels/chain/spans.py", "submodels/chain/viterbi.py",
    "submodels/crf/emissions.py", "submodels/blstm/inference.py", "submodels/blstm/network_input.py",
    "submodels/blstm/crf_loss.py", "submodels/blstm/fused_lstm.py", "submodels/blstm/network.py",
    "tbed/search.py", "tbed/encoding.py", "tbed/grid.py", "tbed/rule_table.py", "tbed/hash_table.py",
    "ensemble/stacking/kernel_svm.py",
)  # fmt: skip
SHAPE = re.compile(r"\((n_\w+|n|L|size|\w+ [-+*] \w+|\d)[^()]*,[^()]*\)")
LONG = 9


def without_shape(source: str) -> list[str]:
    """The longer functions on arrays that say no shape, neither in the docstring nor in a comment."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            text = ast.get_source_segment(source, node) or ""
            code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
            arrays = re.search(r"\b(np|ops|tf)\.", text)
            if arrays and len(code) >= LONG and not SHAPE.search(text):
                found.append(node.name)
    return found


@pytest.mark.parametrize("file", FILES)
def test_longer_functions_on_arrays_say_a_shape(file: str) -> None:
    assert without_shape((ROOT / file).read_text(encoding="utf-8")) == []
