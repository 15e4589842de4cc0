"""Files of word vectors and word clusters, read for some words only.

    vectors = read_vectors(Path("medline.bin"), {"ward", "0000"})     word2vec (text, binary), fastText .vec, GloVe
    vectors.words, vectors.rows                                       ("ward", "0000"), (2, 200) of length 1
    read_clusters(Path("brown.txt"), {"ward"})                        {"ward": "0110101"}

Files are read once from front to back, unpacked if their names end in `.gz`, and only wanted words are kept, so a file
may be larger than the memory. Words are in normal form: small letters, digits as 0. If several words of a file have the
same form, the one spelled so counts, or else the first. Mikolov 2013; Pennington 2014; Bojanowski 2017; Brown 1992.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import numpy as np

from phistack.features.arrays import Floats32
from phistack.features.columns.word_columns import normal_form
from phistack.features.errors import SettingsError
from phistack.features.files import file_named, opened

_LONGEST_LINE = 2**20
_MOST_NUMBERS = 4096
_PIECE = 2**20

_T = TypeVar("_T")
_Row = tuple[bytes, Callable[[], Floats32]]
"""A word, and a function that reads its numbers, called for wanted words only."""


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
        """Numbers of a vector."""
        return int(self.rows.shape[1])


def read_vectors(path: Path, wanted: Collection[str], *, further: int = 0) -> WordVectors:
    """The vectors of some words, in alphabetical order.

    :param wanted: normal forms.
    :param further: read so many words at the front of the file too, where most files have the most frequent ones.
    :raises SettingsError: if the file cannot be read, is none of word vectors, or has none of the words.
    """
    with _opened("the file of word vectors", path) as file:
        found = _kept(_vector_rows(file), wanted, further)
        words = tuple(sorted(found))
        rows = np.array([found[word] for word in words], dtype=np.float32)
        if not np.isfinite(rows).all():
            raise ValueError("a vector holds what is no finite number")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return WordVectors(words, np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def read_clusters(path: Path, wanted: Collection[str], *, further: int = 0) -> dict[str, str]:
    """The Brown clusters of some words, as strings of 0 and 1, from lines of bits, tab, word, tab, count.

    :param wanted: normal forms.
    :param further: read so many words at the front of the file too.
    :raises SettingsError: if the file cannot be read, is none of clusters, or has none of the words.
    """
    with _opened("the file of word clusters", path) as file:
        return dict(sorted(_kept(_cluster_rows(file), wanted, further).items()))


def _kept(rows: Iterable[tuple[bytes, Callable[[], _T]]], wanted: Collection[str], further: int) -> dict[str, _T]:
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


def _cluster_rows(file: BinaryIO) -> Iterator[tuple[bytes, Callable[[], str]]]:
    for number, line in enumerate(_lines(file), 1):
        bits, _, rest = line.partition(b"\t")
        word = rest.partition(b"\t")[0]
        if not bits or bits.strip(b"01") or not word:
            raise ValueError(f"line {number} is not a string of 0 and 1, a tab and a word")
        yield word, partial(bits.decode, "ascii")


@contextmanager
def _opened(what: str, path: Path) -> Iterator[BinaryIO]:
    """The file, read in pieces; whatever is wrong with it is a SettingsError that names it."""
    with file_named(what, path), opened(path, "it") as (file, _):
        yield cast(BinaryIO, file)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"it has a line of more than {_LONGEST_LINE} bytes")
        yield line.rstrip(b"\r\n")


def _vector_rows(file: BinaryIO) -> Iterator[_Row]:
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
    """Whether a line of a word and so many numbers follows the header."""
    parts = begin.partition(b"\n")[0].rsplit(None, size)
    try:
        return len(list(map(float, parts[-size:]))) == size and len(parts) > size
    except ValueError:
        return False


def _text_rows(file: BinaryIO, size: int, first: int) -> Iterator[_Row]:
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


def _binary_rows(file: BinaryIO, n_words: int, size: int) -> Iterator[_Row]:
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
