"""Options that several commands take, each declared once.

def audit(corpus: CorpusArgument, jobs: JobsOption = 2): ...     name, help and range of the option are in its type

Those that several commands take together are values of `ensemble.command_line.groups`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.choices import (
    ENGINES,
    FORMATS,
    INPUT_FORMATS,
    LABEL_SETS,
    POLICIES,
    PRESETS,
    RECALLS,
    STRATEGIES,
    SUBMODELS,
    completing,
    completing_paths,
    one_of,
)

CorpusArgument = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="A folder or file of notes, in any known format.", show_default=False)
]
SourceArgument = Annotated[
    Path,
    typer.Argument(metavar="IN", help="Notes in any known format, or - for standard input.", show_default=False),
]
NewFolderArgument = Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.", show_default=False)]
TargetArgument = Annotated[
    Path, typer.Argument(metavar="OUT", help="The output, or - for standard output.", show_default=False)
]

_MODEL = f"a bundle folder or .zip, or {one_of(ENGINES)}" if ENGINES else "a bundle folder or .zip"


def _model_option(help: str) -> Any:
    return typer.Option(
        "--model",
        metavar="BUNDLE",
        parser=bundle_path,
        help=help,
        show_default=False,
        autocompletion=completing_paths(ENGINES),
    )


BundleArgument = Annotated[
    Path,
    typer.Argument(
        metavar="BUNDLE",
        parser=bundle_path,
        help=f"The trained engine: {_MODEL}.",
        show_default=False,
        autocompletion=completing_paths(ENGINES),
    ),
]
ModelOption = Annotated[Path, _model_option(f"The trained engine: {_MODEL}.")]
ModelChoiceOption = Annotated[
    Path | None, _model_option(f"The trained engine: {_MODEL}; default: the one that ships for the notes' language.")
]
NewModelOption = Annotated[
    Path, typer.Option("--model", help="The bundle to make: a folder, or a file .zip.", show_default=False)
]
OutOption = Annotated[Path, typer.Option("--out", help="The folder to make.", show_default=False)]
SubmodelsOption = Annotated[
    str,
    typer.Option(
        "--submodels",
        help=f"Names separated by commas: {','.join(SUBMODELS)}.",
        autocompletion=completing(SUBMODELS, after=","),
    ),
]
SubsetOption = Annotated[
    str,
    typer.Option(
        "--submodels",
        help="Use only these submodels of the engine, separated by commas.",
        autocompletion=completing(SUBMODELS, after=","),
    ),
]
PresetOption = Annotated[
    str,
    typer.Option(
        "--preset",
        help=f"The settings of a published system: {one_of(PRESETS)}.",
        autocompletion=completing(PRESETS),
    ),
]
LabelSetOption = Annotated[
    str,
    typer.Option(
        "--label-set",
        help=f"A TOML file, or {one_of(LABEL_SETS)}; default: recognised.",
        autocompletion=completing(LABEL_SETS),
    ),
]
SynthesisedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"{one_of(FORMATS[:-1])}; default: by the file ending of OUT, or i2b2 (brat in other languages).",
        autocompletion=completing(FORMATS[:-1]),
    ),
]
ConvertedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"{one_of(FORMATS)}; default: by the file ending of OUT.",
        show_default=False,
        autocompletion=completing(FORMATS),
    ),
]
AnnotatedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"Format of OUT: {one_of(FORMATS[:-1])}; default: by its file ending, or that of IN, or, for plain "
        "text, brat (jsonl on standard output).",
        autocompletion=completing(FORMATS[:-1]),
    ),
]
FormOption = Annotated[
    str,
    typer.Option(
        "--from",
        "--form",
        help=f"Format of IN: {one_of(INPUT_FORMATS)}; default: recognised.",
        autocompletion=completing(INPUT_FORMATS),
    ),
]
PolicyOption = Annotated[
    str,
    typer.Option("--policy", help=f"A TOML file, or {one_of(POLICIES)}.", autocompletion=completing(POLICIES)),
]
StrategyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="LABEL=STRATEGY",
        help=f"Overrides the policy for a label; may be repeated. Strategies: {one_of(STRATEGIES)}.",
        show_default=False,
        autocompletion=completing(STRATEGIES, after="="),
    ),
]
PresentYearOption = Annotated[
    int | None,
    typer.Option(
        "--present-year",
        metavar="YEAR",
        help="Year of the latest notes, in which ages over 89 count.",
        show_default="today's",
        min=1900,
        max=2199,
    ),
]
SubstituteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--substitute",
        metavar="LABEL=STRING",
        help="Write this string for a label or kind; may be repeated.",
        show_default=False,
    ),
]
UnknownLabelsOption = Annotated[
    bool, typer.Option("--accept-unknown-labels", help="Accept labels that the label set does not have.")
]
MapLabelsOption = Annotated[
    str,
    typer.Option(
        "--map-labels",
        help="Turn labels into those of this set, by name or TOML file.",
        autocompletion=completing(LABEL_SETS),
    ),
]
CascadeOption = Annotated[
    bool,
    typer.Option("--cascade/--no-cascade", help="Let costly submodels read only lines in which others leave doubt."),
]
AnyLanguageOption = Annotated[
    bool, typer.Option("--any-language", help="Read notes that are not in the engine's language or script, too.")
]
AlwaysOption = Annotated[
    Path | None,
    typer.Option("--always", help="List of phrases that are PHI, under lines such as [HOSPITAL].", show_default=False),
]
NeverOption = Annotated[
    Path | None, typer.Option("--never", help="List of phrases that are no PHI, one a line.", show_default=False)
]
PatternsOption = Annotated[
    Path | None, typer.Option("--patterns", help="TOML file of patterns of your own.", show_default=False)
]
RecallOption = Annotated[
    str,
    typer.Option(
        "--recall",
        help=f"{one_of(RECALLS)}: what is missed against what is marked wrongly; MODEL_CARD.md has the figures.",
        autocompletion=completing(RECALLS),
    ),
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write all figures there.", show_default=False)]
LatexOption = Annotated[Path | None, typer.Option("--latex", help="Write tables for LaTeX there.", show_default=False)]
PageOption = Annotated[
    Path | None, typer.Option("--html", help="Write a page, which shows the notes' text.", show_default=False)
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file", help="File with the secret key of surrogates; default: PHISTACK_KEY.", show_default=False
    ),
]
KnownOption = Annotated[
    Path | None,
    typer.Option(
        "--known",
        metavar="FILE",
        help="A roster (CSV, JSONL, Parquet) of what is known of each patient: names, birth date, numbers, address.",
        show_default=False,
    ),
]
IdColumnOption = Annotated[
    str, typer.Option("--id-column", help="Column with the note's id, in JSONL, CSV or Parquet.")
]
PatientColumnOption = Annotated[
    str, typer.Option("--patient-column", help="Column with the patient; default: read from the id.")
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=TREATMENT",
        help="Of each other column (or the patient's): keep, remove, redact (read it), or the LABEL that all of it is.",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all random choices.")]
ShufflesOption = Annotated[
    int, typer.Option("--shuffles", help="Number of shuffles of the paired randomisation.", min=1)
]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, help="Parallel processes; the result is the same.")]
CriterionOption = Annotated[
    str, typer.Option("--criterion", help="strict, spans, or another name that `evaluate` prints.")
]
StackOption = Annotated[bool, typer.Option(help="Score the stack too, which trains on every fold as well.")]
TestOption = Annotated[
    Path | None, typer.Option("--test", help="Other annotated notes to score on.", show_default=False)
]
