"""Bundles with the submodels of papers that were saved before these had a room of their own."""

import json
from pathlib import Path

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.features.documents import Document

BUNDLE = Path(__file__).parent / "golden" / "bundle.zip"
GOLDEN = json.loads(BUNDLE.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_bundle_has_the_kinds_of_then() -> None:
    assert read_manifest(BUNDLE)["kinds"] == {"deduce": "deduce.v1", "entities": "entities.v1"}


@pytest.mark.parametrize("names", GOLDEN["spans"])
def test_an_old_bundle_annotates_as_it_did(names: str) -> None:
    engine = load_bundle(BUNDLE, only=tuple(names.split("+")))
    notes = [Document(str(n), text) for n, text in enumerate(GOLDEN["texts"])]
    found = [[[span.start, span.end, span.label] for span in note.spans] for note in engine.annotate(notes)]
    assert found == GOLDEN["spans"][names]
