"""The CRF submodel: what it learns, against CRFsuite's own tagger, and how it treats damaged files."""

from __future__ import annotations

import logging
import lzma
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.documents import Document
from phistack.features.errors import BundleError, SettingsError
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.training import f1_of
from phistack.submodels.chain.crf import Chain
from phistack.submodels.chain.lattice import Lattice
from phistack.submodels.crf import crfsuite
from phistack.submodels.crf import emissions as crf_emissions
from phistack.submodels.crf.crfsuite import read_weights
from phistack.submodels.crf.emissions import AttributeWeights
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.crf.templates import TEMPLATES, Crosses, usable
from tests.annotated import annotated

FIRST = ("Anna", "Ivan", "Mia", "Olaf", "Rosa", "Tom", "Vera", "Zoe")
LAST = ("Berg", "Cruz", "Diaz", "Falk", "Hahn", "Lund", "Moss", "Ruiz")
STREETS = ("Mayor", "Real", "Olmo", "Fuente")
PROSE = ("Seen for cough.", "No fever, lungs clear.", "The plan was discussed.", "Tablets were renewed.")


def note(number: int) -> Document:
    """A small note with doctors, ages, dates and streets."""
    choose = random.Random(number)
    name = f"[{choose.choice(FIRST)} {choose.choice(LAST)}|DOCTOR]"
    text = (
        f"Doctor: {name}\nAddress: [Hnos. {choose.choice(STREETS)}, {choose.randint(1, 99)}|STREET]\n"
        f"{choose.choice(PROSE)} A patient of [{choose.randint(20, 80)}|AGE] years came on "
        f"{'' if choose.random() < 0.5 else 'Monday '}"
        f"[{choose.randint(1, 28)}/{choose.randint(1, 12)}/{choose.randint(2060, 2090)}|DATE]. {choose.choice(PROSE)}\n"
        f"{choose.choice(PROSE)} Dose {choose.randint(1, 40)}. {choose.choice(PROSE)}\nSigned by {name}\n"
    )
    return annotated(text, f"n-{number}")


SETTINGS = FeatureSettings(language="en", split_lines=True)
TRAINED_ON = [note(number) for number in range(40)]
UNSEEN = [note(number) for number in range(100, 130)]


@pytest.fixture(scope="module")
def space() -> FeatureSpace:
    fitted = FeatureSpace(SETTINGS)
    fitted.fit(TRAINED_ON)
    return fitted


@pytest.fixture(scope="module")
def training_tables(space: FeatureSpace) -> list[FeatureTable]:
    return space.tables(TRAINED_ON)


@pytest.fixture(scope="module")
def crf(training_tables: list[FeatureTable]) -> CrfSubmodel:
    return CrfSubmodel(max_iterations=30).fit(training_tables)


def test_it_finds_phi_in_unseen_notes(crf: CrfSubmodel, space: FeatureSpace) -> None:
    unseen = space.tables(UNSEEN)
    assert f1_of(unseen, crf.propose(unseen)) > 0.95


def test_the_scheme_bio_works_too(training_tables: list[FeatureTable], space: FeatureSpace) -> None:
    crf, unseen = CrfSubmodel(scheme="BIO", max_iterations=20).fit(training_tables), space.tables(UNSEEN)
    assert f1_of(unseen, crf.propose(unseen)) > 0.95


def test_phi_that_a_sentence_bound_cuts_is_found_where_the_sentences_of_a_line_are_joined(
    training_tables: list[FeatureTable], space: FeatureSpace
) -> None:
    street = next(span for span in UNSEEN[0].spans if span.label == "STREET")
    tables = [cut_after_full_stops(table) for table in training_tables]
    unseen = [cut_after_full_stops(table) for table in space.tables(UNSEEN[:1])]
    joined = CrfSubmodel(max_iterations=10).fit(tables)
    assert street in {c.span for c in joined.propose(unseen)[0] if c.chosen}
    apart = CrfSubmodel(max_iterations=10, join_sentences=False).fit(tables)
    assert street not in {c.span for c in apart.propose(unseen)[0]}


def test_noise_spreads_the_weight_over_more_attributes_and_is_drawn_by_the_seed(
    crf: CrfSubmodel, training_tables: list[FeatureTable], space: FeatureSpace
) -> None:
    fits = (CrfSubmodel(max_iterations=30, noise=0.3).fit(training_tables, seed=seed) for seed in (1, 1, 2))
    noisy, again, other = fits
    assert noisy.model_ == again.model_ != other.model_
    noisy_share, share = (_share_of_greatest(one, 50) for one in (noisy, crf))
    assert noisy_share < 0.95 * share
    unseen = space.tables(UNSEEN)
    assert f1_of(unseen, noisy.propose(unseen)) > 0.95


