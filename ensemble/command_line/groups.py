"""Options that go together, as one value: what reads notes, what an engine is used with, what trains one.

    def train(corpus: CorpusArgument, training: TrainingOptions) -> None:
        notes = training.read(corpus)
        settings = training.settings(notes)

    phistack train notes --preset zhao2020 --config mine.toml --folds 3 --text-column body

Each field of a group is an option; a field that is a group itself represents the options of that. See
`ensemble.command_line.app`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.options import (
    ENGINES,
    FORMATS_READ,
    LABEL_SETS,
    OTHER_LANGUAGES,
    PRESETS,
    RECALLS,
    SUBMODELS,
    UNITS,
    GroupByOption,
    IdColumnOption,
    JobsOption,
    LanguageOption,
    PatientColumnOption,
    PatternsOption,
    SubsetOption,
    one_of,
    option,
)
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.errors import SettingsError

if TYPE_CHECKING:
    from phistack.ensemble.engine import Engine, EngineOptions
    from phistack.ensemble.evaluation import Resampling
    from phistack.ensemble.tasks.annotating import Source
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.features.documents import Corpus
    from phistack.features.formats import Reader
    from phistack.features.labels import LabelSet


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How notes are read."""

    from_format: Annotated[
        str, option(f"Format of the notes: {one_of(FORMATS_READ)}; default: recognised.", "--from", names=FORMATS_READ)
    ] = ""
    id_column: IdColumnOption = "id"
    text_column: Annotated[str, option("Column with the text, in JSONL, CSV or Parquet.")] = "text"
    patient_column: PatientColumnOption = "group"

    @property
    def reader(self) -> Reader:
        """How to read the notes."""
        from phistack.features.formats import Reader
        from phistack.features.formats.records import ColumnNames

        return Reader(self.from_format, ColumnNames(self.id_column, self.text_column, self.patient_column))


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How annotated notes are read."""

    label_set: Annotated[
        str, option(f"A TOML file, or {one_of(LABEL_SETS)}; default: recognised.", names=LABEL_SETS)
    ] = ""
    accept_unknown_labels: Annotated[
        bool, option("Accept labels that the label set does not have.", "--accept-unknown-labels")
    ] = False
    reading: ReadingOptions = ReadingOptions()

    def read(self, path: Path, label_set: LabelSet | None = None, *, language: str = "") -> Corpus:
        """Read a corpus.

        :param label_set: the labels to expect, if another corpus has decided on them.
        :param language: of the notes, as an ISO 639-1 code; otherwise labels or text show it.
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

    known: Annotated[
        Path | None,
        option(
            "A roster (CSV, JSONL, Parquet) of what is known of each patient: names, birth date, numbers, address.",
            metavar="FILE",
        ),
    ] = None
    unmatched_roster: Annotated[
        bool, option("Go on even if the roster has none of the notes' patients.", "--unmatched-roster")
    ] = False
    always: Annotated[Path | None, option("List of phrases that are PHI, under lines such as [HOSPITAL].")] = None
    never: Annotated[Path | None, option("List of phrases that are not PHI, one on each line.")] = None
    patterns: PatternsOption = None
    cascade: Annotated[
        bool, option("Let slow submodels read only lines in which others leave doubt.", "--cascade/--no-cascade")
    ] = True
    recall: Annotated[
        str,
        option(
            f"{one_of(RECALLS)}: high misses less and marks more that is not PHI; everything also replaces what is not "
            "known to be safe.",
            names=RECALLS,
        ),
    ] = "balanced"
    other_languages: Annotated[
        str, option(f"Text in a language that no engine reads: {one_of(OTHER_LANGUAGES)} it.", names=OTHER_LANGUAGES)
    ] = "replace"

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
class UseOptions:
    """How an engine is used on notes."""

    submodels: SubsetOption = ""
    engine: EngineUseOptions = EngineUseOptions()
    reading: ReadingOptions = ReadingOptions()

    def source(self, path: Path) -> Source:
        """The notes to read."""
        from phistack.ensemble.tasks.annotating import Source

        return Source(path, self.reading.reader, self.engine.unmatched_roster)

    def load(self, notes: Source, models: Sequence[Path] | None) -> tuple[Path, Engine]:
        """The engine that was named, or those for the languages of the notes.

        :raises BundleError, SettingsError: if an engine or one of the options cannot be used.
        """
        from phistack.ensemble.command_line.output import choose_engines
        from phistack.ensemble.tasks.annotating import engine_with

        path, by_language, beside = choose_engines(models, notes.sample)
        options = replace(self.engine.options, beside=beside)
        only = comma_list(self.submodels)
        return path, engine_with(path, options, by_language=by_language, only=only, known=self.engine.known)


