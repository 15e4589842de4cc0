"""Systems against each other, and intervals and p-values by patient: against all exchanges, plain loops and SciPy."""

import io
import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import bootstrap

from phistack.ensemble.evaluation import (
    Comparison,
    Resampling,
    compare,
    comparison_latex,
    evaluate,
    holm,
    print_comparison,
)
from phistack.ensemble.evaluation.measures import f1_of_counts
from phistack.ensemble.evaluation.resampling import Bootstrap, Units
from phistack.ensemble.evaluation.systems import Systems
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError, SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack

LABELS = LabelSet.named("i2b2-2014")
TEXT = "Dr. Gorse saw Jane Roe in Alderton on 05/12/2019. "
PHI = (Span(4, 9, "DOCTOR"), Span(14, 22, "PATIENT"), Span(26, 34, "CITY"), Span(38, 48, "DATE"))
MEASURES = ("precision", "recall", "f1")


def gold_of(documents: int) -> Corpus:
    return Corpus(tuple(Document(f"{i}-01", TEXT, PHI) for i in range(documents)), LABELS)


def system_of(gold: Corpus, seed: int, missed: float = 0.2, wrong: float = 0.2) -> Corpus:
    """Gold with some spans missed, and some shortened, which are both wrong and missed."""
    chance = random.Random(seed)
    documents = []
    for document in gold.documents:
        kept = [span for span in document.spans if chance.random() >= missed]
        spans = [replace(s, end=s.end - 1) if chance.random() < wrong else s for s in kept]
        documents.append(document.with_spans(spans))
    return replace(gold, documents=tuple(documents))


def measures_of(counts: NDArray[np.int64]) -> tuple[float, ...]:
    """Precision, recall and F1 of counts, by their definitions."""
    tp, fp, fn = (int(n) for n in counts)
    p, r = tp / (tp + fp) if tp + fp else 0, tp / (tp + fn) if tp + fn else 0
    return p, r, 2 * p * r / (p + r) if p + r else 0


def counts_of(gold: Corpus, system: Corpus) -> NDArray[np.int64]:
    return evaluate(gold, system, resampling=Resampling(draws=1)).score("i2b2 strict").by_document


def exact_p(one: NDArray[np.int64], other: NDArray[np.int64], measure: int) -> float:
    """The share of all exchanges of documents that are as far apart as the systems are."""

    def distance(a: Any, b: Any) -> Any:
        return abs(measures_of(a)[measure] - measures_of(b)[measure])

    observed, extreme = distance(one.sum(0), other.sum(0)), 0
    for exchange in itertools.product((False, True), repeat=len(one)):
        mask = np.array(exchange)[:, None]
        a, b = np.where(mask, other, one).sum(0), np.where(mask, one, other).sum(0)
        extreme += distance(a, b) >= observed - 1e-12
    return extreme / 2 ** len(one)


def test_the_interval_of_a_difference_agrees_with_a_plain_loop() -> None:
    gold = gold_of(30)
    a, b = system_of(gold, 1, missed=0.1), system_of(gold, 2)
    one, other = counts_of(gold, a), counts_of(gold, b)
    draw, gaps = random.Random(0), []
    for _ in range(3000):
        drawn = [draw.randrange(30) for _ in range(30)]
        gaps.append(np.subtract(measures_of(one[drawn].sum(0)), measures_of(other[drawn].sum(0))))
    ends = np.sort(gaps, axis=0)[[75, 2925]]
    found = compare(gold, {"a": a, "b": b}, resampling=Resampling(draws=3000)).differences
    for index, measure in enumerate(MEASURES):
        gap = found["a", "b", measure].gap
        assert (gap.low, gap.high) == pytest.approx(tuple(ends[:, index]), abs=0.01)
        assert gap.low < gap.value < gap.high


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(0, 99))
def test_scores_are_those_of_the_evaluation_and_differences_those_of_the_scores(documents: int, seed: int) -> None:
    gold = gold_of(documents)
    systems = {"a": system_of(gold, seed), "b": system_of(gold, seed + 100)}
    found = compare(gold, systems, criterion="i2b2 relaxed", resampling=Resampling(draws=20, shuffles=20))
    for name, system in systems.items():
        score = evaluate(gold, system, resampling=Resampling(draws=1)).score("i2b2 relaxed")
        assert found.scores[name].counts == score.counts
        for measure, figure in score.measures.items():
            assert found.scores[name].measures[measure].value == figure.value
    for measure in MEASURES:
        a, b = (found.scores[name].measures[measure].value for name in "ab")
        assert found.differences["a", "b", measure].gap.value == pytest.approx(a - b)


