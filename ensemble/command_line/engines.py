"""Commands that train an engine, use it and look into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.groups import EngineUseOptions, ReadingOptions, TrainingOptions, with_options
from phistack.ensemble.command_line.options import (
    AnnotatedFormatOption,
    BundleArgument,
    CorpusArgument,
    JobsOption,
    ModelChoiceOption,
    NewModelOption,
    PageOption,
    SeedOption,
    SourceArgument,
    SubsetOption,
    TargetArgument,
)
from phistack.ensemble.command_line.output import (
    choose_engines,
    console,
    fail_for,
    say,
    say_remarks,
    say_what_tags_cannot,
    say_where,
    tell_reliability,
    warn,
)
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError


def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("demo_output"),
    documents: Annotated[int, typer.Option(help="How many synthetic notes.", min=20)] = 240,
    seed: SeedOption = 0,
    jobs: JobsOption = 2,
) -> None:
    """Train, score, explain and redact on synthetic notes, end to end, and leave a page that shows it."""
    from phistack.ensemble.tasks.demo import run_demo

    run_demo(out, n_documents=documents, seed=seed, jobs=jobs)


@with_options
def train(
    corpus: CorpusArgument,
    model: NewModelOption,
    *,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="NOTES_PER_SECOND",
            help="Keep the best submodels that annotate so many notes a second on one core of this machine.",
            show_default=False,
        ),
    ] = None,
    add: Annotated[
        Path | None,
        typer.Option(
            help="Further annotated notes to learn from; no fold, stacker or score has them.", show_default=False
        ),
    ] = None,
    training: TrainingOptions,
) -> None:
    """Train all submodels and the stacker, and write a bundle."""
    with stage("reading the notes"):
        from phistack.ensemble.tasks.training import train_with_report

        notes = training.read(corpus)
        more = training.read(add, notes.label_set) if add else None
    say_remarks(notes)
    done, report = train_with_report(
        notes, model, training.settings(notes), jobs=training.jobs, cache=training.cache, budget=budget, added=more
    )
    warn(done.warnings)
    for table in report.tables():
        console().print(table.rich())
    for sentence in report.sentences:
        say(sentence)
    say_what_tags_cannot(notes, done.warnings)
    say(f"the engine of {', '.join(done.engine.names)} is in {model}")
    tell_reliability(model)


@with_options
def annotate(
    source: SourceArgument,
    out: TargetArgument,
    *,
    model: ModelChoiceOption = None,
    to: AnnotatedFormatOption = "",
    submodels: SubsetOption = "",
    use: EngineUseOptions,
    reading: ReadingOptions,
) -> None:
    """Find the PHI of notes and write them in a shared-task format; any spans in IN are not looked at."""
    with stage("loading the engine"):
        from phistack.ensemble.tasks.annotating import Source, annotate_corpus, engine_with
        from phistack.ensemble.tools.garbage import keep_all

        notes = Source(source, reading.reader, use.unmatched_roster)
        model, by_language = choose_engines(model, notes.sample)
        engine = engine_with(model, use.options, by_language=by_language, only=comma_list(submodels), known=use.known)
        keep_all()
    tell_reliability(model)
    corpus, held_back = annotate_corpus(notes, out, engine, format=to)
    warn(corpus.warnings)
    say_where(corpus.documents, out)
    fail_for(held_back, len(corpus))


@with_options
def explain(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A note or corpus, or - for standard input.", show_default=False),
    ],
    *,
    model: ModelChoiceOption = None,
    html: PageOption = None,
    text: Annotated[bool, typer.Option("--text", help="Show the text of the spans.")] = False,
    submodels: SubsetOption = "",
    use: EngineUseOptions,
    reading: ReadingOptions,
) -> None:
    """Show who proposed which span, and how it was decided."""
    from phistack.ensemble.tasks.annotating import Source, engine_with
    from phistack.ensemble.tasks.explaining import explain_corpus

    notes = Source(source, reading.reader, use.unmatched_roster)
    model, by_language = choose_engines(model, notes.sample)
    engine = engine_with(model, use.options, by_language=by_language, only=comma_list(submodels), known=use.known)
    n_shown, held_back = explain_corpus(notes, engine, console(), html=html, show_text=text)
    fail_for(held_back, n_shown)


@with_options
def rules(
    model: BundleArgument,
    *,
    score: Annotated[
        Path | None, typer.Option(help="Annotated notes on which to score each rule.", show_default=False)
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write the rules to this file, to edit them.", show_default=False)
    ] = None,
    use: Annotated[
        Path | None, typer.Option(help="Take the rules of this file; needs --out.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The new bundle, with the rules of --use.", show_default=False)
    ] = None,
    submodel: Annotated[str, typer.Option(help="Of several TBED submodels, the one of this name.")] = "",
    reading: ReadingOptions,
) -> None:
    """List the learned TBED rules in words, score them on new notes, or replace them by an edited file."""
    from phistack.ensemble.tasks.rules import print_rules, replace_rules, write_rules

    if (use is None) != (out is None):
        raise SettingsError("give --use and --out together: the file with the edited rules, and the new bundle")
    if use and out:
        replace_rules(model, use, out, submodel=submodel)
        say(f"the engine with the rules of {use} was written to {out}")
    elif write:
        write_rules(model, write, submodel=submodel)
        say(f"the rules were written to {write}")
    else:
        print_rules(model, console(), submodel=submodel, score_on=score, reader=reading.reader)
