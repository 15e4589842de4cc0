"""Ablation: the engine without some of its parts, scored and compared with the whole.

    out/table.tex          every variant; folds.tex and seeds.tex have means and deviations
    out/choosers.tex       the stack beside other ways to choose from the same candidates
    out/chart.png, ...     F1 with intervals, and differences to the stack
    out/cases.json, .txt   where the stack is right and a submodel wrong, by id and offsets

Tables 4, 5 and 6 of Zhao 2020 for any corpus. Submodels propose once: to leave one out, only the stacker is fitted
again; to leave out a feature group, all submodels are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation import Score, criterion_named
from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.systems import Difference, mean_figures, mean_table
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments import parts
from phistack.ensemble.experiments.cases import Place, cases_as_text, patterns, places_of, saved_by_the_stack
from phistack.ensemble.experiments.choosers import Choosers, choosers_of_proposed, difference_facts, stack_table
from phistack.ensemble.experiments.parts import ALONE, STACK, Answers, CorpusFacts, Origin, plain
from phistack.ensemble.experiments.pictures import ablation_chart
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.meta_features import FEATURE_SETS
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.svm import KERNELS
from phistack.ensemble.tools.processes import in_processes
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.documents import Corpus
from phistack.features.writing import write_json
from phistack.submodels.base import kind_of, submodel_class
from phistack.submodels.registry import usual_name


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build the engine.

    :param stacker_features: the stacker's feature set; empty for one submodel alone, without a stacker.
    """

    name: str
    part: str
    submodels: tuple[str, ...]
    stacker_features: str
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A variant, its score, F1 minus that of the stack, and means over folds or seeds if there are several."""

    variant: Variant
    score: Score
    difference: Difference | None
    of_folds: Macro | None = None
    of_seeds: Macro | None = None

    @property
    def name(self) -> str:
        return self.variant.name

    def to_dict(self) -> dict[str, Any]:
        means = {"mean of folds": self.of_folds, "mean of seeds": self.of_seeds}
        return {
            "name": self.name, "part": self.variant.part, "submodels": list(self.variant.submodels),
            "stacker features": self.variant.stacker_features or None,
            "feature groups left out": list(self.variant.without),
            **self.score.to_dict(),
            **{what: mean_figures(mean) for what, mean in means.items() if mean},
            **({"difference": difference_facts(self.difference)} if self.difference else {}),
        }  # fmt: skip


def variants_of(settings: EngineSettings, *, groups: bool) -> list[Variant]:
    """Every variant: each submodel alone, the stack, and the stack with one part left out or exchanged.

    TBED starts from the tags of its own patterns, so the stack is also tried without both the regex submodel and TBED;
    likewise for any other kind that contains another.

    :param groups: whether to leave out feature groups too, those that have columns under these settings.
    """
    names, features, without = tuple(settings.submodels), settings.stacker.features, settings.features.without
    left_out = [(name,) for name in names] + _held_within_others(settings)
    rows = [Variant(name, ALONE, (name,), "", without) for name in names]
    rows.append(Variant(STACK, STACK, names, features, without))
    for gone in left_out:
        if rest := tuple(name for name in names if name not in gone):
            rows.append(Variant(f"without {' and '.join(gone)}", "without a submodel", rest, features, without))
    rows += [
        Variant(f"stacker features {name}", "stacker features", names, name, without)
        for name in FEATURE_SETS
        if name != features
    ]
    for group in settings.features.groups if groups else ():
        fewer = replace(settings.features, without=(*without, group))
        if group not in without and fewer.columns != settings.features.columns:
            rows.append(Variant(f"without {group}", "without a feature group", names, features, fewer.without))
    return rows


def _held_within_others(settings: EngineSettings) -> list[tuple[str, ...]]:
    """Each submodel that others contain, together with those."""
    classes = {name: submodel_class(kind_of(name, given)) for name, given in settings.submodels.items()}
    holding = {name: found.holds(settings.submodels[name]) for name, found in classes.items()}
    groups = (
        (name, *(other for other in holding if other != name and usual_name(found.kind) in holding[other]))
        for name, found in classes.items()
    )
    return [group for group in groups if len(group) > 1]


SCHEMA = "phistack.ablation.v1"
_STACKING = 0.2
"""The time to fit the stackers of all variants, as a share of that to train all submodels."""
_OUT_OF_FOLD = (
    "Trained and scored on the same corpus, out of fold by {unsplit}, {folds} folds, seed {seed}: no submodel or "
    "stacker was scored on a {unsplit} that it was trained on. A stack's kernel and threshold were chosen on the notes "
    "on which it is scored, so the scores of stacks are slightly too good."
)
_ON_TEST = (
    "Trained on one corpus and scored on another, on which nothing was chosen; the stackers were trained on candidates "
    "proposed out of fold by {unsplit}, {folds} folds, seed {seed}."
)


@dataclass(frozen=True, slots=True)
class Ablation:
    """All variants, scored.

    :param test: the corpus they were scored on; None for the training corpus, out of fold.
    :param places: the answers of the single submodels and of the stack, place by place.
    :param seeds: of all trainings; all but the first count only in means over seeds.
    """

    origin: Origin
    training: CorpusFacts
    test: CorpusFacts | None
    rows: tuple[VariantRow, ...]
    choosers: Choosers
    places: tuple[Place, ...]
    kernel_settings: int
    seeds: tuple[int, ...]

    def tables(self) -> dict[str, Table]:
        """Every variant, means over folds and over seeds if there are any, and the choosers."""
        where = f"on {self.test.documents} other notes" if self.test else "out of fold"
        title = f"ablation, {self.origin.counted}, trained on {self.training.documents} notes, scored {where}"
        sections_of = groupby(self.rows, key=lambda row: row.variant.part)
        sections = (((row.name, row.score, row.difference) for row in rows) for _, rows in sections_of)
        folds = {row.name: row.of_folds for row in self.rows if row.of_folds}
        seeds = {row.name: row.of_seeds for row in self.rows if row.of_seeds}
        return {
            "table": stack_table(title, sections, self.choosers.units),
            **({"folds": mean_table("the folds", folds)} if folds else {}),
            **({"seeds": mean_table(f"{len(self.seeds)} seeds", seeds)} if seeds else {}),
            "choosers": self.choosers.table(f"choosers from the same candidates, {self.origin.counted}"),
        }

    def draw(self, folder: Path) -> None:
        """The chart, and the cases where the stack is right and a submodel wrong."""
        ablation_chart(f"Ablation, {self.origin.counted}", self.rows, folder, comment=self.origin.comment)
        cases = {
            "schema": "phistack.cases.v1",
            "date": self.origin.date,
            "settings hash": self.origin.settings.digest if self.origin.settings else None,
            "right together": [{"right": right, "places": count} for right, count in patterns(self.places)],
            "cases": [place.to_dict() for place in saved_by_the_stack(self.places)],
        }
        write_json(folder / "cases.json", cases)
        systems = [row.name for row in self.rows if row.variant.part in (ALONE, STACK)]
        (folder / "cases.txt").write_text(cases_as_text(self.places, systems), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Everything but the places, for JSON."""
        corpora = {"training": self.training, "test": self.test, "seeds": self.seeds}
        rows = {"reference": STACK, "rows": self.rows, **self.choosers.to_dict()}
        return {
            **self.origin.to_dict(),
            **plain({**corpora, "variants tried": len(self.rows), **rows}),
            "kernel settings tried for each stack": self.kernel_settings,
            "places": len(self.places),
            "places where the stack is right and a submodel wrong": len(saved_by_the_stack(self.places)),
        }


