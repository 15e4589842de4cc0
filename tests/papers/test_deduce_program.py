"""The published program DEDUCE as a submodel: with a stand-in for it, and with the program where it is installed."""

import logging
from importlib.util import find_spec
from pathlib import Path

import pytest

from phistack.ensemble.papers.deduce.program import DeduceProgram
from phistack.ensemble.training.settings import EngineSettings
from phistack.features import errors
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import MissingResourceError
from phistack.features.saved_files import SavedFiles
from tests.papers import deduce_stand_in


def read(*documents: Document) -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings(language="nl")).fit(documents)


NOTE = Document("1", "Gezien: dr. Bakker en mw. Jansen op 03-04-2019, Parkinson.", (Span(12, 18, "Name"),))


def test_titles_are_cut_from_names_and_types_are_those_of_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    deduce_stand_in.install(monkeypatch)
    [note] = read(NOTE)
    model = DeduceProgram(label_set="nut").fit([note])
    found = [(NOTE.text[c.span.start : c.span.end], c.span.label, c.evidence) for c in model.propose([note])[0]]
    assert all(type(place) is int for c in model.propose([note])[0] for place in (c.span.start, c.span.end))
    assert found == [("Bakker", "Name", "persoon"), ("Jansen", "Name", "persoon"), ("03-04-2019", "Date", "datum")]
    english = DeduceProgram(label_set="i2b2-2014").fit(read(Document("1", NOTE.text, (Span(12, 18, "DOCTOR"),))))
    assert [c.span.label for c in english.propose([note])[0]][:2] == ["DOCTOR", "DOCTOR"]


def test_an_engine_with_another_version_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deduce_stand_in.install(monkeypatch)
    tables = read(NOTE)
    DeduceProgram(label_set="nut").fit(tables).save(tmp_path)
    deduce_stand_in.install(monkeypatch, version="4.0.0")
    again = DeduceProgram.load(SavedFiles.of_folder(tmp_path), tables[0].space)
    assert len(again.propose(tables)[0]) == 3
    assert "deduce 4.0.0 is installed, and the engine was trained with 3.0.6" in caplog.text


def test_without_the_program_a_training_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    settings = EngineSettings.from_dict({"submodels": {"deduce_program": {}}, "features": {"language": "nl"}})
    with pytest.raises(MissingResourceError, match=r"program DEDUCE needs deduce; .*'\.\[deduce\]'"):
        settings.check()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("deduce") is None, reason="the program deduce is not installed")
def test_the_program_itself_marks_a_note_and_leaves_the_loggers_as_they_were() -> None:
    before = [*logging.getLogger().handlers], logging.getLogger().level
    tables = read(Document("1", "Mw. de Vries en dhr. Jansen kwamen op 10 oktober 2018.", (Span(4, 12, "Name"),)))
    model = DeduceProgram(label_set="nut").fit(tables)
    text = tables[0].document.text
    found = {(text[c.span.start : c.span.end], c.span.label) for c in model.propose(tables)[0]}
    assert found == {("de Vries", "Name"), ("Jansen", "Name"), ("10 oktober 2018", "Date")}
    assert ([*logging.getLogger().handlers], logging.getLogger().level) == before
