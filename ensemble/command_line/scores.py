"""Commands that measure engines, and compare what systems or people marked."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import CorpusOptions, IntervalOptions, ResamplingOptions, TrainingOptions
from phistack.ensemble.command_line.options import argument, option
from phistack.ensemble.command_line.output import (
    console,
    n_spans,
    names_of,
    print_tables,
    say,
    say_remarks,
    write_figures,
)
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.writing import refuse_taken, write_new

if TYPE_CHECKING:
    from phistack.features.documents import Corpus


def command_given() -> str:
    """The command line of this process, for results files."""
    return shlex.join(["phistack", *sys.argv[1:]])


def evaluate(
    gold: options.GoldArgument,
    system: Annotated[Path, argument("SYSTEM", "The same notes as a system annotated them.")],
    *,
    json_file: options.JsonOption = None,
    allow_missing: options.AllowMissingOption = False,
    sentences: Annotated[Path | None, option("Sentence counts for the leak: a folder of ID.ann, JSON or TSV.")] = None,
    intervals: IntervalOptions,
    corpora: CorpusOptions,
) -> None:
    """Score annotated notes by all criteria of the shared tasks."""
    from phistack.ensemble.evaluation import evaluate, print_report, read_sentence_counts

    counts = read_sentence_counts(sentences, apart_from=(gold, system)) if sentences else None
    annotated = _read(corpora, [gold, system])
    drawn = intervals.resampling()
    report = evaluate(*annotated, allow_missing=allow_missing, sentence_counts=counts, resampling=drawn)
    write_figures(json_file, report.to_dict())
    print_report(report, console())


def compare(
    gold: options.GoldArgument,
    systems: Annotated[list[Path], argument("SYSTEM...", "The same notes, as two systems or more annotated them.")],
    *,
    criterion: options.CriterionOption = "strict",
    json_file: options.JsonOption = None,
    latex: options.LatexOption = None,
    seed: options.SeedOption = 0,
    allow_missing: options.AllowMissingOption = False,
    chance: ResamplingOptions,
    corpora: CorpusOptions,
) -> None:
    """Compare systems in precision, recall and F1: differences, their intervals, and whether they may be chance."""
    from phistack.ensemble.evaluation import compare, comparison_latex, print_comparison

    refuse_taken(*filter(None, (json_file, latex)))
    names = names_of(systems)
    reference, *answers = _read(corpora, [gold, *systems])
    comparison = compare(
        reference, dict(zip(names, answers, strict=True)), criterion=criterion, allow_missing=allow_missing,
        resampling=chance.resampling(seed),
    )  # fmt: skip
    write_figures(json_file, comparison.to_dict())
    if latex:
        write_new(latex, comparison_latex(comparison))
    print_comparison(comparison, console())


def agreement(
    first: Annotated[Path, argument("A", "Notes as one person annotated them.")],
    second: Annotated[Path, argument("B", "The same notes as another person annotated them.")],
    *,
    sheet: options.SheetOption = None,
    text: options.PlacesOption = False,
    json_file: options.JsonOption = None,
    latex: options.LatexOption = None,
    allow_missing: options.AllowMissingOption = False,
    seed: options.SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Compare two annotations of the same notes: F1 and Cohen's kappa by type, and spans to check before merging."""
    from phistack.ensemble.evaluation.agreement import agree, doubts_sheet
    from phistack.ensemble.evaluation.resampling import Resampling

    refuse_taken(*filter(None, (sheet, json_file, latex)))
    one, other = _read(corpora, [first, second])
    name, other_name = names_of([first, second])
    drawn = Resampling(seed=seed)
    found = agree(one, other, names=(name, other_name), allow_missing=allow_missing, resampling=drawn)
    if sheet:
        write_new(sheet, doubts_sheet(found.doubts, with_text=text))
    write_figures(json_file, found.to_dict(with_text=text))
    if latex:
        write_new(latex, "\n".join(t.latex("phistack agreement", t.title) for t in found.tables()))
    print_tables(found.tables())


def _read(corpora: CorpusOptions, paths: list[Path]) -> list[Corpus]:
    """The corpora, of which the first decides on the labels of all."""
    gold = corpora.read(paths[0])
    say_remarks(gold)
    return [gold, *(corpora.read(path, gold.label_set) for path in paths[1:])]


