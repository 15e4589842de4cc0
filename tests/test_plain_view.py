import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.documents import Document, Span
from phistack.features.plain_view import IGNORABLE, plain_text, plain_view

ZWSP, ZWJ, SOFT, WORD_JOINER, BOM, RTL = "\u200b", "\u200d", "\u00ad", "\u2060", "\ufeff", "\u202e"
ACUTE, DOT_BELOW, NBSP = "\u0301", "\u0323", "\u00a0"

TEXTS = st.text(
    st.sampled_from("ab eNñé19º½.-\n\r\t()\0\x82\u2028\uff21\uff11٣𝐀𝟗中")
    | st.sampled_from([ZWSP, ZWJ, SOFT, BOM, RTL, ACUTE, DOT_BELOW, NBSP])
    | st.characters(),
    max_size=40,
)
LINES = st.lists(
    st.sampled_from(
        ["Birch", "wood", "HIV", "617", "2", "und", "-", "-\n", "- \n ", "-\r\n", "\u00ac\n", "\u00ad\n", "\n"]
    )
    | st.sampled_from([" ", ".", "\v", "\x85", "\u2800", "\u20dd", "a", "B"]),
    max_size=14,
).map("".join)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (f"{BOM}Dr. {ZWJ}An{ZWSP}selm{ZWJ}", "Dr. Anselm"),
        (f"Bir{SOFT}ch{WORD_JOINER}wood {RTL}doow\u202c \u2066x\u2069\ufe0f\U000e0041", "Birchwood doow x"),
        ("An\0se\x7flm\x08", "Anselm"),
        (f"Jose{ACUTE} Nu\u0303n{ZWJ}\u0303ez", "José Nũñez"),
        (f"a{ACUTE}{DOT_BELOW} x\u0302", f"ạ{ACUTE} x\u0302"),
        ("０６１２－３４ Ａｎｎ（２）", "0612-34 Ann(2)"),
        ("٣٥ ०१ 𝟘𝟗 𝐀𝐧𝐧", "35 01 09 Ann"),
        ("12\u00a0mg\u202f3\u3000x\u2028y\u20293\u20114", "12 mg 3 x\ny\n3-4"),
    ],
)
def test_each_character_is_read_in_one_way(written: str, read: str) -> None:
    assert plain_text(written) == plain_view(Document("n", written)).document.text == read


def test_each_character_of_latin_1_is_known_for_plain_or_not_alone_and_among_others() -> None:
    """The oracle: the regular expressions that read a text."""
    for character in map(chr, range(0x180)):
        read = plain_view(Document("n", f"a{character}b")).document.text
        expected = re.sub(f"[{IGNORABLE}]", "", character)
        if character == "\u00a0":
            expected = " "
        elif character in "\v\x1c\x1d\x1e\x1f\x85":
            expected = ""
        assert read == f"a{expected}b", hex(ord(character))
        # Beyond Latin-1 other code finds out whether a text is plain.
        assert plain_view(Document("n", f"a{character}b\u0416")).document.text == f"a{expected}b\u0416"


@pytest.mark.parametrize(
    "text",
    ["", "José Núñez, 70 años, 1ª planta nº 3, ½ comp. 5 µg, “Hôpital” – 3 m²", "\r\n\x0b\x0c\t", "ﬁ ™ Ω x\u0302 中文"],
)
def test_a_note_without_such_characters_is_the_very_same(text: str) -> None:
    note = Document("n", text, (Span(0, len(text), "X"),) if text else ())
    view = plain_view(note)
    assert view.is_note
    assert view.document is note
    assert plain_text(text) is text


def test_everything_that_unicode_calls_a_format_character_and_that_prints_nothing_is_ignored() -> None:
    ignorable = re.compile(f"[{IGNORABLE}]")
    format_characters = {chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) == "Cf"}
    # Signs that are printed before or around the digits after them, and the layout of hieroglyphs.
    printed = set(map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)))
    hieroglyphs = set(map(chr, range(0x13430, 0x13440)))
    assert {c for c in format_characters if not ignorable.match(c)} == (printed | hieroglyphs) & format_characters
    written = (c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace() or c.isalnum())
    assert {c for c in written if ignorable.match(c)} == set("\u115f\u1160\u3164\uffa0"), "fillers, which are blank"


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        (f"Dr. {ZWJ}Anselm{ZWJ} Birchwood", "Anselm", f"{ZWJ}Anselm{ZWJ}"),
        (f"Dr. {ZWJ}Anselm{ZWJ} Birchwood", "Birchwood", "Birchwood"),
        (f"({ZWJ}Anselm{ZWJ})", "Anselm", f"{ZWJ}Anselm{ZWJ}"),
        (f"Anselm{ZWJ}-Bir{SOFT}ch.", "Anselm-Birch", f"Anselm{ZWJ}-Bir{SOFT}ch"),
        (f"Jose{ACUTE}{ZWJ}, 3", "José", f"Jose{ACUTE}{ZWJ}"),
        (f"{BOM}Anselm", "Anselm", f"{BOM}Anselm"),
        (f"Tel {RTL}１２{NBSP}３４\u202c.", "12 34", f"{RTL}１２{NBSP}３４\u202c"),
    ],
)
def test_what_is_found_takes_the_ignorable_characters_at_its_letters_along(
    text: str, found: str, expected: str
) -> None:
    view = plain_view(Document("n", text))
    start = view.document.text.index(found)
    span = view.in_note(Span(start, start + len(found), "NAME"))
    assert text[span.start : span.end] == expected


def test_the_spans_of_a_note_come_along_but_for_those_of_nothing() -> None:
    text = f"Dr. An{ZWJ}selm{ZWJ}{ZWJ} Birch"
    spans = (Span(4, 11, "NAME"), Span(4, 13, "DOCTOR"), Span(11, 12, "NOTHING"), Span(14, 19, "NAME"))
    view = plain_view(Document("n", text, spans, "patient"))
    assert view.document == Document(
        "n", "Dr. Anselm Birch", (Span(4, 10, "DOCTOR"), Span(4, 10, "NAME"), Span(11, 16, "NAME")), "patient"
    )


@given(TEXTS)
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    assert plain_view(Document("n", plain_text(text))).is_note


@given(TEXTS)
def test_every_character_reads_its_share_of_the_note(text: str) -> None:
    view = plain_view(Document("n", text))
    for i, character in enumerate(view.document.text):
        share = view.in_note(Span(i, i + 1, "X"))
        assert character in plain_text(text[share.start : share.end])


@given(TEXTS | LINES, st.data())
def test_a_span_goes_to_the_note_and_back_and_all_of_the_note_is_shared_out(text: str, data: st.DataObject) -> None:
    view = plain_view(Document("n", text))
    length = len(view.document.text)
    if not length:
        return
    shares = [view.in_note(Span(i, i + 1, "X")) for i in range(length)]
    assert [0, *(share.end for share in shares)] == [*(share.start for share in shares), len(text)]
    start = data.draw(st.integers(0, length - 1))
    span = Span(start, data.draw(st.integers(start + 1, length)), "X")
    again = plain_view(Document("n", text, (view.in_note(span),)))
    assert again.document.spans == (span,)


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
def test_what_is_broken_over_a_line_end_or_by_white_space_that_is_not_typed_is_whole(written: str, read: str) -> None:
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
