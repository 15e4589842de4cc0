"""A user's lists and patterns, from outside: what they mark, unmark, leave and refuse."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.batch import Columns, audit_run, deidentify
from phistack.ensemble.batch.rows import FormatSettings
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import EngineOptions
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.overruling import Overruling, read_overruling
from phistack.ensemble.stacking.phrase_lists import ALWAYS, NEVER, parse_list
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_view
from phistack.submodels.base import Candidate
from phistack.submodels.regex.pattern_files import parse_patterns
from tests.annotated import annotated, corpus_of
from tests.batch_runs import run_over
from tests.fixture_types import Phistack

WORDS = ["Ames", "Birch", "ward", "7B", "Aspirin", "-", "(", "Łucja", "mg", "2019"]
PATTERN = """[[patterns]]
name = "own-number"
regex = '\\bQX-(?P<phi>\\d{4})\\b'
labels = { i2b2-2014 = "IDNUM" }
"""


def decided(text: str, spans: list[Span], source: str = "crf", html: bool = False) -> Any:
    """Accepted decisions on a note, and the function that applies lists to them."""
    decisions = [Decision(span, 0.9, True, (Candidate(span, source),)) for span in spans]
    view = plain_view(Document("n", text), html=html)
    return lambda overruling: overruling.applied(view, text, decisions)


def accepted(decisions: Any) -> list[Span]:
    return [decision.span for decision in decisions if decision.accepted]


def always(text: str) -> Overruling:
    return Overruling(always=parse_list(text, ALWAYS))


def never(text: str) -> Overruling:
    return Overruling(never=parse_list(text, NEVER))


@st.composite
def notes(draw: Any) -> Any:
    """A text of words, spans on some of them, and a phrase made of its words."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    spans, end = [], 0
    for first in sorted(draw(st.sets(st.integers(0, len(words) - 1)))):
        last = min(first + draw(st.integers(0, 2)), len(words) - 1)
        if starts[first] >= end:
            end = starts[last] + len(words[last])
            spans.append(Span(starts[first], end, draw(st.sampled_from(["DOCTOR", "DATE"]))))
    first = draw(st.integers(0, len(words) - 1))
    chosen = words[first : first + draw(st.integers(1, 3))]
    return text, spans, chosen if any(word.isalnum() for word in chosen) else ["Ames"]


@given(notes(), st.sampled_from([str.lower, str.upper, str]))
def test_a_phrase_of_always_is_covered_and_no_character_uncovered(note: Any, written: Any) -> None:
    text, spans, words = note
    after = accepted(decided(text, spans)(always(f"[HOSPITAL]\n{'  '.join(map(written, words))}\n")))
    covered = {i for span in after for i in range(span.start, span.end)}
    before = {i for span in spans for i in range(span.start, span.end)}
    hits, given = set(), text.split(" ")
    for i in range(len(given) - len(words) + 1):
        if given[i : i + len(words)] == words:
            start = sum(len(word) + 1 for word in given[:i])
            hits |= set(range(start, start + len(" ".join(words))))
    assert before | hits == covered
    assert sum(span.end - span.start for span in after) == len(covered), "accepted spans never overlap"
    assert {s for s in spans if not hits & set(range(s.start, s.end))} <= set(after)


@given(notes())
def test_a_phrase_of_never_alone_is_not_marked_and_nothing_else_changes(note: Any) -> None:
    text, spans, words = note
    after = accepted(decided(text, spans)(never(" ".join(words))))
    phrase = " ".join(words).strip("(- ")
    assert after == [span for span in spans if text[span.start : span.end].strip("(- ") != phrase]
    known = decided(text, spans, source="known")(never(" ".join(words)))
    assert accepted(known) == spans


def test_the_spans_of_a_note_that_is_not_plain_are_those_of_the_note() -> None:
    text = "At Wa\u200brd\u00a07B, <b>As</b>pirin"
    spans = [Span(text.index("<b>") + 3, len(text), "DOCTOR")]
    both = Overruling(parse_list("[HOSPITAL]\nward 7b", ALWAYS), parse_list("Aspirin", NEVER))
    assert accepted(decided(text, spans, html=True)(both)) == [Span(3, 11, "HOSPITAL")]


def test_never_is_as_it_is_written_and_of_its_label_only() -> None:
    note = annotated("[BROWN|DOCTOR] and [Brown|DOCTOR] and [May|DATE]")
    assert accepted(decided(note.text, note.spans)(never("Brown\n[DOCTOR]\nMay"))) == [note.spans[0], note.spans[2]]


