"""What to annotate: sentences with something that lists or patterns know, and documents of each institution."""

from pathlib import Path

import pytest

from phistack.ensemble.papers.options import Sampling
from phistack.ensemble.papers.selecting import preselected, sampled
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

LABELS = LabelSet.named("nut")


def corpus(*documents: Document) -> Corpus:
    return Corpus(documents, LABELS)


def test_sentences_with_names_places_or_numbers_are_selected_and_marked() -> None:
    text = "I slept well. My sister Emma lives in Paris now. Mail goes to emma@mail.org please. It rained all day."
    found = preselected(corpus(Document("c1", text, (Span(0, 1, "Name"),))), "en")
    marked = [[(note.text[s.start : s.end], s.label) for s in note.spans] for note in found.documents]
    assert marked == [[("Emma", "Person"), ("Paris", "Location")], [("emma@mail.org", "Email")]]
    assert found.label_set.name == "anonymate2019" and all(note.id.startswith("c1-") for note in found.documents)
    assert len(preselected(corpus(Document("c1", "nothing here.")), "en")) == 0


def note(id: str, patient: str, n_words: int = 60) -> Document:
    return Document(id, "word " * n_words + f"Jan of {id}", (Span(5 * n_words, 5 * n_words + 3, "Name"),), patient)


SURVEYS = corpus(
    *(note(f"north-intake-{i}", f"p{i}") for i in range(30)), *(note(f"north-plan-{i}", f"q{i}") for i in range(2)),
    note("south-plan-0", "s0"), note("south-plan-1", "s1", 10), note("south-plan-2", "s2", 2000),
)  # fmt: skip
REPORTS = corpus(
    *(note(f"north-report-{i}", f"r{i // 20}", 5) for i in range(100)), note("north-report-x", "p0"), note("x", "t")
)
PLAN = Sampling(institution="^[a-z]+", type="intake|plan", surveys=4, files=3)


def test_each_institution_gives_so_many_surveys_of_all_types_and_patient_files() -> None:
    found = sampled(SURVEYS, REPORTS, PLAN)
    north = [d for d in found.documents if d.id.startswith("north")]
    assert sorted("plan" in d.id for d in north) == [False, False, True, True], "stratified by type"
    assert [d.id for d in found.documents if d.id.startswith("south")] == ["south-plan-0"], "the others do not fit"
    files = [d for d in found.documents if d.id.startswith("r")]
    assert len(files) == 3 and all(d.text.count("Jan of") == 10 for d in files)
    assert all(d.text[s.start : s.end] == "Jan" for d in found.documents for s in d.spans)
    assert sum(len(d.spans) for d in files) == 30
    patients = [d.group for d in found.documents]
    assert len(set(patients)) == len(patients), "no patient twice"


def test_the_seed_decides_and_nothing_else() -> None:
    def ids(seed: int) -> list[str]:
        return [d.id for d in sampled(SURVEYS, REPORTS, Sampling("^[a-z]+", surveys=4, files=3, seed=seed)).documents]

    assert ids(1) == ids(1) and len({tuple(ids(seed)) for seed in range(5)}) > 1


def test_what_cannot_be_drawn_is_one_sentence() -> None:
    with pytest.raises(CorpusError, match="no document can be drawn"):
        sampled(SURVEYS, REPORTS, Sampling("", least=5000, most=6000))
    with pytest.raises(SettingsError, match="is no regular expression"):
        sampled(SURVEYS, REPORTS, Sampling("("))


def test_the_command(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(SURVEYS, tmp_path / "surveys.jsonl", format="jsonl")
    write_corpus(REPORTS, tmp_path / "reports.jsonl", format="jsonl")
    paths = (tmp_path / "surveys.jsonl", tmp_path / "reports.jsonl", tmp_path / "out.jsonl")
    options = ("--institution", "^[a-z]+", "--type", "intake|plan", "--surveys", 4, "--files", 3)
    status, shown, error = phistack("select", "documents", *paths, *options)
    assert status == 0, error
    assert read_corpus(paths[2]).documents == sampled(SURVEYS, REPORTS, PLAN).documents and "PHI are in" in shown
    status, _, error = phistack("select", "sentences", *paths)
    assert status == 1 and "give select sentences NOTES OUT" in error
    status, _, error = phistack("select", "sentences", paths[0], tmp_path / "chosen.jsonl", "--language", "nl")
    assert status == 0 and len(read_corpus(tmp_path / "chosen.jsonl", label_set="anonymate2019")) == 35
