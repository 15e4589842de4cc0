"""A certificate from notes that two people annotated: bounds with each annotation, and with what either marked."""

from pathlib import Path

import pytest

from phistack.ensemble.deidentification import Policy
from phistack.ensemble.experiments.annotators import by_annotator, either
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError
from phistack.features.labels import LabelSet
from tests.batch_engines import quick

LABELS = LabelSet.named("i2b2-2014")
TEXT = "Seen by Dr. Ames with Ann Hill of Salem."
AMES, ANN, HILL, SALEM = Span(12, 16, "DOCTOR"), Span(22, 25, "PATIENT"), Span(22, 30, "PATIENT"), Span(34, 39, "CITY")


def corpus(*spans: Span, patients: int = 25) -> Corpus:
    return Corpus(tuple(Document(f"{number}-01", TEXT, spans) for number in range(patients)), LABELS)


def test_either_has_the_spans_of_both_and_the_whole_of_those_that_overlap() -> None:
    joined = either(corpus(AMES, ANN), corpus(SALEM, HILL))
    assert {document.spans for document in joined.documents} == {(AMES, HILL, SALEM)}


def test_what_one_annotator_overlooked_raises_the_bound() -> None:
    table = by_annotator({"ours": corpus(AMES), "theirs": corpus(AMES, HILL)}, quick(Path()), Policy.named("tag"))
    rows = {str(row[0]): row for section in table.sections for row in section}
    assert rows["ours"][1] == "25" and rows["theirs"][1] == rows["either"][1] == "50"
    assert str(rows["ours"][2]).endswith("(0.00)") and str(rows["either"][2]).endswith("(50.00)")
    assert "strict F1 of 66.67" in table.note


def test_annotations_of_other_notes_are_refused() -> None:
    with pytest.raises(EvaluationError):
        either(corpus(AMES), corpus(AMES, patients=24))
