"""FHIR as NDJSON, the form of a bulk export: one resource per line, of release R4 or R4B.

    {"resourceType": "DocumentReference", "id": "n1", "status": "current", "subject": {"reference": "Patient/123"},
     "content": [{"attachment": {"contentType": "text/plain", "data": "U2VlbiBieSBEci4gQW1lcy4="}}]}

The rules of `fhir.toml` name elements by their path (`Patient.birthDate`), by the type that holds them
(`HumanName.family`, `HumanName.*`), or by the type of their value (`Date`). `fhir.resources` knows these types, and
refuses a resource that breaks the standard. A value that no longer fits its type becomes a rendered value:

    "_birthDate": {"extension": [{"url": ".../StructureDefinition/rendered-value", "valueString": "[DATE]"}]}

In a point in time only the day is replaced. Numbers keep their digits, as the standard requires
(https://hl7.org/fhir/R4B/). A reference `Patient/123` gets the code of the id 123.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
import typing
from collections.abc import Callable, Iterator
from functools import cache, partial
from html import unescape
from types import NoneType
from typing import Any

from lxml import etree

from phistack.features.errors import CorpusError, PhistackError, need
from phistack.features.formats.fields import OTHER, REMOVE, Field, FieldTable, is_years, record_format
from phistack.features.formats.format import NoteFile
from phistack.features.formats.narrative import EMPTY, Narrative
from phistack.features.formats.pdf import text_of
from phistack.features.formats.xml import parsed
from phistack.features.registry import packaged_table

_TABLE = packaged_table("phistack.features.formats", "fhir.toml")
_RENDERED = "http://hl7.org/fhir/StructureDefinition/rendered-value"
_REFERENCE = re.compile(
    r"(?P<before>#|(?:\w+://\S*/)?(?P<type>[A-Z][A-Za-z]+)/)(?P<id>[A-Za-z0-9.-]{1,64})(?:/_history/.*)?"
)
_DAY = r"\d{4}(-\d\d(-\d\d)?)?"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
_NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_FORMS = {"Date": _DAY, "DateTime": f"{_DAY}|{_TIME}", "Instant": _TIME, "Decimal": _NUMBER}
_CODE = re.compile(r"""[\w.:+/%{}\[\]()*'#<>=|!-]{1,60}(\s*;\s*charset\s*=\s*"?[\w.:-]{1,20}"?)?""", re.IGNORECASE)
"""A code that is kept looks like this; a media type may have a charset."""
_ENTITY = re.compile("&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]*;")
_CHARSET = re.compile(r"""charset\s*=\s*"?([\w.:-]+)""", re.IGNORECASE)
_UNKNOWN = "not a resource of a type that FHIR R4B has"
_DROPPED = object()


class _Number(str):
    """A number as it is written."""


@cache
def types_of(model: str) -> dict[str, str]:
    """Element -> type, of a data type or resource.

    :raises ValueError: if there is none of that name.
    :raises MissingResourceError: if fhir.resources is not installed.
    """
    return {item.alias: _type(item.annotation) for item in _model(model).model_fields.values()}


def _model(name: str) -> Any:
    need("fhir", "fhir", "FHIR")
    from fhir.resources.R4B import get_fhir_model_class

    try:
        return get_fhir_model_class(name)
    except ValueError:
        raise ValueError(_UNKNOWN) from None


def _type(annotation: Any) -> str:
    """`HumanNameType` of a list of names, `Date` of a date that may be missing."""
    if typing.get_origin(annotation) is typing.Annotated:
        return type(annotation.__metadata__[0]).__name__
    inner = next((inner for inner in typing.get_args(annotation) if inner is not NoneType), None)
    return str(annotation.__name__) if inner is None else _type(inner)


class FhirTable(FieldTable):
    """Resources."""

    declared = _TABLE

    def split(self, file: NoteFile) -> Iterator[tuple[str, bytes | None]]:
        return ((f"line {number}", line) for number, line in enumerate(file.lines(), 1))

    def parsed(self, text: str) -> dict[str, Any]:
        try:
            tree = _DECODER.decode(text.removeprefix("\ufeff").strip())
        except (json.JSONDecodeError, RecursionError):
            raise ValueError("not valid JSON") from None
        if not isinstance(tree, dict) or "meta" not in types_of(str(tree.get("resourceType"))):
            raise ValueError(_UNKNOWN)
        if tree["resourceType"] in _TABLE["refused"]:
            raise ValueError(f"a {tree['resourceType']}, not one resource a line")
        return tree

    def check(self, tree: dict[str, Any], text: str) -> None:
        """Refuse what the standard does not allow; messages name only elements of the standard."""
        model = path = tree["resourceType"]
        kind = _model(model)
        try:
            kind.model_validate_json(text.removeprefix("\ufeff"))
        except ValueError as error:
            found: Any = error  # of pydantic, with the place; its message quotes values
            for name in (name for name in found.errors()[0]["loc"] if isinstance(name, str)):
                if name not in types_of(model):
                    break
                path, model = f"{path}.{name}", types_of(model)[name].removesuffix("Type")
            raise ValueError(f"not valid FHIR R4B at {path}") from None

    def named(self, tree: dict[str, Any]) -> tuple[str, str]:
        """`DocumentReference/n1`, and the id of the patient, or that of a resource without a patient."""
        kind, id = tree["resourceType"], str(tree.get("id", ""))
        named = (tree[name] for name in _TABLE["patient"] if name in tree)
        references = (str(of.get("reference", "")).partition("Patient/")[2] for of in named if isinstance(of, dict))
        patients = (reference.partition("/_history")[0] for reference in references)
        return id and f"{kind}/{id}", next(filter(None, patients), id)

    def is_about(self, tree: dict[str, Any]) -> bool:
        return any(name.startswith(tree["resourceType"] + ".") for names in _TABLE["roster"].values() for name in names)

    def fields(self, tree: dict[str, Any]) -> Iterator[Field]:
        """The elements in the order of their names, each with its extensions behind it."""
        return self._walk(tree, tree["resourceType"], tree["resourceType"])

    def _walk(self, tree: dict[str, Any], model: str, path: str) -> Iterator[Field]:
        types = types_of(model)
        for key in sorted(tree.keys() - {"resourceType"}, key=lambda key: (key.removeprefix("_"), key.startswith("_"))):
            kind, value = types.get(key, ""), tree[key]
            values = value if isinstance(value, list) else [value]
            of_type = "Element.id" if key == "id" and "resourceType" not in tree else f"{model}.{key}"
            names = (f"{path}.{key}", of_type, f"{model}.{'_' * key.startswith('_')}*")
            branches, rule = [branch for branch in values if isinstance(branch, dict)], self.rule(names)
            if branches and (rule == OTHER or self.rules[rule] != REMOVE):
                for branch in branches:
                    inner = branch.get("resourceType")
                    yield from self._walk(branch, inner or _held(kind, branch), inner or f"{path}.{key}")
            elif branches or (isinstance(value, list) and kind in _FORMS):
                # A day in a list has no place for what is not a day.
                yield Field(
                    (*names, OTHER) if branches else (OTHER,), None, lambda new: None, partial(_drop, tree, key)
                )
            else:
                is_list = isinstance(value, list)
                places: list[tuple[Any, Any]] = [(value, at) for at in range(len(value))] if is_list else [(tree, key)]
                for holder, at in places:
                    own: tuple[str, ...] = (*names, kind)
                    own = self.checked(own, str(holder[at]), _CODE) if kind == "Code" else own
                    yield _leaf(tree, f"{model}.{key}", own, holder, at)

    def spelled(self, tree: dict[str, Any]) -> str:
        """One line of JSON, without what the rules have emptied."""
        return _spelled(tree) + "\n"


def _held(kind: str, branch: dict[str, Any]) -> str:
    """The data type of a branch; a quantity in years is an age."""
    is_age = kind == "QuantityType" and is_years(branch.get("code", branch.get("unit")))
    return "Age" if is_age else kind.removesuffix("Type")


def _leaf(tree: dict[str, Any], element: str, names: tuple[str, ...], holder: Any, at: Any) -> Field:
    """A value of an element; :raises ValueError: if it holds a text that cannot be read."""
    value, kind = holder[at], names[-1]
    text, spelled = _texts(tree, element, kind, value)

    def put(new: str) -> None:
        written = spelled(new)
        if kind in _FORMS and not re.fullmatch(_FORMS[kind], written):
            del holder[at]
            extensions = holder.setdefault(f"_{at}", {}).setdefault("extension", [])
            extensions.insert(0, {"url": _RENDERED, "valueString": new or EMPTY})
        else:
            holder[at] = _Number(written) if isinstance(value, _Number) else written

    return Field(names, text, put, partial(_drop, holder, at))


def _drop(holder: Any, at: Any) -> None:
    holder[at] = _DROPPED


def _texts(tree: dict[str, Any], element: str, kind: str, value: Any) -> tuple[str | None, Callable[[str], str]]:
    """The text of a value, and how another text is spelled in its place."""
    if value in (None, "") or isinstance(value, bool):
        return None, str
    if element in ("Attachment.data", "Binary.data"):
        return _attachment(tree, value)
    if kind == "Xhtml":
        div = _div(value)
        narrative = Narrative(div)

        def put(new: str) -> str:
            narrative.put(new)
            return etree.tostring(div, encoding="unicode")

        return narrative.text, put
    if element in ("Reference.reference", "Attachment.url"):
        match = _REFERENCE.fullmatch(value)
        if element == "Attachment.url" and not tree.get("data") and not (match and match["type"] == "Binary"):
            raise ValueError("an attachment is given by its address only; export its data, or its Binary")
        before = match["type"] + "/" if match and match["type"] else "#" if match else ""
        return match["id"] if match else value, lambda new: before + new
    if kind in ("DateTime", "Instant"):
        return value[:10], lambda new: new + value[10:] if len(new) == len("2021-03-05") else new
    return str(value).replace(EMPTY, ""), lambda new: new or EMPTY


def _attachment(tree: dict[str, Any], data: str) -> tuple[str, Callable[[str], str]]:
    """As `_texts`, of an attachment; a PDF becomes the text that it shows."""
    media = tree.get("contentType")
    is_pdf = str(media).lower() == "application/pdf"
    charset = "utf-8" if is_pdf else _charset(media)
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
        text = text_of(content, "an attachment") if is_pdf else content.decode(charset)
    except UnicodeDecodeError as error:
        raise ValueError(f"an attachment is not {error.encoding} at byte {error.start}") from None
    except PhistackError as error:
        raise ValueError(str(error)) from None
    except ValueError:
        raise ValueError("the base64 of an attachment is damaged") from None
    except LookupError:
        raise ValueError("an attachment is in an unknown encoding") from None

    def spelled(new: str) -> str:
        if is_pdf:
            tree["contentType"] = "text/plain; charset=utf-8"
        return base64.b64encode(new.encode(charset)).decode()

    return text, spelled


def _charset(given: Any) -> str:
    """The encoding of an attachment; :raises ValueError: if its text cannot be read."""
    media = str(given or "").partition(";")[0].strip().lower()
    if media not in _TABLE["texts"]:
        shown = media if mimetypes.guess_extension(media) else "of an unknown type"
        raise ValueError(f"an attachment is {shown}, whose text cannot be read")
    if not _CODE.fullmatch(given):
        raise ValueError("the type of an attachment has more than a charset, which may name a person; remove it")
    named = _CHARSET.search(given)
    return named[1] if named else "utf-8"


def _div(text: str) -> etree._Element:
    """The element of a narrative; :raises ValueError: if it is none."""
    try:
        return parsed("{http://www.w3.org/1999/xhtml}div", "a narrative", _ENTITY.sub(lambda m: unescape(m[0]), text))
    except CorpusError:
        raise ValueError("a narrative is not a well-formed div of XHTML") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an object with one name twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError("not valid JSON")


_DECODER = json.JSONDecoder(
    parse_int=_Number, parse_float=_Number, parse_constant=_no_constant, object_pairs_hook=_once
)


def _spelled(value: Any) -> str:
    """JSON; nothing for what was dropped and what holds nothing else."""
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{inner}" for name, each in value.items() if (inner := _spelled(each)))
        return f"{{{joined}}}" if (joined := ",".join(members)) else ""
    if isinstance(value, list):
        return f"[{joined}]" if (joined := ",".join(filter(None, map(_spelled, value)))) else ""
    if value is _DROPPED:
        return ""
    return str(value) if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


FHIR = record_format(
    "fhir", "NDJSON of FHIR R4 or R4B, a resource a line", (".ndjson", ".ndjson.gz", ".jsonl", ".jsonl.gz"), FhirTable
)
