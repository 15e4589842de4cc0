"""`clusters = "installed"`: the Brown clusters of a package; here a tiny one of the same form replaces it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.inspection import inspected
from phistack.ensemble.synthesis import synthesize
from phistack.features import errors
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import PUBLIC_CLUSTERS, FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import MissingResourceError, SettingsError
from phistack.features.formats import write_corpus
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.submodel import CrfSubmodel

Command = Callable[..., tuple[int, str, str]]

CLUSTERS = {"the": 0, "ward": 0b0011, "Ward": 0b101101, "1998": 0b1, "Anna": 0b10, "2004": 0b11, "quorvel": 0b111}
"""As in the package: words by frequency; the first step of the path is the lowest bit, and 0 is no cluster."""

NOTE = Document("1", "Anna on Ward 7, ward 2004 in 2031; the quorvel WARD")


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "site" / "spacy_lookups_data" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    for language in ("de", "en"):
        (data / f"{language}_lexeme_cluster.json.gz").write_bytes(gzip.compress(json.dumps(CLUSTERS).encode()))
    monkeypatch.syspath_prepend(tmp_path / "site")
    return data


def bits(settings: FeatureSettings, column: str) -> dict[str, str]:
    space = FeatureSpace(settings)
    [table] = space.fit([NOTE])
    return dict(zip(table.words, (space.values(column)[i] for i in table.column(column)), strict=True))


def test_paths_are_read_from_the_lowest_bit_by_the_spelling_of_words() -> None:
    found = bits(FeatureSettings(clusters="installed"), "brown6")
    assert found["Ward"] == "101101" and found["ward"] == found["WARD"] == "110000", "by spelling, or else small"
    assert found["2004"] == "110000" and found["2031"] == "100000", "the most frequent number of its form"
    assert found["the"] == found["on"] == "" and found["Anna"] == "010000"
    assert bits(FeatureSettings(clusters="installed"), "brown4")["Ward"] == "1011"


def test_words_are_the_most_frequent_ones_and_none_of_the_notes(package: Path) -> None:
    settings = FeatureSettings(clusters="installed", further_words=4)
    found = bits(settings, "brown6")
    assert found["Anna"] and not found["quorvel"], "a word without a cluster does not count"
    space = FeatureSpace(settings)
    space.fit([NOTE])
    again = FeatureSpace(settings)
    again.fit([Document("2", "Quorvel.")])
    files, others = (SavedFiles.written_by(one.save) for one in (space, again))
    assert files.read(PUBLIC_CLUSTERS) == others.read(PUBLIC_CLUSTERS) and b"quorvel" not in files.read(PUBLIC_CLUSTERS)


def test_a_saved_space_needs_no_package(package: Path) -> None:
    space = FeatureSpace(FeatureSettings(clusters="installed"))
    [table] = space.fit([NOTE])
    files = SavedFiles.written_by(space.save)
    for path in package.iterdir():
        path.unlink()
    again = FeatureSpace.load(files).table(NOTE)
    for name in ("brown4", "brown6", "brown10", "brown20"):
        np.testing.assert_array_equal(again.column(name), table.column(name))


def test_what_is_not_there_is_one_sentence(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = FeatureSpace(FeatureSettings(clusters="installed", language="nl"))
    with pytest.raises(
        SettingsError, match=r"^spacy_lookups_data has no clusters of the language nl, only of de, en; "
    ):
        space.fit([NOTE])
    (package / "en_lexeme_cluster.json.gz").write_bytes(gzip.compress(b'{"ward": "x"}'))
    with pytest.raises(SettingsError, match=r"^the file of installed clusters .* cannot be used: "):
        FeatureSpace(FeatureSettings(clusters="installed")).fit([NOTE])
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(
        MissingResourceError, match=r"needs spacy_lookups_data; install it with: pip install '.\[word-clusters"
    ):
        FeatureSpace(FeatureSettings(clusters="installed")).fit([NOTE])


def test_crf_and_network_read_them() -> None:
    notes = synthesize(6, seed=1).documents
    tables = FeatureSpace(FeatureSettings(clusters="installed")).fit(notes)
    crf = CrfSubmodel(max_iterations=2).fit(tables)
    read = {name for cross in crf.crosses_.templates for name, _ in cross}
    network = BlstmSubmodel(networks=1, epochs=1, least_steps=0, lstm_size=4, channels=1, invented_notes=0).fit(tables)
    for columns in (read, set(network.encoder_.columns)):
        assert {"brown4", "brown6", "brown10", "brown20"} <= columns


def test_an_engine_is_trained_by_an_option_and_annotates_without_the_package(
    phistack: Command, package: Path, tmp_path: Path
) -> None:
    notes = synthesize(8, seed=2)
    write_corpus(notes, tmp_path / "notes", format="i2b2")
    options = ("--submodels", "crf", "--folds", 2, "--clusters", "installed")
    assert phistack("train", tmp_path / "notes", "--model", tmp_path / "engine", *options)[0] == 0
    before = list(load_bundle(tmp_path / "engine").annotate(notes.documents))
    assert any(note.spans for note in before)
    # A word of the language that is also an identifier is not read from the engine.
    named = Document("x", "quorvel", (Span(0, 7, "PATIENT"),))
    assert not inspected(tmp_path / "engine", Corpus((named,), notes.label_set)).read
    for path in package.iterdir():
        path.unlink()
    assert list(load_bundle(tmp_path / "engine").annotate(notes.documents)) == before
    status, _, error = phistack("train", tmp_path / "notes", "--model", tmp_path / "no", *options)
    assert status == 1 and "has no clusters of the language en" in error and not (tmp_path / "no").exists()
