"""Commands on what people annotate and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.groups import CorpusOptions, with_options
from phistack.ensemble.command_line.options import JsonOption, LatexOption, SeedOption
from phistack.ensemble.command_line.output import console, names_of, say, say_remarks, warn
from phistack.features.errors import SettingsError
from phistack.features.writing import new_folder, refuse_taken, write_new

SheetOption = Annotated[
    Path | None, typer.Option("--sheet", help="Write a CSV sheet of the places there.", show_default=False)
]
TextOption = Annotated[bool, typer.Option("--text", help="Put the text of the places into JSON and sheet.")]
CommonOption = Annotated[
    bool, typer.Option("--allow-missing", help="Compare the notes that both have, instead of refusing.")
]


@with_options
def agreement(
    first: Annotated[Path, typer.Argument(metavar="A", help="Notes as one annotated them.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="The same as another did.", show_default=False)],
    *,
    sheet: SheetOption = None,
    text: TextOption = False,
    json_file: JsonOption = None,
    latex: LatexOption = None,
    allow_missing: CommonOption = False,
    seed: SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Compare two annotations of the same notes: F1 and Cohen's kappa by type, and what to see before they are one."""
    import json

    from phistack.ensemble.evaluation.adjudication import doubts_sheet
    from phistack.ensemble.evaluation.agreement import agree
    from phistack.ensemble.evaluation.resampling import Resampling

    refuse_taken(*filter(None, (sheet, json_file, latex)))
    one = corpora.read(first)
    say_remarks(one)
    other = corpora.read(second, one.label_set)
    name, other_name = names_of([first, second])
    names, drawn = (name, other_name), Resampling(seed=seed)
    found = agree(one, other, names=names, allow_missing=allow_missing, resampling=drawn)
    if sheet:
        write_new(sheet, doubts_sheet(found.doubts, with_text=text))
    if json_file:
        write_new(json_file, json.dumps(found.to_dict(with_text=text), indent=2, ensure_ascii=False) + "\n")
    if latex:
        write_new(latex, "\n".join(t.latex("phistack agreement", t.title) for t in found.tables()))
    for table in found.tables():
        console().print(table.rich())


@with_options
def causes(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="The annotated notes.", show_default=False)],
    system: Annotated[Path, typer.Argument(metavar="SYSTEM", help="As a system annotated them.", show_default=False)],
    *,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a CSV sheet for a person to fill in.", show_default=False)
    ] = None,
    judged: Annotated[Path | None, typer.Option(help="The sheet that a person filled in.", show_default=False)] = None,
    text: TextOption = False,
    latex: LatexOption = None,
    allow_missing: CommonOption = False,
    corpora: CorpusOptions,
) -> None:
    """Count wrong spans by the nine causes of Trienes et al. (2020): computed where they can be, the others judged."""
    from phistack.ensemble.experiments import causes as by_cause

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
    console().print(table.rich())
    open_ = sum(not span.cause for span in wrong)
    if open_ and not judged:
        say(f"a person must judge {open_} of {len(wrong)}: write them with --sheet, give them back with --judged")


@with_options
def reader_test(
    action: Annotated[str, typer.Argument(metavar="make|score", help="What to do.", show_default=False)],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="For make: the real notes, the pseudonymised ones and the folder to make; for score: the answers and "
            "the sheets of the judges.",
            show_default=False,
        ),
    ],
    *,
    answers: Annotated[
        Path | None, typer.Option(help="Where make writes the answers, apart from the folder.", show_default=False)
    ] = None,
    records: Annotated[int, typer.Option(help="How many records, of those with most PHI; 0 for all.", min=0)] = 0,
    lines: Annotated[int, typer.Option(help="Consecutive lines of each record, at most.", min=1)] = 20,
    seed: SeedOption = 0,
    json_file: JsonOption = None,
    corpora: CorpusOptions,
) -> None:
    """Test whether readers can tell pseudonymised records from real ones: make the test, or score the judges."""
    import json

    from phistack.ensemble.experiments import reader_test

    if action == "score" and len(paths) > 1:
        judges = reader_test.score_judges(paths[0], paths[1:], names_of(paths[1:]))
        if json_file:
            figures = {
                j.name: {"precision": j.precision, "recall": j.recall, "believed": len(j.believed)} for j in judges
            }
            write_new(json_file, json.dumps(figures, indent=2) + "\n")
        console().print(reader_test.judges_table(judges).rich())
        return
    if action != "make" or len(paths) != 3 or answers is None:
        raise SettingsError(
            "give reader-test make REAL PSEUDONYMISED OUT --answers FILE, or reader-test score ANSWERS SHEET..."
        )
    real, out = corpora.read(paths[0]), paths[2]
    refuse_taken(out, answers)
    if out.resolve() in answers.resolve().parents:
        raise SettingsError("the answers must not be in the folder that the judges get; give --answers another place")
    test = reader_test.make_test(real, corpora.read(paths[1], real.label_set), records=records, lines=lines, seed=seed)
    with new_folder(out) as folder:
        (folder / "records.html").write_text(test.page(), encoding="utf-8")
        (folder / "sheet.csv").write_text(test.sheet(), encoding="utf-8")
        write_new(answers, test.answers())
    if test.without_phi:
        warn({"notes without any PHI marked, which are not shown": test.without_phi})
    say(f"{len(test.excerpts)} records to judge are in {out}, with a sheet to fill in; keep {answers} from the judges")
