"""How `benchmarks.reached` counts redaction, with an engine that marks what it is told to."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from benchmarks.reached import changed_stretches, redaction_on
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import Engine
from phistack.features.documents import Corpus, Document
from phistack.features.labels import LabelSet
from tests.annotated import annotated

LABELS = LabelSet.named("i2b2-2014")
NOTES = (
    annotated("Seen [Ann Hill|NAME] on [3/4/2021|WHEN].", "a"),
    Document("b", "Aspirin since 2019, aged 44.", ()),
    Document("c", "No change.", ()),
)
MARKED = {
    "a": annotated("Seen Ann [Hill|PATIENT] on [3/4/2021|DATE].").spans,
    "b": annotated("[Aspirin|PATIENT] since [2019|DATE], aged [44|AGE].").spans,
    "c": (),
}


@dataclass
class Told:
    """An engine that finds what `MARKED` says."""

    label_set, language = LABELS, "en"

    def annotate(self, documents: Any) -> list[Document]:
        return [document.with_spans(MARKED[document.id]) for document in documents]


TOLD = cast(Engine, Told())


def test_it_counts_what_is_touched_covered_right_and_changed() -> None:
    found = redaction_on(TOLD, Corpus(NOTES, LABELS), Policy.named("safe-harbor"))
    shares = {"identifiers touched": 1.0, "identifiers covered": 0.5, "precision": 2 / 3, "clean notes changed": 0.5}
    assert found == pytest.approx(shares | {"other words changed": 1 / 9})


def test_what_the_policy_leaves_as_it_was_is_not_changed() -> None:
    stretches = changed_stretches(TOLD, NOTES, Policy.named("safe-harbor"))
    assert stretches[1] == [(0, 7)], "a bare year and an age under 90 stay"
