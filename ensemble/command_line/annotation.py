"""Commands on what people annotate and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.groups import CorpusOptions, with_options
from phistack.ensemble.command_line.options import JsonOption, LatexOption, SeedOption
from phistack.ensemble.command_line.output import console, names_of, say_remarks
from phistack.features.writing import refuse_taken, write_new

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