def test_who_said_it_is_among_the_votes_and_the_text_is_not() -> None:
    lists = replace(never("# drugs\nSecretin"), always=parse_list("[DOCTOR]\n/Zzy\\w+/", ALWAYS))
    decisions = decided("Zzyzx took Secretin", [Span(11, 19, "DOCTOR")])(lists)
    assert [(d.span.start, d.accepted, d.votes[-1].source, d.votes[-1].evidence) for d in decisions] == [
        (0, True, "always", "line 2"),
        (11, False, "never", "line 2"),
    ]
    assert not any(word in repr((lists, decisions)) for word in ("Zzy", "Secretin"))


def test_a_pattern_is_accepted_and_never_can_refuse_it_but_for_what_is_certain() -> None:
    label_set = LabelSet.named("i2b2-2014")
    text, spans = "no. QX-1234", [Span(7, 11, "DATE")]
    [pattern] = parse_patterns(PATTERN)
    own = Overruling(patterns=(pattern,)).suited_to(label_set, "en")
    assert accepted(decided(text, [])(own)) == [Span(7, 11, "IDNUM")]
    refusing = replace(own, never=parse_list("1234", NEVER))
    assert accepted(decided(text, [])(refusing)) == []
    assert accepted(decided(text, spans, source="known")(refusing)) == [Span(7, 11, "IDNUM")]


@pytest.mark.parametrize(
    ("kind", "content", "reported"),
    [
        (ALWAYS, b"[DOCTOR]\nAmes\nB\xfcrger", "line 3, column 2: it is not UTF-8"),
        (ALWAYS, b"\n  Ames\n", "line 2, column 3: the phrase has no label"),
        (ALWAYS, b"[DOCTR]\nAmes\n", "line 2: there is no label named DOCTR (did you mean DOCTOR?)"),
        (NEVER, b"[DOCTR]\nAmes\n", "line 2: there is no label named DOCTR (did you mean DOCTOR?)"),
        (ALWAYS, b"[]\nAmes\n", "line 1, column 1: a label is written between brackets"),
        (NEVER, b"Ames\n...\n", "line 2, column 1: the phrase is empty"),
        (NEVER, b"Ames\n//\n", "line 2, column 1: write a regular expression between two slashes"),
        (NEVER, b"# nothing\n", "it holds no phrase"),
        (NEVER, b"Ames\n /a(b/\n", "line 2, column 2: what the slashes enclose is not a regular expression: missing )"),
        (NEVER, b"Ames\n/(a+)+b/\n", "line 2, column 1: what the slashes enclose took too long on a trial"),
        (NEVER, b"x " * 101, "line 1, column 1: the phrase has more than 100 words"),
    ],
)
def test_what_is_of_no_use_is_one_sentence_with_its_place(
    tmp_path: Path, kind: str, content: bytes, reported: str
) -> None:
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(SettingsError) as error:
        read_overruling(**{kind: tmp_path / "list.txt"}).suited_to(LabelSet.named("i2b2-2014"), "en")
    assert f"the list of --{kind} {tmp_path / 'list.txt'} cannot be used: {reported}" in str(error.value)


@pytest.mark.parametrize("phrases", [("Dr.  Ames", "dr. ames"), ("/a\\d/", "/a\\d/i"), ("Ames", "Birch\nAMES")])
def test_lists_that_contradict_each_other_are_refused(phrases: Any) -> None:
    with pytest.raises(SettingsError, match=r"contradict each other: line 2, column 1 of .* are the same phrase"):
        Overruling(parse_list(f"[DOCTOR]\n{phrases[0]}", ALWAYS), parse_list(phrases[1], NEVER))


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """A batch run in which the engine finds names after `Dr.` or `Patient`."""
    texts = [
        "Patient Ann Hill saw Dr. Ames at ward 7b.",
        "Hill took Aspirin of Dr. Aspirin.",
        "x" * 99_997 + " Ward\n7B",
    ]
    rows = [{"id": f"100-0{i}", "text": text} for i, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "always.txt").write_text("[HOSPITAL]\nWard 7B\n")
    (tmp_path / "never.txt").write_text("Aspirin\nHill\n")
    lists = read_overruling(tmp_path / "always.txt", tmp_path / "never.txt")
    return run_over(tmp_path / "in.jsonl", options=EngineOptions(overruling=lists))


