"""Commands that try an engine in many variants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from phistack.ensemble.command_line.choices import DRAWN, SPACES, SUBMODELS, completing, one_of
from phistack.ensemble.command_line.groups import TrainingOptions
from phistack.ensemble.command_line.options import (
    CorpusArgument,
    CriterionOption,
    MapLabelsOption,
    OutOption,
    SeedsOption,
    StackOption,
    TestOption,
)
from phistack.ensemble.command_line.output import console, names_of, say, say_remarks
from phistack.ensemble.command_line.scores import ResamplingOptions, command_given
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError

if TYPE_CHECKING:
    from phistack.ensemble.experiments.results import ExperimentResults
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.features.documents import Corpus

_KEPT = "what submodels proposed is kept in {}, for the same command again; remove it when you no longer need it"
_Shown = TypeVar("_Shown", bound="ExperimentResults")


def ablate(
    corpus: CorpusArgument,
    out: OutOption,
    *,
    test: TestOption = None,
    groups: Annotated[bool, typer.Option("--groups", help="Leave out feature groups too, and train again.")] = False,
    seeds: SeedsOption = 1,
    criterion: CriterionOption = "strict",
    chance: ResamplingOptions,
    training: TrainingOptions,
) -> None:
    """Score the stack with each part left out: submodels, feature groups, stacker features; with significance."""
    with stage("reading the notes"):
        from phistack.ensemble.experiments.ablation import ablate

        notes, other, settings = _read(training, corpus, test)
    results = _write(out, lambda: ablate(
        notes, settings, test=other, groups=groups, criterion=criterion, seeds=seeds, resampling=chance.resampling(),
        jobs=training.jobs, cache=training.cache,
    ))  # fmt: skip
    say(results.choosers.sentence)


def curve(
    corpus: CorpusArgument,
    out: OutOption,
    *,
    test: TestOption = None,
    by: Annotated[
        str, typer.Option(help=f"{one_of(DRAWN)}: what grows.", autocompletion=completing(DRAWN))
    ] = "patients",
    shares: Annotated[
        str | None,
        typer.Option(
            help="Percentages of the training patients or sentences.",
            show_default="10,20,30,40,50,60,70,80,90,100",
        ),
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="In place of --shares, how many patients or sentences.", show_default=False)
    ] = "",
    samples: Annotated[int, typer.Option(help="Random orders of them; an interval takes 5 runs in all.", min=1)] = 5,
    runs: Annotated[int, typer.Option(help="Trainings on each sample, from other random starts.", min=1)] = 1,
    stack: StackOption = True,
    criterion: CriterionOption = "strict",
    training: TrainingOptions,
) -> None:
    """Draw the learning curve: the mean score by the number of training patients or sentences, with its spread."""
    if shares is not None and sizes:
        raise SettingsError("--shares and --sizes both say how much to train on; give one of the two")
    with stage("reading the notes"):
        from phistack.ensemble.experiments.learning_curve import SHARES, learning_curve

        notes, other, settings = _read(training, corpus, test)
    parts = SHARES if shares is None else _numbers("--shares", shares, "percentages", "10,50,100")
    counts = _numbers("--sizes", sizes, "numbers", "100,500,1000")
    _write(out, lambda: learning_curve(
        notes, settings, test=other, by=by, shares=parts, sizes=counts, samples=samples, runs=runs, stack=stack,
        criterion=criterion, jobs=training.jobs, cache=training.cache,
    ))  # fmt: skip


def _read(training: TrainingOptions, corpus: Path, test: Path | None) -> tuple[Corpus, Corpus | None, EngineSettings]:
    """The notes to train on, those to score on if they are others, and the settings that the first are trained with."""
    notes = training.read(corpus)
    other = training.read(test, notes.label_set) if test else None
    say_remarks(notes)
    return notes, other, training.settings(notes)


def _numbers(option: str, text: str, what: str, example: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, comma_list(text)))
    except ValueError:
        raise SettingsError(f"{option} takes whole {what} separated by commas, as in {example}") from None


def transfer(
    corpora: Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="Two corpora or more.")],
    out: OutOption,
    *,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="Train on all corpora but one too, for each, and on all together.")
    ] = False,
    map_labels: MapLabelsOption = "",
    stack: StackOption = True,
    criterion: CriterionOption = "strict",
    chance: ResamplingOptions,
    training: TrainingOptions,
) -> None:
    """Train on each corpus, or on several together, and test on each: how far an engine travels."""
    with stage("reading the notes"):
        from phistack.ensemble.experiments.transfer import Domain, transfer

        read = list(map(training.read, corpora))
    for corpus in read:
        say_remarks(corpus)
    domains = [
        Domain(name, corpus.mapped(map_labels or corpus.label_set.name), training.settings(corpus))
        for name, corpus in zip(names_of(corpora), read, strict=True)
    ]
    _write(out, lambda: transfer(
        domains, pooled=pooled, stack=stack, criterion=criterion, resampling=chance.resampling(), jobs=training.jobs,
        cache=training.cache,
    ))  # fmt: skip


def tune(
    corpus: CorpusArgument,
    out: OutOption,
    submodel: Annotated[
        str, typer.Option(help="The submodel whose settings to search.", autocompletion=completing(SUBMODELS))
    ],
    space: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help=f"A TOML file with the ranges of its settings; {one_of(SPACES)} is one of a paper.",
            autocompletion=completing(SPACES),
            show_default=False,
        ),
    ],
    *,
    trials: Annotated[
        int | None,
        typer.Option(help="How many settings are drawn at random.", min=1, show_default="20, or as FILE says"),
    ] = None,
    criterion: CriterionOption = "strict",
    training: TrainingOptions,
) -> None:
    """Search for better settings of a submodel at random, for `train --config`.

    Trials are scored out of fold by patient, or on a part of the patients where the file of ranges says so.
    """
    with stage("reading the notes"):
        from phistack.ensemble.experiments.search_space import SearchSpace
        from phistack.ensemble.experiments.tuning import tune

        ranges = SearchSpace.named(space)
        notes, _, settings = _read(training, corpus, None)
    kept = _kept(training, out)
    results = _write(out, lambda: tune(
        notes, settings, submodel, ranges, trials=trials, criterion=criterion, jobs=training.jobs, cache=kept,
    ), pictures=False)  # fmt: skip
    if results.best.number == 0:
        say(f"no trial is better than the settings of {submodel} as they are")
    say(f"train with the best settings: phistack train CORPUS --model BUNDLE --config {out / 'settings.toml'}")
    say(_KEPT.format(kept))


def _kept(training: TrainingOptions, out: Path) -> Path:
    """Where long searches keep the predictions of folds: in the cache that is given, or beside the output."""
    return training.cache or out.with_name(f"{out.name}.folds")


def _write(out: Path, measure: Callable[[], _Shown], *, pictures: bool = True) -> _Shown:
    """Run an experiment, write the folder of its results and show the tables."""
    from phistack.ensemble.experiments.results import write_results

    results = write_results(out, measure, pictures=pictures, command=command_given())
    for table in results.tables().values():
        console().print(table.rich())
    say(f"figures, tables and {'pictures' if pictures else 'settings'} are in {out}")
    return results
