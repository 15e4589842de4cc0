"""`phistack vectors`: word vectors and clusters from unannotated notes, as files for a training."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.unlabelled import brown_paths, cluster_paths, learn_vectors
from phistack.features import errors
from phistack.features.columns.representations import read_clusters, read_vectors
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.errors import TrainingError
from phistack.features.formats import write_corpus

Command = Callable[..., tuple[int, str, str]]


def test_near_vectors_have_long_prefixes_in_common() -> None:
    generator = np.random.default_rng(0)
    middles = np.array([[9, 1, 0, 0], [9, -1, 0, 0], [0, 0, 9, 1], [0, 0, 9, -1]], dtype=np.float32)
    rows = np.repeat(middles, 5, axis=0) + generator.normal(0, 0.01, (20, 4)).astype(np.float32)
    paths = cluster_paths(rows, 4)
    assert [set(paths[i : i + 5]) for i in range(0, 20, 5)] == [{path} for path in paths[::5]]
    assert sorted(paths[::5]) == ["00", "01", "10", "11"]
    assert paths[0][0] == paths[5][0] != paths[10][0] == paths[15][0]
    assert cluster_paths(np.ones((3, 2), dtype=np.float32), 5) == ["0", "0", "0"]


def test_words_of_the_same_use_are_near(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    generator = np.random.default_rng(1)
    kinds = (["Anna", "Bertha", "Cora"], ["2011", "1999", "2020"], ["cough", "fever", "pain"])
    text = ["".join(f"{w} " for w in generator.permutation(kind)) + "." for kind in kinds for _ in range(300)]
    notes = [Document(str(i), line) for i, line in enumerate(text)]
    learned = learn_vectors(notes, size=16, least_count=2, epochs=15)
    unit = learned.rows / np.linalg.norm(learned.rows, axis=1, keepdims=True)
    at = {word: unit[i] for i, word in enumerate(learned.words)}
    assert set(at) == {"anna", "bertha", "cora", "0000", "cough", "fever", "pain", "."}
    assert at["anna"] @ at["bertha"] > at["anna"] @ at["cough"]
    with pytest.raises(TrainingError, match="no word occurs 9999 times in these 900 notes"):
        learn_vectors(notes, least_count=9999)


def test_brown_clusters_join_words_that_stand_between_the_same_words() -> None:
    pytest.importorskip("brown_clustering")
    generator = np.random.default_rng(1)
    names, signs, drugs = ["ann", "bea", "cora", "dan"], ["cough", "fever", "pain"], ["aspirin", "codeine"]
    text = ["{} has {} and takes {}".format(*map(generator.choice, (names, signs, drugs))) for _ in range(400)]
    words = [*names, *signs, *drugs, "has", "and", "takes"]
    paths = dict(zip(words, brown_paths([Document("1", ". ".join(text))], words, 6), strict=True))
    of_kind = [{paths[word] for word in kind} for kind in (names, signs, drugs)]
    assert all(len(found) == 1 for found in of_kind) and len(set().union(*of_kind)) == 3
    assert all(path and not path.strip("01") for path in paths.values()) and len(set(paths.values())) == 6
    assert not any(a != b and a.startswith(b) for a in paths.values() for b in paths.values()), "a tree"


def test_without_its_package_brown_clustering_is_refused_before_it_begins(
    phistack: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    status, _, error = phistack("vectors", tmp_path / "none", tmp_path / "words", "--brown")
    assert status == 1 and "Brown clustering needs brown_clustering" in error and "pip install '.[brown]'" in error


def test_what_the_command_writes_a_training_reads(phistack: Command, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    notes = synthesize(12, seed=1)
    write_corpus(notes, tmp_path / "notes", format="i2b2")
    options = ("--size", 8, "--clusters", 20, "--least-count", 3)
    status, shown, error = phistack("vectors", tmp_path / "notes", tmp_path / "words", *options)
    assert status == 0 and "protect them as you protect the notes" in shown and "EPOCH" not in error
    again = tmp_path / "again"
    assert phistack("vectors", tmp_path / "notes", again, *options)[0] == 0
    for name in ("vectors.txt", "clusters.txt"):
        assert (again / name).read_bytes() == (tmp_path / "words" / name).read_bytes()
    vectors, clusters = (str(again / name) for name in ("vectors.txt", "clusters.txt"))
    assert read_vectors(Path(vectors), {"the"}).size == 8 and set(read_clusters(Path(clusters), {"the"})) == {"the"}
    space = FeatureSpace(FeatureSettings(vectors=vectors, clusters=clusters))
    space.fit(notes.documents)
    assert len(space.values("brown6")) > 5 and len(space.values("vector_cluster")) > 5
    status, _, error = phistack("vectors", tmp_path / "notes", again)
    assert status == 1 and "is already there" in error
