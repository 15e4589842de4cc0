"""Words of an output that a person should look at: capitalised ones, and those like a known identifier.

    capitalised("Seen by Dr. Ames.", [])                                Counter({"Dr": 1, "Ames": 1})
    resembling("Called Mr Hilard.", [], KnownWords(["Ann Hillard"]))    Counter({"Hilard": 1})

This is the review list of Tjong Kim Sang and others (HealTAC 2019): the capitalised words that do not start a sentence
and are still there, without context. Words inside replacements are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from phistack.features.documents import Document
from phistack.features.letters import edits, fold
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import Range

_RUN = re.compile(r"[^\W\d_]+|\w+")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Lower-case letters of Latin-1 are excluded here for speed, those of other alphabets afterwards.
_CAPITALISED = re.compile(r"(?<![^\W\d_])(?<![^\W\d_]['’-])[^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:['’-][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:\A|[.?!:;\n\r\u2022*-])[\s\"'“”«»()\[\]-]*\Z")
_ABBREVIATION = re.compile(r"\b[^\W\d_]{1,3}\.\s*\Z")
_BEFORE = 12
_BLOT = "\ufffc"
_SHORTEST = 4
_EDITS_BY_LENGTH = ((8, 2), (5, 1))


def capitalised(text: str, replaced: Iterable[Range]) -> Counter[str]:
    """Capitalised words of two letters or more that do not start a sentence.

    :param replaced: start and end of what was replaced, sorted.
    """
    text = plain_text(_blanked(text, replaced))
    found = (match for match in _CAPITALISED.finditer(text) if match[0][0].isupper() and len(match[0]) > 1)
    return Counter(match[0] for match in found if not _starts(text, match.start()))


class KnownWords:
    """The words of four letters or more in identifiers, and which words are like them.

    :param identifiers: of a patient.
    """

    def __init__(self, identifiers: Iterable[str]) -> None:
        found = (word for mention in identifiers for word in _WORD.findall(plain_text(mention)))
        words = {fold(word) for word in found if len(word) >= _SHORTEST}
        self._by_start: defaultdict[str, list[str]] = defaultdict(list)
        for word in words:
            self._by_start[word[0]].append(word)
        self._asked = dict.fromkeys(words, True)

    def has_like(self, word: str) -> bool:
        """Whether one is the word but for case and accents, or an edit (from 5 letters) or two (from 8) away."""
        plain = fold(word)
        if plain not in self._asked:
            self._asked[plain] = any(_near(plain, other) for other in self._by_start.get(plain[:1], ()))
        return self._asked[plain]


def resembling(text: str, replaced: Iterable[Range], known: KnownWords) -> Counter[str]:
    """The words of a text that are like known ones.

    :param replaced: start and end of what was replaced, sorted.
    """
    counts = Counter(_WORD.findall(plain_text(_blanked(text, replaced))))
    return Counter({word: count for word, count in counts.items() if len(word) > 1 and known.has_like(word)})


def struck_places(text: str, struck: Collection[str]) -> list[tuple[int, int]]:
    """Where the folded words of a strike list are in a text, also as part of a word with hyphens."""
    view = plain_view(Document("note", text))
    words = (match for pattern in (_RUN, _WORD) for match in pattern.finditer(view.document.text))
    return [view.place(*match.span()) for match in words if fold(match[0]) in struck]


def _blanked(text: str, replaced: Iterable[Range]) -> str:
    """The text of the same length with the replacements blotted out."""
    pieces: list[str] = []
    position = 0
    for start, end in replaced:
        pieces += (text[position:start], _BLOT * (end - start))
        position = end
    return "".join([*pieces, text[position:]])


def _starts(text: str, at: int) -> bool:
    """Whether a word starts a sentence: right after the beginning, a line end, or a mark that ends sentences."""
    before = text[max(0, at - _BEFORE) : at]
    found = _SENTENCE_START.search(before)
    # Where only the window begins, no sentence does; nor does one after an abbreviation such as `Dr.`.
    begins = found is not None and (at <= _BEFORE or found.start() > 0 or before[0] in ".?!:;\n\r*-")
    return begins and _ABBREVIATION.search(before) is None


def _near(word: str, known: str) -> bool:
    allowed = next((n for length, n in _EDITS_BY_LENGTH if len(known) >= length), 0)
    return bool(allowed) and edits(word, known, allowed) <= allowed
