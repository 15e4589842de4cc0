"""What an engine gives away about its training patients, as it is and with `train --private`.

    python -m benchmarks.leakage                       all on MEDDOCAN with regex, TBED and CRF; an hour
    python -m benchmarks.leakage attacks --patients 80 --engines 2
    python -m benchmarks.leakage loss ablation         F1 on the dev part

`attacks` trains several engines, each on a random half of some patients. A search of all files of their bundles counts
the identifiers of their training notes (`phistack inspect`). Then, for each engine, four attackers guess which names
occur only in its notes and which only in the other notes, by

- words: how many of the name's words are in the vocabulary of the bundle
- score: the scores of stack and submodels for the name in three sentences; a learned name gets surer ones
- time: the time for a token, the least of some repetitions (Seyedi 2023, PoPETs, on timing a lexicon)
- shadows: the score beside those of the other engines, with and without the name (Carlini 2022, LiRA)

AUC 0.5 is guessing; intervals are from 1,000 bootstrap draws of names. `loss` trains on all notes and scores the test
part. `ablation` does so for the CRF alone, with each privacy measure by itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.measuring import CORPORA
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import save_bundle
from phistack.ensemble.bundles.inspection import inspected
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.public_words import public_words
from phistack.ensemble.evaluation import evaluate_systems
from phistack.ensemble.evaluation.resampling import Measure
from phistack.ensemble.evaluation.tables import Table, TableRow, share
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.tasks.training import score_on
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.arrays import Floats
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.discretion import PATIENTS, Discretion
from phistack.features.documents import Corpus, Document
from phistack.features.formats import read_corpus
from phistack.submodels.crf.submodel import CrfSubmodel

_SENTENCES = ("{}", "{}.\n", "- {},")
"""Sentences around a name to guess, for any language."""
_DRAWS, _TIMED = 1_000, 60
_LEAST_SPREAD = 0.02
_FOLDS, _ATTACKED = 2, 160


class Target(NamedTuple):
    """An engine, and the names that occur only in its half of the notes, or only in the other half."""

    engine: Engine
    inside: frozenset[str]
    outside: frozenset[str]


def main() -> None:
    """Parse the arguments and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.leakage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["attacks", "loss", "ablation"], help="what to measure")
    parser.add_argument("--corpus", type=Path, default=CORPORA / "meddocan" / "train")
    parser.add_argument("--test", type=Path, default=CORPORA / "meddocan" / "dev")
    parser.add_argument("--patients", type=int, help="the first so many; by default 160 for the attacks, else all")
    parser.add_argument("--engines", type=int, default=4)
    parser.add_argument("--least", type=int, default=PATIENTS, help="the setting private")
    parser.add_argument("--submodels", default="regex,tbed,crf")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    whole = read_corpus(given.corpus)
    corpus = _of_patients(whole, given.patients or len(whole))
    features = FeatureSettings(language=corpus.label_set.language)
    settings = EngineSettings(features=features, folds=_FOLDS).only(comma_list(given.submodels))
    both = {"as it is": settings, f"private = {given.least}": replace(settings, private=given.least)}
    console = Console(width=120)
    if "attacks" in given.parts:
        halves = _halves(_of_patients(corpus, given.patients or _ATTACKED), given.engines)
        for way, how in both.items():
            searches, targets = _engines(halves, how, given.jobs)
            console.print(*(table for table in searches), _attacks_table(way, targets), sep="\n")
    if "loss" in given.parts:
        console.print(_loss_table(corpus, read_corpus(given.test), both, given.jobs))
    if "ablation" in given.parts:
        console.print(_ablation_table(corpus, read_corpus(given.test), features, given.least))


def _of_patients(corpus: Corpus, most: int) -> Corpus:
    """The notes of the first patients."""
    patients = set(list(dict.fromkeys(document.group for document in corpus.documents))[:most])
    return replace(corpus, documents=tuple(d for d in corpus.documents if d.group in patients))


