"""The unified feature set: named columns over the tokens of notes, as integer ids.

    space = FeatureSpace(FeatureSettings(language="es"))
    tables = space.fit(documents)            one FeatureTable per document; this fixes the ids of all values
    tables[0].column("key")                  (n_tokens,) integers
    space.values("key")[3]                   the value with the id 3 in the column "key"
    space.tables(unseen_documents)           a value unseen in training has the id 0
    line_bounds(tables[0])                   [0, 12, 31]: tokens 0 to 11 are one sequence of lines, 12 to 30 the other

All submodels read the same tables. A column is computed when it is first read, for a batch of notes at once.

A table describes a note's plain view (`features.plain_view`): its text, spans and tokens, and the candidates of
submodels, are those of the view; `FeatureTable.view` maps spans back to the original note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.character_models import STATE_FILE, CharacterModels
from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from phistack.features.columns.installed import LanguageColumn, installed_column
from phistack.features.columns.layout import Known, Layout
from phistack.features.columns.layout_columns import LAYOUT_COLUMNS
from phistack.features.columns.representations import (
    BROWN_COLUMNS,
    INSTALLED_CLUSTERS,
    VECTOR_CLUSTER,
    Representations,
    RepresentationsState,
    by_cluster,
)
from phistack.features.columns.settings import (
    OF_THE_TOKEN,
    OWN_COLUMNS,
    QUOTED,
    SPELLED,
    FeatureSettings,
    lines_end_sentences,
    trained_byte_pairs,
)
from phistack.features.columns.taggers import Annotator, annotators_of, refuse_other_languages
from phistack.features.columns.trained_tagger import TrainedTagger
from phistack.features.columns.vocabulary import Distinct, Vocabulary
from phistack.features.columns.word_columns import is_word_column, normal_form, word_column
from phistack.features.discretion import Discretion
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.plain_view import PlainView, plain_view
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.tags import encode
from phistack.features.tokens import BytePairs, Tokeniser, TokenOffsets, learned_abbreviations
from phistack.features.writing import write_json

PUBLIC_CLUSTERS = "public_clusters.json"
"""The file of installed clusters: words of the language by cluster, none from the notes."""

_TAGGER = "{}_tagger.json"
"""The file of our own tagger of a column."""

_NOTES_AT_ONCE = 64


class _SpaceState(TypedDict):
    """The content of `features.json`."""

    settings: FeatureSettings
    split_lines: bool
    abbreviations: list[str]
    byte_pairs: list[tuple[str, str]] | None
    gazetteers: dict[str, list[str]]
    vocabularies: dict[str, list[str]]
    representations: NotRequired[RepresentationsState]


class LazyColumns:
    """The columns of the notes of a layout, each computed when it is first read."""

    def __init__(self, space: FeatureSpace, layout: Layout) -> None:
        self._space, self.layout = space, layout
        self._columns: dict[str, Integers32] = {}

    def column(self, name: str) -> Integers32:
        """The ids of one column for the tokens of all notes; :raises SettingsError: if the settings leave it out."""
        if name not in self._columns:
            self._columns[name] = self._space.read_column(name, self.layout)
        return self._columns[name]

    def renumber(self, name: str, numbers: Integers32) -> None:
        """Change the ids of a column already read; :param numbers: old id -> new id."""
        self._columns[name] = numbers[self._columns[name]]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class FeatureTable:
    """One note's tokens and their columns; compared and hashed by identity.

    :param view: the plain view of the note.
    :param offsets: starts and ends of the tokens, each of shape `(n_tokens,)`.
    :param sentences: index of the first token of each sentence, then the number of tokens: `(n_sentences + 1,)`.
    :param space: defines columns and ids.
    :param batch: the columns of all notes of its batch.
    :param number: of the note in the batch.
    """

    view: PlainView
    offsets: TokenOffsets = field(repr=False)
    sentences: Integers32 = field(repr=False)
    space: FeatureSpace = field(repr=False)
    batch: LazyColumns = field(repr=False)
    number: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.offsets[0])

    @property
    def document(self) -> Document:
        """The plain view as a document."""
        return self.view.document

    @property
    def words(self) -> list[str]:
        """The tokens' text."""
        return self.batch.layout.cuts[self.number][0]

    def neighbours(self, offset: int) -> Integers32:
        """The index of the token `offset` words on, of shape `(n_tokens,)`; -1 beyond the ends of the note.

        Where tokens are pieces of words, the index of that word's nearest piece; the offset must not be 0.
        """
        words = self._own(self.batch.layout.word)
        words = words - words[:1]
        # (n_words,): the first piece of each word for a positive offset, the last for a negative one.
        bounds = np.searchsorted(words, np.arange(int(words.max(initial=-1)) + 1), "left" if offset > 0 else "right")
        nearest = np.append(bounds - (offset <= 0), -1)
        wanted = words + offset
        there = (wanted >= 0) & (wanted < len(bounds))
        found: Integers32 = nearest[np.where(there, wanted, -1)].astype(np.int32)
        return found

    def column(self, name: str) -> Integers32:
        """The ids of one column, of shape `(n_tokens,)`; :raises SettingsError: if the settings leave it out."""
        return self._own(self.batch.column(name))

    def _own(self, values: Integers32) -> Integers32:
        bounds = self.batch.layout.bounds
        return values[bounds[self.number] : bounds[self.number + 1]]

    @property
    def ids(self) -> Integers32:
        """All columns, of shape `(n_tokens, n_columns)`."""
        return np.stack([self.column(name) for name in self.space.columns], axis=1)

    def tags(self, *, scheme: str = "BIO", counts: Counter[str] | None = None) -> list[str]:
        """The gold PHI as one tag per token; see `features.tags.encode`."""
        return encode(self.document.spans, self.offsets, scheme=scheme, counts=counts)


