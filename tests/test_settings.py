import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.training.settings import EngineSettings
from phistack.features.errors import SettingsError
from phistack.submodels.base import new_submodel
from phistack.submodels.registry import SUBMODELS


def test_a_file_names_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        "folds = 3\n[features]\nlanguage = 'es'\n[submodels.crf]\nc2 = 0.5\n[stacker]\nkernel = 'zhao2020'\n"
    )
    settings = EngineSettings.from_toml(path)
    assert (settings.folds, settings.seed, settings.features.language) == (3, 0, "es")
    assert settings.submodels == {"crf": {"c2": 0.5}}
    assert settings.stacker.kernel == "zhao2020"
    assert EngineSettings.from_dict(settings.to_dict()) == settings


def test_all_submodels_are_trained_in_their_order_by_default() -> None:
    assert tuple(EngineSettings().submodels) == SUBMODELS
    assert tuple(EngineSettings().only(("crf", "regex")).submodels) == ("regex", "crf")


def test_the_digest_changes_with_any_setting() -> None:
    assert EngineSettings().digest == EngineSettings().digest != EngineSettings(seed=1).digest
    networks = {n: EngineSettings(submodels={"blstm": {"networks": n}}).digest for n in (1, 2)}
    assert EngineSettings(submodels={"blstm": {}}).digest == networks[2] != networks[1]


def of(name: str, **given: Any) -> dict[str, Any]:
    """The settings of one submodel."""
    return {"submodels": {name: given}}


CANNOT_WORK: list[tuple[dict[str, Any], str]] = [
    ({"fold": 3}, "fold"),
    ({"features": {"langage": "es"}}, "langage"),
    ({"features": {"without": ["colours"]}}, "colours"),
    ({"features": {"language": "xx"}}, "xx"),
    ({"features": {"tokeniser": "bert"}}, "liu, zhao"),
    ({"features": {"tokeniser": "zhao2020", "byte_pairs": -1}}, "byte_pairs"),
    ({"features": {"tokeniser": "zhao2020", "byte_pairs_per_word": -0.5}}, "byte_pairs"),
    ({"features": {"tokeniser": "zhao2020", "byte_pairs": 5, "byte_pairs_per_word": 0.5}}, "byte_pairs"),
    ({"stacker": {"features": "liu2018"}}, "liu2017"),
    ({"stacker": {"kernel": "polynomial"}}, "zhao2020"),
    ({"submodels": {}}, "at least one"),
    *((of(name, colour="red"), f"the submodel {name} has no setting colour") for name in SUBMODELS),
    (of("bert"), "bert"),
    (of("../crf", kind="crf"), "cannot be named '../crf'"),
    (of("a+b", kind="crf"), "cannot be named"),
    (of("a.b", kind="crf"), "cannot be named"),
    (of("stack", kind="crf"), "cannot be named 'stack'"),
    (of("x" * 41, kind="crf"), "up to 40"),
    ({"submodels": {"crf": {}, "CRF": {"kind": "crf"}}}, "upper and lower case"),
    (of("regex", kind="crf"), "the name of one kind"),
    (of("second"), "a submodel with a new name needs a kind"),
    (of("second", kind="crf.v9"), "the submodel kind crf.v9 is not installed"),
    (of("second", kind="crf", colour=1), "the submodel second has no setting colour"),
    ({"submodels": {"crf": 3}}, "Expected `table`, got `int`"),
    ({"submodels": {f"name-{i}": {"kind": "crf"} for i in range(9)}}, "at most 8 submodels"),
    ({"submodels": {f"{i}".rjust(35, "x"): {"kind": "crf"} for i in range(3)}}, "100 characters"),
    (of("regex", min_precision=-0.1), "min_precision"),
    (of("regex", choose_precision=1.5), "choose_precision"),
    (of("tbed", start="crf"), "cannot start from crf"),
    (of("crf", scheme="BILOU"), "scheme"),
    (of("crf", max_iterations=0), "max_iterations"),
    (of("crf", c1=-1.0), "c1"),
    (of("crf", min_count=0), "min_count"),
    (of("crf", algorithm="adam"), "algorithm"),
    (of("crf", algorithm="l2sgd", c2=0.0), "needs c2 or regularisation"),
    (of("crf", learning_rate=0.0), "learning_rate"),
    (of("crf", templates="zhao2021"), "there is no file of feature crosses named zhao2021"),
    (of("crf", templates=[[["word", 999]]]), "templates"),
    (of("blstm", dropout=1.0), "dropout"),
    (of("blstm", window=0), "window"),
    (of("blstm", kernels=[40]), "kernels"),
    (of("blstm", decay=2.0), "decay"),
    (of("blstm", development=1.0), "development"),
    (of("blstm", patience=0), "patience"),
    (of("blstm", batch_rows=-1), "batch_rows"),
    (of("blstm", trainer="abacus"), "trainer"),
    (of("blstm", optimiser="sdg"), "optimiser"),
    (of("blstm", schedule="constnt"), "schedule"),
]


