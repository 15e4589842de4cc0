r"""JSON of Label Studio: a list of tasks, each a note with the annotations of people or the predictions of an engine.

    [{"data": {"id": "110-01", "group": "110", "text": "Dr. Ames"},
      "annotations": [{"result": [{"from_name": "label", "to_name": "text", "type": "labels",
        "value": {"start": 4, "end": 8, "text": "Ames", "labels": ["DOCTOR"]}}]}]}]

Spans that an engine suggests are written as `predictions`, with a `score` each, so Label Studio shows them as
pre-annotations. Of several annotations the ground truth is read, or else the last; without an annotation the
predictions are read. The labelling interface must be `<Labels name="label" toName="text">` on
`<Text name="text" value="$text"/>`.

Label Studio counts code points, and `\r\n` as two; releases before 2022 counted the units of UTF-16. The quoted text
shows which applies. In it, a line end is written as a backslash and an n.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError
from phistack.features.formats.format import Format, NoteFile, Notes, Pieces, Reading
from phistack.features.formats.jsonl import json_of
from phistack.features.formats.records import PATIENT_COLUMN, checked_span, read_record
from phistack.features.labels import LabelSet

_NAME = "corpus.json"
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_DECODER = json.JSONDecoder()
_SEVERAL = "tasks with several annotations, of which one was read: the ground truth, or the last"
_PREDICTED = "tasks without an annotation, of which the predictions were read"
_EMPTY = "tasks without an annotation and without predictions in the export, which have no spans"
_IN_UNITS = "spans whose offsets counted UTF-16 units, as the text that is quoted beside them shows"


def read(file: NoteFile) -> Notes:
    """The note of each task, in order; :raises CorpusError: if the file is not a list, or is cut off."""
    for number, task in enumerate(_tasks(file), 1):
        try:
            yield _note(f"{file.name}, task {number}", task, file.how)
        except CorpusError as error:
            yield error


def _tasks(file: NoteFile) -> Iterator[Any]:
    """Each element of the list, with no more than one piece and one task in memory."""
    left, is_begun, n_tasks = "", False, 0
    for piece in file.pieces():
        left += piece
        if not is_begun and (left := left.removeprefix("\ufeff").lstrip()):
            if not left.startswith("["):
                raise CorpusError(f"{file.name} is not a list of tasks; export the project from Label Studio as JSON")
            left, is_begun = left[1:], True
        at = _after_blanks(left, 0)
        while at < len(left) and left[at] != "]":
            try:
                task, end = _DECODER.raw_decode(left, at)
            except (json.JSONDecodeError, RecursionError):
                break  # It may go on in the next piece.
            yield task
            n_tasks, at = n_tasks + 1, _after_blanks(left, end)
        left = left[at:]
        if len(left) > file.how.longest:
            raise CorpusError(f"{file.name}, task {n_tasks + 1}, is too long; the limit is {file.how.longest:,} bytes")
    if left.rstrip() != "]":
        raise CorpusError(f"{file.name} is cut off or not valid JSON after task {n_tasks}; export it again")


def _after_blanks(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _note(place: str, task: Any, how: Reading) -> Document:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise CorpusError(f"{place} has no data; export the project as JSON, not as JSON-MIN or another format")
    document = read_record(place, {how.columns.id: task.get("id"), **data}, how.columns, annotated=False)
    if not how.annotated:
        return replace(document, scores={})
    done = [one for one in _objects(place, task, "annotations") if one.get("was_cancelled") is not True]
    guesses = _objects(place, task, "predictions")
    how.warnings.update([_SEVERAL] * (len(done) > 1) + [_PREDICTED if guesses else _EMPTY] * (not done))
    chosen = max(enumerate(done), key=lambda one: (one[1].get("ground_truth") is True, one[0]), default=None)
    found = chosen[1] if chosen else (guesses or [{}])[-1]
    scored = [pair for region in _objects(place, found, "result") for pair in _spans(place, document, region, how)]
    scores = {span: float(score) for span, score in scored if type(score) in (int, float)}
    return replace(document, spans=tuple(span for span, _ in scored), scores=None if done else scores)


def _objects(place: str, holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = holder.get(name) or []
    if isinstance(found, list):
        found = [one for one in found if type(one) is not int]  # An export as JSON has only numbers of predictions.
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise CorpusError(f"{place}: {name} must be a list of objects; export the project as JSON")
    return found


def _spans(place: str, document: Document, region: dict[str, Any], how: Reading) -> Iterator[tuple[Span, Any]]:
    """The spans of a region, one for each of its labels, and its score; relations and choices have no labels."""
    value = region.get("value")
    labels = value.get("labels") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(labels, list):
        return
    start, end, quoted = value.get("start"), value.get("end"), value.get("text")
    if type(start) is not int or type(end) is not int or not all(isinstance(label, str) for label in labels):
        raise CorpusError(f"{place}: start and end must be whole numbers, as those of a <Text> are, and labels strings")
    quoted, text = _plain(quoted) if isinstance(quoted, str) else None, document.text
    if quoted is not None and quoted.split() != _plain(text[max(0, start) : max(0, end)]).split():
        counted = _code_points(text, start), _code_points(text, end)
        if quoted.split() == _plain(text[slice(*counted)]).split():
            how.warnings[_IN_UNITS] += 1
            start, end = counted
    for label in labels:
        pieces = _plain(text[start:end]) if quoted is not None else None
        yield checked_span(document.id, text, start, end, label, quoted=quoted, pieces=pieces), region.get("score")


def _plain(quoted: str) -> str:
    return quoted.replace("\\n", "\n")


def _code_points(text: str, units: int) -> int:
    """How many code points the first UTF-16 units of a text are."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * max(0, units)].decode("utf-16-le", "surrogatepass"))


def render(documents: Iterable[Document], labels: LabelSet) -> Pieces:
    """All notes as a list of tasks; :raises CorpusError: as `json_of` does."""
    yield _NAME, b"["
    for number, document in enumerate(documents, 1):
        yield _NAME, b",\n" if number > 1 else b"\n"
        yield _NAME, json_of(document, _task(document, number))
    yield _NAME, b"\n]\n"


def _task(document: Document, number: int) -> dict[str, Any]:
    data = {"id": document.id, PATIENT_COLUMN: document.group, "text": document.text}
    result = [_region(document, span, f"{number}-{place}") for place, span in enumerate(document.spans, 1)]
    if document.scores is None:
        return {"data": data, "annotations": [{"result": result}]}
    return {"data": data, "predictions": [{"model_version": "phistack", "result": result}]}


def _region(document: Document, span: Span, id: str) -> dict[str, Any]:
    value = {"start": span.start, "end": span.end, "text": document.text[span.start : span.end], "labels": [span.label]}
    score = (document.scores or {}).get(span)
    scored = {} if score is None else {"score": round(score, 4)}
    return {"id": id, "from_name": "label", "to_name": "text", "type": "labels", "value": value, **scored}


LABEL_STUDIO = Format(
    "labelstudio", "a file with a JSON list of Label Studio's tasks", (".json", ".json.gz"), read, render,
    single_file=True, is_utf8=True,
)  # fmt: skip
