"""Several engines at once: what any of them accepts is PHI."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.choice import EnginesBeside
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.engine.doubt import InDoubt, SafeText
from phistack.ensemble.engine.reading import Batch, Reading
from phistack.ensemble.engine.steps import Beside
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import read_corpus
from phistack.features.labels import LabelSet
from phistack.features.passages import IN_DOUBT
from phistack.features.plain_view import plain_view
from phistack.features.ranges import covering
from tests.fixture_types import Phistack

LABELS = LabelSet("ours", {"NAME": "X", "DATE": "X", "PHONE": "X"})
NOTES = synthesize(5, seed=41)
_LENGTH = 30


@st.composite
def decisions(draw: Any) -> list[Decision]:
    """Decisions of an engine on a note: some accepted, which do not overlap, and some rejected."""
    edges = sorted(draw(st.sets(st.integers(0, _LENGTH), max_size=8)))
    spans = [Span(a, b, draw(st.sampled_from(LABELS.labels))) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    return [Decision(span, draw(st.floats(0, 1)), draw(st.booleans()), ()) for span in spans]


class Fixed:
    """An engine that makes the same decisions on every note."""

    label_set = LABELS

    def __init__(self, found: list[Decision]) -> None:
        self.found = found

    def decide(self, documents: Sequence[Document]) -> Any:
        return (self.found for _ in documents)


def accepted(found: Sequence[Decision]) -> list[Span]:
    return [d.span for d in found if d.accepted]


@given(ours=decisions(), others=st.lists(decisions(), min_size=1, max_size=3))
def test_what_any_accepts_is_covered_nothing_else_is_and_no_two_spans_overlap(
    ours: list[Decision], others: list[list[Decision]]
) -> None:
    document = Document("n", "x" * _LENGTH)
    reading = Reading(document, plain_view(document), decisions=list(ours))
    Beside([Fixed(found) for found in others], LABELS)(Batch([reading]))
    united = accepted(reading.decisions)
    every = [span for found in (ours, *others) for span in accepted(found)]
    characters = {i for span in every for i in range(span.start, span.end)}
    assert {i for span in united for i in range(span.start, span.end)} == characters
    assert all(a.end <= b.start for a, b in pairwise(united))
    is_covered = covering((span.start, span.end) for span in united)
    assert all(is_covered(span.start, span.end) for span in every)
    assert reading.decisions == sorted(reading.decisions, key=lambda d: d.span)
    assert {span.label for span in united} <= {span.label for span in every}


def test_what_an_engine_beside_considers_is_in_doubt() -> None:
    document = Document("n", "The patient denies fever.")
    reading = Reading(document, plain_view(document))
    batch = Batch([reading])
    Beside([Fixed([Decision(Span(4, 11, "NAME"), 0.2, False, ())])], LABELS)(batch)
    InDoubt(SafeText.of(("en",)), Overruling())(batch)
    assert reading.decisions == [] and reading.unread == (Span(4, 11, IN_DOUBT),)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small engine with its own labels, which finds what the shipped one does not know."""
    labels = LabelSet("ours", {"DOCTOR": "X", "WARD_CODE": "X"})
    notes = tuple(
        Document(f"{i}", f"Seen on ward Q{i}77 by Dr. Ames.\n", (Span(13, 17, "WARD_CODE"), Span(25, 29, "DOCTOR")))
        for i in range(9)
    )
    settings = EngineSettings(submodels={"crf": {"max_iterations": 20}}, folds=2)
    engine = train(Corpus(notes, labels), settings).engine
    path = tmp_path_factory.mktemp("ours") / "ours.zip"
    save_bundle(engine, path, self_test=self_test(engine), trained_on={}, figures={})
    return path


