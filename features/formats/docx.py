"""Word documents (.docx, ISO/IEC 29500): their text, and the same document with other text in its runs.

    next(read(NoteFile(Path("110-01.docx")))).text        "Ward 7\\nSeen by Dr. Ames.\n"
    rewritten(file, text, [(19, 23, "[DOCTOR]")])           the bytes of a document that reads "... by Dr. [DOCTOR].\\n"

A document is copied as far as the tables here know its elements and attributes. All else is left behind: what was
deleted, fields, pictures, macros, names of bookmarks and styles, authors, and every part but those of `_ROOTS`. Reading
and writing see this copy only, so what is written holds the text that was read, and its layout. The text is that of the
headers, the body, the footers, footnotes, endnotes and comments, in this order; each paragraph is a line, a tab divides
the cells of a table, and a text box follows its paragraph.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, cast

from lxml import etree

from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.files import decoded, read_at_most
from phistack.features.formats.format import Edit, Format, NoteFile, Notes
from phistack.features.formats.texts import TEXT
from phistack.features.formats.xml import parsed

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE, _WORD = "application/vnd.openxmlformats-officedocument.", "wordprocessingml."
_TYPES = {"document": f"{_WORD}document.main", "theme": "theme"}
_W, _ID, _SPACE = f"{{{_MAIN}}}", f"{{{_LINKS}}}id", "{http://www.w3.org/XML/1998/namespace}space"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TEXTS = {"header": "hdr", "document": "document", "footer": "ftr"} | {
    n: n for n in ("footnotes", "endnotes", "comments")
}
_ROOTS = {kind: f"{_W}{root}" for kind, root in _TEXTS.items()}
_ROOTS |= {kind: f"{_W}{kind}" for kind in ("styles", "numbering", "settings")}
_ROOTS["theme"] = "{http://schemas.openxmlformats.org/drawingml/2006/main}theme"
"""The parts that are copied, those with text first, and their root elements."""

_NOT_READ = frozenset("del moveFrom drawing pict object".split())
"""These may hold text that is not shown, or text of a box."""
_UNWRAPPED = frozenset("ins moveTo sdt sdtContent hyperlink smartTag fldSimple customXml dir bdo".split())
_KEPT = frozenset("""
    document body p r t tab ptab br cr noBreakHyphen softHyphen sym tbl tr tc hdr ftr footnotes footnote endnotes
    endnote footnoteReference endnoteReference footnoteRef endnoteRef separator continuationSeparator comments comment
    commentRangeStart commentRangeEnd commentReference annotationRef pPr rPr tblPr tblGrid gridCol trPr tcPr sectPr
    headerReference footerReference pgSz pgMar pgBorders pgNumType cols col titlePg docGrid type vAlign textDirection
    pStyle keepNext keepLines pageBreakBefore widowControl numPr ilvl numId suppressLineNumbers pBdr top left bottom
    right start end between bar shd tabs suppressAutoHyphens spacing ind contextualSpacing mirrorIndents jc outlineLvl
    textAlignment bidi rStyle rFonts b bCs i iCs caps smallCaps strike dstrike outline shadow emboss imprint vanish
    color w kern position sz szCs highlight u effect bdr fitText vertAlign rtl cs em lang tblStyle tblpPr tblOverlap
    tblW tblInd tblCellSpacing tblBorders insideH insideV tblLayout tblCellMar tblLook trHeight cantSplit tblHeader
    gridBefore gridAfter wBefore wAfter tcW gridSpan vMerge hMerge tcBorders tl2br tr2bl tcMar noWrap tcFitText styles
    docDefaults rPrDefault pPrDefault style name basedOn next link uiPriority qFormat semiHidden unhideWhenUsed
    tblStylePr tblStyleRowBandSize tblStyleColBandSize numbering abstractNum multiLevelType lvl numFmt suff lvlText
    lvlJc lvlRestart num abstractNumId lvlOverride startOverride settings evenAndOddHeaders defaultTabStop mirrorMargins
