"""The attack on a run's own output: which misses it finds, what it reports, what it refuses."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest

from benchmarks.function_engine import FunctionEngine
from phistack.ensemble.batch import RunSettings, deidentify
from phistack.ensemble.batch.attack import attack
from phistack.ensemble.batch.reports.shown_attack import statements, write_attack
from phistack.ensemble.batch.reports.shown_summary import untried
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.stacking.candidates import Decision
from tests import batch_engines as engines
from tests.batch_runs import run_over

KEY = b"8f3a5c1e9b7d2f4068acbd13579e2460"
FIRST = "Ann Mary John Peter Susan Karen Brian Kevin Laura Paul Linda Mark Carol James Ruth Frank".split()
LAST = "Walker Turner Baker Cooper Parker Hughes Bailey Morgan Russell Foster Graham Hayes Palmer Wells".split()
MISSED = "Whitfield"
"""The name that the engine of these runs does not find."""


def lines(n: int = 32) -> list[dict[str, str]]:
    rng = random.Random(1)
    notes = []
    for number in range(n):
        first, last, doctor = rng.choice(FIRST), rng.choice(LAST), MISSED if number == 5 else rng.choice(LAST)
        text = f"Patient {first} {last} was seen today by Dr. {doctor} because of fever.\nSigned, Dr. {doctor}\n"
        notes.append({"id": f"{100 + number // 2}-{number % 2 + 1:02d}", "text": text})
    return notes


@pytest.fixture
def run(tmp_path: Path) -> RunSettings:
    """A run with surrogates whose engine misses one name."""

    def decide(document: Any) -> list[Decision]:
        return [d for d in engines._decisions(document) if document.text[d.span.start : d.span.end] != MISSED]

    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(note) + "\n" for note in lines()))
    return run_over(source, policy="surrogate", key=KEY, load=lambda path: FunctionEngine(decide))


def test_what_was_missed_comes_first_by_note_and_place(run: RunSettings) -> None:
    deidentify(run)
    found = attack(run.target)
    missed = json.loads(run.target.read_text().splitlines()[5])
    first = found.places[:2]
    assert [place.note for place in first] == [missed["id"]] * 2
    assert {missed["text"][place.start : place.end] for place in first} == {MISSED}
    assert all(place.is_marked for place in first) and not any(place.is_marked for place in found.places[2:])
    assert (found.notes, found.patients, found.surrogates) == (32, 16, 3 * 32 - 2 - found.tags)
    assert found.marked > 0.9 * found.surrogates
    write_attack(run.target, found, with_text=True)
    assert all(MISSED in (run.reports / name).read_text() for name in ("attack.tsv", "attack.html"))


def test_the_command_writes_a_list_and_a_page_without_text_unless_asked(
    run: RunSettings, phistack: Callable[..., Any]
) -> None:
    deidentify(run)
    status, said, _ = phistack("attack", run.target)
    listed, page = ((run.reports / name).read_text() for name in ("attack.tsv", "attack.html"))
    assert status == 0 and "The attacker's models mark 2 places that the run did not replace" in said
    assert listed.splitlines()[0].split("\t") == ["note", "start", "end", "label", "likely", "marked by"]
    assert listed.splitlines()[1].startswith("102-02\t") and "mark 2 places" in page
    assert not any(MISSED in written for written in (said, listed, page))
    assert phistack("audit", run.target)[0] == 0, "the run is as it was"


def test_the_page_of_the_run_has_what_was_found_and_the_log_covers_all_else(
    run: RunSettings, phistack: Callable[..., Any]
) -> None:
    page = run.reports / "summary.html"
    assert untried(deidentify(run), run.target) != []
    before = page.read_text()
    assert "Not tried yet: search the output" in before
    found = attack(run.target)
    for _ in range(2):
        write_attack(run.target, found)
        after = page.read_text()
        assert "Not tried yet" not in after and '<a href="attack.html">' in after
        assert all(after.count(escape(statement)) == 1 for statement in statements(found))
        assert deidentify(run).notes == 32 and phistack("audit", run.target)[0] == 0
    for forged in (after.replace("</li>\n</ul>", "</li>\n<b>Safe.</b></ul>"), after.replace("32 notes;", "33 notes;")):
        assert forged != after
        page.write_text(forged)
        assert "summary.html differs from the one that the run wrote" in phistack("audit", run.target)[2]


def test_a_run_without_surrogates_or_of_few_notes_names_no_attack(run: RunSettings) -> None:
    with_tags = deidentify(replace(run, policy=Policy.named("tag"), target=run.target.with_name("tags.jsonl")))
    run.source.write_text("\n".join(run.source.read_text().splitlines()[:19]))
    of_few = deidentify(run)
    assert untried(with_tags, run.target) == untried(of_few, run.target) == []
    assert "attacker finds" not in (run.reports / "summary.html").read_text()


def test_what_cannot_be_attacked_is_refused_in_a_sentence(run: RunSettings, phistack: Callable[..., Any]) -> None:
    def refusal() -> str:
        status, said, reported = phistack("attack", run.target)
        assert (status, said) == (1, "") and not (run.reports / "attack.tsv").exists()
        return str(reported)

    assert "has no summary and audit log as a run writes them" in refusal()
    deidentify(replace(run, policy=Policy.named("tag")))
    assert "has no surrogates: tags hide nothing" in refusal()
    for path in (run.target, *run.reports.iterdir()):
        path.unlink()
    run.reports.rmdir()
    few = run.source.read_text().splitlines(keepends=True)[:8]
    run.source.write_text("".join(few))
    deidentify(run)
    assert "too few notes to attack" in refusal()
    with run.target.open("a") as file:
        file.write("\n")
    assert "cannot be attacked, as the output differs" in refusal()