def test_an_engine_with_another_beside_it_finds_what_either_finds_alone(tmp_path: Path) -> None:
    engine = train(synthesize(8, seed=42), EngineSettings(submodels={"crf": {"max_iterations": 5}}, folds=2)).engine
    path = tmp_path / "weak.zip"
    save_bundle(engine, path, self_test=self_test(engine), trained_on={}, figures={})
    english = bundle_path("english")
    both = load_bundle(path).with_options(beside=EnginesBeside.of(path, [english]))
    answers = zip(*(e.annotate(NOTES.documents) for e in (load_bundle(path), load_bundle(english), both)), strict=True)
    for first, second, united in answers:
        is_covered = covering((s.start, s.end) for s in united.spans)
        assert all(is_covered(s.start, s.end) for s in (*first.spans, *second.spans))
    assert not load_bundle(path).with_options().beside


def test_the_commands_take_several(ours: Path, tmp_path: Path, phistack: Phistack) -> None:
    text = "Seen on ward Q377 by Dr. Ames, phone 555-123-4567, on 05/12/2019.\n"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text(text)
    both = ("--model", ours, "--model", "english")
    # WARD_CODE is of no kind, so it stands for what only English has: it is removed, whatever its label.
    status, _, said = phistack("deidentify", tmp_path / "notes", tmp_path / "clean", *both, "--jobs", 2)
    assert status == 0, said
    clean = (tmp_path / "clean" / "1.txt").read_text()
    assert not any(word in clean for word in ("Q377", "Ames", "555", "2019"))
    (tmp_path / "run.toml").write_text(f'model = ["{ours}", "english"]\n')
    assert phistack("deidentify", tmp_path / "notes", tmp_path / "again", "--config", tmp_path / "run.toml")[0] == 0
    assert (tmp_path / "again" / "1.txt").read_text() == clean
    assert phistack("annotate", tmp_path / "notes", tmp_path / "found", *both)[0] == 0
    (found,) = read_corpus(tmp_path / "found", accept_unknown_labels=True).documents
    is_found = covering((s.start, s.end) for s in found.spans)
    for mention in ("Q377", "555-123-4567", "05/12/2019"):
        assert is_found(text.index(mention), text.index(mention) + len(mention))


def test_what_decides_the_output_of_a_run_names_the_engines_beside(ours: Path) -> None:
    english = load_bundle(bundle_path("english"))
    one, two = (EnginesBeside.of(bundle_path("english"), others) for others in ([ours], [ours, ours]))
    recorded = [english.with_options(beside=beside).options.recorded for beside in (None, one, two)]
    assert all(a != b for a, b in ((recorded[0], recorded[1]), (recorded[1], recorded[2])))
    assert EnginesBeside.of(bundle_path("english"), []) is None


def test_engines_that_do_not_fit_together_are_refused_in_one_sentence(
    ours: Path, tmp_path: Path, phistack: Phistack
) -> None:
    (tmp_path / "1.txt").write_text("Seen on ward Q377.\n")
    given = ("annotate", tmp_path / "1.txt", tmp_path / "out", "--model", "english")
    status, _, said = phistack(*given, "--model", "spanish")
    assert status == 1 and said.count("name engines for the same language") == 1
    status, _, said = phistack(*given, "--model", tmp_path / "none")
    assert status == 1 and "there is no bundle at" in said
    assert not (tmp_path / "out").exists()


def test_one_label_for_two_kinds_of_phi_is_a_contradiction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = {"a": LabelSet("i2b2-2014", {"LOCATION-OTHER": "X"}), "b": LabelSet("nut", {"LOCATION-OTHER": "X"})}
    module = "phistack.ensemble.bundles.choice"
    monkeypatch.setattr(f"{module}.bundle_label_set", lambda path: sets[path.name])
    monkeypatch.setattr(f"{module}.bundle_languages", lambda path: ("en",))
    monkeypatch.setattr(f"{module}.kind_of", lambda label, name: {"i2b2-2014": "PLACE", "nut": "HOSPITAL"}[name])
    with pytest.raises(SettingsError, match=r"is PLACE in a and HOSPITAL in b; these engines cannot be used together"):
        EnginesBeside.of(Path("a"), [Path("b")])
    monkeypatch.setattr(f"{module}.label_like", lambda label, first, second: "ELSE")
    with pytest.raises(SettingsError, match=r"b has the label LOCATION-OTHER, and a none like it"):
        EnginesBeside.of(Path("a"), [Path("b")])
