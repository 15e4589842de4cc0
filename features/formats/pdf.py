"""The text layer of PDF files (ISO 32000), page by page, read by PDFium. Needs pypdfium2.

    next(read(NoteFile(Path("110-01.pdf")))).text        "Seen by Dr. Ames.\\n"

Filled forms and notes on the page are text of the page. A page without text on which something is drawn is a picture,
which no reader here can read, so that the file is refused.
"""

from __future__ import annotations

import re
from typing import Any

from phistack.features.documents import Document
from phistack.features.errors import CorpusError, need
from phistack.features.formats.format import Format, NoteFile, Notes
from phistack.features.formats.texts import TEXT, render_plain

_PASSWORD = 4
# PDFium ends lines as Windows does, and has U+FFFE and U+0002 for a hyphen at the end of a line.
_LINE_END, _HYPHEN = re.compile(r"\r\n?"), re.compile("[\ufffe\x02]")


def read(file: NoteFile) -> Notes:
    """The note of a file.

    :raises MissingResourceError: if pypdfium2 is not installed.
    :raises CorpusError: if the file is no PDF, is damaged or encrypted, or has a page that is a picture, or no text.
    """
    need("pypdfium2", "documents", "The format pdf")
    import pypdfium2

    content = file.content()
    try:
        pdf = pypdfium2.PdfDocument(content)
        try:
            if pdf.get_formtype() == pypdfium2.raw.FORMTYPE_XFA_FULL:
                raise CorpusError(f"{file.name} is a form of XFA, whose text is not read; print it to a PDF")
            pages = [_page(pdf, number, file.name) for number in range(len(pdf))]
        finally:
            pdf.close()
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise CorpusError(f"{file.name} is encrypted; save it without a password") from None
        raise CorpusError(f"{file.name} is not a PDF, or is damaged; get a complete copy of it") from None
    text = "".join(f"{page}\n" for page in pages if page)
    if not text:
        raise CorpusError(f"{file.name} has no text on its {len(pages)} pages")
    yield Document(file.id, text, (), file.patient)


def _page(pdf: Any, number: int, name: str) -> str:
    from pypdfium2.raw import FLAT_NORMALDISPLAY, FPDFPage_Flatten

    page = pdf[number]
    FPDFPage_Flatten(page, FLAT_NORMALDISPLAY)
    page.close()
    page = pdf[number]
    text = page.get_textpage().get_text_bounded()
    if not text.strip() and next(page.get_objects(max_depth=1), None) is not None:
        raise CorpusError(f"{name} has a picture in the place of text on page {number + 1}; run text recognition on it")
    page.close()
    return _HYPHEN.sub("-", _LINE_END.sub("\n", text)).strip("\n")


PDF = Format("pdf", "a folder of PDF files with a text layer", (".pdf",), read, render_plain, written=TEXT)
