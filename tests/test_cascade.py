"""Costly submodels that read only lines in doubt: what is read, what is decided, what it costs, how to turn it off."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from phistack import Corpus, Document, Engine, EngineSettings, load_bundle, synthesize, write_corpus
from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.command_line.app import app
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.tasks.training import score_on, train_bundle
from phistack.ensemble.training.trainer import train
from phistack.features.columns.table import FeatureTable, line_bounds, lines_touched
from phistack.features.documents import Span
from phistack.features.errors import BundleError
from phistack.submodels.base import Candidate, LineMask
from phistack.submodels.tbed.submodel import TbedSubmodel
from tests.annotated import seen
from tests.invented_names import NAMES
from tests.tampering import change_json, rehash

CRF = {
    "max_iterations": 20,
    "others": 1.0,
    "templates": [[["word", 0]], [["shape", 0]], [["word", -1]], [["short_shape", 0], ["word", -1]]],
}
SETTINGS = EngineSettings(folds=2, submodels={"regex": {}, "tbed": {"max_rules": 12}, "crf": CRF})
FEW = 0.05
"""What may be lost, by the rule of succession, where it is to be learned from 48 PHI."""
PLAIN = (
    "The patient was seen with cough and fever.",
    "Lungs were clear on both sides, no wheeze.",
    "Blood pressure was normal and the pulse regular.",
    "Rest and fluids were advised, and a control visit.",
    "There was no pain on palpation of the abdomen.",
)


def notes(n: int, first: int = 0) -> Corpus:
    """Notes with one line of PHI among many without."""
    documents = []
    for i in range(first, first + n):
        lines = "\n".join(PLAIN[i % 5 :] + PLAIN[: i % 5])
        documents.append(seen(i, NAMES[i % len(NAMES)], f".\n{lines}"))
    return replace(synthesize(1), documents=tuple(documents))


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What trainings fitted, for later trainings on the same notes."""
    return tmp_path_factory.mktemp("fits")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, fits: Path) -> Any:
    """An engine in which TBED counts as costly, and its bundle."""
    path = tmp_path_factory.mktemp("cascade") / "engine"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TbedSubmodel, "costly", True)
        patch.setattr("phistack.ensemble.stacking.cascade._LOSS", FEW)
        training, _ = train_bundle(notes(24), path, SETTINGS, cache=fits)
    return training.engine, path


def answers(engine: Engine, documents: Any) -> list[list[tuple[Span, float, bool]]]:
    return [[(d.span, round(d.probability, 6), d.accepted) for d in note] for note in engine.decide(documents)]


class Watched(TbedSubmodel):
    """Records which lines it is asked for."""

    asked: list[list[LineMask]]

    @classmethod
    def over(cls, model: Any) -> "Watched":
        watched = cls.__new__(cls)
        vars(watched).update(vars(model))
        watched.name, watched.asked = model.name, []
        return watched

    def propose_in(self, tables: Any, wanted: Any) -> list[list[Candidate]]:
        self.asked.append(list(wanted))
        return super().propose_in(tables, wanted)


def watched(engine: Engine, cascade: Cascade) -> tuple[Engine, Watched]:
    model = Watched.over(next(model for model in engine.submodels if model.name == "tbed"))
    models = [model if other.name == "tbed" else other for other in engine.submodels]
    return Engine(
        engine.label_set, engine.space, models, engine.stacker, engine.subset_stackers, engine.language_gate, cascade
    ), model


def test_training_finds_thresholds_that_spare_most_lines_and_lose_hardly_anything(trained: Any) -> None:
    cascade = trained[0].cascade
    assert cascade is not None and cascade.waiting == ("tbed",)
    assert 0 < cascade.doubt <= 0.03 and 0 < cascade.chance <= 0.1
    figures = cascade.figures
    assert figures["tokens in doubt"] < 0.5
    assert figures["PHI lost"] == 0 and figures["PHI"] == 48
    assert figures["F1"] >= figures["F1, reading all"] - FEW


def test_from_few_phi_nobody_can_know_what_it_loses_so_there_is_none(
    monkeypatch: pytest.MonkeyPatch, fits: Path
) -> None:
    monkeypatch.setattr(TbedSubmodel, "costly", True)
    assert train(notes(24), SETTINGS, cache=fits).engine.cascade is None


