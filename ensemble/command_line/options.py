"""The table of options that several commands take.

    def audit(corpus: CorpusArgument, jobs: JobsOption = 2): ...     name, help and range of the option are in its type
    limit: Annotated[int, option("How many notes.", min=1)] = 100    an option of one command

Options that several commands take together are values of `ensemble.command_line.groups`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.choices import (
    ENGINES,
    FORMATS,
    LABEL_SETS,
    OTHER_LANGUAGES,
    POLICIES,
    PRESETS,
    RECALLS,
    STRATEGIES,
    SUBMODELS,
    completing,
    completing_paths,
    one_of,
)


def option(help: str, *flags: str, names: Iterable[str] = (), after: str = "", **more: Any) -> Any:
    """An option of a command.

    :param flags: by default the name of the parameter, after two dashes.
    :param names: that complete its value in a shell.
    :param after: what these names may follow within the value; see `completing`.
    """
    more = {"autocompletion": completing(names, after)} | more if names else more
    return typer.Option(*flags, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """An argument of a command."""
    return typer.Argument(metavar=metavar, help=help, **more)


_FORMATS_OF_SPANS = FORMATS[:-1]
_ENGINE = f"The trained engine: a bundle folder or .zip{f', or {one_of(ENGINES)}' if ENGINES else ''}"
_BUNDLE: dict[str, Any] = {"metavar": "BUNDLE", "parser": bundle_path, "autocompletion": completing_paths(ENGINES)}

CorpusArgument = Annotated[Path, argument("CORPUS", "A folder or file of notes, in any known format.")]
SourceArgument = Annotated[Path, argument("IN", "Notes in any known format, or - for standard input.")]
GoldArgument = Annotated[Path, argument("GOLD", "The annotated notes.")]
NewFolderArgument = Annotated[Path, argument("OUT", "The folder to make.")]
TargetArgument = Annotated[Path, argument("OUT", "The output, or - for standard output.")]
BundleArgument = Annotated[Path, argument(help=f"{_ENGINE}.", **_BUNDLE)]

ModelOption = Annotated[Path, option(f"{_ENGINE}.", "--model", **_BUNDLE)]
ModelChoiceOption = Annotated[
    Path | None, option(f"{_ENGINE}; default: the one that ships for the notes' language.", "--model", **_BUNDLE)
]
NewModelOption = Annotated[Path, option("The bundle to make: a folder, or a file .zip.", "--model")]
OutOption = Annotated[Path, option("The folder to make.", "--out")]
SubmodelsOption = Annotated[
    str, option(f"Names separated by commas: {', '.join(SUBMODELS)}.", "--submodels", names=SUBMODELS, after=",")
]
SubsetOption = Annotated[
    str, option("Use only these submodels, separated by commas.", "--submodels", names=SUBMODELS, after=",")
]
PresetOption = Annotated[
    str, option(f"The settings of a published system: {one_of(PRESETS)}.", "--preset", names=PRESETS)
]
LabelSetOption = Annotated[
    str, option(f"A TOML file, or {one_of(LABEL_SETS)}; default: recognised.", "--label-set", names=LABEL_SETS)
]
UnknownLabelsOption = Annotated[
    bool, option("Accept labels that the label set does not have.", "--accept-unknown-labels")
]
MapLabelsOption = Annotated[
    str, option("Map labels to those of this set, a name or TOML file.", "--map-labels", names=LABEL_SETS)
]
FromOption = Annotated[
    str, option(f"Format of the notes: {one_of(FORMATS)}; default: recognised.", "--from", names=FORMATS)
]
FormOption = Annotated[
    str,
    option(f"Format of IN: {one_of(FORMATS)}; default: recognised.", "--from", "--form", names=FORMATS),
]
ConvertedFormatOption = Annotated[
    str, option(f"{one_of(FORMATS)}; default: by the file ending of OUT.", "--to", names=FORMATS)
]
SynthesisedFormatOption = Annotated[
    str,
    option(
        f"{one_of(_FORMATS_OF_SPANS)}; default: by the file ending of OUT, or i2b2 (brat in other languages).",
        "--to", names=_FORMATS_OF_SPANS,
    ),
]  # fmt: skip
AnnotatedFormatOption = Annotated[
    str,
    option(
        f"Format of OUT: {one_of(_FORMATS_OF_SPANS)}; default: by its file ending, or that of IN, or, for plain text, "
        "brat (jsonl on standard output).",
        "--to", names=_FORMATS_OF_SPANS,
    ),
]  # fmt: skip
PartsFormatOption = Annotated[
    str, option(f"Format of the parts: {one_of(FORMATS)}; default: that of CORPUS.", "--to", names=FORMATS)
]
LanguageOption = Annotated[str, option("ISO 639-1 code; default: recognised.", "--language")]
PolicyOption = Annotated[str, option(f"A TOML file, or {one_of(POLICIES)}.", "--policy", names=POLICIES)]
StrategyOption = Annotated[
    list[str] | None,
    option(
        f"Overrides the policy for a label; may be repeated. Strategies: {one_of(STRATEGIES)}.",
        "--strategy", metavar="LABEL=STRATEGY", names=STRATEGIES, after="=",
    ),
]  # fmt: skip
PresentYearOption = Annotated[
    int | None,
    option(
        "Year of the latest notes, to which ages over 89 are counted; default: this year.",
        "--present-year", metavar="YEAR", min=1900, max=2199,
    ),
]  # fmt: skip
SubstituteOption = Annotated[
    list[str] | None,
    option("The string that substitute writes; may be repeated.", "--substitute", metavar="LABEL=STRING"),
]
CascadeOption = Annotated[
    bool, option("Let slow submodels read only lines in which others leave doubt.", "--cascade/--no-cascade")
]
OtherLanguagesOption = Annotated[
    str,
    option(
        f"Text in a language that no engine reads: {one_of(OTHER_LANGUAGES)} it.",
        "--other-languages",
        names=OTHER_LANGUAGES,
    ),
]
KnownOption = Annotated[
    Path | None,
    option(
        "A roster (CSV, JSONL, Parquet) of what is known of each patient: names, birth date, numbers, address.",
        "--known", metavar="FILE",
    ),
]  # fmt: skip
AlwaysOption = Annotated[
    Path | None, option("List of phrases that are PHI, under lines such as [HOSPITAL].", "--always")
]
UnmatchedRosterOption = Annotated[
    bool, option("Go on although the roster has the patient of no note.", "--unmatched-roster")
]
NeverOption = Annotated[Path | None, option("List of phrases that are not PHI, one on each line.", "--never")]
PatternsOption = Annotated[Path | None, option("TOML file of your own patterns.", "--patterns")]
RecallOption = Annotated[
    str,
    option(
        f"{one_of(RECALLS)}: high misses less and marks more that is not PHI; MODEL_CARD.md has the figures.",
        "--recall", names=RECALLS,
    ),
]  # fmt: skip
SheetOption = Annotated[Path | None, option("Write a CSV sheet of the spans to check.", "--sheet")]
PlacesOption = Annotated[bool, option("Write the text of the spans into JSON and sheet.", "--text")]
JsonOption = Annotated[Path | None, option("Write all figures to this file.", "--json")]
LatexOption = Annotated[Path | None, option("Write tables for LaTeX to this file.", "--latex")]
PageOption = Annotated[Path | None, option("Write a page, which shows the text of the notes.", "--html")]
TextOption = Annotated[bool, option("Show the text of the spans.", "--text")]
KeyOption = Annotated[
    Path | None, option("File with the secret key of surrogates; default: PHISTACK_KEY.", "--key-file")
]
IdColumnOption = Annotated[str, option("Column with the note's id, in JSONL, CSV or Parquet.", "--id-column")]
TextColumnOption = Annotated[str, option("Column with the text, in JSONL, CSV or Parquet.", "--text-column")]
PatientColumnOption = Annotated[str, option("Column with the patient; default: read from the id.", "--patient-column")]
ColumnOption = Annotated[
    list[str] | None,
    option(
        "For each column but the text: keep, remove, redact (read it), pseudonym (a code; needs a key), or what all of "
        "it is: NAME, DATE, ID, CONTACT, LOCATION, AGE or a label of the engine.",
        "--column", metavar="NAME=TREATMENT",
    ),
]  # fmt: skip
GroupByOption = Annotated[
    str,
    option(
        "Keep notes together in whose names this regular expression finds the same; default: by patient.",
        "--group-by", metavar="PATTERN",
    ),
]  # fmt: skip
AllowMissingOption = Annotated[bool, option("Compare the notes that all have, instead of refusing.", "--allow-missing")]
SeedsOption = Annotated[
    int, option("Train with this many seeds, for means and deviations over them.", "--seeds", min=1)
]
SeedOption = Annotated[int, option("Seed of all random choices.", "--seed")]
ShufflesOption = Annotated[int, option("Number of shuffles of the paired randomisation.", "--shuffles", min=1)]
JobsOption = Annotated[int, option("Parallel processes; the result is the same.", "--jobs", min=1)]
CriterionOption = Annotated[str, option("strict, spans, or another name that `evaluate` prints.", "--criterion")]
StackOption = Annotated[bool, option("Score the stack too, which trains on every fold as well.", "--stack/--no-stack")]
TestOption = Annotated[Path | None, option("Other annotated notes to score on.", "--test")]
