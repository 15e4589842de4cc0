"""The preset `record`: several networks as members, clusters if installed, only members that help."""

import gzip
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import by_score, train
from phistack.features.columns import representations
from phistack.submodels.base import kind_of


def test_it_has_three_kinds_of_networks_beside_the_other_members() -> None:
    preset = EngineSettings.preset("record")
    kinds = [kind_of(name, given) for name, given in preset.submodels.items()]
    assert kinds == ["regex", "tbed", "crf", "blstm", "blstm", "blstm"] and preset.best_subset
    networks = [given for name, given in preset.complete()["submodels"].items() if kind_of(name, given) == "blstm"]
    assert len({(n["character_lstm"], n["window"], n["replacement"]) for n in networks}) == len(networks)
    preset.check()


def test_it_reads_clusters_where_they_are_installed_and_says_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "spacy_lookups_data" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    (data / "es_lexeme_cluster.json.gz").write_bytes(gzip.compress(b'{"sala": 3}'))
    monkeypatch.syspath_prepend(tmp_path)
    caplog.set_level(logging.WARNING)
    assert EngineSettings.chosen("record", language="es").features.clusters == "installed" and not caplog.messages
    assert EngineSettings.chosen("record", language="nl").features.clusters == ""
    assert caplog.messages == ["no word clusters of the language nl are installed, so none are read (docs/settings.md)"]
    monkeypatch.setattr(representations, "find_spec", lambda name: None)
    assert EngineSettings.chosen("record", language="es").features.clusters == "", "the package is not there"


def test_only_the_members_of_the_best_subset_are_kept() -> None:
    notes = synthesize(8, seed=3)
    good, poor = ({"kind": "crf", "max_iterations": 10, "templates": [[[column, 0]]]} for column in ("word", "length"))
    members = {"regex": {}, "good": good, "poor": poor}
    settings = EngineSettings.from_dict({"folds": 2, "submodels": members})
    every, kept = train(notes, settings), train(notes, replace(settings, best_subset=True))
    ranked = by_score(every.engine)
    assert kept.engine.names == ranked[0][0] != every.engine.names
    assert {*kept.out_of_fold} == {*kept.engine.names}
    of_all = [max(stacker.figures_.values()) for stacker in every.engine.stackers.values()]
    assert max(kept.engine.stacker.figures_.values()) == max(of_all) == ranked[0][1]
    assert {*kept.engine.stackers} == {subset for subset in every.engine.stackers if {*subset} <= {*kept.engine.names}}
