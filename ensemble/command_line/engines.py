"""Commands that train an engine, use it and look into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.groups import ReadingOptions, ResamplingOptions, TrainingOptions, UseOptions
from phistack.ensemble.command_line.options import (
    AnnotatedFormatOption,
    BundleArgument,
    CorpusArgument,
    JobsOption,
    ModelChoiceOption,
    NewModelOption,
    PageOption,
    SeedOption,
    SeedsOption,
    SourceArgument,
    TargetArgument,
    TextOption,
    argument,
    option,
)
from phistack.ensemble.command_line.output import (
    console,
    fail_for,
    report_misaligned_spans,
    say,
    say_remarks,
    say_written,
    tell_reliability,
    warn,
)
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError


def demo(
    out: Annotated[Path, option("The folder to make.", "--out")] = Path("demo_output"),
    documents: Annotated[int, option("How many synthetic notes.", min=20)] = 240,
    seed: SeedOption = 0,
    jobs: JobsOption = 2,
) -> None:
    """Train, score, explain and redact on synthetic notes, end to end, and leave a page that shows it."""
    from phistack.ensemble.tasks.demo import run_demo

    run_demo(out, n_documents=documents, seed=seed, jobs=jobs)


def train(
    corpus: CorpusArgument,
    model: NewModelOption,
    *,
    budget: Annotated[
        float | None, option("Keep the best submodels that are this fast on one core.", metavar="NOTES_PER_SECOND")
    ] = None,
    add: Annotated[
        Path | None, option("More annotated notes to learn from; no fold, stacker or score has them.")
    ] = None,
    seeds: SeedsOption = 1,
    details: Annotated[
        bool, option("Show means over folds, other choosers, calibration and labels too.", "--details")
    ] = False,
    chance: ResamplingOptions,
    training: TrainingOptions,
) -> None:
    """Train all submodels and the stacker, and write a bundle."""
    with stage("reading the notes"):
        from phistack.ensemble.tasks.training import train_with_report

        notes = training.read(corpus)
        more = training.read(add, notes.label_set) if add else None
    say_remarks(notes)
    done, report = train_with_report(
        notes, model, training.settings(notes), jobs=training.jobs, cache=training.cache, budget=budget, added=more,
        seeds=seeds, resampling=chance.resampling(),
    )  # fmt: skip
    warn(done.warnings)
    for table in (report.summary(), *(report.details() if details else [])):
        console().print(table.rich())
    if details:
        for sentence in report.sentences:
            say(sentence)
        report_misaligned_spans(notes, done.warnings)
    if report.weak:
        say(report.weak)
    say(f"The engine of {', '.join(done.engine.names)} is in {model}. {report.choosers.sentence}")
    say(f"Next: phistack errors OTHER_NOTES --model {model}, to see what it gets wrong on notes that it does not know")
    more_in = "the model card" if details else "--details or the model card"
    say(f"More: {more_in}, phistack engines {model}")
    tell_reliability(model)


def annotate(
    source: SourceArgument,
    out: TargetArgument,
    *,
    model: ModelChoiceOption = None,
    to: AnnotatedFormatOption = "",
    use: UseOptions,
) -> None:
    """Find the PHI of notes and write them in a shared-task format; spans in IN are ignored."""
    with stage("loading the engine"):
        from phistack.ensemble.tasks.annotating import annotate_corpus
        from phistack.ensemble.tools.numerics import keep_all

        notes = use.source(source)
        model, engine = use.load(notes, model)
        keep_all()
    tell_reliability(model)
    written = annotate_corpus(notes, out, engine, format=to)
    warn(written.warnings)
    say_written(written.notes, written.spans, out)
    fail_for(written.held_back, written.notes)


def explain(
    source: Annotated[Path, argument("FILE", "A note or corpus, or - for standard input.")],
    *,
    model: ModelChoiceOption = None,
    html: PageOption = None,
    text: TextOption = False,
    use: UseOptions,
) -> None:
    """Show who proposed which span, and how it was decided."""
    from phistack.ensemble.tasks.explaining import explain_corpus

    notes = use.source(source)
    _, engine = use.load(notes, model)
    n_shown, held_back = explain_corpus(notes, engine, console(), html=html, show_text=text)
    fail_for(held_back, n_shown)


def rules(
    model: BundleArgument,
    *,
    score: Annotated[Path | None, option("Annotated notes on which to score each rule.")] = None,
    write: Annotated[Path | None, option("Write the rules to this file, to edit them.")] = None,
    use: Annotated[Path | None, option("Take the rules of this file; needs --out.")] = None,
    out: Annotated[Path | None, option("The new bundle, with the rules of --use.")] = None,
    submodel: Annotated[str, option("Of several TBED submodels, the one of this name.")] = "",
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
