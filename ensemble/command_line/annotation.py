"""Commands on what people annotate and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.groups import CorpusOptions
from phistack.ensemble.command_line.options import (
    AllowMissingOption,
    GoldArgument,
    JsonOption,
    LatexOption,
    SeedOption,
    argument,
    option,
)
from phistack.ensemble.command_line.output import console, names_of, say, say_remarks, warn
from phistack.features.errors import SettingsError
from phistack.features.writing import new_folder, refuse_taken, write_new

SheetOption = Annotated[Path | None, option("Write a CSV sheet of the spans to check.", "--sheet")]
PlacesOption = Annotated[bool, option("Write the text of the spans into JSON and sheet.", "--text")]


def agreement(
    first: Annotated[Path, argument("A", "Notes as one person annotated them.")],
    second: Annotated[Path, argument("B", "The same notes as another person did.")],
    *,
    sheet: SheetOption = None,
    text: PlacesOption = False,
    json_file: JsonOption = None,
    latex: LatexOption = None,
    allow_missing: AllowMissingOption = False,
    seed: SeedOption = 0,
    corpora: CorpusOptions,
) -> None:
    """Compare two annotations of the same notes: F1 and Cohen's kappa by type, and spans to check before merging."""
    import json

    from phistack.ensemble.evaluation.adjudication import doubts_sheet
    from phistack.ensemble.evaluation.agreement import agree

    refuse_taken(*filter(None, (sheet, json_file, latex)))
    one = corpora.read(first)
    say_remarks(one)
    other = corpora.read(second, one.label_set)
    name, other_name = names_of([first, second])
    found = agree(one, other, names=(name, other_name), allow_missing=allow_missing, seed=seed)
    if sheet:
        write_new(sheet, doubts_sheet(found.doubts, with_text=text))
    if json_file:
        write_new(json_file, json.dumps(found.to_dict(with_text=text), indent=2, ensure_ascii=False) + "\n")
    if latex:
        write_new(latex, "\n".join(t.latex("phistack agreement", t.title) for t in found.tables()))
    for table in found.tables():
        console().print(table.rich())


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
