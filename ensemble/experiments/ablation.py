"""What every part brings: the engine with parts left out, scored and compared with the whole.

    out/results.json     every figure, the settings and the protocol
    out/table.tex        for a paper (booktabs)
    out/chart.png, .svg  bars with intervals
    out/cases.json, .txt where the stack is right and a submodel wrong, by id and offsets

Tables 4, 5 and 6 of Zhao 2020 for any corpus. Submodels propose once; leaving one out refits the stacker only. Leaving
out a feature group trains all submodels again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ensemble.evaluation import Criterion, criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.experiments.cases import Place, cases_as_text, patterns, places_of, saved_by_the_stack
from ensemble.experiments.latex import ablation_latex
from ensemble.experiments.measuring import Measured, counts_of, measured
from ensemble.experiments.parts import STACK, Answers, alone_answers, described, stack_answers
from ensemble.experiments.pictures import ablation_chart
from ensemble.experiments.results import head, write_json
from ensemble.stacking.meta_features import FEATURE_SETS
from ensemble.stacking.stacker import KERNELS
from ensemble.tools.processes import in_processes
from ensemble.tools.progress import progress, stage
from ensemble.training.proposals import Proposed, propose
from ensemble.training.settings import EngineSettings
from features.documents import Corpus
from features.writing import new_folder, refuse_taken
from submodels.base import kind_of, submodel_class
from submodels.registry import newest, usual_name

__all__ = ["SCHEMA", "Ablation", "Variant", "ablate", "variants_of", "write_ablation"]

SCHEMA = "phistack.ablation.v1"
_STACKING = 0.2
"""What the stackers of all variants take, in relation to a training of all submodels."""

_OUT_OF_FOLD = (
    "Trained and scored on the same corpus, out of fold by patient, {folds} folds, seed {seed}: no submodel proposed "
    "for a patient that it was trained on, nor did a stacker decide on one. A stack's kernel and threshold were chosen "
    "on the very notes on which it is scored, so the scores of stacks are slightly too good."
)
_ON_TEST = (
    "Trained on one corpus and scored on another, which nothing was chosen on; the stackers learned from candidates "
    "that were proposed out of fold by patient, {folds} folds, seed {seed}."
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build the engine.

    :param name: as tables show it.
    :param part: the section of the table that it is in.
    :param submodels: those that take part, in the order of training.
    :param stacker_features: the stacker's feature set; empty for one submodel alone, without a stacker.
    :param without: the feature groups left out.
    """

    name: str
    part: str
    submodels: tuple[str, ...]
    stacker_features: str
    without: tuple[str, ...]


@dataclass(frozen=True)
class Ablation:
    """All variants, scored.

    :param variants: the variants tried, in the order of the table.
    :param rows: variant -> its scores and its difference to the stack.
    :param places: what the submodels alone and the stack said, place by place.
    :param results: everything as JSON can hold it.
    """

    variants: tuple[Variant, ...]
    rows: Mapping[str, Measured]
    places: tuple[Place, ...]
    results: Mapping[str, Any]


def variants_of(settings: EngineSettings, *, groups: bool) -> list[Variant]:
    """Every variant: each submodel alone, the stack, and the stack with one part left out or exchanged.

    TBED starts from the tags of patterns of its own, so the stack is also tried without the regex submodel and TBED
    together; likewise with any kind that another holds.

    :param groups: whether feature groups are left out too, those that have columns under these settings.
    """
    names, features, without = tuple(settings.submodels), settings.stacker.features, settings.features.without
    left_out = [(name,) for name in names] + _held_within_others(settings)
    rows = [Variant(name, "submodel alone", (name,), "", without) for name in names]
    rows.append(Variant(STACK, "stack", names, features, without))
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
    """Each submodel of which others have the like within them, together with these."""
    kinds = {name: newest(kind_of(name, given)) for name, given in settings.submodels.items()}
    holding = {name: submodel_class(kinds[name]).holds({**settings.submodels[name]}) for name in settings.submodels}
    groups = [
        (name, *(other for other in holding if usual_name(kinds[name]) in holding[other] and other != name))
        for name in settings.submodels
    ]
    return [group for group in groups if len(group) > 1]


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
    variants = variants_of(settings, groups=groups)
    n_trainings = len({variant.without for variant in variants})
    with stage("ablation", total=n_trainings + _STACKING * n_trainings):
        proposed = _proposed(variants, corpus, settings, test, jobs, cache)
        answers = _answers(variants, proposed, settings, jobs, weight=_STACKING * n_trainings)
    gold = corpus if test is None else test
    counts = {name: counts_of(gold, spans, corpus.label_set, rule) for name, spans in answers.items()}
    rows = measured(counts, reference=STACK, shuffles=shuffles, seed=settings.seed)
    places = places_of(gold.documents, {name: answers[name] for name in (*settings.submodels, STACK)})
    results = _results(variants, rows, places, corpus, test, settings, rule, shuffles)
    return Ablation(tuple(variants), rows, tuple(places), results)


def write_ablation(out: Path, corpus: Corpus, settings: EngineSettings, **options: Any) -> Ablation:
    """Run `ablate` and write the folder of results, complete or not at all.

    :param options: as for `ablate`.
    :raises SettingsError: if the folder is already there; that is seen before training begins.
    """
    refuse_taken(out)
    ablation = ablate(corpus, settings, **options)
    systems = (*settings.submodels, STACK)
    cases = {
        "schema": "phistack.cases.v1",
        "date": ablation.results["date"],
        "settings hash": settings.digest,
        "right together": [{"right": right, "places": count} for right, count in patterns(ablation.places)],
        "cases": [place.to_dict() for place in saved_by_the_stack(ablation.places)],
    }
    with new_folder(out) as folder:
        write_json(folder / "results.json", ablation.results)
        (folder / "table.tex").write_text(ablation_latex(ablation.results), encoding="utf-8")
        write_json(folder / "cases.json", cases)
        (folder / "cases.txt").write_text(cases_as_text(ablation.places, systems), encoding="utf-8")
        ablation_chart(ablation.results, folder)
    return ablation


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


def _results(
    variants: list[Variant],
    rows: Mapping[str, Measured],
    places: list[Place],
    corpus: Corpus,
    test: Corpus | None,
    settings: EngineSettings,
    criterion: Criterion,
    shuffles: int,
) -> dict[str, Any]:
    protocol = (_OUT_OF_FOLD if test is None else _ON_TEST).format(folds=settings.folds, seed=settings.seed)
    return {
        **head(SCHEMA, settings, criterion=criterion.name, protocol=protocol),
        "training": described(corpus),
        "test": None if test is None else described(test),
        "variants tried": len(variants),
        "kernel settings tried for each stack": len(KERNELS[settings.stacker.kernel]),
        "bootstrap resamples": RESAMPLES,
        "shuffles": shuffles,
        "reference": STACK,
        "rows": [_row(variant, rows[variant.name]) for variant in variants],
        "places": len(places),
        "places where the stack is right and a submodel wrong": len(saved_by_the_stack(places)),
    }


def _row(variant: Variant, row: Measured) -> dict[str, Any]:
    return {
        "name": variant.name,
        "part": variant.part,
        "submodels": list(variant.submodels),
        "stacker features": variant.stacker_features or None,
        "feature groups left out": list(variant.without),
        **row.to_dict(),
    }
