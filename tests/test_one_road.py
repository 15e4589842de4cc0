"""One path for every note: `deidentify` acts on what `annotate` marks, and `explain` shows each step."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify
from phistack.ensemble.batch.rows import Part, Row
from phistack.ensemble.batch.workers import work
from phistack.ensemble.batch.workers.job import Job
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import manifest_digest
from phistack.ensemble.bundles.shipped import shipped_engine
from phistack.ensemble.deidentification import Policy, PolicyOptions
from phistack.ensemble.engine import Engine, EngineOptions, steps
from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.stacking.phrase_lists import ALWAYS, parse_list
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.version import code_digest
from phistack.features.documents import Document
from tests.fixture_types import Phistack

MODEL = shipped_engine("english")
WARDS = EngineOptions(overruling=Overruling(always=parse_list("[HOSPITAL]\nquite briskly\n", ALWAYS)))
FOREIGN = "Pacjent Anzelm Brzozowski skarży się na ból w klatce piersiowej od trzech dni.\n"


@cache
def engine() -> Engine:
    """An engine without the network, which takes long."""
    return load_bundle(MODEL, only=("regex", "tbed", "crf"))


def without_network(path: Path) -> Engine:
    return engine()


@cache
def invented() -> tuple[str, ...]:
    return tuple(document.text for document in synthesize(30, seed=5).documents)


def found_by_workers(texts: list[str], options: EngineOptions) -> list[list[tuple[int, int, str]]]:
    """The spans on which a batch run acts, without further ones that a policy searches for."""
    policy = replace(Policy.named("tag"), options=PolicyOptions(seek_again=False))
    run = RunSettings(Path("in.jsonl"), Path("out.jsonl"), MODEL, policy, options=options, load=without_network)
    job = Job(run, (MODEL, manifest_digest(MODEL)), code_digest(), b"0" * 32)
    found: list[list[tuple[int, int, str]]] = []
    original = work._Worker._change

    def change(self: Any, note: Any, *more: Any) -> None:
        found.append([(s.start, s.end, s.label) for _, spans in note.marked for s in spans])
        original(self, note, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work._Worker, "_change", change)
        work.process_chunk(job, [Row("", None, b"", f"n{i}", f"p{i}", (Part(text),)) for i, text in enumerate(texts)])
    return found


@settings(max_examples=6)
@given(
    texts=st.lists(
        st.lists(st.sampled_from([*range(30), "foreign", "ward"]), min_size=1, max_size=4), min_size=1, max_size=3
    ),
    times=st.sampled_from([1, 1, 5]),
    longest=st.sampled_from([400, 100_000]),
)
def test_what_annotate_marks_is_what_deidentify_acts_on(texts: list[Any], times: int, longest: int) -> None:
    said: dict[Any, str] = {"foreign": FOREIGN, "ward": "moved to Ward 7B today\n", **dict(enumerate(invented()))}
    notes = ["\n".join(said[part] for part in parts) * times for parts in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "LONGEST_PIECE", longest)
        documents = [Document(f"n{i}", text, (), f"p{i}") for i, text in enumerate(notes)]
        annotated = [note.spans for note in engine().with_options(WARDS).annotate(documents)]
        acted_on = found_by_workers(notes, WARDS)
    assert [[(s.start, s.end, s.label) for s in spans] for spans in annotated] == acted_on


def test_a_long_note_has_the_same_spans_in_both_commands(phistack: Phistack, tmp_path: Path) -> None:
    """A note of 182,421 characters had 5,125 spans by one command and 5,204 by the other."""
    text = "\n".join(document.text for document in synthesize(80, seed=1).documents)
    assert len(text) > steps.LONGEST_PIECE
    (tmp_path / "note.jsonl").write_text(json.dumps({"id": "1", "text": text}) + "\n", encoding="utf-8")
    annotate = ("annotate", tmp_path / "note.jsonl", tmp_path / "a.jsonl", "--model", "english")
    assert phistack(*annotate, "--submodels", "regex,tbed,crf")[0] == 0
    n_spans = len(json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))["spans"])
    policy = replace(Policy.named("tag"), options=PolicyOptions(seek_again=False))
    source, target = tmp_path / "note.jsonl", tmp_path / "d.jsonl"
    kept = FormatSettings(Columns(others={"id": "keep"}))
    run = RunSettings(source, target, MODEL, policy, form_settings=kept, load=without_network, second_pass=False)
    summary = deidentify(run)
    assert sum(summary.by_label.values()) == n_spans


def test_explain_shows_what_each_step_changed(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(f"{invented()[0]}\n{FOREIGN}She walks quite briskly.", encoding="utf-8")
    (tmp_path / "always.txt").write_text("[HOSPITAL]\nquite briskly\n")
    command = ("explain", tmp_path / "note.txt", "--model", "english", "--always", tmp_path / "always.txt")
    status, out, _ = phistack(*command)
    assert status == 0 and "accepted" in out and "lists and patterns: +1" in out and "text in polish, not read" in out
