"""The lemmas of words, as a column on request: `[features]`, `extra = ["lemma"]`.

    LEMMA.of("sv").value("Barnen")     "barn"

By simplemma, which has a dictionary and rules for each of about fifty languages in its own files and asks no server. A
word that it does not know is its own lemma, in small letters.
"""

from __future__ import annotations

from collections.abc import Callable

from phistack.features.columns.installed import LanguageColumn


def _lemmas(language: str) -> Callable[[str], str]:
    from simplemma import lemmatize

    def lemma(word: str) -> str:
        return str(lemmatize(word, lang=language)).lower() if word[0].isalpha() else word

    return lemma


LEMMA = LanguageColumn("words", _lemmas, module="simplemma", extra="lemmas")
