"""Commands that train, use, list and explain engines, and check patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import (
    CorpusOptions,
    ReadingOptions,
    ResamplingOptions,
    TrainingOptions,
    UseOptions,
)
from phistack.ensemble.command_line.options import argument, completing_paths, option
from phistack.ensemble.command_line.output import (
    console,
    fail_for,
    print_tables,
    report_misaligned_spans,
    say,
    say_remarks,
    say_written,
    tell_reliability,
    warn,
    write_figures,
)
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError
from phistack.features.writing import refuse_taken


def demo(
    out: Annotated[Path, option("The folder to make.", "--out")] = Path("demo_output"),
    documents: Annotated[int, option("How many synthetic notes.", min=20)] = 240,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = 2,
) -> None:
    """Train, score, explain and redact on synthetic notes, end to end, and leave a page that shows it."""
    from phistack.ensemble.tasks.demo import run_demo

    run_demo(out, n_documents=documents, seed=seed, jobs=jobs)


def train(
    corpus: options.CorpusArgument,
    model: Annotated[Path, option("The bundle to make: a folder, or a file .zip.")],
    *,
    budget: Annotated[
        float | None, option("Keep the best submodels that are this fast on one core.", metavar="NOTES_PER_SECOND")
    ] = None,
    add: Annotated[Path | None, option("More annotated notes to learn from; they are not scored.")] = None,
    max_leak: options.MaxLeakOption = None,
    calibration: Annotated[
        Path | None, option("Annotated notes of other patients, on which --max-leak must hold.")
    ] = None,
    confidence: options.ConfidenceOption = 0.95,
    policy: options.PolicyOption = "tag",
    seeds: options.SeedsOption = 1,
    details: Annotated[
        bool, option("Show means over folds, other choosers, calibration and labels too.", "--details")
    ] = False,
    chance: ResamplingOptions,
    training: TrainingOptions,
) -> None:
    """Train all submodels and the stacker, and write a bundle."""
    with stage("reading the notes"):
        from phistack.ensemble.batch.settings import policy_from
        from phistack.ensemble.bundles.certificate import certificates_of
        from phistack.ensemble.bundles.files import read_manifest
        from phistack.ensemble.experiments.certificate import Wish
        from phistack.ensemble.tasks.training import beside_shipped, train_with_report

        notes = training.read(corpus)
        more = training.read(add, notes.label_set) if add else None
        wish = None
        if (max_leak is None) != (calibration is None):
            raise SettingsError("give --max-leak and --calibration together: the bound, and the notes that show it")
        if max_leak is not None and calibration is not None:
            wish = Wish(training.read(calibration), policy_from(policy), max_leak, confidence)
    say_remarks(notes)
    done, report = train_with_report(
        notes, model, training.settings(notes), jobs=training.jobs, cache=training.cache, budget=budget, added=more,
        seeds=seeds, wish=wish, resampling=chance.resampling(),
    )  # fmt: skip
    warn(done.warnings)
    print_tables([report.summary(), *(report.details() if details else [])])
    if details:
        for sentence in report.sentences:
            say(sentence)
        report_misaligned_spans(notes, done.warnings)
    if report.weak:
        say(report.weak)
    say(f"The engine of {', '.join(done.engine.names)} is in {model}. {report.choosers.sentence}")
    for certificate in certificates_of(model):
        lowered = read_manifest(model)["figures"]["thresholds lowered to"]
        say(f"With all thresholds multiplied by {lowered:g}, and --policy {policy},")
        say(f"{certificate.sentence('balanced')}.")
    if advice := beside_shipped(done, notes, model):
        say(advice)
    say(f"Next: phistack errors OTHER_NOTES --model {model}, to see what it gets wrong on other notes")
    more_in = "the model card" if details else "--details or the model card"
    say(f"More: {more_in}, phistack engines {model}")
    tell_reliability(model)


def annotate(
    source: options.SourceArgument,
    out: options.TargetArgument,
    *,
    model: options.ModelChoiceOption = None,
    to: options.AnnotatedFormatOption = "",
    use: UseOptions,
) -> None:
    """Find the PHI in notes and write the annotated notes; spans in IN are ignored."""
    with stage("loading the engine"):
        from phistack.ensemble.tasks.annotating import annotate_corpus
        from phistack.ensemble.tools.numerics import keep_all

        notes = use.source(source)
        path, engine = use.load(notes, model)
        keep_all()
    tell_reliability(path)
    written = annotate_corpus(notes, out, engine, format=to)
    warn(written.warnings)
    say_written(written.notes, written.spans, out)
    fail_for(written.held_back, written.notes)


def explain(
    source: Annotated[Path, argument("FILE", "A note or corpus, or - for standard input.")],
    *,
    model: options.ModelChoiceOption = None,
    html: Annotated[Path | None, option("Write a page, which shows the text of the notes.")] = None,
    text: Annotated[bool, option("Show the text of the spans.", "--text")] = False,
    use: UseOptions,
) -> None:
    """Show who proposed which span, and how it was decided."""
    from phistack.ensemble.tasks.annotating import explain_corpus

    notes = use.source(source)
    _, engine = use.load(notes, model)
    n_shown, held_back = explain_corpus(notes, engine, console(), html=html, show_text=text)
    fail_for(held_back, n_shown)


def inspect(
    model: options.BundleArgument,
    notes: Annotated[Path, option("Annotated notes.", "--for")],
    *,
    text: Annotated[bool, option("Show the text of what can be read, on the screen and in JSON.", "--text")] = False,
    json_file: options.JsonOption = None,
    corpora: CorpusOptions,
) -> None:
    """Count which identifiers of annotated notes can be read from the files of an engine."""
    from phistack.ensemble.bundles.inspection import inspected

    refuse_taken(*filter(None, (json_file,)))
    gold = corpora.read(notes)
    say_remarks(gold)
    found = inspected(model, gold)
    write_figures(json_file, found.to_dict(with_text=text))
    print_tables([found.table(), *([found.listed()] if text and found.readable else [])])
    say(f"{len(found.read)} of {len(found.identifiers)} identifiers have a word that can be read from {model}")


def rules(
    model: options.BundleArgument,
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


def patterns(
    action: Annotated[str, argument("check", "What to do.")],
    file: Annotated[Path, argument("FILE", "A TOML file of patterns.")],
    *,
    on: Annotated[Path | None, option("Notes to search for matches.", metavar="NOTES")] = None,
    text: Annotated[bool, option("Show the text of the matches.", "--text")] = False,
    language: options.LanguageOption = "",
    reading: ReadingOptions,
) -> None:
    """Check that your own patterns can be used and are not too slow, and show where they match."""
    from phistack.ensemble.tasks.rules import counts_of, matches_table, pattern_matches
    from phistack.submodels.regex.pattern_files import user_patterns

    if action != "check":
        raise SettingsError(f"patterns can only check a file, not {action}; give patterns check FILE")
    own = user_patterns(file)
    if on is not None:
        notes = reading.reader.read(on, accept_unknown_labels=True, language=language)
        matches = pattern_matches(own, notes.documents, language or notes.label_set.language)
        console().print(matches_table(matches, show_text=text))
        for sentence in counts_of(own, matches):
            say(sentence)
    say(f"the patterns of {file} can be used: {', '.join(pattern.name for pattern in own)}")


_NAME = argument(
    "NAME", "Print the model card of this engine: a shipped one, or a bundle of your own.",
    parser=bundle_path, autocompletion=completing_paths(options.ENGINES),
)  # fmt: skip


def engines(
    model: Annotated[Path | None, _NAME] = None,
    details: Annotated[bool, option("Show submodels, sources and figures on other notes too.", "--details")] = False,
    json_file: options.JsonOption = None,
) -> None:
    """List the engines that ship, with their figures, or print the model card of one."""
    from phistack.ensemble.tasks.shipped_engines import card_of, elsewhere_table, facts_of_shipped, shipped_table

    if model is not None:
        if json_file:
            raise SettingsError("--json writes the figures of all engines that ship; leave the name out")
        say(card_of(model).rstrip())
        return
    found = facts_of_shipped()
    write_figures(json_file, found)
    if not found:
        say("no engine ships with this phistack; train your own: phistack train CORPUS --model BUNDLE")
        return
    console().print(shipped_table(found))
    if details:
        if any(engine["measured_elsewhere"] for engine in found):
            console().print(elsewhere_table(found))
        for engine in found:
            sources = engine["trained_on"].get("sources", "")
            say(f"{engine['name']}: {', '.join(engine['submodels'])}{f', trained on {sources}' if sources else ''}")
    more = "" if details else "--details shows more of all; "
    say(f"{more}phistack engines NAME prints the model card of one")
