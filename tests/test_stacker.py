from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC, LinearSVC

from phistack.ensemble.stacking.candidates import PooledCandidate, chosen_spans, pooled
from phistack.ensemble.stacking.stacker import Stacker, StackerSettings
from phistack.ensemble.stacking.surface_forms import SurfaceForms, surface_form
from phistack.ensemble.stacking.svm import (
    KERNELS,
    KernelSettings,
    LinearSettings,
    SvmSettings,
    fit_svm,
    machines_out_of_fold,
    margins_of,
    svm_from_arrays,
)
from phistack.ensemble.stacking.thresholds import calibrated
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, TrainingError
from phistack.features.plain_view import plain_view
from phistack.features.ranges import non_overlapping
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate

TEXT = "Seen by Dr Ann Lee on 3 May; Ann Lee will call."


def _table(text: Any = TEXT, spans: Any = (), id: str = "1") -> FeatureTable:
    return FeatureSpace(FeatureSettings()).fit([Document(id, text, spans)])[0]


def test_the_kernel_svm_decides_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5)) * [1, 10, 0.1, 1, 0]
    right = rows[:, 0] * rows[:, 1] > 0
    machine = fit_svm(rows, right, KernelSettings(0.1, 2.0, 3.0))
    standard = (rows - rows.mean(0)) / np.where(rows.std(0) > 0, rows.std(0), 1)
    oracle = SVC(gamma=0.1, class_weight={True: 2.0, False: 3.0}).fit(standard, right)
    assert machine.margins(rows) == pytest.approx(oracle.decision_function(standard))


def test_the_linear_svm_decides_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5)) * [1, 10, 0.1, 1, 0] + 3
    right = rows[:, 0] + rows[:, 3] + rng.normal(size=200) > 6
    machine = fit_svm(rows, right, LinearSettings(0.1))
    standard = (rows - rows.mean(0)) / np.maximum(rows.std(0), 2)
    oracle = LinearSVC(C=0.1, intercept_scaling=10.0, max_iter=10_000).fit(standard, right)
    assert machine.margins(rows) == pytest.approx(oracle.decision_function(standard), abs=1e-3)
    alone = np.concatenate([machine.margins(rows[i : i + 1]) for i in range(len(rows))])
    assert np.array_equal(machine.margins(rows), alone)


KINDS = [settings[0] for settings in KERNELS.values()]


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_machine_decides_the_same_as_arrays(settings: SvmSettings) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    machine = fit_svm(rows, rows[:, 0] > 0.2, settings)
    again = svm_from_arrays(machine.arrays(), 4, settings)
    assert np.array_equal(again.margins(rows), machine.margins(rows))
    with pytest.raises(BundleError):
        svm_from_arrays(machine.arrays(), 5, settings)


@pytest.mark.parametrize("settings", KINDS, ids=str)
@pytest.mark.parametrize("answer", [True, False])
def test_a_machine_that_saw_one_kind_of_candidate_says_always_that(answer: bool, settings: SvmSettings) -> None:
    machine = fit_svm(np.ones((3, 2)), np.full(3, answer), settings)
    assert (machine.margins(np.zeros((2, 2))) > 0).tolist() == [answer] * 2


def _training(n: int = 24) -> tuple[list[FeatureTable], list[list[PooledCandidate]]]:
    """Notes in which `crf` is right and `regex` proposes a wrong span that overlaps."""
    tables, pools = [], []
    space = FeatureSpace(FeatureSettings())
    documents = [Document(f"{i}", TEXT, (Span(11, 18, "DOCTOR"), Span(22, 27, "DATE"))) for i in range(n)]
    for table in space.fit(documents):
        right = [Candidate(Span(11, 18, "DOCTOR"), "crf", 0.9), Candidate(Span(22, 27, "DATE"), "crf", 0.8)]
        wrong = [Candidate(Span(8, 18, "DOCTOR"), "regex", 0.9), Candidate(Span(22, 27, "DATE"), "regex", 0.9)]
        tables.append(table)
        pools.append(pooled([right, wrong]))
    return tables, pools


def test_the_stacker_learns_whom_to_believe_and_chooses_without_overlap() -> None:
    tables, pools = _training()
    stacker = Stacker().fit(tables, pools, sources=("crf", "regex"))
    decisions = next(stacker.decide_all(tables[:1], pools[:1]))
    accepted = [decision.span for decision in decisions if decision.accepted]
    assert accepted == [Span(11, 18, "DOCTOR"), Span(22, 27, "DATE")]
    assert all(0 <= decision.probability <= 1 for decision in decisions)
    assert [vote.source for vote in decisions[2].votes] == ["crf", "regex"]


def test_it_keeps_the_machines_that_judge_training_notes_out_of_fold() -> None:
    tables, pools = _training()
    stacker = Stacker(StackerSettings(folds=3, weigh_forms=False)).fit(tables, pools, sources=("crf", "regex"))
    rows, right = stacker.features_.matrices(tables, pools), [np.array([False, True, True])] * len(tables)
    machines = machines_out_of_fold(rows, right, stacker.folds_, stacker.kernel_)
    oracle = [calibrated(m, stacker.calibration_) for m in margins_of(machines, rows, stacker.folds_)]
    assert sorted(i for fold in stacker.folds_ for i in fold) == list(range(len(tables)))
    for found, expected in zip(stacker.judged_out_of_fold(tables, pools), oracle, strict=True):
        assert np.array_equal(found, expected)
    fewer = [pool[1:] for pool in pools]
    assert [len(found) for found in stacker.judged_out_of_fold(tables, fewer)] == [2] * len(tables)


