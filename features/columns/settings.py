"""The settings of the feature set: tokens and columns.

settings = FeatureSettings(language="es", without=("gazetteers",))
settings.columns                                 ("word", "lower", ...)
settings.groups["affixes"]                       ("prefix1", ...)
lines_end_sentences(settings, ["Ann Lee"])       True: decided by training spans unless set
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phistack.features.columns.gazetteers import GAZETTEER_COLUMNS
from phistack.features.columns.installed import installed_column
from phistack.features.columns.representations import (
    BROWN_COLUMNS,
    IF_INSTALLED,
    VECTOR_CLUSTER,
    clusters_if_installed,
)
from phistack.features.columns.taggers import INSTALLED, installed_tagger
from phistack.features.columns.word_columns import LANGUAGES, WORD_COLUMNS
from phistack.features.documents import Document
from phistack.features.errors import SettingsError, no_such
from phistack.features.tokens import TOKENISERS, BytePairs, Tokeniser

_MOST_MERGES = 100
_MOST_CLUSTERS = 10_000
_REPRESENTATIONS = "representations"

COLUMN_GROUPS: dict[str, tuple[str, ...]] = {
    "words": ("word", "lower", "pattern", "stem"),
    "affixes": tuple(name for name in WORD_COLUMNS if name.startswith(("prefix", "suffix"))),
    "orthography": (
        "shape", "short_shape", "length", "number", "digits_only", "starts_upper", "all_upper", "has_upper",
        "has_digit", "punctuation", "piece_shape", "place_in_piece", "word_piece",
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
"""Group -> its columns, which an ablation leaves out together."""

OWN_COLUMNS = frozenset((*(name for names in COLUMN_GROUPS.values() for name in names), *BROWN_COLUMNS, VECTOR_CLUSTER))
"""The columns that settings need not name."""

SPELLED = frozenset((*COLUMN_GROUPS["words"], *COLUMN_GROUPS["affixes"]))
"""Columns whose values spell the token's word or a part of it; those of other packages may do so too."""

QUOTED = frozenset(("key", "section", "key_in_document"))
"""Columns whose values are words of the note, but not the token's."""

