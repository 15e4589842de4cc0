"""How the network is trained: early stopping, softmax, decay, rows that a pass leaves out, the second task."""

from typing import Any

import numpy as np
import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.layers import WordPrediction
from phistack.submodels.blstm.rows import EncodedNote, batches_of
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.training import EarlyStopping, EasyRows, Trainer, held_back

UNITS = 3
TINY: dict[str, Any] = {
    "networks": 1, "epochs": 2, "least_steps": 0, "lstm_size": 8, "word_size": 8, "columns": (), "learning_rate": 0.02,
    "average": 0.0, "language_model": 0.0, "replacement": 0.0, "easy_below": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings()).fit(synthesize(10, seed=3).documents)


def test_no_patient_is_on_both_sides(tables: list[FeatureTable]) -> None:
    training, development = held_back(tables, 0.3, seed=1)
    sides = [{table.document.group for table in part} for part in (training, development)]
    assert development and not sides[0] & sides[1] and len(training) + len(development) == len(tables)
    assert held_back(tables, 0.3, seed=1)[1] == development
    assert held_back(tables, 0.0, seed=1) == (tables, [])
    assert held_back(tables[:1], 0.5, seed=1) == (tables[:1], [])
    assert len(held_back(tables, 0.001, seed=1)[1]) >= 1


def test_training_ends_once_it_is_no_better_and_the_best_weights_stay() -> None:
    scores = iter([0.5, 0.6, 0.6, 0.4])
    stopping = EarlyStopping(lambda weights: next(scores), patience=2)
    ends = [stopping.seen({"epoch": np.array([n], dtype=np.float32)}) for n in range(4)]
    assert ends == [False, False, False, True] and stopping.best["epoch"][0] == 1


