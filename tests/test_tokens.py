"""Tokens, byte pairs and sentences: what they cover, and where they end."""

import itertools
import re
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.errors import SettingsError
from phistack.features.tokens import BytePairs, Tokeniser, capital_pieces, count_sentences, sentence_starts

TEXTS = st.text(
    st.one_of(
        st.sampled_from("aAbBéÑ0 19.:-/()\n\r\t\u00a0\ufeff\u0301\u200b😀𝐀٣²½ªº"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=80,
)
PAIRS = BytePairs.train({"hospital": 9, "hospice": 4, "spice": 1, "care": 5}, n_merges=10)
ALL = [Tokeniser("liu"), Tokeniser("zhao"), Tokeniser("zhao2020"), Tokeniser("zhao2020", PAIRS)]


def words(text: str, tokenise: Tokeniser) -> list[str]:
    starts, ends = tokenise(text)
    return [text[a:b] for a, b in zip(starts, ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "liu", "zhao", "zhao2020"),
    [
        ("48-year-old in HealthCare", "48 - year - old in HealthCare", *["48 - year - old in Health Care"] * 2),
        ("MRISmith MRI McDonald", "MRISmith MRI McDonald", "MRI Smith MRI Mc Donald", "M R I Smith M R I Mc Donald"),
        ("12/03/2081", *["12 / 03 / 2081"] * 3),
        ("a_b__", *["a _ b _ _"] * 3),
        ("x\u0301y 50mg éÉa", "x\u0301y 50 mg éÉa", *["x\u0301y 50 mg é Éa"] * 2),
        (" \r\n\t", "", "", ""),
    ],
)
def test_examples(text: str, liu: str, zhao: str, zhao2020: str) -> None:
    """The first is that of Zhao 2020, section "Preprocessing"; there, capitals within capitals are tokens."""
    assert [" ".join(words(text, tokenise)) for tokenise in ALL[:3]] == [liu, zhao, zhao2020]


@pytest.mark.parametrize("tokenise", ALL, ids=["liu", "zhao", "zhao2020", "byte pairs"])
@given(text=TEXTS)
def test_tokens_cover_all_but_blanks_and_never_overlap(text: str, tokenise: Tokeniser) -> None:
    starts, ends = (offsets.tolist() for offsets in tokenise(text))
    assert all(a < b for a, b in zip(starts, ends, strict=True))
    assert all(b <= a for b, a in zip(ends, starts[1:], strict=False))
    covered = {i for a, b in zip(starts, ends, strict=True) for i in range(a, b)}
    assert covered == {i for i, c in enumerate(text) if not c.isspace()}


@given(text=TEXTS)
def test_zhao_only_splits_the_tokens_of_liu(text: str) -> None:
    liu, zhao, zhao2020, pairs = (tokenise(text) for tokenise in ALL)
    for coarse, fine in ((liu, zhao), (zhao, zhao2020), (zhao2020, pairs)):
        assert set(coarse[0].tolist()) <= set(fine[0].tolist())
        assert set(coarse[1].tolist()) <= set(fine[1].tolist())


@given(text=st.text("abcXYZ é\u0301\u0308ñ", max_size=40))
def test_no_token_begins_with_an_accent_of_the_letter_before(text: str) -> None:
    for tokenise in ALL[:3]:
        for start in tokenise(text)[0].tolist():
            assert not (start and text[start - 1].isalpha() and unicodedata.combining(text[start]))


def test_byte_order_mark_and_line_ends_stay_in_the_offsets() -> None:
    text = "\ufeffName: Ann\r\nBo 😀 Li"
    assert [text[a:b] for a, b in zip(*Tokeniser()(text), strict=True)] == [
        "\ufeff", "Name", ":", "Ann", "Bo", "😀", "Li",
    ]  # fmt: skip


@given(st.text("abABéÉ\u0301", min_size=1, max_size=12))
def test_every_capital_but_the_first_letter_begins_a_piece(word: str) -> None:
    pieces = capital_pieces(word)
    assert "".join(pieces) == word and all(pieces)
    assert sum(map(str.isupper, word[1:])) == len(pieces) - 1
    assert not any(c.isupper() for piece in pieces for c in piece[1:])


def test_other_tokenisers_and_byte_pairs_of_whole_words_are_refused() -> None:
    with pytest.raises(SettingsError, match="byte pair encoding belongs to the tokenisers zhao and zhao2020"):
        Tokeniser("liu", PAIRS)


@given(st.dictionaries(st.text("ab", min_size=1, max_size=8), st.integers(1, 5), max_size=8), st.integers(0, 8))
def test_byte_pairs_learn_what_counting_anew_each_time_learns(times: dict[str, int], n_merges: int) -> None:
    """The oracle is the algorithm of Sennrich 2016 as printed: all pairs are counted again after each merge."""
    words = {word: list(word) for word in times}
    merges: list[tuple[str, str]] = []
    for _ in range(n_merges):
        counts: Counter[tuple[str, str]] = Counter()
        for word, pieces in words.items():
            counts.update(dict.fromkeys(itertools.pairwise(pieces), 0))
            for pair in itertools.pairwise(pieces):
                counts[pair] += times[word]
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        for word, pieces in words.items():
            words[word] = merge(pieces, best)
    pairs = BytePairs.train(times, n_merges=n_merges)
    assert pairs.merges == tuple(merges)
    assert "".join(pairs.split("bbabba")) == "bbabba" and pairs.split("xyz") == ("x", "y", "z")


def merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    for i in range(len(pieces) - 1):
        if (pieces[i], pieces[i + 1]) == pair:
            return [*pieces[:i], pieces[i] + pieces[i + 1], *merge(pieces[i + 2 :], pair)]
    return pieces


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One. Two", ["One.", "Two"]),
        ("Seen by Dr. Smith. Stable", ["Seen by Dr. Smith.", "Stable"]),
        ("J. Smith was seen. 3 days", ["J. Smith was seen.", "3 days"]),
        ("pain 5.2 and more", ["pain 5.2 and more"]),
        ("Is it? yes", ["Is it? yes"]),
        ("line one\nline two\r\nline three\rfour", ["line one", "line two", "line three", "four"]),
    ],
)
def test_sentence_examples(text: str, sentences: list[str]) -> None:
    bounds = sentence_starts(*Tokeniser().cut(text)).tolist()
    starts, ends = Tokeniser()(text)
    found = [text[starts[a] : ends[b - 1]] for a, b in itertools.pairwise(bounds)]
    assert found == sentences
    assert count_sentences(text) == len(sentences)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_joined_lines_end_at_an_empty_line(line_end: str) -> None:
    text = line_end.join(["12 elm street", "boston", "", "she"])
    assert sentence_starts(*Tokeniser().cut(text), split_lines=False).tolist() == [0, 4, 5]


