"""The review page in a browser: everything by keyboard or mouse, exact to the code point, and no note's code runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import CHROMIUM, NARROW, WIDE, browser, served
from phistack.ensemble.review.decisions import JUDGED, SUGGESTED, Decisions, Scheme, Suggestion
from phistack.ensemble.review.order import Outlook
from phistack.ensemble.review.session import Session
from phistack.features.documents import Document
from phistack.features.labels import LabelSet
from tests.opened_pages import OpenedPage

pytest.importorskip("playwright", reason="the extra `dev` installs Playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the extra `dev` installs axe")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian, apt-get install chromium"),
]

TOKEN = "the-token"
TEXT = (
    "Seen by Dr. Anne Hunt \U0001f600 at Elm Hospital on 3 March 2021.\r\n"
    "Hunt called Huntley. <script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">\n"
    "\u05e9\u05dc\u05d5\u05dd Hunt, cafe\u0301 \x00\x1b \ud800 \u202eHunt\u202c end of Ames-Hunt"
)
SPANS = [("Anne Hunt", "DOCTOR", 0.97), ("Elm Hospital", "HOSPITAL", 0.6), ("3 March 2021", "DATE", 0.99)]


def found(text: str, label: str = "", probability: float = 1.0) -> Suggestion:
    start = TEXT.index(text)
    return Suggestion(start, start + len(text), label, probability)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    notes = [Document("n1", TEXT), Document("n2", TEXT), Document("empty", "")]
    outlook = Outlook(tuple(found(*span) for span in SPANS))
    with Decisions(tmp_path / "store", Scheme.of(LabelSet.named("i2b2-2014"))) as decisions:
        yield Session(notes, decisions, [outlook, outlook, Outlook()], "")


@pytest.fixture
def port(session: Session) -> Iterator[int]:
    with served(session, TOKEN) as opened:
        yield opened


class Opened(OpenedPage):
    """The page of a review."""

    def __init__(self, chromium: Any, port: int, width: int = WIDE, scheme: Any = "light") -> None:
        super().__init__(chromium, f"http://127.0.0.1:{port}/#{TOKEN}", width, scheme)
        self.page.wait_for_selector("mark")

    def at_note(self, number: int) -> None:
        self.page.locator(f'#text[data-note="{number}"]').wait_for()

    def press(self, *keys: str) -> str:
        for key in keys:
            self.page.keyboard.press(key)
        return str(self.page.locator("#told").inner_text())

    def states(self, session: Session, number: int = 0) -> dict[tuple[str, str], int]:
        """Text and label of each span that was saved, and its state."""
        self.page.evaluate("saving")
        return {(TEXT[s.start : s.end], s.label): state for s, state in session.judgement(number).states.items()}


def test_a_note_is_judged_by_keyboard_alone_with_undo_and_redo(chromium: Any, port: int, session: Session) -> None:
    opened = Opened(chromium, port)
    assert opened.press("Enter") == "Elm Hospital: HOSPITAL, suggested, 0.60"
    assert opened.press("x") == "3 March 2021: DATE, suggested, 0.99"
    first = {("Anne Hunt", "DOCTOR"): JUDGED, ("3 March 2021", "DATE"): SUGGESTED}
    assert opened.states(session) == first
    # A word further on, marked anew; then the same everywhere, as a whole word, but within no other span.
    assert opened.press("ArrowRight") == "Hunt: not marked"
    assert opened.press("4", "e") == "The same in 3 places of this note."
    assert opened.states(session) == first | {("Hunt", "PATIENT"): JUDGED}
    hunts = [s.start for s in session.judgement(0).spans if s.label == "PATIENT"]
    assert hunts == [
        TEXT.index(before) + len(before) - 4 for before in ("\nHunt", "\u05dd Hunt", "\u202eHunt", "Ames-Hunt")
    ]
    opened.press("u", "u")
    assert opened.states(session) == first
    opened.press("r", "r")
    assert opened.states(session) == first | {("Hunt", "PATIENT"): JUDGED}
    assert opened.press("u", "u", "p", "p") == "Anne Hunt: DOCTOR, judged"
    assert opened.press("ArrowLeft", "ArrowRight") == "Anne: not a whole span"
    assert opened.press("s", "n") == "Hunt: DOCTOR, judged"
    assert opened.press("p", "j") == "Anne Hunt: DOCTOR, judged"
    assert opened.press("l", "4") == "Anne Hunt: PATIENT, judged"
    # The extent is corrected by words, then by characters.
    assert opened.press("Shift+ArrowLeft", "Enter") == "Anne: PATIENT, judged"
    assert opened.press(",", ",", ",") == "r. Anne: not a whole span"
    assert opened.press("<", "<", "<", ".", ">") == "Anne: PATIENT, judged"
    assert opened.press("ArrowDown", "ArrowDown", "ArrowUp") == "called: not marked"
    opened.press("d")
    opened.at_note(1)
    assert opened.states(session) == {("Anne", "PATIENT"): JUDGED, ("3 March 2021", "DATE"): JUDGED}
    # The figures are asked for after the next note is shown.
    opened.page.locator("#figures", has_text="1 of 3").wait_for()
    assert session.state(0) == "done" and "1 of 3" in opened.page.locator("#figures").inner_text()
    # Actions can be undone after the page is reopened; this reopens the note.
    opened.page.reload()
    opened.at_note(1)
    opened.press("[")
    opened.at_note(0)
    opened.press("u")
    assert opened.states(session)["3 March 2021", "DATE"] == SUGGESTED and session.state(0) == "begun"
    opened.press("]")
    opened.at_note(1)
    opened.press("]")
    opened.at_note(2)
    assert opened.page.locator("#left").inner_text() == "0 spans, 0 to judge" and opened.reported == []
    opened.page.close()


def test_offsets_are_code_points_with_the_mouse_too(chromium: Any, port: int, session: Session) -> None:
    opened = Opened(chromium, port)
    for word in ("Huntley", "cafe\u0301", "end"):
        opened.page.evaluate(
            """word => {
            const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf(word);
                const node = walker.currentNode;
                if (at >= 0) getSelection().setBaseAndExtent(node, at, node, at + word.length);
            }
            document.getElementById("text").dispatchEvent(new MouseEvent("mouseup", {bubbles: true}));
        }""",
            word,
        )
        assert opened.press("4").startswith(f"{word}: ")
    judged = [text for (text, _), state in opened.states(session).items() if state == JUDGED]
    assert judged == ["Huntley", "cafe\u0301", "end"]
    opened.page.close()


def test_nothing_of_a_note_runs_and_each_character_is_seen(chromium: Any, port: int) -> None:
    opened = Opened(chromium, port)
    shown = opened.page.locator("#text").evaluate("text => text.textContent")
    assert (
        "<script>document.title = 'run'</script><img src=x onerror=" in shown
        and "\u2400\u241b \ufffd \ufffdHunt\ufffd" in shown
    )
    assert len(shown) == len(TEXT)
    assert opened.page.title() == "Review" and opened.page.locator("#text script, #text img").count() == 0
    assert opened.reported == []
    assert all(f"127.0.0.1:{port}/" in url for url in opened.requested)
    assert "#" not in opened.page.url and not any(TOKEN in url for url in opened.requested[1:])
    opened.page.close()


def test_a_second_window_and_a_server_that_does_not_answer_are_told(chromium: Any, port: int, session: Session) -> None:
    one, other = Opened(chromium, port), Opened(chromium, port)
    one.press("x")
    one.states(session)
    other.press("Enter")
    other.page.locator("#trouble", has_text="another window").wait_for()
    assert other.states(session) == {("Elm Hospital", "HOSPITAL"): SUGGESTED, ("3 March 2021", "DATE"): SUGGESTED}
    assert other.page.locator("#left").inner_text() == "2 spans, 2 to judge"
    one.page.context.set_offline(True)
    one.press("x")
    one.page.locator("#trouble", has_text="is not saved").wait_for()
    one.page.context.set_offline(False)
    one.page.locator("#trouble:empty").wait_for(state="attached")
    assert [*session.judgement(0).spans] == [found("3 March 2021", "DATE").span]
    one.page.close()
    other.page.close()


def test_an_address_without_its_token_shows_one_sentence(chromium: Any, port: int) -> None:
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    page.locator("#trouble:not(:empty)").wait_for()
    assert page.locator("main").inner_text().strip() == (
        "this address lacks its token, or has an old one; open the address that phistack review printed"
    )
    page.close()


def test_everybody_can_read_the_page(chromium: Any, port: int) -> None:
    for width, scheme, key in ((WIDE, "light", "l"), (NARROW, "dark", "n")):
        opened = Opened(chromium, port, width, scheme)
        assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        opened.press(key)
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}
        broken = axe.Axe().run(opened.page, options=rules).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in broken] == []
        opened.page.close()