def test_never_uncovers_nothing_that_a_column_knows(run: Any) -> None:
    run.source.write_text(json.dumps({"id": "1", "name": "Ann Hill", "text": "Hill took Aspirin. Dr. Aspirin"}) + "\n")
    columns = Columns(others={"id": "keep", "name": "PATIENT"})
    deidentify(replace(run, form_settings=FormatSettings(columns)))
    assert texts(run) == ["[PATIENT] took Aspirin. Dr. Aspirin"]


def texts(settings: Any) -> Any:
    return [json.loads(line)["text"] for line in settings.target.read_text().splitlines()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_obeys_its_lists_and_its_log_counts_them(run: Any, jobs: int) -> None:
    summary = deidentify(replace(run, jobs=jobs))
    assert summary.quarantined == 0
    written = texts(run)
    assert written[0] == "Patient [PATIENT] saw Dr. [DOCTOR] at [HOSPITAL]."
    # `Hill` alone is a repeat of the patient's name, and in the list of what never is.
    assert written[1] == "Hill took Aspirin of Dr. Aspirin."
    assert written[2] == "x" * 99_997 + " [HOSPITAL]", "a phrase that two pieces of a long note share"
    log = (run.reports / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line).get("lists") for line in log[1:4]] == [{"always": 1}, {"never": 1}, {"always": 1}]
    assert "7B" not in "".join(log)
    assert not audit_run(run.target).problems


