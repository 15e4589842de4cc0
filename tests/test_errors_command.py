"""`phistack errors` on a small engine: what it counts, shows, never shows and refuses."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.evaluation import Resampling, compare, evaluate
from phistack.ensemble.evaluation.criteria import criterion_named
from phistack.ensemble.experiments.choosers import Choosers, choosers_of
from phistack.ensemble.experiments.errors import analyse_errors
from phistack.ensemble.stacking.candidates import PooledCandidate
from phistack.ensemble.tasks.training import score_on, train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from phistack.submodels.base import Candidate
from tests.annotated import corpus_of, small_corpus
from tests.fixture_types import Phistack
from tests.invented_names import FEW_NAMES as NAMES

LABELS = LabelSet.named("i2b2-2014")
SIDES = {"missed": "fn", "false": "fp"}
SECRETS = ("Quillfeather", "Zzyzx")


def gold_notes() -> Corpus:
    """Notes like those of training, with PHI that nobody can find, other labels and extents, and false PHI."""
    texts = []
    for i, name in enumerate((*NAMES, *SECRETS)):
        label, day = "DOCTOR" if i % 3 else "PATIENT", f"0{i % 9 + 1}/12/2019"
        date = day if i == 4 else f"[{day[:8]}|DATE]{day[8:]}" if i % 2 else f"[{day}|DATE]"
        aunt = "His aunt [Zzyzx|PATIENT] lives in [Quillfeather|CITY]."
        texts.append(f"Seen by Dr. [{name}|{label}] on {date}. {aunt}")
    return corpus_of(*texts, first=200)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an engine, gold notes, and notes without PHI."""
    folder = tmp_path_factory.mktemp("errors")
    train_bundle(small_corpus(8), folder / "engine", EngineSettings(folds=2).only(("regex", "tbed", "crf")))
    write_corpus(gold_notes(), folder / "gold", format="i2b2")
    plain = gold_notes().with_spans([()] * len(gold_notes()))
    write_corpus(plain, folder / "plain", format="i2b2")
    return folder


@pytest.fixture(scope="module")
def analysis(home: Path) -> Any:
    return analyse_errors(gold_notes(), load_bundle(home / "engine"), resampling=Resampling(shuffles=99))


def test_all_submodels_read_all_lines_though_the_engine_has_a_cascade(home: Path, analysis: Any) -> None:
    engine = load_bundle(home / "engine")
    engine.cascade = object()  # type: ignore[assignment]  # which would fail if it were asked
    assert analyse_errors(gold_notes(), engine, resampling=Resampling(shuffles=99)).to_dict() == analysis.to_dict()


def test_what_is_wrong_adds_up_to_the_scores_of_the_stack(home: Path, analysis: Any) -> None:
    gold = gold_notes()
    found = gold.with_spans([note.spans for note in load_bundle(home / "engine").annotate(gold.documents)])
    strict = evaluate(gold, found, resampling=Resampling(draws=1)).strict.counts
    figures = analysis.to_dict()
    for counted in (figures["kinds"], *_summed(figures["by label"]), *_summed(figures["by who chose"])):
        totals = {side: sum(counted[side].values()) for side in SIDES}
        assert totals == {side: getattr(strict, name) for side, name in SIDES.items()}
    assert len(figures["each"]) == strict.fn + strict.fp > 0


def _summed(groups: dict[str, Any]) -> list[dict[str, dict[str, int]]]:
    """The counts of all groups together."""
    return [{side: {"all": sum(sum(group[side].values()) for group in groups.values())} for side in SIDES}]


def test_the_choosers_are_scored_as_everywhere_else(home: Path, analysis: Any) -> None:
    rows = {row.name: row for row in analysis.choosers.rows}
    assert list(rows)[:4] == ["regex", "tbed", "crf", "majority vote"]
    for name, report in score_on(load_bundle(home / "engine"), gold_notes()).items():
        assert rows[name].score.counts == report.strict.counts
    assert rows["stack"].difference is None
    assert all(row.difference for name, row in rows.items() if name != "stack")
    members = [rows[name].score.f1.value for name in ("regex", "tbed", "crf")]
    assert [row.name for row in analysis.choosers.rows if row.remark == "best member"] == [
        ("regex", "tbed", "crf")[members.index(max(members))]
    ]
    assert rows["perfect chooser"].score.recall.value == max(row.score.recall.value for row in rows.values())
    assert rows["perfect chooser"].score.f1.value >= rows["stack"].score.f1.value