def test_out_of_fold_it_finds_what_is_easy() -> None:
    tables, pools = _training()
    stacker = Stacker(StackerSettings(folds=2)).fit(tables, pools, sources=("crf", "regex"))
    accepted = [{span for span in note} for note in stacker.out_of_fold_]
    assert accepted == [set(table.document.spans) for table in tables]


def test_many_notes_are_decided_as_each_alone() -> None:
    tables, pools = _training()
    stacker = Stacker().fit(tables, pools, sources=("crf", "regex"))
    pools = [pools[0], [], pools[1][:2], pools[2][1:]]
    together = list(stacker.decide_all(tables[:4], pools))
    assert together == [*chain(*map(stacker.decide_all, zip(tables), zip(pools)))]
    assert list(stacker.decide_all([], [])) == []


def test_a_saved_stacker_decides_as_before(tmp_path: Path) -> None:
    tables, pools = _training()
    stacker = Stacker().fit(tables, pools, sources=("crf", "regex"))
    stacker.save(tmp_path)
    again = Stacker.load(SavedFiles.of_folder(tmp_path), counts=stacker.counts)
    assert next(again.decide_all(tables[:1], pools[:1])) == next(stacker.decide_all(tables[:1], pools[:1]))


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_feature_that_was_the_same_for_all_says_nothing(settings: SvmSettings) -> None:
    """The standard deviation of six times 0.7 is 1e-16, but another number must not count as 1e15 deviations away."""
    rows = np.column_stack([np.arange(6.0), np.full(6, 0.7)])
    machine = fit_svm(rows, rows[:, 0] > 2, settings)
    known, other = machine.margins(np.array([[5.0, 0.7], [5.0, 0.9]]))
    assert known == pytest.approx(other, abs=0.2)


def test_a_stacker_without_candidates_cannot_be_trained() -> None:
    with pytest.raises(TrainingError, match="proposed"):
        Stacker().fit([_table()], [[]], sources=("crf",))


def test_where_only_right_candidates_are_known_the_surer_one_is_believed() -> None:
    """A note with nearly all PHI is judged by what was learned from the others, where nobody was wrong."""
    tables, pools = _training(6)
    easy = [[candidate for candidate in pool if candidate.span in table.document.spans] for table, pool in zip(
        tables, pools, strict=True
    )]  # fmt: skip
    two = [Candidate(Span(11, 14, "DOCTOR"), "crf", 0.1, False), Candidate(Span(15, 18, "DOCTOR"), "crf", 0.1, False)]
    hard = sorted([*easy[0], *pooled([two])], key=lambda candidate: candidate.span)
    stacker = Stacker(StackerSettings(folds=6)).fit(tables, [hard, *easy[1:]], sources=("crf", "regex"))
    rows = stacker.features_.matrices(tables, [hard, *easy[1:]])
    margins = dict(zip((c.span for c in hard), margins_of(stacker.machines_, rows, stacker.folds_)[0], strict=True))
    assert min(margins[span] for span in tables[0].document.spans) > max(margins[c.span] for c in two) + 0.1


def test_candidates_in_one_fold_only_train_a_stacker_without_warnings() -> None:
    """As in presidio's sentences: of 30 notes, all those with candidates were in one fold."""
    rng = np.random.default_rng(0)
    rows, right = [rng.normal(size=(4, 3)), np.zeros((0, 3))], [np.array([True, True, False, True]), np.zeros(0, bool)]
    for settings in KINDS:
        distances = margins_of(machines_out_of_fold(rows, right, [[0], [1]], settings), rows, [[0], [1]])
        assert (distances[0] > 0).all() and len(distances[1]) == 0
    nothing = fit_svm(np.zeros((0, 3)), np.zeros(0, bool), KernelSettings(0.1, 1.0, 1.0))
    assert np.isfinite(nothing.mean).all() and (nothing.scale == 1).all()


SPANS = st.builds(
    lambda start, length, label: Span(start, start + length, label),
    st.integers(0, 10),
    st.integers(1, 6),
    st.sampled_from(["DOCTOR", "PATIENT"]),
)
WEIGHTED = st.lists(st.tuples(SPANS, st.floats(-1, 2, allow_nan=False)), max_size=7)


def _free_of_overlap(items: list[PooledCandidate], chosen: tuple[int, ...]) -> bool:
    return not any(items[a].span.overlaps(items[b].span) for a, b in combinations(chosen, 2))