class FeatureSpace:
    """Makes feature tables of documents, and holds the values of all ids.

    Learned by `fit`: `tokeniser_`, `split_lines_`, `abbreviations_`, `vocabularies_` (column -> Vocabulary),
    `gazetteers_`, `representations_` (of words and characters; vectors are not saved), `annotators_` (column -> tagger;
    our own are saved), and in training `discretion_`, which says what may be kept; `None` for everything.
    """

    discretion_: Discretion | None = None

    def __init__(self, settings: FeatureSettings | None = None) -> None:
        self.settings = settings or FeatureSettings()
        self.columns = self.settings.columns
        self._known = Known()

    def further_columns(self, named: Collection[str]) -> tuple[str, ...]:
        """The columns of `extra` that a submodel does not name itself."""
        return tuple(name for name in self.settings.extra if name in self.columns and name not in named)

    def values(self, column: str) -> Sequence[str]:
        """Id -> value of a column; the id 0 is for values unseen in training."""
        return self.vocabularies_[column].values

    def id(self, column: str, value: str) -> int:
        """The id of a value in a column; 0 if unseen in training."""
        return self.vocabularies_[column].find(value)

    def fit(self, documents: Iterable[Document], discretion: Discretion | None = None) -> list[FeatureTable]:
        """Learn byte pairs, line handling and the values of all columns; returns the documents' tables.

        :param discretion: what may be kept of the documents; `None` for everything. The rest counts as unseen.
        :raises SettingsError: if an annotator does not support the language of the notes.
        """
        self.annotators_ = annotators_of(self.settings.taggers)
        refuse_other_languages(self.settings.language, self.settings.taggers, self.annotators_)
        views = [plain_view(document, html=self.settings.html) for document in documents]
        notes = [view.document for view in views]
        marked = [note.text[span.start : span.end] for note in notes for span in note.spans]
        self.split_lines_ = lines_end_sentences(self.settings, marked)
        self.discretion_ = discretion
        self.abbreviations_ = frozenset(filter(self.keeps, learned_abbreviations(marked)))
        self.tokeniser_ = Tokeniser(self.settings.tokeniser, trained_byte_pairs(self.settings, notes, self.keeps))
        self.gazetteers_ = Gazetteers.of_language(self.settings.language)
        self.vocabularies_ = {name: Vocabulary() for name in self.columns}
        self.representations_ = self._read_representations(notes)
        self._known = Known()
        tables = self._tables(views)
        for name in self.columns:
            for table in tables:
                table.column(name)
        if discretion is not None:
            self._withhold(tables, discretion)
        for vocabulary in self.vocabularies_.values():
            vocabulary.freeze()
        return tables

    def keeps(self, word: str) -> bool:
        """Whether a word of the training notes may be kept."""
        return self.discretion_ is None or self.discretion_.keeps(word)

    def _withhold(self, tables: Sequence[FeatureTable], discretion: Discretion) -> None:
        """In every column, give values that may not be kept the id of unseen values.

        A token of a hidden word does not count for values that spell it: an affix counts only if other words have it.
        Values are sorted because their order would show the text of the first notes.
        """
        batches = list({id(table.batch): table.batch for table in tables}.values())
        patients = patients_of(tables)
        # (n_tokens,): whether the token, or the word that it is a piece of, is hidden.
        hidden = np.concatenate([_hidden(batch.layout, discretion) for batch in batches])
        for name in self.columns:
            is_spelled = name in SPELLED or name not in OWN_COLUMNS
            ids = np.concatenate([batch.column(name) for batch in batches])
            shared = discretion.shared(np.where(hidden, -1, ids) if is_spelled else ids, patients)
            values = self.vocabularies_[name].values
            kept = sorted(np.flatnonzero(shared).tolist(), key=values.__getitem__)
            if is_spelled or name in QUOTED:
                kept = [number for number in kept if not discretion.hides(values[number])]
            self.vocabularies_[name] = Vocabulary([values[0], *(values[number] for number in kept)])
            numbers = np.zeros(len(values), dtype=np.int32)
            numbers[kept] = np.arange(1, len(kept) + 1)
            for batch in batches:
                batch.renumber(name, numbers)
        # The old cache has the old ids.
        self._known = Known()

    def _read_representations(self, notes: Sequence[Document]) -> Representations:
        """The representations of the words of some notes, and of their pieces if tokens are pieces."""
        if not (self.settings.vectors or self.settings.clusters or self.settings.language_models):
            return Representations()
        tokenisers = (self.tokeniser_, Tokeniser()) if self.tokeniser_.keeps_words else (self.tokeniser_,)
        words = {word for cut in tokenisers for note in notes for word in cut.cut(note.text)[0] if self.keeps(word)}
        return Representations.read(
            set(map(normal_form, words)), vectors=self.settings.vectors, n_clusters=self.settings.vector_clusters,
            clusters=self.settings.clusters, further=self.settings.further_words,
            language=self.settings.language, language_models=self.settings.language_models,
        )  # fmt: skip

    def table(self, document: Document) -> FeatureTable:
        """The table of one note."""
        return self.tables([document])[0]

    def tables(self, documents: Iterable[Document]) -> list[FeatureTable]:
        """The tables of many notes."""
        return self._tables(plain_view(document, html=self.settings.html) for document in documents)

    def _tables(self, views: Iterable[PlainView]) -> list[FeatureTable]:
        views = iter(views)
        tables: list[FeatureTable] = []
        while notes := list(islice(views, _NOTES_AT_ONCE)):
            tables += self._batch(notes)
        return tables

    def _batch(self, views: Sequence[PlainView]) -> Iterator[FeatureTable]:
        if self._known.full:
            self._known = Known()
        layout = Layout.of(
            [view.document.text for view in views], self.tokeniser_,
            split_lines=self.split_lines_, abbreviations=self.abbreviations_, known=self._known,
        )  # fmt: skip
        batch = LazyColumns(self, layout)
        for number, view in enumerate(views):
            yield FeatureTable(view, layout.offsets(number), layout.starts[number], self, batch, number)

    def read_column(self, name: str, layout: Layout) -> Integers32:
        """The ids of one column, one per token; :raises SettingsError: if the settings leave the column out."""
        if name not in self.vocabularies_:
            raise SettingsError(f"the column {name} is not among the features of this engine")
        if layout.whole is not None and name not in OF_THE_TOKEN:
            return self.read_column(name, layout.whole)[layout.word]
        vocabulary, language = self.vocabularies_[name], self.settings.language
        if is_word_column(name):
            value_of = word_column(name, language)
            return layout.of_words(name, lambda words: vocabulary.of_values(map(value_of, words)))
        if name in LAYOUT_COLUMNS:
            return vocabulary.ids(*LAYOUT_COLUMNS[name](layout))
        if name in GAZETTEER_COLUMNS:
            return vocabulary.ids(*self.gazetteers_.column(name, layout))
        if name in BROWN_COLUMNS or name == VECTOR_CLUSTER:
            return vocabulary.ids(*self.representations_.column(name, layout))
        if name in self.settings.extra:
            column = installed_column(name)
            column = column.of(language) if isinstance(column, LanguageColumn) else column
            return column.ids(name, layout, vocabulary)
        tags = Distinct()
        codes = tags.numbers(self.annotators_[name].tags(layout.words, layout.sentences))
        return vocabulary.ids(codes, tags.strings)

    def save(self, folder: Path) -> None:
        """Write the learned state as JSON, and the language models, if any, as files of their own format."""
        byte_pairs = self.tokeniser_.byte_pairs
        state = {
            "settings": asdict(self.settings),
            "split_lines": self.split_lines_,
            "abbreviations": sorted(self.abbreviations_),
            "byte_pairs": list(byte_pairs.merges) if byte_pairs else None,
            "gazetteers": self.gazetteers_.to_dict(),
            "vocabularies": {name: list(vocabulary.values) for name, vocabulary in self.vocabularies_.items()},
        }
        folder.mkdir(parents=True, exist_ok=True)
        if self.representations_:
            represented = self.representations_.to_dict()
            if self.settings.clusters == INSTALLED_CLUSTERS:
                write_json(folder / PUBLIC_CLUSTERS, by_cluster(represented.pop("brown")), indent=None)
            state["representations"] = represented
        write_json(folder / "features.json", state, indent=None)
        for column, annotator in self.annotators_.items():
            if isinstance(annotator.tag, TrainedTagger):
                write_json(folder / _TAGGER.format(column), annotator.tag.to_dict(), indent=None)
        if self.representations_.language_models is not None:
            self.representations_.language_models.save(folder)

    @classmethod
    def load(cls, files: SavedFiles) -> FeatureSpace:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json("features.json", _SpaceState)
        with damage_refused("the feature settings of the engine"):
            space = cls(state["settings"])
            pairs = state["byte_pairs"]
            space.split_lines_ = state["split_lines"]
            space.abbreviations_ = frozenset(state["abbreviations"])
            space.tokeniser_ = Tokeniser(space.settings.tokeniser, BytePairs(pairs) if pairs is not None else None)
            space.gazetteers_ = Gazetteers.from_dict(state["gazetteers"])
            space.vocabularies_ = {name: Vocabulary(state["vocabularies"][name]).freeze() for name in space.columns}
            represented = state.get("representations", {})
            if PUBLIC_CLUSTERS in files:
                public = files.json(PUBLIC_CLUSTERS, dict[str, list[str]])
                represented["brown"] = {word: bits for bits, words in public.items() for word in words}
            models = CharacterModels.load(files) if STATE_FILE in files else None
            space.representations_ = Representations.from_dict(represented, models)
            given = space.settings.taggers
            carried = {column: _TAGGER.format(column) for column in given if _TAGGER.format(column) in files}
            space.annotators_ = annotators_of({column: given[column] for column in given if column not in carried})
            for column, name in carried.items():
                space.annotators_[column] = Annotator.trained(files.json(name, TrainedTagger))
        return space


