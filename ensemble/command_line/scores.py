"""Commands that measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensemble.command_line.options import (
    CorpusArgument,
    CriterionOption,
    JsonOption,
    LabelSetOption,
    ModelOption,
    ReadingOptions,
    UnknownLabelsOption,
    with_options,
)
from ensemble.command_line.output import console, say, warn, write_new

__all__ = ["evaluate", "frontier"]

AllowMissingOption = Annotated[
    bool, typer.Option("--allow-missing", help="Score the notes that all have, and name the others.")
]


@with_options
def evaluate(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="The annotated notes.", show_default=False)],
    system: Annotated[
        Path, typer.Argument(metavar="SYSTEM", help="The same notes as a system annotated them.", show_default=False)
    ],
    *,
    json_file: JsonOption = None,
    label_set: LabelSetOption = "",
    accept_unknown_labels: UnknownLabelsOption = False,
    allow_missing: AllowMissingOption = False,
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentences of each note, for the leak: a folder of ID.ann, JSON or TSV.", show_default=False),
    ] = None,
    reading: ReadingOptions,
) -> None:
    """Score annotated notes by all criteria of the shared tasks."""
    import json

    from ensemble.evaluation import evaluate, print_report, read_sentence_counts

    counts = read_sentence_counts(sentences, apart_from=(gold, system)) if sentences else None
    read = reading.reader.read
    gold_corpus = read(gold, label_set=label_set or None, accept_unknown_labels=accept_unknown_labels)
    system_corpus = read(system, label_set=gold_corpus.label_set, accept_unknown_labels=accept_unknown_labels)
    report = evaluate(gold_corpus, system_corpus, allow_missing=allow_missing, sentence_counts=counts)
    if json_file:
        write_new(json_file, json.dumps(report.to_dict(), indent=2) + "\n")
    print_report(report, console())


@with_options
def frontier(
    corpus: CorpusArgument,
    model: ModelOption,
    *,
    out: Annotated[
        Path | None, typer.Option(help="A folder to make for figures and picture.", show_default=False)
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Of each subset; the median counts.", min=1)] = 3,
    criterion: CriterionOption = "strict",
    label_set: LabelSetOption = "",
    accept_unknown_labels: UnknownLabelsOption = False,
    reading: ReadingOptions,
) -> None:
    """Measure notes per second and recall for every subset of an engine's submodels, on annotated notes."""
    from ensemble.frontier.measuring import measure_frontier, write_frontier
    from ensemble.frontier.presentation import frontier_table

    notes = reading.reader.read(corpus, label_set=label_set or None, accept_unknown_labels=accept_unknown_labels)
    warn(notes.warnings)
    if out:
        results = write_frontier(out, notes, model, repetitions=repetitions, criterion=criterion)
    else:
        results = measure_frontier(notes, model, repetitions=repetitions, criterion=criterion)
    console().print(frontier_table(results))
    if out:
        say(f"figures and picture are in {out}")
