"""A review of notes: decisions survive anything, notes come in the right order, and strangers get no access."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.function_engine import FunctionEngine
from benchmarks.pages import served
from phistack.ensemble.batch.reports.review import ReviewRow, write_review
from phistack.ensemble.batch.reports.summary import Summary
from phistack.ensemble.batch.settings import read_struck
from phistack.ensemble.review.decisions import (
    ABSENT,
    JUDGED,
    SUGGESTED,
    Begun,
    Change,
    Decisions,
    Edited,
    Finished,
    Scheme,
    Suggestion,
    Trained,
    digest_of,
)
from phistack.ensemble.review.order import Outlook, in_order, mixed
from phistack.ensemble.review.retraining import Retrainer, expected_gain
from phistack.ensemble.review.reviewing import drawn, merged
from phistack.ensemble.review.runs import STRIKE, run_notes
from phistack.ensemble.review.session import Session, judged, shown_text
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.overruling import read_overruling
from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError, SettingsError, StorageError, TrainingError
from phistack.features.formats import read_corpus
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from tests.fixture_types import Phistack

SCHEME = Scheme.of(LabelSet.named("i2b2-2014"))
TEXT = "Seen by Dr. Hunt on 3 May."
HUNT, DAY = Suggestion(12, 16, "DOCTOR", 0.9), Suggestion(20, 25, "DATE", 0.8)


def begin(decisions: Decisions, id: str = "1", text: str = TEXT, **more: Any) -> None:
    decisions.add(Begun(id, digest_of(text), (HUNT, DAY), **more))


def change(suggestion: Suggestion, was: int, now: int) -> Edited:
    return Edited("1", "test", (Change(*suggestion[:3], was, now),), 1.0)


def session_of(decisions: Decisions, n: int = 40, **more: Any) -> Session:
    notes = [Document(f"{100 + number}-01", TEXT) for number in range(n)]
    return Session(notes, decisions, [Outlook((HUNT, DAY), number) for number in range(n)], **more)


def judge(session: Session, number: int, *changes: Change) -> None:
    session.opened(number)
    if changes:
        session.edit(number, "test", changes, 1.0)
    session.finish(number, 2.0)


# What was decided


def edit_until_killed(folder: Path, told: int) -> None:
    with Decisions(folder) as decisions:
        for n in count(len(decisions.of("1").edits)):
            states = (ABSENT, JUDGED) if n % 2 == 0 else (JUDGED, ABSENT)
            decisions.add(Edited("1", f"edit {n}", (Change(0, 4, "CITY", *states),)))
            os.write(told, b".")


def test_no_decision_is_lost_by_fifty_kills(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        begin(decisions)
    confirmed = 0
    for kill in range(50):
        reads, told = os.pipe()
        child = os.fork()
        if not child:
            try:
                edit_until_killed(tmp_path, told)
            finally:
                os._exit(1)
        os.close(told)
        confirmed += sum(len(os.read(reads, 1)) for _ in range(1 + kill % 3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        confirmed += len(os.read(reads, 10_000))
        os.close(reads)
        with Decisions(tmp_path) as decisions:
            edits = decisions.of("1").edits
        assert [edit.kind for edit in edits] == [f"edit {n}" for n in range(len(edits))]
        assert confirmed <= len(edits) <= confirmed + 1
        confirmed = len(edits)
    assert confirmed >= 50


def test_half_a_line_at_the_end_is_cut_off_and_damage_elsewhere_is_refused(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        begin(decisions)
        whole = decisions.path.read_bytes()
        assert decisions.path.stat().st_mode & 0o77 == 0
    decisions.path.write_bytes(whole + b'{"type":"edited","note":"1","ki')
    with Decisions(tmp_path) as again:
        again.add(change(HUNT, SUGGESTED, JUDGED))
    with Decisions(tmp_path) as again:
        assert again.of("1").states == {HUNT.span: JUDGED, DAY.span: SUGGESTED}
    decisions.path.write_bytes(whole.replace(b'"begun"', b'"begin"'))
    with pytest.raises(CorpusError, match=r"decisions\.jsonl, line 2, is damaged; restore the file from a backup"):
        Decisions(tmp_path)


def test_an_edit_of_what_is_not_there_is_refused_and_not_kept(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        begin(decisions)
        decisions.add(change(HUNT, SUGGESTED, ABSENT))
        with pytest.raises(CorpusError, match="changed in another window"):
            decisions.add(change(HUNT, SUGGESTED, JUDGED))
        with pytest.raises(CorpusError, match="not begun"):
            decisions.add(Finished("2"))
    with Decisions(tmp_path) as again:
        assert again.of("1").spans == (DAY.span,)


def test_a_full_disk_keeps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with Decisions(tmp_path, SCHEME) as decisions:
        begin(decisions)
        with monkeypatch.context() as patch, pytest.raises(StorageError, match="free space on its disk"):
            patch.setattr(os, "fsync", full)
            decisions.add(change(HUNT, SUGGESTED, JUDGED))
        decisions.add(change(HUNT, SUGGESTED, ABSENT))
    with Decisions(tmp_path) as again:
        assert again.of("1").spans == (DAY.span,)


def test_two_reviews_in_one_folder_are_refused(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME), pytest.raises(SettingsError, match="is open in another phistack review"):
        Decisions(tmp_path)
    with pytest.raises(CorpusError, match="holds no decisions on notes"):
        Decisions(tmp_path / "other")
    assert not (tmp_path / "other").exists()


# Which note is next


def test_uncertain_begins_with_the_most_expected_errors_and_random_does_not() -> None:
    outlooks = [Outlook(wrong=wrong) for wrong in (0.5, 3.0, 0.1, float("inf"))]
    assert in_order(outlooks, "uncertain", seed=1) == [3, 1, 0, 2]
    assert sorted(in_order(outlooks, "random", seed=1)) == [0, 1, 2, 3]
    assert len({tuple(in_order(outlooks, "random", seed=seed)) for seed in range(20)}) > 5


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.25, 0.5, 1.0])), max_size=6))
def test_diverse_adds_most_for_a_decision_in_each_step_as_by_brute_force(near: list[dict[str, float]]) -> None:
    outlooks = [Outlook(wrong=sum(of_note.values()), near=of_note) for of_note in near]
    order = in_order(outlooks, "diverse", seed=0)
    assert sorted(order) == [*range(len(near))]

    def adds(place: int, earlier: list[int]) -> float:
        new = (wrong * 0.3 ** sum(word in near[n] for n in earlier) for word, wrong in near[place].items())
        return sum(new) / (1 + outlooks[place].wrong)

    for step, place in enumerate(order):
        assert adds(place, order[:step]) == pytest.approx(max(adds(other, order[:step]) for other in order[step:]))


def test_a_fifth_of_the_patients_is_set_aside_and_mixed_in(tmp_path: Path) -> None:
    assert mixed([1, 2, 3, 4], [9]) == [1, 2, 9, 3, 4]
    with Decisions(tmp_path, SCHEME) as decisions:
        notes = [Document(f"{n // 2}-0{n % 2}", TEXT, group=f"p{n // 2}") for n in range(400)]
        session = Session(notes, decisions, [Outlook()] * 400)
        aside = {note.group for note in notes if session.is_aside(note)}
        assert 20 < len(aside) < 60
        first = [session.entries[number].document.group in aside for number in session.order[:50]]
        assert 4 < sum(first) < 16
        order = session.order
        twice = [number for number in order if session.entries[number].again]
        assert twice and all(order.index(n) > order.index(session.entries[n].place) for n in twice)
        assert len(drawn(notes, decisions, 10)) == 10 and drawn(notes, decisions, 10) == drawn(notes, decisions, 10)
        begin(decisions, "77-01")
        assert "77-01" in [note.id for note in drawn(notes, decisions, 10)]


@given(st.text(st.characters(), max_size=30))
def test_the_page_shows_as_many_code_points_and_no_sign_that_hides(text: str) -> None:
    shown = shown_text(text)
    assert len(shown) == len(text) and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")
    plain = re.compile(r"[\w ,.]+")
    assert all(match[0] in shown for match in plain.finditer(text))


# How it goes


def test_notes_that_changed_begin_anew_and_are_not_exported(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        session = session_of(decisions, 3)
        judge(session, 0, Change(*HUNT[:3], SUGGESTED, JUDGED))
        judge(session, 1, Change(*DAY[:3], SUGGESTED, ABSENT))
        session.opened(2)
        assert [session.state(number) for number in range(3)] == ["done", "done", "begun"]
        notes = [Document("100-01", TEXT + " More."), *session.documents[1:]]
        done, others = judged(notes, decisions)
        assert [(note.id, note.spans) for note in done] == [("101-01", (HUNT.span,))]
        assert {id: reason.partition(" ")[0] for id, reason in others.items()} == {"100-01": "its", "102-01": "it"}
        again = Session(notes, decisions, session.outlooks)
        assert again.state(0) == "changed" and again.status()["changed"] == 1
        assert again.opened(0)["state"] == "changed" and again.state(0) == "begun"
        assert [*judged(notes, decisions)[0]] == done


def test_the_figures_are_those_of_the_notes_that_are_done(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        session = session_of(decisions, 40, blind=True, engine="first")
        assert session.measured() is None and session.status()["seconds"] is None
        hidden = [n for n in range(40) if not session.opened(n)["shown"]]
        assert 0 < len(hidden) < 12 and not session.judgement(hidden[0]).spans
        for number in range(40):
            states = (ABSENT, JUDGED) if number in hidden else (SUGGESTED, JUDGED)
            judge(session, number, Change(*HUNT[:3], *states))
        twice = [number for number, entry in enumerate(session.entries) if entry.again]
        for number in twice:
            judge(session, number)
        found = session.status()
        assert (found["done"], found["seconds"], found["engine"]) == (40, 3.0, "first")
        assert found["agreement"]["with suggestions"] == (1.0, 40 - len(hidden))
        # One of two suggestions was found without being seen.
        assert found["agreement"]["where they were hidden"] == (pytest.approx(2 / 3), len(hidden))
        assert found["agreement"]["with oneself"][1] == len(twice) > 0
        gold, system = session.measured()
        assert len(gold) == found["aside"] and {*gold.documents} <= {*judged(session.documents, decisions, "aside")[0]}
        assert all(note.spans == (HUNT.span, DAY.span) for note in system.documents)


def test_the_next_notes_bring_what_the_curve_promises() -> None:
    assert expected_gain([(50, 0.8), (100, 0.9)], 100) == pytest.approx(0.05)
    assert expected_gain([(50, 0.9), (100, 0.8)]) is expected_gain([(50, 0.9)]) is None


def test_an_engine_is_trained_in_the_background_and_its_suggestions_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retrainer, "_trained_on", lambda self, corpus: tmp_path / "engine-1")
    engine = FunctionEngine(lambda note: [Decision(Span(0, 4, "CITY"), 0.7, True, ())])
    with Decisions(tmp_path, SCHEME) as decisions:
        session = session_of(decisions, 40)
        retrainer = Retrainer(session, Path("english"), lambda bundle: engine)
        with pytest.raises(SettingsError, match="0 notes to learn from are done, and training needs 10"):
            retrainer.start()
        for number in range(30):
            judge(session, number)
        assert retrainer.status()["f1"][0] == 1.0
        retrainer.start()
        while retrainer.status()["training"]:
            time.sleep(0.01)
        found = retrainer.status()
        assert "in 10 notes that were not begun, 10 suggestions are new and 20 are gone" in found["said"]
        assert "100.0% before, 0.0% now" in found["said"] and found["f1"][0] == 0
        assert session.opened(35)["spans"] == [(0, 4, "CITY", SUGGESTED, 0.7, "")]
        assert [type(line) for line in decisions.trained] == [Trained] and found["curve"] == [
            (found["curve"][0][0], 0, 0, 0)
        ]


def test_what_stops_a_training_is_told(tmp_path: Path) -> None:
    with Decisions(tmp_path, SCHEME) as decisions:
        session = session_of(decisions, 40)
        for number in range(30):
            judge(session, number)
        retrainer = Retrainer(session, tmp_path / "nowhere", lambda bundle: None)
        with pytest.raises(TrainingError, match="nowhere"):
            retrainer._trained_on(retrainer._training_notes())
        assert {path.name for path in tmp_path.iterdir()} == {"lock", "decisions.jsonl"}
        learned = [note.id for note in retrainer._training_notes().documents]
        assert learned == [note.id for note in session.documents[:30] if not session.is_aside(note)]


# Two people


def test_two_reviews_become_one_in_which_only_disagreements_are_open(tmp_path: Path) -> None:
    sides = []
    for name, changes in (
        ("anna", ()),
        ("ben", (Change(*DAY[:3], SUGGESTED, ABSENT), Change(20, 26, "DATE", ABSENT, JUDGED))),
    ):
        decisions = Decisions(tmp_path / name, SCHEME)
        session = session_of(decisions, 3)
        judge(session, 0)
        judge(session, 1, *changes)
        sides.append(decisions)
    with sides[0], sides[1], Decisions(tmp_path / "gold", SCHEME) as gold:
        documents, agreement = merged(session.documents, sides[0], sides[1], gold)
        assert [note.id for note in documents] == ["101-01", "100-01"]
        assert agreement.score.f1.value == pytest.approx(3 / 4) and agreement.names == ("anna", "ben")
        session = Session(documents, gold, [Outlook()] * 2, "")
        assert session.order == [0, 1] and [session.state(n) for n in (0, 1)] == ["begun", "done"]
        spans = session.opened(0)["spans"]
        assert [(start, end, state, by) for start, end, _, state, _, by in spans] == [
            (12, 16, JUDGED, ""), (20, 25, SUGGESTED, "anna"), (20, 26, SUGGESTED, "ben")
        ]  # fmt: skip
        with pytest.raises(CorpusError, match="no note is done in both"):
            merged([Document("x", TEXT)], sides[0], sides[1], gold)


# A batch run


def test_words_of_a_run_become_the_lists_of_the_next(tmp_path: Path, phistack: Phistack) -> None:
    run, store, out = tmp_path / "clean.run", tmp_path / "clean.run.review", tmp_path / "lists"
    run.mkdir()
    line = "seen with Hilard and Aspirin at Elm"
    words = [("Hilard", line), ("Aspirin", line), ("Elm", ""), *((f"Word{n}", "") for n in range(50))]
    rows = {word: ReviewRow(word, 0.9 - n / 100, 1, 1, "n1", 0, 5, of) for n, (word, of) in enumerate(words)}
    write_review(run / "review.tsv", rows)
    (run / "quarantine.jsonl").write_text('{"id": "n9", "place": "line 9", "reason": "its name is not a valid id"}\n')
    (run / "audit.jsonl").write_text('{"settings": {}}\n{"id": "n2", "lowest": 0.51}\n{"id": "n3", "lowest": 0.99}\n')
    counted: Any = {"notes": 9, "quarantined": 1, "with_phi": 4, "unresolved": 0, "words_to_review": 53, "input": ""}
    empty: Any = {name: {} for name in ("by_strategy", "by_reason", "second_pass", "still_there", "settings")}
    summary = Summary(by_label={"HOSPITAL": 3, "DOCTOR": 1}, **counted, **empty)
    (run / "summary.json").write_text(json.dumps(summary.to_dict()))
    found = run_notes(run)
    assert [note.id for note in found.documents] == ["notes to look at", "words 1", "words 2"]
    assert found.documents[0].text.splitlines() == [
        "n9 was held back: its name is not a valid id",
        "n2 has an identifier of which the engine was sure by 0.51 only",
    ]
    page = found.documents[1]
    assert page.text.startswith(f"{line}\n{line}\nElm\nWord0\n")
    with Decisions(store, found.scheme) as decisions:
        session = Session(found.documents, decisions, found.outlooks, "")
        first = found.outlooks[1].suggestions
        assert [page.text[s.start : s.end] for s in first] == [word for word, _ in words[:40]]
        aspirin, elm = first[1], first[2]
        gone = [Change(word.start, word.end, STRIKE, SUGGESTED, ABSENT) for word in (aspirin, elm)]
        judge(session, 1, *gone, Change(elm.start, elm.end, "HOSPITAL", ABSENT, JUDGED))
    status, said, error = phistack("review", run, "--export", out)
    assert (status, error) == (0, "") and f"--always {out}/always.txt: 1 phrase, found with its label" in said
    assert (out / "always.txt").read_text() == "[HOSPITAL]\nElm\n" and (out / "never.txt").read_text() == "Aspirin\n"
    assert read_struck(out / "strike.txt") == {fold(word) for word, _ in words[:40]} - {"aspirin", "elm"}
    assert read_overruling(out / "always.txt", out / "never.txt").always.phrases[0].label == "HOSPITAL"


# The server


@dataclass
class Asked:
    """A review that is served."""

    port: int
    token: str = "the-token"

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, Any, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        headers = {"x-phistack-token": self.token, **{name.replace("_", "-"): value for name, value in headers.items()}}
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request("GET" if sent is None else "POST", path, sent, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if content.startswith(b"{") else content.decode(), answer


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    with Decisions(tmp_path, SCHEME) as decisions, served(session_of(decisions, 3), "the-token") as port:
        yield Asked(port)


def test_strangers_get_no_note(asked: Asked, capfd: pytest.CaptureFixture[str]) -> None:
    for path in ("/api/state", "/api/notes/0", "/api/status", "/api/nothing"):
        for token in ("", "the-tokem", "the-token2"):
            status, found, _ = asked.ask(path, x_phistack_token=token)
            assert status == 403 and "open the address that phistack review printed" in found["error"]
        for host in (
            "evil.example",
            f"evil.example:{asked.port}",
            "127.0.0.1",
            f"127.0.0.1:{asked.port}.evil.example",
        ):
            status, found, _ = asked.ask(path, host=host)
            assert status == 421 and list(found) == ["error"]
    status, page, answer = asked.ask("/", x_phistack_token="")
    assert status == 200 and "Hunt" not in page
    assert re.search(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\S+'; connect-src 'self'", page
    )
    assert answer.headers["cache-control"] == "no-store" and answer.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"] and not answer.headers.get("server")
    assert "".join(capfd.readouterr()) == ""


def test_what_the_page_sends_is_checked(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    status, note, _ = asked.ask("/api/notes/0")
    assert status == 200 and note["text"] == TEXT and note["spans"][0] == [12, 16, "DOCTOR", 1, 0.9, ""]
    good = {"kind": "accept", "changes": [[12, 16, "DOCTOR", 1, 2]], "seconds": 1.5}
    assert asked.ask("/api/notes/0/edit", good)[0] == 200
    for path, body, message in (
        ("/api/notes/0/edit", good, "another window"),
        ("/api/notes/7/edit", good, "no note with the number 7"),
        ("/api/notes/1/edit", good, "not begun"),
        ("/api/notes/0/edit", good | {"changes": [[12, 99, "DOCTOR", 0, 2]]}, "a place that the note does not have"),
        ("/api/notes/0/edit", good | {"changes": [[1, 2, "Hunt", 0, 2]]}, "an unknown label"),
        ("/api/notes/0/edit", good | {"changes": "Hunt"}, "another form"),
        ("/api/notes/0/edit", b"\xff", "another form"),
        ("/api/notes/0/edit", b" " * (2**22 + 1), "too long"),
        ("/api/train", {}, "no engine to train again"),
    ):
        status, found, _ = asked.ask(path, body)
        assert status in (400, 409) and message in found["error"] and "Hunt" not in found["error"]
    assert asked.ask("/api/notes/0/finish", {"seconds": 2})[0] == 200
    status, found, _ = asked.ask("/api/state")
    assert {entry["number"]: entry["state"] for entry in found["entries"]} == {0: "done", 1: "new", 2: "new"}
    assert found["labels"][:2] == [["DOCTOR", "NAME"], ["DATE", "DATE"]]
    assert asked.ask("/api/status")[1]["done"] == 1 and not caplog.records


def test_an_error_inside_shows_its_place_and_no_text(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Session, number: int) -> None:
        raise ValueError(TEXT)

    monkeypatch.setattr(Session, "opened", fail)
    status, found, _ = asked.ask("/api/notes/0")
    assert status == 500 and re.fullmatch(r"internal error, ValueError in test_review\.py line \d+", found["error"])
    assert "Hunt" not in caplog.text + "".join(capfd.readouterr())


# The command


def test_a_review_from_the_first_address_to_the_exported_notes(tmp_path: Path, phistack: Phistack) -> None:
    lines = [{"id": f"{n}-01", "text": TEXT, "spans": [{"start": 12, "end": 16, "label": "DOCTOR"}]} for n in (7, 8)]
    notes, out = tmp_path / "notes.jsonl", tmp_path / "gold.jsonl"
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, _, error = phistack("review", notes, "--export", out)
    assert status == 1 and "holds no decisions on notes" in error
    command = [sys.executable, "-m", "phistack.ensemble.command_line.app", "review", str(notes), "--annotated"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S{32})", process.stdout.readline()).groups()
        asked = Asked(int(port), token)
        assert asked.ask("/api/notes/0")[1]["spans"] == [[12, 16, "DOCTOR", 1, 1.0, ""]]
        assert asked.ask("/api/notes/0/finish", {"seconds": 1})[0] == 200
        asked.ask("/api/notes/1")
        status, _, error = phistack("review", notes, "--annotated")
        assert status == 1 and "notes.jsonl.review is open in another phistack review" in error
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    assert process.returncode == 0 and "1 of 2 notes are done" in said and token not in said and "Hunt" not in said
    status, said, error = phistack("review", notes, "--export", out)
    assert status == 3 and "1 note with 1 PHI is in" in said and "it was begun, and is not done" in error
    assert read_corpus(out).documents == (Document("7-01", TEXT, (Span(12, 16, "DOCTOR"),), group="7"),)
    for wrong, message in (
        ("--order x", "no order named x"),
        ("--part x", "no part named x"),
        ("--merge a", "--merge twice"),
    ):
        status, _, error = phistack("review", notes, *wrong.split())
        assert status == 1 and message in error
