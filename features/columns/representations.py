"""Pretrained representations of words, from files of word vectors and word clusters; clusters are columns.

    shown = Representations.read(words, vectors="medline.bin", n_clusters=200, clusters="brown.txt")
    shown.column("brown6", layout)     codes of "", "011010", ...: the first 6 bits of the word's cluster
    shown.vectors                      initial weights for a network
    vectors = read_vectors(Path("medline.bin"), {"ward", "0000"})     word2vec (text, binary), fastText .vec, GloVe
    vectors.words, vectors.rows                                       ("ward", "0000"), (2, 200) of length 1
    read_clusters(Path("brown.txt"), {"ward"})                        {"ward": "0110101"}
    installed_clusters("es", 1_000)                                   {"Ana": "0010000...", ...}, of any notes

From files, only words of the training notes are kept. A trained engine keeps their clusters but not their vectors,
which are in the weights of its network, and it keeps character language models whole.

Files are read once from front to back, unpacked if their names end in `.gz`, so a file may be larger than the memory.
Words are in normal form: small letters, digits as 0. If several words of a file have the same form, the one spelled
like the form counts, or else the first. Installed clusters are looked up by spelling, then by normal form. Vectors:
Mikolov 2013, Pennington 2014, Bojanowski 2017. Clusters: Brown 1992 with prefixes as in Ratinov and Roth 2009; of
vectors as in Liu 2017 and Adams 2019.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self, TypedDict, TypeVar

import msgspec
import numpy as np

from phistack.features.arrays import Floats32
from phistack.features.character_models import CharacterModels
from phistack.features.columns.layout import Layout
from phistack.features.columns.vocabulary import Coded
from phistack.features.columns.word_columns import NONE, normal_form
from phistack.features.errors import BundleError, SettingsError, need
from phistack.features.files import file_named, opened

BROWN_COLUMNS: Mapping[str, int] = {"brown4": 4, "brown6": 6, "brown10": 10, "brown20": 20}
"""Column -> number of bits of the word's cluster."""

VECTOR_CLUSTER = "vector_cluster"
"""The column of the cluster of a word's vector."""

INSTALLED_CLUSTERS = "installed"
"""The setting for the clusters of the language in the package spacy-lookups-data."""

IF_INSTALLED = "if installed"
"""The same if that package has them; otherwise none."""

MOST_FREQUENT = 100_000
"""How many words of installed clusters are kept by default."""

_LOG = logging.getLogger("phistack")
_PACKAGE = "spacy_lookups_data"
_IN_PACKAGE = "_lexeme_cluster.json.gz"
_SEED = 0


class RepresentationsState(TypedDict, total=False):
    """Normal form of a word -> its Brown cluster, or the cluster of its vector."""

    brown: dict[str, str]
    vector_clusters: dict[str, int]


@dataclass(frozen=True)
class Representations:
    """Representations of words, by normal form.

    :param brown: word -> bits of its Brown cluster; installed ones also by spelling.
    :param vector_clusters: word -> number of the cluster of its vector.
    :param vectors: in training only.
    :param language_models: of characters; kept by a trained engine.
    """

    brown: Mapping[str, str] = field(default_factory=dict, repr=False)
    vector_clusters: Mapping[str, int] = field(default_factory=dict, repr=False)
    vectors: WordVectors | None = field(default=None, repr=False)
    language_models: CharacterModels | None = field(default=None, repr=False)

    @classmethod
    def read(
        cls,
        words: Collection[str],
        *,
        vectors: str,
        n_clusters: int,
        clusters: str,
        further: int | None,
        language: str,
        language_models: str = "",
    ) -> Self:
        """Read the representations of some words from files.

        :param words: normal forms.
        :param vectors: a file of word vectors; empty for none.
        :param n_clusters: of the vectors.
        :param clusters: a file of Brown clusters, or `INSTALLED_CLUSTERS`; empty for none.
        :param further: how many words from the front of each file to keep as well; of installed clusters only these are
            kept, so they reveal nothing about the notes. `None`: 0, or `MOST_FREQUENT` for installed clusters.
        :param language: ISO 639-1 code, of installed clusters.
        :param language_models: a folder; empty for none.
        :raises SettingsError: if a file cannot be used.
        """
        found = read_vectors(Path(vectors), words, further=further or 0) if vectors else None
        if clusters == INSTALLED_CLUSTERS:
            brown = installed_clusters(language, MOST_FREQUENT if further is None else further)
        else:
            brown = read_clusters(Path(clusters), words, further=further or 0) if clusters else {}
        return cls(
            brown,
            dict(zip(found.words, k_means(found.rows, n_clusters), strict=True)) if found else {},
            found,
            CharacterModels.read(Path(language_models)) if language_models else None,
        )

    def __bool__(self) -> bool:
        return bool(self.brown or self.vector_clusters)

    def column(self, name: str, layout: Layout) -> Coded:
        """The column `VECTOR_CLUSTER` or one of `BROWN_COLUMNS`; empty for unknown words."""
        if name == VECTOR_CLUSTER:
            return layout.mapped_words(name, lambda word: str(self.vector_clusters.get(normal_form(word), NONE)))
        n_bits = BROWN_COLUMNS[name]
        return layout.mapped_words(
            name, lambda word: (self.brown.get(word) or self.brown.get(normal_form(word), NONE))[:n_bits]
        )

    @cached_property
    def digest(self) -> str:
        """A hash of all representations."""
        digest = hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode())
        if self.vectors is not None:
            digest.update(json.dumps(self.vectors.words).encode() + self.vectors.rows.tobytes())
        if self.language_models is not None:
            digest.update(self.language_models.digest.encode())
        return digest.hexdigest()

    def to_dict(self) -> RepresentationsState:
        """The clusters, JSON-ready."""
        return {"brown": dict(self.brown), "vector_clusters": dict(self.vector_clusters)}

    @classmethod
    def from_dict(cls, state: RepresentationsState, language_models: CharacterModels | None = None) -> Self:
        """Read the result of `to_dict`, with language models; :raises BundleError: for invalid clusters."""
        brown = state.get("brown", {})
        if any(not bits or bits.strip("01") for bits in set(brown.values())):
            raise BundleError("the word clusters of the engine are no strings of 0 and 1")
        return cls(brown, state.get("vector_clusters", {}), language_models=language_models)


