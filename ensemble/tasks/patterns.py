"""The command `patterns check`: where a user's patterns match, by offset.

matches = pattern_matches(user_patterns(path), corpus.documents, "en")
matches_table(matches)          a row a match; the text only with show_text
counts_of(patterns, matches)    "record-number: 12 matches in 9 notes"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from phistack.ensemble.evaluation.tables import Table
from phistack.features.documents import Document
from phistack.features.plain_view import plain_view
from phistack.features.shown import shown_id, whole
from phistack.submodels.regex.pattern_files import Pattern
from phistack.submodels.regex.scanner import Scanner


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match in a note as it was written; `start` and `end` are code points, half-open, and `pattern` is a name."""

    document: Document = field(repr=False)
    start: int
    end: int
    pattern: str


def pattern_matches(patterns: Sequence[Pattern], documents: Sequence[Document], language: str) -> list[PatternMatch]:
    """All matches, in the order of the notes.

    :param language: ISO 639-1 code, for the validators.
    :raises UnsafePatternError: if a pattern takes too long for all notes together.
    """
    views = [plain_view(document) for document in documents]
    found = sorted(Scanner(patterns).find([view.document.text for view in views], language), key=lambda m: (m[0], m[2]))
    return [
        PatternMatch(documents[note], *views[note].place(start, end), patterns[number].name)
        for note, number, start, end in found
    ]


def matches_table(matches: Sequence[PatternMatch], *, show_text: bool = False) -> Table:
    """A row a match; :param show_text: whether to show its text and the full name of the note."""
    texts = ("note", "pattern", *(["text"] if show_text else []))
    rows = [
        [
            whole(match.document.id) if show_text else shown_id(match.document.id), match.pattern,
            *([repr(match.document.text[match.start : match.end])] if show_text else []),
            str(match.start), str(match.end),
        ]
        for match in matches
    ]  # fmt: skip
    return Table((*texts, "start", "end"), [rows], f"{len(matches)} matches", n_texts=len(texts))


def counts_of(patterns: Sequence[Pattern], matches: Sequence[PatternMatch]) -> Iterator[str]:
    """How often each pattern matches, those without a match included."""
    for pattern in patterns:
        notes = [match.document.id for match in matches if match.pattern == pattern.name]
        yield f"{pattern.name}: {len(notes)} matches in {len(set(notes))} notes"
