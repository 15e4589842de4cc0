"""Learning curves of a hospital that annotates its own notes: what a shipped engine adds to them.

    python -m benchmarks.own_notes english --corpora ../shared/corpora --on hospital presidio asq invented

Four ways to use 10 to 160 own notes, scored on the same notes of other patients: the engine as it ships; a stack of
regex, TBED and CRF trained on the own notes; what either of these accepts; and the same stack with the engine as a
further submodel (`train --with`). A gold span is touched if any marked span shares a character with it; a marked span
is right if it touches a gold span. Strict F1 needs the right offsets and label, for the engine alone a label of the
same kind of PHI. Figures are means over seeds, which draw notes and patients, with the half width of the 95 % interval
(Student's t). `hospital` are notes of one hospital, of three forms each of ten kinds that the English engine never saw.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from scipy.stats import t

from benchmarks.hospital_notes.notes import corpus_of, invented
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification.kinds import label_like
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.measures import reach_of
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.parts import stack_answers
from phistack.ensemble.stacking.folds import grouped_by
from phistack.ensemble.stacking.stacker import Stacker, StackerSettings
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Span
from phistack.features.formats import read_corpus
from phistack.features.ranges import ranges_of, touching

_MEMBERS = ("regex", "tbed", "crf")
_FOLDS = 5
_ALONE, _OWN, _UNION, _WITH = "engine alone", "own stack", "their union", "stack with the engine"
WAYS = (_ALONE, _OWN, _UNION, _WITH)
_HOMES = {
    "presidio": ("presidio-synth-v2", r"_t(\d+)$"),
    "asq": ("asq-phi-dev", ""),
    "court": ("court-en/train", ""),
}
_SEED_OF_INVENTED = 8_101
_FORMS = 3

Answer = Sequence[Sequence[Span]]


class Scores(NamedTuple):
    """In percent."""

    touched: float
    right: float
    strict: float


def notes_of(name: str, folder: Path, most: int) -> Corpus:
    """The annotated notes of a corpus by name.

    :param most: how many notes to invent.
    """
    if name == "hospital":
        return corpus_of(invented("en", most, templates_a_kind=_FORMS), "en")
    if name == "invented":
        return synthesize(most, seed=_SEED_OF_INVENTED, registers="all", lexicon="test")
    home, group_by = _HOMES[name]
    return grouped_by(read_corpus(folder / home, accept_unknown_labels=True), group_by)


def samples(corpus: Corpus, sizes: Sequence[int], n_scored: int, seed: int) -> tuple[list[Corpus], Corpus]:
    """Samples of own notes, each contained in the next, and the notes to score, of other patients."""
    units = {document.unsplit: None for document in corpus.documents}
    order = [[*units][i] for i in np.random.default_rng(seed).permutation(len(units))]
    held_out: set[str] = set()
    n_held = 0
    for unit in order:
        if n_held >= min(n_scored, len(corpus) // 2):
            break
        held_out.add(unit)
        n_held += sum(document.unsplit == unit for document in corpus.documents)
    rest = [d for d in corpus.documents if d.unsplit not in held_out]
    shuffled = [rest[i] for i in np.random.default_rng(seed + 1).permutation(len(rest))]
    scored = tuple(d for d in corpus.documents if d.unsplit in held_out)[:n_scored]
    return [replace(corpus, documents=tuple(shuffled[:n])) for n in sizes if n <= len(rest)], replace(
        corpus, documents=scored
    )


def alone(engine: Engine, scored: Corpus) -> Answer:
    """What the engine accepts, under the labels of the notes."""
    ours = scored.label_set
    found = engine.annotate(scored.documents)
    return [[replace(s, label=label_like(s.label, engine.label_set, ours)) for s in d.spans] for d in found]


def union(first: Answer, second: Answer) -> Answer:
    """All spans of the first answer, and those of the second that touch none of them."""
    both = []
    for ours, theirs in zip(first, second, strict=True):
        is_ours = touching(ranges_of(ours))
        both.append([*ours, *(s for s in theirs if not is_ours(s.start, s.end))])
    return both


def scores(scored: Corpus, answer: Answer) -> Scores:
    """The scores of an answer on notes with gold spans."""
    reach = reach_of(scored.documents, answer)
    gold = [set(d.spans) for d in scored.documents]
    right = sum(len(g & {*a}) for g, a in zip(gold, answer, strict=True))
    n = sum(map(len, gold)) + sum(len({*a}) for a in answer)
    return Scores(100 * reach.reach, 100 * reach.precision, 200 * right / n if n else 0.0)


def curve(
    name: str,
    corpus: Corpus,
    sizes: Sequence[int],
    seeds: int,
    *,
    n_scored: int,
    jobs: int,
    cache: Path | None,
    beta: float,
) -> Iterator[tuple[int, Mapping[str, list[Scores]]]]:
    """For each number of own notes the scores of all ways, one for each seed."""
    engine = load_bundle(bundle_path(name))
    member = "engine-" + Path(name).stem
    submodels = {**{own: {} for own in _MEMBERS}, member: {"kind": "engine", "bundle": name}}
    language = FeatureSettings(language=engine.language)
    stacking = StackerSettings(beta=beta)
    drawn = [samples(corpus, sizes, n_scored, seed) for seed in range(seeds)]
    shipped = [alone(engine, scored) for _, scored in drawn]
    for place, size in enumerate(sizes):
        found: dict[str, list[Scores]] = {way: [] for way in WAYS}
        for seed, (own, scored) in enumerate(drawn):
            if place >= len(own):
                continue
            settings = EngineSettings(language, submodels, stacking, folds=_FOLDS, seed=seed)
            proposed = propose(own[place], settings, unseen=scored.documents, jobs=jobs, cache=cache)
            ours = stack_answers(proposed, _MEMBERS, Stacker(stacking), seed=seed)
            both = stack_answers(proposed, tuple(submodels), Stacker(stacking), seed=seed)
            answers = (shipped[seed], ours, union(ours, shipped[seed]), both)
            for way, answer in zip(WAYS, answers, strict=True):
                found[way].append(scores(scored, answer))
        yield size, found


def _cell(values: Sequence[float]) -> str:
    n = len(values)
    half = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5 if n > 1 else 0.0
    return f"{np.mean(values):.1f} ± {half:.1f}"


def main() -> None:
    """Parse the arguments and print a table for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="its name or its bundle")
    parser.add_argument("--corpora", type=Path, default=Path("../shared/corpora"))
    parser.add_argument("--on", nargs="+", choices=[*_HOMES, "hospital", "invented"], default=["hospital", "presidio"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 20, 40, 80, 160])
    parser.add_argument("--scored", type=int, default=200, help="the most notes to score")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--beta", type=float, default=2.0, help="of the stacks' thresholds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    for name in given.on:
        corpus = notes_of(name, given.corpora, max(given.sizes) + 2 * given.scored + 40)
        points = curve(
            given.engine, corpus, given.sizes, given.seeds,
            n_scored=given.scored, jobs=given.jobs, cache=given.cache, beta=given.beta,
        )  # fmt: skip
        rows = [
            (str(size), way, *(_cell([getattr(s, figure) for s in of_way]) for figure in Scores._fields))
            for size, found in points
            for way, of_way in found.items()
            if of_way
        ]
        title = f"{name}: {given.engine} and own notes, {given.seeds} seeds, beta {given.beta:g}"
        Console(width=100).print(Table(("notes", "way", "touched", "right", "strict F1"), [rows], title, ""))


if __name__ == "__main__":
    run_main(main)
