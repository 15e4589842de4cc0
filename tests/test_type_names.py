"""What holds for all modules together: a class or a named type has a name of its own in the whole house."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("features", "tbed", "submodels", "ensemble", "benchmarks")


def named_types(tree: ast.Module) -> Iterator[str]:
    """The classes and type aliases of a module, private ones too."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.strip("_")[:1].isupper() and not name.isupper():
                yield name


def homes_of_types(root: Path) -> dict[str, list[str]]:
    """Name of a type -> the modules that define it, without what stands for any type (`_T`, `_Item`)."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for name in named_types(ast.parse(path.read_text(encoding="utf-8"))):
                homes[name].append(path.relative_to(root).as_posix())
    return homes


def test_each_name_of_a_class_or_type_has_one_meaning_in_the_house() -> None:
    homes = homes_of_types(ROOT)
    assert len(homes) > 150
    assert not {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_a_second_class_or_type_of_one_name_is_found(tmp_path: Path) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "features" / "notes.py").write_text("class Note:\n    pass\n\nROWS = 3\n")
    (tmp_path / "ensemble" / "work.py").write_text("Note = tuple[str, int]\n\nROWS = 4\n")
    assert homes_of_types(tmp_path) == {"Note": ["features/notes.py", "ensemble/work.py"]}
