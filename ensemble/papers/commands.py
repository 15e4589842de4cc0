"""The commands that train the systems of the papers and fill their tables; entry points add them to `phistack`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.examples import with_examples
from phistack.ensemble.command_line.groups import CorpusOptions, TrainingOptions
from phistack.ensemble.command_line.options import OutOption, argument, completing, one_of, option
from phistack.ensemble.command_line.output import console, say, say_remarks
from phistack.ensemble.papers.options import PAPERS, PaperOptions
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError
from phistack.features.writing import new_folder, refuse_taken


@with_examples(
    "phistack reproduce zhao2020 train test --out tables --quick --text",
    "phistack reproduce berg2019-crf train test --out tables --add others",
)
def reproduce(
    paper: Annotated[str, argument("PAPER", f"{one_of(PAPERS)}.", autocompletion=completing(PAPERS))],
    corpus: Annotated[Path, argument("TRAIN", "Annotated notes to train on.")],
    test: Annotated[Path, argument("TEST", "Annotated notes to score on.")],
    out: OutOption,
    *,
    add: Annotated[
        list[Path] | None,
        option(
            "In berg2019-*, further annotated notes that are learned from too, for the columns of added corpora; twice "
            "for two corpora."
        ),
    ] = None,
    options: PaperOptions,
    training: TrainingOptions,
) -> None:
    """Train the system of a paper and fill its tables, with the paper's figures beside yours."""
    with stage("reading the notes"):
        from phistack.ensemble.papers.reproduction import published, reproduce, settings_of, write_reproduction

        published(paper)
        if training.preset not in ("", paper):
            raise SettingsError(f"the tables of {paper} are made with its own preset; leave out --preset")
        training = replace(training, preset=paper)
        notes = training.read(corpus)
        other = training.read(test, notes.label_set)
        say_remarks(notes)
        settings = training.settings(notes)
        further = [training.read(path, notes.label_set) for path in add or ()]
    kept = training.cache or out.with_name(f"{out.name}.folds")
    found = write_reproduction(out, lambda: reproduce(
        paper, notes, other, settings_of(paper, settings, quick=options.quick), options, added=further,
        jobs=training.jobs, cache=kept,
    ))  # fmt: skip
    say(found.here)
    for table in found.shown.values():
        console().print(table)
    say(found.origin.protocol.removeprefix(found.here).strip())
    say(f"the tables as text and for LaTeX, all figures, and a page that shows them were written to {out}")
    say(f"what submodels proposed is kept in {kept}, for the same command again; remove it when you need no more")


@with_examples(
    "phistack baseline train dev",
    "phistack baseline train dev --out baselines",
)
def baseline(
    training: Annotated[Path, argument("TRAIN", "Annotated notes.")],
    test: Annotated[Path, argument("TEST", "Others, to be scored on.")],
    *,
    out: Annotated[Path | None, option("A folder to make, with TEST as each baseline annotates it.")] = None,
    corpora: CorpusOptions,
) -> None:
    """Score what any engine must beat: looking up the PHI of the training notes, if unambiguous or by usual label."""
    from phistack.ensemble.evaluation import evaluate_systems
    from phistack.ensemble.evaluation.tables import Table, TableRow, share
    from phistack.ensemble.papers.plan import entity_baselines
    from phistack.features.formats import write_corpus

    if out:
        refuse_taken(out)
    learned = corpora.read(training)
    say_remarks(learned)
    gold = corpora.read(test, learned.label_set)
    found = entity_baselines(learned, gold)
    reports = evaluate_systems(gold, found)
    if out:
        format = corpora.reading.reader.format_of(test)
        with new_folder(out) as folder:
            for name, corpus in found.items():
                write_corpus(corpus, folder / name.replace(" ", "-"), format=format)
    rows: list[TableRow] = [(name, *map(share, report.strict.measures.values())) for name, report in reports.items()]
    title = f"Baselines by entity, strict, on {len(gold)} notes"
    console().print(Table(("baseline", "precision", "recall", "F1"), [rows], title))
