"""The HTML page: self-contained, escaped, and true to its notes."""

import hashlib
import re
from base64 import b64encode
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from phistack.ensemble.evaluation import Measure, Score
from phistack.ensemble.evaluation.measures import Counts
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.views.page import NoteView, write_page
from phistack.features.documents import Document, Span
from phistack.features.errors import StorageError
from phistack.submodels.base import Candidate

TEXT = "Dr. Smith saw Jane Roe in Springfield."
DOCTOR, CITY = Span(4, 9, "DOCTOR"), Span(26, 37, "CITY")
PATIENT, FIRST_NAME = Span(14, 22, "PATIENT"), Span(14, 18, "PATIENT")


def decision(span: Span, probability: float = 0.9, accepted: bool = True, *votes: Candidate) -> Decision:
    return Decision(span, probability, accepted, votes or (Candidate(span, "crf", 0.8),))


def score(name: str, precision: float = 0.5, recall: float = 0.5, f1: float = 0.5, low: float = 0.4) -> Score:
    figures = (Measure(value, low, value + 0.01) for value in (precision, recall, f1))
    return Score(name, np.array([[1, 1, 1]]), Counts(1, 1, 1), *figures)


def read(content: str) -> Any:
    return html.document_fromstring(content)


def page(tmp_path: Path, *notes: NoteView, **others: object) -> str:
    write_page(tmp_path / "page.html", notes=notes, **{"title": "A page"} | others)
    return (tmp_path / "page.html").read_bytes().decode("utf-8")


def pieces(content: str, view: str = "original") -> list[tuple[str, str]]:
    """Kind and text of each coloured piece of the first note."""
    marks = read(content).xpath(f"(//div[@class='sheet {view}'])[1]/mark")
    return [(mark.get("class").split()[1], mark.text_content()) for mark in marks]


def shown(content: str, view: str = "original") -> str:
    """The text of the first note as a reader sees it."""
    return str(read(content).xpath(f"(//div[@class='sheet {view}'])[1]")[0].text_content())


def test_found_spans_are_compared_with_gold(tmp_path: Path) -> None:
    document = Document("110-01", TEXT, (DOCTOR, PATIENT), "110")
    decisions = [decision(DOCTOR), decision(FIRST_NAME), decision(CITY)]
    content = page(tmp_path, NoteView(document, decisions, has_gold=True))
    assert pieces(content) == [("right", "Smith"), ("partial", "Jane"), ("missed", " Roe"), ("spurious", "Springfield")]
    assert shown(content) == TEXT
    assert "1 right · 1 with other boundaries or label · 1 false · 1 missed" in content


def test_without_gold_nothing_is_right_or_missed(tmp_path: Path) -> None:
    content = page(tmp_path, NoteView(Document("a", TEXT, (CITY,)), [decision(DOCTOR)]))
    assert pieces(content) == [("found", "Smith")]


def test_redacted_view_replaces_what_was_found_and_only_that(tmp_path: Path) -> None:
    document = Document("a", TEXT, (DOCTOR, PATIENT))
    content = page(tmp_path, NoteView(document, [decision(DOCTOR), decision(CITY, 0.2, False)], has_gold=True))
    assert shown(content, "redacted") == "Dr. [DOCTOR] saw Jane Roe in Springfield."
    redacted = read(content).xpath("//div[@class='sheet redacted']")[0]
    assert "Smith" not in html.tostring(redacted, encoding="unicode")


def test_the_card_tells_votes_probability_and_rivals(tmp_path: Path) -> None:
    votes = (
        Candidate(PATIENT, "crf", 0.84),
        Candidate(PATIENT, "regex", 1.0, chosen=False, evidence="pattern full-name"),
    )
    rival = decision(FIRST_NAME, 0.31, False, Candidate(FIRST_NAME, "tbed", 0.77))
    content = page(tmp_path, NoteView(Document("a", TEXT), [decision(PATIENT, 0.93, True, *votes), rival]))
    card = " ".join(read(content).xpath("//template[1]")[0].text_content().split())
    for words in (
        "characters 14–22",
        "Accepted, probability 0.93",
        "crf 0.84 its choice",
        "regex 1.00 an alternative",
        "pattern full-name",
        "tbed – not proposed",
        "PATIENT 14–18 · 0.31 · rejected · tbed 0.77",
    ):
        assert words in card


def test_a_missed_span_shows_who_offered_it(tmp_path: Path) -> None:
    content = page(tmp_path, NoteView(Document("a", TEXT, (CITY,)), [decision(CITY, 0.4, False)], has_gold=True))
    assert pieces(content) == [("missed", "Springfield")]
    assert "Rejected, probability" in content


def test_submodels_are_listed_in_the_order_of_the_scores(tmp_path: Path) -> None:
    scores = {name: score("i2b2 strict") for name in ("regex", "crf")}
    votes = (Candidate(DOCTOR, "crf"), Candidate(DOCTOR, "new"), Candidate(DOCTOR, "regex"))
    content = page(tmp_path, NoteView(Document("a", TEXT), [decision(DOCTOR, 0.9, True, *votes)]), scores=scores)
    assert read(content).xpath("//table[@class='votes']//th/text()") == ["regex", "crf", "new"]


