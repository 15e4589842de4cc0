"""For a name that does not exist, the nearest one is suggested, wherever a name can be given."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.batch.rows import FormatSettings, open_format
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.stacking.stacker import StackerSettings
from phistack.ensemble.stacking.subsets import in_order
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.errors import PhistackError, did_you_mean, no_such
from phistack.features.formats.recognise import FORMATS, format_named
from phistack.features.labels import LabelSet, label_mapping
from phistack.submodels.base import new_submodel, submodel_class
from phistack.tbed.templates import TEMPLATES

SLIPS = [
    (lambda: Policy.named("safeharbour"), "safe-harbor"),
    (lambda: Policy.named("tag").with_overrides({"DATE": "surogate"}), "surrogate"),
    (lambda: Policy.named("tag").with_overrides({"DAET": "keep"}).check(LabelSet.named("i2b2-2014")), "DATE"),
    (lambda: open_format(Path(__file__), Path("x"), FormatSettings(), "parket"), "parquet"),
    (lambda: format_named("i2b3"), "i2b2"),
    (lambda: LabelSet.named("MedDocan"), "meddocan"),
    (lambda: label_mapping("i2b2-2014", "nutt"), "nut"),
    (lambda: EngineSettings.preset("zhao2002"), "zhao2020"),
    (lambda: EngineSettings().only(("regx",)), "regex"),
    (lambda: EngineSettings.from_dict({"fold": 3}), "folds"),
    (lambda: StackerSettings(kernel="serach"), "search"),
    (lambda: in_order(("regex", "crf"), ["cfr"]), "crf"),
    (lambda: submodel_class("bltsm"), "blstm"),
    (lambda: new_submodel("crf", {"max_iteration": 3}), "max_iterations"),
    (lambda: TEMPLATES.text("bril24"), "brill24"),
    (lambda: FeatureSettings(tokeniser="lui"), "liu"),
    (lambda: criterion_named("strickt"), "strict"),
]


@pytest.mark.parametrize(("use", "meant"), SLIPS, ids=[meant for _, meant in SLIPS])
def test_a_slip_of_the_pen_is_reported_the_nearest_name(use: Any, meant: Any) -> None:
    with pytest.raises(PhistackError, match=rf"\(did you mean {meant}\?\)"):
        use()


def test_a_name_like_none_gets_all_names_and_no_suggestion() -> None:
    said = no_such("format", "xyzzy", FORMATS)
    assert "did you mean" not in said
    assert said.endswith(", ".join(FORMATS))


def test_whatever_is_given_as_a_name_can_be_refused() -> None:
    assert no_such("submodel", ["crf"], ()).startswith("there is no submodel named ['crf']")
    assert did_you_mean("x" * 10_000_000, ["x"]) == ""


@given(st.sampled_from(Policy.names()), st.data())
def test_a_name_with_two_letters_exchanged_or_in_capitals_is_found(name: str, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(name) - 2))
    slip = name[:i] + name[i + 1] + name[i] + name[i + 2 :]
    assert len(name) < 4 or "did you mean" in did_you_mean(slip, Policy.names())
    assert did_you_mean(name.upper(), Policy.names()) == f" (did you mean {name}?)"
