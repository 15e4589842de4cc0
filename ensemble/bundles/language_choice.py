"""The shipped engine for some notes, by the language of most of them.

chosen = engine_for(["Dolor torácico de tres días de evolución.", ...])
chosen.path         the bundle `spanish`
chosen.reason       "spanish, as 48 of the 50 notes looked at are in Spanish (es)"
chosen.by_language  {"en": the bundle `english`, "no": `swedish`, ...}, for notes in other languages
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from phistack.ensemble.bundles.files import bundle_languages
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.features.errors import SettingsError
from phistack.features.language_gate import languages_of
from phistack.features.languages import language_name

MOST_NOTES = 50
"""The number of notes whose languages are looked at."""

_OR_TRAIN = "or train one of your own with: phistack train CORPUS --model BUNDLE"


class ChosenEngine(NamedTuple):
    """An engine that ships.

    :param reason: why it was chosen, in words.
    :param by_language: the engines for all languages, by their ISO 639-1 codes.
    """

    path: Path
    reason: str
    by_language: Mapping[str, Path]


def engine_for(texts: Iterable[str]) -> ChosenEngine:
    """The engine for the language of most of the notes.

    :param texts: of notes; those whose language is not recognised do not count.
    :raises SettingsError: if no engine ships for that language, or no language is recognised.
    """
    names = engines_by_language()
    if not names:
        raise SettingsError(f"no engine ships with this phistack; name one with --model, {_OR_TRAIN}")
    known = list(texts)
    seen = languages_of(known, names)
    if not seen:
        raise SettingsError(
            f"the notes do not show in what language they are; name an engine with --model: {_listed(names)}, "
            f"{_OR_TRAIN}"
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
