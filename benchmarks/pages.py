"""Every page that phistack makes, from one small demonstration, and a picture of each for the docs.

    python -m benchmarks.pages               docs/pictures/*.png, in some minutes
    make_pages(folder)                       the pages by name, which tests open

The browser is Chromium as the system installs it (Debian: `apt-get install chromium`), driven by Playwright.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from benchmarks.measuring import ROOT
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.app import app
from phistack.ensemble.review.decisions import Decisions, Scheme
from phistack.ensemble.review.retraining import outlooks
from phistack.ensemble.review.server import application, listening, server_of
from phistack.ensemble.review.session import Session
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.demo import run_demo
from phistack.features.formats import read_corpus

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = {
    "demo": "demo/demo.html",
    "shipped": "demo/shipped.html",
    "explain": "explain.html",
    "errors": "errors.html",
    "summary": "clean.csv.run/summary.html",
    "summary-without-findings": "plain-clean.run/summary.html",
    "summary-attacked": "named-clean.jsonl.run/summary.html",
    "attack": "named-clean.jsonl.run/attack.html",
    "reader-test": "test/records.html",
    "tables": "tables/index.html",
}
"""Name of the picture -> the page, relative to the folder where it is made."""
WIDE, NARROW = 1200, 400
PASSED = "Whitfield"
"""A name that stays in the output of the run that is attacked."""
_QUICK = """folds = 2
[features]
pos = ""
ner = ""
[submodels.tbed]
max_rules = 40
[submodels.crf]
algorithm = "lbfgs"
max_iterations = 12
[submodels.blstm]
epochs = 1
least_steps = 1
"""
_RUSSIAN = "Пациентка поступила в понедельник с жалобами на боль в груди, муж Сергей Иванов сопровождал её в больницу."


def make_pages(folder: Path, *, n_documents: int = 24) -> Mapping[str, Path]:
    """Run the demonstration and, with its engine and notes, each command that writes a page.

    :returns: the pages, by their names in `PAGES`.
    """
    demo, engine, notes = folder / "demo", folder / "demo" / "engine", folder / "demo" / "unseen"
    run_demo(demo, n_documents=n_documents, seed=1, jobs=1)
    errors = ("--html", folder / "errors.html", "--json", folder / "errors.json")
    _run("explain", notes, "--html", folder / "explain.html")
    _run("errors", notes, "--model", engine, "--shuffles", 99, "--text", *errors)
    _run("pseudonymise", notes, folder / "pseudonymised", "--seed", 1)
    _run("reader-test", "make", notes, folder / "pseudonymised", folder / "test", "--answers", folder / "answers.json")
    (folder / "quick.toml").write_text(_QUICK, encoding="utf-8")
    quick = ("--config", folder / "quick.toml", "--jobs", 1, "--text")
    _run("reproduce", "zhao2020", demo / "corpus", notes, "--out", folder / "tables", *quick)
    _write_table(notes, folder)
    kept = (argument for name in ("id", "patient", "ward") for argument in ("--column", f"{name}=keep"))
    options = ("--patient-column", "patient", *kept)
    _run("deidentify", folder / "notes.csv", folder / "clean.csv", *options, "--known", folder / "roster.csv", status=3)
    _write_plain_notes(folder / "plain")
    _run("deidentify", folder / "plain", folder / "plain-clean")
    _write_named_notes(folder)
    hidden = ("--policy", "surrogate", "--key-file", folder / "key", "--never", folder / "never.txt")
    _run("deidentify", folder / "named.jsonl", folder / "named-clean.jsonl", "--column", "id=keep", *hidden)
    _run("attack", folder / "named-clean.jsonl")
    return {name: folder / path for name, path in PAGES.items()}


def _run(*arguments: object, status: int = 0) -> None:
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    if done.exit_code != status:
        raise RuntimeError(f"phistack {arguments[0]} ended with {done.exit_code}: {done.output[-500:]}")


def _write_table(notes: Path, folder: Path) -> None:
    """Notes as a table, with a passage in Russian, a name in a kept column, and a row without an id."""
    documents = read_corpus(notes).documents
    first = documents[0]
    # The longest of each label, as a doctor may appear only by initials.
    by_length = sorted(first.spans, key=lambda span: span.end - span.start)
    names = {span.label: first.text[span.start : span.end] for span in by_length}
    rows = [[note.id, note.group, "7 B", note.text] for note in documents]
    rows[0][2] = f"7 B {names['DOCTOR']}"
    rows[1][3] = f"{rows[1][3]}\n{_RUSSIAN}\n"
    with (folder / "notes.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "patient", "ward", "text"], *rows, ["", "999", "7 B", "No id."]])
    with (folder / "roster.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["patient", "name"], [first.group, names["PATIENT"]]])


def _write_plain_notes(folder: Path) -> None:
    """Two notes in which only a date identifies the patient."""
    folder.mkdir()
    for number in (1, 2):
        text = f"Seen on 0{number}/12/2019 for a cough. Lungs are clear; no fever. Plan: fluids and rest at home."
        (folder / f"10{number}.txt").write_text(text + "\n", encoding="utf-8")


def _write_named_notes(folder: Path) -> None:
    """Notes for an attack, with a name that a list leaves in the output."""
    surnames = ("Walker", "Turner", "Cooper", "Hughes", "Bailey", PASSED, "Foster", "Graham")
    texts = (f"Ann {name} was seen by Dr. {name} today.\nSigned, Dr. {name}, M.D.\n" for name in 3 * surnames)
    lines = (json.dumps({"id": f"1{n:02d}-01", "text": text}) for n, text in enumerate(texts))
    (folder / "named.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "never.txt").write_text(PASSED, encoding="utf-8")
    (folder / "key").write_text("8f3a5c1e9b7d2f4068acbd13579e2460", encoding="utf-8")
    (folder / "key").chmod(0o600)


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM)
        yield opened
        opened.close()


@contextmanager
def served(session: Session, token: str = "token") -> Iterator[int]:
    """Serve a review; yields the port."""
    with listening(0) as opened:
        port: int = opened.getsockname()[1]
        server = server_of(application(session, None, token, port))
        thread = Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


def draw_review(chromium: Browser, folder: Path) -> None:
    """Pictures of a review of invented notes with the English engine that ships."""
    engine = load_bundle(bundle_path("english"))
    notes = [document.with_spans(()) for document in synthesize(12, seed=3).documents]
    with Decisions(folder / "review", Scheme.of(engine.label_set)) as decisions:
        session = Session(notes, decisions, outlooks(engine, notes), engine="english")
        with served(session) as port:
            page = chromium.new_page(viewport={"width": 1000, "height": 700}, color_scheme="light")
            page.goto(f"http://127.0.0.1:{port}/#token")
            page.locator("mark").first.wait_for()
            for key in ("d", "Enter", "Enter", "Enter"):
                page.keyboard.press(key)
                page.wait_for_timeout(1000)
            page.screenshot(path=PICTURES / "review.png")
            page.keyboard.press("l")
            page.screenshot(path=PICTURES / "review-labels.png")


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        for name, path in make_pages(Path(folder), n_documents=100).items():
            if name.startswith(("summary-", "attack")):
                continue
            page = chromium.new_page(viewport={"width": 1000, "height": 900}, color_scheme="light")
            page.goto(path.as_uri())
            if name in ("explain", "shipped"):
                page.locator("mark.found").first.click()
            page.screenshot(path=PICTURES / f"{name}.png")
        draw_review(chromium, Path(folder))


if __name__ == "__main__":
    run_main(main)
