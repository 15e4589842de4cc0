"""A frozen class is filled once: what is found out about it later is a `cached_property`, or a class of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

from features.columns.table import FeatureSpace
from features.documents import Document
from tbed.grid import TokenGrid

ROOT = Path(__file__).parents[1]
NORMALISED = {
    "Document.spans", "Document.group", "FeatureSettings.without", "FeatureSettings.extra", "FeatureSettings.pos",
    "FeatureSettings.ner",
    "PolicyOptions.restricted_zip3", "EngineSettings.submodels", "StackerSettings.rule_labels",
}  # fmt: skip
"""What a constructor takes in any order or as any sequence, and puts into its one form at birth."""


def fields_filled_later(tree: ast.Module) -> Iterator[str]:
    """Fields of frozen classes that their constructor does not take, or that are set once more after it."""
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        if not any("frozen=True" in ast.unparse(decorator) for decorator in cls.decorator_list):
            continue
        for node in ast.walk(cls):
            if isinstance(node, ast.AnnAssign) and node.value and "init=False" in ast.unparse(node.value):
                yield f"{cls.name}.{ast.unparse(node.target)}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":
                yield f"{cls.name}.{ast.unparse(node.args[1]).strip(chr(39))}"


def test_a_frozen_class_is_filled_once() -> None:
    sources = [path for name in ("features", "tbed", "submodels", "ensemble") for path in (ROOT / name).rglob("*.py")]
    found = {name for path in sources for name in fields_filled_later(ast.parse(path.read_text(encoding="utf-8")))}
    assert found <= NORMALISED


def test_a_class_that_is_filled_twice_is_found() -> None:
    source = """
@dataclass(frozen=True)
class Names:
    last: tuple[str, ...]
    _folded: frozenset[str] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "last", tuple(self.last))
"""
    assert set(fields_filled_later(ast.parse(source))) == {"Names._folded", "Names.last"}


def test_the_grid_is_whole_at_birth() -> None:
    """Places between sentences are no token's, and have the id after the last of their column."""
    tables = FeatureSpace().fit([Document("1", "Dr Ames\nrest"), Document("2", ""), Document("3", "fluids")])
    grid = TokenGrid.of(tables, ["lower"], reach=2, within="line")
    values = [*tables[0].space.values("lower"), "-"]
    words = " ".join(values[i] for i in grid.columns["lower"])
    assert words == "- - dr ames - - rest - - fluids - -"
    assert grid.after.tolist() == [-1, -1, 1, 0, -1, -1, 0, -1, -1, 0, -1, -1]
    assert len(TokenGrid.of([], ["lower"], reach=2)) == 2
