"""UIMA CAS XMI, as INCEpTION and WebAnno export and import it: one `.xmi` file per note. Needs dkpro-cassis.

    <custom:PHI xmi:id="2" sofa="1" begin="12" end="16" kind="NAME_DOCTOR"/>
    <cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text/plain" sofaString="Seen by Dr. Ames."/>

The layer `webanno.custom.PHI` with the feature `kind`, common in German hospitals (GeMTeX, GraSCCo), is written and
read. Named entities of DKPro Core and layers of Averbis Health Discovery (with GeMTeX's labels) are only read. The type
system is not needed. Offsets in the file count UTF-16 units, as Java does; cassis turns them into code points.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from lxml import etree

from phistack.features.documents import Document
from phistack.features.errors import CorpusError, need
from phistack.features.formats.format import Format, NoteFile, Notes, Pieces
from phistack.features.formats.records import checked_span, file_name
from phistack.features.formats.xml import parsed, refuse_not_xml
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_XMI, _CUSTOM = "{http://www.omg.org/XMI}", "webanno.custom."
_PHI, _TYPE_SYSTEM = f"{_CUSTOM}PHI", "TypeSystem.xml"
# Layer -> the feature that has the label, and what the label begins with.
_LAYERS = {_PHI: ("kind", ""), "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity": ("value", "")} | {
    f"de.averbis.types.health.{name}": ("kind", label)
    for name, label in (
        *(("Age", "AGE"), ("Contact", "CONTACT"), ("Date", "DATE"), ("ID", "ID"), ("Location", "LOCATION")),
        *(("Name", "NAME"), ("PHIOther", "OTHER"), ("Profession", "PROFESSION")),
    )
}
_OF_UIMA = {f"{_XMI}id", "sofa", "begin", "end"}
_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, UserWarning, etree.LxmlError)


def _cassis() -> Any:
    need("cassis", "inception", "The format inception")
    import cassis

    return cassis


def read(file: NoteFile) -> Notes:
    """The note of a file.

    :raises MissingResourceError: if dkpro-cassis is not installed.
    :raises CorpusError: for malformed XML, no text, spans that do not fit it, or none in a layer that is known.
    """
    root = parsed(f"{_XMI}XMI", file.name, file.text("utf-8"))
    types = {_type_of(element) for element in root} if file.how.annotated else set()
    _refuse_unknown(file, types)
    try:
        text, found = _content(root, types & _LAYERS.keys())
    except _DAMAGE as error:
        why = "offsets that do not fit its text" if isinstance(error, UserWarning) else type(error).__name__
        raise CorpusError(f"{file.name} is a damaged CAS ({why}); export it again as UIMA CAS XMI") from None
    spans = (checked_span(file.id, text, start, end, label) for start, end, label in found)
    yield Document(file.id, text, tuple(spans), file.patient)


def _type_of(element: etree._Element) -> str:
    name = etree.QName(element)
    package = (name.namespace or "").removeprefix("http:///").removesuffix(".ecore")
    return f"{package.replace('/', '.')}.{name.localname}"


def _refuse_unknown(file: NoteFile, types: Iterable[str]) -> None:
    """Refuse a note with annotations of a project whose layers are not known: it would seem to have no PHI."""
    n_custom = sum(name.startswith(_CUSTOM) for name in types)
    if not n_custom or any(name in _LAYERS for name in types):
        return
    beside = NoteFile(file.path.with_name(_TYPE_SYSTEM), file.how)
    if not (beside.path.exists() and _PHI in beside.text("utf-8")):
        raise CorpusError(
            f"document {shown_id(file.id)} has annotations of {n_custom} other layers than {_PHI}; export that layer, "
            "with the label in the feature kind"
        )


def _types(layers: Iterable[str]) -> Any:
    types = _cassis().TypeSystem()
    for layer in layers:
        made = types.create_type(layer, supertypeName="uima.tcas.Annotation")
        types.create_feature(made, _LAYERS[layer][0], "uima.cas.String")
    return types


def _content(root: etree._Element, layers: set[str]) -> tuple[str, list[tuple[int, int, str]]]:
    """The text of a CAS, and start, end and label of its annotations in these layers; raises what cassis raises."""
    reduced = BytesIO(_reduced(root, layers))
    with warnings.catch_warnings():
        # cassis warns of an offset that does not fit, and leaves it as it is.
        warnings.simplefilter("error", UserWarning)
        cas = _cassis().load_cas_from_xmi(reduced, _types(layers))
        if cas.sofa_string is None:
            raise ValueError
        found = [(layer, one) for layer in sorted(layers) for one in cas.select(layer)]
        return cas.sofa_string, [(int(one.begin), int(one.end), _label(layer, one)) for layer, one in found]


def _reduced(root: etree._Element, layers: set[str]) -> bytes:
    """The CAS without elements of other types, which may refer to each other, and without other features."""
    ids = set()
    for element in [*root]:
        name = _type_of(element)
        if name in layers:
            for feature in {*element.attrib} - _OF_UIMA - {_LAYERS[name][0]}:
                del element.attrib[feature]
            element[:] = []
            ids.add(element.get(f"{_XMI}id"))
        elif name not in ("uima.cas.Sofa", "uima.cas.View"):
            root.remove(element)
    for view in root.iterfind("{http:///uima/cas.ecore}View"):
        view.set("members", " ".join(id for id in view.get("members", "").split() if id in ids))
    return etree.tostring(root, encoding="utf-8")


def _label(layer: str, annotation: Any) -> str:
    """The label of an annotation; without one, the name of its layer."""
    feature, begin = _LAYERS[layer]
    value = annotation[feature] or ""
    if not begin:
        return value or layer.rpartition(".")[2]
    return f"{begin}_{value.upper()}" if value not in ("", "none", "other") else begin


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """One file per note, named after its id.

    :raises MissingResourceError: if dkpro-cassis is not installed.
    :raises CorpusError: if a text holds a character that XML 1.0 cannot.
    """
    types = _types((_PHI,))
    phi = types.get_type(_PHI)
    for document in documents:
        refuse_not_xml(document)
        cas = _cassis().Cas(typesystem=types, sofa_string=document.text, sofa_mime="text/plain")
        cas.add_all([phi(begin=span.start, end=span.end, kind=span.label) for span in document.spans])
        yield file_name(document.id, ".xmi"), cas.to_xmi().encode("utf-8")


INCEPTION = Format(
    "inception", "a folder of UIMA CAS XMI files, as of INCEpTION", (".xmi",), read, render, is_utf8=True,
    beside=(_TYPE_SYSTEM,),
)  # fmt: skip
