"""Simulated rounds of a review: how many notes and decisions it takes until an engine knows a new style.

    python -m benchmarks.review english --seeds 5                   each training: up to a minute of processor time
    python -m benchmarks.review english --met       how soon which share of the engine's errors is met, by order
    python -m benchmarks.review --page 30           how long the page takes to open, and to act on a key

Each seed is another hospital with notes that nothing was trained on (`benchmarks.hospital_notes`): ten kinds, with
`--forms` forms of each. In each round the next notes in the order are judged as in the gold standard. An engine is
trained on all notes judged so far, with the shipped engine as a further submodel; then it orders the rest. F1 is
strict, on other notes, which are the same in all rounds. A decision is a span that is removed or added where a
suggestion is wrong; finishing a note counts as one more. Seconds of work: reading at 4 words a second, and 4 seconds
for each decision.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.hospital_notes.notes import corpus_of, invented
from benchmarks.pages import browser, served
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import evaluate
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.review.decisions import Decisions, Scheme, Suggestion
from phistack.ensemble.review.order import ORDERS, Outlook, in_order
from phistack.ensemble.review.retraining import outlooks
from phistack.ensemble.review.session import Session
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Document
from phistack.features.labels import LabelSet

_WORDS_A_SECOND, _SECONDS_A_DECISION = 4, 4
_SUBMODELS = ("regex", "crf")


class Point(NamedTuple):
    """The state after a round: notes and decisions so far, seconds of work, and strict F1 in percent."""

    notes: int
    decisions: int
    seconds: float
    f1: float


def hospital(language: str, n_notes: int, n_scored: int, *, forms: int, seed: int) -> tuple[Corpus, Corpus]:
    """The notes of a hospital: those to review, and those to score on."""
    notes = invented(language, n_notes + n_scored, seed=seed, templates_a_kind=forms)
    corpus = corpus_of(random.Random(seed).sample(notes, len(notes)), language)
    first, rest = corpus.documents[:n_notes], corpus.documents[n_notes:]
    return replace(corpus, documents=first), replace(corpus, documents=rest)


def score(engine: Engine, scored: Corpus) -> float:
    """Strict F1 in percent."""
    found = scored.with_spans([note.spans for note in engine.annotate(scored.documents)])
    return 100 * evaluate(scored, found).strict.f1.value


def rounds(
    engine: Engine, settings: EngineSettings, pool: Corpus, scored: Corpus, *, order: str, sizes: Sequence[int],
    first: Sequence[Outlook], seed: int,
) -> Iterator[Point]:  # fmt: skip
    """A review in one order.

    :param sizes: how many notes are judged after each round.
    :param first: what the engine says of the pool.
    """
    judged: list[int] = []
    decisions, seconds, said = 0, 0.0, first
    for size in sizes:
        rest = [place for place in range(len(pool)) if place not in judged]
        best = in_order([said[place] for place in rest], order, seed=seed)
        chosen = [rest[rank] for rank in best[: size - len(judged)]]
        for place in chosen:
            note = pool.documents[place]
            made = len({*note.spans} ^ {s.span for s in said[place].suggestions}) + 1
            decisions += made
            seconds += len(note.text.split()) / _WORDS_A_SECOND + made * _SECONDS_A_DECISION
        judged += chosen
        known = replace(pool, documents=tuple(pool.documents[place] for place in judged))
        again = train(known, replace(settings, seed=seed)).engine
        yield Point(len(judged), decisions, seconds, score(again, scored))
        if size != sizes[-1]:
            said = outlooks(again, pool.documents)


def curve(found: Mapping[str, Sequence[Sequence[Point]]], until: float) -> Table:
    """The mean of the reviews in each order, after each round.

    :param found: order -> the rounds of each review.
    :param until: the F1 in percent that a review should reach.
    """
    blocks = []
    for order, reviews in found.items():
        rows = []
        for round in zip(*reviews, strict=True):
            f1 = [point.f1 for point in round]
            means = [float(np.mean([point[column] for point in round])) for column in range(len(Point._fields))]
            score = f"{means[3]:.1f} ({min(f1):.1f}-{max(f1):.1f})"
            n_reached = f"{sum(value >= until for value in f1)} of {len(f1)}"
            rows.append((order, *(f"{mean:.0f}" for mean in (*means[:2], means[2] / 60)), score, n_reached))
        blocks.append(rows)
    columns = ("order", "notes", "decisions", "minutes", "F1 (lowest-highest)", f"at F1 {until:g}")
    return Table(columns, blocks, "reading and deciding until an engine knows the style")


def errors_met(pool: Corpus, first: Sequence[Outlook], shares: Sequence[float], seeds: int = 20) -> Table:
    """What share of the engine's wrong spans a person meets within a share of the words, by order; without training.

    :param first: what the engine says of the pool.
    """
    wrong = [len({*n.spans} ^ {s.span for s in o.suggestions}) for n, o in zip(pool.documents, first, strict=True)]
    words = [len(note.text.split()) for note in pool.documents]
    rows = []
    for order in ORDERS:
        met = []
        for seed in range(seeds):
            ranked = in_order(first, order, seed=seed)
            read, found = np.cumsum([words[n] for n in ranked]), np.cumsum([wrong[n] for n in ranked])
            met.append(np.interp([share * sum(words) for share in shares], read, found / sum(wrong)))
        rows.append((order, *(f"{100 * share:.0f} %" for share in np.mean(met, axis=0))))
    columns = ("order", *(f"{share:.0%} of the words" for share in shares))
    return Table(
        columns, [rows], f"share of the {sum(wrong)} wrong spans of {len(pool)} notes that are met after reading"
    )


_KEY = """key => {
    document.getElementById("text").dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    document.getElementById("text").getBoundingClientRect();
}"""


def page_times(kilobytes: int) -> str:
    """How long the page takes to open with a note of that size, to act on a key, and to lay the note out again."""
    text = "Seen by Dr. Anne Hunt at Elm Hospital on 3 March 2021 for a cough; she went home.\n"
    text *= 1 + 1000 * kilobytes // len(text)
    spans = [Suggestion(m.start(), m.end(), "DOCTOR", 0.9) for m in re.finditer("Anne Hunt", text)]
    scheme = Scheme.of(LabelSet.named("i2b2-2014"))
    with tempfile.TemporaryDirectory() as folder, Decisions(Path(folder) / "review", scheme) as decisions:
        session = Session([Document("note", text)], decisions, [Outlook(tuple(spans))], "")
        with served(session) as port, browser() as chromium:
            page = chromium.new_page()
            page.set_default_timeout(600_000)
            of_page = page.context.new_cdp_session(page)
            # Processor time of the page's main thread, which other programs do not affect.
            of_page.send("Performance.enable", {"timeDomain": "threadTicks"})

            def spent() -> float:
                found = of_page.send("Performance.getMetrics")["metrics"]
                return next(float(metric["value"]) for metric in found if metric["name"] == "TaskDuration")

            page.goto(f"http://127.0.0.1:{port}/#token")
            page.locator("mark").first.wait_for(state="attached")
            opened, times = spent(), []
            for key in ["Enter", "n", "x", "ArrowRight", "4", "u", "r", "j", "e"] * 4:
                before = spent()
                page.evaluate(_KEY, key)
                times.append(1000 * (spent() - before))
    times.sort()
    median, worst = times[len(times) // 2], times[-1]
    figures = f"opened in {opened:.2f} s, a key in {median:.0f} ms, at most {worst:.0f} ms"
    return f"{kilobytes} kB with {len(spans)} spans: {figures} of processor time"


def main() -> None:
    """Print the curves, or with `--page` the times of the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("engine", nargs="?", default="english")
    asked.add_argument("--notes", type=int, default=160)
    asked.add_argument("--scored", type=int, default=80)
    asked.add_argument("--forms", type=int, default=2, help="forms of notes that a hospital has of each of ten kinds")
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--sizes", type=int, nargs="+", default=[40, 80, 160])
    asked.add_argument("--orders", nargs="+", choices=ORDERS, default=ORDERS)
    asked.add_argument("--until", type=float, default=95.0)
    asked.add_argument("--page", type=int, nargs="*", metavar="KILOBYTES", help="time the page with such notes instead")
    asked.add_argument("--met", action="store_true", help="only how soon the engine's errors are met, without training")
    given = asked.parse_args()
    if given.page is not None:
        for kilobytes in given.page or (30, 300):
            print(page_times(kilobytes))
        return
    engine = load_bundle(bundle_path(given.engine))
    submodels = {**{name: {} for name in _SUBMODELS}, "engine": {"kind": "engine", "bundle": given.engine}}
    settings = EngineSettings(FeatureSettings(language=engine.language), submodels, folds=3)
    found: dict[str, list[list[Point]]] = {order: [] for order in given.orders}
    for seed in range(given.seeds):
        pool, scored = hospital(engine.language, given.notes, given.scored, forms=given.forms, seed=seed)
        first = outlooks(engine, pool.documents)
        if given.met:
            Console(width=140).print(errors_met(pool, first, (0.1, 0.2, 0.3, 0.5)))
            continue
        print(f"{given.engine}, hospital {seed}: F1 {score(engine, scored):.1f} before", flush=True)
        for order in given.orders:
            points = []
            for point in rounds(engine, settings, pool, scored, order=order, sizes=given.sizes, first=first, seed=seed):
                points.append(point)
                print(order, seed, *(f"{value:.1f}" for value in point), flush=True)
            found[order].append(points)
    if not given.met:
        Console(width=140).print(curve(found, given.until))


if __name__ == "__main__":
    run_main(main)
