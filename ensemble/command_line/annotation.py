"""Commands on what people annotate and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.groups import CorpusOptions
from phistack.ensemble.command_line.options import (
    AllowMissingOption,
    JsonOption,
    LatexOption,
    SeedOption,
    argument,
    option,
)
from phistack.ensemble.command_line.output import console, names_of, say_remarks
from phistack.features.writing import refuse_taken, write_new

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