def test_overlapping_gold_spans_keep_the_text_whole(tmp_path: Path) -> None:
    gold = (Span(0, 9, "DOCTOR"), DOCTOR, Span(4, 22, "PATIENT"), PATIENT, FIRST_NAME)
    content = page(tmp_path, NoteView(Document("a", TEXT, gold), [decision(DOCTOR)], has_gold=True))
    assert shown(content) == TEXT
    assert [kind for kind, _ in pieces(content)] == ["missed", "right", "missed"]


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "</template>&lt;"]
)
def test_whatever_comes_from_outside_is_escaped(tmp_path: Path, hostile: str) -> None:
    span = Span(0, len(hostile), hostile)
    vote = Candidate(span, hostile, 1.0, evidence=hostile)
    document = Document(hostile, hostile + " end", (span,), hostile + "patient")
    content = page(
        tmp_path,
        NoteView(document, [decision(span, 0.9, True, vote)], has_gold=True),
        title=hostile,
        scores={hostile: score(hostile)},
        types={hostile: score(hostile)},
        facts={hostile: hostile},
    )
    tree = read(content)
    assert len(tree.xpath("//script")) == content.count("<script") == 1
    assert not tree.xpath("//img") and not tree.xpath("//@onerror")
    assert shown(content) == hostile + " end"
    assert len(tree.xpath("//template")) == 1


def test_nothing_is_fetched(tmp_path: Path) -> None:
    content = page(tmp_path, NoteView(Document("a", TEXT), [decision(DOCTOR)]), scores={"crf": score("i2b2 strict")})
    tree = read(content)
    assert not tree.xpath("//link | //img | //iframe | //script[@src] | //object | //embed")
    assert all(href.startswith("#") for href in tree.xpath("//@href"))
    assert not re.findall(r"https?://|url\(|@import", content)
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'")


def test_the_policy_allows_the_script_and_no_other(tmp_path: Path) -> None:
    content = page(tmp_path)
    script = content.partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in unescape(content)


def test_scores_show_systems_figures_intervals_and_the_best_row(tmp_path: Path) -> None:
    figures = {"crf": (0.96, 0.93, 0.9448, 0.93), "stack": (0.97, 0.95, 0.9599)}
    scores = {name: score("i2b2 strict", *f) for name, f in figures.items()}
    tree = read(page(tmp_path, scores=scores))
    rows = [" ".join(row.text_content().split()) for row in tree.xpath("//tbody/tr")]
    assert rows == ["crf 96.00 93.00 94.4893.0–95.5", "stack 97.00 95.00 95.9940.0–97.0"]
    assert tree.xpath("//tr[@class='best']//span[@class='name']/text()") == ["stack"]


def test_the_label_sets_that_ship_give_the_colours(tmp_path: Path) -> None:
    document = Document("a", TEXT)
    found = [decision(DOCTOR), decision(Span(26, 37, "TERRITORIO"))]
    content = page(tmp_path, NoteView(document, found))
    assert re.findall(r'<mark class="m found (c-[A-Z]+)"', content.partition("sheet redacted")[0]) == [
        "c-NAME",
        "c-LOCATION",
    ]


def test_an_unknown_label_has_the_colour_of_other(tmp_path: Path) -> None:
    content = page(tmp_path, NoteView(Document("a", TEXT), [decision(Span(0, 3, "NEW"))]))
    assert "c-OTHER" in read(content).xpath("//mark/@class")[0]


def test_an_empty_page_and_an_empty_note(tmp_path: Path) -> None:
    assert shown(page(tmp_path, NoteView(Document("a", ""), [], has_gold=True))) == ""
    assert "A page" in page(tmp_path)


def test_an_older_page_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    page(tmp_path)
    assert "Other" in page(tmp_path, title="Other")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        page(tmp_path)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=30)


@given(TEXTS.flatmap(lambda text: st.tuples(st.just(text), st.lists(st.tuples(*[st.integers(0, len(text))] * 2)))))
def test_the_pieces_join_to_the_text(tmp_path_factory: pytest.TempPathFactory, example: tuple) -> None:  # type: ignore[type-arg]
    text, ends = example
    spans = [Span(min(pair), max(pair), "DOCTOR") for pair in ends if pair[0] != pair[1]]
    document = Document("a", text, tuple(spans[::2]))
    refused = [decision(span, 0.1, False) for span in dict.fromkeys(spans[1::2])]
    content = page(tmp_path_factory.getbasetemp(), NoteView(document, refused, has_gold=True))
    assert shown(content) == text


def test_all_pages_share_one_head_and_one_set_of_colours() -> None:
    templates = list((Path(__file__).parents[1] / "ensemble").rglob("*_template.html"))
    (base,) = [path for path in templates if path.name == "base_template.html"]
    assert "--paper:" in base.read_text(encoding="utf-8")
    for path in templates:
        source = path.read_text(encoding="utf-8")
        own = ("<head>", "<meta", "<style", "--paper:", "--ink:", "Made by phistack")
        if path != base:
            assert source.startswith('{% extends "phistack.ensemble.views/base_template.html" %}')
            assert not [word for word in own if word in source], path.name