def _halves(corpus: Corpus, n_engines: int) -> list[tuple[Corpus, Corpus]]:
    """Random halves of the patients: for each engine what it learns from, and the rest."""
    patients = sorted({document.group for document in corpus.documents})
    halves = []
    for seed in range(n_engines):
        own = set(np.random.default_rng(seed).permutation(patients)[: len(patients) // 2].tolist())
        parts = [tuple(d for d in corpus.documents if (d.group in own) is inside) for inside in (True, False)]
        halves.append((replace(corpus, documents=parts[0]), replace(corpus, documents=parts[1])))
    return halves


def _engines(
    halves: Sequence[tuple[Corpus, Corpus]], settings: EngineSettings, jobs: int
) -> tuple[list[Table], list[Target]]:
    """The engines, and what a search of the first one's bundle finds of its training notes."""
    searches, targets = [], []
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        for number, (own, others) in enumerate(halves):
            training = train(own, settings, jobs=jobs)
            if not number:
                path, test = Path(folder) / "engine", self_test(training.engine)
                save_bundle(training.engine, path, self_test=test, models=training.models, trained_on={}, figures={})
                searches.append(inspected(path, own).table())
            inside, outside = map(_names, (own, others))
            targets.append(Target(training.engine, inside - outside, outside - inside))
    return searches, targets


def _names(corpus: Corpus) -> frozenset[str]:
    """The names of persons in the notes, as written."""
    spans = ((d.text[s.start : s.end], s.label) for d in corpus.documents for s in d.spans)
    texts = (text for text, label in spans if kind_of(label, corpus.label_set.name) == "PERSON")
    return frozenset(" ".join(text.split()) for text in texts)


def _attacks_table(way: str, targets: Sequence[Target]) -> Table:
    names = sorted(frozenset().union(*(target.inside | target.outside for target in targets)))
    # (n_engines, n_names): whether the engine learned from the name, and whether only one half has the name.
    inside = np.array([[name in target.inside for name in names] for target in targets])
    asked = inside | np.array([[name in target.outside for name in names] for target in targets])
    scores = np.array([_scores(target.engine, names) for target in targets])
    timed = np.linspace(0, len(names) - 1, min(_TIMED, len(names))).astype(int)
    times = np.array([_times(target.engine, [names[i] for i in timed]) for target in targets])
    attacks: dict[str, tuple[Floats, NDArray[np.int64]]] = {
        "words": (np.array([_known(target.engine, names) for target in targets]), np.arange(len(names))),
        "score": (scores, np.arange(len(names))),
        "time": (times, timed),
        "shadows": (_likelihoods(scores, inside, asked), np.arange(len(names))),
    }
    rows: list[TableRow] = [
        [attack, share(_auc(found, inside[:, of], asked[:, of]))] for attack, (found, of) in attacks.items()
    ]
    note = f"{len(targets)} engines, {len(names)} names, {int(asked.sum())} guesses; in percent"
    return Table(("attack", "AUC"), [rows], f"Membership of a name, {way}", note)


def _known(engine: Engine, names: Sequence[str]) -> Floats:
    """The share of the words of each name that are values of the column `word`."""
    return np.array([np.mean([engine.space.id("word", word) > 0 for word in name.split()]) for name in names])


def _scores(engine: Engine, names: Sequence[str]) -> Floats:
    """The scores of stack and submodels for each name, summed over the sentences."""
    texts = [sentence.format(name) for name in names for sentence in _SENTENCES]
    tables = engine.space.tables([Document(f"n{number}", text) for number, text in enumerate(texts)])
    found = np.zeros(len(texts))
    for proposed in engine.propose(tables).values():
        found += [max((candidate.score for candidate in of_note), default=0.0) for of_note in proposed]
    found += [max((d.probability for d in of_note), default=0.0) for of_note in engine.decide_on(tables)]
    summed: Floats = found.reshape(len(names), len(_SENTENCES)).sum(axis=1)
    return summed


def _times(engine: Engine, names: Sequence[str], repetitions: int = 5) -> Floats:
    """The least time for each name, in seconds per token."""
    return np.array([min(_seconds(engine, name) for _ in range(repetitions)) / len(name.split()) for name in names])


def _seconds(engine: Engine, name: str) -> float:
    begin = perf_counter()
    list(engine.annotate([Document("n", name)]))
    return perf_counter() - begin


def _likelihoods(scores: Floats, inside: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Floats:
    """The log ratio of the likelihoods of each score with and without the name, by normal fits to the other engines."""
    ratios = np.zeros(scores.shape)
    for engine, name in np.ndindex(scores.shape):
        others = asked[:, name] & (np.arange(len(scores)) != engine)
        groups = [scores[others & (inside[:, name] == with_name), name] for with_name in (True, False)]
        if all(map(len, groups)):
            spread = max(float(np.std(np.concatenate([group - group.mean() for group in groups]))), _LEAST_SPREAD)
            far = [(scores[engine, name] - group.mean()) / spread for group in groups]
            ratios[engine, name] = (far[1] ** 2 - far[0] ** 2) / 2
    return ratios


def _auc(found: Floats, inside: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Measure:
    """The mean area under the ROC curve over engines, with its interval over names."""
    rng = np.random.default_rng(0)
    every = np.arange(found.shape[1])
    draws = [_mean_area(found, inside, asked, rng.choice(every, len(every))) for _ in range(_DRAWS)]
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return Measure(_mean_area(found, inside, asked, every), float(low), float(high))


def _mean_area(found: Floats, inside: NDArray[np.bool_], asked: NDArray[np.bool_], names: NDArray[np.int64]) -> float:
    areas = []
    for values, is_in, is_asked in zip(found[:, names], inside[:, names], asked[:, names], strict=True):
        positive, negative = values[is_asked & is_in], np.sort(values[is_asked & ~is_in])
        if len(positive) and len(negative):
            # The share of pairs in order, plus half of the ties (Mann and Whitney 1947).
            below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
            areas.append(below.sum() / 2 / len(positive) / len(negative))
    return float(np.mean(areas)) if areas else float("nan")


def _loss_table(corpus: Corpus, test: Corpus, both: Mapping[str, EngineSettings], jobs: int) -> Table:
    reports = {way: score_on(train(corpus, settings, jobs=jobs).engine, test) for way, settings in both.items()}
    rows: list[TableRow] = [
        [way, *(share(report.strict.f1) for report in found.values())] for way, found in reports.items()
    ]
    return Table(("engine", *next(iter(reports.values()))), [rows], "Strict F1 on the test part")


def _ablation_table(corpus: Corpus, test: Corpus, features: FeatureSettings, least: int) -> Table:
    rows: list[TableRow] = []
    for way, discretion in _measures(corpus, features.language, least):
        space = FeatureSpace(features)
        crf = CrfSubmodel().fit(space.fit(corpus.documents, discretion))
        tables = space.tables(test.documents)
        found = [chosen_spans(note, table.view) for note, table in zip(crf.propose(tables), tables, strict=True)]
        report = evaluate_systems(test, {"crf": test.with_spans(found)})["crf"]
        n_words = len(space.values("word"))
        rows.append([way, f"{n_words:,}", f"{crf.weights_.n_attributes:,}", share(report.strict.f1)])
    return Table(("measure", "words", "attributes", "F1"), [rows], "The CRF alone")


def _measures(corpus: Corpus, language: str, least: int) -> Iterator[tuple[str, Discretion | None]]:
    """Each privacy measure by itself, and all together."""
    everything: Callable[[str], bool] = lambda word: True  # noqa: E731
    is_public = public_words(language)
    yield "none", None
    yield "no words of identifiers", Discretion.of(corpus.documents, 1, is_public)
    yield f"what {least} patients share", Discretion.of(corpus.documents, least, everything)
    for n in sorted({2, least, 2 * least}):
        yield f"both, {n} patients", Discretion.of(corpus.documents, n, is_public)


if __name__ == "__main__":
    run_main(main)