def ablate(
    corpus: Corpus,
    settings: EngineSettings,
    *,
    test: Corpus | None = None,
    groups: bool = False,
    criterion: str = "strict",
    seeds: int = 1,
    resampling: Resampling = BY_PATIENT,
    jobs: int = 1,
    cache: Path | None = None,
) -> Ablation:
    """Train, score every variant and compare it with the whole stack.

    :param test: other annotated notes to score on; by default those of the corpus, out of fold.
    :param groups: whether to leave out feature groups too; each takes a training of all submodels.
    :param seeds: how many seeds to train with, for means and deviations; intervals and p-values are of the first.
    :raises TrainingError: if nothing can be learned from the corpus.
    """
    rule = criterion_named(criterion)
    corpus = settings.grouped(corpus)
    variants = variants_of(settings, groups=groups)
    gold = corpus if test is None else test
    n_trainings = len({variant.without for variant in variants})
    every, scores = parts.seeded(settings, seeds), []
    with stage("ablation", total=(1 + _STACKING) * n_trainings * seeds):
        for own in reversed(every):  # the first seed last, as its answers are analysed below
            proposed = _proposed(variants, corpus, own, test, jobs, cache)
            answers = _answers(variants, proposed, own, jobs, weight=_STACKING * n_trainings)
            chance = replace(resampling, seed=own.seed)
            systems = parts.systems_of(gold, answers, corpus.label_set, rule, resampling=chance)
            scores.append(systems.scores)
    gaps = systems.differences([(name, STACK) for name in answers if name != STACK], ["f1"])
    folds = at_most_folds(corpus.documents, n_folds=settings.folds, seed=settings.seed) if test is None else []
    means = parts.over_seeds(scores) if seeds > 1 else {}
    protocol = (_OUT_OF_FOLD if test is None else _ON_TEST).format(
        unsplit=settings.unsplit, folds=settings.folds, seed=settings.seed
    )
    rows = []
    for variant in variants:
        name, score = variant.name, systems.scores[variant.name]
        of_folds = score.over_folds(folds) if folds else None
        rows.append(VariantRow(variant, score, gaps.get((name, STACK, "f1")), of_folds, means.get(name)))
    whole, stack = proposed[settings.features.without], answers[STACK]
    return Ablation(
        Origin(SCHEMA, rule.name, protocol, settings, gold.label_set.name, systems.units),
        CorpusFacts.of(corpus),
        None if test is None else CorpusFacts.of(test),
        tuple(rows),
        choosers_of_proposed(whole, corpus, gold, stack, rule, chance),
        tuple(places_of(gold.documents, {name: answers[name] for name in (*settings.submodels, STACK)})),
        len(KERNELS[settings.stacker.kernel]),
        tuple(own.seed for own in every),
    )


