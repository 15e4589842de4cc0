"""The stack beside other choosers, in the training report, the model card and ablations."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation import Resampling, evaluate
from phistack.ensemble.experiments.ablation import ablate
from phistack.ensemble.experiments.choosers import LogOddsRegression
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.stacking.candidates import Decision, PooledCandidate
from phistack.ensemble.stacking.stacker import StackerSettings
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.submodels.base import Candidate
from tests.annotated import corpus_of
from tests.fixture_types import Phistack
from tests.invented_names import NAMES

MEMBERS = ("regex", "crf")
SETTINGS = replace(
    EngineSettings(folds=2, stacker=StackerSettings(kernel="zhao2020")).only(MEMBERS),
    submodels={"regex": {}, "crf": {"max_iterations": 10}},
)
SHORT = ["majority vote", "logistic regression", "stack", "perfect chooser"]


def notes(first: int = 0, n: int = 12) -> Corpus:
    """Notes in which whoever stands after `Dr.` is a doctor, with a character that the engine does not see."""
    chance = random.Random(first)
    names = {i: chance.choice(NAMES) for i in range(first, first + n)}
    seen = "\u200bSeen by Dr. [{0}|DOCTOR] on [0{1}/12/2019|DATE].\nPlan: rest. Call Mr. {0}."
    return corpus_of(*(seen.format(name, i % 9 + 1) for i, name in names.items()), first=100 + first)


def candidates(n_notes: int, seed: int = 0) -> tuple[list[list[PooledCandidate]], list[Document]]:
    """Pools in which a sure candidate of both is right, and one of the others sometimes."""
    chance = random.Random(seed)
    pools, documents = [], []
    for number in range(n_notes):
        pool, gold = [], []
        for place in range(6):
            span = Span(10 * place, 10 * place + 5, chance.choice(("DATE", "CITY")))
            scores = {name: chance.random() for name in MEMBERS if chance.random() < 0.8}
            votes = [Candidate(span, name, score, chosen=score > 0.5) for name, score in scores.items()]
            pool += [PooledCandidate(span, tuple(votes))] if votes else []
            gold += [span] if sum(scores.values()) + chance.gauss(0, 0.2) > 1 else []
        pools.append(pool)
        documents.append(Document(f"{number}", "x" * 60, tuple(gold)))
    return pools, documents


def test_the_regression_is_that_of_the_log_odds_the_votes_and_the_label() -> None:
    pools, documents = candidates(30)
    rows, right = [], []
    for pool, document in zip(pools, documents, strict=True):
        for found in pool:
            votes = {vote.source: vote for vote in found.votes}
            scores = [min(max(votes[name].score if name in votes else 0.0, 0.001), 0.999) for name in MEMBERS]
            chosen = [float(name in votes and votes[name].chosen) for name in MEMBERS]
            rows.append([*(np.log(s / (1 - s)) for s in scores), *chosen, found.span.label == "CITY",
                         found.span.label == "DATE"])  # fmt: skip
            right.append(found.span in document.spans)
    expected = LogisticRegression(max_iter=1000).fit(np.array(rows, float), right).predict_proba(np.array(rows, float))
    regression = LogOddsRegression(MEMBERS).fit(pools, documents)
    accepted = [span for spans in regression.choose(pools) for span in spans]
    above = [p > regression.threshold_ for p in expected[:, 1]]
    assert accepted == [c.span for c, is_in in zip((c for pool in pools for c in pool), above, strict=True) if is_in]


def test_no_note_is_judged_by_a_machine_that_saw_its_patient() -> None:
    pools, documents = candidates(20)
    before = LogOddsRegression(MEMBERS).fit(pools, documents).probabilities_
    for number in (0, 7):
        changed = list(documents)
        moved = [replace(span, start=span.start + 1) for span in documents[number].spans]  # as many, so the same folds
        changed[number] = documents[number].with_spans(moved)
        after = LogOddsRegression(MEMBERS).fit(pools, changed).probabilities_
        assert np.array_equal(before[number], after[number])
        assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_what_no_submodel_proposed_is_no_candidate_of_the_regression() -> None:
    pools, documents = candidates(20)
    again = Decision(Span(55, 60, "DATE"), 0.9, True, (Candidate(Span(55, 60, "DATE"), "repeated mention", 1.0),))
    with_repeats = [[*pool, again] for pool in pools]
    plain, other = (LogOddsRegression(MEMBERS).fit(some, documents) for some in (pools, with_repeats))
    assert plain.out_of_fold_ == other.out_of_fold_
    assert plain.choose(with_repeats) == plain.choose(pools)


@pytest.mark.parametrize("right", [True, False])
def test_candidates_that_are_all_right_or_all_wrong_are_learned_too(right: bool) -> None:
    pools, _ = candidates(6)
    documents = [Document(str(i), "x" * 60, [c.span for c in pool] if right else ()) for i, pool in enumerate(pools)]
    found = LogOddsRegression(MEMBERS).fit(pools, documents).out_of_fold_
    assert found == ([[c.span for c in pool] for pool in pools] if right else [[]] * 6)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choosers") / "notes"
    write_corpus(notes(), folder, format="i2b2")
    return folder


def test_a_training_shows_the_choosers_and_so_does_the_card(phistack: Phistack, corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "engine"
    options = ("--submodels", "regex,crf", "--folds", 2, "--details")
    status, shown, error = phistack("train", corpus, "--model", model, *options)
    assert (status, "Traceback" in error) == (0, False)
    figures = read_manifest(model)["figures"]
    rows = {row["name"]: row for row in figures["choosers"]["rows"]}
    assert [name for name in rows if name in SHORT] == SHORT
    assert len(rows) == len(SHORT) + 2  # the best member and the best mean
    best = max(MEMBERS, key=lambda name: figures["strict"][name]["f1"])
    for name in (best, "stack"):
        assert rows[name]["f1"]["value"] == figures["strict"][name]["f1"]
    assert rows["perfect chooser"]["f1"]["value"] == max(row["f1"]["value"] for row in rows.values())
    assert all(0 < row["less stack"]["p after Holm"] <= 1 for name, row in rows.items() if name != "stack")
    card = (model / "MODEL_CARD.md").read_text()
    assert f"{figures['choosers']['shuffles']} shuffles" in card
    for text in (*rows, figures["choosers"]["in short"]):
        assert text in card
        assert text in shown


@pytest.mark.parametrize("test", [None, notes(50, 6)], ids=["out of fold", "on other notes"])
def test_an_ablation_has_the_choosers_on_the_notes_that_it_scores(test: Corpus | None, tmp_path: Path) -> None:
    results = write_results(
        tmp_path / "out", lambda: ablate(notes(), SETTINGS, test=test, resampling=Resampling(shuffles=9))
    )
    figures = json.loads((tmp_path / "out" / "results.json").read_text())
    rows = {row["name"]: row for row in figures["choosers"]}
    assert {*MEMBERS, *SHORT} < {*rows}
    for row in figures["rows"]:
        if row["name"] in rows:
            assert row["f1"] == rows[row["name"]]["f1"]
    gold = notes() if test is None else test
    best = rows["perfect chooser"]
    assert best["fp"] == 0
    assert best["tp"] <= evaluate(gold, gold, resampling=Resampling(draws=1)).strict.counts.tp
    assert "perfect chooser" in (tmp_path / "out" / "choosers.tex").read_text()
    assert "logistic regression" in "".join(results.tables()["choosers"].markdown())


def test_a_program_still_gets_the_scores_by_name(tmp_path: Path) -> None:
    training, scores = train_bundle(notes(), tmp_path / "engine", SETTINGS)
    assert [*scores] == [*training.engine.names, "stack"]
    figures = read_manifest(tmp_path / "engine")["figures"]
    assert scores["stack"].strict.f1.value == figures["strict"]["stack"]["f1"]
