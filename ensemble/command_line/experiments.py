"""Commands that try an engine in many variants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensemble.command_line.options import (
    CorpusArgument,
    CriterionOption,
    LabelSetOption,
    MapLabelsOption,
    OutOption,
    ReadingOptions,
    StackOption,
    TestOption,
    TrainingOptions,
    with_options,
)
from ensemble.command_line.output import console, say, tell
from ensemble.tools.progress import stage

if TYPE_CHECKING:
    from ensemble.command_line.request import Request
    from ensemble.training.settings import EngineSettings
    from features.documents import Corpus

__all__ = ["ablate", "curve", "transfer"]


@with_options
def ablate(
    corpus: CorpusArgument,
    out: OutOption,
    *,
    test: TestOption = None,
    groups: Annotated[bool, typer.Option("--groups", help="Leave out feature groups too, and train again.")] = False,
    shuffles: Annotated[int, typer.Option(help="Of the paired randomisation.", min=1)] = 9999,
    criterion: CriterionOption = "strict",
    label_set: LabelSetOption = "",
    training: TrainingOptions,
    reading: ReadingOptions,
) -> None:
    """Score the stack with each part left out: submodels, feature groups, stacker features; with significance."""
    with stage("reading the notes"):
        from ensemble.experiments.ablation import write_ablation
        from ensemble.experiments.tables import ablation_table

        notes, other, settings = _read(training.request(reading, label_set=label_set), corpus, test)
    ablation = write_ablation(
        out, notes, settings, test=other, groups=groups, criterion=criterion, shuffles=shuffles,
        jobs=training.jobs, cache=training.cache,
    )  # fmt: skip
    console().print(ablation_table(ablation.results))
    say(f"table, chart and cases are in {out}")


@with_options
def curve(
    corpus: CorpusArgument,
    out: OutOption,
    *,
    test: TestOption = None,
    shares: Annotated[str, typer.Option(help="Percents of the training patients.")] = "10,20,30,40,50,60,70,80,90,100",
    samples: Annotated[int, typer.Option(help="Random orders of the patients; an interval takes 5.", min=1)] = 5,
    stack: StackOption = True,
    criterion: CriterionOption = "strict",
    label_set: LabelSetOption = "",
    training: TrainingOptions,
    reading: ReadingOptions,
) -> None:
    """Draw the learning curve: the mean score by the number of training patients, with its spread."""
    with stage("reading the notes"):
        from ensemble.command_line.request import shares_of
        from ensemble.experiments.learning_curve import write_curve
        from ensemble.experiments.tables import curve_table

        notes, other, settings = _read(training.request(reading, label_set=label_set), corpus, test)
    results = write_curve(
        out, notes, settings, test=other, shares=shares_of(shares), samples=samples, stack=stack,
        criterion=criterion, jobs=training.jobs, cache=training.cache,
    )  # fmt: skip
    console().print(curve_table(results))
    say(f"figures and picture are in {out}")


def _read(request: Request, corpus: Path, test: Path | None) -> tuple[Corpus, Corpus | None, EngineSettings]:
    """The notes to train on, those to score on if they are others, and the settings that the first are trained with."""
    notes = request.corpus(corpus)
    other = request.corpus(test, notes.label_set) if test else None
    tell(notes)
    return notes, other, request.settings(notes)


@with_options
def transfer(
    corpora: Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="Two corpora or more.")],
    out: OutOption,
    *,
    map_labels: MapLabelsOption = "",
    stack: StackOption = True,
    criterion: CriterionOption = "strict",
    training: TrainingOptions,
    reading: ReadingOptions,
) -> None:
    """Train on each corpus and test on each: how far an engine travels."""
    with stage("reading the notes"):
        from ensemble.experiments.tables import transfer_table
        from ensemble.experiments.transfer import write_transfer

        domains = training.request(reading, map_labels=map_labels).domains(corpora)
    for domain in domains:
        tell(domain.corpus)
    results = write_transfer(out, domains, stack=stack, criterion=criterion, jobs=training.jobs, cache=training.cache)
    for table in transfer_table(results):
        console().print(table)
    say(f"figures and picture are in {out}")
