"""How preset, file and options together decide how an engine is trained, the same for all commands that train."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.command_line.groups import CorpusOptions, ReadingOptions, TrainingOptions
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet

I2B2, MEDDOCAN = LabelSet.named("i2b2-2014"), LabelSet.named("meddocan")
NOTES = (Document("1-01", "Seen by Dr. Ames.", (Span(12, 16, "DOCTOR"),)), Document("2-01", "Dr. Bell.", ()))
ENGLISH, SPANISH = Corpus(NOTES, I2B2), Corpus((Document("1", "Visto hoy."),), MEDDOCAN)
ZHAO = EngineSettings.preset("zhao2020")


Asking = Callable[..., list[tuple[EngineSettings, Corpus]]]


class Asked(Exception):  # noqa: N818
    """What a command was about to train."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asking:
    """The settings and corpora with which a command would train on some notes, given further arguments."""
    from typer.main import get_command

    from phistack.ensemble.command_line.app import app

    def stop(*arguments: object, **named: object) -> None:
        raise Asked([*arguments, *named.values()])

    monkeypatch.setattr("phistack.ensemble.tasks.training.train_with_report", stop)
    monkeypatch.setattr("phistack.ensemble.experiments.ablation.ablate", stop)
    monkeypatch.setattr("phistack.ensemble.experiments.learning_curve.learning_curve", stop)
    monkeypatch.setattr("phistack.ensemble.experiments.transfer.transfer", stop)
    write_corpus(ENGLISH, tmp_path / "notes", format="i2b2")
    write_corpus(replace(ENGLISH, label_set=LabelSet.named("ngrid-2016")), tmp_path / "others", format="ngrid")
    monkeypatch.chdir(tmp_path)

    def run(command: str, *arguments: str) -> list[tuple[EngineSettings, Corpus]]:
        paths = {"train": ["notes", "--model", "m"], "transfer": ["notes", "others", "--out", "o"]}
        with pytest.raises(Asked) as stopped:
            get_command(app).main([command, *paths.get(command, ["notes", "--out", "o"]), *arguments])
        [given] = stopped.value.args
        if command == "transfer":
            return [(domain.settings, domain.corpus) for domain in given[0]]
        return [
            (next(v for v in given if isinstance(v, EngineSettings)), next(v for v in given if isinstance(v, Corpus)))
        ]

    return run


@pytest.mark.parametrize("command", ["train", "ablate", "curve", "transfer"])
def test_every_command_that_trains_takes_preset_and_file_alike(asked: Asking, command: str) -> None:
    Path("mine.toml").write_text("folds = 7\n[submodels.crf]\nc2 = 0.5\n[stacker]\nkernel = 'search'\n")
    for settings, _ in asked(command, "--preset", "zhao2020", "--config", "mine.toml", "--seed", "3"):
        assert settings == replace(
            ZHAO, folds=7, seed=3, submodels={**ZHAO.submodels, "crf": {**ZHAO.submodels["crf"], "c2": 0.5}},
            stacker=replace(ZHAO.stacker, kernel="search"),
        )  # fmt: skip


def test_labels_are_mapped_for_transfer_where_the_sets_differ(asked: Asking) -> None:
    found = asked("transfer", "--map-labels", "ngrid-2016")
    assert [corpus.label_set.name for _, corpus in found] == ["ngrid-2016", "ngrid-2016"]


def chosen(tmp_path: Path, content: str | None = None, corpus: Corpus = ENGLISH, **given: Any) -> EngineSettings:
    """The settings that options decide on, with a file of this content."""
    if content is not None:
        (tmp_path / "mine.toml").write_text(content)
        given["config"] = tmp_path / "mine.toml"
    return TrainingOptions(**given).settings(corpus)


def test_a_file_without_submodels_leaves_those_of_the_preset(tmp_path: Path) -> None:
    settings = chosen(tmp_path, "folds = 3", preset="zhao2020")
    assert settings == replace(ZHAO, folds=3)


def test_over_a_preset_a_file_changes_and_adds_submodels_and_options_leave_some_out(tmp_path: Path) -> None:
    content = "[submodels.tbed]\nmin_gain = 5\n[submodels.blstm]\nepochs = 2\n"
    settings = chosen(tmp_path, content, preset="zhao2020")
    assert settings.submodels["tbed"] == {**ZHAO.submodels["tbed"], "min_gain": 5}
    assert settings.submodels["blstm"] == {**ZHAO.submodels["blstm"], "epochs": 2}
    assert settings.only(("regex", "crf")) == ZHAO.only(("regex", "crf"))
    few = chosen(tmp_path, content, preset="zhao2020", submodels="tbed, regex")
    assert few == settings.only(("regex", "tbed"))


