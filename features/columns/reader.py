"""Computes the columns of notes, as integer ids.

reader = ColumnReader(settings, vocabularies, gazetteers)
reader.read("key", layout)                    (n_tokens,) integers
LazyColumns(reader, layout).column("key")     the same, cached
WordIds("en", vocabularies).of("lower")(["Ann", "SAW"])     [12, 7]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from phistack.features.arrays import Integers32
from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.installed import LanguageColumn, installed_column
from phistack.features.columns.layout import Layout
from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.representations import BROWN_COLUMNS, VECTOR_CLUSTER, Representations
from phistack.features.columns.settings import OF_THE_TOKEN, FeatureSettings
from phistack.features.columns.taggers import annotator_of
from phistack.features.columns.vocabulary import Distinct, Vocabulary
from phistack.features.columns.word_columns import LOWER, STEM, is_word_column, word_column
from phistack.features.errors import BundleError, SettingsError

_Identify = Callable[[list[str]], list[int]]


class WordIds:
    """The ids of words in the columns that depend on the word alone.

    :param language: ISO 639-1 code, for the stemmer.
    :param vocabularies: of the columns, by their names.
    :param stems: for each value of `lower` the id of its stem, if known, so that most words need no stemmer.
    :raises BundleError: if the stems do not fit the words.
    """

    def __init__(self, language: str, vocabularies: Mapping[str, Vocabulary], stems: Sequence[int] = ()) -> None:
        self._language, self._vocabularies, self._stems = language, vocabularies, stems
        if stems and not (
            len(stems) == len(vocabularies[LOWER].values)
            and min(stems) >= 0
            and max(stems) < len(vocabularies[STEM].values)
        ):
            raise BundleError("the stems of the engine do not fit its words; train it again")

    def of(self, name: str) -> _Identify:
        """The function from words to ids in a column."""
        return self._of_stems if name == STEM and self._stems else self._read(name)

    def stems_of_training(self) -> list[int]:
        """For each value of `lower` the id of its stem; empty if the settings leave these columns out."""
        if not {STEM, LOWER} <= self._vocabularies.keys():
            return []
        return self._read(STEM)(list(self._vocabularies[LOWER].values))

    def _read(self, name: str) -> _Identify:
        value_of, identify = word_column(name, self._language), self._vocabularies[name].of_values
        return lambda words: identify(map(value_of, words))

    def _of_stems(self, words: list[str]) -> list[int]:
        lower = list(map(str.lower, words))
        known = self._vocabularies[LOWER].of_values(lower)
        new = list({word: None for word, number in zip(lower, known, strict=True) if not number})
        stems = dict(zip(new, self._read(STEM)(new), strict=True))
        return [self._stems[number] if number else stems[word] for word, number in zip(lower, known, strict=True)]


class ColumnReader:
    """Computes any column of a feature space.

    :param stems: see `WordIds`.
    :raises BundleError: if the stems do not fit the words.
    """

    def __init__(
        self,
        settings: FeatureSettings,
        vocabularies: Mapping[str, Vocabulary],
        gazetteers: Gazetteers,
        stems: Sequence[int] = (),
        representations: Representations | None = None,
    ) -> None:
        self._settings, self._vocabularies, self._gazetteers = settings, vocabularies, gazetteers
        self._representations = representations or Representations()
        given = {"pos": settings.pos, "ner": settings.ner}
        self._annotators = {column: annotator_of(column, setting) for column, setting in given.items() if setting}
        self.words = WordIds(settings.language, vocabularies, stems)

    def read(self, name: str, layout: Layout) -> Integers32:
        """The ids of one column, one per token; :raises SettingsError: if the settings leave the column out."""
        if name not in self._vocabularies:
            raise SettingsError(f"the column {name} is not among the features of this engine")
        if layout.whole is not None and name not in OF_THE_TOKEN:
            return self.read(name, layout.whole)[layout.word]
        vocabulary = self._vocabularies[name]
        if is_word_column(name):
            return layout.of_words(name, self.words.of(name))
        if name in LAYOUT_COLUMNS:
            return vocabulary.ids(*LAYOUT_COLUMNS[name](layout))
        if name in GAZETTEER_COLUMNS:
            return vocabulary.ids(*self._gazetteers.column(name, layout))
        if name in BROWN_COLUMNS or name == VECTOR_CLUSTER:
            return vocabulary.ids(*self._representations.column(name, layout))
        if name in self._settings.extra:
            column = installed_column(name)
            column = column.of(self._settings.language) if isinstance(column, LanguageColumn) else column
            return column.ids(name, layout, vocabulary)
        tags = Distinct()
        codes = tags.numbers(self._annotators[name].tags(layout.words, layout.sentences))
        return vocabulary.ids(codes, tags.strings)


class LazyColumns:
    """The columns of the notes of a layout, each computed when it is first read."""

    def __init__(self, reader: ColumnReader, layout: Layout) -> None:
        self._reader, self.layout = reader, layout
        self._columns: dict[str, Integers32] = {}

    def column(self, name: str) -> Integers32:
        """The ids of one column for the tokens of all notes; :raises SettingsError: if the settings leave it out."""
        ids = self._columns.get(name)
        if ids is None:
            ids = self._columns[name] = self._reader.read(name, self.layout)
        return ids
