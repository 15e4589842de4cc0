"""Engines trained on several corpora and tested on each: tables 8 and 9 of Trienes 2020, single and pooled."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phistack.ensemble.experiments.transfer import Domain, Transfer, transfer
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.trainer import propose
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack
from tests.test_experiments_folders import SETTINGS, small_corpus

REGEX = SETTINGS.only(("regex",))
WARDS = {name: small_corpus(first=first, seed=first) for name, first in (("a", 0), ("b", 20), ("c", 40))}
POOLS = ["all but a", "all but b", "all but c", "all together"]


@pytest.fixture(scope="module")
def trained() -> tuple[Transfer, list[tuple[set[str], set[str]]]]:
    """The figures, and for each engine the patients that it was trained and tested on."""
    seen: list[tuple[set[str], set[str]]] = []

    def watch(corpus: Corpus, *given: Any, unseen: Any, **options: Any) -> Any:
        seen.append(({d.group.rpartition("/")[2] for d in corpus.documents}, {document.group for document in unseen}))
        return propose(corpus, *given, unseen=unseen, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phistack.ensemble.experiments.parts.propose", watch)
        domains = [Domain(name, corpus, SETTINGS) for name, corpus in WARDS.items()]
        return transfer(domains, pooled=True, stack=False), seen


def patients_of(name: str) -> set[str]:
    return {document.group for document in WARDS[name].documents}


def test_each_corpus_alone_all_but_each_and_all_together_are_tested_on_each(trained: Any) -> None:
    found, _ = trained
    for matrix in found.matrix.values():
        assert list(matrix) == ["a", "b", "c", *POOLS]
        assert all(list(row) == ["a", "b", "c"] for row in matrix.values())
    assert list(found.others["crf"]) == ["a", "b", "c", *POOLS[:3]]


def test_no_engine_is_tested_on_patients_that_it_knows(trained: Any) -> None:
    found, seen = trained
    assert len(seen) == 7
    held_out = seen[0][1]
    assert all(tested == held_out and not known & held_out for known, tested in seen)
    assert all(seen[3 + number][0] & patients_of(name) == set() for number, name in enumerate(WARDS))
    assert seen[6][0] == set.union(*(known for known, _ in seen[:3]))
    assert found.pooled["all together"].documents == len(seen[6][0])


def test_all_others_together_are_the_sum_of_each(trained: Any) -> None:
    found, _ = trained
    for system, of in found.others.items():
        by_corpus = [found.matrix[system]["a"][name].counts for name in ("b", "c")]
        assert of["a"].counts == tuple(np.sum(by_corpus, axis=0))
        assert of["all but b"].counts == found.matrix[system]["all but b"]["b"].counts


def test_without_pools_the_figures_are_the_same(trained: Any) -> None:
    found, _ = trained
    alone = transfer([Domain(name, corpus, SETTINGS) for name, corpus in WARDS.items()], stack=False)
    assert alone.pooled == {} and list(alone.matrix["crf"]) == ["a", "b", "c"]
    assert all(alone.matrix["crf"][name] == found.matrix["crf"][name] for name in WARDS)
    assert len(alone.tables()["others"].sections) == 1


def test_the_command_writes_both_tables(phistack: Phistack, tmp_path: Path) -> None:
    for name, corpus in WARDS.items():
        write_corpus(corpus, tmp_path / name, format="i2b2")
    out = tmp_path / "out"
    status, shown, error = phistack(
        "transfer", *(tmp_path / name for name in WARDS), "--out", out, "--pooled", "--no-stack",
        "--submodels", "regex", "--jobs", 1,
    )  # fmt: skip
    assert status == 0, error
    assert "trained on it, tested on all others" in shown and "trained on all others, tested on it" in shown
    assert all(name in shown for name in POOLS)
    results = json.loads((out / "results.json").read_text())
    assert list(results["pooled"]) == POOLS and list(results["tested on all others"]["regex"])[:3] == ["a", "b", "c"]
    latex = (out / "others.tex").read_text()
    assert latex.count(r"\midrule") == 2 and "all others together" in latex
    assert "all but a" in (out / "matrix.svg").read_text()


def test_notes_and_patients_of_the_same_name_are_kept_apart(caplog: pytest.LogCaptureFixture) -> None:
    domains = [Domain("a", WARDS["a"], REGEX), Domain("b", small_corpus(seed=9), REGEX)]
    found = transfer(domains, pooled=True, stack=False)
    assert list(found.pooled) == ["all together"]
    parts = [found.domains[name]["training"].documents for name in ("a", "b")]
    assert found.pooled["all together"].documents == sum(parts)
    assert "names of patients are in more than one corpus" in caplog.text


def test_pools_need_one_label_set(phistack: Phistack, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = replace(WARDS["b"], label_set=LabelSet.named("ngrid-2016"))
    with pytest.raises(SettingsError, match="cannot be learned together; convert them to one set with --map-labels"):
        transfer([Domain("a", WARDS["a"], REGEX), Domain("b", other, REGEX)], pooled=True, criterion="spans")
    write_corpus(synthesize(6, seed=1, language="nl"), tmp_path / "nut", format="brat")
    write_corpus(WARDS["a"], tmp_path / "i2b2", format="i2b2")
    given = ("transfer", tmp_path / "nut", tmp_path / "i2b2", "--no-stack", "--submodels", "regex", "--jobs", 1)
    status, _, error = phistack(*given, "--pooled", "--out", tmp_path / "out")
    assert status == 1 and "--map-labels" in error.splitlines()[-1] and not (tmp_path / "out").exists()
    status, shown, error = phistack(*given, "--pooled", "--map-labels", "nut", "--out", tmp_path / "out")
    assert status == 0, error
    assert "in several languages (en, nl)" in caplog.text and "all together" in shown
