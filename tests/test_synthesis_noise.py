"""Noise over notes: exact spans after every kind and any chain of them, and the same noise from the same seed."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.marked_text import NOISE, noisy, rewritten
from phistack.features.documents import Span

NOTES = [note for language in ("en", "sv") for note in synthesize(8, seed=4, language=language).documents]
_PIECES = st.lists(st.tuples(st.booleans(), st.text("abIlO0 éß\n5.", min_size=1)), max_size=20)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def marked(pieces: list[tuple[bool, str]]) -> tuple[str, tuple[Span, ...]]:
    text, spans = "", []
    for is_phi, piece in pieces:
        if is_phi and piece.strip():
            spans.append(Span(len(text), len(text) + len(piece), "DATE"))
        text += piece
    return text, tuple(spans)


@given(_PIECES, st.lists(st.sampled_from(sorted(NOISE)), max_size=4), st.integers(0, 99))
def test_no_span_is_lost_and_each_keeps_its_place(pieces: list[tuple[bool, str]], kinds: list[str], seed: int) -> None:
    text, spans = marked(pieces)
    new, moved = noisy(text, spans, kinds, random.Random(seed))
    assert [span.label for span in moved] == [span.label for span in spans]
    assert all(new[span.start : span.end].strip() == new[span.start : span.end] for span in moved) or not kinds
    assert noisy(text, spans, kinds, random.Random(seed)) == (new, moved)


@given(st.lists(st.tuples(st.booleans(), st.text("ab ", min_size=1), st.text("xyz ", max_size=3)), max_size=12))
def test_spans_hold_exactly_what_their_code_points_became(pieces: list[tuple[bool, str, str]]) -> None:
    text, spans = marked([(is_phi, piece) for is_phi, piece, _ in pieces])
    instead = [[f"<{letter}{new}>" for letter in piece] for _, piece, new in pieces]
    made, moved = rewritten(text, spans, [new for of_piece in instead for new in of_piece])
    expected = [
        "".join(of_piece)
        for (is_phi, piece, _), of_piece in zip(pieces, instead, strict=True)
        if is_phi and piece.strip()
    ]
    assert [made[span.start : span.end] for span in moved] == expected


@pytest.mark.parametrize("kind", NOISE)
def test_each_kind_changes_notes_and_leaves_the_phi_recognisable(kind: str) -> None:
    changed = 0
    for note in NOTES:
        text, spans = noisy(note.text, note.spans, [kind], random.Random(1))
        changed += text != note.text
        for before, after in zip(note.spans, spans, strict=True):
            was, became = note.text[before.start : before.end], text[after.start : after.end]
            assert abs(len(became) - len(was)) <= 3 + len(was) // 3
            if kind == "disguised":
                assert _words(became) == _words(was)
            elif kind not in ("scan", "accents lost"):
                # A dotless i in capitals is any other I.
                expected = was.upper() if kind == "upper" else was
                assert "".join(became.split()).casefold() == "".join(expected.split()).casefold()
    assert changed or kind == "accents lost"


def test_a_hard_wrap_never_breaks_phi() -> None:
    for note in NOTES:
        text, spans = noisy(note.text, note.spans, ["hard wrap"], random.Random(2))
        assert not any("\n" in text[span.start : span.end] for span in spans)


def test_too_few_pieces_and_an_emptied_span_are_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces for 3"):
        rewritten("abc", (), ["a", "b"])
    with pytest.raises(ValueError, match="nothing is left"):
        rewritten("abc", (Span(1, 2, "DATE"),), ["a", " ", "c"])
