"""How ids and labels are shown: an id, or a label that a user made up, may be a patient's name.

    shown_id("110-01")             "110-01"
    shown_id("Birchwood_Ann-01")   "#5b1f4a02"
    shown_label("DOCTOR")          "DOCTOR"
    shown_label("Birchwood")       "#3c0e9a77"
    shown_label("VICTIMA", 40)     "VICTIMA": a label of so many spans is no name

Messages, warnings and tables on a terminal show an id made of digits, single letters and words usual in ids of corpora,
and a label made of words of label sets or shared by several spans. For anything else they show the first digits of its
SHA-256, or of its HMAC under the key in `PHISTACK_KEY`, as a plain hash can be compared with hashes of names.
`PHISTACK_SHOW_IDS=1` shows everything in full. The files that a run writes for its owner (quarantine, audit log) name
notes in full.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from functools import cache

from phistack.features.registry import packaged_table

SHOW_VARIABLE = "PHISTACK_SHOW_IDS"

_ID = re.compile(r"[A-Za-z0-9._/ -]{1,64}")
_LABEL = re.compile(r"[A-Za-z0-9._:/+-]{1,64}")
_OFTEN_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,32}")
_OFTEN = 3
_LETTERS = re.compile(r"[A-Za-z]+")
_HASHED = re.compile(r"#[0-9a-f]{8}\b")
_TABLE = packaged_table("phistack.features", "shown.toml")
_WORDS_OF_IDS, _WORDS_OF_LABELS = (frozenset(_TABLE[what].split()) for what in ("ids", "labels"))


def shown_id(id: str) -> str:
    """The id of a document, or the name of a file without its ending, as it may be shown."""
    return _shown(id, _ID, _WORDS_OF_IDS)


def whole(name: str) -> str:
    """An id or a label in full, with control characters as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def shown_label(label: str, times: int = 1) -> str:
    """A label, as it may be shown; labels of the shipped label sets are shown in full.

    :param times: how many spans have it; a label of three or more is not a name.
    """
    if times >= _OFTEN and _OFTEN_LABEL.fullmatch(label):
        return label
    return _shown(label, _LABEL, _words_of_labels())


def hashed(name: str) -> str:
    """A name as `#` and the first eight hexadecimal digits of its hash."""
    key, content = os.environ.get("PHISTACK_KEY", "").strip(), name.encode("utf-8", "surrogatepass")
    digest = hmac.digest(key.encode(), b"shown:" + content, "sha256") if key else hashlib.sha256(content).digest()
    return f"#{digest.hex()[:8]}"


def explained(message: str) -> str:
    """What to append to a message: an explanation if it shows a hash, otherwise nothing."""
    explanation = f" (# stands for a name that may be a patient's; {SHOW_VARIABLE}=1 shows it)"
    return explanation if _HASHED.search(message) else ""


def _shown(name: str, alphabet: re.Pattern[str], words: frozenset[str]) -> str:
    if os.environ.get(SHOW_VARIABLE, "") not in ("", "0"):
        return whole(name)
    letters = _LETTERS.findall(name)
    harmless = alphabet.fullmatch(name) and all(len(run) == 1 or run.lower() in words for run in letters)
    return name if harmless else hashed(name)


@cache
def _words_of_labels() -> frozenset[str]:
    from phistack.features.labels import LabelSet

    sets = map(LabelSet.named, LabelSet.names())
    names = (name for labels in sets for item in labels.categories.items() for name in item)
    return _WORDS_OF_LABELS | {run.lower() for name in names for run in _LETTERS.findall(name)}
