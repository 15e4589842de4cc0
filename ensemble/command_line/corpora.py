"""Commands that make, convert and split corpora, and that learn from unannotated notes."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import CorpusOptions, ReadingOptions
from phistack.ensemble.command_line.options import FORMATS, FORMATS_OF_SPANS, STYLES, argument, one_of, option
from phistack.ensemble.command_line.output import n_spans, say, say_remarks, say_where, warn
from phistack.ensemble.tasks.splits import PATIENT, UNITS, USUAL
from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError, no_such


def synthesize(
    out: options.TargetArgument,
    documents: Annotated[int, option("How many notes.", min=1)] = 100,
    to: Annotated[
        str,
        option(
            f"{one_of(FORMATS_OF_SPANS)}; default: by the file ending of OUT, or i2b2 (brat in other languages).",
            names=FORMATS_OF_SPANS,
        ),
    ] = "",
    seed: options.SeedOption = 0,
    language: Annotated[
        str, option("en or de (labels of i2b2-2014), es (meddocan), nl (nut), no or sv (stockholm-epr-phi).")
    ] = "en",
    registers: Annotated[
        str, option("hospital (notes of a few types) or all (every register, with noise).")
    ] = "hospital",
    lexicon: Annotated[str, option("Names and words: whole, train, or test (those that train lacks).")] = "whole",
    carriers: Annotated[
        Path | None, option("English notes without identifiers, into which to put invented ones.")
    ] = None,
) -> None:
    """Write annotated synthetic notes: English, German, Spanish, Dutch, Norwegian or Swedish."""
    from phistack.ensemble.synthesis import carry, synthesize
    from phistack.features.formats import read_corpus
    from phistack.features.formats.corpora import write_corpus
    from phistack.features.formats.recognise import format_by_ending

    if carriers and language != "en":
        raise SettingsError("only English notes can carry synthetic identifiers: use --carriers with --language en")
    with stage("writing the notes"):
        corpus = synthesize(documents, seed=seed, language=language, registers=registers, lexicon=lexicon)
        if carriers:
            carrying = carry(read_corpus(carriers, accept_unknown_labels=True).documents, seed=seed)
            corpus = replace(corpus, documents=corpus.documents + carrying.documents)
        usual = "i2b2" if corpus.label_set.name == "i2b2-2014" else "brat"
        write_corpus(corpus, out, format=to or format_by_ending(out) or usual)
    say_where(corpus.documents, out)


def convert(
    source: options.SourceArgument,
    out: options.TargetArgument,
    *,
    to: options.ConvertedFormatOption = "",
    map_labels: options.MapLabelsOption = "",
    corpora: CorpusOptions,
) -> None:
    """Convert a corpus to another format, and its labels to those of another set."""
    from phistack.features.formats.corpora import input_path, write_corpus
    from phistack.features.formats.recognise import format_by_ending

    format = to or format_by_ending(out)
    if not format:
        raise SettingsError(f"the name {out} does not show a format; give one with --to, for example --to jsonl")
    corpus = corpora.read(input_path(source))
    if map_labels:
        corpus = corpus.mapped(map_labels)
    write_corpus(corpus, out, format=format)
    say_remarks(corpus)
    say_where(corpus.documents, out)


def split(
    corpus: options.CorpusArgument,
    out: options.NewFolderArgument,
    *,
    parts: Annotated[
        str, option("The parts and their shares, which sum to 1, or 100.", metavar="NAME=SHARE,...")
    ] = USUAL,
    by: Annotated[str, option(f"{one_of(UNITS)}: what is never divided between parts.", names=UNITS)] = PATIENT,
    group_by: options.GroupByOption = "",
    stratify: Annotated[bool, option("Give each part its share of the spans of each label.", "--stratify")] = False,
    to: Annotated[str, option(f"Format of the parts: {one_of(FORMATS)}; default: that of CORPUS.", names=FORMATS)] = "",
    seed: options.SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Split an annotated corpus into parts to train, validate and test on."""
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
    several = patients_in_several(made.values())
    warn(
        {
            "patients with notes in more than one part, so an engine knows them before it is tested": several,
            "labels that only one part has": len(labels_in_one_part(part.documents for part in made.values())),
        }
    )