@pytest.mark.parametrize("content", ["[WARD]\nWard 7B\n", "[HOSPITAL]\nWard 7B\n"])
def test_a_run_whose_lists_cannot_be_obeyed_leaves_nothing(run: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "always.txt").write_text(content)
    lists = read_overruling(tmp_path / "always.txt")
    policy = Policy.named("tag").with_overrides({"HOSPITAL": "keep"})
    with pytest.raises(SettingsError, match=r"no label named WARD|the policy keeps HOSPITAL"):
        deidentify(replace(run, options=EngineOptions(overruling=lists), policy=policy))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["always.txt", "bundle", "in.jsonl", "never.txt"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with notes, an engine, lists and a pattern."""
    folder = tmp_path_factory.mktemp("overruling")
    text = "Seen by Dr. [Gorse{}|DOCTOR] on [0{}/12/2019|DATE] at Ward 7B, no. QX-123{}."
    corpus = corpus_of(*(text.format("abcdefgh"[i], i + 1, i) for i in range(8)), first=200)
    write_corpus(corpus, folder / "notes", format="i2b2")
    train_bundle(corpus, folder / "engine", EngineSettings(folds=2).only(("regex", "crf")))
    (folder / "always.txt").write_text("[HOSPITAL]\nward 7b\n")
    (folder / "never.txt").write_text("Gorsea\n")
    (folder / "own.toml").write_text(PATTERN)
    return folder


def lists(home: Path) -> tuple[Any, ...]:
    return ("--always", home / "always.txt", "--never", home / "never.txt", "--patterns", home / "own.toml")


def test_annotate_marks_what_the_lists_say(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    for name, more in (("plain", ()), ("told", lists(home))):
        status, _, error = phistack("annotate", home / "notes", tmp_path / name, "--model", home / "engine", *more)
        assert status == 0, error
    plain, told = (read_corpus(tmp_path / name).documents for name in ("plain", "told"))
    for before, after in zip(plain, told, strict=True):
        text = before.text
        number = text.index("QX") + 3
        added = {Span(36, 43, "HOSPITAL"), Span(number, number + 4, "IDNUM")}
        less = {Span(12, 18, "DOCTOR")} if "Gorsea" in text else set()
        kept = {span for span in before.spans if not any(span.overlaps(other) for other in added)}
        assert set(after.spans) == (kept | added) - less


def test_explain_says_who_overruled_and_shows_no_text(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    status, shown, _ = phistack("explain", home / "notes", "--model", home / "engine", "--html", page, *lists(home))
    assert status == 0
    assert all(said in shown for said in ("always: line 2", "never: line 1", "patterns: own-number"))
    assert "Gorse" not in shown and "7B" not in shown
    assert "never" in page.read_text()


def test_check_shows_where_patterns_match_by_offset(home: Path, phistack: Phistack) -> None:
    check = ("patterns", "check", home / "own.toml")
    assert phistack(*check)[:2] == (0, f"the patterns of {home / 'own.toml'} can be used: own-number\n")
    status, shown, _ = phistack(*check, "--on", home / "notes")
    corpus = read_corpus(home / "notes")
    start = corpus.documents[0].text.index("QX-") + 3
    assert status == 0 and f"own-number {start} {start + 4}" in " ".join(shown.split()) and "1230" not in shown
    assert "own-number: 8 matches in 8 notes" in shown
    assert "1230" in phistack(*check, "--on", home / "notes", "--text")[1]


def test_check_refuses_what_may_never_end(
    home: Path, phistack: Phistack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phistack.features.limited_regex._TRIAL_SECONDS", 0.2)
    bad, listed = tmp_path / "bad.toml", tmp_path / "bad.txt"
    bad.write_text(PATTERN.replace("QX-", r"(?:\w+\s*){1,9}"))
    listed.write_text("[DOCTOR]\n/a*a*a*a*a*a*a*a*b/\n")
    notes, engine, new = home / "notes", home / "engine", tmp_path / "new"
    in_pattern = f"the pattern own-number (line 1 of {bad}) took too long on a trial; "
    in_list = f"{listed} cannot be used: line 2, column 1: what the slashes enclose took too long on a trial; "
    for command, said in (
        (("patterns", "check", bad), in_pattern),
        (("train", notes, "--model", new, "--patterns", bad), in_pattern),
        (("annotate", notes, new, "--model", engine, "--patterns", bad), in_pattern),
        (("annotate", notes, new, "--model", engine, "--always", listed), in_list),
        (("deidentify", notes, new, "--model", engine, "--never", listed), in_list),
        (("split", notes, new, "--group-by", "(a+)+$"), "the pattern group_by (--group-by) took too long on a trial; "),
        (("split", notes, new, "--group-by", "("), "the pattern group_by (--group-by) is not a regular expression: "),
    ):
        status, _, error = phistack(*command)
        assert status == 1
        assert said in error.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml", "bad.txt"]


def test_a_note_on_which_a_pattern_is_slow_is_held_back_alone(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(PATTERN.replace("QX-", "(?:q|r|qr)*"))
    rows = [{"id": "1", "text": "seen by " + "qr" * 300 + " 1234"}, {"id": "2", "text": "Seen on 3 May 2011, qr1234"}]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ("deidentify", tmp_path / "notes.jsonl", tmp_path / "new.jsonl", "--model", home / "engine")
    more = ("--patterns", bad, "--column", "id=keep", "--other-languages", "read")
    status, _, error = phistack(*given, *more)
    assert status == 3, error
    assert [json.loads(line)["id"] for line in (tmp_path / "new.jsonl").read_text().splitlines()] == ["2"]
    held_back = (tmp_path / "new.jsonl.run" / "quarantine.jsonl").read_text()
    assert f"the pattern own-number (line 1 of {bad}) took too long on" in held_back and held_back.count("\n") == 1


def test_check_ends_where_the_trial_did_not_find_what_is_slow(phistack: Phistack, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(PATTERN.replace("QX-", "(?:q|r|qr)*"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("seen by " + "qr" * 300 + " 1234")
    assert phistack("patterns", "check", bad)[0] == 0
    status, _, error = phistack("patterns", "check", bad, "--on", tmp_path / "notes")
    assert status == 1
    assert f"the pattern own-number (line 1 of {bad}) took too long on 613 characters of text; " in error


def test_an_engine_learns_from_patterns_of_the_user(home: Path, phistack: Phistack, tmp_path: Path) -> None:
    gold = read_corpus(home / "notes")
    marked = []
    for document in gold.documents:
        at = document.text.index("QX-") + 3
        marked.append(document.with_spans((*document.spans, Span(at, at + 4, "IDNUM"))))
    write_corpus(replace(gold, documents=tuple(marked)), tmp_path / "notes", format="i2b2")
    given = ("train", tmp_path / "notes", "--model", tmp_path / "engine", "--folds", 2, "--jobs", 1)
    status, _, error = phistack(*given, "--submodels", "regex,tbed", "--patterns", home / "own.toml")
    assert status == 0, error
    status, shown, _ = phistack("explain", tmp_path / "notes", "--model", tmp_path / "engine")
    assert "regex 0." in shown and "own-number" in shown and "tbed" in shown
    status, _, error = phistack(*given, "--submodels", "crf", "--patterns", home / "own.toml")
    assert status == 1 and "none of the submodels crf learns from --patterns" in error
