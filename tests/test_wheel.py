"""The wheel, built from a copy of the checkout, installed into one folder, and used from another."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("features", "tbed", "submodels", "ensemble")
SHIPPED = "phistack/ensemble/bundles/engines/tiny.zip"
"""An engine more than there are, as there may be none."""
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def _done(*command: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    (source / SHIPPED.removeprefix("phistack/")).parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests" / "golden" / "bundle_protocol_2.zip", source / SHIPPED.removeprefix("phistack/"))
    _done(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(source), cwd=built)
    return next(built.glob("phistack-*.whl"))


@pytest.fixture(scope="module")
def outside(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Run a program in an empty folder, with the installed wheel and without the checkout."""
    target, empty = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("empty")
    _done(*PIP, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel), cwd=empty)
    begin = f"import sys\nsys.path[:] = [{str(target)!r}, *(p for p in sys.path if p != {str(ROOT)!r})]\n"
    return lambda program: _done("-I", "-W", "error", "-c", begin + program, cwd=empty)


def test_the_wheel_has_every_file_of_the_packages_and_the_markers_of_their_types(wheel: Path) -> None:
    sources = (path.relative_to(ROOT).as_posix() for name in PACKAGES for path in (ROOT / name).rglob("*.*"))
    files = {f"phistack/{path.removeprefix('ensemble/face/')}" for path in sources}
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == {
        SHIPPED,
        *(f for f in files if "__pycache__" not in f),
    }
    assert "phistack/py.typed" in packed
    assert {name.partition("/")[0] for name in packed if ".dist-info/" not in name} == {"phistack"}


def test_the_command_runs_outside_the_checkout(outside: Callable[[str], str]) -> None:
    assert "deidentify" in outside(
        "from phistack.ensemble.command_line.app import main; sys.argv = ['', '--help']; main()"
    )


def test_files_of_a_user_that_are_named_as_our_folders_are_in_nobodys_way(outside: Callable[[str], str]) -> None:
    program = "for name in ('features', 'tbed', 'submodels', 'ensemble'): open(f'{name}.py', 'w').write('X = 1')\n"
    assert "Birchwood" in outside(
        program + "sys.path.insert(0, '.')\nimport features, ensemble\nfrom phistack import Document\n"
        "print(Document('n1', 'Seen by Dr. Birchwood.').text, features.X, ensemble.X)"
    )


def test_an_engine_that_ships_is_found_by_its_name_outside_the_checkout(outside: Callable[[str], str]) -> None:
    shown = outside(
        """
from phistack import Document, load_bundle, shipped_engine
from phistack.ensemble.command_line.app import main
print(load_bundle(shipped_engine("tiny")).names)
sys.argv = ["phistack", "engines"]
main()
"""
    )
    assert "'blstm')" in shown and "tiny" in shown


def test_an_engine_is_trained_and_used_outside_the_checkout(outside: Callable[[str], str]) -> None:
    """Every table in the packages is read: labels, columns, patterns, templates, policies, words, pages."""
    shown = outside(
        """
from pathlib import Path
import phistack
from phistack import *
from phistack.ensemble.command_line.app import main
from phistack.ensemble.command_line.options import LABEL_SETS, POLICIES, PRESETS
from phistack.ensemble.papers.options import PAPERS
from phistack.ensemble.papers.reproduction import published
from phistack.submodels.crf.templates import CROSSES, named_crosses
from phistack.submodels.regex.token_tagger import TOKEN_PATTERNS, TokenTagger
from phistack.tbed.templates import TEMPLATES, named_templates
assert Path(phistack.__file__).is_relative_to(sys.path[0])
assert LABEL_SETS and POLICIES and PRESETS and TEMPLATES.names
assert PAPERS and CROSSES.names and TOKEN_PATTERNS.names
figures = [published(name) for name in PAPERS]
crosses = [named_crosses(name) for name in CROSSES.names]
taggers = [TokenTagger.of(name, "i2b2-2014", ()) for name in TOKEN_PATTERNS.names]
labels = [LabelSet.named(name) for name in LABEL_SETS]
presets = [EngineSettings.preset(name) for name in PRESETS]
policies = [Policy.named(name) for name in POLICIES]
templates = [named_templates(name) for name in TEMPLATES.names]
surrogates = [Deidentifier(Policy.named("surrogate"), labels[0], language, b"k" * 16) for language in ("en", "es")]

notes = synthesize(12, seed=1)
training = train(notes, EngineSettings(submodels={"regex": {}}, folds=2))
save_bundle(training.engine, Path("engine"), self_test=self_test(training.engine), trained_on={}, figures={})
[note] = load_bundle(Path("engine")).annotate(notes.documents[:1])
write_corpus(notes, Path("notes.jsonl"), format="jsonl")
kept = FormatSettings(Columns(others={"id": "keep", "group": "keep"}))
settings = RunSettings(Path("notes.jsonl"), Path("clean.jsonl"), Path("engine"), Policy(), form_settings=kept)
summary = deidentify(settings)
print(redact(note)[:80], summary.notes)
sys.argv = ["phistack", "explain", "notes.jsonl", "--model", "engine", "--html", "why.html"]
main()
"""
    )
    assert "12" in shown