""".split())  # fmt: skip
_ATTRIBUTES = frozenset(f"{_W}{name}" for name in """
    abstractNumId after afterAutospacing afterLines alignment ascii asciiTheme bar before beforeAutospacing beforeLines
    bottom bottomFromText char charSpace color cols cs cstheme customStyle default eastAsia eastAsiaTheme equalWidth
    fill firstColumn firstLine firstRow fmt footer gutter h hAnsi hAnsiTheme hRule hanging header hint horzAnchor id
    ilvl lastColumn lastRow leader left leftFromText line linePitch lineRule noHBand noVBand num numId orient pos
    relativeTo right rightFromText shadow space start end styleId sz themeColor themeFill themeFillShade themeFillTint
    themeShade themeTint top topFromText type val vertAnchor w tblpX tblpXSpec tblpY tblpYSpec
""".split()) | {_SPACE, _ID}  # fmt: skip
_STYLED = tuple(f"{_W}{kind}" for kind in "pStyle rStyle tblStyle basedOn next link".split())
_STYLE_WORDS = frozenset("""
    accent annotation authorities authority balloon based bibliography block body book bullet caption char character
    closing colorful continue dark date default document e emphasis endnote envelope figures first followed
    followedhyperlink font footer footnote from grid header heading hyperlink index indent intense light line list macro
    map medium message normal note no number of page paragraph placeholder plain quote reference revision salutation
    shading signature simple spacing strong subject subtitle subtle table text title toc web
""".split())  # fmt: skip
"""The words in the names of Word's own styles; other names may name somebody."""
_IN_NUMBERING = re.compile(r"(?<!%)\d{2,}|[^\W\d_]{2,}")
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}

Piece = tuple[str, etree._Element]
"""A stretch of the text, and the element that holds it: a text, a tab or the like, or the paragraph that ends."""


def read(file: NoteFile) -> Notes:
    """The note of a file; :raises CorpusError: if it is not a Word document, is damaged or too large."""
    yield Document(file.id, _text(_pieces(_copied(file.content(), file))), (), file.patient)


def rewritten(file: NoteFile, text: str, edits: Sequence[Edit]) -> bytes:
    """The document with other text in its runs, and without anything that a reader does not see.

    :param text: the text that it must have now.
    :param edits: start, end and new text, in order; the new text gets the form of the first character that it replaces.
    :raises CorpusError: if it is no longer the same document, or an edit crosses cells or the like.
    """
    parts = _copied(file.content(), file, _ROOTS)
    pieces = _pieces(parts)
    if _text(pieces) != text:
        raise CorpusError(f"{file.name} was changed during the run; start the run again")
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    try:
        _edit(pieces, edits)
        content = _packed(parts)
        if _text(_pieces(_copied(content, file))) != text:
            raise ValueError("an identifier goes over the end of a section")
    except ValueError as error:
        raise CorpusError(f"{file.name} cannot be written as a Word document, as {error}; leave out --write") from None
    return content


