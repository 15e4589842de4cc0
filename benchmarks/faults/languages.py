"""Notes with a passage in another language, read by the engines that ship.

list(mixtures(8))     for each engine, 8 notes x the passages of `passages.toml`: how many left letters in clear
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from phistack import Document, load_bundle, shipped_engine, synthesize
from phistack.features.letters import without_accents

PASSAGES: dict[str, str] = tomllib.loads((Path(__file__).parent / "passages.toml").read_text(encoding="utf-8"))
ENGINES = {"en": "english", "es": "spanish", "de": "german", "nl": "dutch", "sv": "swedish"}
FORMS: dict[str, Callable[[str], str]] = {
    "as written": str, "in title case": str.title, "in capitals": str.upper, "without accents": without_accents,
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class Mixtures:
    """What became of notes with a passage.

    :param form: how the passages were written.
    :param n: how many notes there were.
    :param in_clear: in how many a word of the passage came out.
    """

    form: str
    n: int
    in_clear: int


def mixtures(n_notes: int) -> Iterator[Mixtures]:
    """Put each passage into invented notes in the language of each engine that does not read it, and redact these.

    :param n_notes: for each engine.
    """
    rng = random.Random(1)
    for form, change in FORMS.items():
        n = in_clear = 0
        for language, name in ENGINES.items():
            engine = load_bundle(shipped_engine(name))
            unread = (text for own, text in PASSAGES.items() if own not in engine.language_gate.languages)
            notes = synthesize(n_notes, seed=11, language=language).documents
            pairs = [(change(text), note.text) for text in unread for note in notes]
            mixed = [Document(f"n{i}", _with(note, passage, rng)) for i, (passage, note) in enumerate(pairs)]
            for (passage, _), found in zip(pairs, engine.annotate(mixed), strict=True):
                n += 1
                in_clear += _is_in_clear(found, passage)
        yield Mixtures(form, n, in_clear)


def _is_in_clear(found: Document, passage: str) -> bool:
    """Whether a word of the passage is in no span."""
    start = found.text.index(passage)
    hidden = {at for span in found.spans for at in range(span.start, span.end)}
    return any(hidden.isdisjoint(range(start + m.start(), start + m.end())) for m in _WORD.finditer(passage))


def _with(note: str, passage: str, rng: random.Random) -> str:
    """The note with the passage as one of its lines."""
    lines = note.splitlines()
    lines.insert(rng.randrange(len(lines) + 1), passage)
    return "\n".join(lines)
