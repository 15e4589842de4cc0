import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.surface_forms import SurfaceForms, surface_form
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span


def tables(*texts: str, label: str = "USERNAME") -> list[FeatureTable]:
    """Notes that are one mention each, of as many patients."""
    space = FeatureSpace(FeatureSettings(without=("gazetteers",)))
    return space.fit([Document(f"{100 + i}-01", text, (Span(0, len(text), label),)) for i, text in enumerate(texts)])


NAMES = [f"ab{i}" for i in range(10, 40)]
WRONG = [[Span(0, 2, "USERNAME")]] * 30
"""Candidates of two letters, a form that no name has."""


def test_a_form_is_what_kinds_of_characters_there_are() -> None:
    assert surface_form("bxq32") == "letters digits"
    assert surface_form("81") == "digits"
    assert surface_form("Time 39") == "letters digits blanks"
    assert surface_form("12/03") == "digits others"
    assert surface_form("Å-é") == "letters others"


def test_a_candidate_of_a_form_that_its_label_never_had_is_less_probable() -> None:
    forms = SurfaceForms.of(tables(*NAMES), WRONG)
    assert forms.weighed("xy99", "USERNAME", 0.5) == 0.5
    assert forms.weighed("81", "USERNAME", 0.5) < 0.1
    assert forms.weighed("81", "USERNAME", 0.999) > 0.9
    assert forms.weighed("81", "ZIP", 0.5) == 0.5


def test_where_forms_come_once_each_or_are_few_a_new_one_says_nothing() -> None:
    various = ["ab", "12", "a1", "a b", "1 2", "a-b", "1-2", "a1-2"]
    assert SurfaceForms.of(tables(*various), [[]] * len(various)).weighed("--", "USERNAME", 0.5) == 0.5
    few = SurfaceForms.of(tables("ab12", "cd34"), [[], []])
    assert few.weighed("81", "USERNAME", 0.5) > 0.35


def test_the_own_notes_of_a_patient_say_nothing_of_his_candidates() -> None:
    forms = SurfaceForms.of(tables(*NAMES, "81"), [*WRONG, []])
    assert forms.is_new("99", "USERNAME", "130-01") and not forms.is_new("99", "USERNAME", "131-01")
    assert not forms.is_new("99", "USERNAME")


@given(st.floats(0, 1), st.text(max_size=6))
def test_a_probability_stays_one_and_never_grows(chance: float, text: str) -> None:
    forms = SurfaceForms.from_dict({"known": {"A": ["letters"]}, "ratios": {"A": 0.2}})
    assert 0 <= forms.weighed(text, "A", chance) <= chance


def test_what_is_saved_holds_no_text_and_no_patient_and_says_the_same() -> None:
    forms = SurfaceForms.of(tables(*NAMES), WRONG)
    state = forms.to_dict()
    assert state["known"] == {"USERNAME": ["letters digits"]}
    again = SurfaceForms.from_dict(state)
    assert again.weighed("81", "USERNAME", 0.5) == forms.weighed("81", "USERNAME", 0.5)
    assert again.weighed("a1", "USERNAME", 0.5) == 0.5
    with pytest.raises(ValueError, match="ratio"):
        SurfaceForms.from_dict({**state, "ratios": {"USERNAME": 7.0}})
