"""The XML of the i2b2 2014, N-GRID 2016 and MEDDOCAN tasks: one file per note.

    <deIdi2b2>
      <TEXT><![CDATA[Seen by Dr. Ames.]]></TEXT>
      <TAGS>
        <NAME id="P0" start="12" end="16" text="Ames" TYPE="DOCTOR" comment=""/>
      </TAGS>
    </deIdi2b2>

MEDDOCAN has the root `MEDDOCAN`. The element is the category and `TYPE` the label; a `LOCATION` of type `OTHER`, as
some files have it, is read as `LOCATION-OTHER`, not as the PHI type `OTHER`. Entities and document types are never
processed, and the network is never used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from xml.sax.saxutils import quoteattr

from lxml import etree

from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, NoteFile, Notes, Pieces
from phistack.features.formats.records import checked_span, file_name, parse_offset
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id, shown_label

_ROOT = re.compile(r"<([^\W\d][\w.-]*)")
_ENCODING = re.compile(r"\A\ufeff?<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)")
_ENCODINGS = ("utf-8", "us-ascii", "ascii")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCTYPE_REFUSED = "has a document type declaration, which is refused as it may define entities; remove it"
_RENAMED = {("LOCATION", "OTHER"): "LOCATION-OTHER"}
_ESCAPES = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def root_of(text: str) -> str:
    """The name of the first element in the beginning of a file, or nothing."""
    match = _ROOT.search(text)
    return match[1] if match else ""


def read(root: str, file: NoteFile) -> Notes:
    """The note of a file.

    :raises CorpusError: for malformed XML, a document type declaration, another root, or spans that do not fit.
    """
    tree = parsed(root, file.name, file.text("utf-8"))
    # Of two, it is unclear which is the note, and the other would be lost.
    elements = list(tree.iter("TEXT"))
    if len(elements) != 1 or elements[0].getparent() is not tree or len(elements[0]):
        raise CorpusError(
            f"{file.name} must have one element TEXT, which holds nothing but text, and has {len(elements)}; write "
            "one note to each file"
        )
    text = elements[0].text or ""
    spans = []
    for tag in tree.iterfind("TAGS/*") if file.how.annotated else ():
        span = _read_tag(file.id, text, tag)
        file.how.categories.setdefault(span.label, str(tag.tag))
        spans.append(span)
    yield Document(file.id, text, tuple(spans), file.patient)


def _read_tag(document_id: str, text: str, tag: etree._Element) -> Span:
    place = f"line {tag.sourceline}"
    start, end = (parse_offset(document_id, place, tag.get(name)) for name in ("start", "end"))
    label = tag.get("TYPE", "")
    label = _RENAMED.get((str(tag.tag), label), label)
    return checked_span(document_id, text, start, end, label, quoted=tag.get("text"))


def parsed(root: str, name: str, text: str) -> etree._Element:
    """The root element, without entities; libxml2's own messages are not passed on, as they quote the file.

    :raises CorpusError: for malformed XML, a document type declaration or another root.
    """
    declared, first = _ENCODING.match(text), _ROOT.search(text)
    if declared and declared[1].lower() not in _ENCODINGS and not text.isascii():
        raise CorpusError(f"{name} declares an encoding other than UTF-8; convert the file and its declaration")
    # Refused before anything is parsed, and once more after it.
    if "<!DOCTYPE" in text[: first.start() if first else len(text)]:
        raise CorpusError(f"{name} {_DOCTYPE_REFUSED}")
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False,
        huge_tree=False, remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        element = etree.fromstring(text.encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:
        raise CorpusError(f"{name} is not well-formed XML at line {error.lineno}; correct or remove the file") from None
    if element.getroottree().docinfo.internalDTD is not None:
        raise CorpusError(f"{name} {_DOCTYPE_REFUSED}")
    if element.tag != root:
        ways = "give the format with --from, or move the file away"
        raise CorpusError(f"{name} does not have the root element {root}; {ways}")
    return element


def render(root: str, tag_id: str, first: int, documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """One file per note, named after its id.

    :param tag_id: the letter that the ids of the tags begin with.
    :raises CorpusError: if a text holds a character that XML 1.0 cannot, or a category cannot name an element.
    """
    for document in documents:
        tags = (
            _tag(document, span, labels.category(span.label), f"{tag_id}{number}")
            for number, span in enumerate(document.spans, first)
        )
        text = f"  <TEXT>{_character_data(document)}</TEXT>"
        head = '<?xml version="1.0" encoding="UTF-8"?>'
        lines = (head, f"<{root}>", text, "  <TAGS>", *tags, "  </TAGS>", f"</{root}>", "")
        yield file_name(document.id, ".xml"), "\n".join(lines).encode("utf-8")


def refuse_not_xml(document: Document) -> None:
    """Refuse a text that XML cannot hold; :raises CorpusError: with the character and where it is."""
    bad = _NOT_XML.search(document.text)
    if bad:
        raise CorpusError(
            f"document {shown_id(document.id)}: XML 1.0 cannot hold the character U+{ord(bad[0]):04X} at "
            f"{bad.start()}; write the corpus as jsonl or brat"
        )


def _character_data(document: Document) -> str:
    """The text in CDATA sections; a carriage return stands between two, as XML turns a bare one into a newline."""
    refuse_not_xml(document)
    inside = document.text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    return f"<![CDATA[{inside}]]>"


def _tag(document: Document, span: Span, category: str, tag_id: str) -> str:
    if not _NAME.fullmatch(category) or _NOT_XML.search(span.label):
        raise CorpusError(
            f"the category of the label {shown_label(span.label)} cannot name an XML element; write jsonl or brat"
        )
    quoted = quoteattr(document.text[span.start : span.end], _ESCAPES)
    return (
        f'    <{category} id="{tag_id}" start="{span.start}" end="{span.end}" text={quoted} '
        f'TYPE={quoteattr(span.label)} comment=""/>'
    )


I2B2 = Format(
    "i2b2", "a folder of XML files with the root deIdi2b2", (".xml",), partial(read, "deIdi2b2"),
    partial(render, "deIdi2b2", "P", 0), label_set="i2b2-2014", is_utf8=True,
)  # fmt: skip
NGRID = replace(
    I2B2, name="ngrid", description="as i2b2, with the label set of the N-GRID task", label_set="ngrid-2016"
)
MEDDOCAN = Format(
    "meddocan", "a folder of XML files with the root MEDDOCAN", (".xml",), partial(read, "MEDDOCAN"),
    partial(render, "MEDDOCAN", "T", 1), label_set="meddocan", is_utf8=True,
)  # fmt: skip
