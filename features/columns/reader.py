"""Computes the columns of notes, as integer ids.

reader = ColumnReader(settings, vocabularies, gazetteers)
reader.read("key", layout)                    (n_tokens,) integers
LazyColumns(reader, layout).column("key")     the same, cached
"""

from __future__ import annotations

from collections.abc import Mapping

from phistack.features.arrays import Integers32
from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.installed import LanguageColumn, installed_column
from phistack.features.columns.layout import Layout
from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.representations import BROWN_COLUMNS, VECTOR_CLUSTER, Representations
from phistack.features.columns.settings import OF_THE_TOKEN, FeatureSettings
from phistack.features.columns.taggers import annotator_of
from phistack.features.columns.vocabulary import Distinct, Vocabulary
from phistack.features.columns.word_columns import is_word_column, word_column
from phistack.features.errors import SettingsError


class ColumnReader:
    """Computes any column of a feature space."""

    def __init__(
        self,
        settings: FeatureSettings,
        vocabularies: Mapping[str, Vocabulary],
        gazetteers: Gazetteers,
        representations: Representations,
    ) -> None:
        self._settings, self._vocabularies, self._gazetteers = settings, vocabularies, gazetteers
        self._representations = representations
        given = {"pos": settings.pos, "ner": settings.ner}
        self._annotators = {column: annotator_of(column, setting) for column, setting in given.items() if setting}

    def read(self, name: str, layout: Layout) -> Integers32:
        """The ids of one column, one per token; :raises SettingsError: if the settings leave the column out."""
        if name not in self._vocabularies:
            raise SettingsError(f"the column {name} is not among the features of this engine")
        if layout.whole is not None and name not in OF_THE_TOKEN:
            return self.read(name, layout.whole)[layout.word]
        vocabulary = self._vocabularies[name]
        if is_word_column(name):
            value_of = word_column(name, self._settings.language)
            return layout.of_words(name, lambda words: vocabulary.of_values(map(value_of, words)))
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
