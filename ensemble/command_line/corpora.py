"""Commands that make notes or bring them into another form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phistack.ensemble.command_line.groups import CorpusOptions, ReadingOptions, with_options
from phistack.ensemble.command_line.options import (
    AnnotatedFormatOption,
    ConvertedFormatOption,
    CorpusArgument,
    KeyOption,
    MapLabelsOption,
    NewFolderArgument,
    PolicyOption,
    PresentYearOption,
    SeedOption,
    SourceArgument,
    StrategyOption,
    SubstituteOption,
    SynthesisedFormatOption,
    TargetArgument,
)
from phistack.ensemble.command_line.output import say, say_remarks, say_where, warn
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError

if TYPE_CHECKING:
    from phistack.ensemble.tasks.pseudonyms import PseudonymousCorpus


def synthesize(
    out: TargetArgument,
    documents: Annotated[int, typer.Option(help="How many notes.", min=1)] = 100,
    to: SynthesisedFormatOption = "",
    seed: SeedOption = 0,
    language: Annotated[
        str, typer.Option(help="en or de (labels of i2b2-2014), es (meddocan), nl (nut), no or sv (stockholm-epr-phi).")
    ] = "en",
    registers: Annotated[
        str, typer.Option(help="hospital (notes of a few types) or all (as notes are met).")
    ] = "hospital",
    lexicon: Annotated[
        str, typer.Option(help="With all: whole, train, or test (names and words train lacks).")
    ] = "whole",
    carriers: Annotated[
        Path | None,
        typer.Option(
            help="English notes without identifiers, which are written too, with invented ones.", show_default=False
        ),
    ] = None,
) -> None:
    """Write annotated synthetic notes: English, German, Spanish, Dutch, Norwegian or Swedish."""
    from phistack.ensemble.synthesis import carry, synthesize
    from phistack.features.formats import read_corpus
    from phistack.features.formats.corpora import write_notes
    from phistack.features.formats.recognise import format_told_by

    if carriers and language != "en":
        raise SettingsError("only English notes can carry invented identifiers: --carriers goes with --language en")
    with stage("inventing the notes"):
        corpus = synthesize(documents, seed=seed, language=language, registers=registers, lexicon=lexicon)
        if carriers:
            carrying = carry(read_corpus(carriers, accept_unknown_labels=True).documents, seed=seed)
            corpus = replace(corpus, documents=corpus.documents + carrying.documents)
        usual = "i2b2" if corpus.label_set.name == "i2b2-2014" else "brat"
        write_notes(corpus, out, format=to or format_told_by(out) or usual)
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
    from phistack.features.formats.corpora import input_path, write_notes
    from phistack.features.formats.recognise import format_told_by

    format = to or format_told_by(out)
    if not format:
        raise SettingsError(f"the name {out} does not show a format; give one with --to, for example --to jsonl")
    corpus = corpora.read(input_path(source))
    if map_labels:
        corpus = corpus.mapped(map_labels)
    write_notes(corpus, out, format=format)
    say_remarks(corpus)
    say_where(corpus.documents, out)


@with_options
def egofy(
    source: SourceArgument,
    out: TargetArgument,
    *,
    subject: Annotated[str, typer.Option(help="Whose biography it is, in full.", show_default=False)],
    gender: Annotated[str, typer.Option(help="male or female: which pronouns are the subject's.", show_default=False)],
    language: Annotated[str, typer.Option(help="nl or en.")] = "nl",
    to: ConvertedFormatOption = "",
    corpora: CorpusOptions,
) -> None:
    """Tell a biography in the first person, so that public text stands in for private notes; read it afterwards."""
    from dataclasses import replace

    from phistack.ensemble.synthesis.egofication import Subject, egofied
    from phistack.features.formats.corpora import input_path, write_notes
    from phistack.features.formats.recognise import format_told_by

    whose = Subject(subject, gender)
    corpus = corpora.read(input_path(source))
    told = replace(corpus, documents=tuple(egofied(document, whose, language) for document in corpus.documents))
    write_notes(told, out, format=to or format_told_by(out) or corpora.reading.reader.format_of(input_path(source)))
    say_where(told.documents, out)


@with_options
def pseudonymise(
    corpus: CorpusArgument,
    out: TargetArgument,
    *,
    policy: PolicyOption = "surrogate",
    strategy: StrategyOption = None,
    present_year: PresentYearOption = None,
    substitute: SubstituteOption = None,
    key_file: KeyOption = None,
    seed: Annotated[
        int | None,
        typer.Option(help="In place of a key; whoever knows it can undo the surrogates.", show_default=False),
    ] = None,
    language: Annotated[str, typer.Option(help="ISO 639-1 code; default: from the labels or text.")] = "",
    to: AnnotatedFormatOption = "",
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Name notes by invented numbers, PATIENT-RECORD, as the key decides.")
    ] = False,
    review: Annotated[
        Path | None,
        typer.Option(help="Write a CSV sheet of the places that a person must see.", show_default=False),
    ] = None,
    corpora: CorpusOptions,
) -> None:
    """Replace the annotated PHI of a corpus by surrogates and move its spans: how a corpus is made to be shared."""
    from phistack.ensemble.batch.commands import key_or_seed, policy_from
    from phistack.ensemble.deidentification.keyed_choices import usable_key
    from phistack.ensemble.tasks.pseudonyms import pseudonymise_corpus, renumbered
    from phistack.features.formats.corpora import input_path, write_notes
    from phistack.features.formats.recognise import format_told_by
    from phistack.features.writing import new_file, refuse_taken

    refuse_taken(*(path for path in (out, review) if path and str(path) != "-"))
    chosen = policy_from(policy, strategy or (), substitute or (), present_year=present_year)
    key = key_or_seed(key_file, seed)
    notes = corpora.read(input_path(corpus), language=language)
    format = to or format_told_by(out) or corpora.reading.reader.format_of(input_path(corpus))
    if new_ids:
        notes = renumbered(notes, usable_key(key))
    made = pseudonymise_corpus(notes, chosen, key, language=language)
    if review:
        with new_file(review) as sheet:
            sheet.write_text(made.sheet(), encoding="utf-8")
            write_notes(made.result.corpus, out, format=format)
    else:
        write_notes(made.result.corpus, out, format=format)
    say_remarks(notes)
    say_where(made.result.corpus.documents, out)
    warn(_to_be_told(made))


@with_options
def vectors(
    notes: SourceArgument,
    out: NewFolderArgument,
    *,
    size: Annotated[int, typer.Option(help="Numbers of a vector.", min=2, max=4096)] = 100,
    window: Annotated[int, typer.Option(help="Words on either side that a word foresees.", min=1)] = 5,
    epochs: Annotated[int, typer.Option(help="Passes over the notes.", min=1)] = 5,
    least_count: Annotated[int, typer.Option(help="Words that occur less often are left out.", min=1)] = 5,
    clusters: Annotated[int, typer.Option(help="Into how many clusters words are divided.", min=2)] = 500,
    seed: SeedOption = 0,
    reading: ReadingOptions,
) -> None:
    """Learn word vectors and clusters from notes without annotation, for `vectors` and `clusters` under [features]."""
    from phistack.ensemble.training.unlabelled import learn_vectors, write_vectors
    from phistack.features.formats.corpora import input_path
    from phistack.features.writing import refuse_taken

    refuse_taken(out)
    corpus = reading.reader.read(input_path(notes), accept_unknown_labels=True)
    learned = learn_vectors(
        corpus.documents, size=size, window=window, epochs=epochs, least_count=least_count, seed=seed
    )
    write_vectors(out, learned, n_clusters=clusters)
    say(f"vectors of {len(learned.words)} words are in {out}/vectors.txt, their clusters in {out}/clusters.txt")
    say("both hold words of the notes, names too: keep them as you keep the notes")


@with_options
def language_model(
    notes: SourceArgument,
    out: NewFolderArgument,
    *,
    size: Annotated[int, typer.Option(help="Numbers of a state in each direction.", min=2, max=4096)] = 128,
    vector: Annotated[int, typer.Option(help="Numbers of a character's vector.", min=2, max=1024)] = 32,
    epochs: Annotated[int, typer.Option(help="Passes over the notes.", min=1)] = 10,
    least_count: Annotated[int, typer.Option(help="Characters that occur less often are unknown.", min=1)] = 3,
    seed: SeedOption = 0,
    reading: ReadingOptions,
) -> None:
    """Learn character language models from notes without annotation, for `language_models` under [features]."""
    from phistack.ensemble.training.language_models import learn_language_models
    from phistack.features.formats.corpora import input_path
    from phistack.features.writing import refuse_taken
    from phistack.submodels.blstm.character_training import LanguageModelPlan

    refuse_taken(out)
    corpus = reading.reader.read(input_path(notes), accept_unknown_labels=True)
    plan = LanguageModelPlan(units=size, vector=vector, epochs=epochs, least_count=least_count)
    models = learn_language_models(corpus.documents, plan, seed=seed)
    models.write(out)
    say(f"forward and backward language models of {len(models.characters)} characters are in {out}")
    if "perplexity" in models.trained:
        say(f"perplexity on every twentieth note, which they did not learn from: {models.trained['perplexity']:.2f}")
    say("what they foresee may be text of the notes: keep them as you keep the notes")


def _to_be_told(made: PseudonymousCorpus) -> dict[str, int]:
    """What a person should know of a pseudonymous corpus, and how often it was so."""
    told = {
        "tags in place of surrogates, for a person to rewrite (see --review)": len(made.result.tags),
        "places that still hold PHI of the patient, which nothing marked (see --review)": made.n_still_there,
        "spans that were removed with their text": made.result.removed,
        "notes without any PHI marked, which are as they were": made.n_unmarked,
    }
    return {what: count for what, count in told.items() if count}
