"""Commands that try an engine in many variants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import ResamplingOptions, TrainingOptions
from phistack.ensemble.command_line.options import argument, one_of, option
from phistack.ensemble.command_line.output import names_of, print_tables, say, say_remarks
from phistack.ensemble.command_line.scores import command_given
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError

if TYPE_CHECKING:
    from phistack.ensemble.experiments.parts import ExperimentResults
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.features.documents import Corpus

_Shown = TypeVar("_Shown", bound="ExperimentResults")


def ablate(
    corpus: options.CorpusArgument,
    out: options.OutOption,
    *,
    test: options.TestOption = None,
    groups: Annotated[bool, option("Leave out feature groups too, and train again.", "--groups")] = False,
    seeds: options.SeedsOption = 1,
    criterion: options.CriterionOption = "strict",
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
    corpus: options.CorpusArgument,
    out: options.OutOption,
    *,
    test: options.TestOption = None,
    by: Annotated[str, option(f"{one_of(options.DRAWN)}: what grows.", names=options.DRAWN)] = "patients",
    shares: Annotated[
        str | None,
        option("Percentages of the training patients or sentences.", show_default="10,20,30,40,50,60,70,80,90,100"),
    ] = None,
    sizes: Annotated[str, option("In place of --shares, how many patients or sentences.")] = "",
    samples: Annotated[int, option("Random orders of them; an interval needs 5 runs in all.", min=1)] = 5,
    runs: Annotated[int, option("Trainings on each sample, from other random starts.", min=1)] = 1,
    stack: options.StackOption = True,
    criterion: options.CriterionOption = "strict",
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
    corpora: Annotated[list[Path], argument("CORPUS...", "Two corpora or more.")],
    out: options.OutOption,
    *,
    pooled: Annotated[bool, option("Also train on all corpora but one, and on all together.", "--pooled")] = False,
    map_labels: options.MapLabelsOption = "",
    stack: options.StackOption = True,
    criterion: options.CriterionOption = "strict",
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
    corpus: options.CorpusArgument,
    out: options.OutOption,
    submodel: Annotated[str, option("The submodel whose settings to search.", names=options.SUBMODELS)],
    space: Annotated[
        str,
        option(
            f"A TOML file with the ranges of its settings; {one_of(options.SPACES)} is one of a paper.",
            metavar="FILE",
            names=options.SPACES,
        ),
    ],
    *,
    trials: Annotated[
        int | None, option("How many settings are drawn at random.", min=1, show_default="20, or as FILE says")
    ] = None,
    criterion: options.CriterionOption = "strict",
    training: TrainingOptions,
) -> None:
    """Search at random for better settings of a submodel, scored out of fold, for `train --config`."""
    with stage("reading the notes"):
        from phistack.ensemble.experiments.tuning import SearchSpace, tune

        ranges = SearchSpace.named(space)
        notes, _, settings = _read(training, corpus, None)
    kept = training.cache or out.with_name(f"{out.name}.folds")
    results = _write(out, lambda: tune(
        notes, settings, submodel, ranges, trials=trials, criterion=criterion, jobs=training.jobs, cache=kept,
    ), pictures=False)  # fmt: skip
    if results.best.number == 0:
        say(f"no trial is better than the settings of {submodel} as they are")
    say(f"train with the best settings: phistack train CORPUS --model BUNDLE --config {out / 'settings.toml'}")
    say(f"what submodels proposed is kept in {kept}, for the same command again; remove it when you no longer need it")


def _write(out: Path, measure: Callable[[], _Shown], *, pictures: bool = True) -> _Shown:
    """Run an experiment, write the folder of its results and show the tables."""
    from phistack.ensemble.experiments.parts import write_results

    results = write_results(out, measure, pictures=pictures, command=command_given())
    print_tables(results.tables().values())
    say(f"figures, tables and {'pictures' if pictures else 'settings'} are in {out}")
    return results
