"""Notes in HTML: what is read, where it is in the note, and that nothing that may hold PHI is hidden."""

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.language_gate import LanguageGate
from phistack.features.markup import without_markup
from phistack.features.plain_view import plain_text, plain_view

ZWJ = "\u200d"
PIECES = st.lists(
    st.sampled_from(
        ["Ann", " ", "&amp;", "&eacute;", "&lt;", "<b>", "</b>", "<br/>", "<p class='x'>", "<td>", "3 < 5", ZWJ]
    )
    | st.text(max_size=3),
    max_size=12,
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<p>Dr. An<b>selm</b><br>Ward&nbsp;3</p>", "\nDr. Anselm\nWard 3\n"),
        ("<TD ALIGN=left>x</TD><td style='color: red'>y</td>", " x  y "),
        ("Jos&eacute; &#78;u&#xF1;ez &amp; co &lt; 5", "José Nuñez & co < 5"),
        (f"An<i>{ZWJ}s</i>elm", "Anselm"),
    ],
)
def test_tags_and_character_references_are_read_as_what_they_show(written: str, read: str) -> None:
    assert plain_text(written, html=True) == read
    assert plain_view(Document("n", written), html=True).document.text == read
    assert plain_text(written) == written.replace(ZWJ, "")


@pytest.mark.parametrize(
    "text",
    [
        "BP <90 and >60, p<0.05, Na < 130 > 120",
        "<ann@example.org> <Ann Lee> <3 &c; &nosuchthing; &",
        '<a href="mailto:ann@example.org">mail</a', '<img alt="Ann Lee">', "<!-- seen by Ann Lee -->",
        '<td title="Ann Lee">', "<script>name = 'Ann Lee'", '<p data-name="Ann Lee">', "<b Ann Lee>",
    ],
)  # fmt: skip
def test_what_is_no_markup_or_may_hold_phi_is_read_as_it_is_written(text: str) -> None:
    assert without_markup(text) is None
    assert plain_view(Document("n", text), html=True).is_note


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Ann%20Hill", "Ann Hill"), ("M=C3=BCl=\nler, <b>M</b>%c3%bcller", "Müller, Müller"),
        ("%FF=3, 50%20mg", "%FF=3, 50 mg"), ("a&lt;=20", "a< "),
    ],
)  # fmt: skip
def test_characters_that_are_written_as_bytes_are_read_where_that_is_asked_for(written: str, read: str) -> None:
    assert plain_view(Document("n", written), html=True, encoded=True).document.text == read
    assert "=" in plain_text(written, html=True) or "%" in plain_text(written, html=True)


@given(pieces=PIECES, data=st.data())
def test_a_span_of_the_view_is_one_of_the_note_that_reads_the_same(pieces: list[str], data: st.DataObject) -> None:
    note = Document("n", "".join(pieces))
    view = plain_view(note, html=True)
    read = view.document.text
    if not read:
        return
    start = data.draw(st.integers(0, len(read) - 1))
    end = data.draw(st.integers(start + 1, len(read)))
    found = view.in_note(Span(start, end, "X"))
    assert 0 <= found.start < found.end <= len(note.text)
    if all(piece.isalnum() or piece in ("<b>", "</b>", "<br/>") for piece in pieces):
        assert plain_text(note.text[found.start : found.end], html=True) == read[start:end]
    other = data.draw(st.integers(end, len(read)))
    if other > end:
        assert view.in_note(Span(end, other, "X")).start >= found.end


def test_tags_inside_a_span_are_part_of_it_and_tags_beside_it_are_not() -> None:
    text = "<p>Name: <b>Ann <i>Lee</i></b>, Jos&eacute;</p>"
    view = plain_view(Document("n", text), html=True)
    places = [view.document.text.index(name) for name in ("Ann Lee", "José")]
    name, other = (view.in_note(Span(at, at + n, "X")) for at, n in zip(places, (7, 4), strict=True))
    assert text[name.start : name.end] == "Ann <i>Lee"
    assert text[other.start : other.end] == "Jos&eacute;"


def test_marked_spans_come_along_into_the_view() -> None:
    text = "<p>Dr. <b>An&shy;selm</b> came</p>"
    at = text.index("An&")
    view = plain_view(Document("n", text, (Span(at, at + 11, "DOCTOR"), Span(0, 3, "X"))), html=True)
    marked = [view.document.text[span.start : span.end] for span in view.document.spans]
    assert marked == ["\n", "Anselm"]
    assert [view.in_note(span) for span in view.document.spans] == [Span(0, 3, "X"), Span(at, at + 11, "DOCTOR")]


@given(text=st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=30))
def test_what_was_escaped_is_read_as_it_was(text: str) -> None:
    assert plain_text(escape(text), html=True) == plain_text(text)


def test_an_engine_with_the_setting_reads_the_words_and_its_gate_does_too() -> None:
    note = Document("n", "<div><p>Seen by Dr. An<b>selm</b>.</p></div>")
    table = FeatureSpace(FeatureSettings(html=True)).fit([note])[0]
    assert table.words == ["Seen", "by", "Dr", ".", "Anselm", "."]
    assert "div" in FeatureSpace(FeatureSettings()).fit([note])[0].words
    gate = LanguageGate.fit(["<p>The patient was seen for pain and rest was advised.</p>"], "en", html=True)
    assert gate.html and not gate.objection("<td>" * 50 + "<p>she was well and went home with her family</p>")
