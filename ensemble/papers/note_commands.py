"""The papers' commands on notes: causes of errors, the reader test, texts in the first person, what to annotate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.examples import with_examples
from phistack.ensemble.command_line.groups import CorpusOptions
from phistack.ensemble.command_line.options import (
    AllowMissingOption,
    ConvertedFormatOption,
    GoldArgument,
    JsonOption,
    LanguageOption,
    LatexOption,
    PlacesOption,
    SeedOption,
    SheetOption,
    SourceArgument,
    TargetArgument,
    argument,
    option,
)
from phistack.ensemble.command_line.output import console, names_of, say, say_remarks, say_where, warn
from phistack.ensemble.papers.options import Sampling
from phistack.features.errors import SettingsError
from phistack.features.writing import new_folder, refuse_taken, write_new


@with_examples(
    "phistack causes gold annotated --sheet causes.csv --text",
    "phistack causes gold annotated --judged causes.csv --latex table7.tex",
)
def causes(
    gold: GoldArgument,
    system: Annotated[Path, argument("SYSTEM", "The same notes as a system annotated them.")],
    *,
    sheet: SheetOption = None,
    judged: Annotated[Path | None, option("The sheet that a person filled in.")] = None,
    text: PlacesOption = False,
    latex: LatexOption = None,
    allow_missing: AllowMissingOption = False,
    corpora: CorpusOptions,
) -> None:
    """Count wrong spans by the nine causes of Trienes et al. (2020); a person judges those that cannot be computed."""
    from phistack.ensemble.papers import causes as by_cause

    refuse_taken(*filter(None, (sheet, latex)))
    notes = corpora.read(gold)
    say_remarks(notes)
    wrong = by_cause.wrong_spans(notes, corpora.read(system, notes.label_set), allow_missing=allow_missing)
    if judged:
        wrong = by_cause.judged(wrong, judged)
    table = by_cause.causes_table(wrong)
    if sheet:
        write_new(sheet, by_cause.causes_sheet(wrong, with_text=text))
    if latex:
        write_new(latex, table.latex("phistack causes", "Wrong spans by cause"))
    console().print(table)
    open_ = sum(not span.cause for span in wrong)
    if open_ and not judged:
        say(f"a person must judge {open_} of {len(wrong)}: write them with --sheet, give them back with --judged")


@with_examples(
    "phistack reader-test make real pseudonymised test --answers answers.json",
    "phistack reader-test score answers.json sheet-1.csv sheet-2.csv",
)
def reader_test(
    action: Annotated[str, argument("make|score", "What to do.")],
    paths: Annotated[
        list[Path],
        argument(
            "PATH...",
            "For make: the real notes, the pseudonymised ones and the folder to make; for score: the answers and the "
            "sheets of the judges.",
        ),
    ],
    *,
    answers: Annotated[Path | None, option("Where make writes the answers, apart from the folder.")] = None,
    records: Annotated[int, option("How many records, of those with most PHI; 0 for all.", min=0)] = 0,
    lines: Annotated[int, option("Consecutive lines of each record, at most.", min=1)] = 20,
    seed: SeedOption = 0,
    json_file: JsonOption = None,
    corpora: CorpusOptions,
) -> None:
    """Test whether readers can tell pseudonymised records from real ones: make the test, or score the judges."""
    import json

    from phistack.ensemble.papers import reader_test

    if action == "score" and len(paths) > 1:
        judges = reader_test.score_judges(paths[0], paths[1:], names_of(paths[1:]))
        if json_file:
            figures = {
                j.name: {"precision": j.precision, "recall": j.recall, "believed": len(j.believed)} for j in judges
            }
            write_new(json_file, json.dumps(figures, indent=2) + "\n")
        console().print(reader_test.judges_table(judges))
        return
    if action != "make" or len(paths) != 3 or answers is None:
        raise SettingsError(
            "give reader-test make REAL PSEUDONYMISED OUT --answers FILE, or reader-test score ANSWERS SHEET..."
        )
    real, out = corpora.read(paths[0]), paths[2]
    false = corpora.read(paths[1], real.label_set)
    refuse_taken(out, answers)
    if out.resolve() in answers.resolve().parents:
        raise SettingsError("the answers must not be in the folder that the judges get; give --answers another place")
    test = reader_test.make_test(real, false, records=records, lines=lines, seed=seed)
    with new_folder(out) as folder:
        (folder / "records.html").write_text(test.page(), encoding="utf-8")
        (folder / "sheet.csv").write_text(test.sheet(), encoding="utf-8")
        write_new(answers, test.answers())
    if test.without_phi:
        warn({"notes without any PHI marked, which are not shown": test.without_phi})
    console().print(reader_test.kinds_table(real, false))
    say(f"{len(test.excerpts)} records to judge are in {out}, with a sheet to fill in; keep {answers} from the judges")


@with_examples(
    "phistack egofy life.txt ego.jsonl --subject 'Mata Hari' --gender female",
    "phistack egofy a.jsonl b.jsonl --subject 'C. Darwin' --gender male",
)
def egofy(
    source: SourceArgument,
    out: TargetArgument,
    *,
    subject: Annotated[str, option("The full name of the biography's subject.")],
    gender: Annotated[str, option("male or female: the subject's pronouns.")],
    language: Annotated[str, option("nl or en.")] = "nl",
    to: ConvertedFormatOption = "",
    corpora: CorpusOptions,
) -> None:
    """Put a biography into the first person, to use public text in place of private notes; check the result."""
    from dataclasses import replace

    from phistack.ensemble.papers.egofication import Subject, egofied
    from phistack.features.formats.corpora import input_path, write_corpus
    from phistack.features.formats.recognise import format_by_ending

    whose = Subject(subject, gender)
    corpus = corpora.read(input_path(source))
    rewritten = replace(corpus, documents=tuple(egofied(document, whose, language) for document in corpus.documents))
    format = to or format_by_ending(out) or corpora.reading.reader.format_of(input_path(source))
    write_corpus(rewritten, out, format=format)
    say_where(rewritten.documents, out)


@with_examples(
    "phistack select sentences chats.jsonl chosen.jsonl --language en",
    "phistack select documents surveys reports chosen --institution '^[^-]+'",
)
def select(
    what: Annotated[str, argument("sentences|documents", "What to select.")],
    paths: Annotated[
        list[Path],
        argument("PATH...", "For sentences: the notes and the output; for documents: surveys, reports and the output."),
    ],
    *,
    language: LanguageOption = "",
    to: ConvertedFormatOption = "jsonl",
    plan: Sampling,
    corpora: CorpusOptions,
) -> None:
    """Select what to annotate: sentences likely to have PHI, marked beforehand, or documents of each institution."""
    from phistack.ensemble.papers.selecting import preselected, sampled
    from phistack.features.formats.corpora import write_corpus

    if (what, len(paths)) not in (("sentences", 2), ("documents", 3)):
        raise SettingsError("give select sentences NOTES OUT, or select documents SURVEYS REPORTS OUT")
    refuse_taken(paths[-1])
    first = corpora.read(paths[0], language=language)
    if what == "sentences":
        chosen = preselected(first, language or first.label_set.language)
    else:
        chosen = sampled(first, corpora.read(paths[1], first.label_set), plan)
    write_corpus(chosen, paths[-1], format=to)
    say_where(chosen.documents, paths[-1])
