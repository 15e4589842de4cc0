"""Word, PDF and RTF documents are read as they appear, and come out as text."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pytest

from benchmarks.function_engine import FunctionEngine
from phistack.ensemble.batch import FormatSettings, audit_run, deidentify
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import Reader, read_corpus
from tests.batch_runs import quarantine, run_over
from tests.made_documents import HIDDEN, NAMES, full_letter, letter, pdf, shown, with_parts

SECRET = "Birchwood"
AS_WORD = FormatSettings(write="docx")
RTF = (
    rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204 X;}}{\header Dr. Quill\par}"
    rb"\f0 Seen by {\b Dr. Am}es\par M\'fcller \u8364\'80 \u-10179?\u-8704? caf%b\par {\f1\'c4\'e0}"
    rb'{\field{\*\fldinst{HYPERLINK "mailto:a@b"}}{\fldrslt link}}{\footnote a note}{\*\annotation a comment}'
    rb"after\column it{\pict\bin3 }\}}{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt a box\par}}}\par}"
) % b"\xe9"
FIELD = b"/Annots[<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(Dr. Ames)/Rect[50 400 250 430]/DA(/F 12 Tf 0 g)/F 4>>]"
"""A field of a form whose value no program has drawn."""
STAMP = b"/Annots[<</Type/Annot/Subtype/FreeText/Rect[0 0 600 800]/F 4/AP<</N 7 0 R>>>>]"
"""A note on each page, which shows what the second page does."""


def read(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    text = read_corpus(path).documents[0].text
    assert path.read_bytes() == content
    return text


def test_all_that_a_word_document_shows_is_read_in_order(tmp_path: Path) -> None:
    text = read(tmp_path / "a.docx", full_letter())
    lines = ["Ward of Dr. Quill", "new Seen by Dr. Ames today.", "box", "Name\tDr. Hillard", "Dr. Brook signs"]
    assert text.splitlines() == [*lines, "ask Dr. Zephyr"]
    assert not any(name in text for name in HIDDEN)


def test_all_that_rtf_and_pdf_show_is_read(tmp_path: Path) -> None:
    lines = read(tmp_path / "a.rtf", RTF).split("\n")
    assert [line.strip() for line in lines if line.strip()] == [
        "Dr. Quill", "Seen by Dr. Ames", "Müller € \U0001f600 café", "Даlink", "a note", "a comment", "after", "it",
        "a box",
    ]  # fmt: skip
    assert read(tmp_path / "a.pdf", pdf(shown("Dr. Ames", "seen"), b"", shown("again"))) == "Dr. Ames\nseen\nagain\n"
    assert read(tmp_path / "b.pdf", pdf(b"", shown("stamped"), more=STAMP)) == "stamped\nstamped stamped\n"
    fields = b"/Catalog/AcroForm<</Fields[]/DA(/F 12 Tf 0 g)/DR<</Font<</F 3 0 R>>>>>>"
    form = pdf(shown("Name"), more=FIELD).replace(b"/Catalog", fields)
    assert read(tmp_path / "c.pdf", form) == "Name\nDr. Ames\n"
    assert "Dr. E" in read(tmp_path / "d.pdf", pdf(shown("Dr. E") + b" " + PICTURE))


def bomb() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(65 * 2**20))
    return made.getvalue()


def lying_bomb() -> bytes:
    """A document that states a wrong size for a part."""
    return bomb().replace((65 * 2**20).to_bytes(4, "little"), (10).to_bytes(4, "little"))


ENTITY = f'<!DOCTYPE d [<!ENTITY a "{SECRET}">]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>'
RUBY = ENTITY.partition("]>")[2].replace(
    "/>", f"><w:body><w:p><w:r><w:ruby><w:r><w:t>{SECRET}</w:t></w:r></w:ruby></w:r></w:p></w:body></w:document>"
)
CHUNK = ENTITY.partition("]>")[2].replace("/>", "><w:body><w:altChunk/></w:body></w:document>")
PICTURE = b"q 9 0 0 9 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q"
LOCKED = b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%b>/U<%b>>>/ID[<00><00>]" % (b"1" * 64, b"2" * 64)
BAD: list[tuple[str, Callable[[], bytes], str]] = [
    ("docx", lambda: b"PK", "is not a Word document (.docx), or is damaged"),
    ("docx", lambda: letter(SECRET)[:-200], "is not a Word document (.docx), or is damaged"),
    ("docx", lambda: b"\xd0\xcf\x11\xe0" + bytes(100), "is encrypted, or of an old Word"),
    ("docx", bomb, "unpacks to more than the limit of 67,108,864 bytes"),
    ("docx", lying_bomb, "is not a Word document (.docx), or is damaged"),
    ("docx", lambda: with_parts(letter(SECRET), document=ENTITY.encode()), "has a document type declaration"),
    ("docx", lambda: with_parts(letter(SECRET), document=CHUNK.encode()), "includes another document"),
    ("docx", lambda: with_parts(letter(SECRET), document=RUBY.encode()), "has text of a kind that is not read"),
    ("docx", lambda: with_parts(letter(SECRET), document=b"<a>" * 5000), "is not well-formed XML at line 1"),
    ("pdf", lambda: pdf(shown(SECRET))[:200], "is not a PDF, or is damaged"),
    ("pdf", lambda: pdf(shown(SECRET), PICTURE), "a picture in place of text on page 2"),
    ("pdf", lambda: pdf(shown("Dr. E") + b" " + PICTURE.replace(b"9 0 0 9", b"600 0 0 700")), "has a picture in place"),
    ("pdf", lambda: pdf(*[b""] * 10_000), "has no text on its 10000 pages"),
    ("pdf", lambda: pdf(shown(SECRET), trailer=LOCKED), "is encrypted; save it without"),
    ("pdf", lambda: pdf(b"BT /F 9 Tf %b ET" % (b"(x) Tj " * 4_000_000)), "takes too much time or memory to read"),
    ("rtf", lambda: SECRET.encode(), "is not RTF"),
    ("rtf", lambda: RTF + RTF, "is damaged RTF, or is cut off"),
    ("rtf", lambda: RTF[:150], "is damaged RTF, or is cut off"),
    ("rtf", lambda: rb"{\rtf1{\fonttbl{\f0\fcharset0 %b}}}" % (b"x" * 10**6), "is damaged RTF"),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "content", "message"), BAD)
def test_what_cannot_be_read_is_one_sentence(
    ending: str, content: Callable[[], bytes], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path / f"a.{ending}", content())
    assert message in str(caught.value) and SECRET not in str(caught.value) and "\n" not in str(caught.value)


def test_nested_groups_and_long_lines_of_rtf_take_little_time(tmp_path: Path) -> None:
    nested = b"{" * 100_000 + b"deep" + b"}" * 100_000
    links = rb"{\field{\*\fldinst{HYPERLINK " * 3000 + b"}" * 9000
    assert "deep" in read(tmp_path / "a.rtf", rb"{\rtf1 " + nested + links + rb"\f1" * 100_000 + b"}")


def folder_of(tmp_path: Path, **documents: bytes) -> Path:
    (tmp_path / "in").mkdir()
    for name, content in documents.items():
        (tmp_path / "in" / name.replace("__", ".")).write_bytes(content)
    return tmp_path / "in"


def test_a_run_writes_text_and_holds_back_what_it_cannot_read(tmp_path: Path) -> None:
    documents = {"a__DOCX": full_letter(), "a__docx": letter("Dr. E"), "a__m__docx": letter("Dr. Bly"), "b__docx": b"x"}
    source = folder_of(tmp_path, **documents, b__pdf=pdf(shown("Dr. D")))
    run = run_over(source, target=tmp_path / "out", form="docx")
    summary = deidentify(run)
    assert (summary.notes, summary.quarantined) == (4, 2)
    assert [entry["reason"].partition(";")[0] for entry in quarantine(run)] == [
        "the file would be written as the note before is", "the file is not a Word document (.docx), or is damaged",
    ]  # fmt: skip
    assert sorted(path.name for path in run.target.iterdir()) == ["a.m.txt", "a.txt"]
    assert "new Seen by Dr. [DOCTOR] today.\n" in (run.target / "a.txt").read_text()
    assert audit_run(run.target).problems == ()
    assert {path.name: path.read_bytes() for path in source.iterdir()} == {
        name.replace("__", "."): content for name, content in (documents | {"b__pdf": pdf(shown("Dr. D"))}).items()
    }
    with pytest.raises(SettingsError, match=r"out.docx would be written as text; give it the ending .txt"):
        deidentify(run_over(source / "b.docx", target=tmp_path / "out.docx"))


def test_documents_are_notes_only_where_nothing_else_is(tmp_path: Path) -> None:
    source = folder_of(tmp_path, a__docx=letter("x"), b__docx=letter("y"))
    assert Reader().notes(source).format.name == "docx" and Reader().format_of(source) == "text"
    (source / "c.pdf").write_bytes(pdf(shown("z")))
    with pytest.raises(CorpusError, match="several formats, docx, pdf"):
        Reader().notes(source)
    (source / "d.txt").write_text("note")
    assert [document.id for document in read_corpus(source).documents] == ["d"]


def test_a_redacted_word_document_keeps_its_form_and_nothing_of_what_went(tmp_path: Path) -> None:
    run = run_over(folder_of(tmp_path, a__docx=full_letter()), target=tmp_path / "out", form_settings=AS_WORD)
    assert deidentify(run).quarantined == 0 and audit_run(run.target).problems == ()
    written = docx.Document(run.target / "a.docx")
    seen = written.paragraphs[0]
    assert [(run.text, bool(run.bold), bool(run.italic)) for run in seen.runs if run.text] == [
        ("new ", False, False), ("Seen by Dr. ", False, False), ("[DOCTOR]", True, False), (" today.", False, False),
    ]  # fmt: skip
    assert written.tables[0].cell(0, 1).text == "Dr. [DOCTOR]"
    assert written.sections[0].header.paragraphs[0].text == "Ward of Dr. [DOCTOR]"
    with zipfile.ZipFile(run.target / "a.docx") as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    whole = "".join([*parts, *parts.values()])
    assert not [name for name in (*NAMES, *HIDDEN) if name.lower() in whole.lower()]
    assert not any(name.startswith(("docProps", "customXml")) for name in parts)
    assert all(
        element not in whole for element in ("w:del ", "w:ins ", "delText", "instrText", "rsid", "bookmark", "pict")
    )


def test_no_words_are_joined_or_lost_and_no_style_keeps_a_name(tmp_path: Path) -> None:
    made, out = docx.Document(), io.BytesIO()
    made.add_paragraph("Dr. ", made.styles.add_style("Letters of Tamsin", 1)).add_run("Ames")
    made.save(out)
    with zipfile.ZipFile(out) as archive:
        body, styles = (archive.read(f"word/{part}.xml").decode() for part in ("document", "styles"))
    tab = '<w:r><w:ptab w:alignment="center" w:relativeTo="margin" w:leader="none"/></w:r>'
    choice = "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'><mc:Choice>"
    choice += "<w:r><w:t>seen</w:t></w:r></mc:Choice><mc:Fallback/></mc:AlternateContent>"
    content = with_parts(
        out.getvalue(),
        document=body.replace("</w:p>", f"{tab}{choice}</w:p>", 1).encode(),
        styles=styles.replace(' w:customStyle="1"', "").encode(),
    )
    run = run_over(folder_of(tmp_path, a__docx=content), target=tmp_path / "out", form_settings=AS_WORD)
    assert deidentify(run).quarantined == 0
    assert docx.Document(run.target / "a.docx").paragraphs[0].text == "Dr. [DOCTOR]\tseen"
    with zipfile.ZipFile(run.target / "a.docx") as archive:
        written = archive.read("word/styles1.xml").decode()
    assert "Tamsin" not in written and "heading 1" in written.lower()


def over_lines(path: Path) -> Engine:
    """Finds a name over the end of a line or cell."""
    name = re.compile(r"Ann\sHill")
    return FunctionEngine(
        lambda note: [Decision(Span(*found.span(), "PATIENT"), 0.9, True, ()) for found in name.finditer(note.text)]
    )


def test_an_identifier_over_paragraphs_joins_them_and_one_over_cells_is_held_back(tmp_path: Path) -> None:
    table = docx.Document()
    cells = table.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "Patient Ann", "Hill"
    table.save(tmp_path / "table.docx")
    documents = {
        "b__docx": letter("Patient Ann", "Hill, and", "more"),
        "c__docx": (tmp_path / "table.docx").read_bytes(),
    }
    run = run_over(folder_of(tmp_path, **documents), target=tmp_path / "out", form_settings=AS_WORD, load=over_lines)
    assert deidentify(run).quarantined == 1
    assert [paragraph.text for paragraph in docx.Document(run.target / "b.docx").paragraphs] == [
        "Patient [PATIENT], and",
        "more",
    ]
    assert "as an identifier goes over the end of a cell" in quarantine(run)[0]["reason"]
