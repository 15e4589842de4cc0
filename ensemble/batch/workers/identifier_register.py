"""Identifiers of patients as keyed hashes, and the search for them in the patients' whole output.

    register = IdentifierRegister(secret)
    entry = register.entry("DOCTOR", "Ames-Hill")                   ("DOCTOR", 2, b"........")
    register.search("Seen by ames hill", [], by_length([entry]))    Counter({("DOCTOR", "outside"): 1})

An identifier that was replaced in one note of a patient may stand unseen in another. What was replaced is kept until
the end of the run as a keyed BLAKE2b hash of its words (RFC 7693), under a secret of the run; so it is found whatever
its case and punctuation, and without any text in the journal.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from phistack.features.documents import Document
from phistack.features.letters import fold
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import Range, covering

_TOKEN = re.compile(r"[^\W_]+")
_LONGEST = 12
_SHORT = 4

HashedIdentifier = tuple[str, int, bytes]
"""The label of an identifier, its number of words, and the hash of its words."""

ByLength = dict[int, dict[bytes, str]]
"""Number of words -> hash of the words -> label."""


def by_length(entries: Iterable[HashedIdentifier]) -> ByLength:
    """Entries as they are searched for."""
    found: ByLength = {}
    for label, length, digest in entries:
        found.setdefault(length, {})[digest] = label
    return found


def spellings_of(identifier: str) -> Iterator[str]:
    """The identifier, and as it is said elsewhere: `Hill, Ann` is Ann Hill too."""
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
        """The entry of an identifier; nothing if it has no letter or digit, or only one of them."""
        words = _TOKEN.findall(fold(plain_text(identifier)))[:_LONGEST]
        joined = " ".join(words)
        return (label, len(words), self._hash(joined)) if len(joined) > 1 else None

    def search(self, text: str, replaced: Iterable[Range], entries: ByLength) -> Counter[tuple[str, str]]:
        """How often each label's identifiers are in a text.

        :param replaced: begin and end of what was replaced, sorted; identifiers inside it are surrogates that
            happen to be equal.
        :returns: counts by label and place: `outside` or `inside` of replacements, or `short` for identifiers of fewer
            than four letters and digits, which also match by chance.
        """
        view = plain_view(Document("output", text))
        found_words = list(_TOKEN.finditer(view.document.text))
        places = [view.place(*match.span()) for match in found_words]
        written = [match[0] for match in found_words]
        plain = {word: fold(word) for word in set(written)}
        words = [plain[word] for word in written]
        inside = covering(replaced)
        found: Counter[tuple[str, str]] = Counter()
        for length, labels in entries.items():
            hits = self._hits(words, length, labels)
            for i in range(len(words) - length + 1) if hits else ():
                joined = " ".join(words[i : i + length])
                if joined in hits:
                    found[hits[joined], _place(joined, places[i][0], places[i + length - 1][1], inside)] += 1
        return found

    def _hits(self, words: list[str], length: int, labels: Mapping[bytes, str]) -> dict[str, str]:
        """The distinct stretches of so many words that are identifiers, and their labels."""
        stretches = {" ".join(stretch) for stretch in zip(*(words[i:] for i in range(length)), strict=False)}
        hashed = ((stretch, self._hash(stretch)) for stretch in stretches)
        return {stretch: labels[digest] for stretch, digest in hashed if digest in labels}

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=8).digest()


def _place(joined: str, start: int, end: int, inside: Callable[[int, int], bool]) -> str:
    if inside(start, end):
        return "inside"
    return "short" if len(joined.replace(" ", "")) < _SHORT else "outside"
