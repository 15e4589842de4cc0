"""The text layer of PDF files (ISO 32000), page by page, read by PDFium. Needs pypdfium2.

    next(read(NoteFile(Path("110-01.pdf")))).text        "Seen by Dr. Ames.\\n"

Filled forms and notes on the page are text of the page. A page with drawings but no text, or with less than a line of
text and a picture of half the page, is taken for a picture. It cannot be read, so the file is refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from phistack.features.documents import Document
from phistack.features.errors import CorpusError, need
from phistack.features.formats.format import Format, NoteFile, Notes
from phistack.features.formats.texts import TEXT

_CHILD = Path(__file__).with_name("pdf_pages.py")
_SECONDS = 120


def read(file: NoteFile) -> Notes:
    """The note of a file; raises what `text_of` does."""
    yield Document(file.id, text_of(file.content(), file.name), (), file.patient)


def text_of(content: bytes, name: str) -> str:
    """The text that a PDF shows.

    :param name: for messages.
    :raises MissingResourceError: if pypdfium2 is not installed.
    :raises CorpusError: if it is not a PDF, is damaged or encrypted, has a page that is a picture, or no text, or takes
        two minutes or a GiB of memory.
    """
    need("pypdfium2", "documents", "The format pdf")
    command = [sys.executable, "-P", str(_CHILD)]
    try:
        # An error that the process prints may quote the file.
        answer = subprocess.run(command, input=content, capture_output=True, check=True, timeout=_SECONDS).stdout
    except subprocess.SubprocessError:
        raise CorpusError(f"{name} takes too much time or memory to read; save its text as a .txt file") from None
    found = json.loads(answer)
    if "problem" in found:
        raise CorpusError(f"{name} {found['problem']}")
    text = "".join(f"{page}\n" for page in found["pages"] if page)
    if not text:
        raise CorpusError(f"{name} has no text on its {len(found['pages'])} pages")
    return text


PDF = Format("pdf", "a folder of PDF files with a text layer", (".pdf",), read, written=TEXT)
