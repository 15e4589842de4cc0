"""A learning curve by sentences, with several runs on each sample: figure 2 of Trienes 2020."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.experiments.learning_curve import interval_of_mean, learning_curve, spread_of
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.experiments.samples import SENTENCES, Sentences, samples_of
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

NUT = LabelSet.named("nut")
NOTES = synthesize(12, seed=5, language="nl")
LINES, JOINED = FeatureSettings(language="nl", split_lines=True), FeatureSettings(language="nl", split_lines=False)
SETTINGS = replace(
    EngineSettings(folds=2).only(("regex", "crf")), submodels={"regex": {}, "crf": {"max_iterations": 5}}
)

pieces = st.sampled_from(
    [
        "Ann Lee came. ",
        "She left",
        ". ",
        "\n",
        "\n\n",
        " at 3 p.m. ",
        "Ward 7B\r\n",
        "no stop here ",
        "\u200b",
        "1. ",
        "é",
    ]
)


@st.composite
def marked_notes(draw: Any) -> Corpus:
    """Notes of odd pieces, with spans anywhere, over line and sentence ends too."""
    documents = []
    for number in range(draw(st.integers(1, 4))):
        text = "".join(draw(st.lists(pieces, max_size=8)))
        cuts = draw(st.lists(st.integers(0, max(len(text), 1) - 1), max_size=3))
        spans = tuple(Span(at, min(at + draw(st.integers(1, 20)), len(text)), "Name") for at in cuts if text)
        documents.append(Document(f"{number}", text, spans, f"p{number % 2}"))
    return Corpus(tuple(documents), NUT)


def said(corpus: Corpus) -> list[tuple[str, str, str]]:
    return [(d.id, span.label, d.text[span.start : span.end]) for d in corpus.documents for span in d.spans]


def texts_of(corpus: Corpus) -> list[str]:
    return [corpus.documents[note].text[start:end] for note, start, end in Sentences.of(corpus, LINES).places]


@given(marked_notes(), st.sampled_from([LINES, JOINED]), st.data())
def test_sentences_are_whole_and_their_phi_comes_along(corpus: Corpus, settings: FeatureSettings, data: Any) -> None:
    sentences = Sentences.of(corpus, settings)
    chosen = data.draw(st.sets(st.integers(0, max(len(sentences), 1) - 1), max_size=len(sentences)))
    texts: dict[int, list[str]] = {}
    for number in sorted(chosen):
        note, start, end = sentences.places[number]
        texts.setdefault(note, []).append(corpus.documents[note].text[start:end])
    found = sentences.chosen(chosen)
    if len(chosen) == len(sentences):
        assert found is corpus
        return
    assert [document.id for document in found.documents] == [corpus.documents[note].id for note in texts]
    for document, parts in zip(found.documents, texts.values(), strict=True):
        assert document.text.replace("\r", "").replace("\n", "") == "".join(parts).replace("\r", "").replace("\n", "")
    apart = [sentences.chosen({number}) for number in sorted(chosen)] if len(sentences) > 1 else []
    assert said(found) == [one for part in apart for one in said(part)]


@given(marked_notes(), st.sampled_from([LINES, JOINED]))
def test_places_are_the_whole_text_and_cut_no_phi(corpus: Corpus, settings: FeatureSettings) -> None:
    places = Sentences.of(corpus, settings).places
    for number, document in enumerate(corpus.documents):
        of_note = [(start, end) for note, start, end in places if note == number]
        if of_note:
            assert of_note[0][0] == 0 and of_note[-1][1] == len(document.text)
            assert all(a[1] == b[0] for a, b in itertools.pairwise(of_note))
            for span in document.spans:
                assert sum(start < span.end and span.start < end for start, end in of_note) == 1


@pytest.mark.parametrize("settings", [LINES, JOINED])
def test_sentences_are_those_that_training_has_and_are_still_apart_when_drawn(settings: FeatureSettings) -> None:
    sentences = Sentences.of(NOTES, settings)
    tables = FeatureSpace(settings).fit(NOTES.documents)
    assert len(sentences) <= sum(len(table.sentences) - 1 for table in tables)
    assert len(sentences) > 0.95 * sum(len(table.sentences) - 1 for table in tables)
    every_other = sentences.chosen(set(range(0, len(sentences), 2)))
    assert len(Sentences.of(every_other, settings)) == pytest.approx(len(sentences) / 2, abs=2)


def test_samples_grow_and_orders_differ() -> None:
    def drawn(**given: Any) -> list[Any]:
        return list(samples_of(NOTES, by=SENTENCES, samples=2, seed=0, features=LINES, **given))

    runs = drawn(shares=(10, 50, 100))
    n = len(Sentences.of(NOTES, LINES))
    assert [(run.number, run.share, run.size) for run in runs[:3]] == [
        (1, 10, round(n / 10)), (1, 50, round(n / 2)), (1, 100, n),
    ]  # fmt: skip
    texts = [{sentence.strip() for sentence in texts_of(run.corpus)} for run in runs]
    assert texts[0] < texts[1] < texts[2] and texts[0] != texts[3]
    assert runs[2].corpus is NOTES
    assert [(run.size, run.share) for run in drawn(sizes=(20, 7))][:2] == [
        (7, round(700 / n, 2)), (20, round(2000 / n, 2)),
    ]  # fmt: skip
    with pytest.raises(SettingsError, match=f"there are {n} sentences to train on; give numbers from 2 to {n}"):
        drawn(sizes=(n + 1,))


def test_sentences_are_drawn_from_training_notes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[set[str]] = []
    tested: list[set[str]] = []

    def watch(corpus: Corpus, *given: Any, unseen: Any, **options: Any) -> Any:
        trained.append({document.group for document in corpus.documents})
        tested.append({document.group for document in unseen})
        return propose(corpus, *given, unseen=unseen, **options)

    monkeypatch.setattr("phistack.ensemble.experiments.parts.propose", watch)
    settings = SETTINGS.only(("regex",))
    found = learning_curve(NOTES, settings, by=SENTENCES, shares=(30, 100), samples=1, runs=2, stack=False)
    assert len(trained) == 4 and tested[0] and all(held == tested[0] for held in tested)
    assert not set.union(*trained) & tested[0]
    assert found.curves["regex"][0].size < found.curves["regex"][1].size


def test_three_samples_of_three_runs_have_a_band(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(NOTES, tmp_path / "train.jsonl", format="jsonl")
    write_corpus(synthesize(4, seed=6, language="nl"), tmp_path / "test.jsonl", format="jsonl")
    out = tmp_path / "out"
    status, shown, error = phistack(
        "curve", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl", "--out", out, "--by", "sentences",
        "--shares", "20,100", "--samples", 3, "--runs", 3, "--no-stack", "--submodels", "regex", "--jobs", 1,
    )  # fmt: skip
    assert status == 0, error
    assert "too few" not in error
    results = json.loads((out / "results.json").read_text())
    assert (results["by"], results["samples"], results["runs of each sample"]) == ("sentences", 3, 3)
    assert [(run["share"], run["sample"], run["run"]) for run in results["runs"]][:4] == [
        (20, 1, 1), (20, 1, 2), (20, 1, 3), (100, 1, 1),
    ]  # fmt: skip
    first, whole = results["curves"]["regex"]
    n = len(Sentences.of(NOTES, FeatureSettings(language="nl")))
    assert (first["sentences"], whole["sentences"]) == (round(n / 5), n)
    assert len(first["orders"]) == 9 and first["interval"][0] <= first["f1"] <= first["interval"][1]
    picture, latex = (out / "curve.svg").read_text(), (out / "table.tex").read_text()
    for told in (picture, " ".join(shown.split()), latex.replace("\\", "")):
        assert "over 3 runs on each of 3 random orders of the training" in " ".join(told.split())
    assert "training sentences (share of all)" in picture and "PolyCollection" in picture
    assert " & sentences & " in latex


def test_runs_that_depend_on_their_order_alone_count_once_for_each_order() -> None:
    orders = [0.80, 0.84, 0.85, 0.86, 0.90]
    alike = [f1 for f1 in orders for _ in range(3)]
    assert interval_of_mean(alike, n_runs=3) == pytest.approx(interval_of_mean(orders))
    assert interval_of_mean(alike, n_runs=3) != pytest.approx(interval_of_mean(alike))


def test_runs_that_do_not_depend_on_their_order_count_in_full() -> None:
    assert interval_of_mean([0.8, 0.9, 0.85] * 3, n_runs=3) == pytest.approx(interval_of_mean([0.8, 0.9, 0.85] * 3))


@pytest.mark.parametrize("between", [0.0, 0.5, 1.0, 3.0])
def test_the_band_of_three_by_three_runs_holds_the_truth(between: float) -> None:
    chance = np.random.default_rng(1)
    held = plain = 0
    for _ in range(1500):
        scores = 0.8 + 0.01 * (between * chance.normal(size=(3, 1)) + chance.normal(size=(3, 3)))
        low, high = interval_of_mean(scores.ravel().tolist(), n_runs=3)
        held += low <= 0.8 <= high
        low, high = interval_of_mean(scores.ravel().tolist())
        plain += low <= 0.8 <= high
    assert held / 1500 > 0.89
    assert between < 1 or plain / 1500 < 0.85


def test_one_order_shows_the_random_start_alone() -> None:
    assert "the random start of training alone" in spread_of(1, by="sentences", n_runs=5)
    assert spread_of(2, n_runs=2).endswith("too few runs for an interval")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "notes"), "there is no unit to draw by named notes; there are patients, sentences"),
        (("--sizes", "5,x"), "--sizes takes whole numbers separated by commas, as in 100,500,1000"),
        (("--sizes", "5", "--shares", "50"), "give one of the two"),
        (("--sizes", "1000000", "--by", "sentences"), "--sizes: there are "),
    ],
)
def test_nonsense_is_one_sentence(phistack: Phistack, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    write_corpus(NOTES, tmp_path / "notes.jsonl", format="jsonl")
    status, _, error = phistack(
        "curve", tmp_path / "notes.jsonl", "--out", tmp_path / "out", "--submodels", "regex", *options
    )
    assert status == 1 and message in error.splitlines()[-1] and not (tmp_path / "out").exists()


def test_a_curve_by_sentences_is_drawn_under_another_name(tmp_path: Path) -> None:
    found = learning_curve(
        NOTES, SETTINGS.only(("regex",)), by=SENTENCES, sizes=(30, 60), samples=1, runs=1, stack=False
    )
    found.draw(tmp_path, name="figure-2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-2.pdf", "figure-2.png", "figure-2.svg"]
    assert write_results(tmp_path / "out", lambda: found).curves["regex"][1].size == 60
