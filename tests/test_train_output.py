"""What `phistack train` prints, and what its model card adds."""

import re
from pathlib import Path
from statistics import fmean, stdev

import pytest

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.synthesis import synthesize
from phistack.features.formats import write_corpus
from tests.fixture_types import Phistack

OLD = Path(__file__).parent / "golden" / "bundle_protocol_2.zip"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "notes"
    write_corpus(synthesize(9, seed=3), folder, format="i2b2")
    return folder


@pytest.fixture(scope="module")
def quick(notes: Path) -> tuple[str, ...]:
    """Options of a training that does not take long."""
    path = notes.with_name("quick.toml")
    path.write_text("folds = 2\n[submodels.regex]\n[submodels.crf]\nmax_iterations = 6\n")
    return ("--config", str(path), "--jobs", "1")


def test_it_is_one_table_the_weakest_labels_and_what_to_do_next(
    phistack: Phistack, notes: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    model = tmp_path / "engine"
    status, shown, error = phistack("train", notes, "--model", model, *quick)
    assert status == 0, error
    lines = shown.splitlines()
    assert len(lines) < 20 and shown.count("precision") == 1
    strict = read_manifest(model)["figures"]["strict"]["stack"]
    assert f"{100 * strict['recall']:.2f}" in shown
    assert re.search(r"bootstrap intervals by patient \(\d patients", shown)
    for sentence in ("Weakest: ", f"The engine of regex, crf is in {model}", f"--model {model}", "--details"):
        assert sentence in shown
    assert "out of fold it finds" in error
    assert not [line for line in lines if "calibration" in line or "majority vote" in line]


def test_seeds_are_averaged_on_request(phistack: Phistack, notes: Path, quick: tuple[str, ...], tmp_path: Path) -> None:
    kept = ("--cache", tmp_path / "folds")
    model = tmp_path / "engine"
    status, shown, error = phistack("train", notes, "--model", model, *quick, *kept, "--seeds", 2, "--details")
    assert status == 0, error
    assert "mean over 2 seeds" in shown
    figures = read_manifest(model)["figures"]
    f1 = []
    for seed in (0, 1):
        other = tmp_path / f"seed-{seed}"
        assert phistack("train", notes, "--model", other, *quick, *kept, "--seed", seed)[0] == 0
        f1.append(read_manifest(other)["figures"]["strict"]["stack"]["f1"])
    assert figures["strict"]["stack"]["f1"] == f1[0]
    found = figures["mean of seeds"]["stack"]["f1"]
    assert (found["mean"], found["sd"]) == pytest.approx((fmean(f1), stdev(f1)))
    assert f"{fmean(f1):.4f} ({stdev(f1):.4f})" in (model / "MODEL_CARD.md").read_text()


def test_the_card_tells_the_unit_of_its_intervals(
    phistack: Phistack, notes: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    model = tmp_path / "engine"
    assert phistack("train", notes, "--model", model, *quick, "--by", "document", "--draws", 99)[0] == 0
    card = (model / "MODEL_CARD.md").read_text()
    assert "95 % bootstrap intervals by document (9 documents, 99 draws)" in " ".join(card.split())
    assert "paired approximate randomisation by document, 9999 shuffles" in " ".join(card.split())


def test_the_settings_of_a_bundle_train_it_again(
    phistack: Phistack, notes: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second.zip"
    assert phistack("train", notes, "--model", first, *quick, "--seed", 5)[0] == 0
    assert phistack("train", notes, "--model", second, "--config", first)[0] == 0
    kept = (read_manifest(first), read_manifest(second))
    assert kept[0] == kept[1] and "settings.toml" in kept[0]["files"]
    shown = phistack("engines", second)[1]
    assert "seed = 5" in shown and "[submodels.crf]" in shown and "[submodels.tbed]" not in shown
    status, _, error = phistack("train", notes, "--model", tmp_path / "no", "--config", first, "--preset", "zhao2020")
    assert (status, "leave --preset out" in error) == (1, True)


def test_a_bundle_without_settings_is_one_sentence(
    phistack: Phistack, notes: Path, quick: tuple[str, ...], tmp_path: Path
) -> None:
    status, _, error = phistack("train", notes, "--model", tmp_path / "no", "--config", OLD)
    sentence = error.splitlines()[-1]
    assert (status, "was made before bundles kept their settings" in sentence) == (1, True)