def patients_of(tables: Sequence[FeatureTable]) -> Integers:
    """The number of the patient of each token, all notes end to end, of shape `(n_tokens,)`."""
    numbers: dict[str, int] = {}
    of_notes = [numbers.setdefault(table.document.group, len(numbers)) for table in tables]
    return np.repeat(np.array(of_notes, dtype=np.int64), [len(table) for table in tables])


def _hidden(layout: Layout, discretion: Discretion) -> NDArray[np.bool_]:
    """Whether each token, or the word that it is a piece of, is hidden, of shape `(n_tokens,)`."""
    if layout.whole is not None:
        whole: NDArray[np.bool_] = _hidden(layout.whole, discretion)[layout.word]
        return whole
    return layout.of_words("hidden", partial(map, discretion.hides)) > 0


_LONGEST = 1_000
"""The most tokens of a sequence; longer lines are cut at the ends of sentences, as only sequences are processed in
parallel."""


def line_starts(table: FeatureTable) -> Integers32:
    """The first tokens of those sentences that open a line, of shape `(n_lines,)`."""
    layout, firsts = table.batch.layout, table.sentences[:-1]
    starts: Integers32 = firsts[layout.opens_line[layout.bounds[table.number] + firsts]]
    return starts


def line_bounds(table: FeatureTable) -> Integers32:
    """The bounds of sequences, of shape `(n_sequences + 1,)`: sentences of one line, joined up to 1,000 tokens.

    An abbreviation within an address is easily taken for the end of a sentence, so a sequence model reads whole lines.
    """
    opens_line = set(line_starts(table).tolist())
    bounds = table.sentences[:1].tolist()
    for begin, end in pairwise(table.sentences[1:].tolist()):
        if begin in opens_line or end - bounds[-1] > _LONGEST:
            bounds.append(begin)
    return np.array([*bounds, *table.sentences[1:][-1:]], dtype=np.int32)


def tokens_touched(table: FeatureTable, spans: Sequence[Span]) -> tuple[Integers, Integers]:
    """The first token of each span and the token after its last, each of shape `(n_spans,)`."""
    starts, ends = table.offsets
    first = ends.searchsorted([span.start for span in spans], side="right")
    return first, np.maximum(starts.searchsorted([span.end for span in spans]), first)


def lines_touched(table: FeatureTable, spans: Sequence[Span]) -> tuple[Integers, Integers]:
    """The first line of each span, as in `line_bounds`, and the line after its last, each `(n_spans,)`."""
    first, last = tokens_touched(table, spans)
    starts = line_bounds(table)[:-1]
    begin = np.maximum(starts.searchsorted(first, side="right") - 1, 0)
    return begin, np.maximum(starts.searchsorted(last), begin)
