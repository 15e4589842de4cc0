"""Part-of-speech and named-entity columns: NLTK's tagger if its data is installed, and a simulated CoreNLP server."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.features.columns import taggers
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.columns.taggers import annotator_of
from phistack.features.documents import Document
from phistack.features.errors import MissingResourceError, SettingsError

NLTK_DATA = Path(__file__).parents[1].parent / "shared" / "nltk_data"
WORDS = ["She", "saw", "Ann", ".", "Bo", "left"]
SENTENCES = np.array([0, 4, 6], dtype=np.int32)

Answer = Callable[[str], dict[str, Any]]


def one_tag_a_word(sentence: str) -> dict[str, Any]:
    return {"sentences": [{"tokens": [token(word) for word in sentence.split()]}]}


def token(word: str) -> dict[str, Any]:
    return {"word": word, "originalText": word, "pos": "NNP" if word[0].isupper() else "X", "ner": word.upper()}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, Answer]]]:
    """A server on this machine that answers in CoreNLP's JSON; its answer can be changed."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    answer: dict[str, Answer] = {"to": one_tag_a_word}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
            body = json.dumps(answer["to"](text)).encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}", answer
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture(autouse=True)
def nothing_loaded() -> None:
    """What NLTK loads from its data is loaded again in each test."""
    taggers._perceptron.cache_clear()
    taggers._chunker.cache_clear()


@pytest.fixture
def english_tagger(monkeypatch: pytest.MonkeyPatch) -> Any:
    """NLTK with the data of its tagger, and of nothing else."""
    if not (NLTK_DATA / "taggers").is_dir():
        pytest.skip("the tagger's data is not beside the checkout")
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(NLTK_DATA)])
    return nltk


@pytest.mark.parametrize("given", ["spacy", "spacy:os", "localhost:9000"])
def test_other_settings_are_refused(given: str) -> None:
    with pytest.raises(SettingsError, match="CoreNLP"):
        annotator_of("ner", given)


@pytest.mark.usefixtures("english_tagger")
def test_a_feature_table_holds_the_tags_of_nltk() -> None:
    space = FeatureSpace(FeatureSettings(pos="nltk"))
    [table, empty] = space.fit([Document("a", "She saw Ann.\nBo left"), Document("b", "")])
    assert [space.values("pos")[i] for i in table.column("pos")] == ["PRP", "VBD", "NNP", ".", "NNP", "VBD"]
    assert len(empty) == 0


def test_absent_data_is_one_sentence_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk_data = pytest.importorskip("nltk.data")
    monkeypatch.setattr(nltk_data, "path", [str(tmp_path)])
    with pytest.raises(MissingResourceError) as caught:
        annotator_of("pos", "nltk").tags(WORDS, SENTENCES)
    assert "python -m nltk.downloader averaged_perceptron_tagger_eng" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("english_tagger")
def test_absent_data_of_the_chunker_is_one_sentence_with_the_command() -> None:
    with pytest.raises(MissingResourceError) as caught:
        annotator_of("ner", "nltk").tags(WORDS, SENTENCES)
    assert "python -m nltk.downloader averaged_perceptron_tagger_eng maxent_ne_chunker_tab words" in str(caught.value)
    assert "\n" not in str(caught.value) and 'ner = ""' in str(caught.value)


def test_each_token_of_an_entity_has_its_type(english_tagger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """NLTK's own trees, from a chunker that takes each run of proper nouns for a person."""
    monkeypatch.setattr("nltk.chunk.ne_chunker", lambda: english_tagger.RegexpParser("PERSON: {<NNP>+}"))
    sentences = np.array([0, 0, 4, 6], dtype=np.int32)
    assert annotator_of("ner", "nltk").tags(WORDS, sentences) == ["O", "O", "PERSON", "O", "PERSON", "O"]


@pytest.mark.parametrize("column", ["pos", "ner"])
def test_notes_in_another_language_are_not_tagged_as_english(column: str) -> None:
    with pytest.raises(SettingsError, match=f'language of the notes is es; .* with {column} = ""'):
        FeatureSpace(FeatureSettings(language="es", **{column: "nltk"})).fit([Document("a", "Visto hoy")])


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        ("pos", ["NNP", "X", "NNP", "X", "NNP", "X"]),
        ("ner", ["SHE", "SAW", "ANN", ".", "BO", "LEFT"]),
    ],
)
def test_a_server_tags_the_given_tokens(server: tuple[str, dict[str, Answer]], column: str, tags: list[str]) -> None:
    url, answer = server
    asked: list[str] = []
    answer["to"] = lambda sentence: asked.append(sentence) or one_tag_a_word(sentence)
    assert annotator_of(column, url).tags(WORDS, SENTENCES) == tags
    assert asked == ["She saw Ann .", "Bo left"]


def test_no_sentence_asks_nothing() -> None:
    assert annotator_of("pos", "http://127.0.0.1:9").tags([], np.zeros(1, dtype=np.int32)) == []


def test_a_token_that_the_server_cuts_gets_the_tag_of_its_first_part(server: tuple[str, dict[str, Answer]]) -> None:
    url, answer = server
    answer["to"] = lambda sentence: {"sentences": [{"tokens": [token(c) for c in sentence if c != " "]}]}
    assert annotator_of("pos", url).tags(["Ann", "left"], np.array([0, 2], dtype=np.int32)) == ["NNP", "X"]


@pytest.mark.parametrize(
    "reply", [{"sentences": [{"tokens": [token("other")]}]}, {"sentences": []}, {}, {"sentences": [{"tokens": [{}]}]}]
)
def test_an_answer_that_does_not_fit_is_an_error(server: tuple[str, dict[str, Answer]], reply: dict[str, Any]) -> None:
    url, answer = server
    answer["to"] = lambda sentence: reply
    with pytest.raises(MissingResourceError) as caught:
        annotator_of("pos", url).tags(["secretname", "left"], np.array([0, 2], dtype=np.int32))
    assert "secretname" not in str(caught.value)


def test_a_server_that_is_not_there_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    annotator = annotator_of("ner", "http://127.0.0.1:9")
    with pytest.raises(MissingResourceError, match="StanfordCoreNLPServer"):
        annotator.tags(WORDS, SENTENCES)
