"""Words and numbers broken over a line end, and white space inside words, are read as they were meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.documents import Document, Span
from phistack.features.plain_view import plain_text, plain_view

TEXTS = st.lists(
    st.sampled_from(
        ["Birch", "wood", "HIV", "617", "2", "und", "-", "-\n", "- \n ", "-\r\n", "\u00ac\n", "\u00ad\n", "\n"]
    )
    | st.sampled_from([" ", ".", "\v", "\x85", "\u2800", "\u20dd", "a", "B"]),
    max_size=14,
).map("".join)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Dr. Anselm Birch-\nwood", "Dr. Anselm Birchwood"),
        ("Dr. Anselm Birch-  \r\n   wood saw", "Dr. Anselm Birchwood saw"),
        ("Dr. Birch\u00ad\nwood and Birch\u00ac\nwood, Birch\u2010\nwood", "Dr. Birchwood and Birchwood, Birchwood"),
        ("seen by Qua-\ncken-\nbush", "seen by Quackenbush"),
        ("Dr. Smith-\nJones", "Dr. Smith-Jones"),
        ("SEEN BY BIRCH-\nWOOD", "SEEN BY BIRCH-WOOD"),
        ("she is HIV-\nnegative", "she is HIV-negative"),
        ("MRN 1234-\n567, 617-555-\n0123", "MRN 1234-567, 617-555-0123"),
        ("a 48-\nyear-old, MX-\n40-22871", "a 48-year-old, MX-40-22871"),
        ("a follow-up, then follow-\nup", "a follow-up, then follow-up"),
        ("A-\nn-\ns-\ne-\nl-\nm", "Anselm"),
    ],
)
def test_what_a_hyphen_breaks_over_a_line_end_is_whole(written: str, read: str) -> None:
    assert plain_text(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "the Ein-\nund Ausgang", "pre-\nand postoperative", "to do:\n-\nrest\n- \n", "Plan-\nContinue",
        "meds-\naspirin", "Meds-\n1. aspirin", "her plan-\nContinue", "Plan -\nrest", "x--\ny",
        "Birch-\n\nwood", "rest -\n", "-\n", "a-\n中",
    ],
)  # fmt: skip
def test_other_hyphens_at_line_ends_stay(text: str) -> None:
    note = Document("n", text)
    assert plain_view(note).document is note


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Dr. Ans\velm Birch\x85wood", "Dr. Anselm Birchwood"),
        ("Dr. A\vn\vs\ve\vl\vm saw", "Dr. Anselm saw"),
        ("Dr. A\u2800N\u2800S\u2800E saw", "Dr. ANSE saw"),
        ("Ans\u2800elm\u2800Birchwood", "Anselm Birchwood"),
        ("Dr. A\u20ddn\u20ddselm B\u0336i\u0336rch\u0336", "Dr. Anselm Birch"),
        ("Ans\x1celm 7\x852\x858\x854\x855", "Anselm 72845"),
        ("617\v555\v0123, 61\v7-5\v55-01\v23", "617 555 0123, 617-555-0123"),
        ("Pain.\vRest\vice, 3\u2800mg\u2800 x", "Pain.\vRest\vice, 3 mg  x"),
        ("Pain\x85 none\x85here", "Pain\n none\nhere"),
    ],
)
def test_white_space_that_is_not_typed_breaks_no_word(written: str, read: str) -> None:
    assert plain_text(written) == read


@given(TEXTS, st.data())
def test_spans_go_to_the_note_and_back_and_all_of_the_note_is_shared_out(text: str, data: st.DataObject) -> None:
    view = plain_view(Document("n", text))
    length = len(view.document.text)
    if not length:
        return
    shares = [view.in_note(Span(i, i + 1, "X")) for i in range(length)]
    assert [0, *(share.end for share in shares)] == [*(share.start for share in shares), len(text)]
    start = data.draw(st.integers(0, length - 1))
    span = Span(start, data.draw(st.integers(start + 1, length)), "X")
    assert plain_view(Document("n", text, (view.in_note(span),))).document.spans == (span,)
