"""`check-labels`: which labels are in doubt, and in which order."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.label_errors import DAMAGE, by_cleanlab, damaged
from phistack.ensemble.evaluation.contradictions import outvoted
from phistack.ensemble.experiments.label_doubts import LabelDoubt, doubts, doubts_sheet
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats.corpora import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

LEE = Span(3, 6, "DOCTOR")


def marked(id: str, *spans: Span) -> Document:
    return Document(id, "by Lee Ann today", spans)


def decided(span: Span, probability: float, *, accepted: bool = True) -> Decision:
    return Decision(span, probability, accepted, ())


def test_a_place_is_outvoted_by_those_with_the_same_words() -> None:
    notes = [marked("1", LEE), marked("2", LEE), marked("3", LEE), marked("4")]
    [gap] = outvoted(notes)
    assert (gap.note, gap.here, gap.elsewhere, gap.as_here, gap.as_elsewhere) == (3, (), (LEE,), 1, 3)
    [label] = outvoted([*notes[:3], marked("4", replace(LEE, label="PATIENT"))])
    assert (label.here, label.elsewhere) == ((replace(LEE, label="PATIENT"),), (LEE,))
    assert not [*outvoted([marked("1", LEE), marked("2")])], "one against one outvotes nobody"


def test_a_sure_contradiction_comes_before_an_unsure_one_and_agreement_is_no_doubt() -> None:
    notes = [marked("agreed", LEE), marked("gap"), marked("label", LEE), marked("weak", LEE), marked("alone", LEE)]
    other = replace(LEE, label="PATIENT")
    found = doubts(
        notes,
        [
            [decided(LEE, 0.99)],
            [decided(LEE, 0.9)],
            [decided(LEE, 0.2, accepted=False), decided(other, 0.7)],
            [decided(LEE, 0.4, accepted=False), decided(other, 0.5)],
            [],
        ],
    )
    by_stack = [row for row in found if row.by_stack]
    assert {row.document: row.kind for row in by_stack} == {
        "gap": "perhaps missed", "label": "other label", "weak": "other label", "alone": "perhaps no PHI",
    }  # fmt: skip
    assert found[0].document == "gap", "four notes and the stack say that it is PHI"
    order = [row.document for row in by_stack]
    assert order.index("label") < order.index("weak")
    [gap] = [row for row in found if row.document == "gap"]
    assert gap.votes == (4, 1) and gap.instead == (LEE,) and gap.place == (3, 6)


def test_another_extent_and_the_text_are_told() -> None:
    row = LabelDoubt("n", (LEE,), (Span(3, 10, "DOCTOR"),), 0.5, by_stack=True)
    assert row.kind == "other extent" and row.place == (3, 10)


def test_the_damage_is_done_as_it_is_told() -> None:
    corpus = synthesize(6, seed=4)
    bad, done = damaged(corpus, 0.1, 1)
    assert {one.kind for one in done} == {*DAMAGE} and damaged(corpus, 0.1, 1)[1] == done
    now = {note.id: {*note.spans} for note in bad.documents}
    n_phi = sum(len({*note.spans}) for note in corpus.documents)
    assert len(done) == round(0.1 * n_phi)
    for kind, document, span in done:
        same = [other for other in now[document] if (other.start, other.end) == (span.start, span.end)]
        near = [other for other in now[document] if other.overlaps(span)]
        assert span not in now[document]
        assert (len(same), len(near)) == {"dropped": (0, 0), "moved": (0, 1), "changed": (1, 1)}[kind]


@pytest.fixture
def wrong(tmp_path: Path) -> tuple[Corpus, Path, Document, Span]:
    """Notes with a record number, which patterns find, that is marked as a date; their file, and where it is."""
    corpus = synthesize(8, seed=3)
    note, span = next((n, s) for n in corpus.documents for s in n.spans if s.label == "MEDICALRECORD")
    spans = [replace(one, label="DATE") if one == span else one for one in note.spans]
    documents = tuple(one.with_spans(spans) if one is note else one for one in corpus.documents)
    write_corpus(replace(corpus, documents=documents), tmp_path / "notes.jsonl", format="jsonl")
    return replace(corpus, documents=documents), tmp_path / "notes.jsonl", note, span


def test_the_command_lists_a_wrong_label_early_and_shows_text_only_if_asked(
    wrong: tuple[Corpus, Path, Document, Span], tmp_path: Path, phistack: Phistack
) -> None:
    corpus, path, note, span = wrong
    common = ("--submodels", "regex", "--folds", 2, "--jobs", 1)
    status, said, _ = phistack("check-labels", path, tmp_path / "a.tsv", *common)
    assert status == 0 and "the most doubtful first" in said
    rows = list(csv.DictReader((tmp_path / "a.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
    assert "text" not in rows[0]
    doubt = [float(row["doubt"]) for row in rows]
    assert doubt == sorted(doubt, reverse=True)
    [own] = [row for row in rows if row["document"] == note.id and int(row["start"]) <= span.start < int(row["end"])]
    assert own["kind"] == "other label" and own["instead"] == f"MEDICALRECORD {span.start}-{span.end}"
    assert rows.index(own) < len(rows) / 2
    listed = LabelDoubt(note.id, (span,), (), 0.5)
    assert note.text[span.start : span.end] in doubts_sheet([listed], corpus.documents, with_text=True)
    assert note.text[span.start : span.end] not in doubts_sheet([listed], corpus.documents)


def test_a_list_that_exists_is_refused_before_a_training(
    wrong: tuple[Corpus, Path, Document, Span], tmp_path: Path, phistack: Phistack
) -> None:
    (tmp_path / "a.tsv").write_text("mine")
    status, _, reason = phistack("check-labels", wrong[1], tmp_path / "a.tsv")
    assert status == 1 and "a.tsv" in reason and len(reason.splitlines()) == 1
    assert (tmp_path / "a.tsv").read_text() == "mine"


def test_the_oracle_ranks_tokens_by_the_probabilities_of_the_stack() -> None:
    pytest.importorskip("cleanlab", reason="cleanlab, beside which the list is measured, is not installed")
    other = replace(LEE, label="PATIENT")
    notes = Corpus((marked("fine", LEE), marked("wrong", other)), LabelSet.named("i2b2-2014"))
    assert by_cleanlab(notes, [[decided(LEE, 0.9)], [decided(LEE, 0.9)]])[0] == ("wrong", 3, 6)
