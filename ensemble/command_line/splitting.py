"""The command that divides an annotated corpus into parts."""

from __future__ import annotations

from typing import Annotated

from phistack.ensemble.command_line.choices import one_of
from phistack.ensemble.command_line.groups import CorpusOptions
from phistack.ensemble.command_line.options import (
    CorpusArgument,
    GroupByOption,
    NewFolderArgument,
    PartsFormatOption,
    SeedOption,
    option,
)
from phistack.ensemble.command_line.output import n_spans, say, say_remarks, warn
from phistack.ensemble.tasks.splits import PATIENT, UNITS, USUAL


def split(
    corpus: CorpusArgument,
    out: NewFolderArgument,
    *,
    parts: Annotated[
        str, option("The parts and their shares, which sum to 1, or 100.", metavar="NAME=SHARE,...")
    ] = USUAL,
    by: Annotated[str, option(f"{one_of(UNITS)}: what is never divided between parts.", names=UNITS)] = PATIENT,
    group_by: GroupByOption = "",
    stratify: Annotated[bool, option("Give each part its share of the spans of each label.", "--stratify")] = False,
    to: PartsFormatOption = "",
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
        ("patients with notes in more than one part, so an engine knows them before it is tested",
         patients_in_several(made.values())),
        ("labels that only one part has", len(labels_in_one_part(part.documents for part in made.values()))),
    ) if count})  # fmt: skip
