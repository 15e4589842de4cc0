"""The arrow of the packages and of the rooms inside them, and what no source file may do.

features  <-  tbed, submodels  <-  ensemble

A room is a package, and in `ensemble` a folder or a loose file at its top. `FLOORS` is the whole house.
"""

import ast
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest

from benchmarks.house import ROOT, House, room_of

MAY_IMPORT = {
    "features": {"features"},
    "tbed": {"features", "tbed"},
    "submodels": {"features", "submodels"},
    "ensemble": {"features", "tbed", "submodels", "ensemble"},
}
ADAPTER = "submodels/tbed/"
MAY_TAKE_ANY = {"ensemble/command_line/groups.py": ["spread"], "ensemble/batch/workers/pool.py": ["submit"]}
"""What typer calls with options by name, and what overrides a method of the standard library."""
FLOORS = (
    "features ensemble.tools",
    "tbed ensemble.evaluation ensemble.synthesis ensemble.deidentification",
    "submodels",
    "ensemble.stacking",
    "ensemble.engine",
    "ensemble.views ensemble.training ensemble.bundles",
    "ensemble.experiments ensemble.batch",
    "ensemble.tasks",
    "ensemble",
    "ensemble.command_line benchmarks",
)
"""The rooms from the ground up: each imports rooms of the floors below it only. `ensemble` itself is the face."""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}
PICKLING = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle"}
RUNNING = {"eval", "exec", "__import__"}
DISTRIBUTIONS = {"pycrfsuite": "python-crfsuite", "sklearn": "scikit-learn", "tomli_w": "tomli-w"}
BY_NAME_ONLY = {"python-stdnum"}
"""Libraries whose modules a table names and `import_module` imports."""


def sources(*packages: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for package in packages for path in (ROOT / package).rglob("*.py"))


SOURCES = sources(*MAY_IMPORT)
HOUSE = House.of(ROOT)


@pytest.fixture(scope="module")
def setup() -> ConfigParser:
    """What setup.cfg says."""
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse((ROOT / source).read_text(encoding="utf-8"), filename=source)


def imported(tree: ast.Module) -> Iterator[str]:
    """Every name that a source imports, also inside functions; a relative import gives a leading dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ("." * node.level + f"{node.module or ''}.{alias.name}" for alias in node.names)


def called(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call by its dotted name, as far as the name is written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def top_level_names(tree: ast.Module) -> set[str]:
    """What a module defines or imports, also under `if` and `try`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    return names


def declared(tree: ast.Module) -> list[str] | None:
    """The names in `__all__`, or None where a module does not write them out."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            names: list[str] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return names
    return None


def test_every_package_has_sources() -> None:
    assert {source.partition("/")[0] for source in SOURCES} == set(MAY_IMPORT)


@pytest.mark.parametrize("source", SOURCES)
def test_imports_follow_the_arrow(source: str) -> None:
    allowed = MAY_IMPORT[source.partition("/")[0]] | ({"tbed"} if source.startswith(ADAPTER) else set())
    ours = {module.partition(".")[0] for module in imported(parsed(source))} & set(MAY_IMPORT)
    assert ours <= allowed


@pytest.mark.parametrize("module", HOUSE.imports)
def test_imports_go_down_the_floors(module: str) -> None:
    rooms = set(map(room_of, HOUSE.imports[module])) - {room_of(module)}
    assert not [room for room in rooms if FLOOR[room] >= FLOOR[room_of(module)]]


def test_no_circle_of_imports() -> None:
    """Neither at the top of modules nor inside functions or under TYPE_CHECKING; the circle is shown."""
    assert not HOUSE.circles


def test_the_house_stays_small() -> None:
    assert set(map(room_of, HOUSE.imports)) == set(FLOOR)
    assert len(FLOOR) <= 18 and len(FLOORS) <= 10


@pytest.mark.parametrize("source", SOURCES)
def test_imports_are_absolute_and_never_of_tests_or_benchmarks(source: str) -> None:
    modules = list(imported(parsed(source)))
    assert not [module for module in modules if module.startswith(".")]
    assert not {module.partition(".")[0] for module in modules} & {"tests", "benchmarks", "data"}


@pytest.mark.parametrize("source", SOURCES)
def test_no_source_reads_pickle_or_runs_text(source: str) -> None:
    tree = parsed(source)
    assert not {module.partition(".")[0] for module in imported(tree)} & PICKLING
    for name, call in called(tree):
        assert name not in RUNNING
        assert name not in {"joblib.load", "joblib.dump"}
        assert not [word for word in call.keywords if word.arg == "allow_pickle" and ast.unparse(word.value) != "False"]
        if name in {"np.load", "numpy.load"}:
            assert "allow_pickle" in {word.arg for word in call.keywords}, "say allow_pickle=False"


@pytest.mark.parametrize("source", SOURCES)
def test_no_function_takes_further_arguments_of_whatever_name(source: str) -> None:
    """A misspelt one would be found late or never, and no editor can tell which there are."""
    functions = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.FunctionDef) and node.args.kwarg]
    types = {
        f.name: ast.unparse(f.args.kwarg.annotation) for f in functions if f.args.kwarg and f.args.kwarg.annotation
    }
    assert [name for name, type in types.items() if not type.endswith(".kwargs")] in ([], MAY_TAKE_ANY.get(source))


@pytest.mark.parametrize("source", SOURCES)
def test_every_public_name_exists(source: str) -> None:
    tree = parsed(source)
    names = declared(tree)
    if names is None:
        assert source.endswith("__init__.py") or source.endswith("__main__.py"), "a module names what it offers"
        return
    assert len(names) == len(set(names))
    assert set(names) <= top_level_names(tree)


def test_setup_lists_every_package(setup: ConfigParser) -> None:
    listed = setup["options"]["packages"].split()
    found = {str(Path(source).parent).replace("/", ".") for source in SOURCES}
    assert sorted(listed) == sorted(found)


def test_setup_ships_every_file_beside_the_sources(setup: ConfigParser) -> None:
    shipped: set[Path] = set()
    for package, patterns in setup["options.package_data"].items():
        folder = ROOT / package.replace(".", "/")
        shipped.update(path for pattern in patterns.split(", ") for path in folder.glob(pattern))
    beside = {path for package in MAY_IMPORT for path in (ROOT / package).rglob("*") if path.is_file()}
    assert not [p.name for p in beside - shipped if p.suffix != ".py" and "__pycache__" not in p.parts]


def test_setup_names_every_library_and_no_other(setup: ConfigParser) -> None:
    extras = [lines for extra, lines in setup["options.extras_require"].items() if extra != "dev"]
    lines = "\n".join([setup["options"]["install_requires"], *extras]).splitlines()
    needed = {line.split()[0].lower() for line in lines if line}
    modules = {module.partition(".")[0] for source in SOURCES for module in imported(parsed(source))}
    libraries = modules - set(MAY_IMPORT) - sys.stdlib_module_names - {"__future__"}
    assert {DISTRIBUTIONS.get(module, module) for module in libraries} | BY_NAME_ONLY == needed
