"""A package adds a kind of submodel and a column: the example of CONTRIBUTING.md is built, installed and stacked."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.command_line.app import INSTALLED
from phistack.ensemble.deidentification.policy import POLICIES
from phistack.ensemble.tools.version import code_digest
from phistack.ensemble.training.settings import PRESETS, EngineSettings
from phistack.features.columns.installed import COLUMNS, LayoutColumn, WordColumn, installed_column
from phistack.features.columns.layout import Layout
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.vocabulary import Vocabulary
from phistack.features.errors import BundleError, PackageError, PhistackError, SettingsError
from phistack.submodels.base import submodel_class
from phistack.submodels.registry import KINDS, SUBMODELS, newest, usual_names

ROOT = Path(__file__).parents[1]
FILES = re.compile(r"Write `(?P<name>lookup/[^`]+)`:\n\n```\w+\n(?P<body>.*?)^```$", re.M | re.S)

TRAIN = """
import json, logging
from pathlib import Path
from dataclasses import replace
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from tests.annotated import small_corpus

corpus = small_corpus(10)
quick = {"max_iterations": 5}
lookups = {"long-lookup": {"kind": "lookup", "shortest": 8}, "lookup": {}}
settings = EngineSettings(submodels={**lookups, "regex": {}}, folds=2)
train_bundle(corpus, Path("of-kind"), settings)
reading = replace(settings, submodels={"crf": quick}, features=FeatureSettings(extra=("ward",)))
train_bundle(corpus, Path("of-column"), reading, jobs=2)
engine, other = load_bundle(Path("of-kind")), load_bundle(Path("of-column"))
decisions = next(engine.decide(corpus.documents[:1]))
template = [weight for weight in other.submodels[0].crosses_.templates if weight[0][0] == "ward"]
print(json.dumps({
    "names": engine.names,
    "sources": sorted({vote.source for decision in decisions for vote in decision.votes}),
    "spans": [str(d.spans) for d in engine.annotate(corpus.documents[:3])],
    "alone": [str(d.spans) for d in engine.only(("long-lookup",)).annotate(corpus.documents[:3])],
    "columns": other.space.columns[-1:] + tuple(map(str, template)),
    "group": other.space.settings.groups["wards"],
    "version": read_manifest(Path("of-kind"))["versions"]["phistack-lookup"],
    "digests": [settings.digest, reading.digest],
}))
"""


def done(*arguments: str, at: Path, installed: Path | None) -> str:
    """Run Python in a folder, with phistack and, if given, what is installed in another one."""
    path = os.pathsep.join(map(str, filter(None, (installed, ROOT))))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([sys.executable, *arguments], cwd=at, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of CONTRIBUTING.md, installed into `installed` there."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "lookup").mkdir()
    for file in FILES.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        (folder / file["name"]).write_text(file["body"], encoding="utf-8")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", "installed")
    done("-m", "pip", "install", *options, "./lookup", at=folder, installed=None)
    return folder


@pytest.fixture(scope="module")
def reported(home: Path) -> dict[str, list[str]]:
    """The output of a program that trains, saves, loads and annotates with the package."""
    reported: dict[str, list[str]] = json.loads(
        done("-c", TRAIN, at=home, installed=home / "installed").splitlines()[-1]
    )
    return reported


def test_engines_with_a_foreign_kind_and_column_are_trained_saved_loaded_and_annotate(
    reported: dict[str, list[str]],
) -> None:
    assert reported["names"] == ["regex", "long-lookup", "lookup"]
    assert set(reported["sources"]) >= {"lookup", "regex"}
    assert all("DOCTOR" in spans for spans in reported["spans"])
    assert reported["columns"] == ["ward", "(('ward', -1),)", "(('ward', 0),)", "(('ward', 1),)"]
    assert (reported["group"], reported["version"]) == (["ward"], "0.1.0")


def test_without_the_package_the_bundles_say_in_one_sentence_what_is_missing(
    home: Path, reported: dict[str, list[str]]
) -> None:
    for name, missing in (("of-kind", "the submodel kind lookup.v1"), ("of-column", "the feature column ward")):
        with pytest.raises(BundleError) as caught:
            load_bundle(home / name)
        sentence = str(caught.value)
        assert sentence.startswith(f"the bundle {home / name} cannot be used here: {missing} is not installed")
        assert sentence.endswith("install the package that provides it") and "\n" not in sentence
    assert read_manifest(home / "of-kind")["kinds"]["long-lookup"] == "lookup.v1"
    assert load_bundle(home / "of-kind", only=("regex",)).names == ("regex",)


@pytest.mark.slow
def test_the_foreign_kind_owes_what_ours_owe(home: Path) -> None:
    contract = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_submodels_contract.py", "-k", "lookup")
    assert re.search(r"\b1\d passed", done(*contract, at=ROOT, installed=home / "installed"))


def test_it_is_listed_without_being_imported_and_help_shows_it(home: Path) -> None:
    program = """
