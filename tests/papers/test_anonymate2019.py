"""The crosses, column and policy of Adams et al. 2019."""

import pytest

from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.submodels.crf.templates import named_crosses


def test_without_clusters_the_rest_is_the_same() -> None:
    plain = [cross for cross in named_crosses("anonymate2019") if "vector_cluster" not in dict(cross)]
    assert plain == list(named_crosses("anonymate2019-words"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ann@ward.org", "email"), ("www.ward.org", "url"), ("https://ward.org", "url"), ("10.0.0.12", "ip"),
        ("617 555 0199", "digits"), ("12345", "digits"), ("1234", ""), ("ward", ""),
    ],
)  # fmt: skip
def test_what_regular_expressions_find_is_a_column(text: str, value: str) -> None:
    space = FeatureSpace(FeatureSettings(extra=("regex_hit",)))
    [table] = space.fit([Document("1", f"see {text} there")])
    found = [space.values("regex_hit")[i] for i in table.column("regex_hit")]
    assert set(found[1:-1]) == {value} and found[0] == found[-1] == ""


def test_persons_are_numbered_and_what_identifies_nobody_stays() -> None:
    text = "Ann from Oslo met Bo. Ann speaks Danish."
    marked = [
        ("Ann", "Person", 0),
        ("Oslo", "Location", 9),
        ("Bo", "Person", 18),
        ("Ann", "Person", 22),
        ("Danish", "Language", 33),
    ]
    note = Document("1", text, tuple(Span(start, start + len(t), label) for t, label, start in marked))
    found = Deidentifier(Policy.named("anonymate2019"), LabelSet.named("anonymate2019"), "en", None).apply(
        note, note.spans
    )
    assert found.text == "Person 1 from Location met Person 2. Person 1 speaks Danish."
