"""What a command line asks for, as corpora and settings.

request = Request(submodels="regex,crf", folds=3)
corpus = request.corpus(Path("train"))
settings = request.settings(corpus)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ensemble.experiments.transfer import Domain
from ensemble.training.settings import EngineSettings
from features.documents import Corpus
from features.errors import SettingsError
from features.formats import USUAL_READER, Reader
from features.labels import LabelSet

__all__ = ["Request", "names_of", "shares_of"]


@dataclass(frozen=True, slots=True)
class Request:
    """How corpora are read and engines are trained, as the options of a command say.

    :param config: a TOML file of settings.
    :param submodels: names joined by commas; empty for those of the file, or all.
    :param language: ISO 639-1 code; empty for the file's or, without a file, that of each corpus' label set.
    :param folds: parts for out-of-fold prediction; `None` for the file's, or the default.
    :param seed: of every random choice; `None` for the file's, or the default.
    :param label_set: a name; empty to recognise it.
    :param accept_unknown_labels: widen the label set by labels that it lacks, rather than refuse them.
    :param map_labels: the label set into which all labels are turned; empty to leave them.
    :param preset: name of a published system, instead of a file.
    :param reader: how corpora are read.
    :raises SettingsError: if both a file and a preset are given.
    """

    config: Path | None = None
    submodels: str = ""
    language: str = ""
    folds: int | None = None
    seed: int | None = None
    label_set: str = ""
    accept_unknown_labels: bool = False
    map_labels: str = ""
    preset: str = ""
    reader: Reader = USUAL_READER

    def __post_init__(self) -> None:
        if self.config and self.preset:
            raise SettingsError("give either --config or --preset; a settings file can repeat what a preset has")

    def corpus(self, path: Path, label_set: LabelSet | None = None) -> Corpus:
        """Read a corpus as it is, without mapping its labels.

        :param label_set: the labels to expect, where another corpus has decided on them.
        """
        expected = label_set or self.label_set or None
        return self.reader.read(
            path, label_set=expected, accept_unknown_labels=self.accept_unknown_labels, language=self.language
        )

    def settings(self, corpus: Corpus) -> EngineSettings:
        """The settings with which an engine for a corpus is trained."""
        settings = self._chosen()
        if self.submodels:
            settings = settings.only(tuple(name.strip() for name in self.submodels.split(",")))
        if self.language or not self.config:
            features = replace(settings.features, language=self.language or corpus.label_set.language)
            settings = replace(settings, features=features)
        folds = settings.folds if self.folds is None else self.folds
        return replace(settings, folds=folds, seed=settings.seed if self.seed is None else self.seed)

    def _chosen(self) -> EngineSettings:
        if self.preset:
            return EngineSettings.preset(self.preset)
        return EngineSettings.from_toml(self.config) if self.config else EngineSettings()

    def domains(self, paths: Sequence[Path]) -> list[Domain]:
        """Corpora for a transfer matrix, with their labels mapped; languages are those of the corpora as read."""
        corpora = [self.corpus(path) for path in paths]
        return [
            Domain(name, self._mapped(corpus), self.settings(corpus))
            for name, corpus in zip(names_of(paths), corpora, strict=True)
        ]

    def _mapped(self, corpus: Corpus) -> Corpus:
        return corpus.mapped(self.map_labels) if self.map_labels not in ("", corpus.label_set.name) else corpus


def shares_of(told: str) -> tuple[int, ...]:
    """Percents from figures joined by commas, as `10,50,100`; :raises SettingsError: if they are not that."""
    try:
        return tuple(int(share) for share in told.split(","))
    except ValueError:
        raise SettingsError("--shares takes whole percents joined by commas, as in 10,50,100") from None


def names_of(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart: `train`, or `a/train` and `b/train`.

    :raises SettingsError: if a path is given twice.
    """
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        raise SettingsError("the same path is given twice; give each corpus or system once")
    for length in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names