def test_exchanging_the_systems_turns_the_sign_and_nothing_else() -> None:
    gold = gold_of(12)
    a, b = system_of(gold, 1), system_of(gold, 2, missed=0.4)
    there, back = compare(gold, {"a": a, "b": b}), compare(gold, {"b": b, "a": a})
    for measure in MEASURES:
        one, other = there.differences["a", "b", measure], back.differences["b", "a", measure]
        assert (one.p, one.p_holm) == (other.p, other.p_holm)
        assert one.gap == pytest.approx((-other.gap.value, -other.gap.high, -other.gap.low))


def test_holm_corrects_over_every_difference_of_every_pair() -> None:
    gold = gold_of(15)
    systems = {name: system_of(gold, i, missed=i / 10) for i, name in enumerate("abc")}
    found = compare(gold, systems, resampling=Resampling(shuffles=499))
    assert list(found.differences) == [(*pair, m) for pair in ("ab", "ac", "bc") for m in MEASURES]
    plain = [difference.p for difference in found.differences.values()]
    assert [difference.p_holm for difference in found.differences.values()] == list(holm(plain))
    assert found.to_dict()["randomisation"]["holm_over"] == 9


def test_a_system_does_not_differ_from_its_copy() -> None:
    gold = gold_of(5)
    system = system_of(gold, 3)
    few = Resampling(shuffles=99)
    for difference in compare(gold, {"a": system, "b": system}, resampling=few).differences.values():
        assert difference == ((0, 0, 0), 1, 1)


def test_the_comparison_is_json_and_repeats() -> None:
    gold = gold_of(6)
    systems = {"a": system_of(gold, 1), "b": system_of(gold, 2)}
    first, again, other = (compare(gold, systems, resampling=Resampling(seed=n)).to_dict() for n in (0, 0, 1))
    assert json.loads(json.dumps(first)) == first == again != other
    assert first["schema"] == "phistack.comparison.v1"


def without(corpus: Corpus, *gone: int) -> Corpus:
    return replace(corpus, documents=tuple(d for i, d in enumerate(corpus.documents) if i not in gone))


def test_documents_that_differ_are_refused_as_in_evaluate_with_the_name_of_the_system() -> None:
    gold = gold_of(4)
    with pytest.raises(EvaluationError) as plain:
        evaluate(gold, without(gold, 1))
    with pytest.raises(EvaluationError) as raised:
        compare(gold, {"a": gold, "b": without(gold, 1)})
    assert str(raised.value) == f"b: {plain.value}"
    assert "--allow-missing" in str(raised.value)


def test_systems_can_be_compared_on_what_all_have() -> None:
    gold = gold_of(5)
    found = compare(gold, {"a": without(gold, 1), "b": without(gold, 3)}, allow_missing=True)
    assert (found.documents, found.left_out) == (("0-01", "2-01", "4-01"), ("1-01", "3-01"))
    assert "NOT COMPARED: 2 documents that some system lacks, the first is 1-01" in " ".join(printed(found).split())
    with pytest.raises(EvaluationError, match="no document in common"):
        compare(gold_of(1), {"a": gold_of(1), "b": without(gold_of(1), 0)}, allow_missing=True)


def test_what_makes_no_sense_is_refused() -> None:
    gold = gold_of(2)
    with pytest.raises(EvaluationError, match="at least two systems"):
        compare(gold, {"a": gold})
    with pytest.raises(SettingsError, match="did you mean strict"):
        compare(gold, {"a": gold, "b": gold}, criterion="strickt")
    plain = replace(gold, label_set=LabelSet("own", dict.fromkeys(LABELS.labels, "PHI")))
    with pytest.raises(EvaluationError, match="i2b2 hipaa strict does not apply to the label set own"):
        compare(plain, {"a": plain, "b": plain}, criterion="i2b2 hipaa strict")


def printed(comparison: Comparison) -> str:
    out = io.StringIO()
    print_comparison(comparison, Console(file=out, width=80))
    return out.getvalue()


def test_the_table_is_whole_at_80_columns_and_tells_how_it_was_tested() -> None:
    gold = gold_of(8)
    shown = printed(compare(gold, {"run[red]": system_of(gold, 1), "run_2": system_of(gold, 2, missed=0.9)}))
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    flowing = " ".join(shown.split())
    assert "run[red] - run_2" in flowing
    assert "9999 shuffles (no p below 0.008 with 8 documents); Holm: corrected over all 3 differences" in flowing


def test_latex_has_a_section_for_each_pair() -> None:
    gold = gold_of(8)
    latex = comparison_latex(compare(gold, {f"run_{i}": system_of(gold, i) for i in range(3)}))
    assert latex.count(r"\midrule") == 4
    assert r"run\_0 $-$ run\_1 & precision & $" in latex


