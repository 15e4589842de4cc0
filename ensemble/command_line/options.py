"""The table of options that several commands take.

    def audit(corpus: CorpusArgument, jobs: JobsOption = 2): ...     name, help and range of the option are in its type
    limit: Annotated[int, option("How many notes.", min=1)] = 100    an option of one command

Options that several commands take together are values of `ensemble.command_line.groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path
from typing import Annotated, Any

import typer

from phistack.ensemble.bundles.shipped import bundle_path, shipped_names
from phistack.features.registry import FileRegistry, packaged_table
from phistack.submodels.registry import usual_names

_LABEL_SETS = Path(__file__).parents[2] / "features" / "label_sets"


POLICIES = FileRegistry("policies", "policy", ".toml", "phistack.ensemble.deidentification:policies").names
PRESETS = FileRegistry("presets", "preset", ".toml", "phistack.ensemble.training:presets").names
SPACES = FileRegistry("search-spaces", "search space", ".toml").names
STYLES = FileRegistry("placeholders", "style of placeholders", ".toml", "phistack.ensemble.tasks:styles").names
LABEL_SETS = tuple(sorted({path.stem for path in _LABEL_SETS.glob("*.toml")} - {"mappings"}))
ENGINES = shipped_names()
STRATEGIES = tuple(packaged_table("phistack.ensemble.deidentification", "strategies.toml"))
FORMATS = (
    *("i2b2", "ngrid", "meddocan", "brat", "inception", "conll", "jsonl", "doccano", "labelstudio"),
    *("csv", "parquet", "text"),
)
FORMATS_READ = (*FORMATS, "docx", "pdf", "rtf")
RECORDS = ("fhir", "hl7", "ccda")
LAYOUTS = ("omop",)
RECALLS = ("everything", "high", "balanced", "precise")
OTHER_LANGUAGES = ("replace", "hold", "read")
SUBMODELS = usual_names()
DRAWN = ("patients", "sentences")
UNITS = ("patient", "document")
ORDERS = ("uncertain", "diverse", "random")
REVIEW_PARTS = ("all", "training", "aside")


def one_of(names: Iterable[str]) -> str:
    """The names as a list in words: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def completing(names: Iterable[str], after: str = "") -> Callable[[str], list[str]]:
    """What completes a value that is one of some names.

    :param after: what a name may follow within the value: the comma of a list, the `=` of `LABEL=STRATEGY`.
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, sign, begun = incomplete.rpartition(after) if after else ("", "", incomplete)
        return [f"{before}{sign}{name}" for name in known if name.startswith(begun)]

    return complete


def completing_paths(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What completes a value that is one of some names, or a path."""
    complete = completing(names)
    return lambda incomplete: [*complete(incomplete), *sorted(glob(f"{escape(incomplete)}*"))]


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


FORMATS_OF_SPANS = FORMATS[:-1]
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
    list[Path] | None,
    option(
        f"{_ENGINE}; default: the one shipped for the notes' language. If repeated, what any of them finds is PHI.",
        "--model", **_BUNDLE,
    ),
]  # fmt: skip
OutOption = Annotated[Path, option("The folder to make.", "--out")]
SubsetOption = Annotated[
    str, option("Use only these submodels, separated by commas.", "--submodels", names=SUBMODELS, after=",")
]
MapLabelsOption = Annotated[
    str, option("Map labels to those of this set, a name or TOML file.", "--map-labels", names=LABEL_SETS)
]
ConvertedFormatOption = Annotated[
    str, option(f"{one_of(FORMATS)}; default: by the file ending of OUT.", "--to", names=FORMATS)
]
AnnotatedFormatOption = Annotated[
    str,
    option(
        f"Format of OUT: {one_of(FORMATS_OF_SPANS)}; default: by its file ending, or that of IN, or, for plain text, "
        "brat (jsonl on standard output).",
        "--to", names=FORMATS_OF_SPANS,
    ),
]  # fmt: skip
LanguageOption = Annotated[str, option("ISO 639-1 code; default: recognised.", "--language")]
PolicyOption = Annotated[str, option(f"A TOML file, or {one_of(POLICIES)}.", "--policy", names=POLICIES)]
MaxLeakOption = Annotated[
    float | None, option("Keep the mean share of a patient's identifiers that is left below this.", min=0.0001, max=1)
]
ConfidenceOption = Annotated[float, option("Confidence of each bound.", min=0.5, max=0.9999)]
StrategyOption = Annotated[
    list[str] | None,
    option(
        f"Override the policy for a label; may be repeated. Strategies: {one_of(STRATEGIES)}.",
        "--strategy", metavar="LABEL=STRATEGY", names=STRATEGIES, after="=",
    ),
]  # fmt: skip
PresentYearOption = Annotated[
    int | None,
    option(
        "Year of the latest notes, to find ages over 89; default: this year.",
        "--present-year", metavar="YEAR", min=1900, max=2199,
    ),
]  # fmt: skip
SubstituteOption = Annotated[
    list[str] | None,
    option("The string that substitute writes; may be repeated.", "--substitute", metavar="LABEL=STRING"),
]
PatternsOption = Annotated[Path | None, option("TOML file of your own patterns.", "--patterns")]
SheetOption = Annotated[Path | None, option("Write a CSV sheet of the spans to check.", "--sheet")]
PlacesOption = Annotated[bool, option("Write the text of the spans into JSON and sheet.", "--text")]
JsonOption = Annotated[Path | None, option("Write all figures to this file.", "--json")]
LatexOption = Annotated[Path | None, option("Write tables for LaTeX to this file.", "--latex")]
KeyOption = Annotated[
    Path | None, option("File with the secret key of surrogates; default: PHISTACK_KEY.", "--key-file")
]
IdColumnOption = Annotated[str, option("Column with the note's id, in JSONL, CSV or Parquet.", "--id-column")]
PatientColumnOption = Annotated[str, option("Column with the patient; default: read from the id.", "--patient-column")]
GroupByOption = Annotated[
    str,
    option(
        "Keep notes together whose names have the same match of this regular expression; default: by patient.",
        "--group-by", metavar="PATTERN",
    ),
]  # fmt: skip
AllowMissingOption = Annotated[bool, option("Compare only the notes that all sides have.", "--allow-missing")]
SeedsOption = Annotated[
    int, option("Train with this many seeds, for means and deviations over them.", "--seeds", min=1)
]
SeedOption = Annotated[int, option("Seed of all random choices.", "--seed")]
JobsOption = Annotated[int, option("Parallel processes; they do not change the result.", "--jobs", min=1)]
CriterionOption = Annotated[str, option("strict, spans, or another name that `evaluate` prints.", "--criterion")]
StackOption = Annotated[bool, option("Score the stack too, which trains on every fold.", "--stack/--no-stack")]
TestOption = Annotated[Path | None, option("Other annotated notes to score on.", "--test")]