def errors(
    gold: options.GoldArgument,
    model: options.ModelOption,
    *,
    text: Annotated[
        bool, option("Show the text of the spans, on the screen, in JSON and on the page.", "--text")
    ] = False,
    json_file: options.JsonOption = None,
    html: Annotated[Path | None, option("Write a page; without --text it has no text.")] = None,
    latex: options.LatexOption = None,
    details: Annotated[bool, option("List each wrong decision.", "--details")] = False,
    submodels: options.SubsetOption = "",
    seed: options.SeedOption = 0,
    chance: ResamplingOptions,
    corpora: CorpusOptions,
) -> None:
    """Count an engine's wrong decisions by kind, label and submodel, and score other ways to choose."""
    from phistack.ensemble.bundles.bundle import load_bundle
    from phistack.ensemble.experiments.errors import analyse_errors, one_by_one

    refuse_taken(*filter(None, (json_file, html, latex)))
    notes = corpora.read(gold)
    say_remarks(notes)
    engine = load_bundle(model, only=comma_list(submodels))
    analysis = analyse_errors(notes, engine, with_text=text, resampling=chance.resampling(seed))
    write_figures(json_file, analysis.to_dict())
    if html:
        write_new(html, analysis.page())
    if latex:
        write_new(latex, analysis.latex())
    say(analysis.summary)
    print_tables([*analysis.tables(), *([one_by_one(analysis.errors)] if details else [])])
    if not details:
        say("each wrong decision: --details, --json or --html")


def check_labels(
    corpus: options.CorpusArgument,
    out: Annotated[Path, argument("OUT", "The list to write, as tab-separated values.")],
    *,
    text: Annotated[bool, option("Write ids and labels as they are, and the text of the places.", "--text")] = False,
    training: TrainingOptions,
) -> None:
    """List annotations that are probably wrong: those that the stack, out of fold, or other notes contradict."""
    from phistack.ensemble.experiments.label_doubts import check_labels, doubts_sheet, doubts_table

    refuse_taken(out)
    notes = training.read(corpus)
    say_remarks(notes)
    found = check_labels(notes, training.settings(notes), jobs=training.jobs, cache=training.cache)
    write_new(out, doubts_sheet(found, notes.documents, with_text=text))
    print_tables([doubts_table(found)])
    say(f"{out} lists {len(found)} places, the most doubtful first; the notes have {n_spans(notes.documents)} PHI")


def certify(
    gold: options.GoldArgument,
    model: options.ModelOption,
    *,
    policy: options.PolicyOption = "tag",
    max_leak: options.MaxLeakOption = None,
    confidence: options.ConfidenceOption = 0.95,
    out: Annotated[Path | None, option("Write the certificate, as JSON without text.")] = None,
    second: Annotated[
        Path | None, option("GOLD as a second person annotated it; what either marked is an identifier.")
    ] = None,
    into: Annotated[Path | None, option("The new bundle: the engine with this certificate.", metavar="BUNDLE")] = None,
    corpora: CorpusOptions,
) -> None:
    """Say at most how much PHI an engine and a policy leave, from annotated notes that the engine never saw."""
    import msgspec

    from phistack.ensemble.batch.settings import policy_from
    from phistack.ensemble.bundles.bundle import load_bundle
    from phistack.ensemble.bundles.certificate import with_certificate
    from phistack.ensemble.experiments.annotators import by_annotator, either
    from phistack.ensemble.experiments.certificate import certify, sentences_of, tables_of

    refuse_taken(*filter(None, (out, into)))
    annotations = dict(zip(names_of([gold, second]), _read(corpora, [gold, second]), strict=True)) if second else {}
    notes = either(*annotations.values()) if annotations else corpora.read(gold)
    if not annotations:
        say_remarks(notes)
    certificate = certify(notes, model, policy_from(policy), max_leak=max_leak, confidence=confidence)
    write_figures(out, msgspec.to_builtins(certificate))
    if into is not None:
        with_certificate(model, certificate, into)
    print_tables(tables_of(certificate))
    if annotations:
        print_tables([by_annotator(annotations, load_bundle(model), policy_from(policy), confidence)])
    for sentence in sentences_of(certificate):
        say(sentence)
    if into is not None:
        say(f"the engine with this certificate is in {into}; phistack deidentify --model {into} repeats it")


def frontier(
    corpus: options.CorpusArgument,
    model: options.ModelOption,
    *,
    out: Annotated[Path | None, option("A folder to make for figures and picture.")] = None,
    repetitions: Annotated[int, option("Runs of each subset; the median is reported.", min=1)] = 3,
    criterion: options.CriterionOption = "strict",
    intervals: IntervalOptions,
    corpora: CorpusOptions,
) -> None:
    """Measure notes per second and recall for every subset of an engine's submodels, on annotated notes."""
    from phistack.ensemble.experiments.frontier import measure_frontier
    from phistack.ensemble.experiments.parts import write_results

    notes = corpora.read(corpus)
    say_remarks(notes)
    measure = partial(
        measure_frontier, notes, model, repetitions=repetitions, criterion=criterion, resampling=intervals.resampling()
    )
    results = write_results(out, measure, command=command_given()) if out else measure()
    print_tables(results.tables().values())
    if out:
        say(f"figures, table and pictures are in {out}")
