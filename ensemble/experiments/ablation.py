"""What every part brings: the engine with parts left out, scored and compared with the whole.

    out/results.json     every figure, the settings and the protocol
    out/table.tex        for a paper (booktabs)
    out/choosers.tex     the stack beside other ways to choose from the same candidates
    out/chart.png, .svg  bars with intervals
    out/cases.json, .txt where the stack is right and a submodel wrong, by id and offsets

Tables 4, 5 and 6 of Zhao 2020 for any corpus. Submodels propose once; leaving one out refits the stacker only. Leaving
out a feature group trains all submodels again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.figures import fold_table
from phistack.ensemble.evaluation.intervals import RESAMPLES
from phistack.ensemble.evaluation.tables import Cell, Table, escaped, points, share, strong
from phistack.ensemble.experiments.cases import Place, cases_as_text, patterns, places_of, saved_by_the_stack
from phistack.ensemble.experiments.chooser_scores import ChooserRow, chooser_table, share_of_the_way
from phistack.ensemble.experiments.parts import STACK, Answers, alone_answers, stack_answers, systems_of
from phistack.ensemble.experiments.pictures import ablation_chart
from phistack.ensemble.experiments.results import BOOTSTRAP, CorpusFacts, Origin
from phistack.ensemble.experiments.training_choosers import choosers_of
from phistack.ensemble.experiments.variants import ALONE, Variant, VariantRow, variants_of
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.svm import KERNELS
from phistack.ensemble.tools.processes import in_processes
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.proposals import Proposed, propose
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.writing import write_json

SCHEMA = "phistack.ablation.v1"
_STACKING = 0.2
"""What the stackers of all variants take, in relation to a training of all submodels."""

_OUT_OF_FOLD = (
    "Trained and scored on the same corpus, out of fold by {unsplit}, {folds} folds, seed {seed}: no submodel proposed "
    "for one that it was trained on, nor did a stacker decide on one. A stack's kernel and threshold were chosen "
    "on the very notes on which it is scored, so the scores of stacks are slightly too good."
)
_ON_TEST = (
    "Trained on one corpus and scored on another, which nothing was chosen on; the stackers learned from candidates "
    "that were proposed out of fold by {unsplit}, {folds} folds, seed {seed}."
)


@dataclass(frozen=True, slots=True)
class Ablation:
    """All variants, scored.

    :param training: what they were trained on.
    :param test: what they were scored on; none if that was the training corpus, out of fold.
    :param rows: in the order of the table.
    :param choosers: the stack beside other ways to choose from the same candidates.
    :param places: what the submodels alone and the stack said, place by place.
    :param kernel_settings: how many were tried for each stack.
    :param shuffles: of the paired randomisation.
    """

    origin: Origin
    training: CorpusFacts
    test: CorpusFacts | None
    rows: tuple[VariantRow, ...]
    choosers: tuple[ChooserRow, ...]
    places: tuple[Place, ...]
    kernel_settings: int
    shuffles: int

    @property
    def caption(self) -> str:
        """What the table for LaTeX shows."""
        where = f"on {self.test.documents} other notes" if self.test else "out of fold"
        return (
            f"Criterion: {self.origin.criterion}. Trained on {self.training.documents} notes, scored {where}. "
            f"In brackets {BOOTSTRAP}; $p$ of paired approximate randomisation by document with {self.shuffles} "
            f"shuffles, after Holm's correction. Differences are to the full stack, in points of F1; "
            f"{len(self.rows)} variants were tried."
        )

    def table(self) -> Table:
        """Every variant by sections: scores with intervals, the difference to the stack and its corrected p-value."""
        sections = [list(map(_cells, rows)) for _, rows in groupby(self.rows, key=lambda row: row.variant.part)]
        columns = ("system", "precision", "recall", "F1", "difference", Cell("p (Holm)", "$p$"))
        return Table(columns, sections, self.origin.title("ablation, 95 % intervals"), is_wide=True)

    def chooser_table(self) -> Table:
        """The stack beside other ways to choose from the same candidates."""
        return chooser_table(self.choosers, self.origin.title("choosers, 95 % intervals"))

    def fold_table(self) -> Table | None:
        """The means over the folds; none where other notes were scored."""
        means = {row.variant.name: row.of_folds for row in self.rows if row.of_folds}
        return fold_table("mean over the folds, standard deviation in brackets", means) if means else None

    def draw(self, folder: Path) -> None:
        """The chart, the table of the choosers, and the cases where the stack is right and a submodel wrong."""
        ablation_chart(self.origin.title("Ablation"), self.rows, folder)
        choosers = self.chooser_table()
        caption = escaped(f"{choosers.title}. {choosers.note}")
        (folder / "choosers.tex").write_text(choosers.latex(self.origin.comment, caption), encoding="utf-8")
        cases = {
            "schema": "phistack.cases.v1",
            "date": self.origin.date,
            "settings hash": self.origin.settings.digest if self.origin.settings else None,
            "right together": [{"right": right, "places": count} for right, count in patterns(self.places)],
            "cases": [place.to_dict() for place in saved_by_the_stack(self.places)],
        }
        write_json(folder / "cases.json", cases)
        systems = [row.variant.name for row in self.rows if row.variant.part in (ALONE, STACK)]
        (folder / "cases.txt").write_text(cases_as_text(self.places, systems), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Everything but the places, as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "training": self.training.to_dict(),
            "test": self.test.to_dict() if self.test else None,
            "variants tried": len(self.rows),
            "kernel settings tried for each stack": self.kernel_settings,
            "bootstrap resamples": RESAMPLES,
            "shuffles": self.shuffles,
            "reference": STACK,
            "rows": [row.to_dict() for row in self.rows],
            "choosers": [row.to_dict() for row in self.choosers],
            "share of the way from best member to perfect chooser": share_of_the_way(self.choosers),
            "places": len(self.places),
            "places where the stack is right and a submodel wrong": len(saved_by_the_stack(self.places)),
        }


def _cells(row: VariantRow) -> Sequence[str | Cell]:
    name = row.variant.name
    compared = (points(row.difference.gap), f"{row.difference.p_holm:.4f}") if row.difference else ("", "")
    return (strong(name) if name == STACK else name, *map(share, row.score.measures.values()), *compared)


def ablate(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    test: Corpus | None = None,
    groups: bool = False,
    criterion: str = "strict",
    shuffles: int = 9999,
    jobs: int = 1,
    cache: Path | None = None,
) -> Ablation:
    """Train what is needed, score every variant and compare it with the whole stack.

    :param corpus: annotated notes to train on and, without `test`, to score on out of fold.
    :param test: other annotated notes to score on.
    :param groups: whether feature groups are left out too, each of which trains all submodels again.
    :param shuffles: of the paired randomisation.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises TrainingError: if nothing can be learned from the corpus.
    """
    rule = criterion_named(criterion)
    corpus = settings.grouped(corpus)
    variants = variants_of(settings, groups=groups)
    n_trainings = len({variant.without for variant in variants})
    with stage("ablation", total=n_trainings + _STACKING * n_trainings):
        proposed = _proposed(variants, corpus, settings, test, jobs, cache)
        answers = _answers(variants, proposed, settings, jobs, weight=_STACKING * n_trainings)
    gold = corpus if test is None else test
    systems = systems_of(gold, answers, corpus.label_set, rule, seed=settings.seed)
    pairs = [(name, STACK) for name in answers if name != STACK]
    gaps = systems.differences(pairs, ["f1"], shuffles=shuffles)
    protocol = (_OUT_OF_FOLD if test is None else _ON_TEST).format(
        unsplit=settings.unsplit, folds=settings.folds, seed=settings.seed
    )
    folds = at_most_folds(corpus.documents, n_folds=settings.folds, seed=settings.seed) if test is None else []
    rows = [VariantRow(v, systems.scores[v.name], gaps.get((v.name, STACK, "f1"))) for v in variants]
    return Ablation(
        origin=Origin(SCHEMA, rule.name, protocol, settings),
        training=CorpusFacts.of(corpus),
        test=None if test is None else CorpusFacts.of(test),
        rows=tuple(replace(row, of_folds=row.score.over_folds(folds)) if folds else row for row in rows),
        choosers=choosers_of(
            proposed[settings.features.without],
            corpus,
            gold,
            answers[STACK],
            rule,
            shuffles=shuffles,
            seed=settings.seed,
        ),
        places=tuple(places_of(gold.documents, {name: answers[name] for name in (*settings.submodels, STACK)})),
        kernel_settings=len(KERNELS[settings.stacker.kernel]),
        shuffles=shuffles,
    )


def _proposed(
    variants: list[Variant],
    corpus: Corpus,
    settings: EngineSettings,
    test: Corpus | None,
    jobs: int,
    cache: Path | None,
) -> dict[tuple[str, ...], Proposed]:
    """The submodels' candidates, for each choice of feature groups."""
    unseen = () if test is None else test.documents
    proposed: dict[tuple[str, ...], Proposed] = {}
    choices = list(dict.fromkeys(variant.without for variant in variants))
    for number, without in enumerate(choices, 1):
        fewer = replace(settings, features=replace(settings.features, without=without))
        with stage(f"round {number} of {len(choices)}", total=1.0):
            proposed[without] = propose(corpus, fewer, unseen=unseen, jobs=jobs, cache=cache)
    return proposed


def _answers(
    variants: list[Variant],
    proposed: Mapping[tuple[str, ...], Proposed],
    settings: EngineSettings,
    jobs: int,
    *,
    weight: float,
) -> dict[str, Answers]:
    """What each variant marks; the stackers are fitted in parallel processes."""
    stacks = [variant for variant in variants if variant.stacker_features]
    work = (
        partial(
            stack_answers,
            proposed[variant.without],
            variant.submodels,
            replace(settings.stacker, features=variant.stacker_features),
            seed=settings.seed,
        )
        for variant in stacks
    )
    answers: dict[str, Answers] = {
        variant.name: alone_answers(proposed[variant.without], variant.name)
        for variant in variants
        if not variant.stacker_features
    }
    with progress("stacking", total=len(stacks), weight=weight) as advance:
        for variant, spans in zip(stacks, in_processes(work, jobs=jobs, in_order=True), strict=True):
            answers[variant.name] = spans
            advance(variant.name)
    return {variant.name: answers[variant.name] for variant in variants}
