"""The choice of engines for notes: the one that ships for the language of most of them, and others beside it.

chosen = engine_for(["Dolor torácico de tres días de evolución.", ...])
chosen.path         the bundle `spanish`
chosen.reason       "spanish, as 48 of the 50 notes looked at are in Spanish (es)"
chosen.by_language  {"en": the bundle `english`, "no": `swedish`, ...}, for notes in other languages

beside = EnginesBeside.of(bundle_path("english"), [Path("ours")])      what any of them accepts is PHI
engine = load_bundle(bundle_path("english")).with_options(beside=beside)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import bundle_label_set, bundle_languages, manifest_digest
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.deidentification.kinds import kind_of, label_like
from phistack.ensemble.engine import Engine
from phistack.features.errors import BundleError, SettingsError
from phistack.features.language_gate import languages_of
from phistack.features.languages import language_name

MOST_NOTES = 50
"""The number of notes whose languages are looked at."""

_OR_TRAIN = "or train one of your own with: phistack train CORPUS --model BUNDLE"


class ChosenEngine(NamedTuple):
    """An engine that ships, why it was chosen, and the engines for all languages, by their ISO 639-1 codes."""

    path: Path
    reason: str
    by_language: Mapping[str, Path]


def engine_for(texts: Iterable[str]) -> ChosenEngine:
    """The engine for the language of most of the notes.

    :param texts: the texts of notes; those in no recognised language do not count.
    :raises SettingsError: if no engine ships for that language, or no language is recognised.
    """
    names = engines_by_language()
    if not names:
        raise SettingsError(f"no engine ships with this phistack; name one with --model, {_OR_TRAIN}")
    known = list(texts)
    seen = languages_of(known, names)
    if not seen:
        raise SettingsError(
            f"the language of the notes is not clear; name an engine with --model: {_listed(names)}, {_OR_TRAIN}"
        )
    language = seen.most_common(1)[0][0]
    if language not in names:
        raise SettingsError(
            f"{_counted(seen, language, len(known))}, and no engine ships for that; there are {_listed(names)}: name "
            f"one with --model, {_OR_TRAIN}"
        )
    engine = names[language]
    return ChosenEngine(
        shipped_engine(engine),
        f"{engine}, as {_counted(seen, language, len(known))}",
        {language: shipped_engine(name) for language, name in sorted(names.items())},
    )


def engines_by_language() -> dict[str, str]:
    """Language -> the shipped engine that reads it; of two engines, the one whose main language it is."""
    languages = {name: bundle_languages(shipped_engine(name)) for name in reversed(shipped_names())}
    also = {other: name for name, (_, *others) in languages.items() for other in others}
    return also | {own: name for name, (own, *_) in languages.items()}


def _listed(names: Mapping[str, str]) -> str:
    """Each engine with its languages."""
    languages: dict[str, list[str]] = {engine: [] for engine in sorted(names.values())}
    for language in sorted(names):
        languages[names[language]].append(language)
    return ", ".join(f"{engine} ({' and '.join(read)})" for engine, read in languages.items())


def _counted(seen: Counter[str], language: str, total: int) -> str:
    others = [f"{n} in {_in_words(other)}" for other, n in seen.most_common() if other != language]
    beside = f" ({', '.join(others)})" if others else ""
    count = "the note" if total == 1 else f"{seen[language]} of the {total} notes looked at"
    return f"{count} {'is' if seen[language] == 1 else 'are'} in {_in_words(language)}{beside}"


def _in_words(language: str) -> str:
    return language_name(language) if language.isupper() else f"{language_name(language)} ({language})"


@dataclass(frozen=True)
class EnginesBeside:
    """Some bundles, which each process loads for itself, and the digests of their manifests."""

    bundles: tuple[tuple[Path, str], ...]

    @classmethod
    def of(cls, model: Path, others: Sequence[Path]) -> Self | None:
        """The engines beside that of `model`; `None` without any.

        :raises SettingsError: if one reads another language, or its labels do not fit the first.
        :raises BundleError: if one cannot be read.
        """
        for other in others:
            _refuse_unlike(model, other)
        return cls(tuple((other.resolve(), manifest_digest(other)) for other in others)) if others else None

    @property
    def digest(self) -> str:
        """The digests of all bundles in one string."""
        return " ".join(digest for _, digest in self.bundles)

    def load(self) -> tuple[Engine, ...]:
        """The engines; :raises BundleError: if a bundle was changed."""
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
