"""`phistack tagger`: our own taggers, and engines that read and contain them."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.columns.trained_tagger import TrainedTagger, attributes_of
from phistack.features.errors import BundleError, SettingsError
from phistack.features.formats import write_corpus

Command = Callable[..., tuple[int, str, str]]

_ROWS = [f"{verb}\tVERB\t_\nthe\tDET\t_\n{noun}\tNOUN\t_\n.\tPUNCT\t_\n" for verb, noun in product(
    ("See", "Ask", "Move", "Call", "Help"), ("nurse", "ward", "son", "GP-clinic")
)]  # fmt: skip


@pytest.fixture
def pos(phistack: Command, tmp_path: Path) -> Path:
    (tmp_path / "tagged.tsv").write_text("\n".join(_ROWS), encoding="utf-8")
    status, shown, _ = phistack("tagger", tmp_path / "tagged.tsv", tmp_path / "pos.json", "--language", "en")
    assert status == 0 and "on the last tenth, which was held out, 100.00 % of 10 tags are right" in shown
    return tmp_path / "pos.json"


def test_words_unseen_are_tagged_by_their_neighbours_and_the_best_path_is_that_of_brute_force(pos: Path) -> None:
    tagger = TrainedTagger.read(pos)
    assert tagger([["Visit", "the", "porter", "."], ["Ask"]]) == [["VERB", "DET", "NOUN", "PUNCT"], ["VERB"]]
    words = ["nurse", "See", "Ask", "."]

    def score(path: tuple[str, ...]) -> float:
        at = tagger.tags.index
        own = (tagger.weights.get(a, {}).get(t, 0.0) for t, names in zip(path, attributes_of(words), strict=True)
               for a in names)  # fmt: skip
        return sum(own) + sum(tagger.transitions[at(a)][at(b)] for a, b in pairwise(path))

    assert tagger([words]) == [list(max(product(tagger.tags, repeat=4), key=score))]


def test_labels_of_annotated_notes_become_tags(phistack: Command, tmp_path: Path) -> None:
    write_corpus(synthesize(12, seed=1), tmp_path / "notes", format="i2b2")
    status, shown, _ = phistack("tagger", tmp_path / "notes", tmp_path / "ner.json")
    tagger = TrainedTagger.read(tmp_path / "ner.json")
    assert status == 0 and "without O, precision is" in shown and {"O", "DOCTOR", "DATE"} <= {*tagger.tags}
    assert tagger([["Seen", "by", "Dr", ".", "Birchwood"]])[0][4] == "DOCTOR"


def test_an_engine_carries_its_tagger(pos: Path, tmp_path: Path) -> None:
    notes = synthesize(8, seed=2)
    crf = {"max_iterations": 10, "templates": [[["pos", 0]], [["word", 0]]]}
    settings = {"folds": 2, "features": {"pos": str(pos)}, "submodels": {"crf": crf}}
    engine = train(notes, EngineSettings.from_dict(settings)).engine
    save_bundle(engine, tmp_path / "engine", self_test=self_test(engine), trained_on={}, figures={})
    before = list(engine.annotate(notes.documents))
    pos.unlink()
    engine = load_bundle(tmp_path / "engine")
    assert list(engine.annotate(notes.documents)) == before and any(note.spans for note in before)
    assert {"VERB", "NOUN"} <= {*engine.space.values("pos")}
    (tmp_path / "engine" / "features" / "pos_tagger.json").unlink()
    with pytest.raises(BundleError):
        load_bundle(tmp_path / "engine")


@pytest.mark.parametrize(
    ("text", "out", "said"),
    [
        ("Ann\tX\nsecretname NOUN\n", "pos.json", "line 2 of "),
        ("Ann\tX\n", "pos.json", "fewer than two tags"),
        ("", "pos.json", "fewer than two tags"),
        ("Ann\tX\n", "pos.txt", "a tagger is a .json file"),
    ],
)
def test_what_cannot_be_learned_is_one_sentence(
    phistack: Command, tmp_path: Path, text: str, out: str, said: str
) -> None:
    (tmp_path / "tagged.tsv").write_text(text, encoding="utf-8")
    status, _, error = phistack("tagger", tmp_path / "tagged.tsv", tmp_path / out)
    assert status == 1 and said in error and "secretname" not in error and not (tmp_path / out).exists()


@pytest.mark.parametrize("damage", [{"tags": []}, {"tags": ["A"]}, {"weights": {"bias": {"OTHER": 1}}}, {"weights": 1}])
def test_a_damaged_file_is_refused(pos: Path, damage: dict[str, Any]) -> None:
    pos.write_text(json.dumps(json.loads(pos.read_text()) | damage))
    with pytest.raises(SettingsError, match=r"^the tagger .*pos\.json cannot be used: "):
        TrainedTagger.read(pos)


def test_a_private_engine_reads_no_tagger_of_other_text(pos: Path) -> None:
    settings = EngineSettings.from_dict({"features": {"pos": str(pos)}, "submodels": {"crf": {}}})
    settings.check()
    with pytest.raises(SettingsError, match="the tagger of pos may hold words of patients"):
        replace(settings, private=5).check()