def _proposed(
    variants: Sequence[Variant],
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
        engine = parts.engine_of(cache, fewer, corpus) if unseen else None
        with stage(f"round {number} of {len(choices)}", total=1.0):
            found = propose(corpus, fewer, unseen=() if engine else unseen, jobs=jobs, cache=cache)
            if engine:
                tables = engine.space.tables(unseen)
                found = replace(found, unseen=tables, on_unseen=engine.propose(tables))
        proposed[without] = found
    return proposed


def _answers(
    variants: Sequence[Variant],
    proposed: Mapping[tuple[str, ...], Proposed],
    settings: EngineSettings,
    jobs: int,
    *,
    weight: float,
) -> dict[str, Answers]:
    """The spans of each variant; the stackers are fitted in parallel processes."""
    stacks = [variant for variant in variants if variant.stacker_features]
    work = (
        partial(
            parts.stack_answers, proposed[variant.without], variant.submodels,
            Stacker(replace(settings.stacker, features=variant.stacker_features)), seed=settings.seed,
        )
        for variant in stacks
    )  # fmt: skip
    answers: dict[str, Answers] = {
        variant.name: [] if variant.stacker_features else parts.alone_answers(proposed[variant.without], variant.name)
        for variant in variants
    }
    with progress("stacking", total=len(stacks), weight=weight) as advance:
        for variant, spans in zip(stacks, in_processes(work, jobs=jobs, in_order=True), strict=True):
            answers[variant.name] = spans
            advance(variant.name)
    return answers
