from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.tasks.rules import print_rules, replace_rules, write_rules
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, SettingsError
from phistack.features.formats import write_corpus
from tests.annotated import corpus_of
from tests.invented_names import NAMES


def _corpus() -> Any:
    """Notes in which the name after `Reviewer` is a doctor's, which no shipped pattern knows."""
    return corpus_of(*(f"Reviewer [{name}|DOCTOR] agrees. The plan stays." for name in NAMES))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("rules")
    write_corpus(_corpus(), folder / "notes", format="i2b2")
    train_bundle(_corpus(), folder / "engine", EngineSettings(folds=2).only(("regex", "tbed")))
    train_bundle(_corpus(), folder / "without", EngineSettings(folds=2).only(("crf",)))
    return folder


def _printed(bundle: Any, **options: Any) -> Any:
    console = Console(width=160)
    with console.capture() as captured:
        print_rules(bundle, console, **options)
    return captured.get()


def test_rules_are_reported_in_words_with_an_example_by_id_and_offset(home: Any) -> None:
    shown = _printed(home / "engine")
    assert "O becomes B-DOCTOR where" in shown
    assert "-01:9" in shown


def test_rules_are_scored_on_new_notes(home: Any) -> None:
    shown = _printed(home / "engine", score_on=home / "notes")
    assert "corrects" in shown
    assert "0 rules break more than they correct there" in shown


def _switch_off(path: Any) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(f"off {line}" if "->" in line else line for line in lines), encoding="utf-8")


def test_edited_rules_make_a_new_bundle(home: Any, tmp_path: Path) -> None:
    write_rules(home / "engine", tmp_path / "rules.txt")
    _switch_off(tmp_path / "rules.txt")
    replace_rules(home / "engine", tmp_path / "rules.txt", tmp_path / "new")
    assert "(switched off)" in _printed(tmp_path / "new")
    assert read_manifest(tmp_path / "new")["trained_on"]["rules edited after training"] is True
    note = Document("x", "Reviewer Gorse agrees.")
    before, after = (list(load_bundle(path).annotate([note])) for path in (home / "engine", tmp_path / "new"))
    assert [document.spans for document in before] == [(Span(9, 14, "DOCTOR"),)]
    assert [document.spans for document in after] == [()]


def test_a_mistake_in_edited_rules_is_reported_by_line_and_nothing_is_written(home: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text('O -> B-WIZARD if word[0] = "x"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"rules\.txt.*1"):
        replace_rules(home / "engine", tmp_path / "rules.txt", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_rules_are_never_written_over_a_file(home: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("mine")
    with pytest.raises(SettingsError, match="already there"):
        write_rules(home / "engine", tmp_path / "rules.txt")


def test_a_bundle_without_rules_says_so(home: Any) -> None:
    with pytest.raises(BundleError, match="without TBED"):
        print_rules(home / "without", Console(quiet=True))


def test_of_several_submodels_with_rules_one_is_named(home: Any, tmp_path: Path) -> None:
    own_start = {"kind": "tbed", "start": "empty", "held_out": 0.0}
    train_bundle(_corpus(), tmp_path / "two", EngineSettings(folds=2, submodels={"tbed": {}, "own-start": own_start}))
    with pytest.raises(
        SettingsError, match="several TBED submodels; name one of them with --submodel: tbed, own-start"
    ):
        _printed(tmp_path / "two")
    with pytest.raises(SettingsError, match="no TBED submodel named crf"):
        _printed(tmp_path / "two", submodel="crf")
    write_rules(tmp_path / "two", tmp_path / "rules.txt", submodel="own-start")
    _switch_off(tmp_path / "rules.txt")
    replace_rules(tmp_path / "two", tmp_path / "rules.txt", tmp_path / "new", submodel="own-start")
    assert "(switched off)" in _printed(tmp_path / "new", submodel="own-start")
    assert _printed(tmp_path / "new", submodel="tbed") == _printed(tmp_path / "two", submodel="tbed")
