"""Commands that make notes or bring them into another form."""

from __future__ import annotations

from typing import Annotated

import typer

from ensemble.command_line.groups import CorpusOptions, with_options
from ensemble.command_line.options import (
    ConvertedFormatOption,
    MapLabelsOption,
    SeedOption,
    SourceArgument,
    SynthesisedFormatOption,
    TargetArgument,
)
from ensemble.command_line.output import say_remarks, say_where
from ensemble.tools.progress import stage
from features.errors import SettingsError

__all__ = ["convert", "synthesize"]


def synthesize(
    out: TargetArgument,
    documents: Annotated[int, typer.Option(help="How many notes.", min=1)] = 100,
    to: SynthesisedFormatOption = "",
    seed: SeedOption = 0,
) -> None:
    """Write annotated synthetic English notes."""
    from ensemble.synthesis import synthesize
    from features.formats.corpora import write_notes
    from features.formats.recognise import format_told_by

    with stage("inventing the notes"):
        corpus = synthesize(documents, seed=seed)
        write_notes(corpus, out, format=to or format_told_by(out) or "i2b2")
    say_where(corpus.documents, out)


@with_options
def convert(
    source: SourceArgument,
    out: TargetArgument,
    *,
    to: ConvertedFormatOption = "",
    map_labels: MapLabelsOption = "",
    corpora: CorpusOptions,
) -> None:
    """Turn a corpus into another format, and its labels into those of another set."""
    from features.formats.corpora import input_path, write_notes
    from features.formats.recognise import format_told_by

    format = to or format_told_by(out)
    if not format:
        raise SettingsError(f"the name {out} does not show a format; give one with --to, for example --to jsonl")
    corpus = corpora.read(input_path(source))
    if map_labels:
        corpus = corpus.mapped(map_labels)
    write_notes(corpus, out, format=format)
    say_remarks(corpus)
    say_where(corpus.documents, out)
