"""Every page that phistack makes, opened in a browser: what a person sees, and what the browser complains about."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import CHROMIUM, NARROW, PAGES, PASSED, WIDE, browser, make_pages
from phistack.ensemble.tasks import demo
from tests.opened_pages import OpenedPage

pytest.importorskip("playwright", reason="the extra `dev` installs Playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the extra `dev` installs axe")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian, apt-get install chromium"),
]
SYSTEMS = ("regex", "crf")
UNCERTIFIED = (
    "No certificate says how much is left at most; with annotated notes that no engine saw, phistack certify makes one."
)
VIEWS = list(product((WIDE, NARROW), ("light", "dark")))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        quick = {**demo._QUICK, "blstm": {**demo._QUICK["blstm"], "epochs": 4, "least_steps": 40}}
        patch.setattr(demo, "_SUBMODELS", {name: quick.get(name, {}) for name in SYSTEMS})
        yield make_pages(tmp_path_factory.mktemp("pages"), n_documents=16)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


class Opened(OpenedPage):
    """A page of a file, with all its parts unfolded."""

    def __init__(self, chromium: Any, path: Path, width: int = WIDE, scheme: Any = "light") -> None:
        super().__init__(chromium, path.as_uri(), width, scheme)
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

    def text(self) -> str:
        return str(self.page.locator("body").inner_text())

    def cells(self, table: str) -> list[list[str]]:
        """The text that is seen in each cell, row by row."""
        rows = self.page.locator(table).locator("tr").all()
        return [[text.strip() for text in row.locator("th, td").all_inner_texts()] for row in rows]


@pytest.mark.parametrize("name", PAGES)
def test_a_person_can_read_the_page_whole(chromium: Any, pages: Mapping[str, Path], name: str) -> None:
    for width, scheme in VIEWS:
        opened = Opened(chromium, pages[name], width, scheme)
        assert opened.reported == [] and opened.requested == [pages[name].as_uri()]
        # How much wider the page is than the window, and what lies outside it or is cut off by its cell.
        assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        cut = """() => [...document.querySelectorAll('th, td, dd, h1, h2, .sheet')].filter(part => {
            const box = part.getBoundingClientRect(), hidden = part.closest('thead') && innerWidth < 600;
            const outside = box.right > innerWidth || box.left < 0;
            return !hidden && box.width && (outside || part.scrollWidth > part.clientWidth + 1);
        }).map(part => part.innerText)"""
        assert opened.page.evaluate(cut) == []
        # WCAG 2, levels A and AA, by axe-core: contrast depends on the scheme alone, and all else on the width alone.
        contrast = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
        without = {"rules": {"color-contrast": {"enabled": False}}}
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}
        if width == WIDE or scheme == "light":
            asked = contrast if scheme == "dark" else rules if width == WIDE else rules | without
            found = axe.Axe().run(opened.page, options=asked)
            assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == []
        opened.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_no_empty_part_and_nothing_of_python(chromium: Any, pages: Mapping[str, Path], name: str) -> None:
    opened = Opened(chromium, pages[name])
    empty = """() => [...document.querySelectorAll('section, table, details, dl, ul, nav, article, tbody')]
        .filter(part => part.checkVisibility() && !part.innerText.trim()).map(part => part.outerHTML)"""
    assert opened.page.evaluate(empty) == []
    lone = """() => [...document.querySelectorAll('h2, h3, summary')]
        .filter(head => head.checkVisibility() && !(head.nextElementSibling ?? head.parentElement.nextElementSibling))
        .map(head => head.innerText)"""
    assert opened.page.evaluate(lone) == []
    opened.page.evaluate("document.querySelectorAll('.sheet, blockquote').forEach(note => note.remove())")
    text = opened.text()
    assert not re.search(r"\{'|\['|\[\]|\{\}|\b(None|True|False|nan)\b|[a-z][.!?:;,][A-Z]|<\w", text)


def test_the_demonstration_shows_each_system_with_its_figures(chromium: Any, pages: Mapping[str, Path]) -> None:
    scores = json.loads((pages["demo"].parent / "scores.json").read_text(encoding="utf-8"))
    opened = Opened(chromium, pages["demo"])
    head, *rows = opened.cells("table.scores >> nth=0")
    assert head == ["System", "Precision", "Recall", "F1"]
    assert [row[0] for row in rows] == [*SYSTEMS, "stack"]
    for name, *figures in rows:
        strict = scores[name]["criteria"]["i2b2 strict"]
        assert [figure.split("\n")[0] for figure in figures] == [
            f"{100 * strict[measure]:.2f}" for measure in ("precision", "recall", "f1")
        ]
        assert figures[-1].split("\n")[1] == "–".join(f"{100 * end:.1f}" for end in strict["f1_interval"])
    types = [row[0] for row in opened.cells("table.scores >> nth=1")]
    assert types[0] == "Type" and "DATE" in types and len(set(types)) == len(types)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_span_opens_its_card_and_the_redacted_view_hides_it(
    chromium: Any, pages: Mapping[str, Path], width: int
) -> None:
    opened = Opened(chromium, pages["shipped"], width)
    page, card = opened.page, opened.page.locator("#card")
    span = page.locator(".sheet.original mark.found").first
    name = span.inner_text()
    span.click()
    assert name in card.inner_text() and re.search(r"Accepted, probability [01]\.\d\d", card.inner_text())
    assert "its choice" in {row[-1].split("\n")[0] for row in opened.cells("#card .votes")}
    page.keyboard.press("Escape")
    assert not page.locator("#card-body").is_visible()
    page.get_by_text("Redacted", exact=True).click()
    assert name not in opened.text() and "[HOSPITAL]" in opened.text()
    page.get_by_text("Show rejected candidates").click()
    assert page.locator("mark.refused").first.evaluate("mark => getComputedStyle(mark).pointerEvents") == "auto"


def test_the_summary_of_a_run_says_what_happened_in_sentences(chromium: Any, pages: Mapping[str, Path]) -> None:
    summary = json.loads(pages["summary"].with_name("summary.json").read_text(encoding="utf-8"))
    opened = Opened(chromium, pages["summary"])
    replaced = sum(summary["PHI by strategy"].values())
    verdict = opened.page.locator(".verdict.bad").inner_text()
    assert re.fullmatch(
        rf"On {summary['begun on']}, {replaced} identifiers replaced in 4 notes; "
        r"\d+ identifiers? may still be in the output, \d+ of them in the column ward\.",
        verdict,
    )
    assert _said(opened) == [
        "3 columns kept as they are: id, patient, ward.",
        "1 passage in a language that no engine reads was replaced whole: Russian.",
        f"Engine english: {summary['engines']['english']}.",
        UNCERTIFIED,
        *opened.page.locator(".said li.bad").all_inner_texts(),
    ]
    assert "1 note held back: id is missing or not a valid id; fill it in" in opened.text()
    tables = dict(zip(opened.page.locator("section h2").all_inner_texts(), range(20), strict=False))
    assert "Surrogates equal to another identifier" not in tables
    labels = {row[0]: int(row[1]) for row in opened.cells(f"section >> nth={tables['PHI by label']} >> table")}
    assert labels == summary["PHI by label"]
    settings = dict(opened.cells(".settings"))
    assert settings["columns: others: ward"] == "keep" and settings["second pass"] == "yes"
    assert "strike list" not in settings and settings["input"] == summary["input"]


def test_a_run_without_findings_says_so(chromium: Any, pages: Mapping[str, Path]) -> None:
    summary = json.loads(pages["summary-without-findings"].with_name("summary.json").read_text(encoding="utf-8"))
    [engine] = summary["notes by engine"]
    opened = Opened(chromium, pages["summary-without-findings"])
    verdict = f"On {summary['begun on']}, 2 identifiers replaced in 2 notes; the checks found no others."
    assert opened.page.locator(".verdict:not(.bad)").all_inner_texts() == [verdict]
    assert _said(opened) == [
        "2 file names kept as they are.",
        f"Engine {engine}: {summary['engines'][engine]}.",
        UNCERTIFIED,
    ]
    assert opened.page.locator("section h2").all_inner_texts() == ["PHI by label", "PHI by strategy"]


def test_what_an_attack_found_is_on_its_page_and_on_that_of_the_run(chromium: Any, pages: Mapping[str, Path]) -> None:
    opened = Opened(chromium, pages["attack"])
    said = opened.page.locator("main > ul li").all_inner_texts()
    assert re.match(r"The attacker's models mark \d+ places that the run did not replace: read these first", said[0])
    listed = pages["attack"].with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
    assert opened.cells("table") == [line.split("\t") for line in listed] and PASSED not in opened.text()
    opened.page.get_by_role("link").click()
    assert opened.page.url == pages["summary-attacked"].as_uri()
    assert opened.page.locator("#attack li").all_inner_texts() == [*said, "The places, the surest first"]
    opened.page.get_by_role("link").click()
    assert opened.page.url == pages["attack"].as_uri()


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("summary")])
def test_the_summary_of_a_run_is_printed_on_two_pages_at_most(
    chromium: Any, pages: Mapping[str, Path], name: str
) -> None:
    printed = OpenedPage(chromium, pages[name].as_uri()).page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type */Page\b", printed)) <= 2


def _said(opened: Opened) -> list[str]:
    """The sentences on the page of a run, except the verdict and the steps."""
    return [str(text) for text in opened.page.locator(".said ul li").all_inner_texts()]


def test_the_wrong_decisions_are_shown_as_they_are_counted(chromium: Any, pages: Mapping[str, Path]) -> None:
    found = json.loads(pages["errors"].with_suffix(".json").read_text(encoding="utf-8"))
    opened = Opened(chromium, pages["errors"])
    listed = sum(len(opened.cells(f"details >> nth={n}")) - 1 for n in range(opened.page.locator("details").count()))
    assert listed == len(found["each"]) > 0
    choosers = [row[0].split(" (")[0] for row in opened.cells("table >> nth=0")[1:]]
    assert {*SYSTEMS, "stack", "perfect chooser"} <= {*choosers}
    # On a phone each figure has the name of its column beside it.
    narrow = Opened(chromium, pages["errors"], NARROW).page.locator("table").first.locator("tbody tr").first
    label = "cell => getComputedStyle(cell, '::before').content"
    labels = [cell.evaluate(label).replace('"', "").strip() for cell in narrow.locator("td").all()]
    assert labels[:3] == ["precision", "recall", "F1"]


def test_the_tables_of_a_paper_have_its_figures_beside_ours(chromium: Any, pages: Mapping[str, Path]) -> None:
    opened = Opened(chromium, pages["tables"])
    links = opened.page.locator("nav a").all_inner_texts()
    assert links == opened.page.locator("caption").all_inner_texts() and len(links) > 1
    results = json.loads(pages["tables"].with_name("results.json").read_text(encoding="utf-8"))
    models = {row["model"]: row for row in results["tables"]["4"]}
    (shown,) = [row for row in opened.cells("#table-4 table") if row[0].startswith("Ensemble")]
    assert all(figure in " ".join(shown) for figure in models["Ensemble"]["paper"])


def test_a_judge_sees_each_record_and_never_which_is_real(chromium: Any, pages: Mapping[str, Path]) -> None:
    opened = Opened(chromium, pages["reader-test"])
    with pages["reader-test"].with_name("sheet.csv").open(encoding="utf-8", newline="") as file:
        numbers = [row["record"] for row in csv.DictReader(file)]
    assert opened.page.locator("h2").all_inner_texts() == [f"Record {number}" for number in numbers]
    assert all(text.strip() for text in opened.page.locator(".sheet").all_inner_texts())
