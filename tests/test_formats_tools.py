"""Exports of doccano, Label Studio and INCEpTION are read, and these tools get suggestions with scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.engine.reading import Reading
from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.formats import Reader, read_corpus, write_corpus
from phistack.features.formats.corpora import write_documents
from phistack.features.formats.recognise import recognise
from phistack.features.labels import LabelSet
from phistack.features.plain_view import PlainView

SECRET = "Zxqvname"
TEXT = f"\U0001f600 Dr. {SECRET} saw\r\nAnna"
LABELS = LabelSet.named("i2b2-2014")
SPANS = (Span(6, 14, "DOCTOR"), Span(20, 24, "PATIENT"))


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
    return path


def region(start: Any, end: Any, text: str | None, *labels: str, **more: object) -> dict[str, Any]:
    quoted = {} if text is None else {"text": text}
    value = {"start": start, "end": end, "labels": [*labels], **quoted}
    return {"value": value, "from_name": "label", "to_name": "text", "type": "labels", **more}


def task(*regions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": TEXT}, "annotations": [{"result": [*regions]}], **more}


DOCTOR, ANNA = region(6, 14, SECRET, "DOCTOR"), region(20, 24, "Anna", "PATIENT")


def xmi(annotations: str, text: str = TEXT) -> str:
    spaces = (
        'xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:tcas="http:///uima/tcas.ecore" '
        'xmlns:custom="http:///webanno/custom.ecore" xmlns:health="http:///de/averbis/types/health.ecore" '
        'xmlns:type="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore"'
    )
    escaped = text.replace("\r", "&#13;").replace("\n", "&#10;")
    sofa = f'<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="{escaped}"/>'
    ids = [id for id in ("2", "3") if f'xmi:id="{id}"' in annotations]
    members = f'<cas:View sofa="1" members="{" ".join(ids)}"/>'
    return f'<xmi:XMI {spaces} xmi:version="2.0"><cas:NULL xmi:id="0"/>{annotations}{sofa}{members}</xmi:XMI>'


def phi(number: int, begin: object, end: object, more: str = 'kind="DOCTOR"', layer: str = "custom:PHI") -> str:
    return f'<{layer} xmi:id="{number}" sofa="1" begin="{begin}" end="{end}" {more}/>'


@pytest.mark.parametrize(
    "spans",
    [
        {"label": [[6, 14, "DOCTOR"], [20, 24, "PATIENT"]]},
        {"labels": [[6, 14, "DOCTOR"], [20, 24, "PATIENT"]], "Comments": []},
        {
            "Comments": [],
            "relations": [],
            "entities": [
                {"id": 1, "label": "DOCTOR", "start_offset": 6, "end_offset": 14},
                {"id": 2, "label": "PATIENT", "start_offset": 20, "end_offset": 24},
            ],
        },
    ],
)
def test_every_export_of_doccano_is_recognised_and_read(spans: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "all.jsonl", {"id": 7, "text": TEXT, **spans})
    assert [recognise(place).format.name for place in (path, tmp_path)] == ["doccano"] * 2
    corpus = read_corpus(path)
    assert corpus.documents == (Document("7", TEXT, SPANS),) and not set(corpus.warnings) - {*PATIENT_FROM_ID}


PATIENT_FROM_ID = ("notes without a column group, so that the patient is read from the id",)


def test_lines_of_ours_with_other_lists_are_not_those_of_doccano(tmp_path: Path) -> None:
    for line in ({"id": 1, "text": "x", "spans": [], "entities": []}, {"id": 1, "text": '"label": [[', "label": "x"}):
        assert recognise(written(tmp_path / "a.jsonl", line)).format.name == "jsonl"


@pytest.mark.parametrize(
    ("tasks", "spans", "warning"),
    [
        ([task(DOCTOR, ANNA)], SPANS, ""),
        ([task(region(7, 15, SECRET, "DOCTOR"), region(21, 25, "Anna", "PATIENT"))], SPANS, "counted UTF-16"),
        ([task(region(6, 14, None, "DOCTOR"), {"type": "choices", "value": {"choices": ["x"]}})], SPANS[:1], ""),
        ([task(region(15, 24, "saw\\n\\nAnna", "PATIENT"))], (Span(15, 24, "PATIENT"),), ""),
        ([task(annotations=[{"result": [DOCTOR], "was_cancelled": True}, {"result": [ANNA]}])], SPANS[1:], ""),
        (
            [task(annotations=[{"result": [DOCTOR], "ground_truth": True}, {"result": [ANNA]}])],
            SPANS[:1],
            "several annotations",
        ),
        ([task(annotations=[], predictions=[{"result": [DOCTOR]}])], SPANS[:1], "without an annotation"),
        ([task(annotations=[])], (), "without predictions"),
        ([task(annotations=[], predictions=[3])], (), "without predictions"),
    ],
)
def test_label_studio_is_read(tasks: list[Any], spans: tuple[Span, ...], warning: str, tmp_path: Path) -> None:
    corpus = read_corpus(written(tmp_path / "project.json", tasks))
    assert corpus.documents == (Document("7", TEXT, spans),)
    assert [text for text in corpus.warnings if warning in text] == [*corpus.warnings]
    assert bool(corpus.warnings) == bool(warning)


def test_tasks_are_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a piece ends, and with a limit that only the longest task needs to respect."""
    notes = tuple(Document(f"110-0{i}", f'{TEXT} \\ " [{{é}}] {i}', SPANS, "110") for i in range(9))
    write_corpus(Corpus(notes, LABELS), tmp_path / "a.json", format="labelstudio")
    for size in (1, 7, 1000):
        monkeypatch.setattr("phistack.features.formats.format._PIECE", size)
        assert read_corpus(tmp_path / "a.json").documents == notes
    found = Reader().notes(tmp_path / "a.json")
    found.how.longest = 2000
    assert sum(1 for _ in found) == 9 and (tmp_path / "a.json").stat().st_size > 2000
    found.how.longest = 100
    with pytest.raises(CorpusError, match=r"task [0-9], is too long; the limit is 100 bytes"):
        list(found)


