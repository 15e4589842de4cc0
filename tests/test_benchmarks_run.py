"""A short form of every command in `benchmarks` runs to its end and prints its results."""

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import growth, safe_words
from benchmarks.language import CORPORA
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.formats import write_corpus

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

SHORT = {
    "attack --notes 6 --missed 5": "6 invented notes",
    "batch --memory 60 --out {out}": "60 short notes, 0 in quarantine",
    "batch --model {engine} --documents 4 --out {out}": "two processes are",
    "certificates --notes 60 --divisions 3 --patients 20": "3 divisions of 30 patients",
    "certificates --corpus {corpora}/meddocan/train --submodels regex --divisions 3 --patients 3": "3 divisions of",
    "clusters --notes 24": "Dask, 2 workers: 24 notes, 0 held back",
    "engines dutch --measure {engine}": "notes written by hand (nl), kept back:",
    "english --corpora {empty} --documents 12 --submodels regex --jobs 1 --out {out} --results {results}": "stack",
    "faults --engine {engine} --kills 0 --inputs 4 --texts 0 --mixtures 1 --no-commands --jobs 1": "4 mutated inputs",
    "fill --notes 20 --scored 10 --styles tags --submodels regex --folds 2 --jobs 1": "with the label that was there",
    "growth --model {engine} --texts dates --characters 2000 --notes 2": "worst ratio",
    "known_identifiers --documents 4": "one typing error",
    "leakage attacks --corpus {corpora}/meddocan/train --patients 8 --engines 2 --least 2 --submodels regex "
    "--jobs 1": "Membership of a name",
    "label_errors invented --notes 10 --submodels regex --folds 2 --jobs 1 --picture {empty}": "check-labels",
    "meddocan --corpus {corpora}/meddocan --submodels regex --jobs 1 --out {out} --results {results}": "stack",
    "own_notes {engine} --on hospital invented --sizes 6 --scored 10 --seeds 1": "stack with the engine",
    "records --model {engine} --documents 4": "FHIR, no Patient:",
    "results --check": "",
    "review {engine} --notes 3 --scored 0 --met": "random",
    "review_list {engine} --notes 10": "first rows",
    "throughput --model {engine} --corpus {corpora}/meddocan/dev --repetitions 1 --results {results}": "regex+tbed",
    "training": "2 processes",
    "training --corpus {corpora}/meddocan/train --submodels regex --jobs 1": "stacker",
}
"""Command -> what it prints."""

ELSEWHERE = {
    "cascade": "test_cascade",
    "pages": "test_pages_in_a_browser",
    "checkouts": "test_throughput",
    "field": "test_field",
    "losses": "test_losses_benchmark",
    "origins": "test_origins_benchmark",
    "peers": "test_throughput",
    "pretraining": "test_stacking_benchmark",
    "stacking": "test_stacking_benchmark",
}
"""Those that another test runs; two of them are run by other commands only."""

OWN_TESTS = {"language", "safe_words", "tbed"}
"""Those with a test of their own below."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """An engine, and corpora in the folders where the commands look for them."""
    folder = tmp_path_factory.mktemp("benchmarks")
    corpus = synthesize(12, seed=1)
    engine = train(corpus, EngineSettings(folds=2).only(("regex", "tbed"))).engine
    save_bundle(engine, folder / "engine", self_test=self_test(engine), trained_on={}, figures={})
    for part, seed in (("train", 2), ("dev", 3)):
        write_corpus(synthesize(8, seed=seed, language="es"), folder / "corpora" / "meddocan" / part, format="brat")
    (folder / "empty").mkdir()
    return {"engine": folder / "engine", "corpora": folder / "corpora", "empty": folder / "empty"}


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, *arguments = command.split()
    module = f"benchmarks.{name}" if name != "faults" else "benchmarks.faults.__main__"
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    with pytest.raises(SystemExit) as ended:
        import_module(module).main()
        raise SystemExit(0)
    assert not ended.value.code


def test_no_command_is_without_a_short_run() -> None:
    commands = {
        path.stem for path in BENCHMARKS.glob("*.py") if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    tested = {command.split()[0] for command in SHORT} | ELSEWHERE.keys() | OWN_TESTS
    assert commands | {"faults"} == tested
    for name, test in ELSEWHERE.items():
        text = (Path(__file__).with_name(f"{test}.py")).read_text(encoding="utf-8")
        assert f"benchmarks.{name}" in text or f"import {name}" in text


@pytest.mark.parametrize("command", SHORT)
def test_a_command_runs_to_its_end(
    command: str,
    places: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(command.format(**places, out=tmp_path / "out", results=tmp_path / "results"), monkeypatch)
    assert SHORT[command] in capsys.readouterr().out


def test_wrong_input_ends_a_command_in_a_sentence_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/growth.py", "--model", "nowhere.zip"])
    with pytest.raises(SystemExit, match=r"^growth: there is no bundle at nowhere\.zip"):
        run_main(growth.main)


def test_the_learner_of_rules_is_measured_beside_nltk(places: Mapping[str, Path]) -> None:
    pytest.importorskip("nltk")
    script = [sys.executable, str(BENCHMARKS / "tbed.py"), str(places["corpora"] / "meddocan"), "--rules", "5"]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert "the rules and their gains are the same" in printed and printed.splitlines()[-1].startswith("ratio ")
    memory = subprocess.run([*script, "--memory"], capture_output=True, text=True, check=True).stdout
    assert "300 templates" in memory


def test_the_language_gate_is_measured_on_every_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, language in CORPORA.items():
        # There are no invented notes in French.
        notes = synthesize(6, seed=1, language="en" if language == "fr" else language)
        write_corpus(notes, tmp_path / name, format="brat")
    import_module("benchmarks.language").main(tmp_path)
    assert "court-fr" in capsys.readouterr().out


def test_lists_of_safe_words_have_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probable = {"patient": -5.0, "Patient": -9.0, "hunter": -6.0, "Berlin": -7.0, "berlin": -12.0, "eaten": -8.0}
    tables = {
        "en_lexeme_prob": probable, "es_lexeme_prob": probable, "de_lexeme_prob": probable,
        "de_lemma_lookup": {"patienten": "patient"}, "nl_lemma_lookup": {"lopen": "lopen"},
        "sv_lemma_lookup": {"patienter": "patient"}, "nb_lemma_exc": {"noun": {"pasienter": ["pasient"]}},
    }  # fmt: skip
    for name, table in tables.items():
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(table).encode()))
    (tmp_path / "usual").mkdir()
    monkeypatch.setattr(safe_words, "_OUT", tmp_path)
    monkeypatch.setattr(safe_words, "_USUAL_OUT", tmp_path / "usual")
    monkeypatch.setattr(safe_words, "_CLOSED", 0)
    monkeypatch.setattr(sys, "argv", ["safe_words", str(tmp_path)])
    safe_words.main()
    assert (tmp_path / "en.txt").read_text(encoding="utf-8").split() == ["eaten", "patient"]
    assert (tmp_path / "de.txt").read_text(encoding="utf-8").split() == ["patient"]
    for language in ("en", "de"):
        usual = (tmp_path / "usual" / f"{language}.txt").read_text(encoding="utf-8").split()
        assert usual == ["Berlin", "eaten", "hunter", "patient"]
