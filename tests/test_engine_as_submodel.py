"""A trained engine within another one: `train --with`, what it learns from what, and what a bundle keeps of it."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles import engine_submodel
from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.engine_submodel import EngineSubmodel
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.measures import Reach
from phistack.ensemble.stacking.candidates import pooled
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks import training as tasks_training
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import prepared, propose, train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import TrainingError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

QUICK = {"regex": {}, "crf": {"max_iterations": 6}}
OURS = synthesize(12, seed=31)
RENAMED = {"DOCTOR": "STAFF", "PATIENT": "PERSON_NAME", "HOSPITAL": "PLACE_OF_CARE"}


def relabelled(corpus: Corpus, names: dict[str, str], *, without: Sequence[str] = ()) -> Corpus:
    """The corpus with renamed labels, in its own label set that has all of them."""
    labels = LabelSet("ours", {names.get(label, label): "PHI" for label in corpus.label_set.labels})
    notes = tuple(
        d.with_spans(replace(s, label=names.get(s.label, s.label)) for s in d.spans if s.label not in without)
        for d in corpus.documents
    )
    return replace(corpus, documents=notes, label_set=labels)


def bundled(engine: Engine, path: Path) -> Path:
    save_bundle(engine, path, self_test=self_test(engine), trained_on={}, figures={})
    return path


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of an engine that learned from other notes."""
    settings = EngineSettings(submodels=QUICK, folds=2)
    return bundled(train(synthesize(14, seed=32), settings).engine, tmp_path_factory.mktemp("theirs") / "theirs.zip")


def with_engine(bundle: Path, **more: Any) -> EngineSettings:
    return EngineSettings(submodels={"regex": {}, "member": {"kind": "engine", "bundle": str(bundle)}}, folds=2, **more)


def candidates(notes: Sequence[Sequence[Any]]) -> list[list[tuple[Span, float, bool]]]:
    return [[(c.span, c.score, c.chosen) for c in note] for note in notes]


def test_its_candidates_are_all_that_the_engine_weighs_with_its_probability(theirs: Path) -> None:
    tables = FeatureSpace(FeatureSettings()).fit(OURS.documents)
    model = EngineSubmodel(bundle=str(theirs)).fit(tables)
    engine = load_bundle(theirs)
    for document, proposed in zip(OURS.documents, model.propose(tables), strict=True):
        (weighed,) = engine.decide([replace(document, group=document.id)])
        assert {(c.span.start, c.span.end) for c in proposed} == {(d.span.start, d.span.end) for d in weighed}
        same = {d.span: d.probability for d in weighed}
        assert all(c.score >= same[c.span] - 1e-9 for c in proposed if c.chosen and c.span in same)


def test_its_labels_are_those_that_its_spans_meet_and_else_those_of_the_same_kind(theirs: Path) -> None:
    corpus = relabelled(OURS, RENAMED, without=("PHONE",))
    tables = FeatureSpace(FeatureSettings()).fit(corpus.documents)
    model = EngineSubmodel(bundle=str(theirs), labels=corpus.label_set.labels).fit(tables)
    first = {label: next(iter(found)) for label, found in model.labels_.items() if found}
    assert {label: first[label] for label in RENAMED} == RENAMED
    assert first["DATE"] == "DATE"
    # Own notes have neither, so only the kind of PHI says what they are.
    assert not any(s.label in ("PHONE", "EMAIL") for d in corpus.documents for s in d.spans)
    assert first["PHONE"] == "PHONE" and first["EMAIL"] == "EMAIL"
    assert {c.span.label for note in model.propose(tables) for c in note} <= {*corpus.label_set.labels}


def test_a_label_whose_spans_mostly_meet_nothing_is_proposed_and_not_chosen(theirs: Path) -> None:
    corpus = relabelled(OURS, {}, without=("DATE",))
    tables = FeatureSpace(FeatureSettings()).fit(corpus.documents)
    dates = [c for note in EngineSubmodel(bundle=str(theirs)).fit(tables).propose(tables) for c in note]
    dates = [c for c in dates if c.evidence == "DATE"]
    assert not any(c.chosen for c in dates)
    named = EngineSubmodel(bundle=str(theirs), labels=corpus.label_set.labels).fit(tables)
    dates = [c for note in named.propose(tables) for c in note if c.evidence == "DATE"]
    assert dates and not any(c.chosen for c in dates)


