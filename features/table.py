"""The unified feature set: named columns over the tokens of a note, as integer ids.

    space = FeatureSpace(FeatureSettings(language="es"))
    tables = space.fit(documents)            one FeatureTable a document; the ids of all values are now fixed
    tables[0].column("key")                  (n_tokens,) integers
    space.values("key")[3]                   what the id 3 of the column "key" stands for
    space.table(unseen_document)             a value that was not there in training has the id 0

Every submodel reads the same tables, so nothing is computed twice and no submodel sees more than another.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.annotators import Annotator, annotators_of
from features.byte_pairs import BytePairs
from features.documents import Document, Span
from features.errors import BundleError, SettingsError
from features.gazetteers import GAZETTEER_COLUMNS, Gazetteers
from features.layout_columns import LAYOUT_COLUMNS, Layout
from features.sentences import learned_abbreviations, sentence_starts
from features.tags import decode, encode
from features.tokens import TOKENISERS, Tokeniser, TokenOffsets, camel_case_pieces
from features.vocabulary import Vocabulary
from features.word_columns import LANGUAGES, WORD_COLUMNS, values_of

__all__ = ["COLUMN_GROUPS", "FeatureSettings", "FeatureSpace", "FeatureTable"]

COLUMN_GROUPS: dict[str, tuple[str, ...]] = {
    "words": ("word", "lower", "pattern", "stem"),
    "affixes": tuple(name for name in WORD_COLUMNS if name.startswith(("prefix", "suffix"))),
    "orthography": (
        "shape", "short_shape", "length", "number", "digits_only", "starts_upper", "all_upper", "has_upper",
        "has_digit", "punctuation", "piece_shape", "place_in_piece",
    ),
    "layout": (
        "key", "key_distance", "section", "line_start", "line_end", "line_position", "line_from_start", "line_from_end",
        "line_length", "space_before",
    ),
    "document": ("document_position", "times_in_document", "key_in_document"),
    "sentence": ("sentence_length", "end_mark", "unmatched_bracket"),
    "gazetteers": GAZETTEER_COLUMNS,
    "tagging": ("pos", "ner"),
}  # fmt: skip
"""Group -> its columns; what an ablation leaves out together."""


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """How notes are cut into tokens and which columns are read off them.

    :param language: ISO 639-1 code; decides on the stemmer and the gazetteers.
    :param tokeniser: `liu` or `zhao`.
    :param byte_pairs: number of merges of byte pair encoding, with `zhao`; 0 for none.
    :param split_lines: whether a line end ends a sentence; `None` lets the training spans decide.
    :param without: column groups to leave out.
    :param pos: part-of-speech column: empty for none, `nltk`, or the URL of a CoreNLP server.
    :param ner: general named-entity column: empty for none, or the URL of a CoreNLP server.
    """

    language: str = "en"
    tokeniser: str = "liu"
    byte_pairs: int = 0
    split_lines: bool | None = None
    without: tuple[str, ...] = ()
    pos: str = ""
    ner: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "without", tuple(self.without))
        if self.language not in LANGUAGES:
            raise SettingsError(f"the language {self.language} is not supported; choose from {', '.join(LANGUAGES)}")
        if self.tokeniser not in TOKENISERS:
            raise SettingsError(f"no tokeniser is named {self.tokeniser}; there are {', '.join(TOKENISERS)}")
        unknown = sorted(set(self.without) - set(COLUMN_GROUPS))
        if unknown:
            raise SettingsError(f"no column group is named {unknown[0]}; there are {', '.join(COLUMN_GROUPS)}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        optional = {"pos": self.pos, "ner": self.ner}
        return tuple(
            name
            for group, names in COLUMN_GROUPS.items()
            if group not in self.without
            for name in names
            if optional.get(name, "yes")
        )


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """One note's tokens and their columns.

    :param document: the note.
    :param offsets: starts and ends of the tokens, each of shape `(n_tokens,)`.
    :param sentences: index of the first token of each sentence, then the number of tokens: `(n_sentences + 1,)`.
    :param ids: column values as ids, of shape `(n_tokens, n_columns)`.
    :param space: says what columns and ids stand for.
    """

    document: Document
    offsets: TokenOffsets = field(repr=False)
    sentences: NDArray[np.int32] = field(repr=False)
    ids: NDArray[np.int32] = field(repr=False)
    space: FeatureSpace = field(repr=False)

    def __len__(self) -> int:
        return len(self.offsets[0])

    @property
    def words(self) -> list[str]:
        """The tokens' text."""
        text = self.document.text
        return [text[a:b] for a, b in zip(self.offsets[0].tolist(), self.offsets[1].tolist(), strict=True)]

    def column(self, name: str) -> NDArray[np.int32]:
        """The ids of one column, of shape `(n_tokens,)`."""
        return self.ids[:, self.space.position(name)]

    def tags(self, *, scheme: str = "BIO", counts: Counter[str] | None = None) -> list[str]:
        """The gold PHI as one tag a token; see `features.tags.encode`."""
        return encode(self.document.spans, self.offsets, scheme=scheme, counts=counts)

    def spans(self, tags: Sequence[str], *, scheme: str = "BIO") -> list[Span]:
        """What tags say, as spans of the text."""
        starts, ends = self.offsets
        return [
            Span(int(starts[first]), int(ends[last - 1]), label) for first, last, label in decode(tags, scheme=scheme)
        ]


