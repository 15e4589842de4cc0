"""Every registered submodel learns from notes of any shape, and proposes for notes of any other."""

import logging
from pathlib import Path
from typing import Any

import pytest

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.errors import TrainingError
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import submodel_class
from phistack.submodels.registry import KINDS
from tests.odd_shapes import SHAPES
from tests.papers import deduce_stand_in
from tests.test_submodels_contract import check_candidates

QUICK = {
    "blstm": {
        "networks": 1, "epochs": 1, "least_steps": 2, "word_size": 4, "character_size": 2, "kernels": [2],
        "channels": 2, "feature_size": 2, "lstm_size": 4, "foreseen_words": 5, "batch_tokens": 512,
    },
    "crf": {"max_iterations": 5},
    "engine": {"bundle": str(Path(__file__).parent / "golden" / "bundle_protocol_2.zip")},
}  # fmt: skip
"""What makes training quick; the code that runs is that of the defaults."""

OTHER_TEXTS = ("", "\n", "Gorse", "Dr. Gorse on 05/12/2019.", "\r\n\u3000\tDr.\u00a0Alder", "ok " * 2000, "." * 500)


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the program that a kind runs."""
    deduce_stand_in.install(monkeypatch)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS.names)
def test_it_learns_from_notes_of_any_shape_and_proposes_for_any(
    kind: str, shape: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = SHAPES[shape]()
    space = FeatureSpace(FeatureSettings())
    tables = space.fit(documents)
    found = submodel_class(kind)
    with caplog.at_level(logging.DEBUG, logger="phistack"):
        model = found(**QUICK.get(found.name, {})).fit(tables, seed=1)
    others = space.tables(Document(f"u{i}", text) for i, text in enumerate(OTHER_TEXTS))
    labels = {span.label for document in documents for span in document.spans}
    proposals = model.propose([*tables, *others])
    for table, candidates in zip([*tables, *others], proposals, strict=True):
        check_candidates(table.document, candidates, labels, found.name)
    model.save(tmp_path)
    assert found.load(SavedFiles.of_folder(tmp_path), space).propose(others) == model.propose(others)
    assert not any(name in caplog.text for name in ("Selwyn", "Alder", "2019"))


@pytest.mark.parametrize("kind", KINDS.names)
def test_one_note_is_enough_and_none_is_reported(kind: Any) -> None:
    documents = SHAPES["one line"]()[:1]
    found = submodel_class(kind)
    model = found(**QUICK.get(found.name, {}))
    tables = FeatureSpace(FeatureSettings()).fit(documents)
    labels = {span.label for span in documents[0].spans}
    check_candidates(documents[0], model.fit(tables).propose(tables)[0], labels, found.name)
    assert model.propose([]) == []
    with pytest.raises(TrainingError):
        found(**QUICK.get(found.name, {})).fit([])
