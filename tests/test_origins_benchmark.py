"""The benchmark of origins: the same sentences for each origin, names not in training notes, and the gap."""

import sys
from collections.abc import Iterable, Iterator

import pytest

from benchmarks import origins
from benchmarks.origins import SENTENCES, Recall, gap, recall_of, sentences, table_of
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.templates import is_held_out, lists_of, table
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Document
from phistack.features.errors import SettingsError


def frame(document: Document) -> str:
    (name,) = document.spans
    return f"{document.text[: name.start]}|{document.text[name.end :]}"


def first_words(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        (name,) = document.spans
        word = document.text[name.start : name.end].split()[0]
        yield document.with_spans([type(name)(name.start, name.start + len(word), "DOCTOR")])


@pytest.mark.parametrize("language", SENTENCES)
def test_each_origin_has_the_same_sentences(language: str) -> None:
    korean, greek = (list(sentences(origin, 60, language=language)) for origin in ("korean", "greek"))
    assert list(map(frame, korean)) == list(map(frame, greek))
    assert len({*map(frame, korean)}) == len(SENTENCES[language]) == len(SENTENCES["en"])


def test_each_origin_has_only_its_own_names() -> None:
    korean, greek = list(sentences("korean", 60)), list(sentences("greek", 60))
    assert list(sentences("korean", 60)) == korean != list(sentences("korean", 60, seed=1))
    greek_names = lists_of("en/origins", "greek", "train")
    train = {name.casefold() for part in ("female", "male", "family") for name in greek_names[part]}
    last = [d.text[s.start : s.end].casefold() for d in greek for s in d.spans if d.text.startswith(("Mr. ", "The "))]
    assert last and not {*last} & train and all(map(is_held_out, last))


def test_a_system_that_knows_all_and_one_that_knows_nothing() -> None:
    assert recall_of("dutch", lambda notes: notes, 40) == Recall("dutch", 40, 40, 40)
    assert recall_of("dutch", lambda notes: [n.with_spans(()) for n in notes], 40) == Recall("dutch", 40, 0, 0)
    half = recall_of("dutch", first_words, 40)
    assert half.touched == 40 and 0 < half.covered < 40


def test_the_gap_is_between_the_best_and_the_worst() -> None:
    found = [Recall("greek", 200, 190, 180), Recall("dutch", 100, 97, 97), Recall("korean", 50, 46, 40)]
    assert gap(found) == pytest.approx(5.0)
    assert [*table_of(found).columns[0].cells] == ["dutch", "greek", "korean"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("origins") / "engine"
    train_bundle(synthesize(24, seed=1), path, EngineSettings(folds=2).only(("regex",)))
    return str(path)


def test_the_command_prints_a_row_an_origin(
    engine: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [*table("en/origins")][:8]
    monkeypatch.setattr(sys, "argv", ["origins", engine, "--origins", ",".join(chosen), "--sentences", "20"])
    origins.main()
    said = capsys.readouterr().out
    assert all(origin in said for origin in chosen)
    assert said.splitlines()[-1].startswith("largest gap ")


def test_an_engine_for_a_language_without_sentences_is_refused(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "SENTENCES", {"de": SENTENCES["de"]})
    monkeypatch.setattr(sys, "argv", ["origins", engine])
    with pytest.raises(SettingsError, match="there is no language with sentences named en"):
        origins.main()