def _unpacked(content: bytes, file: NoteFile) -> dict[str, bytes]:
    """The parts of a document by name; :raises CorpusError: if it is not a document or too large."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise CorpusError(f"{file.name} is encrypted, or of an old Word; save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > file.how.longest:
                raise CorpusError(f"{file.name} unpacks to more than the limit of {file.how.longest:,} bytes; split it")
            # Piece by piece, as the stated size may be wrong.
            members = ((m, cast(BinaryIO, archive.open(m))) for m in archive.infolist())
            return {member.filename: read_at_most(opened, member.file_size + 1) for member, opened in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError):
        raise CorpusError(f"{file.name} is not a Word document (.docx), or is damaged; save it again") from None


def _root(members: dict[str, bytes], tag: str, part: str, file: NoteFile) -> etree._Element:
    """The root element of a part; :raises CorpusError: if the part is missing, or cannot be read."""
    if part not in members:
        raise CorpusError(f"{file.name} is a Word document that lacks a part; save it again in Word")
    return parsed(tag, file.name, decoded(members[part], file.name))


def _related(members: dict[str, bytes], part: str, file: NoteFile) -> dict[str, tuple[str, str]]:
    """Id of a relationship -> kind and name of the part that it names."""
    folder, base = posixpath.split(part)
    links = _root(members, f"{{{_PACKAGE}/relationships}}Relationships", f"{folder}/_rels/{base}.rels".strip("/"), file)
    return {
        link.get("Id", ""): (
            link.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, link.get("Target", ""))).strip("/"),
        )
        for link in links
        if link.get("TargetMode") != "External"
    }


def _copied(content: bytes, file: NoteFile, kinds: Iterable[str] = _TEXTS) -> dict[str, etree._Element]:
    """The copied parts of these kinds under new names; links to headers use the new names too."""
    members = _unpacked(content, file)
    main = next((name for kind, name in _related(members, "", file).values() if kind == "officeDocument"), "")
    links, renamed = _related(members, main, file), dict[str, str]()
    found: dict[str, list[etree._Element]] = {kind: [] for kind in kinds}

    def copy(kind: str, name: str) -> etree._Element:
        root = _root(members, _ROOTS[kind], name, file)
        made = _theme(root) if kind == "theme" else etree.Element(root.tag, nsmap={"w": _MAIN, "r": _LINKS})
        if kind != "theme":
            _copy_children(root, made, file)
        found[kind].append(made)
        renamed[name] = f"{kind}{len(found[kind])}"
        return made

    for reference in copy("document", main).iter(f"{_W}headerReference", f"{_W}footerReference"):
        _, name = links.get(reference.get(_ID, ""), ("", ""))
        if name not in renamed:
            copy(str(reference.tag).removeprefix(_W).removesuffix("Reference"), name)
        reference.set(_ID, renamed[name])
    for kind, name in sorted(set(links.values())):
        if kind in found and kind not in ("header", "footer", "document"):
            copy(kind, name)
    parts = {f"{kind}{number}": part for kind in found for number, part in enumerate(found[kind], 1)}
    _rename_styles(parts)
    return parts


def _theme(root: etree._Element) -> etree._Element:
    """Colours and fonts, without names, pictures and what programs add."""
    for element in [*root.iter("{*}extLst", "{*}blipFill", "{*}objectDefaults")]:
        _remove(element)
    for element in root.iter():
        if "name" in element.attrib:
            element.set("name", "")
    return root


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _copy_children(element: etree._Element, target: etree._Element, file: NoteFile) -> None:
    for child in element:
        kind = str(child.tag).removeprefix(_W)
        if kind in ("altChunk", "subDoc"):
            raise CorpusError(f"{file.name} includes another document, whose text is not read; save it as one in Word")
        if kind == f"{_MC}AlternateContent":
            forms = sorted([*child.iterfind(f"{_MC}Fallback"), *child], key=_has_text, reverse=True)
            for form in forms[:1]:
                _copy_children(form, target, file)
        elif kind in _UNWRAPPED:
            _copy_children(child, target, file)
        elif kind in _KEPT and (kind != "name" or target.tag == f"{_W}style"):
            made = etree.SubElement(target, child.tag)
            for key in child.keys():  # noqa: SIM118
                if key in _ATTRIBUTES:
                    made.set(key, child.get(key, ""))
            _copy_children(child, made, file)
            if kind == "t":
                made.text = child.text
            elif kind == "lvlText":
                made.set(f"{_W}val", _IN_NUMBERING.sub("", made.get(f"{_W}val", "")))
            elif kind == "comment":
                made.set(f"{_W}author", "")
            elif kind == "p":
                for box in _boxes(child):
                    _copy_children(box, target, file)
        elif kind not in _NOT_READ and _has_text(child):
            raise CorpusError(
                f"{file.name} has text of a kind that is not read, as Japanese ruby; save it without in Word"
            )


def _has_text(element: etree._Element) -> bool:
    """Whether it has text outside the text boxes within it."""
    boxes = "count({}ancestor::w:txbxContent)".format
    return bool(element.xpath(f".//w:t[{boxes('')} = {boxes('$outer/')}]", namespaces={"w": _MAIN}, outer=[element]))


def _boxes(element: etree._Element) -> Iterator[etree._Element]:
    """The text boxes in a paragraph, each in the newer of its forms; boxes in boxes belong to the paragraphs there."""
    for child in element:
        if child.tag == f"{_W}txbxContent":
            yield child
        elif child.tag == f"{_MC}AlternateContent":
            with_box = [form for form in child if next(form.iter(f"{_W}txbxContent"), None) is not None]
            yield from (box for form in with_box[:1] for box in _boxes(form))
        elif child.tag not in (f"{_W}del", f"{_W}moveFrom"):
            yield from _boxes(child)


def _rename_styles(parts: dict[str, etree._Element]) -> None:
    """Give all styles new ids, and those that are not Word's own new names, as they may name a person."""
    styles = [style for part in parts.values() for style in part.iter(f"{_W}style")]
    ids = {style.get(f"{_W}styleId", ""): f"s{number}" for number, style in enumerate(styles, 1)}
    for style in styles:
        style.set(f"{_W}styleId", ids[style.get(f"{_W}styleId", "")])
        for name in style.iterfind(f"{_W}name"):
            if not {*re.findall(r"[^\W\d_]+", name.get(f"{_W}val", "").lower())} <= _STYLE_WORDS:
                name.set(f"{_W}val", style.get(f"{_W}styleId", ""))
    for use in [use for part in parts.values() for use in part.iter(*_STYLED)]:
        use.set(f"{_W}val", ids.get(use.get(f"{_W}val", ""), "s0"))


