"""Reads columns off the tokens of notes, as integer ids.

    reader = ColumnReader(settings, vocabularies, gazetteers)
    reader.read("key", layout)                    (n_tokens,) integers
    LazyColumns(reader, layout).column("key")     the same, read once

A column is of the word alone, of the layout, of lists of names, of word representations, of another package, or of an
annotator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phistack.features.arrays import Integers32
from phistack.features.columns.annotators import annotators_of
from phistack.features.columns.distinct import Distinct
from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.installed import LanguageColumn, installed_column
from phistack.features.columns.layout import Layout
from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.representations import BROWN_COLUMNS, VECTOR_CLUSTER, Representations
from phistack.features.columns.settings import OF_THE_TOKEN, FeatureSettings
from phistack.features.columns.taggers import Annotator
from phistack.features.columns.vocabulary import Vocabulary
from phistack.features.columns.word_columns import is_word_column
from phistack.features.columns.word_ids import WordIds
from phistack.features.errors import SettingsError


class ColumnReader:
    """Reads any column of a feature space; `words` gives the ids of words in the columns that depend on these alone.

    :param vocabularies: what the ids of each column stand for.
    :param stems: see `WordIds`.
    :param representations: of words, for the columns that show them.
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
        self._annotators: tuple[Annotator, ...] = annotators_of(settings.pos, settings.ner)
        self.words = WordIds(settings.language, vocabularies, stems)

    def read(self, name: str, layout: Layout) -> Integers32:
        """The ids of one column, one a token; :raises SettingsError: if the settings leave the column out."""
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
        annotator = next(annotator for annotator in self._annotators if annotator.column == name)
        tags = Distinct()
        codes = tags.numbers(annotator.columns(layout.words, layout.sentences)[name])
        return vocabulary.ids(codes, tags.strings)


class LazyColumns:
    """Some notes whose columns are read together, each when it is first asked for.

    :param reader: of the feature space.
    :param layout: the notes' tokens.
    """

    def __init__(self, reader: ColumnReader, layout: Layout) -> None:
        self._reader, self.layout = reader, layout
        self._columns: dict[str, Integers32] = {}

    def column(self, name: str) -> Integers32:
        """The ids of one column for the tokens of all notes; :raises SettingsError: if the settings leave it out."""
        ids = self._columns.get(name)
        if ids is None:
            ids = self._columns[name] = self._reader.read(name, self.layout)
        return ids