@given(WEIGHTED)
def test_the_chosen_set_has_the_largest_gain_of_all_sets_without_overlap(pairs: list[tuple[Span, float]]) -> None:
    items = [PooledCandidate(span, ()) for span, _ in pairs]
    gains = [gain for _, gain in pairs]
    chosen = non_overlapping(items, gains)
    sets = (s for size in range(len(items) + 1) for s in combinations(range(len(items)), size))
    best = max(sum(gains[i] for i in s) for s in sets if _free_of_overlap(items, s))
    assert _free_of_overlap(items, tuple(chosen))
    assert sum(gains[i] for i in chosen) == pytest.approx(best)


def test_equal_spans_are_pooled_with_every_vote() -> None:
    span = Span(3, 8, "DOCTOR")
    pool = pooled([[Candidate(span, "crf", 0.9)], [Candidate(span, "blstm", 0.4, chosen=False)], []])
    assert [(vote.source, vote.chosen) for vote in pool[0].votes] == [("crf", True), ("blstm", False)]


def test_of_two_votes_of_one_submodel_the_chosen_one_counts() -> None:
    span = Span(3, 8, "DOCTOR")
    pool = pooled([[Candidate(span, "regex", 0.9, chosen=False), Candidate(span, "regex", 0.6)]])
    assert [(vote.score, vote.chosen) for vote in pool[0].votes] == [(0.6, True)]


@given(st.lists(SPANS, max_size=8))
def test_a_pool_is_sorted_and_without_repeats(found: list[Span]) -> None:
    pool = pooled([[Candidate(span, "crf") for span in found], [Candidate(span, "regex") for span in found]])
    assert [candidate.span for candidate in pool] == sorted(set(found))


def test_only_chosen_candidates_are_a_submodels_own_result() -> None:
    chosen, offered = Span(0, 4, "DATE"), Span(5, 9, "DATE")
    candidates = [Candidate(offered, "crf", 0.2, chosen=False), Candidate(chosen, "crf", 0.8)]
    assert chosen_spans(candidates, plain_view(Document("n", "Anne came"))) == [chosen]
    assert chosen_spans(candidates, plain_view(Document("n", "A\u200dnne came"))) == [Span(0, 5, "DATE")]


def mentions(*texts: str, label: str = "USERNAME") -> list[FeatureTable]:
    """Notes of one mention each, each of another patient."""
    space = FeatureSpace(FeatureSettings(without=("gazetteers",)))
    return space.fit([Document(f"{100 + i}-01", text, (Span(0, len(text), label),)) for i, text in enumerate(texts)])


NAMES = [f"ab{i}" for i in range(10, 40)]
WRONG = [[Span(0, 2, "USERNAME")]] * 30
"""Candidates of two letters, a form that no name has."""


def test_a_form_is_what_kinds_of_characters_there_are() -> None:
    assert surface_form("bxq32") == "letters digits"
    assert surface_form("81") == "digits"
    assert surface_form("Time 39") == "letters digits blanks"
    assert surface_form("12/03") == "digits others"
    assert surface_form("Å-é") == "letters others"


def test_a_candidate_of_a_form_that_its_label_never_had_is_less_probable() -> None:
    forms = SurfaceForms.of(mentions(*NAMES), WRONG)
    assert forms.weighed("xy99", "USERNAME", 0.5) == 0.5
    assert forms.weighed("81", "USERNAME", 0.5) < 0.1
    assert forms.weighed("81", "USERNAME", 0.999) > 0.9
    assert forms.weighed("81", "ZIP", 0.5) == 0.5


def test_where_forms_come_once_each_or_are_few_a_new_one_says_nothing() -> None:
    various = ["ab", "12", "a1", "a b", "1 2", "a-b", "1-2", "a1-2"]
    assert SurfaceForms.of(mentions(*various), [[]] * len(various)).weighed("--", "USERNAME", 0.5) == 0.5
    few = SurfaceForms.of(mentions("ab12", "cd34"), [[], []])
    assert few.weighed("81", "USERNAME", 0.5) > 0.35


def test_the_own_notes_of_a_patient_say_nothing_of_his_candidates() -> None:
    forms = SurfaceForms.of(mentions(*NAMES, "81"), [*WRONG, []])
    assert forms.is_new("99", "USERNAME", "130-01") and not forms.is_new("99", "USERNAME", "131-01")
    assert not forms.is_new("99", "USERNAME")


@given(st.floats(0, 1), st.text(max_size=6))
def test_a_probability_stays_one_and_never_grows(chance: float, text: str) -> None:
    forms = SurfaceForms.from_dict({"known": {"A": ["letters"]}, "ratios": {"A": 0.2}})
    assert 0 <= forms.weighed(text, "A", chance) <= chance


def test_what_is_saved_holds_no_text_and_no_patient_and_says_the_same() -> None:
    forms = SurfaceForms.of(mentions(*NAMES), WRONG)
    state = forms.to_dict()
    assert state["known"] == {"USERNAME": ["letters digits"]}
    again = SurfaceForms.from_dict(state)
    assert again.weighed("81", "USERNAME", 0.5) == forms.weighed("81", "USERNAME", 0.5)
    assert again.weighed("a1", "USERNAME", 0.5) == 0.5
    with pytest.raises(ValueError, match="ratio"):
        SurfaceForms.from_dict({**state, "ratios": {"USERNAME": 7.0}})