_SETTINGS = option(
    "A TOML file of settings, which override the preset, or a bundle, whose settings are used again.",
    parser=bundle_path, metavar="FILE|BUNDLE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How corpora are read and engines are trained on them; options go before file, preset and defaults."""

    preset: Annotated[
        str, option(f"Settings by name, of a published system or `record`: {one_of(PRESETS)}.", names=PRESETS)
    ] = ""
    config: Annotated[Path | None, _SETTINGS] = None
    submodels: Annotated[
        str, option(f"Names separated by commas: {', '.join(SUBMODELS)}.", names=SUBMODELS, after=",")
    ] = ""
    engines: Annotated[
        list[str] | None,
        option(
            "A trained engine as a further submodel: a bundle or the name of one that ships; may be repeated.",
            "--with",
            metavar="BUNDLE",
            names=ENGINES,
        ),
    ] = None
    language: LanguageOption = ""
    folds: Annotated[int | None, option("Number of folds for out-of-fold prediction.", show_default="5")] = None
    group_by: GroupByOption = ""
    seed: Annotated[int | None, option("Seed of all random choices.", show_default="0")] = None
    patterns: PatternsOption = None
    clusters: Annotated[
        str, option("Brown clusters of words: a file, or `installed` (pip install '.[word-clusters]': en, es, de).")
    ] = ""
    pretrain: Annotated[
        list[Path] | None,
        option("Annotated text, with labels of its own, that the network learns from first; may be repeated."),
    ] = None
    private: Annotated[
        bool, option("Keep no word of identifiers or of fewer than five patients in the engine.", "--private")
    ] = False
    cache: Annotated[Path | None, option("A folder that keeps the predictions of finished folds.")] = None
    jobs: JobsOption = 2
    corpora: CorpusOptions = CorpusOptions()

    def read(self, path: Path, label_set: LabelSet | None = None) -> Corpus:
        """Read a corpus; :param label_set: the labels to expect, if another corpus has decided on them."""
        return self.corpora.read(path, label_set, language=self.language)

    def settings(self, corpus: Corpus) -> EngineSettings:
        """How an engine for a corpus is trained; :raises SettingsError: for a wrong preset, file or option."""
        from phistack.ensemble.bundles.files import bundle_settings
        from phistack.ensemble.training.settings import EngineSettings
        from phistack.features.discretion import PATIENTS
        from phistack.features.files import file_named
        from phistack.submodels.regex.pattern_files import user_patterns

        language = self.language or corpus.label_set.language
        if self.config is not None and (self.config.is_dir() or self.config.suffix == ".zip"):
            if self.preset:
                raise SettingsError("a bundle given as --config has all settings; leave --preset out")
            with file_named("the settings of the bundle", self.config):
                settings = EngineSettings.from_dict(tomllib.loads(bundle_settings(self.config)))
        else:
            settings = EngineSettings.chosen(self.preset, self.config, language=language)
        if self.submodels:
            settings = settings.only(comma_list(self.submodels))
        settings = settings.with_engines(self.engines or ())
        if self.patterns:
            user_patterns(self.patterns)
            settings = settings.with_patterns(self.patterns)
        if self.pretrain:
            settings = settings.with_pretraining(self.pretrain)
        settings = replace(
            settings,
            features=replace(
                settings.features,
                language=self.language or settings.features.language,
                clusters=self.clusters or settings.features.clusters,
            ),
            folds=settings.folds if self.folds is None else self.folds,
            seed=settings.seed if self.seed is None else self.seed,
            group_by=self.group_by or settings.group_by,
            private=settings.private or PATIENTS * self.private,
        )
        settings.check()
        return settings


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are drawn."""

    by: Annotated[
        str,
        option(
            f"{one_of(UNITS)}: what intervals and p-values take as independent; shared tasks do it by document.",
            names=UNITS,
        ),
    ] = "patient"
    draws: Annotated[int, option("Number of draws of the bootstrap.", min=1)] = 10_000

    def resampling(self, seed: int = 0) -> Resampling:
        """The options as a value; :raises SettingsError: for another unit."""
        from phistack.ensemble.evaluation import Resampling

        return Resampling(self.by, self.draws, seed=seed)


@dataclass(frozen=True)
class ResamplingOptions(IntervalOptions):
    """How intervals and p-values are drawn."""

    shuffles: Annotated[int, option("Number of shuffles of the paired randomisation.", min=1)] = 9_999

    def resampling(self, seed: int = 0) -> Resampling:
        """The options as a value; :raises SettingsError: for another unit."""
        return replace(super().resampling(seed), shuffles=self.shuffles)
