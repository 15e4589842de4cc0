"""Intervals and p-values by patient: against plain loops, all exchanges and SciPy; and which unit a command names."""

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import bootstrap

from phistack.ensemble.evaluation import Resampling, compare, evaluate
from phistack.ensemble.evaluation.measures import f1_of_counts
from phistack.ensemble.evaluation.resampling import Bootstrap, Units
from phistack.ensemble.evaluation.systems import Systems
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

LABELS = LabelSet.named("i2b2-2014")
TEXT = "Dr. Gorse saw Jane Roe in Alderton on 05/12/2019. "
PHI = (Span(4, 9, "DOCTOR"), Span(14, 22, "PATIENT"), Span(26, 34, "CITY"), Span(38, 48, "DATE"))
BY_DOCUMENT = Resampling(by="document")


def gold_of(patients: int, notes: int) -> Corpus:
    """So many notes of each of so many patients."""
    return Corpus(
        tuple(Document(f"{p}-{n:02}", TEXT, PHI, str(p)) for p in range(patients) for n in range(notes)), LABELS
    )


def system_of(gold: Corpus, seed: int) -> Corpus:
    """Answers that are good or bad for all notes of a patient alike."""
    chance = random.Random(seed)
    missed = {patient: chance.random() for patient in sorted({note.group for note in gold.documents})}
    return gold.with_spans([[s for s in d.spans if chance.random() > missed[d.group]] for d in gold.documents])


def counts_of(gold: Corpus, system: Corpus) -> NDArray[np.int64]:
    return evaluate(gold, system, resampling=Resampling(draws=1)).strict.by_document


def by_patient(gold: Corpus, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    groups = [document.group for document in gold.documents]
    return np.array([counts[[g == p for g in groups]].sum(0) for p in dict.fromkeys(groups)])


def test_the_interval_is_that_of_scipy() -> None:
    gold = gold_of(15, 3)
    counts = by_patient(gold, counts_of(gold, system_of(gold, 2)))

    def f1(tp: Any, fp: Any, fn: Any, axis: int = -1) -> Any:
        return f1_of_counts(np.stack([part.sum(axis=axis) for part in (tp, fp, fn)], axis=-1))

    expected = bootstrap(tuple(counts.T), f1, paired=True, method="percentile", n_resamples=10_000, rng=0)
    found = evaluate(gold, system_of(gold, 2)).strict.f1
    assert found[1:] == pytest.approx(tuple(expected.confidence_interval), abs=0.01)


def test_p_values_are_those_of_all_exchanges_of_patients() -> None:
    gold = gold_of(8, 4)
    a, b = system_of(gold, 3), system_of(gold, 4)
    one, other = (by_patient(gold, counts_of(gold, system)) for system in (a, b))
    observed, extreme = abs(f1_of_counts(one.sum(0)) - f1_of_counts(other.sum(0))), 0
    for exchange in itertools.product((False, True), repeat=8):
        mask = np.array(exchange)[:, None]
        sums = np.where(mask, other, one).sum(0), np.where(mask, one, other).sum(0)
        extreme += bool(abs(f1_of_counts(sums[0]) - f1_of_counts(sums[1])) >= observed - 1e-12)
    found = compare(gold, {"a": a, "b": b})
    assert found.differences["a", "b", "f1"].p == pytest.approx(extreme / 256, abs=0.015)
    by_document = compare(gold, {"a": a, "b": b}, resampling=BY_DOCUMENT)
    assert by_document.differences["a", "b", "f1"].p < found.differences["a", "b", "f1"].p
    assert by_document.differences["a", "b", "f1"].gap.value == found.differences["a", "b", "f1"].gap.value


def test_where_no_patient_has_two_notes_both_units_are_the_same() -> None:
    gold = gold_of(9, 1)
    reports = [evaluate(gold, system_of(gold, 5), resampling=how).to_dict() for how in (Resampling(), BY_DOCUMENT)]
    assert reports[0] == reports[1]
    assert reports[0]["bootstrap"]["unit"] == "document"


def test_scores_and_averages_do_not_depend_on_the_unit() -> None:
    gold = gold_of(6, 4)
    one, other = (evaluate(gold, system_of(gold, 6), resampling=how) for how in (Resampling(), BY_DOCUMENT))
    for a, b in zip((*one.criteria, *one.types), (*other.criteria, *other.types), strict=True):
        assert (a.counts, a.macro, a.f1.value) == (b.counts, b.macro, b.f1.value)
    assert one.strict.f1.high - one.strict.f1.low > other.strict.f1.high - other.strict.f1.low


def test_ten_thousand_draws_are_the_default_and_others_can_be_asked_for() -> None:
    gold = gold_of(4, 2)
    assert evaluate(gold, gold).to_dict()["bootstrap"]["resamples"] == 10_000
    few = Resampling(draws=50)
    assert evaluate(gold, gold, resampling=few).to_dict()["bootstrap"]["resamples"] == 50
    with pytest.raises(SettingsError, match="patient, document"):
        Resampling(by="ward")


def test_draws_are_the_same_whatever_the_size_of_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(0).integers(0, 9, size=(30, 2, 3))
    units = Units.of([str(n) for n in range(30)], Resampling(draws=500))
    whole = Bootstrap(counts, units).measures("recall")
    monkeypatch.setattr("phistack.ensemble.evaluation.resampling._BLOCK", 70)
    assert Bootstrap(counts, units).measures("recall") == whole


def test_patients_are_told_apart_by_name_whatever_the_order_of_their_notes() -> None:
    counts, patients = np.random.default_rng(1).integers(0, 30, size=(12, 3)), [*"abcd"] * 3
    one = Systems({"s": counts}, patients).scores["s"]
    order = [n for patient in "abcd" for n in range(12) if patients[n] == patient]
    assert one.f1 == Systems({"s": counts[order]}, [patients[n] for n in order]).scores["s"].f1
    assert one.f1 != Systems({"s": counts}, [*map(str, range(12))]).scores["s"].f1


@pytest.mark.parametrize(("given", "unit"), [((), "patient"), (("--by", "document"), "document")])
def test_compare_and_evaluate_say_which_unit(
    phistack: Phistack, tmp_path: Path, given: tuple[str, ...], unit: str
) -> None:
    gold = gold_of(5, 3)
    gold = replace(gold, documents=tuple(replace(d, id=f"{i:03}-01", group="") for i, d in enumerate(gold.documents)))
    named = tuple(Document(f"{100 + i // 3}-{i % 3:02}", d.text, d.spans) for i, d in enumerate(gold.documents))
    gold = replace(gold, documents=named)
    for name, corpus in (("gold", gold), ("a", system_of(gold, 7)), ("b", system_of(gold, 8))):
        write_corpus(corpus, tmp_path / name, format="i2b2")
    paths = [tmp_path / name for name in ("gold", "a", "b")]
    n = 5 if unit == "patient" else 15
    files = ("--json", tmp_path / "c.json", "--latex", tmp_path / "c.tex")
    status, shown, error = phistack("compare", *paths, *given, "--draws", 500, *files)
    assert status == 0, error
    assert f"intervals by {unit} ({n} {unit}s, 500 draws)" in " ".join(shown.split())
    assert f"randomisation by {unit} with 9999 shuffles" in (tmp_path / "c.tex").read_text()
    assert json.loads((tmp_path / "c.json").read_text())["randomisation"]["units"] == n
    status, shown, _ = phistack("evaluate", *paths[:2], *given)
    assert (status, f"intervals by {unit} ({n} {unit}s, 10000 draws)" in " ".join(shown.split())) == (0, True)
    assert phistack("compare", *paths, "--by", "ward")[0] == 1