def test_p_values_are_those_of_the_comparison(home: Path, analysis: Any) -> None:
    gold, engine = gold_notes(), load_bundle(home / "engine")
    stack = gold.with_spans([note.spans for note in engine.annotate(gold.documents)])
    alone = [[d.span for d in note if _chose(d, "crf")] for note in engine.decide(gold.documents)]
    crf = gold.with_spans(alone)
    expected = compare(gold, {"crf": crf, "stack": stack}, resampling=Resampling(shuffles=99)).differences
    found = next(row for row in analysis.choosers.rows if row.name == "crf").difference
    assert (found.gap.value, found.p) == (expected["crf", "stack", "f1"].gap.value, expected["crf", "stack", "f1"].p)


def _chose(decision: Any, source: str) -> bool:
    return any(vote.source == source and vote.chosen for vote in decision.votes)


def choosers_among_ten(first: int, second: int, stack: int, perfect: int) -> Choosers:
    """Choosers on one note of ten PHI; two members, the stack and the perfect chooser each find so many."""
    gold = [Span(2 * i, 2 * i + 1, "DATE") for i in range(10)]
    pool = [
        PooledCandidate(
            span, (Candidate(span, "a", 0.4, chosen=i < first), Candidate(span, "b", 0.4, chosen=i < second))
        )
        for i, span in enumerate(gold[:perfect])
    ]
    corpus = Corpus((Document("n", "x" * 20, tuple(gold)),), LABELS)
    few, rule = Resampling(shuffles=9), criterion_named("strict")
    return choosers_of(corpus, [pool], [gold[:stack]], ("a", "b"), LABELS, rule, resampling=few)


def test_the_way_from_the_best_member_to_the_perfect_chooser() -> None:
    choosers = choosers_among_ten(5, 7, 7, 9)
    assert choosers.share == 0
    assert choosers_among_ten(5, 7, 9, 9).share == 1
    assert choosers_among_ten(9, 7, 9, 9).share is None
    back = [2 * n / (10 + n) for n in (7, 6, 9)]
    assert choosers_among_ten(5, 7, 6, 9).share == pytest.approx((back[1] - back[0]) / (back[2] - back[0]))
    remarks = {row.name: row.remark for row in choosers.rows if row.remark}
    assert remarks == {"b": "best member", "mean over 0.35": "best of 3"}
    assert [row.name for row in choosers.rows] == [
        "a", "b", "majority vote", "mean over 0.35", "mean over 0.50", "stack", "perfect chooser",
    ]  # fmt: skip


def outputs_of(phistack: Phistack, home: Path, out: Path, *options: str) -> list[str]:
    """What the command writes: the screen, JSON, page and LaTeX."""
    files = {"--json": out / "all.json", "--html": out / "page.html", "--latex": out / "tables.tex"}
    targets = [part for item in files.items() for part in item]
    status, shown, error = phistack(
        "errors", home / "gold", "--model", home / "engine", "--shuffles", 9, "--details", *options, *targets
    )
    assert (status, "phistack: " in error) == (0, False)
    return [shown, *(file.read_text(encoding="utf-8") for file in files.values())]


def test_the_command_shows_offsets_and_no_text(phistack: Phistack, home: Path, tmp_path: Path) -> None:
    outputs = outputs_of(phistack, home, tmp_path)
    assert not [secret for secret in (*SECRETS, *NAMES) for output in outputs if secret in output]
    shown, in_json, page, latex = outputs
    for heading in (
        "best member",
        "perfect chooser",
        "missed: proposed and beaten",
        "false: nothing there",
        "no submodel",
    ):
        assert all(heading in output for output in (shown, page, latex))
    each = json.loads(in_json)["each"]
    gold = {note.id: note.spans for note in gold_notes().documents}
    for wrong in each:
        place = Span(wrong["start"], wrong["end"], wrong["label"])
        assert (place in gold[wrong["document"]]) == (wrong["wrong"] == "missed")
        assert "text" not in wrong
        assert f"{wrong['start']}-{wrong['end']}" in shown
        assert f"{wrong['start']}–{wrong['end']}" in page


def test_the_text_is_shown_on_request_but_never_in_latex(phistack: Phistack, home: Path, tmp_path: Path) -> None:
    shown, in_json, page, latex = outputs_of(phistack, home, tmp_path, "--text")
    notes = {note.id: note.text for note in gold_notes().documents}
    for wrong in json.loads(in_json)["each"]:
        assert wrong["text"] == notes[wrong["document"]][wrong["start"] : wrong["end"]]
    assert "'Zzyzx'" in shown
    assert "His aunt <mark>Zzyzx</mark> lives in" in page
    assert not [secret for secret in (*SECRETS, *NAMES) if secret in latex]