def pseudonymise(
    corpus: options.CorpusArgument,
    out: options.TargetArgument,
    *,
    policy: options.PolicyOption = "surrogate",
    strategy: options.StrategyOption = None,
    present_year: options.PresentYearOption = None,
    substitute: options.SubstituteOption = None,
    key_file: options.KeyOption = None,
    seed: Annotated[int | None, option("Seed in place of a key; whoever knows it can undo the surrogates.")] = None,
    language: options.LanguageOption = "",
    to: options.AnnotatedFormatOption = "",
    new_ids: Annotated[
        bool, option("Name notes by synthetic numbers, PATIENT-RECORD, which depend on the key.", "--new-ids")
    ] = False,
    review: Annotated[Path | None, option("Write a CSV sheet of the places that a person must check.")] = None,
    corpora: CorpusOptions,
) -> None:
    """Replace the annotated PHI of a corpus by surrogates and move its spans, so that it can be shared."""
    from phistack.ensemble.batch.settings import key_or_seed, policy_from
    from phistack.ensemble.deidentification.keyed_choices import usable_key
    from phistack.ensemble.tasks.pseudonyms import REVIEWED, STILL_THERE, pseudonymise, renumbered, to_review
    from phistack.features.files import sheet
    from phistack.features.formats.corpora import input_path, write_corpus
    from phistack.features.formats.recognise import format_by_ending
    from phistack.features.writing import new_file, refuse_taken

    refuse_taken(*(path for path in (out, review) if path and str(path) != "-"))
    chosen = policy_from(policy, strategy or (), substitute or (), present_year=present_year)
    key = key_or_seed(key_file, seed)
    notes = corpora.read(input_path(corpus), language=language)
    format = to or format_by_ending(out) or corpora.reading.reader.format_of(input_path(corpus))
    if new_ids:
        notes = renumbered(notes, usable_key(key))
    made = pseudonymise(notes, chosen, key, language=language)
    places = to_review(notes, made, chosen, language=language)
    with new_file(review) if review else nullcontext() as part:
        if part:
            part.write_text(sheet(REVIEWED, places), encoding="utf-8")
        write_corpus(made.corpus, out, format=format)
    say_remarks(notes)
    say_where(made.corpus.documents, out)
    still_there = sum(place[-1] == STILL_THERE for place in places)
    warn(
        {
            "tags in place of surrogates, for a person to rewrite (see --review)": len(made.tags),
            "places with unmarked PHI of the patient (see --review)": still_there,
            "spans that were removed with their text": made.removed,
            "notes without any PHI marked, which are unchanged": sum(not one.replacements for one in made.results),
        }
    )


