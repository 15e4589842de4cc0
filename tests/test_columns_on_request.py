"""Columns that are read only if the settings name them."""

from pathlib import Path

import pytest

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.columns.installed import CLINICAL, FREQUENCY, USUAL_CASE, clinical_words, installed_column
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document
from phistack.features.errors import PackageError

NAMES = ("n_letters", "n_digits", "n_others", "honorific", "hospital", "number_pattern")


def column(name: str, text: str) -> dict[str, str]:
    """Word -> the value of the column."""
    space = FeatureSpace(FeatureSettings(language="sv", extra=(name,)))
    table = space.fit([Document("1", "före"), Document("2", text)])[1]
    return dict(zip(table.words, [space.values(name)[i] for i in table.column(name)], strict=True))


def test_they_are_read_only_if_named() -> None:
    assert not set(NAMES) & set(FeatureSettings().columns)
    assert set(NAMES) <= set(FeatureSettings(extra=NAMES).columns)
    assert {installed_column(name).group for name in NAMES} == {"orthography", "gazetteers"}
    assert "honorific" not in FeatureSettings(extra=NAMES, without=("gazetteers",)).columns


def test_letters_digits_and_other_signs_are_counted() -> None:
    text = "Åsa 2012 %"
    assert column("n_letters", text) == {"Åsa": "3", "2012": "0", "%": "0"}
    assert column("n_digits", text) == {"Åsa": "0", "2012": "4", "%": "0"}
    assert column("n_others", text) == {"Åsa": "0", "2012": "0", "%": "1"}
    assert column("n_letters", "specialistläkarmottagning")["specialistläkarmottagning"] == "9"


def test_titles_and_hospitals_are_known_in_several_languages() -> None:
    assert column("honorific", "Överläkare Berg zuster Anna") == {
        "Överläkare": "1",
        "Berg": "",
        "zuster": "1",
        "Anna": "",
    }
    words = "Huddinge Tallmosjukhus lasarett ziekenhuis clinic bord"
    assert list(column("hospital", words).values()) == ["name", "kind", "kind", "kind", "kind", ""]


def test_how_frequent_a_word_is_in_the_language_of_the_notes() -> None:
    found = column("frequency", "och sjukhus Överläkare Zzyzxberg 2012 %")
    assert int(found["och"]) > int(found["sjukhus"]) > int(found["Zzyzxberg"]) == 0
    assert (found["2012"], found["%"]) == ("", "")
    assert column("frequency", "OCH")["OCH"] == found["och"]


def test_the_frequencies_of_bokmal_stand_for_those_of_norwegian() -> None:
    assert FREQUENCY.of("no").value("sykehus") == FREQUENCY.of("nb").value("sykehus") > "0"


@pytest.mark.parametrize(
    ("language", "why"), [("xx", "no words of the language xx; leave"), ("zh", "needs jieba to read .* install it")]
)
def test_a_language_whose_frequencies_cannot_be_had_is_refused(language: str, why: str) -> None:
    with pytest.raises(PackageError, match=f"wordfreq .*{why}"):
        FREQUENCY.of(language)


def test_how_a_word_is_usually_written_and_how_here() -> None:
    english, german, spanish, dutch = (USUAL_CASE.of(language).value for language in ("en", "de", "es", "nl"))
    words = "knee KNEE nguyen Vermont mri Zzyxberg 2012".split()
    assert [*map(english, words)] == ["a/a", "a/AA", "Aa/a", "Aa/Aa", "AA/a", "?/Aa", ""]
    assert [*map(german, ("Wunde", "WIEN", "Koch"))] == ["a/Aa", "?/AA", "?/Aa"]
    assert [*map(spanish, ("rodilla", "Madrid", "tac"))] == ["a/a", "Aa/Aa", "?/a"]
    assert [*map(dutch, ("KNIE", "Jansen"))] == ["a/AA", "?/Aa"]
    with pytest.raises(PackageError, match="no list of words of the language da; leave the column usual_case out"):
        USUAL_CASE.of("da")


def test_a_clinical_word_has_its_category_in_any_case() -> None:
    words = "cabg NSTEMI RN lcsw Foley Mcburney Medtronic Eliquis LISINOPRIL CIWA sternum Zzyxberg 2012".split()
    assert [*map(installed_column("clinical").of("en").value, words)] == [
        *("abbreviations", "abbreviations", "credentials", "credentials", "eponyms", "eponyms", "devices", "drugs"),
        *("drugs", "scores", "terms", "", ""),
    ]
    with pytest.raises(PackageError, match="no list of words of the language da; leave the column clinical out"):
        CLINICAL.of("da")


@pytest.mark.parametrize("language", ["de", "en", "es", "nl", "no", "sv"])
def test_no_clinical_word_is_of_two_categories_or_has_what_a_token_has_not(language: str) -> None:
    words = [word for of_category in clinical_words(language).values() for word in of_category]
    assert len(words) == len(set(words)) > 5000
    assert all(word.isalpha() and word == word.lower() for word in words)


def test_an_engine_that_asks_how_frequent_words_are_says_the_same_when_it_is_loaded(tmp_path: Path) -> None:
    submodels = {"regex": {}, "crf": {"max_iterations": 10}}
    settings = EngineSettings(features=FeatureSettings(extra=("frequency",)), folds=2, submodels=submodels)
    engine = train(synthesize(10, seed=1), settings, jobs=2).engine
    save_bundle(engine, tmp_path / "engine", self_test=self_test(engine), trained_on={}, figures={})
    unseen = synthesize(4, seed=2).documents
    assert list(load_bundle(tmp_path / "engine").annotate(unseen)) == list(engine.annotate(unseen))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("2012-03-05", "date"), ("20120305", "date"), ("120305", "date"), ("5/3 2012", "date"), ("5.3.2012", "date")),
        *(("5/3", "part"), ("070-123 45 67", "phone"), ("08-123 456 78", "phone"), ("0701234567", "phone")),
        *(("52", ""), ("2012", ""), ("120/80", ""), ("4,5", ""), ("1/2012/3/4", "")),
    ],
)
def test_figures_look_like_a_date_a_part_of_one_or_a_telephone_number(text: str, value: str) -> None:
    found = column("number_pattern", f"kl {text} kom")
    assert found.pop("kl") == found.pop("kom") == ""
    assert set(found.values()) == {value}