def test_the_command(phistack: Phistack, tmp_path: Path) -> None:
    gold = gold_of(6)
    for name, corpus in (("gold", gold), ("a", system_of(gold, 1)), ("b", system_of(gold, 2, missed=0.5))):
        write_corpus(corpus, tmp_path / name, format="i2b2")
    paths = [tmp_path / name for name in ("gold", "a", "b")]
    files = ("--json", tmp_path / "c.json", "--latex", tmp_path / "c.tex")
    status, shown, _ = phistack("compare", *paths, "--criterion", "spans", *files)
    assert status == 0
    assert "a - b" in shown
    reported = json.loads((tmp_path / "c.json").read_text())
    assert (reported["criterion"], list(reported["systems"])) == ("meddocan spans strict", ["a", "b"])
    assert (tmp_path / "c.tex").read_text().startswith("% phistack.comparison.v1")
    (tmp_path / "c.json").unlink()
    status, _, error = phistack("compare", *paths, *files)
    assert (status, "c.tex is already there" in error) == (1, True)
    assert not (tmp_path / "c.json").exists()
    assert phistack("compare", *paths[:2])[0] == 1
    assert "is given twice" in phistack("compare", *paths, tmp_path / "a")[2]


BY_DOCUMENT = Resampling(by="document")


def notes_of(patients: int, notes: int) -> Corpus:
    """So many notes of each of so many patients."""
    return Corpus(
        tuple(Document(f"{p}-{n:02}", TEXT, PHI, str(p)) for p in range(patients) for n in range(notes)), LABELS
    )


def uneven_system_of(gold: Corpus, seed: int) -> Corpus:
    """Answers that are good or bad for all notes of a patient alike."""
    chance = random.Random(seed)
    missed = {patient: chance.random() for patient in sorted({note.group for note in gold.documents})}
    return gold.with_spans([[s for s in d.spans if chance.random() > missed[d.group]] for d in gold.documents])


def by_patient(gold: Corpus, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    groups = [document.group for document in gold.documents]
    return np.array([counts[[g == p for g in groups]].sum(0) for p in dict.fromkeys(groups)])


def test_the_interval_is_that_of_scipy() -> None:
    gold = notes_of(15, 3)
    counts = by_patient(gold, counts_of(gold, uneven_system_of(gold, 2)))

    def f1(tp: Any, fp: Any, fn: Any, axis: int = -1) -> Any:
        return f1_of_counts(np.stack([part.sum(axis=axis) for part in (tp, fp, fn)], axis=-1))

    expected = bootstrap(tuple(counts.T), f1, paired=True, method="percentile", n_resamples=10_000, rng=0)
    found = evaluate(gold, uneven_system_of(gold, 2)).strict.f1
    assert found[1:] == pytest.approx(tuple(expected.confidence_interval), abs=0.01)


def test_p_values_are_those_of_all_exchanges_of_patients() -> None:
    gold = notes_of(8, 4)
    a, b = uneven_system_of(gold, 3), uneven_system_of(gold, 4)
    one, other = (by_patient(gold, counts_of(gold, system)) for system in (a, b))
    found = compare(gold, {"a": a, "b": b})
    assert found.differences["a", "b", "f1"].p == pytest.approx(exact_p(one, other, 2), abs=0.015)
    by_document = compare(gold, {"a": a, "b": b}, resampling=BY_DOCUMENT)
    assert by_document.differences["a", "b", "f1"].p < found.differences["a", "b", "f1"].p
    assert by_document.differences["a", "b", "f1"].gap.value == found.differences["a", "b", "f1"].gap.value


def test_where_no_patient_has_two_notes_both_units_are_the_same() -> None:
    gold = notes_of(9, 1)
    reports = [
        evaluate(gold, uneven_system_of(gold, 5), resampling=how).to_dict() for how in (Resampling(), BY_DOCUMENT)
    ]
    assert reports[0] == reports[1]
    assert reports[0]["bootstrap"]["unit"] == "document"


def test_scores_and_averages_do_not_depend_on_the_unit() -> None:
    gold = notes_of(6, 4)
    one, other = (evaluate(gold, uneven_system_of(gold, 6), resampling=how) for how in (Resampling(), BY_DOCUMENT))
    for a, b in zip((*one.criteria, *one.types), (*other.criteria, *other.types), strict=True):
        assert (a.counts, a.macro, a.f1.value) == (b.counts, b.macro, b.f1.value)
    assert one.strict.f1.high - one.strict.f1.low > other.strict.f1.high - other.strict.f1.low


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
def test_commands_say_which_unit(phistack: Phistack, tmp_path: Path, given: tuple[str, ...], unit: str) -> None:
    gold = notes_of(5, 3)
    gold = replace(gold, documents=tuple(replace(d, id=f"{i:03}-01", group="") for i, d in enumerate(gold.documents)))
    named = tuple(Document(f"{100 + i // 3}-{i % 3:02}", d.text, d.spans) for i, d in enumerate(gold.documents))
    gold = replace(gold, documents=named)
    for name, corpus in (("gold", gold), ("a", uneven_system_of(gold, 7)), ("b", uneven_system_of(gold, 8))):
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
