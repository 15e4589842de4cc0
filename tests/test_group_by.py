"""Folds by a pattern over the names of notes: template, hospital, register."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.experiments.samples import samples_of
from phistack.ensemble.stacking.folds import (
    at_most_folds,
    grouped_by,
    held_out_patients,
    labels_in_one_part,
    training_folds,
)
from phistack.ensemble.stacking.stacker import StackerSettings
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose, train
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.annotated import seen
from tests.fixture_types import Phistack
from tests.invented_names import NAMES

LABELS = LabelSet.named("i2b2-2014")
SETTINGS = replace(
    EngineSettings(folds=3, stacker=StackerSettings(kernel="zhao2020"), group_by=r"_t(\d+)"),
    submodels={"regex": {}, "crf": {"max_iterations": 5}},
)


def by_template(n: int = 12, n_templates: int = 4) -> Corpus:
    """A note a patient, of some templates."""
    documents = []
    for i in range(n):
        form = i % n_templates
        documents.append(replace(seen(i, NAMES[i % len(NAMES)], f", in form {form}."), id=f"{i}_t{form}", group=""))
    return Corpus(tuple(documents), LABELS)


NAMED = st.tuples(st.integers(0, 5), st.integers(0, 7))


@given(st.lists(NAMED, min_size=2, max_size=30), st.integers(2, 4))
def test_neither_a_group_nor_a_patient_is_split(rows: list[tuple[int, int]], n_folds: int) -> None:
    documents = [
        Document(f"{i}_t{template}" if template else f"{i}", "text", (), f"p{patient}")
        for i, (template, patient) in enumerate(rows)
    ]
    corpus = Corpus(tuple(documents), LABELS)
    if not any(template for template, _ in rows):
        with pytest.raises(SettingsError, match="none of the"):
            grouped_by(corpus, r"_t(\d+)")
        return
    grouped = grouped_by(corpus, r"_t(\d+)")
    assert [d.group for d in grouped.documents] == [d.group for d in documents]
    assert grouped_by(grouped, r"_t(\d+)") is grouped
    n_groups = len({d.unsplit for d in grouped.documents})
    assert n_groups == _parts_that_share_nothing(rows)
    if n_groups < n_folds:
        return
    homes: defaultdict[Any, set[int]] = defaultdict(set)
    for number, fold in enumerate(at_most_folds(grouped.documents, n_folds=n_folds)):
        for i in fold:
            template, patient = rows[i]
            homes["patient", patient].add(number)
            if template:
                homes["template", template].add(number)
    assert all(len(found) == 1 for found in homes.values())


def _parts_that_share_nothing(rows: list[tuple[int, int]]) -> int:
    """By brute force: notes are joined until no more can be."""
    parts = [{("patient", patient)} | ({("template", template)} if template else set()) for template, patient in rows]
    while True:
        pair = next(((a, b) for a in parts for b in parts if a is not b and a & b), None)
        if pair is None:
            return len(parts)
        parts = [part for part in parts if part is not pair[0] and part is not pair[1]] + [pair[0] | pair[1]]


@pytest.mark.parametrize(
    ("pattern", "n"), [(r"_t(\d+)", 4), (r"_t\d+", 4), (r"^(\d)", 10), (r"(\d)_t(\d)", 12), ("", 12)]
)
def test_what_the_groups_of_the_pattern_match_decides_or_all_of_it(pattern: str, n: int) -> None:
    assert len({d.unsplit for d in grouped_by(by_template(), pattern).documents}) == n


def test_no_submodel_proposes_for_a_template_that_it_learned_from() -> None:
    corpus = by_template()
    documents = SETTINGS.grouped(corpus).documents
    folds = training_folds(documents, n_folds=3)
    assert [{documents[i].id[-2:] for i in fold} for fold in folds] != [{"t0", "t1", "t2", "t3"}] * 3
    plain, grouped = (
        propose(corpus, settings).out_of_fold["crf"] for settings in (replace(SETTINGS, group_by=""), SETTINGS)
    )
    by_hand = propose(replace(corpus, documents=tuple(replace(d, group=d.id[-2:]) for d in corpus.documents)), SETTINGS)
    assert _without_evidence(grouped) != _without_evidence(plain)
    assert _without_evidence(grouped) == _without_evidence(by_hand.out_of_fold["crf"])


def _without_evidence(notes: Any) -> list[Any]:
    return [[(c.span, c.score) for c in note] for note in notes]


def test_the_stacker_has_the_same_groups_and_patients_stay_patients() -> None:
    stacker = train(by_template(), SETTINGS).engine.stacker
    homes = defaultdict(set)
    for number, fold in enumerate(stacker.folds_):
        for i in fold:
            homes[i % 4].add(number)
    assert [len(found) for found in homes.values()] == [1] * 4


def test_held_out_notes_and_shares_of_a_curve_keep_groups_together() -> None:
    corpus = grouped_by(by_template(), r"_t(\d+)")
    training, held_out = held_out_patients(corpus, seed=0)
    assert not {d.unsplit for d in training.documents} & {d.unsplit for d in held_out.documents}
    for sample in samples_of(corpus, shares=(10, 100), samples=2, seed=0):
        assert len(sample.corpus) in (6, 12)  # two groups at least, all of each
    with pytest.raises(SettingsError, match="cannot be split"):
        held_out_patients(grouped_by(by_template(), "t"), seed=0)


def test_the_command_trains_by_group_and_the_card_says_so(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(by_template(), tmp_path / "notes", format="brat")
    options = ("--label-set", "i2b2-2014", "--submodels", "regex,crf", "--folds", 2)
    given = ("train", tmp_path / "notes", "--model", tmp_path / "engine", "--group-by", r"_t(\d+)$", *options)
    status, shown, _ = phistack(*given)
    assert status == 0
    assert r"out of fold by what `_t(\d+)$` finds in the names of the notes" in " ".join(shown.split())
    protocol = read_manifest(tmp_path / "engine")["figures"]["protocol"]
    assert protocol in (tmp_path / "engine" / "MODEL_CARD.md").read_text()
    assert r"by what `_t(\d+)$` finds" in protocol


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "the pattern group_by (--group-by) is not a regular expression: "),
        ("hospital", "is found in none of the 12 names"),
        ("t", "are in one group by the pattern"),
    ],
)
def test_a_pattern_of_no_use_is_one_sentence(phistack: Phistack, tmp_path: Path, pattern: str, said: str) -> None:
    write_corpus(by_template(), tmp_path / "notes", format="brat")
    model = tmp_path / "engine"
    options = ("--label-set", "i2b2-2014", "--submodels", "regex", "--group-by", pattern)
    status, _, error = phistack("train", tmp_path / "notes", "--model", model, *options)
    assert status == 1
    assert said in error.splitlines()[-1]
    assert not model.exists()


def test_names_without_a_match_are_counted_and_stay_with_their_patients(caplog: pytest.LogCaptureFixture) -> None:
    corpus = Corpus(tuple(Document(name, "x") for name in ("1_t1", "2_t1", "3-01", "3-02")), LABELS)
    notes = tuple(replace(d, group="3") if d.id.startswith("3") else d for d in corpus.documents)
    groups = [d.unsplit for d in grouped_by(replace(corpus, documents=notes), "_t(.)").documents]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert "not found in 2 of 4 names" in caplog.text


def test_settings_without_a_pattern_are_what_they_were_and_a_file_may_have_one(tmp_path: Path) -> None:
    assert EngineSettings().digest != SETTINGS.digest
    assert EngineSettings.from_dict(json.loads(json.dumps(SETTINGS.to_dict()))) == SETTINGS
    (tmp_path / "s.toml").write_text("group_by = '_t(\\d+)'\n")
    assert EngineSettings.from_toml(tmp_path / "s.toml").group_by == r"_t(\d+)"
    with pytest.raises(TrainingError, match="one group"):
        training_folds(grouped_by(by_template(), "t").documents, n_folds=2)


def _documents(groups: list[int]) -> list[Document]:
    return [Document(f"{i}", "text", (Span(0, 4, "DATE"),) * (i % 3), f"p{group}") for i, group in enumerate(groups)]


def test_fewer_patients_than_folds_give_fewer_folds(caplog: pytest.LogCaptureFixture) -> None:
    assert len(training_folds(_documents([1, 2, 3, 3]), n_folds=5)) == 3
    assert "the corpus has 3 patients only, so there are 3 folds, not 5" in caplog.text


@given(st.lists(st.integers(0, 12), min_size=2, max_size=40), st.integers(2, 5), st.integers(0, 3))
def test_every_document_is_in_one_fold_and_no_patient_in_two(groups: list[int], n_folds: int, seed: int) -> None:
    documents, n_patients = _documents(groups), len(set(groups))
    if n_patients < 2:
        with pytest.raises(TrainingError, match="has 1 patients"):
            at_most_folds(documents, n_folds=n_folds, seed=seed)
        return
    folds = at_most_folds(documents, n_folds=n_folds, seed=seed)
    assert sorted(i for fold in folds for i in fold) == list(range(len(documents)))
    assert all(folds) and len(folds) == min(n_folds, n_patients)
    homes: dict[str, int] = {}
    for number, fold in enumerate(folds):
        for i in fold:
            assert homes.setdefault(documents[i].group, number) == number


def test_the_same_seed_gives_the_same_folds_and_another_seed_others() -> None:
    documents = _documents(list(range(30)))
    assert at_most_folds(documents, n_folds=5, seed=1) == at_most_folds(documents, n_folds=5, seed=1)
    assert at_most_folds(documents, n_folds=5, seed=1) != at_most_folds(documents, n_folds=5, seed=2)


def test_labels_of_a_single_fold_are_found() -> None:
    rare = Document("a", "text", (Span(0, 2, "DEVICE"), Span(0, 4, "DATE")), "p1")
    usual = Document("b", "text", (Span(0, 4, "DATE"),), "p2")
    assert labels_in_one_part([[rare], [usual]]) == ["DEVICE"]
