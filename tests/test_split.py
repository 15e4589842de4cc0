"""A corpus split into parts: nothing lost, no patient in two parts, the requested shares, any annotated format."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.folds import labels_in_one_part, patients_in_several
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks import splits
from phistack.ensemble.tasks.splits import UNITS, shares_of, split
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

NUT = LabelSet.named("nut")
USUAL = shares_of(splits.USUAL)
NOTES = synthesize(30, seed=4, language="nl")


def corpus_of(patients: list[str], labels: list[list[str]] | None = None) -> Corpus:
    """A note for each patient named, with spans of the labels."""
    given = labels or [[] for _ in patients]
    return Corpus(tuple(
        Document(f"n{i}", "abcdefgh", tuple(Span(j, j + 1, label) for j, label in enumerate(of_note)), patient)
        for i, (patient, of_note) in enumerate(zip(patients, given, strict=True))
    ), NUT)  # fmt: skip


def ids(corpus: Corpus) -> list[str]:
    return [document.id for document in corpus.documents]


def counts_of(parts: dict[str, Corpus]) -> list[int]:
    return [len(part) for part in parts.values()]


some_patients = st.lists(st.sampled_from("abcdefghij"), min_size=3, max_size=40).filter(lambda names: len({*names}) > 2)


@given(some_patients, st.sampled_from(UNITS), st.booleans(), st.integers(0, 3))
def test_each_note_is_in_one_part_and_each_patient_too(names: list[str], by: str, stratify: bool, seed: int) -> None:
    chance = random.Random(seed)
    labels = [chance.choices(["Name", "Date", "Age"], k=chance.randrange(4)) for _ in names]
    corpus = corpus_of(names, labels)
    parts = split(corpus, USUAL, by=by, stratify=stratify, seed=seed)
    assert list(parts) == ["train", "validation", "test"] and all(counts_of(parts))
    assert sorted(id for part in parts.values() for id in ids(part)) == sorted(ids(corpus))
    for part in parts.values():
        kept = {*ids(part)}
        assert part.documents == tuple(document for document in corpus.documents if document.id in kept)
    assert by == "document" or patients_in_several(parts.values()) == 0


@given(st.integers(3, 300), st.integers(0, 5))
def test_notes_by_document_are_shared_out_to_within_one(n: int, seed: int) -> None:
    parts = split(corpus_of(["a"] * n), USUAL, by="document", seed=seed)
    assert all(abs(len(part) - USUAL[name] * n) <= 1 for name, part in parts.items())


def test_large_patients_are_spread_over_the_parts() -> None:
    names = [f"large {i}" for i in range(10) for _ in range(10)] + [f"small {i}" for i in range(100)]
    parts = split(corpus_of(names), USUAL, seed=1)
    assert counts_of(parts) == [120, 40, 40]
    large = [len({d.group for d in part.documents if d.group.startswith("large")}) for part in parts.values()]
    assert large == [6, 2, 2]


def test_the_seed_decides() -> None:
    corpus = corpus_of([str(i) for i in range(50)])
    first, again, other = (split(corpus, USUAL, seed=seed)["train"] for seed in (0, 0, 1))
    assert ids(first) == ids(again) != ids(other)


def test_stratified_parts_have_their_share_of_a_rare_label() -> None:
    labels = [["Name"] * 3 + ["SSN"] * (i % 10 == 0) for i in range(100)]
    corpus = corpus_of([str(i) for i in range(100)], labels)

    def rare(stratify: bool, seed: int) -> list[int]:
        parts = split(corpus, USUAL, stratify=stratify, seed=seed)
        return [sum(span.label == "SSN" for d in part.documents for span in d.spans) for part in parts.values()]

    assert all(rare(True, seed) == [6, 2, 2] for seed in range(8))
    assert any(rare(False, seed) != [6, 2, 2] for seed in range(8))
    assert counts_of(split(corpus, USUAL, stratify=True)) == [60, 20, 20]


def test_notes_that_a_pattern_joins_stay_together() -> None:
    corpus = Corpus(tuple(Document(f"{i}_t{i % 7}", "abc") for i in range(70)), NUT)
    parts = split(corpus, USUAL, group_by=r"_t(\d+)")
    templates = [{id.partition("_")[2] for id in ids(part)} for part in parts.values()]
    assert sum(map(len, templates)) == 7 == len(set.union(*templates))
    assert all(not document.fold_group for part in parts.values() for document in part.documents)


@pytest.mark.parametrize("text", [
    "train=1", "train", "train=0.5,test=0.6", "a=0.5,a=0.5", "a=0.5,A=0.5", "a=-1,b=2", "a=nan,b=1", "a/b=50,c=50",
    "a=0,b=1", "", "a=0.2,b=0.3",
])  # fmt: skip
def test_parts_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--parts"):
        shares_of(text)


def test_shares_may_be_percentages() -> None:
    assert shares_of("train=60, validation=20, test=20") == pytest.approx(USUAL)


@pytest.mark.parametrize("format", list(FORMATS))
def test_every_format_comes_out_as_it_went_in(phistack: Phistack, tmp_path: Path, format: str) -> None:
    known = FORMATS[format]
    source = NOTES if format != "text" else NOTES.with_spans([[] for _ in NOTES.documents])
    if known.label_set:
        source = Corpus(source.with_spans([[] for _ in NOTES.documents]).documents, LabelSet.named(known.label_set))
    path = tmp_path / ("notes" + known.suffixes[0] * known.single_file)
    write_corpus(source, path, format=format)
    status, shown, error = phistack("split", path, tmp_path / "parts", "--from", format, "--by", "document")
    assert status == 0, error
    written = sorted(part.name for part in (tmp_path / "parts").iterdir())
    ending = known.suffixes[0] if known.single_file else ""
    assert written == [f"{name}{ending}" for name in ("test", "train", "validation")]
    whole = read_corpus(path, format=format)
    parts = [read_corpus(tmp_path / "parts" / name, format=format, label_set=whole.label_set) for name in written]
    assert [len(part) for part in parts] == [6, 18, 6]
    assert {d.id: d for part in parts for d in part.documents} == {d.id: d for d in whole.documents}
    assert "train: 18 notes of " in shown


def test_packed_files_stay_packed_and_parts_have_the_names_that_are_given(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(NOTES, tmp_path / "notes.jsonl.gz", format="jsonl")
    out = tmp_path / "parts"
    assert phistack("split", tmp_path / "notes.jsonl.gz", out, "--parts", "dev=50,held-out=50", "--stratify")[0] == 0
    assert sorted(path.name for path in out.iterdir()) == ["dev.jsonl.gz", "held-out.jsonl.gz"]
    assert len(read_corpus(out / "dev.jsonl.gz")) + len(read_corpus(out / "held-out.jsonl.gz")) == 30


def test_patients_in_several_parts_are_told_of(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(corpus_of(["a", "a", "b", "b", "b", "c"]), tmp_path / "notes.jsonl", format="jsonl")
    status, _, error = phistack("split", tmp_path / "notes.jsonl", tmp_path / "a", "--by", "document")
    assert status == 0 and "patients with notes in more than one part" in error
    status, _, error = phistack("split", tmp_path / "notes.jsonl", tmp_path / "b")
    assert status == 0 and "patients with notes in more than one part" not in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "patients"), "there is no unit to split by named patients (did you mean patient?)"),
        (("--parts", "a=1"), "--parts takes two parts or more"),
        (("--by", "document", "--group-by", "n"), "give one of the two"),
        (("--parts", "a=25,b=25,c=25,d=25"), "4 parts need at least as many patients, and the corpus has 3"),
        (("--group-by", "zzz"), "--group-by is found in none of the 6 names"),
        (("--to", "i2b3"), "there is no format named i2b3"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(
    phistack: Phistack, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    write_corpus(corpus_of(["a", "a", "b", "b", "b", "c"]), tmp_path / "notes.jsonl", format="jsonl")
    status, _, error = phistack("split", tmp_path / "notes.jsonl", tmp_path / "parts", *options)
    assert status == 1 and message in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]


def test_nothing_is_overwritten_and_a_refusal_in_the_middle_leaves_nothing(phistack: Phistack, tmp_path: Path) -> None:
    write_corpus(NOTES, tmp_path / "notes", format="brat")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("mine")
    status, _, error = phistack("split", tmp_path / "notes", tmp_path / "taken")
    assert status == 1 and "already there" in error
    # Plain text cannot hold spans, which only the second part has.
    few = corpus_of(["a", "b"], [[], ["Name"]])
    write_corpus(few, tmp_path / "few.jsonl", format="jsonl")
    for seed in range(3):
        status, _, error = phistack(
            "split", tmp_path / "few.jsonl", tmp_path / "parts", "--to", "text", "--parts", "a=50,b=50", "--seed", seed
        )
        assert status == 1, error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.jsonl", "notes", "taken"]


def test_labels_that_one_part_alone_has_are_counted() -> None:
    parts = split(corpus_of(["a", "b", "c"], [["Name", "SSN"], ["Name"], ["Name"]]), USUAL)
    assert labels_in_one_part(part.documents for part in parts.values()) == ["SSN"]
    assert Counter(span.label for part in parts.values() for d in part.documents for span in d.spans)["Name"] == 3
