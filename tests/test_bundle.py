import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.files import PROTOCOL, read_manifest
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.submodels.base import submodel_class
from phistack.submodels.registry import SUBMODELS, newest
from tests.annotated import small_corpus
from tests.golden_bundle import GOLDEN, decisions
from tests.invented_names import NAMES
from tests.tampering import rehash

HEAVY = {
    *("sklearn", "scipy.stats", "scipy.optimize", "scipy.linalg", "nltk", "tensorflow", "keras", "pandas"),
    *("pyarrow", "matplotlib", "faker", "babel", "typer", "jinja2", "distributed", "multiprocessing.pool"),
}


NOTE = Document("x", "Dr. Gorse came on 05/12/2019.")
SETTINGS = EngineSettings(folds=2).only(("regex", "crf"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("bundle") / "engine"
    training, _ = train_bundle(small_corpus(), path, SETTINGS)
    return path, training.engine


@pytest.fixture
def copy(trained: Any, tmp_path: Path) -> Any:
    """A copy of the bundle that a test may damage."""
    return shutil.copytree(trained[0], tmp_path / "engine")


def _spans(engine: Any) -> Any:
    return [document.spans for document in engine.annotate([NOTE])]


def test_a_loaded_engine_annotates_as_the_one_that_was_saved(trained: Any) -> None:
    path, engine = trained
    assert _spans(load_bundle(path)) == _spans(engine)
    assert _spans(engine) == [(Span(4, 9, "DOCTOR"), Span(18, 28, "DATE"))]


def test_a_bundle_can_be_a_zip_file(trained: Any, tmp_path: Path) -> None:
    path = tmp_path / "engine.zip"
    save_bundle(trained[1], path, self_test=self_test(trained[1]), trained_on={}, figures={})
    assert _spans(load_bundle(path)) == _spans(trained[1])
    assert [entry.name for entry in tmp_path.iterdir()] == ["engine.zip"]


def test_the_manifest_tells_what_is_in_the_bundle(trained: Any) -> None:
    manifest = read_manifest(trained[0])
    assert manifest["kinds"] == {"regex": "regex.v1", "crf": "crf.v1"}
    assert manifest["trained_on"]["documents"] == 10
    assert set(manifest["figures"]["strict"]) == {"regex", "crf", "stack"}
    assert "submodels/crf/model.crfsuite" in manifest["files"]


@pytest.mark.parametrize("kind", ["regex.v1", "crf.v1"])
def test_training_and_writing_save_and_load_each_model_once(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, called = submodel_class(kind), []
    save, load = model.save, model.load
    monkeypatch.setattr(model, "save", lambda self, folder: called.append("save") or save(self, folder))
    monkeypatch.setattr(model, "load", lambda files, space: called.append("load") or load(files, space))
    train_bundle(small_corpus(), tmp_path / "engine", SETTINGS)
    assert called == ["save", "load"]


def test_saving_asks_the_engine_nothing(trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, engine = trained
    answers = self_test(engine)

    def asked(*given: Any) -> None:
        raise AssertionError("saving only saves")

    monkeypatch.setattr(Engine, "propose", asked)
    monkeypatch.setattr(Engine, "decide_from", asked)
    save_bundle(engine, tmp_path / "engine", self_test=answers, trained_on={}, figures={})
    for part in ("self_test.json", "submodels/crf/model.crfsuite", "stacker/stacker.npz"):
        assert (tmp_path / "engine" / part).read_bytes() == (path / part).read_bytes()


def test_the_self_test_lets_each_submodel_propose_once_for_all_subsets(
    trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = trained[1]
    by_subset = {subset: list(engine.only(subset).decide([NOTE])) for subset in engine.stackers}
    propose, asked = Engine.propose, []
    monkeypatch.setattr(Engine, "propose", lambda self, tables: asked.append(self.names) or propose(self, tables))
    assert set(self_test(engine)["subsets"]) == {"regex", "crf"}
    assert asked == [("regex", "crf")]
    tables = engine.space.tables([NOTE])
    proposals = engine.propose(tables)
    for subset, decided in by_subset.items():
        assert list(engine.decide_from(tables, {name: proposals[name] for name in subset})) == decided


def test_the_manifest_says_nothing_of_tags_which_are_each_submodels_own(trained: Any, copy: Any) -> None:
    assert "tag_scheme" not in read_manifest(trained[0])
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "tag_scheme": "BIO"}))
    assert _spans(load_bundle(copy)) == _spans(trained[1])


def test_training_twice_gives_the_same_bundle_whatever_the_number_of_processes(trained: Any, tmp_path: Path) -> None:
    train_bundle(small_corpus(), tmp_path / "again", SETTINGS, jobs=2)
    assert read_manifest(tmp_path / "again") == read_manifest(trained[0])


def test_no_text_of_the_notes_is_in_the_manifest_and_the_card(trained: Any) -> None:
    path, _ = trained
    for name in ("manifest.json", "MODEL_CARD.md", "self_test.json"):
        reported = (path / name).read_text(encoding="utf-8")
        assert not any(word in reported for word in NAMES)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("stacker/stacker.json", "{}", r"stacker/stacker\.json was changed"),
        ("MODEL_CARD.md", None, r"lacks file 'MODEL_CARD\.md"),
        ("submodels/extra.py", "print()", r"unlisted file 'submodels/extra\.py"),
    ],
)
def test_a_changed_missing_or_added_file_is_noticed(copy: Any, name: str, content: str | None, message: str) -> None:
    (copy / name).unlink() if content is None else (copy / name).write_text(content)
    with pytest.raises(BundleError, match=message):
        load_bundle(copy)


