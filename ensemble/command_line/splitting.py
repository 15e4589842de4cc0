"""The command that divides an annotated corpus into parts."""

from __future__ import annotations

from typing import Annotated

import typer

from phistack.ensemble.command_line.choices import FORMATS, completing, one_of
from phistack.ensemble.command_line.groups import CorpusOptions, with_options
from phistack.ensemble.command_line.options import CorpusArgument, NewFolderArgument, SeedOption
from phistack.ensemble.command_line.output import n_spans, say, say_remarks, warn
from phistack.ensemble.tasks.splits import PATIENT, UNITS, USUAL


@with_options
def split(
    corpus: CorpusArgument,
    out: NewFolderArgument,
    *,
    parts: Annotated[
        str, typer.Option(metavar="NAME=SHARE,...", help="The parts and their shares, which make up 1, or 100.")
    ] = USUAL,
    by: Annotated[
        str, typer.Option(help=f"{one_of(UNITS)}: what no part separates.", autocompletion=completing(UNITS))
    ] = PATIENT,
    group_by: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Notes in whose names this regular expression finds the same are in one part; default: by patient.",
        ),
    ] = "",
    stratify: Annotated[
        bool, typer.Option("--stratify", help="Give each part its share of the spans of each label.")
    ] = False,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help=f"Format of the parts: {one_of(FORMATS)}; default: that of CORPUS.",
            autocompletion=completing(FORMATS),
        ),
    ] = "",
    seed: SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Split an annotated corpus into parts to train, validate and test on; each note is in one of them."""
    from phistack.ensemble.stacking.folds import labels_in_one_part, patients_in_several, patients_of
    from phistack.ensemble.tasks.splits import shares_of, write_parts
    from phistack.ensemble.tasks.splits import split as split_corpus
    from phistack.features.formats.corpora import input_path
    from phistack.features.writing import refuse_taken

    refuse_taken(out)
    shares = shares_of(parts)
    notes = corpora.read(input_path(corpus))
    format = to or corpora.reading.reader.format_of(input_path(corpus))
    made = split_corpus(notes, shares, by=by, group_by=group_by, stratify=stratify, seed=seed)
    places = write_parts(made, out, format=format, packed=corpus.suffix.lower() == ".gz")
    say_remarks(notes)
    for name, part in made.items():
        n_patients, n_phi = len(patients_of(part)), n_spans(part.documents)
        say(f"{name}: {len(part)} notes of {n_patients} patients with {n_phi} PHI are in {places[name]}")
    warn({what: count for what, count in (
        ("patients with notes in more than one part, which an engine knows before it is tested on them",
         patients_in_several(made.values())),
        ("labels that one part alone has", len(labels_in_one_part(part.documents for part in made.values()))),
    ) if count})  # fmt: skip
