"""A short version of `benchmarks.faults`; its kills of runs and workers are in test_batch_recovery."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults.by_engines import disguised
from benchmarks.faults.commands import wrong_commands
from benchmarks.faults.inputs import CANARY, KINDS, attempt, mutated
from benchmarks.faults.spellings import MARKUPS, SIGNS, cases_of, in_clear, spelt_cases, unlisted
from benchmarks.growth import TEXTS
from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.columns.table import FeatureSpace, line_bounds
from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from tests.fixture_types import Phistack


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "engine"
    settings = EngineSettings(submodels={"regex": {}, "crf": {"max_iterations": 5}}, folds=2)
    engine = train(synthesize(8, seed=1), settings).engine
    save_bundle(engine, path, self_test=self_test(engine), trained_on={}, figures={})
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_input_is_read_or_refused_on_purpose(kind: str, engine: Path, tmp_path: Path) -> None:
    sound = KINDS[kind].make(tmp_path, engine)
    KINDS[kind].read(sound)
    outcomes = [(number, attempt(kind, number, sound)) for number in range(5 if kind == "bundle" else 60)]
    assert [(number, found) for number, found in outcomes if found not in ("read", "refused")] == []


def test_an_input_is_the_same_in_every_run_and_is_made_sound_again(tmp_path: Path) -> None:
    sound = KINDS["jsonl"].make(tmp_path, tmp_path)
    before = sound.read_bytes()
    assert [attempt("jsonl", n, sound) for n in range(20)] == [attempt("jsonl", n, sound) for n in range(20)]
    assert sound.read_bytes() == before
    assert mutated(random.Random(1), before) == mutated(random.Random(1), before) != before


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (CorpusError("a sentence"), "refused"),
        (CorpusError(f"the note of {CANARY}"), "canary"),
        (ValueError(CANARY), "foreign: ValueError in test_faults.py line"),
    ],
)
def test_what_quotes_or_fails_is_seen(
    error: ValueError | CorpusError, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Any) -> None:
        raise error

    sound = KINDS["jsonl"].make(tmp_path, tmp_path)
    monkeypatch.setitem(KINDS, "jsonl", replace(KINDS["jsonl"], read=failing))
    assert attempt("jsonl", 1, sound).startswith(outcome)


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_makes_a_sequence_without_bound(name: str) -> None:
    space = FeatureSpace()
    table = space.fit([Document("1", TEXTS[name] * (30_000 // len(TEXTS[name])))])[0]
    bounds = line_bounds(table)
    assert bounds[-1] == len(table)
    assert max(bounds[1:] - bounds[:-1], default=0) <= 1_000


def test_signs_and_markup_in_identifiers_leave_none_of_them_in_clear() -> None:
    results = list(disguised(["\u200b", "\v", "&shy;", "%20"]))
    assert [found[1:] for found in results] == [(23, []), (18, []), (18, [])]


@pytest.mark.parametrize("signs", [SIGNS, MARKUPS])
def test_nothing_of_an_identifier_that_a_roster_knows_is_in_clear(signs: tuple[str, ...]) -> None:
    assert len(signs) in (28, 8) and in_clear(cases_of(signs)) == []


def test_other_spellings_of_names_and_listed_phrases_are_found() -> None:
    assert in_clear(spelt_cases()) == unlisted() == []


def test_commands_that_failed_before_do_as_they_must(phistack: Phistack, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: list[str], folder: Path) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        return phistack(*arguments)

    assert not list(wrong_commands(run))