def by_cluster(brown: Mapping[str, str]) -> dict[str, list[str]]:
    """Bits -> the words with them, sorted; this keeps the file small."""
    words: defaultdict[str, list[str]] = defaultdict(list)
    for word, bits in sorted(brown.items()):
        words[bits].append(word)
    return words


def k_means(rows: Floats32, n_clusters: int) -> list[int]:
    """The number of the cluster of each vector, by mini-batch k-means with a fixed seed.

    :param rows: of shape `(n_words, size)`.
    """
    from sklearn.cluster import MiniBatchKMeans

    n_different = len(np.unique(rows, axis=0))
    machine = MiniBatchKMeans(min(n_clusters, n_different), random_state=_SEED, n_init=3, batch_size=4096)
    numbers: list[int] = machine.fit_predict(rows).tolist()
    return numbers


_BITS = max(BROWN_COLUMNS.values())
_LONGEST_LINE = 2**20
_MOST_NUMBERS = 4096
_PIECE = 2**20

_T = TypeVar("_T")
_Rows = Iterator[tuple[bytes, Callable[[], _T]]]
"""Words, each with a function that reads its value, called for wanted words only."""


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    :param words: normal forms.
    :param rows: unit vectors, `(n_words, size)`, as long as the random vectors of a network.
    """

    words: tuple[str, ...] = field(repr=False)
    rows: Floats32 = field(repr=False)

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self.rows.shape[1])


def read_vectors(path: Path, wanted: Collection[str], *, further: int = 0) -> WordVectors:
    """The vectors of some words, in alphabetical order.

    :param wanted: normal forms.
    :param further: also read this many words from the front of the file; most files have the most frequent ones there.
    :raises SettingsError: if the file cannot be read, has no word vectors, or has none of the words.
    """
    with file_named("the file of word vectors", path), opened(path, "it") as (file, _):
        found = _kept(_vector_rows(file), wanted, further)
        words = tuple(sorted(found))
        rows = np.array([found[word] for word in words], dtype=np.float32)
        if not np.isfinite(rows).all():
            raise ValueError("a vector holds what is no finite number")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return WordVectors(words, np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def read_clusters(path: Path, wanted: Collection[str], *, further: int = 0) -> dict[str, str]:
    """The Brown clusters of some words, as strings of 0 and 1, from lines of bits, tab, word, tab, count.

    Parameters and errors are those of `read_vectors`.
    """
    with file_named("the file of word clusters", path), opened(path, "it") as (file, _):
        return dict(sorted(_kept(_cluster_rows(file), wanted, further).items()))


def installed_clusters(language: str, n_words: int) -> dict[str, str]:
    """The Brown clusters of the most frequent words of a language, by spelling and normal form, of 20 bits.

    :param language: ISO 639-1 code.
    :raises MissingResourceError: if the package is not installed.
    :raises SettingsError: if it has no clusters of the language, or they cannot be read.
    """
    need(_PACKAGE, "word-clusters", f'clusters = "{INSTALLED_CLUSTERS}"')
    paths = _cluster_files()
    if language not in paths:
        raise SettingsError(
            f"{_PACKAGE} has no clusters of the language {language}, only of {', '.join(sorted(paths))}; leave "
            "clusters out, or name a file of your own from `phistack vectors`"
        )
    with file_named("the file of installed clusters", paths[language]), opened(paths[language], "it") as (file, _):
        numbers = msgspec.json.decode(file.read(), type=dict[str, int])
    # The most frequent words come first. The lowest bit of a number is the first of its path; 0 is no cluster.
    rows = list(islice(((word, f"{n:b}"[::-1].ljust(_BITS, "0")) for word, n in numbers.items() if n), n_words))
    return {normal_form(word): bits for word, bits in reversed(rows)} | dict(rows)


def clusters_if_installed(language: str) -> str:
    """`INSTALLED_CLUSTERS` if the package has clusters of the language; otherwise a warning and an empty string."""
    if language in _cluster_files():
        return INSTALLED_CLUSTERS
    _LOG.warning("no word clusters of the language %s are installed, so none are read (docs/settings.md)", language)
    return ""


def _cluster_files() -> dict[str, Path]:
    """Language -> the file of its clusters; empty if the package is not installed."""
    homes = getattr(find_spec(_PACKAGE), "submodule_search_locations", ())
    found = (path for home in homes for path in Path(home, "data").glob(f"*{_IN_PACKAGE}"))
    return {path.name.removesuffix(_IN_PACKAGE): path for path in found}


def _kept(rows: _Rows[_T], wanted: Collection[str], further: int) -> dict[str, _T]:
    """The value of each wanted normal form."""
    found: dict[str, _T] = {}
    exact: set[str] = set()
    for number, (word, value) in enumerate(rows):
        spelled = word.decode("utf-8", "replace")
        form = normal_form(spelled)
        if (form in wanted or number < further) and (form not in found or (form == spelled and form not in exact)):
            found[form] = value()
            exact.update({form} & {spelled})
    if not found.keys() & set(wanted):
        raise SettingsError(f"it has none of the {len(wanted)} words of the notes; take one of their language")
    return found


def _cluster_rows(file: BinaryIO) -> _Rows[str]:
    for number, line in enumerate(_lines(file), 1):
        bits, _, rest = line.partition(b"\t")
        word = rest.partition(b"\t")[0]
        if not bits or bits.strip(b"01") or not word:
            raise ValueError(f"line {number} is not a string of 0 and 1, a tab and a word")
        yield word, partial(bits.decode, "ascii")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"it has a line of more than {_LONGEST_LINE} bytes")
        yield line.rstrip(b"\r\n")


def _vector_rows(file: BinaryIO) -> _Rows[Floats32]:
    """The words of a file; its beginning shows the format."""
    header = file.readline(_LONGEST_LINE).split()
    if len(header) != 2 or not all(part.isdigit() for part in header):
        file.seek(0)
        return _text_rows(file, _checked(len(header) - 1), 1)
    size, begin = _checked(int(header[1][:9])), file.tell()
    is_text = _is_text(file.read(_PIECE), size)
    file.seek(begin)
    return _text_rows(file, size, 2) if is_text else _binary_rows(file, int(header[0][:18]), size)


def _checked(size: int) -> int:
    if not 1 <= size <= _MOST_NUMBERS:
        raise ValueError("it begins neither with a word and its vector nor with how many there are of both")
    return size


def _is_text(begin: bytes, size: int) -> bool:
    """Whether a line of a word and this many numbers follows the header."""
    parts = begin.partition(b"\n")[0].rsplit(None, size)
    try:
        return len(list(map(float, parts[-size:]))) == size and len(parts) > size
    except ValueError:
        return False


def _text_rows(file: BinaryIO, size: int, first: int) -> _Rows[Floats32]:
    """:param first: the number of the first line, for messages."""
    for number, line in enumerate(_lines(file), first):
        word, _, numbers = line.strip().partition(b" ")
        if word:
            yield word, partial(_numbers, numbers, size, number)


def _numbers(text: bytes, size: int, line: int) -> Floats32:
    try:
        # (size,): the last fields, as words have blanks in some files.
        row = np.array(text.split()[-size:], dtype=np.float32)
    except ValueError:
        row = np.zeros(0, dtype=np.float32)
    if len(row) != size:
        raise ValueError(f"line {line} is not a word and {size} numbers")
    return row


def _binary_rows(file: BinaryIO, n_words: int, size: int) -> _Rows[Floats32]:
    held, at = b"", 0
    for number in range(1, n_words + 1):
        while (blank := held.find(b" ", at)) < 0 or len(held) <= blank + 4 * size:
            more = file.read(_PIECE)
            if not more or (blank < 0 and len(held) - at > _LONGEST_LINE):
                raise ValueError(f"it ends, or is damaged, in the vector {number} of {n_words}")
            held, at = held[at:] + more, 0
        yield held[at:blank].lstrip(b"\n"), partial(_packed_numbers, held, size, blank + 1)
        at = blank + 1 + 4 * size


def _packed_numbers(held: bytes, size: int, begin: int) -> Floats32:
    """The numbers at an offset, of shape `(size,)`."""
    return np.frombuffer(held, "<f4", size, begin).astype(np.float32)
