"""Engines for several languages, each loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from phistack.ensemble.engine.engine import Engine


class EnginesByLanguage(Mapping[str, Engine]):
    """Language -> the engine that reads it.

    :param languages: ISO 639-1 codes.
    :param load: gives the engine of a language; it is asked each time.
    """

    def __init__(self, languages: Collection[str], load: Callable[[str], Engine]) -> None:
        self._languages, self._load = tuple(languages), load

    def __getitem__(self, language: str) -> Engine:
        if language not in self._languages:
            raise KeyError(language)
        return self._load(language)

    def __contains__(self, language: object) -> bool:
        return language in self._languages

    def __iter__(self) -> Iterator[str]:
        return iter(self._languages)

    def __len__(self) -> int:
        return len(self._languages)