def _share_of_greatest(crf: CrfSubmodel, number: int) -> float:
    """The share of all weight that the attributes with the greatest weights have."""
    weights = np.sort(np.abs(read_weights(crf.model_).state).max(axis=1))
    return float(weights[-number:].sum() / weights.sum())


def test_weights_are_rounded_and_nothing_else_of_the_model_changes(
    training_tables: list[FeatureTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = CrfSubmodel(max_iterations=5).fit(training_tables).model_
    monkeypatch.setattr(crfsuite, "rounded", lambda model: model)
    long = CrfSubmodel(max_iterations=5).fit(training_tables).model_
    found, expected = read_weights(short), read_weights(long)
    assert (found.labels, found.attributes) == (expected.labels, expected.attributes)
    assert found.state == pytest.approx(expected.state, rel=2**-11, abs=0)
    assert found.transitions == pytest.approx(expected.transitions, rel=2**-11, abs=0)
    assert len(lzma.compress(short)) < 0.9 * len(lzma.compress(long))
    assert crfsuite.rounded(short) == short


def cut_after_full_stops(table: FeatureTable) -> FeatureTable:
    """The same table with sentences that also end after an abbreviation."""
    after = {i for i, word in enumerate(table.words, start=1) if word == "."}
    return replace(table, sentences=np.array(sorted({*table.sentences.tolist(), *after}), dtype=np.int32))


def test_best_path_and_marginals_are_those_of_crfsuite(crf: CrfSubmodel, space: FeatureSpace, tmp_path: Path) -> None:
    from pycrfsuite import Tagger

    (tmp_path / "model").write_bytes(crf.model_)
    tagger = Tagger()
    tagger.open(str(tmp_path / "model"))
    weights = read_weights(crf.model_)
    size = len(weights.labels)
    chain = Chain(weights.labels, weights.transitions, np.zeros(size), np.zeros(size))
    for table in space.tables(UNSEEN):
        bounds, emissions = line_bounds(table), crf.emissions([table])
        lattice = Lattice.over(chain, emissions, bounds)
        path, marginals = lattice.best_path(), lattice.marginals()
        attributes = list(zip(*crf.crosses_.read([table]), strict=True))
        for first, last in pairwise(bounds.tolist()):
            tags = tagger.tag([[f"{i}:{v}" for i, v in enumerate(row) if v >= 0] for row in attributes[first:last]])
            assert [weights.labels[i] for i in path[first:last]] == tags
            expected = [[tagger.marginal(tag, i) for tag in weights.labels] for i in range(last - first)]
            assert np.abs(marginals[first:last] - expected).max() < 1e-5


@pytest.mark.parametrize(("largest_table", "at_once"), [(2**18, 2**14), (4, 50)])
def test_emissions_are_the_sums_of_the_weights_of_attributes(
    largest_table: int, at_once: int, crf: CrfSubmodel, space: FeatureSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crf_emissions, "_LARGEST_TABLE", largest_table)
    monkeypatch.setattr(crf_emissions, "_PLACES_AT_ONCE", at_once)
    weights = read_weights(crf.model_)
    of_attribute = dict(zip(weights.attributes, weights.state, strict=True))
    pairs = np.array([name.split(":") for name in weights.attributes], dtype=np.int64)
    numbers, values = pairs.T
    tables = space.tables([*UNSEEN[:5], Document("empty", ""), *UNSEEN[5:9]])
    found = AttributeWeights(crf.crosses_, numbers, values, weights.state).emissions(tables)
    expected = [
        sum((of_attribute.get(f"{i}:{v}", 0.0) for i, v in enumerate(row)), start=np.zeros(len(weights.labels)))
        for row in zip(*(of_template.tolist() for of_template in crf.crosses_.read(tables)), strict=True)
    ]
    # Single precision: a score is the sum of about a hundred weights.
    assert found == pytest.approx(np.array(expected), abs=1e-4)


def test_a_model_without_attributes_gives_no_scores(crf: CrfSubmodel, space: FeatureSpace) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    weights = AttributeWeights(crf.crosses_, nothing, nothing, np.zeros((0, 3)))
    table = space.table(UNSEEN[0])
    assert weights.emissions([table]).tolist() == np.zeros((len(table), 3)).tolist()


def test_the_saved_files_hold_no_text_of_a_note(crf: CrfSubmodel, tmp_path: Path) -> None:
    crf.save(tmp_path)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert not any(word.encode() in content for word in (*FIRST, *LAST, *STREETS, "cough"))


def test_attributes_that_are_no_two_numbers_each_are_refused(
    crf: CrfSubmodel, space: FeatureSpace, tmp_path: Path
) -> None:
    """One has a number too few and another one too many, so that there are as many as there should be."""
    crf.save(tmp_path)
    content = (tmp_path / "model.crfsuite").read_bytes()
    few, many = [name for name in read_weights(content).attributes if len(name.partition(":")[2]) > 2][:2]
    for name, changed in ((few, few.replace(":", "0")), (many, many[:-2] + ":0")):
        assert content.count(f"\0{name}\0".encode()) == 1
        content = content.replace(f"\0{name}\0".encode(), f"\0{changed}\0".encode())
    (tmp_path / "model.crfsuite").write_bytes(content)
    with pytest.raises(BundleError, match="attributes that no template gives"):
        CrfSubmodel.load(SavedFiles.of_folder(tmp_path), space)


def test_a_model_of_another_feature_space_is_refused(crf: CrfSubmodel, tmp_path: Path) -> None:
    crf.save(tmp_path)
    smaller = FeatureSpace(FeatureSettings(without=("words", "affixes", "gazetteers", "layout")))
    smaller.fit(TRAINED_ON)
    with pytest.raises(BundleError, match="feature columns"):
        CrfSubmodel.load(SavedFiles.of_folder(tmp_path), smaller)


@given(st.data())
def test_any_damage_to_a_model_file_is_survived(crf: CrfSubmodel, data: st.DataObject) -> None:
    content = bytearray(crf.model_)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, 200) | st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(content)) | st.integers(0, len(content)))
    try:
        weights = read_weights(bytes(content[:cut]))
    except BundleError:
        return
    assert cut == len(content)
    assert weights.state.shape == (len(weights.attributes), len(weights.labels))


