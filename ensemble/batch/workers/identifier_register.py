"""Identifiers of patients as keyed hashes, and the search for them in the patients' whole output.

    register = IdentifierRegister(secret)
    entry = register.entry("DOCTOR", "Ames-Hill")                   ("DOCTOR", 2, b"........")
    register.search("Seen by ames hill", [], {2: {b"........": "DOCTOR"}})    Counter({("DOCTOR", "outside"): 1})
    register.search_all([LeakSearch("Called ames hill.", [], ...)])           the same, of the outputs of a chunk

An identifier that was replaced in one note of a patient may be missed in another. Until the end of the run, what was
replaced is kept as a keyed BLAKE2b hash of its words (RFC 7693), under a secret of the run. So it is found in any case
and with any punctuation, and the journal holds no text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from phistack.features.documents import Document
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import Range, covering
from phistack.features.text_words import Words, folded_words

_LONGEST = 12
_SHORT = 4

HashedIdentifier = tuple[str, int, bytes]
"""The label of an identifier, its number of words, and the hash of its words."""

ByLength = dict[int, dict[bytes, str]]
"""Identifiers of a patient: number of words -> hash of the words -> label."""

IN_COLUMN = "column "
"""The prefix of places that are kept columns; the name follows."""


@dataclass(frozen=True, slots=True)
class LeakSearch:
    """An output text with its replacements and the identifiers of its patient; or the value of a kept column."""

    text: str = field(repr=False)
    replaced: list[tuple[int, int]]
    entries: ByLength = field(repr=False)
    column: str = ""


def spellings_of(identifier: str) -> Iterator[str]:
    """The identifier, and its other usual spelling: `Hill, Ann` is Ann Hill too."""
    yield identifier
    last, comma, first = identifier.partition(",")
    if comma:
        yield f"{first} {last}"


class IdentifierRegister:
    """Hashes identifiers and finds them again.

    :param secret: 16 to 64 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret[:64]

    def patient(self, patient: str) -> bytes:
        """The hash of a patient."""
        return self._hash("patient:" + patient)

    def entry(self, label: str, identifier: str) -> HashedIdentifier | None:
        """The entry of an identifier; None if it has fewer than two letters and digits."""
        words = folded_words(plain_text(identifier))[:_LONGEST]
        joined = " ".join(words)
        return (label, len(words), self._hash(joined)) if len(joined) > 1 else None

    def search(self, text: str, replaced: Iterable[Range], entries: ByLength) -> Counter[tuple[str, str]]:
        """How often each label's identifiers are in a text.

        :param replaced: start and end of what was replaced, sorted; identifiers inside it are surrogates that
            happen to be equal.
        :returns: counts by label and place: `outside` or `inside` of replacements, or `short` for identifiers of fewer
            than four letters and digits, which also match by chance.
        """
        view = plain_view(Document("output", text))
        words = Words(view.document.text)
        is_inside = covering(replaced)
        found: Counter[tuple[str, str]] = Counter()
        for length, labels in entries.items():
            stretches = [" ".join(stretch) for stretch in zip(*(words.folded[i:] for i in range(length)), strict=False)]
            hashes = {stretch: self._hash(stretch) for stretch in set(stretches)}
            for first, stretch in enumerate(stretches):
                label = labels.get(hashes[stretch])
                if label is not None:
                    inside = is_inside(*view.place(*words.place(first, first + length)))
                    is_short = len(stretch.replace(" ", "")) < _SHORT
                    found[label, "inside" if inside else "short" if is_short else "outside"] += 1
        return found

    def search_all(self, searches: Iterable[LeakSearch]) -> Counter[tuple[str, str]]:
        """How often identifiers of the patients are still in their output, by label and place."""
        found: Counter[tuple[str, str]] = Counter()
        for search in searches:
            for (label, place), count in self.search(search.text, search.replaced, search.entries).items():
                # What is in a kept column by chance is not reported.
                if not search.column or place == "outside":
                    found[label, IN_COLUMN + search.column if search.column else place] += count
        return found

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=8).digest()
