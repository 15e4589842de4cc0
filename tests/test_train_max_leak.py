"""`phistack train --max-leak`: thresholds fall until calibration notes meet the bound, or training is refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.certificate import certificates_of
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.evaluation import Resampling
from phistack.ensemble.experiments.certificate import Leaks, certify, summed
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import train_with_report
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.errors import EvaluationError
from phistack.features.formats import write_corpus
from tests.fixture_types import Phistack

QUICK = ("--submodels", "regex", "--folds", 2, "--jobs", 1, "--draws", 9, "--shuffles", 9)
TRAINING, CALIBRATION = synthesize(20, seed=3), synthesize(48, seed=4)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes to train and to calibrate on."""
    folder = tmp_path_factory.mktemp("max-leak")
    for name, corpus in (("train", TRAINING), ("calibration", CALIBRATION)):
        write_corpus(corpus, folder / name, format="brat")
    return folder


@pytest.fixture(scope="module")
def as_it_is(notes: Path) -> Path:
    """An engine of the training notes without a bound."""
    settings = replace(EngineSettings().only(["regex"]), folds=2)
    train_with_report(TRAINING, notes / "engine", settings, resampling=Resampling("patient", 9, shuffles=9))
    return notes / "engine"


def test_the_default_of_the_engine_keeps_the_bound_with_the_lowered_thresholds(
    notes: Path, as_it_is: Path, tmp_path: Path, phistack: Phistack
) -> None:
    train = ("train", notes / "train", *QUICK, "--model")
    given = ("--max-leak", 0.45, "--calibration", notes / "calibration", "--confidence", 0.9)
    status, said, error = phistack(*train, tmp_path / "engine", *given)
    assert status == 0, error
    [certificate] = certificates_of(tmp_path / "engine")
    assert (certificate.max_leak, certificate.allowed, certificate.confidence) == (0.45, ("balanced",), 0.9)
    assert "with 90 % confidence at most 45.00 % of a patient's identifiers are left" in re.sub(r"\s+", " ", said)
    lowered = read_manifest(tmp_path / "engine")["figures"]["thresholds lowered to"]
    before, engine = load_bundle(as_it_is), load_bundle(tmp_path / "engine")
    assert engine.stacker.threshold_ == pytest.approx(lowered * before.stacker.threshold_)
    choices = [at["threshold"] for at in before.stacker.choices_.values()]
    assert [at["threshold"] for at in engine.stacker.choices_.values()] == pytest.approx(
        [lowered * at for at in choices]
    )
    leaks = Leaks(CALIBRATION, engine, Policy.named("tag"))
    left = [sum(one.share for one in summed(leaks.of(some))) for some in (engine, before)]
    assert left[0] <= left[1] and left[0] / len(summed(leaks.of(engine))) < 0.45
    assert "learn then test (Angelopoulos 2021) allows: balanced" in phistack("engines", tmp_path / "engine")[1]


@pytest.mark.parametrize(
    ("calibration", "max_leak", "reported"),
    [
        ("train", 0.45, "20 of the 20 calibration notes are among those to train on"),
        ("calibration", 0.01, "even if nothing is; that takes 308 patients or more"),
        ("calibration", 0.15, "even with the thresholds at 0.02 of what they were, so nothing was written"),
        ("", 0.45, "give --max-leak and --calibration together"),
    ],
)
def test_what_cannot_be_kept_or_shown_is_refused_and_nothing_is_written(
    calibration: str, max_leak: float, reported: str, notes: Path, tmp_path: Path, phistack: Phistack
) -> None:
    given = ("--calibration", notes / calibration) if calibration else ()
    status, _, error = phistack(
        "train", notes / "train", *QUICK, "--model", tmp_path / "engine", "--max-leak", max_leak, *given
    )
    assert status and reported in error and not list(tmp_path.iterdir())


def test_notes_that_an_engine_learned_from_are_known_again_in_any_order_and_beside_others(
    as_it_is: Path,
) -> None:
    learned = [replace(note, id=f"new-{note.id}") for note in reversed(TRAINING.documents[5:])]
    some = replace(CALIBRATION, documents=(*CALIBRATION.documents[:20], *learned))
    with pytest.raises(EvaluationError, match="learned from these notes, or many of them"):
        certify(some, as_it_is, Policy.named("tag"))
    card = (as_it_is / "MODEL_CARD.md").read_text()
    assert read_manifest(as_it_is)["trained_on"]["fingerprints"] not in card
