"""Commands that make notes or bring them into another form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensemble.command_line.options import (
    FormatOption,
    LabelSetOption,
    MapLabelsOption,
    SeedOption,
    SourceArgument,
    TargetArgument,
    UnknownLabelsOption,
)
from ensemble.command_line.output import n_spans, say, warn

__all__ = ["convert", "synthesize"]


def synthesize(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder or file to write.", show_default=False)],
    documents: Annotated[int, typer.Option(help="How many notes.", min=1)] = 100,
    to: FormatOption = "i2b2",
    seed: SeedOption = 0,
) -> None:
    """Write annotated synthetic English notes."""
    from ensemble.synthesis import synthesize
    from features.formats import write_corpus

    corpus = synthesize(documents, seed=seed)
    write_corpus(corpus, out, format=to)
    say(f"{len(corpus)} notes with {n_spans(corpus.documents)} PHI are in {out}")


def convert(
    source: SourceArgument,
    out: TargetArgument,
    to: FormatOption,
    label_set: LabelSetOption = "",
    map_labels: MapLabelsOption = "",
    accept_unknown_labels: UnknownLabelsOption = False,
) -> None:
    """Turn a corpus into another format, and its labels into those of another set."""
    from features.formats import read_corpus, write_corpus

    corpus = read_corpus(source, label_set=label_set or None, accept_unknown_labels=accept_unknown_labels)
    if map_labels:
        corpus = corpus.mapped(map_labels)
    write_corpus(corpus, out, format=to)
    warn(corpus.warnings)
    say(f"{len(corpus)} notes with {n_spans(corpus.documents)} PHI are in {out}")
