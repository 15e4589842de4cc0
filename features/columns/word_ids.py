"""The ids of words in the columns that depend on nothing but the word.

words = WordIds("en", vocabularies)
words.of("lower")(["Ann", "SAW"])        [12, 7]
words.stems_of_training()                what a bundle keeps, so that words of training need no stemmer
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from phistack.features.columns.vocabulary import Vocabulary
from phistack.features.columns.word_columns import LOWER, STEM, word_column
from phistack.features.errors import BundleError

_Identify = Callable[[list[str]], list[int]]


class WordIds:
    """Gives words their ids.

    :param language: ISO 639-1 code, for the stemmer.
    :param vocabularies: of the columns, by their names.
    :param stems: for each value of `lower` the id of its stem, where they are known.
    :raises BundleError: if the stems do not fit the words.
    """

    def __init__(self, language: str, vocabularies: Mapping[str, Vocabulary], stems: Sequence[int] = ()) -> None:
        self._language, self._vocabularies, self._stems = language, vocabularies, stems
        if stems and not self._has_its_stems():
            raise BundleError("the stems of the engine do not fit its words; train it again")

    def of(self, name: str) -> _Identify:
        """Gives the ids of words in a column."""
        return self._of_stems if name == STEM and self._stems else self._read(name)

    def stems_of_training(self) -> list[int]:
        """For each value of `lower` the id of its stem; nothing where the settings leave these columns out."""
        if not {STEM, LOWER} <= self._vocabularies.keys():
            return []
        return self._read(STEM)(list(self._vocabularies[LOWER].values))

    def _read(self, name: str) -> _Identify:
        value_of, identify = word_column(name, self._language), self._vocabularies[name].of_values
        return lambda words: identify(map(value_of, words))

    def _of_stems(self, words: list[str]) -> list[int]:
        """The ids of the stems of words; those of training, which are most, need no stemmer."""
        lower = list(map(str.lower, words))
        known = self._vocabularies[LOWER].of_values(lower)
        new = list({word: None for word, number in zip(lower, known, strict=True) if not number})
        stems = dict(zip(new, self._read(STEM)(new), strict=True))
        return [self._stems[number] if number else stems[word] for word, number in zip(lower, known, strict=True)]

    def _has_its_stems(self) -> bool:
        """Whether there is the id of a stem for each value of `lower`."""
        n_words, n_stems = (len(self._vocabularies[name].values) for name in (LOWER, STEM))
        return len(self._stems) == n_words and min(self._stems) >= 0 and max(self._stems) < n_stems
