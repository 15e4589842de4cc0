"""How many damaged labels `check-labels` finds, and how early in its list.

    python -m benchmarks.label_errors ../shared/corpora/meddocan/train --notes 250 --folds 4
    python -m benchmarks.label_errors invented --notes 200 --picture docs

Two percent of the labels are damaged, a third of them in each way: the span is dropped, begins or ends a token off, or
has the label of another span. The table shows what share of the damage the first places of the list overlap; their
number is given as a share of all PHI, and the interval is Wilson's. Most other listed places are errors of the corpus
itself or of the stack.

Beside it are the token scores of cleanlab (Northcutt et al. 2021; `pip install cleanlab`), from the probabilities of
the same stack: the tokens with the lowest scores, where tokens of one place count once. A picture shows both curves.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.running import run_main
from benchmarks.stacking_cases import settings_for
from phistack.ensemble.evaluation.resampling import wilson
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, strong
from phistack.ensemble.experiments.label_doubts import doubts
from phistack.ensemble.experiments.parts import stack_decisions
from phistack.ensemble.experiments.pictures import BLUE, GREY, picture
from phistack.ensemble.stacking.candidates import Decided, Decision
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.training.trainer import propose
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import read_corpus
from phistack.features.ranges import overlapping_groups
from phistack.features.tokens import Tokeniser

DAMAGE = ("dropped", "moved", "changed")
"""How labels are damaged, in turn: the span is removed, begins or ends a token off, or gets another span's label."""

_SHARE, _SEED = 0.02, 500
_READ = (0.01, 0.02, 0.03, 0.05, 0.10)
_ASKED = 0.05
"""The share of the list at which the share of found damage is reported."""
OURS, ORACLE = "check-labels", "cleanlab"

Place = tuple[str, int, int]
"""Document, start and end."""


class Damaged(NamedTuple):
    """A gold span that was damaged."""

    kind: str
    document: str
    span: Span


def damaged(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, list[Damaged]]:
    """The corpus with a share of its labels damaged, and which ones."""
    rng = random.Random(f"label errors/{seed}")
    every = [(i, span) for i, note in enumerate(corpus.documents) for span in sorted({*note.spans})]
    labels = [span.label for _, span in every]
    spans = [{*note.spans} for note in corpus.documents]
    done: list[Damaged] = []
    for i, span in rng.sample(every, len(every)):
        if len(done) == round(share * len(every)):
            break
        note, kind = corpus.documents[i], DAMAGE[len(done) % len(DAMAGE)]
        new = _damaged(note, span, kind, labels, rng)
        others = spans[i] - {span}
        if new != span and not (new and any(map(new.overlaps, others))):
            spans[i] = others | ({new} if new else set())
            done.append(Damaged(kind, note.id, span))
    return corpus.with_spans([*map(sorted, spans)]), done


def _damaged(note: Document, span: Span, kind: str, labels: Sequence[str], rng: random.Random) -> Span | None:
    if kind == "dropped":
        return None
    if kind == "changed":
        return replace(span, label=rng.choice([label for label in labels if label != span.label]))
    return _moved(note, span, rng)


def _moved(note: Document, span: Span, rng: random.Random) -> Span:
    """The span with its start or end moved by a token; unchanged if the note has no such token."""
    starts, ends = (offsets.tolist() for offsets in Tokeniser("liu")(note.text))
    out = [(s, span.end) for s in starts if s < span.start][-1:] + [(span.start, e) for e in ends if e > span.end][:1]
    within = [(s, span.end) for s in starts if span.start < s < span.end][:1]
    within += [(span.start, e) for e in ends if span.start < e < span.end][-1:]
    start, end = rng.choice(out + within or [(span.start, span.end)])
    return replace(span, start=start, end=end)


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="annotated notes, or `invented`")
    parser.add_argument("--notes", type=int, default=200, help="the first of them, or how many are invented")
    parser.add_argument("--submodels", default="regex,tbed,crf")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0, help="of the damage")
    parser.add_argument("--picture", type=Path, help="a folder in which the picture is written")
    parser.add_argument("--cache", type=Path, help="where fold predictions are kept")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.corpus == "invented":
        notes = synthesize(arguments.notes, seed=_SEED)
    else:
        notes = read_corpus(Path(arguments.corpus), accept_unknown_labels=True)
        notes = replace(notes, documents=notes.documents[: arguments.notes])
    bad, done = damaged(notes, _SHARE, arguments.seed)
    settings = settings_for(bad, comma_list(arguments.submodels), arguments.folds)
    proposed = propose(bad, settings, jobs=arguments.jobs, cache=arguments.cache)
    decided = stack_decisions(proposed, tuple(settings.submodels), Stacker(settings.stacker), seed=settings.seed)
    lists = {OURS: [(row.document, *row.place) for row in doubts(bad.documents, decided)]}
    if find_spec("cleanlab"):
        lists[ORACLE] = by_cleanlab(bad, decided)
    else:
        print("label_errors: cleanlab is not installed, so it is left out", file=sys.stderr)
    n_phi = sum(len(note.spans) for note in notes.documents)
    ranks = {name: ranks_of(done, places) for name, places in lists.items()}
    title = f"{arguments.corpus}, {len(notes)} notes with {n_phi} PHI, {arguments.submodels}"
    Console(width=140).print(table_of(done, ranks, n_phi, title))
    if arguments.picture:
        draw(arguments.picture, ranks, n_phi, title)


