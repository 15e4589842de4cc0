"""Another corpus to learn from: all but a part of it in every fold, nothing of a held-out patient, never scored."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import prepared, train
from phistack.features.columns.table import FeatureTable
from phistack.features.documents import Corpus
from phistack.features.formats import write_corpus
from tests.fixture_types import Phistack

SETTINGS = EngineSettings.from_dict(
    {"folds": 3, "cascade": False, "submodels": {"crf": {"max_iterations": 4}}, "features": {"without": ["gazetteers"]}}
)
OURS = synthesize(8, seed=1)


def renamed(corpus: Corpus) -> Corpus:
    """The corpus with ids and patients that do not occur in ours."""
    documents = (replace(note, id=f"other {note.id}", group=f"other {note.group}") for note in corpus.documents)
    return replace(corpus, documents=tuple(documents))


THEIRS = renamed(synthesize(6, seed=2))


def ids(tables: Sequence[FeatureTable]) -> list[str]:
    return [table.document.id for table in tables]


def test_each_fold_learns_from_all_of_it_but_its_part() -> None:
    _, tables, folds, _ = prepared(OURS, SETTINGS, added=THEIRS.documents)
    ours, theirs = tables[: len(OURS)], tables[len(OURS) :]
    tasks = {task.part: task for task in tasks_of(SETTINGS, ours, folds, models=True, added=theirs)}
    assert ids(tasks["all"].training) == ids(tables)
    left_out = []
    for number, fold in enumerate(folds):
        task = tasks[f"fold {number + 1} of 3"]
        added = ids(task.training)[len(OURS) - len(fold) :]
        assert ids(task.held_out) == [OURS.documents[i].id for i in fold]
        left_out += [note.id for note in THEIRS.documents if note.id not in added]
    assert sorted(left_out) == sorted(note.id for note in THEIRS.documents)


def test_no_fold_learns_from_added_notes_of_a_patient_or_with_a_text_that_is_held_out() -> None:
    same_patients = replace(OURS, documents=tuple(replace(note, id=f"x{note.id}") for note in OURS.documents))
    for added in (same_patients, renamed(OURS)):
        _, tables, folds, _ = prepared(OURS, SETTINGS, added=added.documents)
        for task in tasks_of(SETTINGS, tables[: len(OURS)], folds, added=tables[len(OURS) :]):
            held = {table.document.text for table in task.held_out}
            assert not held & {table.document.text for table in task.training}


def test_without_added_notes_nothing_changes() -> None:
    _, tables, folds, _ = prepared(OURS, SETTINGS)
    for task in tasks_of(SETTINGS, tables, folds, models=True):
        held = set(ids(task.held_out))
        assert ids(task.training) == [id for id in ids(tables) if id not in held]


def test_nothing_is_predicted_for_added_notes_and_the_model_knows_their_words() -> None:
    training = train(OURS, SETTINGS, added=THEIRS)
    assert len(training.out_of_fold["crf"]) == len(OURS)
    known = set(training.engine.space.values("lower"))
    alone = set(train(OURS, SETTINGS).engine.space.values("lower"))
    theirs = {word.lower() for note in THEIRS.documents for word in note.text.split() if word.isalpha()}
    assert alone < known and theirs <= known


def test_the_command_takes_them_and_the_bundle_says_how_many(tmp_path: Path, phistack: Phistack) -> None:
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    write_corpus(THEIRS, tmp_path / "theirs.jsonl", format="jsonl")
    common = ("train", tmp_path / "ours", "--submodels", "regex", "--folds", 2, "--jobs", 1)
    status, _, said = phistack(*common, "--model", tmp_path / "engine", "--add", tmp_path / "theirs.jsonl")
    assert status == 0, said
    assert read_manifest(tmp_path / "engine")["trained_on"]["added documents"] == 6
    status, _, said = phistack(*common, "--model", tmp_path / "other", "--add", tmp_path / "none")
    assert status == 1 and said.count("\n") >= 1 and not (tmp_path / "other").exists()
