"""The drift check: notes of the same kind rarely differ, other notes do, and a certified run reports it everywhere."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from phistack.ensemble.batch import audit_run, deidentify
from phistack.ensemble.batch.reports.shown_summary import drifted
from phistack.ensemble.bundles.certificate import Bounds, Certificate
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.evaluation.drift import LEVEL, NoteFacts, Profile, Summaries, differences, facts_of
from phistack.ensemble.experiments.certificate import Leaks
from phistack.features.documents import Corpus, Document
from phistack.features.labels import LabelSet
from tests.batch_engines import quick
from tests.batch_runs import run_over

Draw = Callable[[np.random.Generator], NoteFacts]


def ward(rng: np.random.Generator) -> NoteFacts:
    """A note of a ward."""
    length = int(rng.lognormal(7, 0.5))
    phi = float(rng.poisson(length / 100))
    language = "en" if rng.random() < 0.9 else "es"
    return NoteFacts(length, float(rng.beta(2, 30)), phi, float(rng.beta(20, 2)), language)


def profile(rng: np.random.Generator, patients: int, draw: Draw = ward) -> Profile:
    summaries = Summaries()
    for patient in range(patients):
        for _ in range(int(rng.integers(1, 4))):
            summaries.add(str(patient), draw(rng))
    return summaries.profile


def test_notes_of_the_same_kind_are_taken_for_others_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(1)
    runs = 300
    alarms = sum(bool(differences(profile(rng, 80), profile(rng, 120))) for _ in range(runs))
    assert alarms <= binom.ppf(0.999, runs, LEVEL)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"length": 150}, "note length"),
        ({"unknown": 0.3}, "share of unknown words"),
        ({"phi": 90.0}, "PHI a note"),
        ({"score": 0.6}, "scores of candidates"),
        ({"language": "de"}, "language"),
    ],
)
def test_notes_that_differ_in_one_thing_differ_in_that(changed: dict[str, object], name: str) -> None:
    rng = np.random.default_rng(2)
    others = profile(rng, 60, lambda rng: ward(rng)._replace(**changed))
    assert [*differences(profile(rng, 120), others)] == [name]


def test_the_facts_of_a_note_are_its_figures() -> None:
    text = "She was seen by Hill and was well today."
    facts = facts_of([text], [0.5, 1.0], {"she", "was", "seen", "and", "well", "today"}, ("en",))
    assert facts == NoteFacts(len(text), round(1 / 8, 4), 1.5, 0.75, "en")
    assert facts_of(["", ""], [], set(), ("en",)) == NoteFacts(0, 0.0, 0.0, 1.0, "unknown")


def test_patients_are_the_units() -> None:
    summaries = Summaries()
    for length, patient in ((100, "a"), (300, "a"), (200, "b")):
        summaries.add(patient, NoteFacts(length, 0.1, 2.0, 0.9, "en"))
    assert summaries.profile["note length"] == {"31": 2} and summaries.profile["language"] == {"en": 2}


def texts(n: int, words: int) -> list[str]:
    sentences = "The patient was well and slept. " * 40
    return [f"Seen by Dr. Hill{i} today. {sentences[: 32 * (words + i % 7)]}" for i in range(n)]


def certificate_of(notes: Sequence[str]) -> Certificate:
    """A certificate of the quick engine."""
    summaries = Summaries()
    documents = tuple(Document(f"{n}-01", text) for n, text in enumerate(notes))
    Leaks(Corpus(documents, LabelSet.named("i2b2-2014")), quick(Path()), Policy.named("tag")).of(
        quick(Path()), summaries
    )
    none = (0.0, 0.1)
    bounds = Bounds(identifiers=40, patients=40, share=none, anything=none, whole=none, notes=none)
    return Certificate(
        bundle="", policy="", policy_name="tag", corpus="", notes=40, date="2026-01-01", confidence=0.95,
        bounds={"balanced": {"all": bounds}}, profiles={"balanced": summaries.profile},
    )  # fmt: skip


@pytest.mark.parametrize(("words", "is_alike"), [(5, True), (25, False)])
def test_a_certified_run_over_other_notes_says_that_the_certificate_does_not_hold(
    words: int, is_alike: bool, tmp_path: Path
) -> None:
    source = tmp_path / "in.jsonl"
    lines = [json.dumps({"id": f"{n}-01", "text": text}) for n, text in enumerate(texts(40, words))]
    source.write_text("\n".join(lines))
    run = run_over(source, certificate=certificate_of(texts(40, 5)))
    summary = deidentify(run)
    said = drifted(summary)
    log, page = ((run.reports / name).read_text() for name in ("audit.jsonl", "summary.html"))
    last = json.loads(log.splitlines()[-1])["unlike the notes of the certificate, p after Holm"]
    assert run.certified and audit_run(run.target).problems == ()
    if is_alike:
        assert not said and not last and "does not hold" not in page
    else:
        assert "does not hold here" in said[0] and "note length (p < 0.0001)" in said[0]
        assert "note length" in last and "The certificate does not hold here" in page
    assert "facts" not in log