def test_the_summary_comes_first_and_rows_on_request(phistack: Phistack, home: Path) -> None:
    given = ("errors", home / "gold", "--model", home / "engine", "--shuffles", 9)
    (status, short, _), (_, long, _) = phistack(*given), phistack(*given, "--details")
    assert status == 0
    assert short.startswith("Of 39 PHI, ") and "The stack" in short.splitlines()[0]
    assert "Each wrong decision" not in short and "Each wrong decision" in long
    assert "probability" in long.partition("Each wrong decision")[2]
    assert not [line for line in short.splitlines() if line.split()[-1:] == ["p"]]


def test_ids_and_labels_that_may_be_names_are_hashed(home: Path) -> None:
    labels = replace(LABELS, categories={**LABELS.categories, "Birchwood": "NAME"})
    notes = [replace(note, id=f"Birchwood_{i}") for i, note in enumerate(gold_notes().documents)]
    notes[0] = notes[0].with_spans([Span(12, 14, "Birchwood"), *notes[0].spans])
    gold, engine = Corpus(tuple(notes), labels), load_bundle(home / "engine")
    shown = analyse_errors(gold, engine, resampling=Resampling(shuffles=9))
    assert not [o for o in (shown.page(), shown.latex(), json.dumps(shown.to_dict())) if "Birchwood" in o]
    assert "Birchwood" in analyse_errors(gold, engine, with_text=True).page()


def test_the_page_fetches_nothing_and_escapes_what_comes_from_notes(home: Path) -> None:
    text = "Seen by Dr. <img src=//x>&co on 01/12/2019."
    gold = Corpus((Document("1-01", text, (Span(12, 28, "DOCTOR"), Span(32, 42, "DATE"))),), LABELS)
    page = analyse_errors(gold, load_bundle(home / "engine"), with_text=True, resampling=Resampling(shuffles=9)).page()
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"<[^>]*(?:src|href)\s*=|url\(|@import|<script", page)


def test_labels_compare_without_regard_to_case(home: Path) -> None:
    lower = LabelSet("own", {label.lower(): category for label, category in LABELS.categories.items()}, language="en")
    notes = [
        note.with_spans([replace(span, label=span.label.lower()) for span in note.spans])
        for note in gold_notes().documents
    ]
    engine, few = load_bundle(home / "engine"), Resampling(shuffles=9)
    found = analyse_errors(Corpus(tuple(notes), lower), engine, resampling=few)
    expected = analyse_errors(gold_notes(), engine, resampling=few)
    assert found.to_dict()["kinds"] == expected.to_dict()["kinds"]
    assert [row.score.counts for row in found.choosers.rows] == [row.score.counts for row in expected.choosers.rows]


def test_some_of_the_submodels_are_judged_by_their_own_stacker(phistack: Phistack, home: Path, tmp_path: Path) -> None:
    options = ("--submodels", "regex,crf", "--shuffles", 9, "--json", tmp_path / "all.json")
    assert phistack("errors", home / "gold", "--model", home / "engine", *options)[0] == 0
    figures = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert figures["submodels"] == ["regex", "crf"]
    assert not [wrong for wrong in figures["each"] if "tbed" in (*wrong["chosen by"], *wrong["offered by"])]


@pytest.mark.parametrize(
    ("gold", "model", "said"),
    [
        ("plain", "engine", "no annotated PHI"),
        ("gold", "no-engine", "no bundle"),
        ("no-notes", "engine", "no-notes"),
        ("gold", "gold", "gold"),
    ],
)
def test_bad_input_is_one_sentence(
    phistack: Phistack, home: Path, tmp_path: Path, gold: str, model: str, said: str
) -> None:
    out = tmp_path / "all.json"
    status, shown, error = phistack("errors", home / gold, "--model", home / model, "--json", out)
    (line,) = [line for line in error.splitlines() if line.startswith("phistack: ")]
    assert (status, shown) == (1, "")
    assert said in line
    assert not out.exists()


def test_nothing_that_is_there_is_overwritten(phistack: Phistack, home: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    new = tmp_path / "all.json"
    status, _, error = phistack(
        "errors", home / "gold", "--model", home / "engine", "--json", new, "--html", tmp_path / "page.html"
    )
    assert (status, new.exists(), (tmp_path / "page.html").read_text()) == (1, False, "mine")
    assert "already there" in error