def test_lines_without_doubt_are_not_read_and_the_decisions_stay(trained: Any) -> None:
    engine, model = watched(trained[0], trained[0].cascade)
    unseen = notes(12, first=24).documents
    found = [document.spans for document in engine.annotate(unseen)]
    (wanted,) = model.asked
    assert sum(map(len, wanted)) == 6 * 12
    assert not any(lines[1:].any() for lines in wanted), "a line of plain prose was read"
    assert found == [document.spans for document in engine.with_options(cascade=False).annotate(unseen)]
    assert found == [document.spans for document in unseen]


def test_at_a_threshold_that_everything_passes_all_is_read_and_decided_as_without_a_cascade(trained: Any) -> None:
    everything = Cascade(("tbed",), 1e-12, 1e-300)
    engine, model = watched(trained[0], everything)
    unseen = notes(12, first=24).documents
    assert answers(engine, unseen) == answers(engine.with_options(cascade=False), unseen)
    assert all(lines.all() for lines in model.asked[0])


def test_where_nothing_is_in_doubt_the_smaller_stacker_decides_all(trained: Any) -> None:
    engine, model = watched(trained[0], Cascade(("tbed",), 0.5, 1.0))
    unseen = notes(12, first=24).documents
    smaller = engine.only(("regex", "crf"))
    assert smaller.cascade is None
    assert [d.spans for d in engine.annotate(unseen)] == [d.spans for d in smaller.annotate(unseen)]
    assert not any(lines.any() for lines in model.asked[0])


def test_a_candidate_in_doubt_has_all_of_its_lines_read(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, model = watched(trained[0], Cascade(("tbed",), 0.1, 1.0))
    first = engine.subset_stackers["regex", "crf"]
    monkeypatch.setattr(
        first, "probabilities", lambda tables, pools, asked=None: [np.full(len(pool), 0.6) for pool in pools]
    )
    regex = engine.submodels[0]
    span = Span(0, len(notes(1).documents[0].text.splitlines()[0]) + 10, "DOCTOR")
    monkeypatch.setattr(regex, "propose", lambda tables: [[Candidate(span, "regex")] for _ in tables])
    list(engine.decide(notes(1).documents))
    assert model.asked[0][0].tolist() == [True, True, False, False, False, False]


def test_a_note_is_decided_alike_alone_and_among_others(trained: Any) -> None:
    engine, unseen = trained[0], notes(8, first=24).documents
    together = answers(engine, unseen)
    assert together == [answers(engine, [document])[0] for document in unseen]
    assert answers(engine, []) == []
    assert answers(engine, [Document("empty", ""), *unseen]) == [[], *together]


def test_without_a_costly_submodel_or_when_it_is_turned_off_there_is_none(
    monkeypatch: pytest.MonkeyPatch, fits: Path
) -> None:
    monkeypatch.setattr("phistack.ensemble.stacking.cascade._LOSS", FEW)
    assert train(notes(24), SETTINGS, cache=fits).engine.cascade is None
    monkeypatch.setattr(TbedSubmodel, "costly", True)
    assert train(notes(24), replace(SETTINGS, cascade=False), cache=fits).engine.cascade is None
    without_crf = replace(SETTINGS, submodels={"regex": {}, "tbed": {"max_rules": 12}})
    assert train(notes(24), without_crf, cache=fits).engine.cascade is None, "nobody who goes first has probabilities"


def test_a_bundle_keeps_it_and_can_be_loaded_without_it(trained: Any) -> None:
    engine, path = trained
    unseen = notes(12, first=24).documents
    assert load_bundle(path).cascade == engine.cascade
    assert answers(load_bundle(path), unseen) == answers(engine, unseen)
    off = load_bundle(path).with_options(cascade=False)
    assert answers(off, unseen) == answers(engine.with_options(cascade=False), unseen)
    assert load_bundle(path, only=("regex", "crf")).cascade is None


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "golden").glob("bundle_protocol_*.zip")))
def test_an_older_bundle_has_none_and_reads_everything(path: Path) -> None:
    engine = load_bundle(path)
    assert engine.cascade is None
    documents = synthesize(1, seed=6).documents
    assert answers(engine, documents) == answers(engine.with_options(cascade=False), documents)