def test_suggestions_go_out_with_scores_and_come_back(tmp_path: Path) -> None:
    decisions = [Decision(span, 0.25 * n, n > 1, ()) for n, span in enumerate((Span(0, 1, "DATE"), *SPANS), 1)]
    note = Document("110-01", TEXT, (), "110")
    readings = [Reading(note, PlainView(note), decisions=decisions)]
    readings.append(Reading(empty := Document("110-02", "", (), "110"), PlainView(empty)))
    suggested = [reading.suggested for reading in readings]
    write_documents(suggested, LABELS, tmp_path / "a.json", format="labelstudio")
    first, second = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert [one["score"] for one in first["predictions"][0]["result"]] == [0.5, 0.75]
    assert second["predictions"][0]["result"] == [] and "annotations" not in second, "a person has yet to look at it"
    back = read_corpus(tmp_path / "a.json")
    assert back.documents == tuple(suggested)
    assert [document.scores for document in back.documents] == [dict(zip(SPANS, (0.5, 0.75), strict=True)), {}]
    mapped = back.mapped("ngrid-2016").documents[0]
    assert mapped.scores and sorted(mapped.scores) == [*mapped.spans]
    assert mapped.with_spans(mapped.spans).scores is None, "spans that somebody gave are no suggestions"


def test_the_layers_of_german_hospitals_are_read_without_a_type_system(tmp_path: Path) -> None:
    tokens = '<type:Token xmi:id="9" sofa="1" begin="0" end="99"/><cas:FSArray xmi:id="10" elements="9"/>'
    notes = {
        "gemtex": phi(2, 7, 15) + phi(3, 21, 25, 'kind="NAME_PATIENT" self="9"'),
        "unlabelled": phi(2, 7, 15, ""),
        "averbis": phi(2, 7, 15, 'kind="doctor"', "health:Name") + phi(3, 21, 25, 'kind="other"', "health:Name"),
        "nothing": "",
        "another": phi(2, 7, 15, "", "custom:Comment") + phi(3, 7, 15),
    }
    for name, annotations in notes.items():
        written(tmp_path / f"{name}.xmi", xmi(annotations + tokens))
    written(tmp_path / "TypeSystem.xml", "<typeSystemDescription/>")
    corpus = read_corpus(tmp_path)
    assert not corpus.warnings
    assert {d.id: [s.label for s in d.spans] for d in corpus.documents} == {
        "another": ["DOCTOR"], "averbis": ["NAME_DOCTOR", "NAME"], "gemtex": ["DOCTOR", "NAME_PATIENT"],
        "nothing": [], "unlabelled": ["PHI"],
    }  # fmt: skip
    assert {d.text for d in corpus.documents} == {TEXT}
    assert corpus.documents[2].spans == (Span(6, 14, "DOCTOR"), Span(20, 24, "NAME_PATIENT"))


