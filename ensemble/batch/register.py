"""Identifiers of patients as keyed hashes, and the search for them in the patients' whole output.

    register = Register(secret)
    entry = register.entry("DOCTOR", "Ames-Hill")          ("DOCTOR", 2, b"........")
    register.search("Seen by ames hill", [], entries)      Counter({("DOCTOR", "outside"): 1})

An identifier that was replaced in one note of a patient may stand unseen in another. What was replaced is kept until the
end of the run as a keyed BLAKE2b hash of its words (RFC 7693), under a secret of the run; so it is found whatever its case and punctuation, and
without any text in the journal.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable

from ensemble.batch.ranges import Range, covering
from ensemble.deidentification.letters import fold

__all__ = ["Entry", "Register"]

_TOKEN = re.compile(r"[^\W_]+")
_LONGEST = 12
_SHORT = 4

Entry = tuple[str, int, bytes]
"""The label of an identifier, its number of words, and the hash of its words."""


class Register:
    """Hashes identifiers and finds them again.

    :param secret: 16 to 64 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret[:64]

    def patient(self, patient: str) -> bytes:
        """The hash of a patient."""
        return self._hash("patient:" + patient)

    def entry(self, label: str, identifier: str) -> Entry | None:
        """The entry of an identifier; nothing if it has no letter or digit, or only one of them."""
        words = _TOKEN.findall(fold(identifier))[:_LONGEST]
        joined = " ".join(words)
        return (label, len(words), self._hash(joined)) if len(joined) > 1 else None

    def search(self, text: str, replaced: Iterable[Range], entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
        """How often each label's identifiers are in a text.

        :param replaced: begin and end of what was replaced, sorted; identifiers inside it are surrogates that
            happen to be equal.
        :returns: counts by label and `outside` or `inside` of replacements, or `short` for identifiers of fewer than four
            letters and digits, which also match by chance.
        """
        by_length: dict[int, dict[bytes, str]] = {}
        for label, length, digest in entries:
            by_length.setdefault(length, {})[digest] = label
        tokens = [(match.start(), match.end(), fold(match[0])) for match in _TOKEN.finditer(text)]
        inside = covering(replaced)
        found: Counter[tuple[str, str]] = Counter()
        for length, labels in by_length.items():
            for i in range(len(tokens) - length + 1):
                joined = " ".join(token[2] for token in tokens[i : i + length])
                label = labels.get(self._hash(joined))
                if label is not None:
                    found[label, _place(joined, tokens[i][0], tokens[i + length - 1][1], inside)] += 1
        return found

    def _hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=8).digest()


def _place(joined: str, start: int, end: int, inside: Callable[[int, int], bool]) -> str:
    if inside(start, end):
        return "inside"
    return "short" if len(joined.replace(" ", "")) < _SHORT else "outside"
