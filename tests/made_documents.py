"""Word, PDF and RTF files for the tests: python-docx writes the first, the others are written by hand."""

import io
import zipfile
from pathlib import Path

import docx

WORDS = '<w:{0} xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" {1}</w:{0}>'
NAMES = ("Ames", "Hillard", "Zephyr", "Quill", "Brook")
"""Names that a letter has in its text, in every place that a reader sees."""
HIDDEN = ("Orville", "Wexford", "Tamsin", "Lorimer", "Kestrel", "Dunmore", "Fairfax", "Yardley", "Ulrich", "Vesper")
"""Names that a letter has where a reader does not see them."""


def with_parts(content: bytes, **changed: bytes) -> bytes:
    """A Word document with some parts replaced, named by their file name without the ending."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, changed.get(Path(name).stem, old.read(name)))
    return made.getvalue()


def letter(*paragraphs: str) -> bytes:
    """A Word document with plain paragraphs."""
    made, out = docx.Document(), io.BytesIO()
    for paragraph in paragraphs:
        made.add_paragraph(paragraph)
    made.save(out)
    return out.getvalue()


def full_letter() -> bytes:
    """A Word document with a name of `NAMES` in each visible place, and one of `HIDDEN` in each hidden place."""
    made, out = docx.Document(), io.BytesIO()
    made.core_properties.author, made.core_properties.comments = "Dr. Orville", "of Patient Wexford"
    style = made.styles.add_style("Letters of Tamsin", 1)
    made.sections[0].header.paragraphs[0].text = "Ward of Dr. Quill"
    made.sections[0].footer.paragraphs[0].text = "Dr. Brook signs"
    seen = made.add_paragraph("Seen by Dr. ", style)
    seen.add_run("Am").bold = True
    seen.add_run("es").italic = True
    seen.add_run(" today.")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Name", "Dr. Hillard"
    made.add_comment(seen.runs, "ask Dr. Zephyr", author="Lorimer", initials="Kestrel")
    made.save(out)
    tracked = (
        '<w:bookmarkStart w:id="1" w:name="Dunmore"/><w:del w:id="2" w:author="Fairfax"><w:r><w:delText>Yardley'
        '</w:delText></w:r></w:del><w:ins w:id="3" w:author="Fairfax"><w:r><w:t xml:space="preserve">new </w:t></w:r>'
        "</w:ins>"
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>MERGEFIELD Ulrich</w:instrText></w:r>'
        "<w:r><w:pict><v:textbox xmlns:v='urn:schemas-microsoft-com:vml' title='Vesper'><w:txbxContent><w:p><w:r><w:t>"
        "box</w:t></w:r></w:p></w:txbxContent></v:textbox></w:pict></w:r>"
    )
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as archive:
        body = archive.read("word/document.xml").decode()
    # Before the first run of the paragraph, so that its place is known.
    return with_parts(
        out.getvalue(), document=body.replace("<w:commentRangeStart", f"{tracked}<w:commentRangeStart", 1).encode()
    )


def pdf(*pages: bytes, trailer: bytes = b"", more: bytes = b"") -> bytes:
    """A PDF with these page contents.

    :param trailer: entries to add to its end.
    :param more: entries to add to each page.
    """
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), kids)]
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    for number, content in enumerate(pages):
        of_page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R%s>>"
        form = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Length %d" % len(content)
        objects += [of_page % (5 + 2 * number, more), b"<<%b>>stream\n%b\nendstream" % (form, content)]
    out, places = bytearray(b"%PDF-1.4\n"), bytearray()
    for number, content in enumerate(objects, 1):
        places += b"%010d 00000 n \n" % len(out)
        out += b"%d 0 obj%s endobj\n" % (number, content)
    size, start = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R%s>>" % (size, places, size, trailer)
    return bytes(out) + b"startxref\n%d\n%%%%EOF" % start


def shown(*lines: str) -> bytes:
    """The content of a PDF page with lines of text."""
    moves = b"".join(b"0 -20 Td (%s) Tj " % line.encode() for line in lines)
    return b"BT /F 12 Tf 50 700 Td %sET" % moves
