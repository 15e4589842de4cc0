"""Engines that read beside another one: what any of them accepts is PHI.

beside = EnginesBeside.of(bundle_path("english"), [Path("ours")])
engine = load_bundle(bundle_path("english")).with_options(beside=beside)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import bundle_label_set, bundle_languages, manifest_digest
from phistack.ensemble.deidentification.kinds import kind_of, label_like
from phistack.ensemble.engine import Engine
from phistack.features.errors import BundleError, SettingsError
from phistack.features.languages import language_name


@dataclass(frozen=True)
class EnginesBeside:
    """Some bundles, which each process loads for itself.

    :param bundles: paths and the digests of their manifests.
    """

    bundles: tuple[tuple[Path, str], ...]

    @classmethod
    def of(cls, model: Path, others: Sequence[Path]) -> Self | None:
        """The engines beside that of `model`; `None` without any.

        :raises SettingsError: if one reads another language, or has labels that are none or others in the first.
        :raises BundleError: if one cannot be read.
        """
        for other in others:
            _refuse_unlike(model, other)
        return cls(tuple((other.resolve(), manifest_digest(other)) for other in others)) if others else None

    @property
    def digest(self) -> str:
        """What they are, in a word."""
        return " ".join(digest for _, digest in self.bundles)

    def load(self) -> tuple[Engine, ...]:
        """The engines; :raises BundleError: if a bundle is not what it was."""
        return tuple(_loaded(*bundle) for bundle in self.bundles)


@cache
def _loaded(path: Path, digest: str) -> Engine:
    if manifest_digest(path) != digest:
        raise BundleError(f"the bundle {path} was changed while it was in use; start again")
    return load_bundle(path)


def _refuse_unlike(model: Path, other: Path) -> None:
    language, theirs = bundle_languages(model)[0], bundle_languages(other)
    if language not in theirs:
        raise SettingsError(
            f"{model} reads notes in {language_name(language)} and {other} in "
            f"{' and '.join(map(language_name, theirs))}; name engines for the same language"
        )
    first, second = bundle_label_set(model), bundle_label_set(other)
    for label in second.labels:
        alike = label_like(label, second, first)
        if alike not in first:
            raise SettingsError(f"{other} has the label {label}, and {model} none like it; give --model {other} first")
        if alike == label and kind_of(label, first.name) != kind_of(label, second.name):
            raise SettingsError(
                f"the label {label} is {kind_of(label, first.name)} in {model} and {kind_of(label, second.name)} in "
                f"{other}; these engines cannot be used together"
            )
