"""What setup.cfg and the manual say about the source tree; ruff and import-linter enforce the other house rules."""

import ast
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("features", "tbed", "submodels", "ensemble")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
FACE = "ensemble/face"
DISTRIBUTIONS = {
    "brown_clustering": "brown-clustering",
    "cassis": "dkpro-cassis",
    "fhir": "fhir.resources",
    "presidio_analyzer": "presidio-analyzer",
    "pycrfsuite": "python-crfsuite",
    "sklearn": "scikit-learn",
    "tomli_w": "tomli-w",
}
BY_NAME_ONLY = {"psutil", "python-stdnum", "spacy-lookups-data"}
"""What joblib ends processes with where there is no `pgrep`, as in a container; modules that a table names; data."""


@pytest.fixture(scope="module")
def setup() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def package_of(folder: Path) -> str:
    place = folder.relative_to(ROOT).as_posix()
    return "phistack" if place == FACE else f"phistack.{place.replace('/', '.')}"


def folder_of(package: str) -> Path:
    return ROOT / (FACE if package == "phistack" else package.removeprefix("phistack.").replace(".", "/"))


def imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_setup_lists_every_package(setup: ConfigParser) -> None:
    assert sorted(setup["options"]["packages"].split()) == sorted({package_of(source.parent) for source in SOURCES})


def test_setup_ships_every_file_beside_the_sources(setup: ConfigParser) -> None:
    shipped = {
        path
        for package, patterns in setup["options.package_data"].items()
        for pattern in patterns.split(", ")
        for path in folder_of(package).glob(pattern)
    }
    beside = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert not [p.name for p in beside - shipped if p.suffix != ".py" and "__pycache__" not in p.parts]


def test_setup_names_every_library_and_no_other(setup: ConfigParser) -> None:
    tools = ("dev", "manual", "release")
    extras = [lines for extra, lines in setup["options.extras_require"].items() if extra not in tools]
    lines = "\n".join([setup["options"]["install_requires"], *extras]).splitlines()
    needed = {line.split()[0].lower() for line in lines if line}
    modules = {module.partition(".")[0] for source in SOURCES for module in imported(source)}
    libraries = modules - sys.stdlib_module_names - {"phistack"}
    assert {DISTRIBUTIONS.get(module, module) for module in libraries} | BY_NAME_ONLY == needed


def test_no_source_lets_numpy_read_pickle() -> None:
    assert not [path.name for path in SOURCES if re.search(r"allow_pickle=(?!False)", path.read_text(encoding="utf-8"))]


def test_paths_in_the_manual_exist() -> None:
    pages = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")}
    pages -= {ROOT / "docs" / "bundles.md"}  # which names the files of a bundle
    named = r"(?<!Write )(?<!here\s)`((?:features|tbed|submodels|ensemble|tests|benchmarks|docs|data)/[\w/.-]*)`"
    missing = [
        f"{page.name}: {path}"
        for page in sorted(pages)
        for path in re.findall(named, page.read_text(encoding="utf-8"))
        if "NAME" not in path and not (ROOT / path).exists()
    ]
    assert not missing