def fill(
    notes: options.SourceArgument,
    out: options.TargetArgument,
    *,
    style: Annotated[
        str, option(f"A TOML file, or {one_of(STYLES)}: how PHI was taken out; default: recognised.", names=STYLES)
    ] = "",
    language: options.LanguageOption = "",
    like: Annotated[
        Path | None, option("Annotated notes, from which to learn what ___ replaces; default: invented ones.")
    ] = None,
    sure: Annotated[float, option("Leave ___ if the best guess is less probable than this.", min=0, max=1)] = 0.6,
    copies: Annotated[int, option("Notes to make of each, about different patients.", min=1)] = 1,
    unfilled: Annotated[Path | None, option("Write a list of the placeholders that are left.")] = None,
    text: Annotated[bool, option("Add the text of the placeholders to the list.", "--text")] = False,
    to: options.AnnotatedFormatOption = "",
    seed: options.SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Put invented identifiers where PHI was taken out, which makes an annotated corpus."""
    from phistack.ensemble.tasks.filling import fill, unfilled_sheet
    from phistack.ensemble.tasks.placeholders import Style
    from phistack.features.formats.corpora import input_path, write_corpus
    from phistack.features.formats.recognise import format_by_ending
    from phistack.features.writing import new_file, refuse_taken

    refuse_taken(*(path for path in (out, unfilled) if path and str(path) != "-"))
    chosen = Style.of(style) if style else None
    source = corpora.read(input_path(notes), language=language)
    annotated = corpora.read(like, language=language) if like else None
    made = fill(source, chosen, language=language, like=annotated, sure=sure, copies=copies, seed=seed)
    format = to or format_by_ending(out) or corpora.reading.reader.format_of(input_path(notes))
    if format == "text":
        format = "jsonl" if str(out) == "-" else "brat"
    with new_file(unfilled) if unfilled else nullcontext() as sheet:
        if sheet:
            sheet.write_text(unfilled_sheet(made.unfilled, with_text=text), encoding="utf-8")
        write_corpus(made.corpus, out, format=format)
    say_remarks(source)
    say_where(made.corpus.documents, out)
    warn(Counter(f"placeholders of the style {made.style} that are left, {one.why}" for one in made.unfilled))


def vectors(
    notes: options.SourceArgument,
    out: options.NewFolderArgument,
    *,
    size: Annotated[int, option("Dimensions of a vector.", min=2, max=4096)] = 100,
    window: Annotated[int, option("Words on either side that a word predicts.", min=1)] = 5,
    epochs: Annotated[int, option("Passes over the notes.", min=1)] = 5,
    least_count: Annotated[int, option("Words that occur less often are left out.", min=1)] = 5,
    clusters: Annotated[int, option("Number of clusters of words.", min=2)] = 500,
    brown: Annotated[
        bool, option("Brown's clusters, from bigrams, instead of those of the vectors; slower.", "--brown")
    ] = False,
    seed: options.SeedOption = 0,
    reading: ReadingOptions,
) -> None:
    """Learn word vectors and clusters from unannotated notes, for `vectors` and `clusters` under [features]."""
    from phistack.ensemble.training.unlabelled import learn_vectors, write_vectors
    from phistack.features.errors import need
    from phistack.features.formats.corpora import input_path
    from phistack.features.writing import refuse_taken

    refuse_taken(out)
    if brown:
        need("brown_clustering", "brown", "Brown clustering")
    corpus = reading.reader.read(input_path(notes), accept_unknown_labels=True)
    learned = learn_vectors(
        corpus.documents, size=size, window=window, epochs=epochs, least_count=least_count, seed=seed
    )
    write_vectors(out, learned, n_clusters=clusters, brown=corpus.documents if brown else ())
    say(f"vectors of {len(learned.words)} words are in {out}/vectors.txt, their clusters in {out}/clusters.txt")
    say("both hold words of the notes, also names: protect them as you protect the notes")


def tagger(
    corpus: options.CorpusArgument,
    out: Annotated[Path, argument("OUT", "The .json file to make.")],
    *,
    language: Annotated[str, option("ISO 639-1 code of the text; notes of others are refused.")] = "",
    reading: ReadingOptions,
) -> None:
    """Learn a tagger for `pos` or `ner` under [features].

    CORPUS is tagged text, a file *.tsv (a word, a tab and its tag in each line, an empty line after each sentence), or
    annotated notes, whose labels become the tags.
    """
    from phistack.ensemble.training.tagging import learn_tagger, read_tagged_text, share_right, tagged_sentences
    from phistack.features.columns.trained_tagger import SUFFIX
    from phistack.features.columns.word_columns import LANGUAGES
    from phistack.features.formats.corpora import input_path
    from phistack.features.writing import refuse_taken, write_new

    refuse_taken(out)
    if out.suffix != SUFFIX:
        raise SettingsError(f"a tagger is a {SUFFIX} file, so that settings know it; name it {out.stem}{SUFFIX}")
    if corpus.suffix == ".tsv":
        sentences = read_tagged_text(corpus)
    else:
        sentences = tagged_sentences(reading.reader.read(input_path(corpus), accept_unknown_labels=True).documents)
    if language and language not in LANGUAGES:
        raise SettingsError(no_such("language", language, LANGUAGES))
    with stage("learning a tagger"):
        n_last = -(-len(sentences) // 10)
        shown = share_right(learn_tagger(sentences[:-n_last], language), sentences[-n_last:])
        learned = learn_tagger(sentences, language)
    write_new(out, json.dumps(learned.to_dict(), ensure_ascii=False))
    say(f"a tagger of {len(learned.tags)} tags is in {out}; on the last tenth, which was held out, {shown}")
    say("it holds words of its text; an engine that reads it keeps it whole")


def language_model(
    notes: options.SourceArgument,
    out: options.NewFolderArgument,
    *,
    size: Annotated[int, option("Units of the state in each direction.", min=2, max=4096)] = 128,
    vector: Annotated[int, option("Dimensions of a character's vector.", min=2, max=1024)] = 32,
    epochs: Annotated[int, option("Passes over the notes.", min=1)] = 10,
    least_count: Annotated[int, option("Characters that occur less often are unknown.", min=1)] = 3,
    seed: options.SeedOption = 0,
    reading: ReadingOptions,
) -> None:
    """Learn character language models from unannotated notes, for `language_models` under [features]."""
    from phistack.ensemble.training.unlabelled import learn_language_models
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
        say(f"perplexity on every twentieth note, which was held out: {models.trained['perplexity']:.2f}")
    say("what they predict may be text of the notes: protect them as you protect the notes")
