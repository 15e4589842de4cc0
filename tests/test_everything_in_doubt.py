"""`--recall everything`: whatever is not known to be safe is replaced, and the cost is reported."""

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack import Document, SettingsError, load_bundle, shipped_engine, synthesize, train
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.passages import IN_DOUBT
from phistack.features.ranges import covering, ranges_of
from tests.fixture_types import Phistack

SAFE = SafeText.of(("en",))
TEXT = "The patient was seen by grimsley at Elm Ward today. The patient denies fever, took 500 mg twice. XIONG^PAO^M"


@cache
def engine() -> Engine:
    return load_bundle(shipped_engine("english"))


def doubtful(text: str) -> list[str]:
    return [text[start:end] for start, end in SAFE.doubtful(text)]


@pytest.mark.parametrize(
    "text",
    [
        "The patient denies fever, cough or chest pain.", "BP 120/80mmHg, SpO2 98%", "took 500 mg for 10 days",
        "a 67-year-old woman", "pain 6/10", "pT2N0 on MRI today",
        "HISTORY OF PRESENT ILLNESS", "1. Continue the insulin.",
        "Present Illness: none", "the patient's sister", "q6h prn", "T12-L1", "HR 88",
        "on Obinutuzumab, HAART and torsemide, with Cardiomegaly",
    ],
)  # fmt: skip
def test_words_and_numbers_that_identify_nobody_stay(text: str) -> None:
    assert doubtful(text) == []


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("seen by medic grimsley today", ["grimsley"]), ("she met Hunt there", ["Hunt"]),
        ("XIONG^PAO^M.", ["XIONG^PAO^M"]), ("14:10 vomited x2 PT\n", ["14:10", "PT"]),
        ("call 555-0199", ["555-0199"]), ("on 03/12 and 12.05", ["03/12", "12.05"]), ("a 93-year-old", ["93-year-old"]),
        ("at 17:40 on the ward 7", ["17:40", "7"]), ("ask T.S. or jk@ward.org", ["T.S", "jk@ward.org"]),
        ("hospital number 20220916", ["20220916"]), ("in Lakeside", ["Lakeside"]), ("with xq7", ["xq7"]),
        ("lab 3/10 and 12/10, 7/5", ["3/10", "12/10", "7/5"]), ("SpO2 96 at\nlooked at", ["at"]),
        ("a retired seamstress", ["seamstress"]),
        ("she met Yasmin, Nash, Hickman and AKM there", ["Yasmin", "Nash", "Hickman", "AKM"]),
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_safe_goes(text: str, gone: list[str]) -> None:
    assert doubtful(text) == gone


_UNKNOWN = st.from_regex(r"\A[A-Z]?[bcdfgjkqvwxz]{5,9}[0-9]{0,2}\Z")


@settings(max_examples=25)
@given(st.lists(st.tuples(_UNKNOWN, st.sampled_from([" ", ", ", "\n", "/", "-", ".", "^", "_", "@", "\u00a0", "<b>"]))))
def test_what_no_list_has_goes_whatever_is_around_it(words: list[tuple[str, str]]) -> None:
    text = "The patient " + "".join(word + sign for word, sign in words)
    [reading] = engine().with_options(recall="everything", other_languages="read").read([Document("1", text)])
    is_gone = covering(ranges_of(reading.annotated.spans))
    assert all(is_gone(*match.span()) for match in re.finditer(r"[A-Z]?[bcdfgjkqvwxz]{5,9}", text))


def test_it_replaces_what_every_other_choice_does_and_more() -> None:
    notes = synthesize(10, seed=5, registers="all").documents
    more = 0
    for high, every in zip(
        engine().with_options(recall="high", cascade=False).annotate(notes),
        engine().with_options(recall="everything").annotate(notes),
        strict=True,
    ):
        is_gone = covering(ranges_of(every.spans))
        assert all(is_gone(span.start, span.end) for span in high.spans)
        assert all(a.end <= b.start for a, b in pairwise(sorted(every.spans)))
        more += len(every.spans) - len(high.spans)
    assert more > 0


def test_the_never_list_keeps_a_word(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "never.txt").write_text("grimsley\n", encoding="utf-8")
    for name, more in (("out", ()), ("kept", ("--never", tmp_path / "never.txt"))):
        given = ("deidentify", tmp_path / "in.txt", tmp_path / f"{name}.txt", "--recall", "everything", *more)
        status, _, reported = phistack(*given)
        assert status == 0, reported
        text = (tmp_path / f"{name}.txt").read_text(encoding="utf-8")
        assert ("grimsley" in text) == (name == "kept") and "XIONG" not in text
        assert "The patient denies fever, took 500 mg" in text


def test_a_run_says_how_many_words_were_in_doubt(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(
        "Seen today by zqvort glimber, denies fever, walks well, eats well.", encoding="utf-8"
    )
    status, shown, reported = phistack(
        "deidentify", tmp_path / "in.txt", tmp_path / "out.txt", "--recall", "everything"
    )
    assert status == 0, reported
    summary = json.loads((tmp_path / "out.txt.run" / "summary.json").read_text(encoding="utf-8"))
    in_doubt = summary["passages that no engine read, and words in doubt, replaced"].get(IN_DOUBT, 0)
    assert in_doubt + sum(summary["PHI by label"].values()) >= 1
    if in_doubt:
        assert f"{in_doubt} further word" in shown + reported


def test_a_language_without_a_list_of_words_is_one_sentence() -> None:
    wanted = EngineSettings(FeatureSettings(language="fr"), folds=2)
    french = train(synthesize(6, seed=1), wanted.only(("regex",))).engine
    with pytest.raises(SettingsError, match="there is none in French; take --recall high"):
        french.with_options(recall="everything")