OF_THE_TOKEN = frozenset((
    "word", "lower", "pattern", "length", "digits_only", "starts_upper", "space_before", "place_in_piece", "word_piece",
))  # fmt: skip
"""Columns of the token itself; where tokens are pieces of words, all other columns are of the whole word."""


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """How notes are cut into tokens, and their columns.

    :param language: ISO 639-1 code; chooses the stemmer and the gazetteers.
    :param tokeniser: one of `features.tokens.TOKENISERS`.
    :param byte_pairs: number of merges of byte pair encoding, with `zhao` or `zhao2020`; 0 for none.
    :param byte_pairs_per_word: instead, the number of merges per distinct word of the training notes.
    :param split_lines: whether a line end ends a sentence; with `None` the training spans decide.
    :param without: column groups to leave out.
    :param pos: part-of-speech column: empty for none, `nltk`, `spacy:` and a pipeline, the URL of a CoreNLP server, or
        a file of `phistack tagger`; `installed` chooses an installed tagger of the language.
    :param ner: general named-entity column, likewise.
    :param extra: names of optional columns, ours or of other packages; see `features.columns.installed`.
    :param vectors: a file of word vectors; see `features.columns.representations`. Empty for none.
    :param vector_clusters: number of k-means clusters of the vectors, for the column `vector_cluster`.
    :param clusters: a file of Brown clusters, whose prefixes are columns, or `installed`, for those of the language in
        an installed package; `if installed` becomes that or empty; empty for none.
    :param further_words: number of words from the front of both files to keep besides those of the training notes. Of
        installed clusters, the number of most frequent words to keep instead of those of the notes; by default
        `MOST_FREQUENT` of `features.columns.representations`.
    :param language_models: a folder of character language models; see `features.character_models`. Empty for none.
    :param html: whether notes are known to be HTML, so tags need no evidence; see `features.markup`.
    """

    language: str = "en"
    tokeniser: str = "liu"
    byte_pairs: int = 0
    byte_pairs_per_word: float = 0.0
    split_lines: bool | None = None
    without: tuple[str, ...] = ()
    pos: str = ""
    ner: str = ""
    extra: tuple[str, ...] = ()
    html: bool = False
    vectors: str = ""
    vector_clusters: int = 200
    clusters: str = ""
    further_words: int | None = None
    language_models: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "without", tuple(self.without))
        object.__setattr__(self, "extra", tuple(dict.fromkeys(self.extra)))
        if self.language not in LANGUAGES:
            raise SettingsError(f"the language {self.language} is not supported; choose from {', '.join(LANGUAGES)}")
        if self.tokeniser not in TOKENISERS:
            raise SettingsError(no_such("tokeniser", self.tokeniser, TOKENISERS))
        if self.byte_pairs < 0 or not 0 <= self.byte_pairs_per_word <= _MOST_MERGES:
            raise SettingsError(f"byte_pairs must be 0 or more, byte_pairs_per_word from 0 to {_MOST_MERGES}")
        if self.byte_pairs and self.byte_pairs_per_word:
            raise SettingsError("give byte_pairs or byte_pairs_per_word, not both")
        if not 2 <= self.vector_clusters <= _MOST_CLUSTERS or (self.further_words or 0) < 0:
            raise SettingsError(f"vector_clusters must be from 2 to {_MOST_CLUSTERS}, further_words 0 or more")
        if self.clusters == IF_INSTALLED:
            object.__setattr__(self, "clusters", clusters_if_installed(self.language))
        for column in ("pos", "ner"):
            if getattr(self, column) == INSTALLED:
                object.__setattr__(self, column, installed_tagger(self.language, column))
        if ours := OWN_COLUMNS.intersection(self.extra):
            raise SettingsError(f"the column {min(ours)} is one of phistack's own, which need not be named in extra")
        if unknown := sorted(set(self.without) - set(self.groups)):
            raise SettingsError(no_such("column group", unknown[0], self.groups))

    @property
    def taggers(self) -> dict[str, str]:
        """Column -> its tagger; empty for none."""
        return {"pos": self.pos, "ner": self.ner}

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group -> its columns; those of word representations and of other packages last."""
        groups = dict(COLUMN_GROUPS)
        if represented := (*(BROWN_COLUMNS if self.clusters else ()), *([VECTOR_CLUSTER] if self.vectors else ())):
            groups[_REPRESENTATIONS] = represented
        for name in self.extra:
            group = installed_column(name).group
            groups[group] = (*groups.get(group, ()), name)
        return groups

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        keeps_words = Tokeniser(self.tokeniser).keeps_words
        optional = {**self.taggers, "word_piece": keeps_words}
        return tuple(
            name
            for group, names in self.groups.items()
            if group not in self.without
            for name in names
            if optional.get(name, "yes")
        )


def lines_end_sentences(settings: FeatureSettings, marked: Sequence[str]) -> bool:
    """Whether lines end sentences; not if at least one training span in 200 has a line end in it."""
    if settings.split_lines is not None:
        return settings.split_lines
    return 200 * sum("\n" in text or "\r" in text for text in marked) < max(len(marked), 1)


def trained_byte_pairs(
    settings: FeatureSettings, documents: Sequence[Document], keeps: Callable[[str], bool] = bool
) -> BytePairs | None:
    """The byte pairs of some notes' words; `None` if the settings have none.

    :param keeps: whether a word may be learned from.
    """
    if not (settings.byte_pairs or settings.byte_pairs_per_word):
        return None
    tokenise = Tokeniser(settings.tokeniser)
    words = Counter(word for document in documents for word in Tokeniser().cut(document.text)[0])
    counts: Counter[str] = Counter()
    for word, count in words.items():
        if word[0].isalpha() and keeps(word):
            for piece in tokenise.letters(word):
                counts[piece] += count
    n_merges = settings.byte_pairs or round(settings.byte_pairs_per_word * len(counts))
    return BytePairs.train(counts, n_merges=n_merges)
