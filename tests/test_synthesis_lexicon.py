"""Words held out of training notes: the same everywhere, a fifth of all, and never what is said in any case."""

import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.templates import is_held_out, part_of
from phistack.features.errors import SettingsError

WORDS = [f"{first}{last}" for first in "abcdefghijklmnopqrstuvwxyz" for last in ("son", "ov", "ella", "aki", "nes")]


def test_a_fifth_is_held_out_by_the_word_alone() -> None:
    assert 0.1 < sum(map(is_held_out, WORDS)) / len(WORDS) < 0.3
    assert all(is_held_out(word) == is_held_out(word.upper()) for word in WORDS)
    assert is_held_out("Núñez") == is_held_out("NUNEZ")


def test_training_and_test_part_the_whole() -> None:
    train, test = part_of(WORDS, "train"), part_of(WORDS, "test")
    assert sorted(train + test) == sorted(part_of(WORDS, "whole")) == sorted(WORDS)
    assert not set(train) & set(test) and set(test) == set(filter(is_held_out, WORDS))


def test_short_lists_and_what_is_said_anyway_are_not_held_out() -> None:
    assert part_of(WORDS[:10], "train") == part_of(WORDS[:10], "test") == tuple(WORDS[:10])
    first = part_of(WORDS, "test")[0]
    assert first in part_of(WORDS, "train", said=f"seen by {first}, again")
    assert first in part_of(WORDS, "test", said=f"seen by x{first}, again")


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(SettingsError, match="unknown registers pub; choose from hospital, all"):
        synthesize(1, registers="pub")
    with pytest.raises(SettingsError, match="unknown lexicon dev; choose from whole, train, test"):
        synthesize(1, lexicon="dev")


def test_hospital_notes_have_lexicons_too() -> None:
    notes = {lexicon: synthesize(5, seed=2, lexicon=lexicon).documents for lexicon in ("whole", "train", "test")}
    assert notes["train"] != notes["test"] and all(len(found) == 5 for found in notes.values())