import sys
from phistack.submodels.registry import usual_names
assert usual_names()[-1] == "lookup", usual_names()
assert not {"numpy", "phistack_lookup", "phistack.submodels.base"} & {*sys.modules}
from phistack.ensemble.command_line.app import main
sys.argv = ["phistack", "train", "--help"]
main()
"""
    assert ",lookup" in re.sub(r"\s", "", done("-c", program, at=home, installed=home / "installed"))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """Install packages that consist only of a module and the entry points that they declare."""

    def forget() -> None:
        for registry in (KINDS, COLUMNS, INSTALLED, POLICIES, PRESETS):
            registry.__dict__.pop("_entries", None)
            registry.__dict__.pop("_files", None)
        installed_column.cache_clear()
        for name in ("one", "two"):
            sys.modules.pop(name, None)

    def install(name: str, entries: str, code: str = "") -> None:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(entries)
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    forget()


CLAIM = "[phistack.submodels]\n{0} = one:Lookup\n"


@pytest.mark.parametrize(
    ("kinds", "asked", "reported"),
    [
        (("mine.v1", "mine.v1"), "mine", "the submodel kind mine is claimed by the packages one and two"),
        (("mine.v1", "mine.v2"), "mine.v1", "claimed by the packages one and two; uninstall one of them"),
        (("other.v1", "crf.v2"), "crf", "crf is claimed by the packages phistack and two"),
        (("other.v1", "crf.v1"), "crf.v1", "crf is claimed by the packages phistack and two"),
        (("mine", "other.v1"), "mine", "the submodel kind mine of one has no version"),
        (("mine.v1", "other.v1"), "mine", "registers as the submodel kind mine.v1 is no class derived from"),
        (("whole.v1", "other.v1"), "whole", r"the submodel kind whole\.v1 lacks fit, load, propose, save"),
        (("mine.v1", "other.v1"), "other", r"cannot be imported from one:Lookup .* two \(ModuleNotFoundError\)"),
        (("mine.v1", "other.v1"), "mine.v2", r"mine\.v2 is not installed .*install the package"),
    ],
)
def test_a_claim_that_cannot_be_is_one_sentence(
    packages: Callable[..., None], tmp_path: Path, kinds: tuple[str, str], asked: str, reported: str
) -> None:
    base = "object" if kinds[0] == "mine.v1" else "phistack.submodels.base.Submodel"
    packages(
        "one", CLAIM.format(kinds[0]), f"import phistack.submodels.base\nclass Lookup({base}): kind = {kinds[0]!r}"
    )
    packages("two", CLAIM.format(kinds[1]), "")
    if "ModuleNotFound" in reported:
        (tmp_path / "one.py").unlink()
    with pytest.raises(PackageError, match=reported) as caught:
        submodel_class(asked)
    assert "\n" not in str(caught.value)
    assert usual_names()[:4] == SUBMODELS
    if "crf" not in asked:
        assert newest("crf") == "crf.v1" and submodel_class("crf").cost > 0


FOLDERS = "[phistack.files]\npresets = {0}:presets\npolicies = {0}:none\n"


def test_presets_of_a_package_are_read_and_a_name_has_one_owner(packages: Callable[..., None], tmp_path: Path) -> None:
    before = POLICIES.names
    for name in ("one", "two"):
        (tmp_path / f"lists_{name}" / "presets").mkdir(parents=True)
        (tmp_path / f"lists_{name}" / "__init__.py").write_text("raise SystemExit('imported')")
        packages(name, FOLDERS.format(f"lists_{name}"))
    (tmp_path / "lists_one" / "presets" / "ours.toml").write_text("folds = 7\n")
    assert {"ours", "zhao2020"} < {*PRESETS.names} and POLICIES.names == before
    assert EngineSettings.preset("ours").folds == 7
    (tmp_path / "lists_two" / "presets" / "ours.toml").write_text("folds = 8\n")
    PRESETS.__dict__.pop("_files")
    with pytest.raises(PackageError, match="the preset ours is claimed by the packages one and two; uninstall one"):
        EngineSettings.preset("ours")
    with pytest.raises(SettingsError, match=r"there is no preset named uors \(did you mean ours\?\)"):
        EngineSettings.preset("uors")


def test_commands_of_a_package_join_ours_and_replace_none(home: Path) -> None:
    metadata = home / "commands" / "ward-1.0.dist-info"
    metadata.mkdir(parents=True)
    (home / "commands" / "ward_commands.py").write_text(
        "import typer\ndef count(notes: int) -> None:\n    'Count wards.'\n    typer.echo(2 * notes)\n"
    )
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ward\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[phistack.commands]\nwards = ward_commands:count\ntrain = ward_commands:count\nlost = ward_gone:count\n"
    )
    program = """
