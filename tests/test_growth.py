"""Ten times the text takes about ten times as long, and unrealistic text is not marked from end to end."""

from pathlib import Path

import pytest

from benchmarks.growth import TEXTS, growth_of_notes, growth_of_texts
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import is_repetition
from phistack.features.documents import Document
from tests.golden_bundle import GOLDEN


@pytest.fixture(scope="module")
def engine() -> Engine:
    return load_bundle(GOLDEN.with_suffix(".zip"))


@pytest.mark.parametrize("name", ["words", "dates", "short lines", "commas", "digits", "one word"])
def test_ten_times_the_text_takes_nowhere_near_a_hundred_times_as_long(engine: Engine, name: str) -> None:
    (growth,) = growth_of_texts(engine, {name: TEXTS[name]}, 3_000, 30_000)
    assert growth.ratio < 4


def test_twice_the_notes_take_nowhere_near_four_times_as_long(engine: Engine) -> None:
    assert [growth.ratio < 1.6 for growth in growth_of_notes(engine, 16)] == [True, True]


@pytest.mark.parametrize("text", ["Ana " * 300, "7" * 3000, "0 " * 300])
def test_the_same_over_and_over_is_not_marked_whole(text: str) -> None:
    engine = load_bundle(Path(__file__).parent / "golden" / "bundle_protocol_1.zip")
    (note,) = engine.annotate([Document("1", text)])
    assert sum(span.end - span.start for span in note.spans) < len(text) / 2


@pytest.mark.parametrize("text", ["-" * 40, "Ana " * 40 + "Ana", "1-" * 60, "ab cd " * 50])
def test_a_short_stretch_over_and_over_is_a_repetition(text: str) -> None:
    assert is_repetition(text)


@pytest.mark.parametrize(
    "text", ["", "Ana", "0000000000", "Ana " * 20, "-" * 39, "Ann Lee, Bo Roe, " * 20 + "Di Fox", "x" * 99 + "y"]
)
def test_nothing_else_is_one(text: str) -> None:
    assert not is_repetition(text)