def _pieces(parts: dict[str, etree._Element]) -> list[Piece]:
    roots = (part for name, part in parts.items() if name.rstrip("0123456789") in _TEXTS)
    return [piece for root in roots for _, element in etree.iterwalk(root) for piece in _piece(element)]


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(text for text, _ in pieces)


def _piece(element: etree._Element) -> Iterator[Piece]:
    kind, parent = str(element.tag).removeprefix(_W), element.getparent()
    if parent is None:
        return
    if kind == "p":
        is_cell = parent.tag == f"{_W}tc" and parent.getnext() is not None and element.getnext() is None
        yield "\t" if is_cell else "\n", element
    elif parent.tag != f"{_W}r":
        return
    elif kind == "t" and element.text:
        yield element.text, element
    elif kind in _CHARACTERS:
        yield _CHARACTERS[kind], element
    elif kind == "sym" and re.fullmatch(r"[0-9A-Fa-f]{4}", code := element.get(f"{_W}char", "")):
        yield chr(int(code, 16)), element


def _edit(pieces: Sequence[Piece], edits: Sequence[Edit]) -> None:
    """Change the elements; :raises ValueError: saying what cannot be done."""
    at = 0
    waiting = list(edits)
    placed = False
    for text, element in pieces:
        start, end, kept, after = at, at + len(text), "", at
        at = end
        while waiting and waiting[0][0] < end:
            first, last, new = waiting[0]
            kept += text[after - start : max(0, first - start)]
            if not placed and element.tag == f"{_W}t":
                kept, placed = kept + new, True
            after = min(last, end)
            if last > end:
                break
            if not placed:
                raise ValueError("an identifier is not in a run")
            waiting.pop(0)
            placed = False
        kept += text[after - start :]
        if kept != text:
            _change(element, kept)


def _change(element: etree._Element, text: str) -> None:
    """Give an element another text; an element that can hold no other text, such as a tab, is removed."""
    if element.tag == f"{_W}t":
        element.text = text
        element.set(_SPACE, "preserve")
    elif element.tag == f"{_W}p":
        following = element.getnext()
        if following is None or following.tag != element.tag:
            raise ValueError("an identifier goes over the end of a cell, a table or a part")
        # The end of the paragraph is gone: its content moves into the next paragraph, whose element stays.
        for child in reversed([child for child in element if child.tag != f"{_W}pPr"]):
            following.insert(1 if following.find(f"{_W}pPr") is not None else 0, child)
        _remove(element)
    else:
        _remove(element)


def _packed(parts: dict[str, etree._Element]) -> bytes:
    """The parts as a file, the same bytes in every run."""
    types = links = ""
    for name, kind in ((name, name.rstrip("0123456789")) for name in parts):
        form = f"{_OFFICE}{_TYPES.get(kind, _WORD + kind)}+xml"
        types += f'<Override PartName="/word/{name}.xml" ContentType="{form}"/>'
        links += f'<Relationship Id="{name}" Type="{_LINKS}/{kind}" Target="{name}.xml"/>' * (kind != "document")
    main = f'<Relationship Id="main" Type="{_LINKS}/officeDocument" Target="word/document1.xml"/>'
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">%s</Relationships>'
    usual = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{usual}{types}</Types>',
        "_rels/.rels": relations % main,
        "word/_rels/document1.xml.rels": relations % links,
        **{f"word/{name}.xml": etree.tostring(part, encoding="unicode") for name, part in parts.items()},
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return made.getvalue()


DOCX = Format("docx", "a folder of Word documents", (".docx",), read, written=TEXT, rewritten=rewritten)
