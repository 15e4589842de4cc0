"""Choices that depend only on a secret key, the patient and the purpose of the choice.

    keyed = KeyedChoices(key, "patient-17")
    keyed.number(365, "days")                     the same number below 365 in every note, run and process
    keyed.pick(("Ann", "Eve"), "first", "mary")   the same name
    chain = Chain(keyed, "110-01", changes=50)
    chain.next("ann hill")     the choices for the next mention of Ann Hill: of one of her four surrogates in this note

All choices come from HMAC-SHA256 (RFC 2104, FIPS 198-1) under the key. A plain hash could be undone by hashing every
possible name and number; without the key these choices can neither be computed nor undone. The key is never stored.

If each person has one surrogate, a missed mention stands out: the person has two names, and one of them is real. If
names change anyway, it does not show (Osborne et al., Electronics 2025). Their surrogates never come back; those of a
`Chain` do, as real names do.
"""

from __future__ import annotations

import hmac
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TypeVar

from phistack.features.errors import SettingsError
from phistack.features.files import open_regular

MINIMAL_KEY_BYTES = 16

KEY_HINT = (
    "make one with `(umask 077; openssl rand -hex 32 > KEYFILE)`, keep it apart from the notes and use the same one in "
    "every run"
)
_WRITTEN = re.compile(rb"[0-9A-Fa-f]{32,1024}")
_LONGEST_KEY_FILE = 4096
# Only one in 20 million keys of 32 random digits has fewer distinct digits.
_LEAST_DISTINCT = 8
_T = TypeVar("_T")


class KeyedChoices:
    """Reproducible choices for one patient.

    :param key: the secret; None where nothing will be chosen.
    :param group: the patient, `Document.group`.
    """

    def __init__(self, key: bytes | None, group: str) -> None:
        self.has_key = key is not None
        self._key = hmac.digest(key or b"", b"patient:" + _bytes(group), "sha256")

    def __repr__(self) -> str:
        return "KeyedChoices()"

    def branch(self, *parts: object) -> KeyedChoices:
        """Other choices for the patient, which depend on the parts as well."""
        other = copy(self)
        other._key = hmac.digest(self._key, b"branch:%d" % self.number(2**128, *parts), "sha256")
        return other

    def number(self, below: int, *parts: object) -> int:
        """A number from 0 to `below` - 1, practically uniform, that depends on the parts and on their order."""
        usable_key(self._key if self.has_key else None)
        wanted = math.ceil(below.bit_length() / 8) + 8
        message, stream = b"".join(len(data).to_bytes(8, "big") + data for data in map(_bytes, parts)), b""
        while len(stream) < wanted:
            stream += hmac.digest(self._key, len(stream).to_bytes(4, "big") + message, "sha256")
        return int.from_bytes(stream[:wanted], "big") % below

    def pick(self, options: Sequence[_T], *parts: object) -> _T:
        """One of the options; there must be at least one."""
        return options[self.number(len(options), *parts)]


def _bytes(part: object) -> bytes:
    return str(part).encode("utf-8", "surrogatepass")


def usable_key(key: bytes | None) -> bytes:
    """The key, if it is there and long enough; :raises SettingsError: if not, saying how to make one."""
    if key is None:
        raise SettingsError(f"surrogates need a secret key and none was given; {KEY_HINT}")
    if len(key) < MINIMAL_KEY_BYTES:
        raise SettingsError(f"the secret key must have at least {MINIMAL_KEY_BYTES} bytes, not {len(key)}; {KEY_HINT}")
    return key


def written_key(written: bytes, where: str) -> bytes:
    """A written secret: at least 32 random hexadecimal digits, without white space at either end.

    The digits themselves are the key. Raw bytes are refused because white space at their ends would be lost, words
    because anyone who guesses them can undo every surrogate.

    :param where: where the secret is written, for messages.
    :raises SettingsError: if it is anything else.
    """
    key = written.strip()
    if not _WRITTEN.fullmatch(key):
        raise SettingsError(f"the secret key in {where} is not one line of at least 32 hexadecimal digits; {KEY_HINT}")
    if len({*key.lower()}) < _LEAST_DISTINCT or key in (key + key)[1:-1]:
        raise SettingsError(f"the secret key in {where} is not random, as it repeats few digits; {KEY_HINT}")
    return key


class _Key(bytes):
    """A secret that no log and no notebook shows."""

    def __repr__(self) -> str:
        return "a secret key"

    __str__ = __repr__


def read_key(path: Path) -> bytes:
    """The secret in a file.

    :raises SettingsError: if the file cannot be read, anyone but its owner may read it, or it holds anything but at
        least 32 hexadecimal digits.
    """
    try:
        with open_regular(path) as file:
            mode, written = os.fstat(file.fileno()).st_mode, file.read(_LONGEST_KEY_FILE)
    except OSError as error:
        raise SettingsError(f"the key file {path} cannot be read: {error.strerror}; {KEY_HINT}") from None
    if os.name == "posix" and mode & 0o077:
        raise SettingsError(
            f"others than its owner can read the key file {path} and may know the key already; type: chmod 600 {path}"
        )
    return _Key(written_key(written, str(path)))


def key_check(key: bytes) -> str:
    """Eight hexadecimal digits by which a later run notices a different key; they reveal 32 bits of 128 or more."""
    return hmac.digest(key, b"phistack key check", "sha256").hex()[:8]


STATES = 4
"""The most surrogates that a name has in one note."""


class Chain:
    """Tracks which of its surrogates each name of a note has next.

    :param changes: in how many of 100 cases the next mention has another surrogate.
    """

    def __init__(self, choices: KeyedChoices, note: str, changes: int) -> None:
        self._choices, self._note, self._changes = choices, note, changes
        self._mentions: Counter[str] = Counter()
        self._states: defaultdict[str, int] = defaultdict(int)

    def next(self, identity: str) -> KeyedChoices:
        """The choices for the next mention of a person."""
        at = ("name chain", self._note, identity, self._mentions[identity])
        if self._mentions[identity] and self._choices.number(100, *at) < self._changes:
            self._states[identity] += 1 + self._choices.number(STATES - 1, *at, "to")
        self._mentions[identity] += 1
        return self._choices.branch(self._note, self._states[identity] % STATES)