def test_the_label_of_a_held_out_note_teaches_its_fold_nothing(theirs: Path) -> None:
    """A note whose gold labels are changed gets the same candidates, and those of other folds change."""
    settings = with_engine(theirs)
    _, _, folds, _ = prepared(OURS, settings)
    changed = [*OURS.documents]
    for i in folds[0]:
        changed[i] = changed[i].with_spans(replace(s, label="IDNUM") for s in changed[i].spans)
    before, after = (
        candidates(propose(corpus, settings).out_of_fold["member"])
        for corpus in (OURS, replace(OURS, documents=tuple(changed)))
    )
    assert [after[i] for i in folds[0]] == [before[i] for i in folds[0]]
    assert any(after[i] != before[i] for fold in folds[1:] for i in fold)


def test_each_note_is_read_once_and_not_once_a_fold(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    decide = Engine.decide

    def counting(self: Engine, documents: Sequence[Document]) -> Iterator[Any]:
        read.extend(document.text for document in documents)
        return decide(self, documents)

    monkeypatch.setattr(Engine, "decide", counting)
    propose(OURS, with_engine(theirs), jobs=1)
    assert sorted(read) == sorted(document.text for document in OURS.documents)


def test_an_engine_of_it_is_the_same_in_any_number_of_processes_saved_moved_and_without_the_other_bundle(
    theirs: Path, tmp_path: Path
) -> None:
    shutil.copy(theirs, tmp_path / "lent.zip")
    settings = with_engine(tmp_path / "lent.zip")
    one, two = (train(OURS, settings, jobs=jobs) for jobs in (1, 2))
    assert candidates(one.out_of_fold["member"]) == candidates(two.out_of_fold["member"])
    notes = synthesize(6, seed=33).documents
    found = list(one.engine.annotate(notes))
    bundled(one.engine, tmp_path / "ours")
    (tmp_path / "lent.zip").unlink()
    shutil.move(tmp_path / "ours", tmp_path / "elsewhere")
    again = load_bundle(tmp_path / "elsewhere")
    assert list(again.annotate(notes)) == found
    assert list(again.only(("member",)).annotate(notes))
    assert again.stacker.trust_ == one.engine.stacker.trust_ < 1


def test_an_engine_can_hold_one_that_holds_one_and_no_more(theirs: Path, tmp_path: Path, phistack: Phistack) -> None:
    paths = [theirs]
    for name in ("second", "third"):
        paths.append(bundled(train(OURS, with_engine(paths[-1])).engine, tmp_path / f"{name}.zip"))
    notes = synthesize(3, seed=34).documents
    assert list(load_bundle(paths[-1]).annotate(notes))
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    status, _, said = phistack(
        "train", tmp_path / "ours", "--model", tmp_path / "x", "--with", paths[-1], "--submodels", "regex"
    )
    assert status == 1 and "holds an engine that holds one itself" in said and not (tmp_path / "x").exists()


def test_the_fewer_mentions_the_more_the_stacker_leans_on_it(theirs: Path) -> None:
    few, many = (train(synthesize(n, seed=35), with_engine(theirs)).engine.stacker for n in (4, 16))
    assert 0 < few.trust_ < many.trust_ < 1
    assert few.settings.lean_on == ("member",)
    alone = EngineSettings(submodels={"regex": {}}, folds=2)
    assert alone.stacker.lean_on == ()


def test_a_candidate_that_it_does_not_propose_is_weighed_as_without_it(theirs: Path) -> None:
    proposed = propose(OURS, with_engine(theirs), unseen=synthesize(4, seed=36).documents)
    training = train(OURS, with_engine(theirs))
    stacker = training.engine.stacker
    pools = list(map(pooled, zip(proposed.on_unseen["regex"], proposed.on_unseen["member"], strict=True)))
    leaning = stacker.probabilities(proposed.unseen, pools)
    plain = Stacker(replace(stacker.settings, lean_on=()))
    plain.__dict__ |= {name: value for name, value in stacker.__dict__.items() if name != "settings"}
    without = plain.probabilities(proposed.unseen, pools)
    differs = False
    for pool, a, b in zip(pools, leaning, without, strict=True):
        for candidate, with_it, alone in zip(pool, a, b, strict=True):
            if any(vote.source == "member" for vote in candidate.votes):
                differs = differs or with_it != pytest.approx(alone)
            else:
                assert with_it == pytest.approx(alone)
    assert differs


@pytest.mark.beside_shipped
def test_the_command_trains_with_one_at_two_processes_and_says_how_it_compares(
    theirs: Path, tmp_path: Path, phistack: Phistack
) -> None:
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    common = ("train", tmp_path / "ours", "--submodels", "regex", "--folds", 3, "--jobs", 2)
    status, out, said = phistack(*common, "--model", tmp_path / "engine", "--with", theirs)
    assert status == 0, said
    assert "The engine of regex, theirs is in" in out
    assert out.count("On these 12 notes, out of fold, it touches") == 1
    assert load_bundle(tmp_path / "engine").stacker.settings.beta == 2
    shown = phistack("explain", tmp_path / "ours", "--model", tmp_path / "engine")
    assert shown[0] == 0 and "theirs" in shown[1]
    assert phistack("errors", tmp_path / "ours", "--model", tmp_path / "engine")[0] == 0


@pytest.mark.beside_shipped
def test_without_an_engine_few_notes_are_told_to_train_with_one(tmp_path: Path, phistack: Phistack) -> None:
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    status, out, said = phistack(
        "train", tmp_path / "ours", "--submodels", "regex", "--folds", 2, "--model", tmp_path / "engine"
    )
    assert status == 0, said
    assert "train with --with english, or annotate more notes" in out


@pytest.mark.beside_shipped
def test_engines_that_do_equally_well_are_said_to(
    tmp_path: Path, phistack: Phistack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_training, "reach_of", lambda *_: Reach(reach=0.9, precision=0.8))
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    given = ("train", tmp_path / "ours", "--submodels", "regex", "--folds", 2, "--model", tmp_path / "engine")
    status, out, said = phistack(*given)
    assert status == 0, said
    assert "they are equal, so annotate more notes" in out


def test_an_engine_that_changed_is_read_again(theirs: Path, tmp_path: Path) -> None:
    """The fold cache depends on a bundle's content, not only on its name."""
    bundle = tmp_path / "lent.zip"
    shutil.copy(theirs, bundle)
    first = propose(OURS, with_engine(bundle), cache=tmp_path / "cache")
    kept = propose(OURS, with_engine(bundle), cache=tmp_path / "cache")
    assert all(spent.cached for (name, _), spent in kept.seconds.items() if name == "member")
    assert candidates(kept.out_of_fold["member"]) == candidates(first.out_of_fold["member"])
    bundle.unlink()
    bundled(train(synthesize(10, seed=37), EngineSettings(submodels=QUICK, folds=2)).engine, bundle)
    again = propose(OURS, with_engine(bundle), cache=tmp_path / "cache")
    assert not any(spent.cached for (name, _), spent in again.seconds.items() if name == "member")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("--with", "spanish"), "reads notes in Spanish, and these are in English"),
        (("--with", "englsh"), "there is no bundle at englsh (did you mean english?)"),
        (("--with", "english", "--with", "english"), "two submodels would be named english"),
    ],
)
def test_an_engine_that_cannot_be_a_member_is_refused_before_anything_is_fitted(
    given: Sequence[str], sentence: str, tmp_path: Path, phistack: Phistack, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(OURS, tmp_path / "ours", format="i2b2")
    monkeypatch.chdir(tmp_path)
    status, out, said = phistack("train", "ours", "--model", "x", *given)
    assert status == 1 and sentence in said and not out
    assert not (tmp_path / "x").exists()


def test_an_engine_without_a_label_in_common_is_refused_when_it_has_read_the_notes(theirs: Path) -> None:
    notes = tuple(
        Document(f"{i}", "The slow brown bear sleeps under the old tree.", (Span(4, 8, "ZEBRA"),)) for i in range(4)
    )
    corpus = Corpus(notes, LabelSet("zoo", {"ZEBRA": "X"}))
    fitted: list[str] = []
    with pytest.MonkeyPatch.context() as patch, pytest.raises(TrainingError, match="has no label in common"):
        fit = EngineSubmodel.fit
        patch.setattr(engine_submodel.EngineSubmodel, "fit", lambda *a, **k: fitted.append("x") or fit(*a, **k))
        propose(corpus, with_engine(theirs), jobs=1)
    assert not fitted
