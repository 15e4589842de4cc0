"""Markup and encoded bytes in notes: what the engine reads, at which places, and that no possible PHI is hidden."""

import quopri
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.language_gate import LanguageGate
from phistack.features.plain_view import plain_text, plain_view

ZWJ = "\u200d"
PIECES = st.lists(
    st.sampled_from(
        [
            "Ann", " ", "&amp;", "&eacute;", "&lt;", "<b>", "</b>", "<br/>", "<p class='x'>", "<td>", "3 < 5", ZWJ,
            "=20", "=\n", "=C3=A9", "%20", "%C3%A9", "%2C", "-\n", "617", "\v", "\x85", "\u2800", "\u0336", "\u00ad\n",
            r"\u00e9", r"\n",
        ]
    )
    | st.text(max_size=3),
    max_size=12,
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<p>Dr. An<b>selm</b><br>Ward&nbsp;3</p>", "\nDr. Anselm\nWard 3\n"),
        ("<TD ALIGN=left>x</TD><td style='color: red'>y</td>", " x  y "),
        ("Jos&eacute; &#78;u&#xF1;ez &amp; co &lt; 5", "José Nuñez & co < 5"),
        (f"An<i>{ZWJ}s</i>elm", "Anselm"),
        ("&#65;nselm, 617&ndash;555, &amp;#65;nn, An&#8203;n, An<!-- -->n", "Anselm, 617–555, Ann, Ann, Ann"),
        ("A</i><i>n, 617<br>555<br>0123<br>3<br>x", "An, 617 555 0123 3\nx"),
        ('An<span class="x"></span>selm', "Anselm"),
    ],
)
def test_tags_and_character_references_are_read_as_what_they_show(written: str, read: str) -> None:
    assert plain_text(written) == plain_text(written, html=True) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"Jos\u00e9 Nu\u00F1ez\u2019s 03\/12\/2019", "José Nuñez’s 03/12/2019"),
        (r'"Dr.\tBirch\nAnselm\r\n617", \"Ann\"', '"Dr.\tBirch\nAnselm\r\n617", "Ann"'),
        (r"Birch\n\nAnn", "Birch\n\nAnn"),
        (r"A\n\n\a", r"A\n\n\a"),
        (r"C:\notes\reports\u8364, \u00, O\N", r"C:\notes\reports\u8364, \u00, O\N"),
    ],
)
def test_escapes_of_json_are_read_as_characters(written: str, read: str) -> None:
    assert plain_text(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Anselm=20Birchwood, 617=20555=200123", "Anselm Birchwood, 617 555 0123"),
        ("Dr. Birch=\nwood, 617-555-=\n0123, 1234=\r\n567", "Dr. Birchwood, 617-555-0123, 1234567"),
        ("Jos=C3=A9 Nu=C3=B1ez=E2=80=99s", "José Nuñez’s"),
        ("Jos=C3=A9 is 20=\n years, x=3D1, GCS=20", "José is 20 years, x=1, GCS "),
        (f"{'a ' * 35}=\nx=3D1 Nu=F1ez", f"{'a ' * 35}x=1 Nuñez"),
        ("Nu=C3=\n=B1ez", "Nuñez"),
        ("Anselm%20Birchwood 617%20555%200123", "Anselm Birchwood 617 555 0123"),
        ("12%20Larkspur%20Street,%20Springfield", "12 Larkspur Street, Springfield"),
        ("Jos%C3%A9 Nu%c3%b1ez 03%2F12%2F2019 O%27Brien", "José Nuñez 03/12/2019 O'Brien"),
        ("anselm%40example.org %41%6Eselm Birchwood%2C%20Anselm", "anselm@example.org Anselm Birchwood, Anselm"),
    ],
)
def test_characters_that_are_written_as_their_bytes_are_read(written: str, read: str) -> None:
    assert plain_text(written) == plain_view(Document("n", written)).document.text == read


@pytest.mark.parametrize(
    "text",
    [
        "BP <90 and >60, p<0.05, Na < 130 > 120; a & b; AT&T; R&D; Q&A &; <5",
        "<ann@example.org> <Ann Lee> <3 &c; &nosuchthing; &",
        '<a href="mailto:ann@example.org">mail</a', '<img alt="Ann Lee">', "<!-- seen by Ann Lee -->",
        '<td title="Ann Lee">', "<script>name = 'Ann Lee'", '<p data-name="Ann Lee">', "<b Ann Lee>",
        "see <time> and <address>", "</b>",
        "x=20 GCS=15, FiO2=50, dose=20mg, HR=72 BP=120/80, age=20", "Na =\n130, Result=\n5, O2=\n95, ====\n==",
        "mode=3D FiO2=50", "50%20, 95%20min, 100%25, Neut%40Lymph%50Mono%10, 10%20%30%40, HCT%20 x", "3%ab",
    ],
)  # fmt: skip
def test_what_is_no_markup_or_may_hold_phi_is_read_as_it_is_written(text: str) -> None:
    note = Document("n", text)
    assert plain_view(note).document is note