def test_without_a_preset_only_the_submodels_of_the_file_are_trained(tmp_path: Path) -> None:
    assert chosen(tmp_path, "[submodels.crf]\nc2 = 0.5\n").submodels == {"crf": {"c2": 0.5}}


@pytest.mark.parametrize(
    ("given", "language"),
    [
        ({}, "es"),
        ({"preset": "zhao2020"}, "es"),
        ({"content": "folds = 3"}, "es"),
        ({"content": "[features]\nlanguage = 'nl'"}, "nl"),
        ({"content": "[features]\nlanguage = 'nl'", "preset": "zhao2020"}, "nl"),
        ({"content": "[features]\nlanguage = 'nl'", "language": "sv"}, "sv"),
    ],
)
def test_the_language_is_that_of_option_file_or_corpus_in_this_order(
    tmp_path: Path, given: dict[str, Any], language: str
) -> None:
    assert chosen(tmp_path, corpus=SPANISH, **given).features.language == language


def test_a_language_that_is_given_stands_in_for_one_that_is_not_supported(tmp_path: Path) -> None:
    chinese = replace(SPANISH, label_set=replace(MEDDOCAN, language="zh"))
    assert chosen(tmp_path, corpus=chinese, language="es").features.language == "es"
    with pytest.raises(SettingsError, match="zh is not supported"):
        chosen(tmp_path, corpus=chinese)


def test_options_count_over_the_file_and_a_zero_is_a_value(tmp_path: Path) -> None:
    settings = chosen(tmp_path, "folds = 3\nseed = 8\n", folds=4, seed=0)
    assert (settings.folds, settings.seed) == (4, 0)


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        ("folds = 'five'", "`int`.*folds"),
        ("features = 5", "`table`.*features"),
        ("[features]\nwithout = 'words'", "`list`.*features.without"),
        ("[submodels.crf]\nc3 = 1", "c3"),
        ("[submodels.crf]\nc2 = 'much'", "submodel crf is of the wrong type: .*`float`"),
        ("[submodels.regex]\nlanguage = 2026-11-22", "submodel regex is of the wrong type"),
        ("[submodels.bert]", "bert"),
        ("[stacker]\nkernel = 'sarch'", "did you mean search"),
        ("[stacker]\nkernl = 'search'", "kernl"),
        ("folds = = 3", "line 1"),
    ],
)
@pytest.mark.parametrize("preset", ["", "zhao2020"])
def test_whatever_is_wrong_in_a_file_names_the_file(tmp_path: Path, content: str, reported: str, preset: str) -> None:
    with pytest.raises(SettingsError, match=rf"(?s)settings file .*mine\.toml cannot be used: .*{reported}"):
        chosen(tmp_path, content, preset=preset)


def test_tables_are_merged_entry_by_entry() -> None:
    under = {"a": {"b": 1, "c": {"d": 2}}, "e": [1, 2], "f": {"g": 3}}
    assert merged(under, {"a": {"c": {"h": 4}}, "e": [5], "f": 6}) == {
        "a": {"b": 1, "c": {"d": 2, "h": 4}}, "e": [5], "f": 6,
    }  # fmt: skip
    assert under["a"] == {"b": 1, "c": {"d": 2}}
    assert merged({}, under) == merged(under, {}) == under


def test_columns_and_labels_reach_the_reader(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("note_id,body,mrn\nx1,Seen by Ann.,7\nx2,Well.,7\n")
    corpora = CorpusOptions(label_set="nut", reading=ReadingOptions("csv", "note_id", "body", "mrn"))
    read = TrainingOptions(corpora=corpora).read(tmp_path / "notes.csv")
    assert (read.label_set.name, [d.id for d in read.documents], {d.group for d in read.documents}) == (
        "nut", ["x1", "x2"], {"7"},
    )  # fmt: skip


def test_shares_are_whole_percents(phistack: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    write_corpus(ENGLISH, tmp_path / "notes", format="i2b2")
    status, _, error = phistack("curve", tmp_path / "notes", "--out", tmp_path / "o", "--shares", "10;20")
    assert status == 1 and "whole percentages separated by commas" in error
