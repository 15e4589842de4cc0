"""Rich Text Format (.rtf, Microsoft's specification 1.9.1), read by striprtf.

    next(read(NoteFile(Path("110-01.rtf")))).text        "Seen by Dr. Ames.\\n"

Headers, footers, footnotes, comments and text boxes are read where they are in the file, as lines of their own.
"""

from __future__ import annotations

import re
from typing import Any

from phistack.features.documents import Document
from phistack.features.errors import CorpusError, need
from phistack.features.formats.format import Format, NoteFile, Notes
from phistack.features.formats.texts import TEXT

_HIGH = re.compile(rb"[\x80-\xff]")
# striprtf leaves these out, as all destinations; one character ends their names.
_READ = re.compile(
    r"(?<!\\)(?:\\\*\s*)?\\(?:(?:header|footer)[lrf]?|footnote|annotation|shp|shpinst|shptxt|dptxbxtext"
    # Nor does it separate words here: at ends of columns and lines, and at aligned tabs.
    r"|column|soft(?:line|col|page)|p(?:mar|ind)tabq[lrc])(?![a-zA-Z])"
)
_BRACE = re.compile(r"\\[{}\\]|[{}]")
# Its expressions for links and fonts take cubic time on a long line; line ends mean nothing in RTF, but hide links.
_FIELD_OR_FONT = re.compile(r"(?<=\\field)(?![a-zA-Z])|(?=\\f\d)")
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")
_LONGEST_FONT = 1000


def read(file: NoteFile) -> Notes:
    """The note of a file.

    :raises MissingResourceError: if striprtf is not installed.
    :raises CorpusError: if the file is not RTF, or is damaged or cut off.
    """
    need("striprtf", "documents", "The format rtf")
    from striprtf import striprtf

    reader: Any = striprtf

    content = file.content().strip(b"\0 \t\r\n")
    if not content.startswith(b"{\\rtf"):
        raise CorpusError(f"{file.name} is not RTF; save it again as Rich Text Format")
    rtf = _HIGH.sub(lambda found: b"\\'%02x" % found[0][0], _without_binary(content)).decode("ascii")
    rtf = _FIELD_OR_FONT.sub("\n", _READ.sub(r"\\par ", _with_ends(rtf)))
    try:
        # If several documents follow each other, all but one would be lost.
        if (
            not rtf.endswith("}")
            or content.count(b"{\\rtf") > 1
            or any(len(line) > _LONGEST_FONT for line in reader.font_table_group(rtf).splitlines())
        ):
            raise ValueError
        # Characters beyond U+FFFF are pairs in RTF.
        text = reader.rtf_to_text(rtf).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except (ValueError, LookupError, TypeError):
        raise CorpusError(f"{file.name} is damaged RTF, or is cut off; save it again as Rich Text Format") from None
    yield Document(file.id, text, (), file.patient)


def _with_ends(rtf: str) -> str:
    """RTF with the end of a paragraph where a header, a footnote or the like ends, so no words are joined."""
    opened = list[bool]()

    def brace(found: re.Match[str]) -> str:
        if found[0] == "{":
            opened.append(_READ.match(rtf, found.end()) is not None)
        return r"\par }" if found[0] == "}" and opened and opened.pop() else found[0]

    return _BRACE.sub(brace, rtf)


def _without_binary(content: bytes) -> bytes:
    """RTF without the bytes of pictures, in which a brace is not a brace."""
    kept, at = [], 0
    while found := _BINARY.search(content, at):
        kept.append(content[at : found.start()])
        at = found.end() + int(found[1])
    return b"".join([*kept, content[at:]])


RTF = Format("rtf", "a folder of RTF files", (".rtf",), read, written=TEXT)