@pytest.mark.parametrize(("key", "value", "message"), [("protocol", 99, "protocol 99"), ("kinds", [], "kinds")])
def test_another_protocol_or_a_spoiled_manifest_is_refused(copy: Any, key: Any, value: Any, message: Any) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, key: value}))
    with pytest.raises(BundleError, match=message):
        load_bundle(copy)


def test_an_engine_that_annotates_otherwise_than_it_did_fails_its_self_test(copy: Any) -> None:
    answers = json.loads((copy / "self_test.json").read_text())
    answers["answers"][0].append([0, 1, "DATE", 0.99, True])
    (copy / "self_test.json").write_text(json.dumps(answers))
    rehash(copy)
    with pytest.raises(BundleError, match="self-test"):
        load_bundle(copy)


def test_a_folder_or_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no zip")
    for path, message in ((tmp_path, "manifest"), (tmp_path / "file", "neither"), (tmp_path / "none", "no bundle")):
        with pytest.raises(BundleError, match=message):
            load_bundle(path)


def test_nothing_is_overwritten_and_nothing_half_written_stays(trained: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="already there"):
        train_bundle(small_corpus(), trained[0], SETTINGS)
    with pytest.raises(TrainingError):
        train_bundle(small_corpus(1), tmp_path / "engine", SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_kept_fold_predictions_are_used_again_and_hold_no_text(trained: Any, tmp_path: Path) -> None:
    cache = tmp_path / "folds"
    train_bundle(small_corpus(), tmp_path / "first", SETTINGS, cache=cache)
    kept = {path: path.stat().st_mtime_ns for path in cache.iterdir() if ".bundle" not in path.name}
    assert len(kept) == 4
    assert not any(name in path.read_text() for path in kept for name in NAMES)
    train_bundle(small_corpus(), tmp_path / "second", SETTINGS, cache=cache)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir() if ".bundle" not in path.name} == kept
    assert read_manifest(tmp_path / "second") == read_manifest(trained[0])


def test_a_bundle_of_the_first_protocol_loads_and_decides_as_it_did() -> None:
    engine = load_bundle(Path(__file__).parent / "golden" / "bundle_protocol_1.zip")
    note = Document("n1", "Record date: 2021-03-04\nSeen by Dr. Anselm Birchwood on March 3rd, 2021. Phone 555-0134.\n")
    found = [(d.span.start, d.span.end, d.span.label) for d in next(engine.decide([note])) if d.accepted]
    assert found == [(13, 23, "DATE"), (36, 52, "DOCTOR"), (56, 71, "DATE"), (79, 87, "PHONE")]


def test_the_golden_bundle_of_today_loads_and_decides_as_it_did() -> None:
    """If it does not, neither do bundles in use: raise the protocol or version the kind."""
    golden, path = json.loads(GOLDEN.with_suffix(".json").read_text()), GOLDEN.with_suffix(".zip")
    manifest = read_manifest(path)
    assert manifest["protocol"] == PROTOCOL
    assert manifest["kinds"] == {name: newest(name) for name in SUBMODELS}
    found = decisions(load_bundle(path), golden["texts"])
    assert {source for note in found for d in note for source in d["proposed by"]} >= set(SUBMODELS)
    for note, expected in zip(found, golden["decisions"], strict=True):
        assert [d["span"] for d in note if d["accepted"]] == [d["span"] for d in expected if d["accepted"]]
        assert [d["probability"] for d in note] == pytest.approx([d["probability"] for d in expected], abs=1e-3)
        assert [d["proposed by"] for d in note] == [d["proposed by"] for d in expected]
    assert load_bundle(path, only=("blstm", "regex")).names == ("regex", "blstm")


def test_loading_and_annotating_import_no_more_than_they_use() -> None:
    program = (
        "import sys; from pathlib import Path; from phistack import Document, load_bundle; "
        "engine = load_bundle(Path(sys.argv[1])); "
        "found = [document.spans for document in engine.annotate([Document('a', 'Seen by Dr. Gorse in Alderton.')])]; "
        f"print(len(found), sorted({HEAVY} & {{*sys.modules}}))"
    )
    answer = subprocess.run([sys.executable, "-c", program, f"{GOLDEN}.zip"], capture_output=True, text=True)
    assert answer.stdout.split() == ["1", "[]"], answer.stderr