def test_the_network_is_judged_on_notes_that_it_never_read(
    tables: list[FeatureTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[list[str]] = []

    def watched(notes: list[FeatureTable], found: Any) -> float:
        judged.append([table.document.id for table in notes])
        return 1.0 / len(judged)

    monkeypatch.setattr("phistack.submodels.blstm.training.f1_of", watched)
    model = BlstmSubmodel(**{**TINY, "epochs": 9}, development=0.2, patience=3).fit(tables, seed=1)
    assert len(judged) == 4, "the first epoch is the best, and three follow"
    words = {table.document.id: {word.lower() for word in table.words if word.isalpha()} for table in tables}
    read = set().union(*(of_note for id, of_note in words.items() if id not in judged[0]))
    only_held = set().union(*(words[id] for id in judged[0])) - read
    assert only_held and not only_held & {*model.encoder_.words}


def test_without_a_chain_tags_are_the_likeliest_that_the_scheme_allows(tables: list[FeatureTable]) -> None:
    larger = {"epochs": 6, "lstm_size": 32, "word_size": 32, "columns": ("key", "shape", "number", "line_start")}
    model = BlstmSubmodel(**{**TINY, **larger}, crf=False).fit(tables, seed=1)
    assert not {"transitions", "start", "end"} & {*model.weights_[0]}
    chain = model.chain()
    assert {*np.unique(chain.transitions)} <= {0.0, -10_000.0}
    again = BlstmSubmodel.load(SavedFiles.written_by(model.save), tables[0].space)
    assert again.propose(tables) == model.propose(tables)
    chosen = [{(c.span.start, c.span.end, c.span.label) for c in note if c.chosen} for note in model.propose(tables)]
    assert any(chosen)
    for table, found, scores in zip(tables, chosen, model.emissions(tables), strict=True):
        tags = [model.tags_[i] for i in scores.argmax(axis=1)]
        starts, ends = table.offsets
        alone = {
            (int(starts[i]), int(ends[i]), tag[2:])
            for i, tag in enumerate(tags)
            if tag.startswith("S-") and {*tags[max(0, i - 3) : i], *tags[i + 1 : i + 4]} <= {"O"}
        }
        assert alone <= found, "where the likeliest tags are allowed, they are taken"


def test_the_rate_decays_from_epoch_to_epoch(monkeypatch: pytest.MonkeyPatch, tables: list[FeatureTable]) -> None:
    rates: list[float] = []
    step = Trainer.step

    def watched(trainer: Trainer, *given: Any, rate: float, kept: float) -> Any:
        rates.append(rate)
        return step(trainer, *given, rate=rate, kept=kept)

    monkeypatch.setattr(Trainer, "step", watched)
    BlstmSubmodel(**{**TINY, "epochs": 3}, schedule="constant", decay=0.5).fit(tables)
    assert list(dict.fromkeys(rates)) == pytest.approx([0.02, 0.01, 0.005])


def test_a_batch_has_so_many_rows() -> None:
    rows = [(0, 0, n) for n in (5, 1, 3, 2, 8)]
    assert list(map(len, batches_of(rows, tokens=4, at_once=2))) == [2, 2, 1]


def note_of(lengths: list[int]) -> EncodedNote:
    n, bounds = sum(lengths), np.cumsum([0, *lengths]).astype(np.int32)
    ids = np.zeros(n, dtype=np.int32)
    return EncodedNote(ids, ids, ids[:, None], bounds, bounds, ids)


def test_rows_are_left_out_once_they_cost_little() -> None:
    notes, generator = [note_of([3, 4, 5])], np.random.default_rng(0)
    easy = EasyRows(notes, below=0.3, share=0.0)
    rows = [(0, 0, 7), (0, 7, 12)]
    assert easy.left_out(rows, notes, generator) == rows
    easy.remember(rows, notes, np.array([0.2, 0.4]))
    assert easy.left_out(rows, notes, generator) == rows[1:]
    easy.remember(rows[:1], notes, np.array([0.9]))
    assert easy.left_out(rows, notes, generator) == rows


def test_a_row_that_begins_elsewhere_costs_what_its_lines_do() -> None:
    notes, generator = [note_of([3, 4, 5])], np.random.default_rng(0)
    easy = EasyRows(notes, below=0.3, share=0.0)
    easy.remember([(0, 0, 7), (0, 7, 12)], notes, np.array([0.2, 0.25]))
    assert easy.left_out([(0, 0, 3), (0, 3, 12)], notes, generator) == [(0, 3, 12)]
    # A line may be read by its sentences, and rows are of longer notes where mentions were replaced.
    longer = [note_of([3, 9, 5])]
    assert easy.left_out([(0, 0, 3), (0, 3, 6), (0, 6, 12), (0, 12, 17)], longer, generator) == []


def test_a_share_of_the_easy_rows_is_read_all_the_same() -> None:
    notes = [note_of([2]) for _ in range(2000)]
    rows = [(number, 0, 2) for number in range(2000)]
    easy = EasyRows(notes, below=0.3, share=0.2)
    easy.remember(rows, notes, np.zeros(2000))
    assert 320 < len(easy.left_out(rows, notes, np.random.default_rng(1))) < 480
    assert EasyRows(notes, below=0.0, share=0.0).left_out(rows, notes, np.random.default_rng(1)) == rows


@pytest.fixture(scope="module")
def prediction() -> WordPrediction:
    words = np.array([2, 5, 5, 3, 2, 5, 4], dtype=np.int32)
    bounds = np.array([0, len(words)], dtype=np.int32)
    note = EncodedNote(words, words, words[:, None], bounds, bounds, words)
    return WordPrediction.of([note], words=2, weight=0.5)


def missed(state: Any, weights: Any, word: Any) -> float:
    """Cross-entropy of one word; the two most frequent words, 5 and 2, have the classes 1 and 2."""
    scores = state @ weights
    return np.log(np.exp(scores).sum()) - scores[{5: 1, 2: 2}.get(word, 0)]


def test_the_loss_is_that_of_both_neighbours_of_each_token(prediction: WordPrediction) -> None:
    rows = [[5, 2, 3, 5], [2, 4]]
    states = np.random.default_rng(0).normal(size=(6, 2 * UNITS)).astype(np.float32)
    weights = prediction.first_weights(UNITS, seed=1)
    of_rows = zip(rows, np.split(states, [4]), strict=True)
    expected = sum(
        missed(of_row[i, :UNITS], weights["next_word"], row[i + 1])
        + missed(of_row[i + 1, UNITS:], weights["previous_word"], row[i])
        for row, of_row in of_rows
        for i in range(len(row) - 1)
    )
    words = np.concatenate(rows).astype(np.int32)
    loss, _, _ = prediction.loss_and_gradients(states, words, np.array([0, 4]), weights)
    assert loss == pytest.approx(0.5 * expected, rel=1e-5)


def test_weights_come_from_the_seed_and_have_a_class_for_rare_words(prediction: WordPrediction) -> None:
    first, same, other = (prediction.first_weights(UNITS, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["next_word"], same["next_word"])
    assert not np.array_equal(first["next_word"], other["next_word"])
    assert first["next_word"].shape == (UNITS, 3)