class FeatureSpace:
    """Reads feature tables off documents, and knows what every id stands for.

    Learned by `fit`: `tokeniser_`, `split_lines_`, `abbreviations_`, `vocabularies_` (column ->
    Vocabulary), `gazetteers_`.

    :param settings: tokens and columns.
    """

    def __init__(self, settings: FeatureSettings | None = None) -> None:
        self.settings = settings or FeatureSettings()
        self.columns = self.settings.columns
        self._position = {name: i for i, name in enumerate(self.columns)}
        self._word_columns = tuple(name for name in self.columns if name in WORD_COLUMNS or name == "stem")
        self._annotators: tuple[Annotator, ...] = annotators_of(self.settings.pos, self.settings.ner)
        self._word_rows: dict[str, list[int]] = {}

    def position(self, column: str) -> int:
        """The place of a column in `FeatureTable.ids`; :raises SettingsError: if the settings leave it out."""
        try:
            return self._position[column]
        except KeyError:
            raise SettingsError(f"the column {column} is not among the features of this engine") from None

    def values(self, column: str) -> Sequence[str]:
        """What the ids of a column stand for; the id 0 is a value unseen in training."""
        return self.vocabularies_[column].values

    def fit(self, documents: Iterable[Document]) -> list[FeatureTable]:
        """Learn byte pairs, line handling and the values of all columns; the documents' tables come back."""
        documents = list(documents)
        marked = [document.text[span.start : span.end] for document in documents for span in document.spans]
        self.split_lines_ = self._decide_split_lines(marked)
        self.abbreviations_ = learned_abbreviations(marked)
        self.tokeniser_ = Tokeniser(self.settings.tokeniser, self._train_byte_pairs(documents))
        self.gazetteers_ = Gazetteers.of_language(self.settings.language)
        self.vocabularies_ = {name: Vocabulary() for name in self.columns}
        self._word_rows.clear()
        tables = [self.table(document) for document in documents]
        for vocabulary in self.vocabularies_.values():
            vocabulary.freeze()
        return tables

    def table(self, document: Document) -> FeatureTable:
        """The columns of one note."""
        offsets = self.tokeniser_(document.text)
        sentences = sentence_starts(
            document.text, offsets, split_lines=self.split_lines_, abbreviations=self.abbreviations_
        )
        layout = Layout(document.text, offsets[0].tolist(), offsets[1].tolist(), sentences)
        ids = np.zeros((len(layout), len(self.columns)), dtype=np.int32)
        if len(layout):
            ids[:, [self._position[name] for name in self._word_columns]] = [self._word_row(w) for w in layout.words]
            for name, values in self._context_columns(layout).items():
                ids[:, self._position[name]] = self.vocabularies_[name].ids(values)
        return FeatureTable(document, offsets, sentences, ids, self)

    def tables(self, documents: Iterable[Document]) -> list[FeatureTable]:
        """The columns of many notes."""
        return [self.table(document) for document in documents]

    def save(self, folder: Path) -> None:
        """Write what was learned as JSON."""
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
        (folder / "features.json").write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> FeatureSpace:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        try:
            state: dict[str, Any] = json.loads((folder / "features.json").read_text(encoding="utf-8"))
            space = cls(FeatureSettings(**state["settings"]))
            pairs = state["byte_pairs"]
            space.split_lines_ = bool(state["split_lines"])
            space.abbreviations_ = frozenset(state["abbreviations"])
            space.tokeniser_ = Tokeniser(
                space.settings.tokeniser, BytePairs((a, b) for a, b in pairs) if pairs is not None else None
            )
            space.gazetteers_ = Gazetteers.from_dict(state["gazetteers"])
            space.vocabularies_ = {name: Vocabulary(state["vocabularies"][name]).freeze() for name in space.columns}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SettingsError) as error:
            raise BundleError(f"the feature settings in {folder} cannot be read ({type(error).__name__})") from None
        return space

    def _decide_split_lines(self, marked: Sequence[str]) -> bool:
        """Lines are joined where at least one training span in 200 runs over a line end."""
        if self.settings.split_lines is not None:
            return self.settings.split_lines
        return 200 * sum("\n" in text or "\r" in text for text in marked) < max(len(marked), 1)

    def _train_byte_pairs(self, documents: Sequence[Document]) -> BytePairs | None:
        if not self.settings.byte_pairs:
            return None
        tokenise = Tokeniser("liu")
        counts: Counter[str] = Counter()
        for document in documents:
            for start, end in zip(*(offsets.tolist() for offsets in tokenise(document.text)), strict=True):
                word = document.text[start:end]
                counts.update(camel_case_pieces(word) if word[0].isalpha() else ())
        return BytePairs.train(counts, n_merges=self.settings.byte_pairs)

    def _word_row(self, word: str) -> list[int]:
        row = self._word_rows.get(word)
        if row is None:
            values = values_of(word, self.settings.language)
            row = [self.vocabularies_[name].id(values[name]) for name in self._word_columns]
            if len(self._word_rows) > 200_000:
                self._word_rows.clear()
            self._word_rows[word] = row
        return row

    def _context_columns(self, layout: Layout) -> dict[str, list[str]]:
        columns = {name: LAYOUT_COLUMNS[name](layout) for name in self.columns if name in LAYOUT_COLUMNS}
        if "gazetteers" not in self.settings.without:
            columns |= self.gazetteers_.columns(layout.lower)
        for annotator in self._annotators:
            columns |= annotator.columns(layout.words, layout.sentences)
        return columns