def test_the_self_test_checks_the_engine_as_it_annotates(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    judge = Cascade.judge
    monkeypatch.setattr(Cascade, "judge", lambda self, *given: asked.append(1) or judge(self, *given))
    load_bundle(trained[1])
    assert asked


@pytest.mark.parametrize(
    "change",
    [
        {"waiting": ["blstm"]},
        {"waiting": []},
        {"waiting": ["regex", "tbed", "crf"]},
        {"doubt": 0.0},
        {"doubt": "all"},
        {"chance": 2.0},
    ],
)
def test_a_damaged_cascade_is_refused(trained: Any, tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "engine"
    save_bundle(trained[0], path, self_test=self_test(trained[0]), trained_on={}, figures={})
    change_json(path / "cascade" / "cascade.json", lambda state: state.update(change))
    rehash(path)
    with pytest.raises(BundleError):
        load_bundle(path)


def test_the_model_card_says_what_it_spares_and_costs(trained: Any) -> None:
    engine, path = trained
    card = (path / "MODEL_CARD.md").read_text()
    assert "## Cascade" in card and "The costly submodels (tbed) read only lines" in card
    assert f"| share of the tokens | 1 | {engine.cascade.figures['tokens in doubt']:.4f} |" in card
    assert "Of 48 PHI, 0 are lost" in card and "--no-cascade" in card
    assert read_manifest(path)["figures"]["cascade"]["doubt"] == engine.cascade.doubt


def test_the_scores_of_the_stack_are_of_what_it_annotates(trained: Any) -> None:
    """If the thresholds leave nothing in doubt, they are those of the engine without the costly submodel."""
    engine = watched(trained[0], Cascade(("tbed",), 0.5, 1.0))[0]
    gold = notes(12, first=24)
    whole, smaller = (score_on(e, gold) for e in (engine, engine.only(("regex", "crf"))))
    assert whole["stack"] == smaller["stack"]
    assert "tbed" in whole


def test_commands_can_be_told_to_read_every_line(trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(notes(2, first=24), tmp_path / "in.jsonl", format="jsonl")
    asked = []
    judge = Cascade.judge
    monkeypatch.setattr(
        Cascade, "judge", lambda self, tables, *more: asked.append(len(tables)) or judge(self, tables, *more)
    )
    monkeypatch.setattr("phistack.ensemble.bundles.bundle.check_self_test", lambda *given: None)
    for command, *out in (("annotate", "a.jsonl"), ("explain",), ("deidentify", "d.jsonl")):
        for option, expected in (("--no-cascade", False), ("--cascade", True)):
            asked.clear()
            paths = [str(tmp_path / "in.jsonl"), *(str(tmp_path / f"{option}-{name}") for name in out)]
            paths += ["--column=id=keep", "--column=group=keep"] if command == "deidentify" else []
            result = CliRunner().invoke(app, [command, *paths, "--model", str(trained[1]), option])
            assert result.exit_code == 0, result.output
            assert bool(asked) is expected, (command, option)


def test_the_benchmark_prints_both_roads_and_the_ratio(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import cascade

    write_corpus(notes(12, first=24), tmp_path / "in.jsonl", format="jsonl")
    given = ["cascade", "--model", str(trained[1]), "--corpus", str(tmp_path / "in.jsonl"), "--repetitions", "1"]
    monkeypatch.setattr("sys.argv", given)
    cascade.main()
    lines = capsys.readouterr().out.splitlines()
    assert any("every line" in line and "1.000" in line for line in lines)
    assert any("lines in doubt" in line and "100.00" in line for line in lines)
    assert "of 24 PHI the cascade loses 0 and finds 0 besides" in lines
    assert lines[-1].startswith("ratio ")


def test_the_lines_of_a_table_are_those_that_a_span_touches(trained: Any) -> None:
    table: FeatureTable = trained[0].space.table(notes(1).documents[0])
    text, starts = table.document.text, [0, *(i + 1 for i, c in enumerate(table.document.text) if c == "\n")]
    assert len(line_bounds(table)) == len(starts) + 1
    for begin in range(0, len(text), 7):
        for end in range(begin + 1, len(text), 13):
            touched = {sum(start <= at for start in starts) - 1 for at in range(begin, end) if not text[at].isspace()}
            (first,), (last,) = lines_touched(table, [Span(begin, end, "AGE")])
            assert set(range(first, last)) == touched or not touched
