"""What every registered kind of submodel must do, whatever it is."""

import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.documents import Document
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate, Submodel, in_lines, submodel_class
from phistack.submodels.registry import KINDS, usual_name
from tests.annotated import seen
from tests.invented_names import NAMES
from tests.papers import deduce_stand_in

QUICK: dict[str, dict[str, Any]] = {
    "blstm": {
        "networks": 1, "epochs": 2, "least_steps": 60, "lstm_size": 32, "learning_rate": 0.01, "invented_notes": 0
    },
    "engine": {"bundle": "english"},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def programs() -> Iterator[None]:
    """A stand-in for the program that a kind runs."""
    with pytest.MonkeyPatch.context() as patch:
        deduce_stand_in.install(patch)
        yield


def _documents() -> list[Document]:
    return [seen(i, name, ".\nPlan: rest and fluids.\n\n") for i, name in enumerate(NAMES * 2)]


@pytest.fixture(scope="module")
def tables() -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings()).fit(_documents())


def check_candidates(document: Document, candidates: list[Candidate], labels: set[str], name: str) -> None:
    """Check what must hold for the candidates of any note."""
    for candidate in candidates:
        assert candidate.source == name
        assert 0 <= candidate.score <= 1
        assert candidate.span.end <= len(document.text)
        assert candidate.span.label in labels
    chosen = sorted(candidate.span for candidate in candidates if candidate.chosen)
    assert all(a.end <= b.start for a, b in pairwise(chosen))


def _new(kind: str) -> Any:
    found = submodel_class(kind)
    accepted = inspect.signature(found).parameters
    wanted = QUICK.get(found.name, {})
    return found(**{name: value for name, value in wanted.items() if name in accepted})


@pytest.fixture(scope="module", params=KINDS.names)
def fitted(request: pytest.FixtureRequest, tables: list[FeatureTable]) -> Any:
    return _new(request.param).fit(tables, seed=1)


@pytest.fixture(scope="module")
def unseen(tables: list[FeatureTable]) -> list[FeatureTable]:
    texts = ["Seen by Dr. Gorse on 05/12/2019.", "", "\ufeffDr. Yarrow,\r\n🩺 José on 03/12/2019", "   \n"]
    return tables[0].space.tables(Document(f"u{i}", text) for i, text in enumerate(texts))


@pytest.mark.parametrize("name", ["regex", "deduce", "deduce_program", "entities"])
def test_a_kind_with_a_label_set_takes_that_of_the_notes_unless_another_is_given(name: str) -> None:
    kind = submodel_class(name)
    assert kind.adapted({}, label_set="nut") == {"label_set": "nut"}
    assert kind.adapted({"label_set": "mine"}, label_set="nut") == {"label_set": "mine"}
    assert submodel_class("crf").adapted({"c2": 1.0}, label_set="nut") == {"c2": 1.0}


def test_it_has_the_face_of_a_submodel_and_its_repr_shows_no_text(fitted: Any, tables: list[FeatureTable]) -> None:
    assert isinstance(fitted, Submodel) and submodel_class(fitted.name) is type(fitted)
    assert fitted.name == usual_name(fitted.kind) and fitted.cost > 0
    assert not any(name in repr(fitted) + repr(tables[0]) for name in NAMES)


def test_it_gives_each_note_its_candidates_in_order(fitted: Any, unseen: list[FeatureTable]) -> None:
    proposals = fitted.propose(unseen)
    assert len(proposals) == len(unseen)
    assert proposals[1] == proposals[3] == []
    assert proposals[0]
    for table, candidates in zip(unseen, proposals, strict=True):
        check_candidates(table.document, candidates, {"DOCTOR", "DATE"}, fitted.name)


def test_it_never_looks_at_the_spans_of_the_notes_it_proposes_for(fitted: Any, tables: list[FeatureTable]) -> None:
    bare = [table.space.table(table.document.with_spans(())) for table in tables[:5]]
    assert fitted.propose(bare) == fitted.propose(tables[:5])


