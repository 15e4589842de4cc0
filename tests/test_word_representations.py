"""Word vectors and clusters from files: columns of CRF and TBED, the first embeddings of the network, and a bundle."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.representations import read_clusters, read_vectors
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.columns.word_columns import normal_form
from phistack.features.documents import Document
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import new_submodel
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.tbed.submodel import TbedSubmodel

WORDS = {"ward": [3.0, 4.0], "Seen": [0.0, -2.0], "seen": [5.0, 0.0], "2019": [1.0, 1.0], "elsewhere": [9.0, 9.0]}
WANTED = {"ward", "seen", "0000", "missing"}


def as_word2vec(words: dict[str, list[float]]) -> bytes:
    return f"{len(words)} 2\n".encode() + as_glove(words)


def as_glove(words: dict[str, list[float]]) -> bytes:
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in words.items()).encode()


def as_binary(words: dict[str, list[float]], end: bytes = b"\n") -> bytes:
    rows = (word.encode() + b" " + np.array(row, "<f4").tobytes() + end for word, row in words.items())
    return f"{len(words)} 2\n".encode() + b"".join(rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("v.txt", as_word2vec(WORDS)), ("v.txt", as_glove(WORDS)), ("v.txt.gz", as_word2vec(WORDS))),
        *(("v.bin", as_binary(WORDS)), ("v.bin", as_binary(WORDS, b""))),
        ("v.vec", as_word2vec(WORDS).replace(b"\n", b" \n").replace(b" 2 \n", b" 2\n", 1)),
    ],
    ids=["word2vec", "GloVe", "packed", "binary", "binary without line ends", "fastText"],
)
def test_vectors_of_the_wanted_words_are_read_from_every_format(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    vectors = read_vectors(tmp_path / name, WANTED)
    assert vectors.words == ("0000", "seen", "ward") and vectors.size == 2
    np.testing.assert_allclose(vectors.rows, [[0.5**0.5, 0.5**0.5], [1, 0], [0.6, 0.8]], atol=1e-6)


@given(
    words=st.dictionaries(
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1),
        st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2),
        min_size=1,
    ),
    binary=st.booleans(),
)
def test_the_formats_say_the_same(
    words: dict[str, list[float]], binary: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("vectors") / "file"
    path.write_bytes(as_binary(words) if binary else as_word2vec(words))
    wanted = set(map(normal_form, words))
    found = read_vectors(path, wanted)
    assert set(found.words) == wanted
    for word, row in zip(found.words, found.rows, strict=True):
        chosen = words.get(word) or next(row for spelled, row in words.items() if normal_form(spelled) == word)
        length = np.linalg.norm(np.array(chosen, dtype=np.float32))
        np.testing.assert_allclose(row * length, chosen, atol=1e-4)


def test_words_at_the_front_of_a_file_are_kept_on_request(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(as_word2vec(WORDS))
    (tmp_path / "b.txt").write_text("0110\tfront\t9\n111\tWard\t4\n10\tfar\t1\n", encoding="utf-8")
    assert read_vectors(tmp_path / "v.txt", {"elsewhere"}, further=2).words == ("elsewhere", "seen", "ward")
    assert read_clusters(tmp_path / "b.txt", {"ward"}) == {"ward": "111"}
    assert read_clusters(tmp_path / "b.txt", {"ward"}, further=1) == {"front": "0110", "ward": "111"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "begins neither"),
        (b"ward\n", "begins neither"),
        (b"1 99999\nward 1 2\n", "begins neither"),
        (b"2 2\nward 1 2\nseen 1\n", "line 3 is not a word and 2 numbers"),
        (b"ward 1 2\nseen 1 x\n", "line 2 is not a word and 2 numbers"),
        (b"ward 1 nan\n", "no finite number"),
        (as_binary(WORDS)[:-3], "in the vector 5 of 5"),
        (b"elsewhere 1 2\n", "none of the 4 words of the notes"),
    ],
)
def test_a_file_that_is_none_of_vectors_is_one_sentence(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(SettingsError, match=rf"^the file of word vectors .*v\.txt cannot be used: .*{complaint}"):
        read_vectors(tmp_path / "v.txt", WANTED)
    with pytest.raises(SettingsError, match="the file of word clusters"):
        read_clusters(tmp_path / "v.txt", WANTED)


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "v.gz").write_bytes(gzip.compress(as_glove(WORDS) * 50)[:-20])
    with pytest.raises(SettingsError, match=r"v\.gz cannot be used: .*damaged"):
        read_vectors(tmp_path / "v.gz", WANTED)
    with pytest.raises(SettingsError, match="absent cannot be used: it cannot be read: No such file"):
        read_vectors(tmp_path / "absent", WANTED)


# Columns

NOTES = [Document("1", "Seen on Ward 12 in 2019 by Anna"), Document("2", "Seen again by Bertha")]


def files_for(notes: list[Document], folder: Path, *, turn: float = 0.0) -> tuple[str, str]:
    """Vectors and clusters that divide words by their first letter: up to `m`, and after it."""
    forms = sorted({normal_form(word) for note in notes for word in note.text.split()})
    side = {form: form < "n" for form in forms}
    rows = {form: [1.0 if side[form] else -1.0, turn, i / 1000] for i, form in enumerate(forms)}
    (folder / "v.txt").write_bytes(f"{len(rows)} 3\n".encode() + as_glove(rows))
    lines = [f"{'010110' if side[form] else '1'}\t{form}\t1\n" for form in forms]
    (folder / "b.txt").write_text("".join(lines), encoding="utf-8")
    return str(folder / "v.txt"), str(folder / "b.txt")


def values(space: FeatureSpace, table: FeatureTable, name: str) -> dict[str, str]:
    return dict(zip(table.words, [space.values(name)[i] for i in table.column(name)], strict=True))


def test_clusters_are_columns_only_where_files_are_named(tmp_path: Path) -> None:
    vectors, clusters = files_for(NOTES[:1], tmp_path)
    assert not {"brown4", "vector_cluster"} & set(FeatureSettings().columns)
    space = FeatureSpace(FeatureSettings(vectors=vectors, vector_clusters=2, clusters=clusters))
    tables = space.fit(NOTES)
    assert values(space, tables[0], "brown4") == {
        "Seen": "1", "on": "1", "Ward": "1", "12": "0101", "in": "0101", "2019": "0101", "by": "0101", "Anna": "0101",
    }  # fmt: skip
    assert values(space, tables[0], "brown20")["Anna"] == "010110"
    assert values(space, tables[1], "brown6") == {"Seen": "1", "again": "", "by": "010110", "Bertha": ""}
    sides = values(space, tables[0], "vector_cluster")
    assert len(set(sides.values())) == 2 and sides["Seen"] == sides["Ward"] != sides["Anna"]
    without = FeatureSettings(vectors=vectors, clusters=clusters, without=("representations",))
    assert without.columns == FeatureSettings().columns


def test_a_saved_space_has_the_words_of_its_notes_and_needs_no_file(tmp_path: Path) -> None:
    others = [*NOTES, Document("3", "Nowhere Otherwise")]
    vectors, clusters = files_for(others, tmp_path)
    space = FeatureSpace(FeatureSettings(vectors=vectors, clusters=clusters))
    [table, _] = space.fit(NOTES)
    files = SavedFiles.written_by(space.save)
    assert "nowhere" not in json.dumps(json.loads(files.read("features.json"))).lower()
    Path(vectors).unlink()
    Path(clusters).unlink()
    loaded = FeatureSpace.load(files)
    again = loaded.table(NOTES[0])
    for name in ("brown4", "brown6", "brown10", "brown20", "vector_cluster"):
        np.testing.assert_array_equal(again.column(name), table.column(name))


def test_what_is_in_the_files_decides_the_key_of_the_cache(tmp_path: Path) -> None:
    notes = synthesize(4, seed=1)

    def key(turn: float) -> str:
        vectors, _ = files_for(list(notes.documents), tmp_path, turn=turn)
        settings = EngineSettings.from_dict({"features": {"vectors": vectors}, "submodels": {"crf": {}}})
        tables = FeatureSpace(settings.features).fit(notes.documents)
        return next(iter(tasks_of(settings, tables, [[0, 1], [2, 3]]))).key()

    assert key(0.0) == key(0.0) != key(0.5)


# Submodels


@pytest.fixture(scope="module")
def represented(tmp_path_factory: pytest.TempPathFactory) -> tuple[FeatureSpace, list[FeatureTable]]:
    notes = list(synthesize(10, seed=1).documents)
    vectors, clusters = files_for(notes, tmp_path_factory.mktemp("files"))
    space = FeatureSpace(FeatureSettings(vectors=vectors, clusters=clusters, vector_clusters=3))
    return space, space.fit(notes)


def test_crf_and_tbed_read_the_clusters(represented: tuple[FeatureSpace, list[FeatureTable]]) -> None:
    space, tables = represented
    crf = CrfSubmodel(max_iterations=3).fit(tables)
    read = {name for cross in crf.crosses_.templates for name, _ in cross}
    assert {"brown4", "brown6", "brown10", "brown20", "vector_cluster"} <= read
    tbed = TbedSubmodel(start="empty", max_rules=5)
    assert {"brown10", "vector_cluster"} <= {name for template in tbed._templates(space) for name in template.columns}


def network(**settings: object) -> BlstmSubmodel:
    small = {"networks": 1, "epochs": 1, "least_steps": 0, "lstm_size": 4, "channels": 1, "learning_rate": 1e-8}
    model = new_submodel("blstm", {**small, "average": 0.0, "kernels": [2], "columns": [], **settings})
    assert isinstance(model, BlstmSubmodel)
    return model


def test_the_network_begins_with_the_vectors(represented: tuple[FeatureSpace, list[FeatureTable]]) -> None:
    space, tables = represented
    vectors = space.representations_.vectors
    assert vectors is not None
    model = network().fit(tables)
    assert model.word_size_ == 3 and set(vectors.words) <= set(model.encoder_.words)
    rows = model.weights_[0]["word"][model.encoder_.word_ids(vectors.words)]
    np.testing.assert_allclose(rows, vectors.rows, atol=1e-5)
    plain = network(pretrained=False, word_size=5).fit(tables)
    assert plain.weights_[0]["word"].shape == (len(plain.encoder_.words) + 2, 5)


def test_a_network_that_began_with_vectors_is_saved_and_loaded(
    represented: tuple[FeatureSpace, list[FeatureTable]],
) -> None:
    space, tables = represented
    model = network().fit(tables)
    loaded = BlstmSubmodel.load(SavedFiles.written_by(model.save), space)
    for emissions, again in zip(model.emissions(tables), loaded.emissions(tables), strict=True):
        np.testing.assert_array_equal(emissions, again)


def test_an_engine_with_clusters_annotates_without_their_files(
    phistack: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    notes = synthesize(8, seed=2)
    write_corpus(notes, tmp_path / "notes", format="i2b2")
    vectors, clusters = files_for(list(notes.documents), tmp_path)
    settings = f'folds = 2\n[features]\nvectors = "{vectors}"\nclusters = "{clusters}"\n[submodels.crf]\n'
    (tmp_path / "s.toml").write_text(settings, encoding="utf-8")
    trained = phistack("train", tmp_path / "notes", "--model", tmp_path / "engine", "--config", tmp_path / "s.toml")
    assert trained[0] == 0
    before = list(load_bundle(tmp_path / "engine").annotate(notes.documents))
    assert any(note.spans for note in before)
    Path(vectors).unlink()
    Path(clusters).unlink()
    assert list(load_bundle(tmp_path / "engine").annotate(notes.documents)) == before
    again = phistack("train", tmp_path / "notes", "--model", tmp_path / "no", "--config", tmp_path / "s.toml")
    assert again[0] == 1 and "the file of word vectors" in again[2] and not (tmp_path / "no").exists()