@pytest.mark.parametrize(("table", "reported"), CANNOT_WORK)
def test_what_cannot_work_is_one_sentence_before_any_training(table: dict[str, Any], reported: str) -> None:
    with pytest.raises(SettingsError, match=reported) as caught:
        EngineSettings.from_dict(table).check()
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml cannot be used"):
        EngineSettings.from_toml(tmp_path / "none.toml")


def test_patterns_are_reported_the_label_set_unless_the_user_said_otherwise() -> None:
    reported = EngineSettings().for_label_set("meddocan")
    assert reported.submodels["regex"] == {"label_set": "meddocan"}
    assert reported.submodels["tbed"] == {"regex": {"label_set": "meddocan"}}
    own = EngineSettings(submodels={"regex": {"label_set": "nut"}, "tbed": {"start": "empty"}})
    assert own.for_label_set("meddocan") == own
    assert EngineSettings().for_label_set("custom") == EngineSettings()


def test_an_unknown_preset_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="zhao2020"):
        EngineSettings.preset("zhao2021")


def test_several_submodels_of_one_kind_stand_under_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        "[submodels.second]\nkind = 'crf'\nc2 = 1.0\n[submodels.crf]\n"
        "[submodels.a-2]\nkind = 'regex'\n[submodels.regex]\n"
    )
    settings = EngineSettings.from_toml(path)
    assert list(settings.submodels) == ["regex", "crf", "second", "a-2"]
    assert settings.digest != replace(settings, submodels={**settings.submodels, "second": {"kind": "crf"}}).digest
    assert list(settings.only(("second", "crf")).submodels) == ["crf", "second"]
    assert settings.for_label_set("nut").submodels["a-2"] == {"kind": "regex", "label_set": "nut"}
    models = {name: new_submodel(name, given) for name, given in settings.submodels.items()}
    assert {name: (type(model).__name__, model.name) for name, model in models.items()} == {
        "regex": ("RegexSubmodel", "regex"),
        "crf": ("CrfSubmodel", "crf"),
        "second": ("CrfSubmodel", "second"),
        "a-2": ("RegexSubmodel", "a-2"),
    }


def test_a_kind_that_the_name_tells_changes_nothing() -> None:
    assert EngineSettings(submodels={"crf": {"kind": "crf"}}) == EngineSettings(submodels={"crf": {}})


MANUAL = Path(__file__).parents[1] / "docs" / "settings.md"


@pytest.mark.parametrize("block", re.findall(r"^```toml\n(.*?)^```$", MANUAL.read_text(encoding="utf-8"), re.M | re.S))
def test_the_settings_of_the_manual_are_settings(block: Any) -> None:
    settings = EngineSettings.from_dict(tomllib.loads(block))
    assert all(new_submodel(name, given).name == name for name, given in settings.submodels.items())