def test_a_note_gets_the_same_candidates_alone_and_among_others(fitted: Any, tables: list[FeatureTable]) -> None:
    together = fitted.propose(tables[:4])
    for table, candidates in zip(tables[:4], together, strict=True):
        alone = fitted.propose([table])[0]
        assert [(c.span, c.chosen) for c in alone] == [(c.span, c.chosen) for c in candidates]
        assert np.allclose([c.score for c in alone], [c.score for c in candidates], atol=1e-5)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_asked_for_some_lines_it_proposes_what_it_proposes_there_reading_all(
    fitted: Any, tables: list[FeatureTable], unseen: list[FeatureTable], data: st.DataObject
) -> None:
    notes = [*tables[:3], *unseen]
    sizes = [len(line_bounds(table)) - 1 if len(table) else 0 for table in notes]
    wanted = [np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool) for n in sizes]
    proposals = zip(notes, fitted.propose(notes), fitted.propose_in(notes, wanted), strict=True)
    for (table, all_there, found), lines in zip(proposals, wanted, strict=True):
        touching = in_lines(table, [c.span for c in all_there], lines)
        expected = [c for c, touches in zip(all_there, touching, strict=True) if touches]
        assert [(c.span, c.source, c.chosen) for c in found] == [(c.span, c.source, c.chosen) for c in expected]
        assert np.allclose([c.score for c in found], [c.score for c in expected], atol=1e-5)


def test_what_it_tells_are_its_candidates_and_how_probable_phi_is_beside_them_in_each_line(
    fitted: Any, tables: list[FeatureTable], unseen: list[FeatureTable]
) -> None:
    notes = [*tables[:3], *unseen]
    proposed = fitted.proposals(notes)
    assert [note.candidates for note in proposed] == fitted.propose(notes)
    for table, note in zip(notes, proposed, strict=True):
        if note.residual is not None:
            assert note.residual.shape == (max(len(line_bounds(table)) - 1, 0),)
            assert ((note.residual >= 0) & (note.residual <= 1)).all()


def test_saved_and_loaded_it_proposes_the_same(
    fitted: Any, tables: list[FeatureTable], unseen: list[FeatureTable], tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    again = type(fitted).load(SavedFiles.of_folder(tmp_path), tables[0].space)
    assert again.propose(unseen) == fitted.propose(unseen)
    assert again.settings() == fitted.settings()
    json.dumps(fitted.settings())
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".pkl", ".pickle", ".joblib")]


def test_the_same_seed_gives_the_same_model(
    fitted: Any, tables: list[FeatureTable], unseen: list[FeatureTable]
) -> None:
    assert _new(fitted.kind).fit(tables, seed=1).propose(unseen) == fitted.propose(unseen)


def test_every_damaged_file_is_refused(fitted: Any, tables: list[FeatureTable], tmp_path: Path) -> None:
    fitted.save(tmp_path)
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        whole = path.read_bytes()
        path.write_bytes(b"\x00damaged")
        with pytest.raises(BundleError):
            type(fitted).load(SavedFiles.of_folder(tmp_path), tables[0].space)
        path.write_bytes(whole)


def test_notes_without_phi_cannot_be_learned_from(fitted: Any, tables: list[FeatureTable]) -> None:
    bare = [table.space.table(table.document.with_spans(())) for table in tables]
    with pytest.raises(TrainingError):
        _new(fitted.kind).fit(bare)


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="there is no submodel named bert"):
        submodel_class("bert")


@pytest.mark.parametrize("kind", sorted(KINDS.ours))
def test_the_settings_of_a_kind_are_what_its_constructor_takes(kind: str) -> None:
    """No kind lists its settings a second time; so a new one cannot be missing from a bundle."""
    found = submodel_class(kind)
    settings = found().settings()
    assert list(settings) == list(inspect.signature(found).parameters) and "settings" not in vars(found)
    assert found(**settings).settings() == settings == json.loads(json.dumps(settings))