import sys
from phistack.ensemble.command_line.app import main
sys.argv = ["phistack", *{0}]
main()
"""

    def run(*arguments: str) -> str:
        return done("-c", program.format(list(arguments)), at=home, installed=home / "commands")

    shown = run("--help")
    assert "Count wards." in shown and "Train all submodels" in run("train", "--help")
    assert "Cannot be used" in next(line for line in shown.splitlines() if line.strip().startswith("lost"))
    assert run("wards", "21").strip() == "42"
    with pytest.raises(AssertionError, match="command lost cannot be imported from ward_gone:count of"):
        run("lost")


def test_a_changed_package_is_other_code(packages: Callable[..., None], tmp_path: Path) -> None:
    before = code_digest.__wrapped__("tbed")
    packages("one", CLAIM.format("mine.v1"))
    with_it = code_digest.__wrapped__("tbed")
    (tmp_path / "one.py").write_text("changed = True")
    assert len({before, with_it, code_digest.__wrapped__("tbed")}) == 3


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"extra": ("wrad",)}, r"the feature column wrad is not installed \(did you mean ward\?\)"),
        ({"extra": ("word",)}, "the column word is one of phistack's own"),
        ({"extra": ("ward",), "without": ("colours",)}, "no column group named colours.*wards"),
        (
            {"extra": ("bad",)},
            "registers as the feature column bad is no column of phistack.features.columns.installed",
        ),
        ({"extra": ("Upper",)}, "its name is not made of small letters"),
    ],
)
def test_a_column_that_cannot_be_is_one_sentence(
    packages: Callable[..., None], settings: dict[str, Any], reported: str
) -> None:
    code = (
        "from phistack.features.columns.installed import WordColumn\nWARD = WordColumn('wards', str.lower)\nBAD = str"
    )
    packages("one", "[phistack.columns]\nward = one:WARD\nbad = one:BAD\nUpper = one:WARD\n", code)
    with pytest.raises(SettingsError, match=reported):
        FeatureSettings(**settings)
    packages("two", "[phistack.columns]\nbad = one:WARD\n")
    with pytest.raises(SettingsError, match="the feature column bad is claimed by the packages one and two"):
        FeatureSettings(extra=("bad",))
    assert FeatureSettings(extra=("ward", "ward")).columns == (*FeatureSettings().columns, "ward")
    assert FeatureSettings(extra=("ward",), without=("wards",)).columns == FeatureSettings().columns


def test_columns_give_a_string_a_token_or_nothing() -> None:
    layout, vocabulary = Layout.of(["Ward 7"]), Vocabulary()
    assert WordColumn("g", str.lower).ids("c", layout, vocabulary).tolist() == [1, 2]
    same = LayoutColumn("g", lambda layout: layout.mapped_words("lower", str.lower))
    assert same.ids("c", layout, vocabulary).tolist() == [1, 2]
    wrong = [
        WordColumn("g", len),
        LayoutColumn("g", lambda layout: (layout.numbers[:1], ["a"])),
        LayoutColumn("g", lambda layout: (layout.numbers + 5, ["a"])),
        LayoutColumn("g", lambda layout: (layout.numbers - 1, ["a"])),
    ]
    for column in wrong:
        with pytest.raises(PhistackError, match="the feature column c gives"):
            column.ids("c", Layout.of(["Ward 7"]), Vocabulary())  # type: ignore[attr-defined]
