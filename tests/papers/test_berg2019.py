"""The lemma, a column of Berg and Dalianis 2019, is that of the language."""

import pytest

from phistack.features import errors
from phistack.features.columns.installed import installed_column
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.errors import PackageError


@pytest.mark.parametrize(
    ("language", "word", "lemma"),
    [
        ("sv", "Barnen", "barn"),
        ("nl", "kinderen", "kind"),
        ("en", "went", "go"),
        ("sv", "2012", "2012"),
        ("sv", "%", "%"),
    ],
)
def test_lemmas_are_those_of_the_language(language: str, word: str, lemma: str) -> None:
    space = FeatureSpace(FeatureSettings(language=language, extra=("lemma",)))
    [table] = space.fit([Document("1", word)])
    assert [space.values("lemma")[i] for i in table.column("lemma")] == [lemma]


def test_without_the_lemmatiser_the_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_column.cache_clear()
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(PackageError, match=r"column lemma needs simplemma; .* pip install '\.\[lemmas\]'"):
        FeatureSettings(extra=("lemma",))
