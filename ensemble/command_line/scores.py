"""Commands that measure."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phistack.ensemble.command_line.groups import CorpusOptions, IntervalOptions, ResamplingOptions
from phistack.ensemble.command_line.options import (
    AllowMissingOption,
    CorpusArgument,
    CriterionOption,
    GoldArgument,
    JsonOption,
    LatexOption,
    ModelOption,
    SeedOption,
    SubsetOption,
)
from phistack.ensemble.command_line.output import console, names_of, say, say_remarks
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.writing import refuse_taken, write_new

if TYPE_CHECKING:
    from phistack.features.documents import Corpus


def command_given() -> str:
    """The command line of this process, for results files."""
    return shlex.join(["phistack", *sys.argv[1:]])


def evaluate(
    gold: GoldArgument,
    system: Annotated[
        Path, typer.Argument(metavar="SYSTEM", help="The same notes as a system annotated them.", show_default=False)
    ],
    *,
    json_file: JsonOption = None,
    allow_missing: AllowMissingOption = False,
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentence counts for the leak: a folder of ID.ann, JSON or TSV.", show_default=False),
    ] = None,
    intervals: IntervalOptions,
    corpora: CorpusOptions,
) -> None:
    """Score annotated notes by all criteria of the shared tasks."""
    import json

    from phistack.ensemble.evaluation import evaluate, print_report, read_sentence_counts

    counts = read_sentence_counts(sentences, apart_from=(gold, system)) if sentences else None
    annotated = _read(corpora, [gold, system])
    drawn = intervals.resampling()
    report = evaluate(*annotated, allow_missing=allow_missing, sentence_counts=counts, resampling=drawn)
    if json_file:
        write_new(json_file, json.dumps(report.to_dict(), indent=2) + "\n")
    print_report(report, console())


def compare(
    gold: GoldArgument,
    systems: Annotated[
        list[Path],
        typer.Argument(metavar="SYSTEM...", help="The same notes, as two systems or more annotated them."),
    ],
    *,
    criterion: CriterionOption = "strict",
    json_file: JsonOption = None,
    latex: LatexOption = None,
    seed: SeedOption = 0,
    allow_missing: AllowMissingOption = False,
    chance: ResamplingOptions,
    corpora: CorpusOptions,
) -> None:
    """Compare systems in precision, recall and F1: differences, their intervals, and whether they may be chance."""
    import json

    from phistack.ensemble.evaluation import compare, comparison_latex, print_comparison

    for target in filter(None, (json_file, latex)):
        refuse_taken(target)
    names = names_of(systems)
    reference, *answers = _read(corpora, [gold, *systems])
    comparison = compare(
        reference, dict(zip(names, answers, strict=True)), criterion=criterion, allow_missing=allow_missing,
        resampling=chance.resampling(seed),
    )  # fmt: skip
    if json_file:
        write_new(json_file, json.dumps(comparison.to_dict(), indent=2) + "\n")
    if latex:
        write_new(latex, comparison_latex(comparison))
    print_comparison(comparison, console())


def _read(corpora: CorpusOptions, paths: list[Path]) -> list[Corpus]:
    """The corpora, of which the first, gold, decides on the labels of all."""
    gold = corpora.read(paths[0])
    say_remarks(gold)
    return [gold, *(corpora.read(path, gold.label_set) for path in paths[1:])]


def errors(
    gold: GoldArgument,
    model: ModelOption,
    *,
    text: Annotated[
        bool, typer.Option("--text", help="Show the text of the spans, on the screen, in JSON and on the page.")
    ] = False,
    json_file: JsonOption = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page; without --text it has no text.", show_default=False)
    ] = None,
    latex: LatexOption = None,
    details: Annotated[bool, typer.Option("--details", help="List each wrong decision.")] = False,
    submodels: SubsetOption = "",
    seed: SeedOption = 0,
    chance: ResamplingOptions,
    corpora: CorpusOptions,
) -> None:
    """Sort an engine's wrong decisions by kind, label and who said so, beside other ways to choose."""
    import json

    from phistack.ensemble.bundles.bundle import load_bundle
    from phistack.ensemble.experiments.error_tables import one_by_one
    from phistack.ensemble.experiments.errors import analyse_errors

    refuse_taken(*filter(None, (json_file, html, latex)))
    notes = corpora.read(gold)
    say_remarks(notes)
    engine = load_bundle(model, only=comma_list(submodels))
    analysis = analyse_errors(notes, engine, with_text=text, resampling=chance.resampling(seed))
    if json_file:
        write_new(json_file, json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False) + "\n")
    if html:
        write_new(html, analysis.page())
    if latex:
        write_new(latex, analysis.latex())
    say(analysis.summary)
    for table in (*analysis.tables(), *([one_by_one(analysis.errors)] if details else [])):
        console().print(table.rich())
    if not details:
        say("each wrong decision: --details, --json or --html")


def frontier(
    corpus: CorpusArgument,
    model: ModelOption,
    *,
    out: Annotated[
        Path | None, typer.Option(help="A folder to make for figures and picture.", show_default=False)
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Runs of each subset; the median is reported.", min=1)] = 3,
    criterion: CriterionOption = "strict",
    intervals: IntervalOptions,
    corpora: CorpusOptions,
) -> None:
    """Measure notes per second and recall for every subset of an engine's submodels, on annotated notes."""
    from phistack.ensemble.experiments.frontier import measure_frontier
    from phistack.ensemble.experiments.results import write_results

    notes = corpora.read(corpus)
    say_remarks(notes)
    measure = partial(
        measure_frontier, notes, model, repetitions=repetitions, criterion=criterion, resampling=intervals.resampling()
    )
    results = write_results(out, measure, command=command_given()) if out else measure()
    for table in results.tables().values():
        console().print(table.rich())
    if out:
        say(f"figures, table and pictures are in {out}")
