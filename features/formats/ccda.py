"""C-CDA, the documents of HL7's Clinical Document Architecture: one XML file each.

    <ClinicalDocument xmlns="urn:hl7-org:v3">
      <recordTarget><patientRole><id root="2.16.840.1.113883.19" extension="M-4711"/>...</patientRole></recordTarget>
      <component><structuredBody><component><section><text>Seen by <content>Ann</content> Ames</text>...

The text of each section is a note, and `ccda.toml` has the rules for all other values. A replaced root becomes a UUID
that ends with the code. Comments and processing instructions are left out, entities never expanded (`formats.xml`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from lxml import etree

from phistack.features.errors import CorpusError
from phistack.features.formats.fields import OTHER, Field, FieldTable, is_years, of_day, record_format
from phistack.features.formats.format import NoteFile
from phistack.features.formats.narrative import EMPTY, Narrative
from phistack.features.formats.xml import parsed
from phistack.features.registry import packaged_table

_HL7, _XSI = "{urn:hl7-org:v3}", "{http://www.w3.org/2001/XMLSchema-instance}"
_CODE, _NUMBER = re.compile(r"[\w.:+/%{}\[\]*'-]{1,60}"), re.compile(r"[+-]?\d{1,7}(\.\d*)?")
"""A value is kept only if it looks like this: no date, no words."""
_ROOT = re.compile(r"[0-9.]+|[0-9a-fA-F-]{36}")
_CODED_ROOT, _CODED = re.compile("00000000-0000-0000-([0-9a-f]{4})-([0-9a-f]{12})"), re.compile(r"\A(\w{4})(\w{12})\Z")


class CcdaTable(FieldTable):
    """Documents."""

    declared = packaged_table("phistack.features.formats", "ccda.toml")

    def split(self, file: NoteFile) -> Iterator[tuple[str, bytes | None]]:
        yield "", file.content()

    def parsed(self, text: str) -> etree._Element:
        try:
            return parsed(f"{_HL7}ClinicalDocument", "the document", text)
        except CorpusError as error:
            raise ValueError(str(error)) from None

    def named(self, root: etree._Element) -> tuple[str, str]:
        paths = ("id",), ("recordTarget", "patientRole", "id")
        document, patient = (root.find("/".join(f"{_HL7}{name}" for name in path)) for path in paths)
        ids = ("" if of is None else of.get("extension") or of.get("root") or "" for of in (document, patient))
        return next(ids), next(ids)

    def spelled(self, root: etree._Element) -> str:
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(root, encoding="unicode") + "\n"

    def fields(self, root: etree._Element) -> Iterator[Field]:
        """The attributes and the text of each element, in their order."""
        return self._walk(root, "", "")

    def _walk(self, element: etree._Element, above: str, path: str, within: str = "") -> Iterator[Field]:
        tag = etree.QName(element).localname
        pair, of_text = f"{above}/{tag}", (path, f"{above}/{tag}", tag)
        if pair in self.declared["notes"]:
            if element.get("representation") == "B64" or element.find(f"{_HL7}reference") is not None:
                raise ValueError("the body of the document is not text")
            narrative = Narrative(element)
            yield Field((path, pair), narrative.text, narrative.put, partial(_empty, element))
            return
        kind = element.get(f"{_XSI}type", "").rpartition(":")[2] or tag
        if kind == "PQ" and is_years(element.get("unit")):
            kind = "age"
        for name in sorted(map(str, element.keys())):
            at = f"@{etree.QName(name).localname}"
            of_value = (f"{path}{at}", f"{pair}{at}", f"{within}/{tag}{at}", f"{kind}{at}", f"{tag}{at}", at)
            yield self._leaf(
                of_value, str(element.get(name)), partial(element.set, name), partial(element.attrib.pop, name)
            )
        if (element.text or "").strip():
            is_text = element.get("representation") != "B64"
            write = partial(setattr, element, "text")
            yield self._leaf(of_text if is_text else (OTHER,), element.text or "", write, partial(write, ""))
        for child in element:
            name = etree.QName(child).localname
            yield from self._walk(child, tag, f"{path}/{name}".removeprefix("/"), kind)
            if (child.tail or "").strip():
                write = partial(setattr, child, "tail")
                yield self._leaf(of_text, child.tail or "", write, partial(write, ""))

    def _leaf(
        self, names: tuple[str, ...], raw: str, write: Callable[[str], None], drop: Callable[[], object]
    ) -> Field:
        names = self.checked(names, raw, _NUMBER if names[-1] == "@value" else _CODE)
        text, spelled = of_day(raw.replace(EMPTY, "")) if names[-1] == "@value" else _root(raw.replace(EMPTY, ""))
        return Field(names, text, lambda new: write(spelled(new) or EMPTY), drop)


def _empty(element: etree._Element) -> None:
    del element[:]
    element.text = None


def _root(raw: str) -> tuple[str, Callable[[str], str]]:
    """A text, and how to spell another in its place: a code for a root becomes a UUID."""
    coded = _CODED_ROOT.fullmatch(raw)
    if not coded and not _ROOT.fullmatch(raw):
        return raw, str
    return "".join(coded.groups()) if coded else raw, lambda new: _CODED.sub(r"00000000-0000-0000-\1-\2", new)


CCDA = record_format("ccda", "a folder of C-CDA documents, or one", (".xml",), CcdaTable)