MARKS = st.lists(st.sampled_from(["A", "b", "12", "Dr", "X", ".", "?", ")", " ", "  ", "\n", "\r\n\r\n"]), max_size=60)


@given(MARKS.map("".join), st.booleans(), st.sampled_from([frozenset[str](), frozenset({"b"})]))
def test_sentences_are_those_of_a_loop_over_all_tokens(text: str, split_lines: bool, known: frozenset[str]) -> None:
    words, gaps = Tokeniser().cut(text)
    slow = [i for i in range(len(words)) if not i or opens_sentence(words, gaps, i, 1 if split_lines else 2, known)]
    bounds = sentence_starts(words, gaps, split_lines=split_lines, abbreviations=known).tolist()
    assert bounds == [*slow, len(words)]


def opens_sentence(words: list[str], gaps: list[str], i: int, breaks: int, known: frozenset[str]) -> bool:
    """The slow twin: the module's rule for ends of sentences, for one token."""
    if max(gaps[i].count("\n"), gaps[i].count("\r")) >= breaks:
        return True
    if not gaps[i] or words[i - 1] not in (".", "?", "!") or not (words[i][0].isupper() or words[i].isdigit()):
        return False
    if words[i - 1] != "." or i < 2 or gaps[i - 1]:
        return True
    before = words[i - 2].lower()
    if before.isdigit():
        return words[i][0].isupper()
    return before == ")" or (before.isalpha() and len(before) > 1 and before not in {"dr", *known})


def test_no_sentence_is_longer_than_two_hundred_tokens() -> None:
    bounds = sentence_starts(*Tokeniser().cut("a " * 1000)).tolist()
    assert max(b - a for a, b in itertools.pairwise(bounds)) == 200


def test_a_long_text_without_blanks_is_tokenised_quickly() -> None:
    text = "aé\u0301" * 50_000
    assert len(Tokeniser()(text)[0]) == 1
    assert re.fullmatch(r"\S+", text)