def test_a_note_with_other_layers_only_needs_a_type_system_with_the_known_one(tmp_path: Path) -> None:
    path = written(tmp_path / "a.xmi", xmi(phi(2, 7, 15, "", "custom:Anonym")))
    with pytest.raises(CorpusError, match=r"document a has annotations of 1 other layers than webanno.custom.PHI"):
        read_corpus(path)
    assert [d.text for d in Reader().notes(path, annotated=False)] == [TEXT]
    written(tmp_path / "TypeSystem.xml", "<name>webanno.custom.PHI</name>")
    assert read_corpus(path).documents == (Document("a", TEXT),)


BAD: list[tuple[str, object, str]] = [
    ("a.jsonl", {"id": 1, "text": SECRET, "label": [[0, 99, "DATE"]]}, "0-99 ends beyond the text, which has 8"),
    ("a.jsonl", {"id": 1, "text": SECRET, "label": [[0, "4", "DATE"]]}, "must be whole numbers"),
    ("a.jsonl", {"id": 1, "text": SECRET, "label": [[0, 4]]}, "line 1: a span is neither [start, end, label] nor an"),
    ("a.jsonl", {"id": 1, "text": SECRET, "label": [], "entities": SECRET}, "entities is not a list of spans; correct"),
    ("a.json", {"id": 1, "data": {"text": SECRET}}, "a.json is not a list of tasks; export the project from Label"),
    ("a.json", [{"id": 1, "text": SECRET}], "a.json, task 1 has no data; export the project as JSON"),
    ("a.json", [SECRET], "task 1 has no data"),
    ("a.json", [{"id": 1, "data": {"note": SECRET}}], "task 1: text is missing or is not a string"),
    ("a.json", json.dumps([task(), task()])[:-9], "a.json is cut off or not valid JSON after task 1; export it again"),
    ("a.json", json.dumps([task()]) + SECRET, "not valid JSON after task 1"),
    ("a.json", "", "a.json is cut off or not valid JSON after task 0"),
    ("a.json", [task(region(6, 99, None, "DATE"))], "document 7: the span 6-99 ends beyond the text, which has 24"),
    ("a.json", [task(region(0, 4, "Anna", "DATE"))], "0-4 does not cover the text that the annotation quotes"),
    ("a.json", [task(region("/p[1]", 4, None, "DATE"))], "must be whole numbers, as those of a <Text> are"),
    ("a.json", [task(annotations=SECRET)], "annotations must be a list of objects"),
    ("a.json", [task(annotations=[{"result": [SECRET]}])], "result must be a list of objects"),
    ("a.xmi", xmi("")[:-9], "a.xmi is not well-formed XML"),
    ("a.xmi", "<deIdi2b2/>", "does not have the root element {http://www.omg.org/XMI}XMI"),
    ("a.xmi", "<!DOCTYPE x>" + xmi(""), "a document type declaration, which is refused"),
    ("a.xmi", xmi(phi(2, 0, 99)), "a.xmi is a damaged CAS (offsets that do not fit its text); export it again"),
    ("a.xmi", xmi(phi(2, 1, 4)), "offsets that do not fit its text"),
    ("a.xmi", xmi(phi(2, 4, 4)), "the span 3-3 is empty or reversed"),
    ("a.xmi", xmi(phi(2, "", 4)), "damaged CAS (ValueError)"),
    ("a.xmi", xmi(phi(2, 2, 4, 'kind="Dr. X"')), "the span 1-3 has a label that is not a valid name"),
]


def test_other_tasks_are_read_beside_one_that_cannot_be(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [task(), {"id": 8}, task(DOCTOR)])
    found = [note for _, _, note in recognise(path).notes()]
    assert [isinstance(note, CorpusError) for note in found] == [False, True, False]


def test_the_labels_of_the_german_engine_become_those_of_gemtex(tmp_path: Path) -> None:
    table = str(Path(__file__).parents[1] / "data" / "gemtex.toml")
    spans = tuple(Span(n, n + 1, label) for n, label in enumerate(LABELS.labels))
    mapped = Corpus((Document("1", "x" * len(spans), spans),), LABELS).mapped(table)
    write_corpus(mapped, tmp_path / "cas", format="inception")
    back = read_corpus(tmp_path / "cas", label_set=table)
    assert back.documents == mapped.documents
    of_kind = {label: kind_of(label, "custom") for label in back.label_set.labels}
    assert {label for label, kind in of_kind.items() if kind == "OTHER"} == {"NAME_TITLE", "OTHER"}
    assert (of_kind["NAME_RELATIVE"], of_kind["LOCATION_ZIP"], of_kind["ID"]) == ("PERSON", "ZIP", "ID")
