"""Options that go together, as one value: what reads notes, what reads annotated notes, what trains.

    @with_options
    def train(corpus: CorpusArgument, training: TrainingOptions) -> None:
        notes = training.read(corpus)
        settings = training.settings(notes)

    phistack train notes --preset zhao2020 --config mine.toml --folds 3 --text-column body

Each field of a group is an option; one that is a group itself stands for the options of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phistack.ensemble.command_line.choices import FORMATS, completing, one_of
from phistack.ensemble.command_line.options import (
    AlwaysOption,
    CascadeOption,
    IdColumnOption,
    JobsOption,
    KnownOption,
    LabelSetOption,
    NeverOption,
    OtherLanguagesOption,
    PatientColumnOption,
    PatternsOption,
    PresetOption,
    RecallOption,
    SubmodelsOption,
    UnknownLabelsOption,
    UnmatchedRosterOption,
)
from phistack.ensemble.tools.comma_lists import comma_list

if TYPE_CHECKING:
    from phistack.ensemble.engine import EngineOptions
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.features.documents import Corpus
    from phistack.features.formats import Reader
    from phistack.features.labels import LabelSet


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How notes are read."""

    from_format: Annotated[
        str,
        typer.Option(
            "--from", help=f"Format of the notes: {one_of(FORMATS)}; default: recognised.",
            autocompletion=completing(FORMATS),
        ),
    ] = ""  # fmt: skip
    id_column: IdColumnOption = "id"
    text_column: Annotated[str, typer.Option(help="Column with the text, in JSONL, CSV or Parquet.")] = "text"
    patient_column: PatientColumnOption = "group"

    @property
    def reader(self) -> Reader:
        """How to read the notes."""
        from phistack.features.formats import Reader
        from phistack.features.formats.columns import ColumnNames

        return Reader(self.from_format, ColumnNames(self.id_column, self.text_column, self.patient_column))


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How annotated notes are read."""

    label_set: LabelSetOption = ""
    accept_unknown_labels: UnknownLabelsOption = False
    reading: ReadingOptions = ReadingOptions()

    def read(self, path: Path, label_set: LabelSet | None = None, *, language: str = "") -> Corpus:
        """Read a corpus.

        :param label_set: the labels to expect, where another corpus has decided on them.
        :param language: of the notes, as an ISO 639-1 code, where it is not to be taken from labels or text.
        """
        return self.reading.reader.read(
            path,
            label_set=label_set or self.label_set or None,
            accept_unknown_labels=self.accept_unknown_labels,
            language=language,
        )


@dataclass(frozen=True, slots=True)
class EngineUseOptions:
    """How an engine reads, and what the user knows better."""

    known: KnownOption = None
    unmatched_roster: UnmatchedRosterOption = False
    always: AlwaysOption = None
    never: NeverOption = None
    patterns: PatternsOption = None

    cascade: CascadeOption = True
    recall: RecallOption = "balanced"
    other_languages: OtherLanguagesOption = "replace"

    @property
    def options(self) -> EngineOptions:
        """The options but for the roster; :raises SettingsError: with file and place, for what cannot be used."""
        from phistack.ensemble.engine import EngineOptions
        from phistack.ensemble.stacking.overruling import read_overruling

        overruling = read_overruling(self.always, self.never, self.patterns)
        return EngineOptions(
            cascade=self.cascade, recall=self.recall, other_languages=self.other_languages, overruling=overruling
        )


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How corpora are read and engines are trained on them; what is not given, file, preset or default decide."""

    preset: PresetOption = ""
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of settings, which override the preset.", show_default=False)
    ] = None
    submodels: SubmodelsOption = ""
    language: Annotated[str, typer.Option(help="ISO 639-1 code; default: from the file, labels or text.")] = ""
    folds: Annotated[int | None, typer.Option(help="Number of folds for out-of-fold prediction.", show_default="5")] = (
        None
    )
    group_by: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Notes in whose names this regular expression finds the same are in one fold; default: by patient.",
        ),
    ] = ""
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.", show_default="0")] = None
    patterns: PatternsOption = None
    cache: Annotated[
        Path | None, typer.Option(help="A folder that keeps the predictions of finished folds.", show_default=False)
    ] = None
    jobs: JobsOption = 2
    corpora: CorpusOptions = CorpusOptions()

    def read(self, path: Path, label_set: LabelSet | None = None) -> Corpus:
        """Read a corpus; :param label_set: the labels to expect, where another corpus has decided on them."""
        return self.corpora.read(path, label_set, language=self.language)

    def settings(self, corpus: Corpus) -> EngineSettings:
        """How an engine for a corpus is trained; :raises SettingsError: for a preset, file or option that is wrong."""
        from phistack.ensemble.training.settings import EngineSettings
        from phistack.submodels.regex.pattern_files import read_own_patterns

        settings = EngineSettings.chosen(self.preset, self.config, language=self.language or corpus.label_set.language)
        if self.submodels:
            settings = settings.only(comma_list(self.submodels))
        if self.patterns:
            read_own_patterns(self.patterns)
            settings = settings.with_patterns(self.patterns)
        features = replace(settings.features, language=self.language or settings.features.language)
        folds = settings.folds if self.folds is None else self.folds
        seed = settings.seed if self.seed is None else self.seed
        group_by = self.group_by or settings.group_by
        settings = replace(settings, features=features, folds=folds, seed=seed, group_by=group_by)
        settings.check()
        return settings


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, which takes the fields of a group as options of their own where a parameter is a group.

    Typer reads a command's options off its signature and has no groups; so this writes the signature that it reads.
    """

    @wraps(command)
    def spread(**given: Any) -> None:
        command(**_gathered(command, given))

    parameters = _spread(command)
    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _parameters(of: Callable[..., object]) -> Iterable[Parameter]:
    return signature(of, eval_str=True).parameters.values()


def _is_group(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _spread(of: Callable[..., object]) -> list[Parameter]:
    """The parameters, those of a group in its place."""
    parts = (_spread(p.annotation) if _is_group(p.annotation) else [p] for p in _parameters(of))
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for part in parts for parameter in part]


def _gathered(of: Callable[..., object], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, those of a group as its value."""
    return {
        p.name: p.annotation(**_gathered(p.annotation, given)) if _is_group(p.annotation) else given[p.name]
        for p in _parameters(of)
    }
