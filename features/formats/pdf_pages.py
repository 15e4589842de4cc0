"""The text of each page of a PDF, by PDFium in a process of its own, which a hostile file may crash or fill.

python -P pdf_pages.py < 110-01.pdf        {"pages": ["Seen by Dr. Ames."]}, or {"problem": "is encrypted; ..."}
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

import pypdfium2
from pypdfium2.raw import FLAT_NORMALDISPLAY, FORMTYPE_XFA_FULL, FPDF_PAGEOBJ_IMAGE, FPDFPage_Flatten

_PASSWORD = 4
_STAMP = 100
"""A shorter text on a picture of a page may be a stamp or a signature on a scan."""
_MOST_MEMORY = 2**30
# PDFium ends lines as Windows does, and writes a hyphen at the end of a line as U+FFFE or U+0002.
_LINE_END, _HYPHEN = re.compile(r"\r\n?"), re.compile("[\ufffe\x02]")


def pages_of(content: bytes) -> list[str]:
    """The text of each page; :raises ValueError: saying what is wrong with the file."""
    try:
        pdf = pypdfium2.PdfDocument(content)
        if pdf.get_formtype() == FORMTYPE_XFA_FULL:
            raise ValueError("is a form of XFA, whose text is not read; print it to a PDF")
        pdf.init_forms()  # Which draws the values of fields that no program has drawn.
        return [_page(pdf, number) for number in range(len(pdf))]
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise ValueError("is encrypted; save it without a password") from None
        raise ValueError("is not a PDF, or is damaged; get a complete copy of it") from None


def _page(pdf: Any, number: int) -> str:
    page = pdf[number]
    FPDFPage_Flatten(page, FLAT_NORMALDISPLAY)
    page.close()
    page = pdf[number]
    text: str = page.get_textpage().get_text_bounded()
    is_drawn = next(page.get_objects(max_depth=1), None) is not None
    if (is_drawn and not text.strip()) or (len(text) < _STAMP and _is_scan(page)):
        raise ValueError(f"has a picture in place of text on page {number + 1}; run text recognition on it")
    page.close()
    return _HYPHEN.sub("-", _LINE_END.sub("\n", text)).strip("\n")


def _is_scan(page: Any) -> bool:
    """Whether a picture covers half of the page."""
    boxes = (picture.get_bounds() for picture in page.get_objects([FPDF_PAGEOBJ_IMAGE]))
    return any(
        (right - left) * (top - bottom) > page.get_width() * page.get_height() / 2 for left, bottom, right, top in boxes
    )


def main() -> None:
    """Read a file from standard input, and write the answer."""
    with suppress(ImportError):  # as on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        print(json.dumps({"pages": pages_of(sys.stdin.buffer.read())}))
    except ValueError as error:
        print(json.dumps({"problem": str(error)}))


if __name__ == "__main__":
    main()
