"""The system of Tjong Kim Sang 2019: a general tagger with rules, its eight classes, and what stands in their place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.papers.entities import CLASSES, EntitySubmodel
from phistack.features.columns import taggers
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.columns.taggers import installed_tagger
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import MissingResourceError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles

CLASS_SET = LabelSet.named("tjongkimsang2019")
TYPES = {
    "Ann": "PERSON",
    "Hill": "PERSON",
    "Acme": "ORGANIZATION",
    "Utrecht": "GPE",
    "Dutch": "NORP",
    "seven": "CARDINAL",
}
TEXT = "Ann Hill of Acme met a Dutch friend. Utrecht, on 3 May 2019: seven or 45 mails to ann@ward.org and www.ward.org"


@pytest.fixture(autouse=True)
def _tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for NLTK's chunker, whose data may be missing: a few names, otherwise whatever has a capital."""

    def tags(words: Sequence[str]) -> list[str]:
        return [TYPES.get(word, "PERSON" if word.istitle() and len(word) > 3 else "O") for word in words]

    monkeypatch.setattr(taggers, "_nltk_entities", lambda sentences: list(map(tags, sentences)))


def found_in(text: str, **settings: Any) -> list[tuple[str, str]]:
    note = Document("1", text, (Span(0, 3, "PER"),))
    tables = FeatureSpace(FeatureSettings(ner="nltk")).fit([note])
    model = EntitySubmodel(label_set="tjongkimsang2019", **settings).fit(tables)
    assert EntitySubmodel.load(SavedFiles.written_by(model.save), tables[0].space).propose(tables) == model.propose(
        tables
    )
    [candidates] = model.propose(tables)
    assert all(c.chosen and c.evidence for c in candidates)
    return [(text[c.span.start : c.span.end], c.span.label) for c in candidates]


def test_each_of_the_eight_classes_is_found_by_tagger_or_rules() -> None:
    found = found_in(TEXT)
    assert found == [
        ("Ann Hill", "PER"), ("Acme", "ORG"), ("Dutch", "MISC"), ("Utrecht", "LOC"), ("3 May 2019", "DATE"),
        ("seven", "NUM"), ("45", "NUM"), ("ann@ward.org", "MAIL"), ("www.ward.org", "URL"),
    ]  # fmt: skip
    assert {label for _, label in found} == {*CLASSES} == {*CLASS_SET.labels}
    assert ("45", "NUM") not in found_in(TEXT, numbers=False)


def test_classes_take_the_labels_that_a_corpus_has_for_them() -> None:
    tables = FeatureSpace(FeatureSettings(ner="nltk")).fit(
        [Document("1", TEXT, (Span(0, 8, "DOCTOR"), Span(12, 16, "WARD")))]
    )
    model = EntitySubmodel(label_set="i2b2-2014").fit(tables)
    assert (model.labels_["PER"], model.labels_["ORG"], model.labels_["MAIL"]) == (
        "DOCTOR",
        "WARD",
        "EMAIL",
    )


def test_entities_become_the_name_of_their_class() -> None:
    note = Document("1", "Ann met Bo on 3 May.", (Span(0, 3, "PER"), Span(8, 10, "PER"), Span(14, 19, "DATE")))
    found = Deidentifier(Policy.named("tjongkimsang2019"), CLASS_SET, "en", None).apply(note, note.spans)
    assert found.text == "PER met PER on DATE."


def test_general_labels_do_not_make_a_corpus_dutch(tmp_path: Path) -> None:
    notes = Corpus(
        (Document("1", "Ann was seen by Dr. Hill today, and will come back next week.", (Span(0, 3, "PER"),)),),
        CLASS_SET,
    )
    write_corpus(notes, tmp_path / "notes.jsonl", format="jsonl")
    assert read_corpus(tmp_path / "notes.jsonl").label_set.name == "custom"
    assert read_corpus(tmp_path / "notes.jsonl", label_set="tjongkimsang2019").label_set == CLASS_SET


def test_what_is_installed_is_taken_and_else_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taggers, "find_spec", lambda name: None)
    assert installed_tagger("en", "ner") == FeatureSettings(ner="installed").ner == "nltk"
    with pytest.raises(SettingsError, match="spacy download nl_core_news_sm"):
        FeatureSettings(ner="installed", language="nl")
    monkeypatch.setattr(taggers, "find_spec", lambda name: name)
    assert FeatureSettings(ner="installed", language="nl").ner == "spacy:nl_core_news_sm"


def test_a_pipeline_that_is_not_installed_is_one_sentence() -> None:
    for name in ("os", "no such"):
        with pytest.raises(SettingsError, match="spacy: and the name of a pipeline"):
            FeatureSpace(FeatureSettings(ner=f"spacy:{name}")).fit([Document("1", "Ann")])
    space = FeatureSpace(FeatureSettings(language="nl", ner="spacy:nl_no_such"))
    with pytest.raises(MissingResourceError, match="nl_no_such of spaCy is not installed; get it with: pip install"):
        space.fit([Document("1", "Ann")])[0].column("ner")


def test_a_pipeline_of_spacy_tags_our_tokens(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("nl")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Jan van Amsterdam"}])
    pipeline.to_disk(tmp_path / "rules")
    space = FeatureSpace(FeatureSettings(language="nl", ner=f"spacy:{tmp_path / 'rules'}"))
    [table] = space.fit([Document("1", "Jan van Amsterdam kwam.")])
    assert [space.values("ner")[i] for i in table.column("ner")] == ["PERSON"] * 3 + ["O"] * 2