def ranks_of(done: Sequence[Damaged], places: Sequence[Place]) -> list[float]:
    """For each damaged span the number of places before the first that overlaps it; infinite if none does."""
    at: dict[str, list[tuple[int, int, int]]] = {}
    for rank, (document, start, end) in enumerate(places):
        at.setdefault(document, []).append((rank, start, end))
    return [
        next((rank for rank, a, b in at.get(document, ()) if a < span.end and span.start < b), float("inf"))
        for _, document, span in done
    ]


def table_of(done: Sequence[Damaged], ranks: dict[str, list[float]], n_phi: int, title: str) -> Table:
    """A row for each list and kind of damage: what share of it is found in how much of the list."""
    rows: list[TableRow] = []
    for name, of_list in ranks.items():
        for kind in (*DAMAGE, "all"):
            own = [rank for one, rank in zip(done, of_list, strict=True) if kind in (one.kind, "all")]
            found = [sum(rank < round(share * n_phi) for rank in own) for share in _READ]
            low, high = wilson(found[_READ.index(_ASKED)], len(own))[1:]
            shares = [percent(n / max(len(own), 1)) for n in found]
            rows.append(
                (strong(name) if kind == "all" else name, kind, str(len(own)), *shares, f"{low:.1%}-{high:.1%}")
            )
    columns = ("list", "damage", "labels", *(f"first {share:.0%}" for share in _READ), f"interval of {_ASKED:.0%}")
    return Table(columns, [rows], title, "Shares of the damage that is found, in percent.", n_texts=2)


def draw(folder: Path, ranks: dict[str, list[float]], n_phi: int, title: str) -> None:
    """Write `label_errors.svg`: the share that is found by the share of the list that is read."""
    with tempfile.TemporaryDirectory() as made:
        with picture(Path(made), "label_errors", title, size=(6.5, 3.2)) as figure:
            axes = figure.subplots()
            for name, line in ((OURS, (BLUE, "-")), (ORACLE, (GREY, "--"))):
                if name in ranks:
                    read = np.linspace(0, 0.15, 151)
                    found = [np.mean([rank < share * n_phi for rank in ranks[name]]) for share in read]
                    axes.plot(100 * read, 100 * np.array(found), line[1], color=line[0], label=name)
            axes.set_xlabel("places read, in percent of the PHI")
            axes.set_ylabel("damage found, in percent")
            axes.set_ylim(0, 102)
            axes.legend(frameon=False)
        (folder / "label_errors.svg").write_bytes((Path(made) / "label_errors.svg").read_bytes())


def by_cleanlab(corpus: Corpus, decided: Decided) -> list[Place]:
    """The places of the tokens with the lowest scores of cleanlab, each place once."""
    from cleanlab.token_classification.rank import get_label_quality_scores

    labels = ["", *sorted({span.label for note in corpus.documents for span in note.spans})]
    number = {label: i for i, label in enumerate(labels)}
    tokens, given, probabilities = [], [], []
    for note, decisions in zip(corpus.documents, decided, strict=True):
        starts, ends = Tokeniser("liu")(note.text)
        gold, likely = np.zeros(len(starts), dtype=int), np.zeros((len(starts), len(labels)))
        for span in note.spans:
            gold[_within(starts, ends, span)] = number[span.label]
        for decision in decisions:
            if decision.span.label in number:
                of_label = likely[_within(starts, ends, decision.span), number[decision.span.label]]
                likely[_within(starts, ends, decision.span), number[decision.span.label]] = np.maximum(
                    of_label, decision.probability
                )
        likely[:, 0] = np.maximum(1 - likely.sum(axis=1), 1e-6)
        tokens.append(list(zip(starts.tolist(), ends.tolist(), strict=True)))
        given.append(gold.tolist())
        probabilities.append(likely / likely.sum(axis=1, keepdims=True))
    _, scores = get_label_quality_scores(given, probabilities)
    every = [(score, i, at) for i, of_note in enumerate(scores) for at, score in enumerate(of_note)]
    places = [_places(note, decisions) for note, decisions in zip(corpus.documents, decided, strict=True)]
    found = ((corpus.documents[i].id, *_place_of(places[i], tokens[i][at])) for _, i, at in sorted(every))
    return list(dict.fromkeys(found))


def _within(starts: Any, ends: Any, span: Span) -> slice:
    return slice(int(ends.searchsorted(span.start, side="right")), int(starts.searchsorted(span.end)))


def _places(note: Document, decisions: Sequence[Decision]) -> list[tuple[int, int]]:
    marked = {*note.spans, *(decision.span for decision in decisions if decision.accepted)}
    return [(group[0].start, max(span.end for span in group)) for group in overlapping_groups(marked)]


def _place_of(places: Sequence[tuple[int, int]], token: tuple[int, int]) -> tuple[int, int]:
    return next((place for place in places if place[0] < token[1] and token[0] < place[1]), token)


if __name__ == "__main__":
    run_main(main)
