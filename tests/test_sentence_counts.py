"""Reference sentence counts for the leak, in each form in which they may be given."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.evaluation import read_sentence_counts
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

COUNTS = {"1-01": 3, "2-01": 5}


def _folder(path: Any) -> Any:
    path.mkdir()
    for name, count in COUNTS.items():
        (path / f"{name}.ann").write_text("T1\tsentence 0 9\n" * count)
    return path


def _json(path: Any) -> Any:
    path = path.with_suffix(".json")
    path.write_text(json.dumps(COUNTS))
    return path


def _tsv(path: Path) -> Path:
    path.write_text("".join(f"{name}\t{count}\n" for name, count in COUNTS.items()))
    return path


@pytest.mark.parametrize("form", [_folder, _json, _tsv])
def test_counts_are_the_same_in_every_form(form: Callable[..., Any], tmp_path: Path) -> None:
    assert read_sentence_counts(form(tmp_path / "counts")) == COUNTS


@pytest.mark.parametrize("content", ["", "a", "a\n", "a\nb", "a\r\nb\r\n", "a\rb\x85c\n", "\n\n", "a\u2028b"])
def test_lines_are_counted_as_the_script_counts_them(content: str, tmp_path: Path) -> None:
    (tmp_path / "1-01.ann").write_bytes(content.encode())
    with (tmp_path / "1-01.ann").open(encoding="utf-8") as file:
        expected = sum(1 for _ in file)
    assert read_sentence_counts(tmp_path) == {"1-01": expected}


@pytest.mark.parametrize(
    ("name", "content", "reported"),
    [
        ("a.tsv", "1-01\tthree\n", "count 1 is not a whole number"),
        ("a.tsv", "1-01\t3\n2-01\n", "count 2 is not a whole number"),
        ("a.tsv", "1-01\t3\n1-01\t3\n", "count 2 is the second"),
        ("a.tsv", "", "holds no sentence counts"),
        ("a.tsv", "1-01\t" + "9" * 5000, "not a whole number"),
        ("a.json", '{"1-01": true}', "not a whole number"),
        ("a.json", '{"1-01": -1}', "not a whole number"),
        ("a.json", '{"1-01": 1, "1-01": 2}', "is the second"),
        ("a.json", '{"1-01": {"a": 1}}', "not a whole number"),
        ("a.json", "[1]", "not one JSON object"),
        ("a.json", "3", "not one JSON object"),
        ("a.json", "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_not_a_count_is_refused_in_one_sentence(name: str, content: str, reported: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(EvaluationError, match=reported):
        read_sentence_counts(tmp_path / name)


def test_the_command_divides_by_the_counts_given_and_asks_for_those_that_lack(
    phistack: Phistack, tmp_path: Path
) -> None:
    text = "Dr. Gorse. Dr. Larkin."
    gold = (Span(4, 9, "DOCTOR"), Span(15, 21, "DOCTOR"))
    for name, spans in (("gold", gold), ("system", gold[:1])):
        documents = tuple(Document(f"{i}-01", text, spans) for i in (1, 2))
        write_corpus(Corpus(documents, LabelSet.named("i2b2-2014")), tmp_path / name, format="brat")
    both = tmp_path / "gold", tmp_path / "system"
    status, shown, _ = phistack("evaluate", *both, "--sentences", _tsv(tmp_path / "counts"))
    assert (status, "leak 0.2500: 2 missed PHI in 8 sentences of the reference" in shown) == (0, True)
    assert "as phistack counts them" in phistack("evaluate", *both)[1]
    (tmp_path / "counts").write_text("1-01\t3\n")
    status, _, error = phistack("evaluate", *both, "--sentences", tmp_path / "counts")
    assert status == 1
    assert error.startswith("phistack: the sentence counts lack 1 documents, the first is 2-01; add them to what --sen")
    status, _, error = phistack("evaluate", *both, "--sentences", tmp_path / "gold")
    assert (status, "holds the annotations to be scored" in error) == (1, True)
