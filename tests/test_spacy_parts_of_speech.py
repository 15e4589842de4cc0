"""Parts of speech by spaCy, with a tagger trained here, as no pipeline comes with the tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.columns.taggers import annotator_of, load_pipeline
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import MissingResourceError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

spacy = pytest.importorskip("spacy", reason="spaCy is not installed; pip install '.[entities]' brings it")

SENTENCES = [
    ("Jan zag Piet .", "NAAM WW NAAM LET"),
    ("Piet belde Anna .", "NAAM WW NAAM LET"),
    ("Anna kwam vandaag .", "NAAM WW BW LET"),
    ("vandaag zag Jan Anna .", "BW WW NAAM NAAM LET"),
]
NOTE = "Jan zag Piet.\nAnna kwam vandaag."
TAGS = ["NAAM", "WW", "NAAM", "LET", "NAAM", "WW", "BW", "LET"]
INIT = """
from pathlib import Path
from spacy.util import load_model_from_init_py

def load(**given):
    return load_model_from_init_py(Path(__file__), **given)
"""


@pytest.fixture(scope="module")
def tagger() -> Any:
    """A Dutch tagger of eight words."""
    from spacy.training import Example

    language = spacy.blank("nl")
    language.add_pipe("tagger")
    examples = [
        Example.from_dict(language.make_doc(text), {"tags": tags.split(), "words": text.split()})
        for text, tags in SENTENCES
    ]
    spacy.util.fix_random_seed(1)
    optimiser = language.initialize(lambda: examples)
    for _ in range(30):
        language.update(examples, sgd=optimiser)
    return language


@pytest.fixture
def folder(tagger: Any, tmp_path: Path) -> Path:
    tagger.to_disk(tmp_path / "tagger")
    return tmp_path / "tagger"


@pytest.fixture
def installed(tagger: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The tagger as the package that `python -m spacy download` installs."""
    name, home = "nl_core_news_sm", tmp_path / "site"
    tagger.meta.update(name="core_news_sm", version="0.0.1")
    (home / name).mkdir(parents=True)
    tagger.to_disk(home / name / f"{name}-0.0.1")
    tagger_meta = (home / name / f"{name}-0.0.1" / "meta.json").read_text()
    (home / name / "meta.json").write_text(tagger_meta)
    (home / name / "__init__.py").write_text(INIT)
    (home / f"{name}-0.0.1.dist-info").mkdir()
    (home / f"{name}-0.0.1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(str(home))
    yield name
    load_pipeline.cache_clear()
    monkeypatch.delitem(__import__("sys").modules, name, raising=False)


def tags_of(space: FeatureSpace, note: str = NOTE) -> list[str]:
    table = space.table(Document("1", note))
    return [space.values("pos")[i] for i in table.column("pos")]


def test_a_pipeline_in_a_folder_tags_our_tokens(folder: Path) -> None:
    space = FeatureSpace(FeatureSettings(language="nl", pos=f"spacy:{folder}"))
    space.fit([Document("1", NOTE), Document("2", "")])
    assert tags_of(space) == TAGS


def test_a_pipeline_that_is_installed_is_found_by_its_name(installed: str) -> None:
    settings = FeatureSettings(language="nl", pos="installed")
    assert settings.pos == "spacy:nl_core_news_sm"
    space = FeatureSpace(settings)
    space.fit([Document("1", NOTE)])
    assert tags_of(space) == TAGS


def test_one_pipeline_serves_both_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    language = spacy.load(folder)
    language.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Jan"}])
    language.to_disk(folder.parent / "both")
    loads: list[object] = []
    load = spacy.load
    monkeypatch.setattr(spacy, "load", lambda *given: loads.append(given) or load(*given))
    name = f"spacy:{folder.parent / 'both'}"
    space = FeatureSpace(FeatureSettings(language="nl", pos=name, ner=name))
    [table] = space.fit([Document("1", NOTE)])
    assert tags_of(space) == TAGS and len(loads) == 1
    assert [space.values("ner")[i] for i in table.column("ner")] == ["PERSON"] + ["O"] * 7


@pytest.mark.parametrize(("column", "what"), [("pos", "parts of speech"), ("ner", "named entities")])
def test_a_pipeline_that_does_not_tag_is_one_sentence_and_no_empty_column(
    tmp_path: Path, column: str, what: str
) -> None:
    spacy.blank("nl").to_disk(tmp_path / "blank")
    annotator = annotator_of(column, f"spacy:{tmp_path / 'blank'}")
    with pytest.raises(MissingResourceError, match=f"does not tag {what}; name one that does") as caught:
        annotator.tags(["Jan", "kwam"], np.array([0, 2], dtype=np.int32))
    assert "Jan" not in str(caught.value) and "\n" not in str(caught.value)


def test_an_engine_tags_new_notes_and_without_its_pipeline_annotates_none(
    phistack: Phistack, folder: Path, tmp_path: Path
) -> None:
    texts = ["Jan zag Piet.", "Anna zag Jan.", "Piet belde Anna.", "Anna kwam vandaag."] * 3
    notes = (Document(f"{i}", text, (Span(0, text.index(" "), "Name"),), f"p{i}") for i, text in enumerate(texts))
    write_corpus(Corpus(tuple(notes), LabelSet.named("nut")), tmp_path / "notes.jsonl", format="jsonl")
    (tmp_path / "config.toml").write_text(
        f'folds = 2\n[features]\npos = "spacy:{folder}"\n[submodels.crf]\nmax_iterations = 9\n'
    )
    engine = tmp_path / "engine"
    status, _, error = phistack(
        "train", tmp_path / "notes.jsonl", "--model", engine, "--preset", "trienes2020-crf", "--language", "nl",
        "--config", tmp_path / "config.toml", "--jobs", 1,
    )  # fmt: skip
    assert status == 0, error
    [features] = engine.rglob("features.json")
    assert {"NAAM", "WW", "BW"} <= {*json.loads(features.read_text())["vocabularies"]["pos"]}
    files = (tmp_path / "notes.jsonl", tmp_path / "found.jsonl")
    annotate = ("annotate", *files, "--model", engine, "--other-languages", "read")
    assert phistack(*annotate)[0] == 0
    assert any(document.spans for document in read_corpus(tmp_path / "found.jsonl").documents)
    (tmp_path / "found.jsonl").unlink()
    folder.rename(tmp_path / "elsewhere")
    load_pipeline.cache_clear()
    status, _, error = phistack(*annotate)
    assert status == 1 and not (tmp_path / "found.jsonl").exists()
    assert f"cannot be used here: the pipeline {folder} of spaCy is not installed; put its folder there" in error


def test_a_pipeline_of_another_language_is_refused_before_it_is_looked_for(folder: Path) -> None:
    """Like NLTK's; by the package's name, or by what the folder says about itself."""
    for pipeline, language in ((folder, "en"), ("nl_no_such_sm", "es"), ("nb_core_news_sm", "nl")):
        space = FeatureSpace(FeatureSettings(language=language, pos=f"spacy:{pipeline}"))
        with pytest.raises(SettingsError, match=f"only, and the language of the notes is {language}; name") as caught:
            space.fit([Document("1", NOTE)])
        assert str(caught.value).startswith(f"the tagger spacy:{pipeline} knows the language n")
    for pipeline, language in (("nb_core_news_sm", "no"), ("xx_ent_wiki_sm", "nl"), ("elsewhere/no_such", "nl")):
        with pytest.raises(MissingResourceError, match="is not installed"):
            FeatureSpace(FeatureSettings(language=language, pos=f"spacy:{pipeline}")).fit([Document("1", NOTE)])


def test_the_command_names_what_to_install(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[features]\npos = "spacy:nl_no_such_sm"\n')
    assert phistack("synthesize", tmp_path / "notes", "--language", "nl", "--documents", 6)[0] == 0
    status, _, error = phistack(
        "train", tmp_path / "notes", "--model", tmp_path / "engine", "--preset", "trienes2020-crf",
        "--config", tmp_path / "config.toml", "--jobs", 1,
    )  # fmt: skip
    assert status == 1 and not (tmp_path / "engine").exists()
    assert "python -m spacy download nl_no_such_sm" in error.splitlines()[-1]