def test_a_page_that_is_known_for_one_needs_no_evidence() -> None:
    assert plain_text("see <time> and</b>", html=True) == "see  and"
    assert plain_text("x=20 50%20", encoded=True) == "x  50 "
    assert plain_text("x=20 50%20", html=True) == "x=20 50%20"
    assert plain_text("%FF=3, 50%20mg a&lt;=20 M=FCl=\nler", encoded=True) == "%FF=3, 50 mg a<  Müller"
    assert plain_text("<ann@example.org> <b Ann Lee>", html=True) == "<ann@example.org> <b Ann Lee>"


@given(pieces=PIECES, known=st.booleans(), data=st.data())
def test_a_span_of_the_view_is_one_of_the_note_that_reads_the_same(
    pieces: list[str], known: bool, data: st.DataObject
) -> None:
    note = Document("n", "".join(pieces))
    view = plain_view(note, html=known, encoded=known)
    read = view.document.text
    if not read:
        return
    start = data.draw(st.integers(0, len(read) - 1))
    end = data.draw(st.integers(start + 1, len(read)))
    found = view.in_note(Span(start, end, "X"))
    assert 0 <= found.start < found.end <= len(note.text)
    if known and all(piece.isalnum() or piece in ("<b>", "</b>", "<br/>") for piece in pieces):
        assert plain_text(note.text[found.start : found.end], html=True) == read[start:end]
    other = data.draw(st.integers(end, len(read)))
    if other > end:
        assert view.in_note(Span(end, other, "X")).start >= found.end
    assert plain_view(note.with_spans([found]), html=known, encoded=known).document.spans == (Span(start, end, "X"),)


@pytest.mark.parametrize(
    ("text", "read", "found"),
    [
        ("<p>Name: <b>Ann <i>Lee</i></b>, Jos&eacute;</p>", "Ann Lee", "Ann <i>Lee"),
        ("<p>Name: <b>Ann <i>Lee</i></b>, Jos&eacute;</p>", "José", "Jos&eacute;"),
        ("Dr. &#65;nselm, ", "Anselm", "&#65;nselm"),
        ("Dr. <b>An</b>selm", "Anselm", "An</b>selm"),
        ("Dr. Jos=C3=A9=20Lee=\n", "José Lee", "Jos=C3=A9=20Lee"),
        ("Dr. Birch=\nwood", "Birchwood", "Birch=\nwood"),
        ("(Ann%20Lee)", "Ann Lee", "Ann%20Lee"),
        ("Dr. Anselm Birch-\nwood, 3", "Anselm Birchwood", "Anselm Birch-\nwood"),
        ("Tel 617-555-\n0123.", "617-555-0123", "617-555-\n0123"),
        ("Dr. Bir\vch\vwood.", "Birchwood", "Bir\vch\vwood"),
        ("Dr. A\u0336n\u0336n\u0336", "Ann", "A\u0336n\u0336n\u0336"),
    ],
)
def test_markup_inside_a_span_is_part_of_it_and_markup_beside_it_is_not(text: str, read: str, found: str) -> None:
    view = plain_view(Document("n", text))
    at = view.document.text.index(read)
    name = view.in_note(Span(at, at + len(read), "X"))
    assert text[name.start : name.end] == found


def test_marked_spans_come_along_into_the_view() -> None:
    text = "<p>Dr. <b>An&shy;selm</b> came</p>"
    at = text.index("An&")
    view = plain_view(Document("n", text, (Span(at, at + 11, "DOCTOR"), Span(0, 3, "X"))))
    marked = [view.document.text[span.start : span.end] for span in view.document.spans]
    assert marked == ["\n", "Anselm"]
    assert [view.in_note(span) for span in view.document.spans] == [Span(0, 3, "X"), Span(at, at + 11, "DOCTOR")]


@given(text=st.text(st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="%&"), max_size=30))
def test_what_was_escaped_or_quoted_is_read_as_it_was(text: str) -> None:
    assert plain_text(escape(text)) == plain_text(text)
    assert plain_text(escape(f"{text}&<b>{text}")) == plain_text(text) + "&<b>" + plain_text(text)
    percent = plain_text(quote(text, safe=""), encoded=True)
    quoted = plain_text(quopri.encodestring(text.encode()).decode("ascii"), encoded=True)
    assert percent == quoted == plain_text(text, encoded=True)


def test_an_engine_and_its_gate_read_the_words() -> None:
    note = Document("n", "<div><p>Seen by Dr. An<b>selm</b>.</p></div>")
    words = ["Seen", "by", "Dr", ".", "Anselm", "."]
    for html in (False, True):
        assert FeatureSpace(FeatureSettings(html=html)).fit([note])[0].words == words
    gate = LanguageGate.fit(["<p>The patient was seen for pain and rest was advised.</p>"], "en", html=True)
    assert gate.html and not gate.objection("<td>" * 50 + "<p>she was well and went home with her family</p>")
