"""Options that several commands take, each declared once.

JobsOption                a type that a command's parameter has: name, help and range of the option
TrainingOptions           those of every command that trains, as one value
with_options(command)     lets a parameter of such a type stand for all of its options

@with_options
def train(corpus: CorpusArgument, training: TrainingOptions) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ensemble.command_line.choices import (
    FORMATS,
    INPUT_FORMATS,
    LABEL_SETS,
    POLICIES,
    PRESETS,
    STRATEGIES,
    SUBMODELS,
    completing,
    one_of,
)

if TYPE_CHECKING:
    from ensemble.command_line.request import Request
    from features.formats import Reader

__all__ = [
    "AnnotatedFormatOption",
    "AnyLanguageOption",
    "ColumnOption",
    "ConvertedFormatOption",
    "CorpusArgument",
    "CriterionOption",
    "FormOption",
    "IdColumnOption",
    "JobsOption",
    "JsonOption",
    "KeyOption",
    "LabelSetOption",
    "MapLabelsOption",
    "ModelOption",
    "OutOption",
    "PageOption",
    "PatientColumnOption",
    "PolicyOption",
    "PresetOption",
    "ReadingOptions",
    "SeedOption",
    "SourceArgument",
    "StackOption",
    "StrategyOption",
    "SubmodelsOption",
    "SubsetOption",
    "SynthesisedFormatOption",
    "TargetArgument",
    "TestOption",
    "TrainingOptions",
    "UnknownLabelsOption",
    "names_in",
    "with_options",
]

CorpusArgument = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="A folder or file of notes, in any known format.", show_default=False)
]
SourceArgument = Annotated[
    Path,
    typer.Argument(metavar="IN", help="Notes in any known format, or - for standard input.", show_default=False),
]
TargetArgument = Annotated[
    Path, typer.Argument(metavar="OUT", help="What to write, or - for standard output.", show_default=False)
]

ModelOption = Annotated[
    Path, typer.Option("--model", help="The trained engine: a bundle folder or .zip.", show_default=False)
]
OutOption = Annotated[Path, typer.Option("--out", help="The folder to make.", show_default=False)]
SubmodelsOption = Annotated[
    str,
    typer.Option(
        "--submodels",
        help=f"Names joined by commas: {','.join(SUBMODELS)}.",
        autocompletion=completing(SUBMODELS, after=","),
    ),
]
SubsetOption = Annotated[
    str,
    typer.Option(
        "--submodels",
        help="Use only these of the engine's submodels, joined by commas.",
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
        "--label-set", help=f"{one_of(LABEL_SETS)}; otherwise recognised.", autocompletion=completing(LABEL_SETS)
    ),
]
SynthesisedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"{one_of(FORMATS[:-1])}; otherwise told by the ending of OUT, or i2b2.",
        autocompletion=completing(FORMATS[:-1]),
    ),
]
ConvertedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"{one_of(FORMATS)}; otherwise told by the ending of OUT.",
        show_default=False,
        autocompletion=completing(FORMATS),
    ),
]
AnnotatedFormatOption = Annotated[
    str,
    typer.Option(
        "--to",
        help=f"Format of OUT: {one_of(FORMATS[:-1])}; otherwise told by its ending, or that of IN, or, for plain "
        "text, brat (jsonl on standard output).",
        autocompletion=completing(FORMATS[:-1]),
    ),
]
FormOption = Annotated[
    str,
    typer.Option(
        "--form",
        "--from",
        help=f"Form of IN: {one_of(INPUT_FORMATS)}; otherwise recognised.",
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
        help=f"Over the policy; may be repeated. A strategy is {one_of(STRATEGIES)}.",
        show_default=False,
        autocompletion=completing(STRATEGIES, after="="),
    ),
]
UnknownLabelsOption = Annotated[
    bool, typer.Option("--accept-unknown-labels", help="Take labels that the label set does not have, as they are.")
]
MapLabelsOption = Annotated[
    str,
    typer.Option("--map-labels", help="Turn labels into those of this set.", autocompletion=completing(LABEL_SETS)),
]
AnyLanguageOption = Annotated[
    bool, typer.Option("--any-language", help="Read notes that are not in the engine's language or script, too.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write all figures there.", show_default=False)]
PageOption = Annotated[
    Path | None, typer.Option("--html", help="Write a page, which shows the notes' text.", show_default=False)
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key-file", help="Holds the secret of surrogates; otherwise PHISTACK_KEY.", show_default=False),
]
IdColumnOption = Annotated[str, typer.Option("--id-column", help="Names the note in JSONL, CSV or Parquet.")]
PatientColumnOption = Annotated[
    str, typer.Option("--patient-column", help="The patient; if there is none, the id tells.")
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
SeedOption = Annotated[int, typer.Option("--seed", help="Of every random choice.")]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, help="Parallel processes; the result is the same.")]
CriterionOption = Annotated[str, typer.Option("--criterion", help="strict, spans, or a name that `evaluate` prints.")]
StackOption = Annotated[bool, typer.Option(help="Score the stack too, which trains on every fold as well.")]
TestOption = Annotated[
    Path | None, typer.Option("--test", help="Other annotated notes to score on.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What every command that reads notes can be told of them."""

    from_format: Annotated[
        str,
        typer.Option(
            "--from", help=f"Format of the notes: {one_of(FORMATS)}; otherwise recognised.",
            autocompletion=completing(FORMATS),
        ),
    ] = ""  # fmt: skip
    id_column: IdColumnOption = "id"
    text_column: Annotated[str, typer.Option(help="The note in JSONL, CSV or Parquet.")] = "text"
    patient_column: PatientColumnOption = "group"

    @property
    def reader(self) -> Reader:
        """How to read the notes."""
        from features.formats import Reader
        from features.formats.columns import ColumnNames

        return Reader(self.from_format, ColumnNames(self.id_column, self.text_column, self.patient_column))


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What every command that trains can be told; without a value, the settings file or the default decides."""

    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.", show_default=False)] = None
    submodels: SubmodelsOption = ""
    language: Annotated[str, typer.Option(help="ISO 639-1 code; otherwise as labels or text tell.")] = ""
    folds: Annotated[int | None, typer.Option(help="Parts for out-of-fold prediction.", show_default="5")] = None
    cache: Annotated[Path | None, typer.Option(help="A folder for fold predictions.", show_default=False)] = None
    accept_unknown_labels: UnknownLabelsOption = False
    jobs: JobsOption = 2
    seed: Annotated[int | None, typer.Option(help="Of every random choice.", show_default="0")] = None

    def request(self, reading: ReadingOptions, **others: str) -> Request:
        """The corpora and settings that are asked for.

        :param reading: how the corpora are read.
        :param others: further parameters of `Request`, which only some commands take.
        """
        from ensemble.command_line.request import Request

        return Request(
            self.config, self.submodels, self.language, self.folds, self.seed,
            accept_unknown_labels=self.accept_unknown_labels, reader=reading.reader, **others,
        )  # fmt: skip


def names_in(told: str) -> tuple[str, ...]:
    """The names in a list joined by commas."""
    return tuple(name.strip() for name in told.split(",") if name.strip())


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, taking the fields of a dataclass as options of their own where a parameter is of that class."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in signature(command).parameters if is_dataclass(hints[name])}

    @wraps(command)
    def spread(**told: Any) -> None:
        for name, group in groups.items():
            told[name] = group(**{field.name: told.pop(field.name) for field in fields(group)})
        command(**told)

    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        group = signature(groups[name]) if name in groups else Signature([parameter])
        known = get_type_hints(groups[name], include_extras=True) if name in groups else hints
        parameters += [
            p.replace(kind=Parameter.KEYWORD_ONLY, annotation=known[p.name]) for p in group.parameters.values()
        ]
    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread
