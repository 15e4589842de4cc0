"""The parts of the system of Zhao 2020 do what the paper says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.ensemble.stacking.candidate_arrays import RIVALS
from phistack.ensemble.stacking.meta_features import MetaFeatures
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, SettingsError
from phistack.features.formats import write_corpus
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import new_submodel
from phistack.submodels.blstm.optimisers import Rates
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.crfsuite import parameters
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.crf.templates import named_crosses, read_crosses
from phistack.submodels.regex.pattern_files import parse_patterns
from phistack.submodels.regex.token_tagger import TokenTagger
from phistack.submodels.tbed.submodel import TbedSubmodel
from phistack.tbed.templates import TAG, named_templates, read_templates

PRESET = EngineSettings.preset("zhao2020")
CRF: Any = new_submodel("crf", PRESET.submodels["crf"])
NETWORK: Any = new_submodel("blstm", PRESET.submodels["blstm"])


def test_the_svm_reads_who_predicted_a_phi_what_overlaps_it_and_its_type() -> None:
    names = {*MetaFeatures(tuple(PRESET.submodels), ("DATE", "AGE"), PRESET.stacker.features).columns}
    assert {name for name in names if name.startswith(("vote:", "label:"))} == {
        "vote:tbed", "vote:crf", "vote:blstm", "label:DATE", "label:AGE",
    }  # fmt: skip
    assert {f"{kind}:{name}" for kind in RIVALS for name in PRESET.submodels} <= names
    assert len(names) == 5 + 3 * len(RIVALS), "and nothing else, such as how sure they are"


NAMED = {"length", "digits_only", "starts_upper", "stem", "sentence_length", "section", "pos", "ner"}


def test_crosses_templates_and_network_read_the_features_that_the_paper_names() -> None:
    crosses = {name for cross in CRF.declared for name, _ in cross}
    templates = {atom.column for template in named_templates("zhao") for atom in template.atoms} - {TAG}
    for read in (crosses, templates, set(NETWORK.columns)):
        assert read >= NAMED
        assert any(name.startswith("prefix") for name in read) and any(name.startswith("suffix") for name in read)
        assert read <= set(PRESET.features.columns)
    assert len(set(CRF.declared)) == 49


def test_the_example_of_a_condition_can_be_said() -> None:
    """If the current token is s_i and the length of the previous token is l_(i-1)."""
    assert read_templates("word[0] & length[-1]")[0] in named_templates("zhao")


# The initial tagger


def tables(*documents: Document, **settings: Any) -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings(tokeniser="zhao2020", **settings)).fit(documents)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("mail jo@mail.org now", "O B-EMAIL I-EMAIL I-EMAIL I-EMAIL I-EMAIL O"),
        ("in 1998 or 12-03-81", "O B-DATE O B-DATE I-DATE I-DATE I-DATE I-DATE"),
        ("user abc12 or ab 123", "O B-USERNAME I-USERNAME O B-USERNAME I-USERNAME"),
        ("at Mercy Hospital", "O O I-HOSPITAL"),
        ("at 9 Elm Street, Elm St", "O O O I-STREET O O I-STREET"),
        ("Streets Hospitals 12345", "O O O"),
        ("", ""),
    ],
)
def test_the_patterns_of_table_1_tag_tokens(text: str, tags: str) -> None:
    tagger = TokenTagger.of("zhao2020", "i2b2-2014", ())
    assert list(map(tagger.tag, tables(Document("1", text)))) == [tags.split()]


def test_patterns_have_the_labels_of_the_notes() -> None:
    [note] = tables(Document("1", "Calle Mayor 3, en 1998"), language="es")
    assert TokenTagger.of("zhao2020", "meddocan", ()).tag(note) == ["B-CALLE", "O", "O", "O", "O", "B-FECHAS"]
    assert TokenTagger.of("zhao2020", "", ["DATE"]).tag(note) == ["O", "O", "O", "O", "O", "B-DATE"]
    assert TokenTagger.of("zhao2020", "", ["OWN"]).patterns == ()


def test_nothing_is_learned_about_patterns_and_tbed_starts_from_their_tags(tmp_path: Path) -> None:
    notes = [Document(str(i), f"Seen at Mercy Hospital in {1990 + i}.", (Span(8, 22, "HOSPITAL"),)) for i in range(6)]
    read = tables(*notes)
    start = TbedSubmodel(start="patterns", label_set="i2b2-2014", max_rules=0, held_out=0).fit(read)
    found = {(read[0].document.text[c.span.start : c.span.end], c.span.label) for c in start.propose(read)[0]}
    assert found == {("Hospital", "HOSPITAL"), ("1990", "DATE")}, "dates are never right here, and stay tagged"
    model = TbedSubmodel(start="patterns", label_set="i2b2-2014", templates="zhao", min_groups=1, held_out=0).fit(read)
    assert [c.span for c in model.propose(read)[0]] == [Span(8, 22, "HOSPITAL")]
    model.save(tmp_path)
    again = TbedSubmodel.load(SavedFiles.of_folder(tmp_path), read[0].space)
    assert again.propose(read) == model.propose(read)
    (tmp_path / "token_patterns.toml").write_text("[[patterns]]\nname = 'a'\nregex = 'b'\nlabel = 'C'\ntag = 'X'\n")
    with pytest.raises(BundleError, match="tag B or I"):
        TbedSubmodel.load(SavedFiles.of_folder(tmp_path), read[0].space)


def test_own_token_patterns(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[[patterns]]\nname = 'ward'\nregex = 'Ward \\d'\ntag = 'B'\nlabel = 'ROOM'\n")
    assert TokenTagger.of(str(path), "nut", ()).tag(*tables(Document("1", "Ward 7"))) == ["B-ROOM", "I-ROOM"]
    path.write_text("[[patterns]]\nname = 'ward'\nregex = 'Ward'\nlabel = 'ROOM'\n")
    with pytest.raises(SettingsError, match="the pattern ward must carry the tag B or I"):
        TokenTagger.of(str(path), "nut", ())
    with pytest.raises(SettingsError, match=r"the pattern file .* cannot be used"):
        TokenTagger.of(str(tmp_path / "none.toml"), "nut", ())


def test_the_label_set_reaches_the_patterns() -> None:
    assert PRESET.for_label_set("meddocan").submodels["tbed"]["label_set"] == "meddocan"
    assert all(pattern.tag == "" for pattern in parse_patterns("[[patterns]]\nname='a'\nregex='b'\nlabel='C'\n"))


# The CRF


@pytest.fixture(scope="module")
def notes() -> list[FeatureTable]:
    return FeatureSpace(FeatureSettings(tokeniser="zhao2020")).fit(synthesize(6, seed=3).documents)


def sgd(**given: Any) -> CrfSubmodel:
    return CrfSubmodel(templates="zhao2020", scheme="BIO", algorithm="l2sgd", regularisation=0.0003, **given)


def test_stochastic_gradient_gives_the_same_model_twice_and_another_for_another_seed(notes: list[FeatureTable]) -> None:
    first, again, other = (sgd(learning_rate=0.01, max_iterations=3).fit(notes, seed=seed).model_ for seed in (1, 1, 2))
    assert first == again != other


def test_the_learning_rate_is_the_one_of_the_settings(notes: list[FeatureTable]) -> None:
    """After one pass from zero no weight is larger than what a rate times the steps allows."""
    n_sequences = sum(len(table.sentences) for table in notes)
    for rate in (0.0005, 0.05):
        weights = sgd(learning_rate=rate, max_iterations=1, others=1.0, min_count=1).fit(notes).chain_.transitions
        largest = np.abs(weights[weights > -1000]).max()
        assert 0 < largest < rate * 20 * n_sequences
    assert largest > 0.05


def test_regularisation_stands_beside_the_mean_loss_of_a_sequence(notes: list[FeatureTable]) -> None:
    """The same penalty as c2, which is added to the sum over all sequences."""
    assert parameters(sgd(), 1000)["c2"] == pytest.approx(0.15)
    assert parameters(CrfSubmodel(c2=0.7), 1000)["c2"] == 0.7


@pytest.mark.parametrize("line", ["word", "word[0] &", "word[0] & word[0]", "tag[x]", "stem[1]"])
def test_a_cross_that_cannot_be_read_is_named_with_its_line(line: str) -> None:
    with pytest.raises(SettingsError, match="line 3 is no feature cross"):
        read_crosses(f"# crosses\nstem[1]\n{line}\n")
    with pytest.raises(SettingsError, match="no feature cross"):
        read_crosses("# none\n")


def test_a_bundle_spells_its_crosses_out(notes: list[FeatureTable], tmp_path: Path) -> None:
    """A later change of the file must not change an engine."""
    crf = CrfSubmodel(templates="zhao2020", max_iterations=2).fit(notes)
    crf.save(tmp_path)
    again = CrfSubmodel.load(SavedFiles.of_folder(tmp_path), notes[0].space)
    assert again.templates == named_crosses("zhao2020")
    assert again.propose(notes) == crf.propose(notes)
    settings = json.loads((tmp_path / "settings.json").read_text())
    (tmp_path / "settings.json").write_text(json.dumps(settings | {"templates": "/etc/hostname"}))
    with pytest.raises(BundleError, match="names a file of templates"):
        CrfSubmodel.load(SavedFiles.of_folder(tmp_path), notes[0].space)


# The network


def test_without_an_average_the_last_weights_are_kept(notes: list[FeatureTable]) -> None:
    """After one step from the same first weights, an average that keeps a share lags behind."""
    small: dict[str, Any] = {
        "networks": 1, "word_size": 4, "lstm_size": 4, "channels": 2, "columns": ("stem",), "kernels": (2,),
        "language_model": 0.0, "replacement": 0.0, "dropout": 0.0, "word_dropout": 0.0, "value_dropout": 0.0,
        "easy_below": 0.0, "epochs": 1, "least_steps": 0, "batch_tokens": 128, "schedule": "constant",
        "learning_rate": 0.01, "window": 1, "scheme": "BIO",
    }  # fmt: skip
    last, averaged = (BlstmSubmodel(average=kept, **small).fit(notes[:2]).weights_[0] for kept in (0.0, 0.9))
    assert all(np.isfinite(values).all() for values in last.values())
    assert any(not np.array_equal(last[name], averaged[name]) for name in last)


def test_a_constant_rate_stays() -> None:
    constant, falling = (Rates(name, highest=1.0) for name in ("constant", "rise and fall"))
    assert {constant.at(done) for done in (0.01, 0.5, 1.0)} == {1.0}
    assert falling.at(1.0) < 0.05


def test_absent_taggers_end_a_training_in_one_sentence(
    phistack: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest.importorskip("nltk.data"), "path", [str(tmp_path)])
    write_corpus(synthesize(4, seed=1), tmp_path / "notes", format="i2b2")
    status, _, error = phistack("train", tmp_path / "notes", "--model", tmp_path / "e", "--preset", "zhao2020")
    assert status == 1 and "python -m nltk.downloader" in error and not (tmp_path / "e").exists()
