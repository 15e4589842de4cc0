from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phistack.features.tokens import BytePairs

counted_words = st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 9), min_size=1, max_size=12)


def _merged(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    merged, position = [], 0
    while position < len(pieces):
        both = tuple(pieces[position : position + 2]) == pair
        merged.append("".join(pair) if both else pieces[position])
        position += 2 if both else 1
    return merged


def _by_the_book(word_counts: dict[str, int], n_merges: int) -> tuple[tuple[str, str], ...]:
    """Sennrich 2016 without any saved work: all pairs are counted again for every merge."""
    words, merges = {word: list(word) for word in word_counts}, []
    for _ in range(n_merges):
        counts: Counter[Any] = Counter()
        for word, pieces in words.items():
            for pair in pairwise(pieces):
                counts[pair] += word_counts[word]
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        words = {word: _merged(pieces, best) for word, pieces in words.items()}
    return tuple(merges)


@given(counted_words, st.integers(0, 10))
def test_the_merges_are_those_of_the_book(word_counts: dict[str, int], n_merges: int) -> None:
    assert BytePairs.train(word_counts, n_merges=n_merges).merges == _by_the_book(word_counts, n_merges)


@given(counted_words, st.text(max_size=9))
def test_the_pieces_of_any_word_are_the_word(word_counts: dict[str, int], word: str) -> None:
    assert "".join(BytePairs.train(word_counts, n_merges=20).split(word)) == word
