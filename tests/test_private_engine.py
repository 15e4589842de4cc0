"""Private engines: what they keep, that they reveal nobody, and what `inspect` counts."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import read_bundle
from phistack.ensemble.bundles.inspection import inspected, strings_of
from phistack.ensemble.engine.public_words import public_words
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.discretion import Discretion, runs_in
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.submodels.blstm.encoder import Encoder
from phistack.submodels.crf.crfsuite import read_weights
from tests.annotated import annotated
from tests.fixture_types import Phistack

LABELS = LabelSet.named("i2b2-2014")
QUICK = {"regex": {}, "tbed": {"held_out": 0.0, "max_rules": 8}, "crf": {"max_iterations": 4}}
NAMES = [f"{first}{last}" for first in ("Zor", "Quel", "Vran", "Trusk") for last in ("bix", "dov", "mink")]
"""Unlike any name of a list."""


def note(number: int, *, ward: str = "Harrowgeld") -> Document:
    """A note of one patient with a unique name and number; all are on one ward with an invented name."""
    name, record = f"{NAMES[number]} {NAMES[-1 - number]}son", str(73_000_111 + 4_567 * number)
    text = (
        f"Record number: {record}\nPatient: {name}\nAdmitted to {ward} Ward with oedema on 03/0{1 + number % 9}/2021.\n"
        f"{name} was seen by Dr. {NAMES[(number + 5) % 12]}. Oedema has gone, xantho{'matosis' * (not number)} stays.\n"
    )
    found = {name: "PATIENT", record: "MEDICALRECORD", ward: "HOSPITAL", f"{NAMES[(number + 5) % 12]}.": "DOCTOR"}
    spans = (
        Span(at, at + len(part.rstrip(".")), label)
        for part, label in found.items()
        for at in range(len(text))
        if text.startswith(part, at)
    )
    return Document(f"{number}-01", text, tuple(spans), f"patient {number}")


NOTES = Corpus(tuple(map(note, range(12))), LABELS)


def trained(folder: Path, private: int) -> Path:
    settings = EngineSettings(submodels=QUICK, folds=2, private=private)
    train_bundle(NOTES, folder / f"engine-{private}", settings)
    return folder / f"engine-{private}"


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("private"), 5)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("usual"), 0)


def words_of(bundle: Path) -> set[str]:
    return {word for _, string in strings_of(read_bundle(bundle)[1]) for word in runs_in(string)}


def test_nobody_can_be_read_from_a_private_engine_and_everybody_from_another(private: Path, usual: Path) -> None:
    row = inspected(usual, NOTES).counts()
    assert row["PATIENT"]["all words read"] == row["PATIENT"]["identifiers"] == 12
    assert row["MEDICALRECORD"]["all words read"] == 12
    found = inspected(private, NOTES)
    assert found.counts()["all"] | {"identifiers": 0, "of public words only": 0} == dict.fromkeys(row["all"], 0)
    assert not found.readable and len(found.identifiers) == row["all"]["identifiers"]


def test_words_of_few_patients_and_names_of_notes_are_gone_and_words_of_many_stay(private: Path, usual: Path) -> None:
    # All are on the ward Harrowgeld, which is an identifier; one patient has xanthomatosis.
    assert {"harrowgeld", "xanthomatosis", "oedema"} <= words_of(usual)
    assert {"harrowgeld", "xanthomatosis"}.isdisjoint(words_of(private)) and "oedema" in words_of(private)
    assert "0-01" in (usual / "submodels/tbed/rules.txt").read_text()
    assert "example" not in (private / "submodels/tbed/rules.txt").read_text()


def test_the_order_of_what_is_kept_is_not_that_of_the_notes(private: Path) -> None:
    files = read_bundle(private)[1]
    vocabularies = json.loads(files.read("features/features.json"))["vocabularies"]
    assert all(values[1:] == sorted(values[1:]) for values in vocabularies.values())
    attributes = read_weights(files.read("submodels/crf/model.crfsuite")).attributes
    assert len(attributes) > 50 and [*attributes] == sorted(attributes)


def test_word_counts_have_no_number_below_the_least() -> None:
    texts = ("[Rosa|PATIENT] Hill ran", "[Hill|PATIENT] ran", *["Hill ran"] * 6)
    notes = [annotated(text, str(n), f"p{n}") for n, text in enumerate(texts)]
    counts = WordCounts.of(notes, "en", Discretion.of(notes, 5, public_words("en")))
    assert counts.seen == {"hill": (0, 7, 0), "ran": (8, 8, 0)}
    assert counts.count("hill", "p1") == (0, 7, 0) and counts.count("ran", "p1") == (7, 7, 0)


def test_a_private_engine_finds_phi_and_says_what_it_keeps(private: Path) -> None:
    engine = load_bundle(private)
    (found,) = engine.annotate([Document("n", "Record number: 82345678\nPatient: Hob Nillock\n")])
    assert found.spans
    card = (private / "MODEL_CARD.md").read_text()
    assert "Only words that 5 patients or more have" in card
    assert json.loads((private / "manifest.json").read_text())["figures"]["private"]["patients"] == 5


def test_affixes_of_names_count_only_if_other_words_have_them() -> None:
    notes = [annotated(f"[Zorbix{'abcdefg'[n]}|PATIENT] ran, Trusker stays", str(n), f"p{n}") for n in range(6)]
    space = FeatureSpace(FeatureSettings())
    (table, *_) = space.fit(notes, Discretion.of(notes, 5, public_words("en")))
    read = {name: set(space.values(name)) for name in ("prefix4", "prefix3", "word", "lower", "shape")}
    # All six patients have Zorb, but only in their names; Trus is in a word that six have.
    assert "zorb" not in read["prefix4"] and "zor" not in read["prefix3"]
    assert {"trus"} <= read["prefix4"] and "Trusker" in read["word"]
    assert table.column("word")[0] == 0 and table.column("shape")[0] > 0
    # Tables of other notes have the same ids.
    again = space.table(notes[0])
    assert all(np.array_equal(again.column(name), table.column(name)) for name in space.columns)


def test_keys_and_sections_are_kept_if_many_have_them_and_no_name_is_in_them() -> None:
    notes = [
        Document(str(n), f"{'Zorbix' if n else 'Quelled'} plan: rest\nDiet: {'light' * (n > 2)}\nby Zorbix",
                 (), f"p{n}") for n in range(6)
    ]  # fmt: skip
    notes[5] = notes[5].with_spans([Span(len(notes[5].text) - 6, len(notes[5].text), "DOCTOR")])
    space = FeatureSpace(FeatureSettings())
    space.fit(notes, Discretion.of(notes, 5, public_words("en")))
    assert set(space.values("section")) == {"<unseen>", "diet"}


def test_a_public_list_lifts_the_ban_on_a_word_but_not_the_number_of_patients() -> None:
    notes = [annotated("[Hill|DOCTOR] saw", str(n), f"p{min(n, 4)}") for n in range(6)]
    few = [*notes, annotated("[Hayes|DOCTOR] saw", "x", "p9")]
    found = Discretion.of(few, 5, public_words("en"))
    assert found.keeps("Hill") and found.keeps("saw") and not found.keeps("Hayes")
    assert Discretion.of(few, 5, lambda word: False).hides("hill")


def test_the_network_knows_words_that_are_kept_and_their_characters() -> None:
    notes = [annotated("ran 42 ran ŻŻ [Żubr|PATIENT] Żubr", str(n), f"p{n}") for n in range(6)]
    space = FeatureSpace(FeatureSettings())
    encoder = Encoder.of(space.fit(notes, Discretion.of(notes[:5], 5, lambda word: False)), ("word",))
    assert encoder.words == ["00", "ran", "żż"] and "u" not in encoder.characters


@pytest.mark.parametrize("column", ["word", "pattern", "key"])
def test_ids_are_those_of_the_values_in_any_column(column: str) -> None:
    space = FeatureSpace(FeatureSettings())
    tables = space.fit(NOTES.documents, Discretion.of(NOTES.documents, 5, public_words("en")))
    plain = FeatureSpace(FeatureSettings())
    for kept, all_of_it in zip(tables, plain.fit(NOTES.documents), strict=True):
        read = [space.values(column)[number] for number in kept.column(column)]
        full = [plain.values(column)[number] for number in all_of_it.column(column)]
        assert all(one in ("<unseen>", other) for one, other in zip(read, full, strict=True))
        assert any(one != "<unseen>" for one in read) or column == "key"


def test_fewer_patients_than_a_private_engine_needs_are_refused(tmp_path: Path) -> None:
    few = Corpus(NOTES.documents[:4], LABELS)
    with pytest.raises(TrainingError, match="what 5 patients share, and the notes are of 4"):
        train_bundle(few, tmp_path / "engine", EngineSettings(submodels=QUICK, folds=2, private=5))
    with pytest.raises(SettingsError, match="private must be how many patients share a word, 2 or more"):
        EngineSettings(private=1)


def test_an_engine_that_is_not_private_cannot_be_part_of_one_that_is(private: Path, usual: Path) -> None:
    def settings(*bundles: Path | str) -> EngineSettings:
        return EngineSettings(submodels=QUICK, private=5).with_engines(map(str, bundles))

    settings(private, "english").check()
    with pytest.raises(SettingsError, match="the submodel engine-0 may hold words of patients"):
        settings(usual).check()


def run_inspect(phistack: Phistack, tmp_path: Path, bundle: Path, *more: str) -> tuple[int, str, str]:
    notes = tmp_path / f"notes-{len(more)}.jsonl"
    write_corpus(NOTES, notes, format="jsonl")
    return phistack("inspect", bundle, "--for", notes, *more)


def test_the_command_counts_and_shows_text_only_if_asked(phistack: Phistack, tmp_path: Path, usual: Path) -> None:
    status, out, _ = run_inspect(phistack, tmp_path, usual, "--json", str(tmp_path / "counts.json"))
    counts = json.loads((tmp_path / "counts.json").read_text())
    total = counts["counts"]["all"]
    assert status == 0 and f"{total['a word read']} of {total['identifiers']} identifiers have a word" in out
    assert "Zorbix" not in out and list(counts) == ["counts"]
    _, shown, _ = run_inspect(phistack, tmp_path, usual, "--text")
    assert "Zorbix" in shown and "features/features.json" in shown


@pytest.mark.parametrize(
    ("notes", "reason"), [((Document("1", "Nothing."),), "the notes have no annotated identifiers to search for")]
)
def test_notes_without_identifiers_are_refused(
    phistack: Phistack, tmp_path: Path, usual: Path, notes: Sequence[Document], reason: str
) -> None:
    write_corpus(Corpus(tuple(notes), LABELS), tmp_path / "plain.jsonl", format="jsonl")
    status, _, error = phistack("inspect", usual, "--for", tmp_path / "plain.jsonl")
    assert status == 1 and reason in error