def test_templates_of_columns_left_out_are_dropped_and_said(caplog: pytest.LogCaptureFixture) -> None:
    space = FeatureSpace(FeatureSettings(split_lines=True, without=("gazetteers", "affixes")))
    tables = space.fit(TRAINED_ON)
    with caplog.at_level(logging.INFO, logger="phistack"):
        model = CrfSubmodel(max_iterations=10).fit(tables)
    columns = {name for template in model.crosses_.templates for name, _ in template}
    assert columns <= set(space.columns)
    assert "last_name" in caplog.text
    assert "iteration 10, loss" in caplog.text
    assert not any(word in caplog.text for word in (*FIRST, *LAST))
    unseen = space.tables(UNSEEN)
    assert f1_of(unseen, model.propose(unseen)) > 0.9


def test_default_templates_are_distinct_and_name_known_columns() -> None:
    assert len(set(TEMPLATES)) == len(TEMPLATES)
    columns = FeatureSettings(pos="nltk", ner="http://localhost:9000", vectors="v", clusters="c").columns
    assert usable(TEMPLATES, columns) == TEMPLATES


def test_templates_read_what_they_say(space: FeatureSpace) -> None:
    templates = ((("lower", 0),), (("word", -2), ("short_shape", 1)), (("key", 0), ("lower", 0)))
    crosses = Crosses.of(templates, space)
    tables = space.tables(UNSEEN[:3])
    for template, values in zip(templates, crosses.read(tables), strict=True):
        expected = [value for table in tables for value in read_slowly(template, table)]
        assert [value is None for value in expected] == (values == -1).tolist()
        meaning: dict[int, object] = {}
        for number, value in zip(values.tolist(), expected, strict=True):
            assert number == -1 or meaning.setdefault(number, value) == value
        assert len(set(meaning.values())) == len(meaning)


def read_slowly(template: tuple[tuple[str, int], ...], table: FeatureTable) -> list[tuple[str, ...] | None]:
    """What a template reads, as strings; None where it gives nothing."""
    found: list[tuple[str, ...] | None] = []
    for i in range(len(table)):
        value = []
        for name, offset in template:
            inside = 0 <= i + offset < len(table)
            value.append(table.space.values(name)[table.column(name)[i + offset]] if inside else "beyond")
        found.append(None if "" in value or "<unseen>" in value else tuple(value))
    return found


def test_rare_attributes_are_left_out(training_tables: list[FeatureTable]) -> None:
    rare = CrfSubmodel(max_iterations=3, min_count=1).fit(training_tables)
    frequent = CrfSubmodel(max_iterations=3, min_count=30).fit(training_tables)
    assert frequent.weights_.n_attributes < rare.weights_.n_attributes / 2


def test_a_template_too_wide_for_its_numbers_is_refused(space: FeatureSpace) -> None:
    with pytest.raises(SettingsError, match="too many values"):
        Crosses.of((tuple(("word", offset) for offset in range(20)),), space)
