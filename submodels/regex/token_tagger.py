"""Patterns and word lists that tag tokens, without learning: an initial tagger for TBED.

    tagger = TokenTagger.of("zhao2020", "i2b2-2014", ["HOSPITAL", ...])
    tagger.tag(table)        one tag a token: "at Mercy Hospital" gives O O I-HOSPITAL

A pattern counts where it begins and ends with tokens. Its first token gets the tag B or I that the pattern carries, the
others get I; if several patterns match a token, the first in the file counts. Those of table 1 of Zhao 2020 are in
`ensemble/papers`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.features.columns.table import FeatureTable
from phistack.features.errors import BundleError, SettingsError
from phistack.features.registry import FileRegistry
from phistack.features.tags import OUTSIDE
from phistack.submodels.regex.pattern_files import (
    ANY_SET,
    Pattern,
    format_patterns,
    parse_patterns,
    saved_patterns,
    user_patterns,
)

TOKEN_PATTERNS = FileRegistry("token-patterns", "file of token patterns", ".toml")
"""Files by name; all are of installed packages."""

_TAGS = ("B", "I")


@dataclass(frozen=True)
class TokenTagger:
    """Patterns with one label each.

    :param patterns: in the order in which they are tried.
    :raises SettingsError: if a pattern carries another tag than B or I.
    """

    patterns: tuple[Pattern, ...] = field(repr=False)

    def __post_init__(self) -> None:
        wrong = next((pattern for pattern in self.patterns if pattern.tag not in _TAGS), None)
        if wrong is not None:
            raise SettingsError(f'the pattern {wrong.name} must carry the tag B or I; add tag = "B"')

    @classmethod
    def of(cls, name: str, label_set: str, labels: Collection[str]) -> TokenTagger:
        """The patterns that have a label here.

        :param name: one of `TOKEN_PATTERNS`, or the path of a file.
        :param label_set: of the notes; empty for one without a name, in which patterns keep the labels that it knows.
        :param labels: that the notes have.
        :raises SettingsError: if the file cannot be used.
        """
        found = []
        for pattern in _patterns(name):
            known = next((label for label in pattern.labels.values() if label in labels), "")
            if label := pattern.label_in(label_set) if label_set else known:
                found.append(replace(pattern, labels={ANY_SET: label}))
        return cls(tuple(found))

    def tag(self, table: FeatureTable) -> list[str]:
        """One tag per token of a note."""
        tags = [OUTSIDE] * len(table)
        for pattern in self.patterns:
            label = pattern.labels[ANY_SET]
            for first, last in _matches(pattern, table):
                if tags[first:last] == [OUTSIDE] * (last - first):
                    tags[first:last] = [f"{pattern.tag}-{label}", *[f"I-{label}"] * (last - first - 1)]
        return tags

    def to_toml(self) -> str:
        """What a bundle keeps."""
        return format_patterns(self.patterns)

    @classmethod
    def from_toml(cls, text: str) -> TokenTagger:
        """What `to_toml` gave; :raises BundleError: if it is not that."""
        shipped = [pattern for name in TOKEN_PATTERNS.names for pattern in _patterns(name)]
        try:
            return cls(saved_patterns(text, shipped))
        except SettingsError as error:
            raise BundleError(f"the patterns of TBED's initial tagger cannot be used: {error}") from None


def _patterns(name: str) -> list[Pattern]:
    if name in TOKEN_PATTERNS.names:
        return parse_patterns(TOKEN_PATTERNS.text(name), shipped=True)
    return user_patterns(Path(name))


def _matches(pattern: Pattern, table: FeatureTable) -> Iterator[tuple[int, int]]:
    """First token and token after the last of what the pattern matches, from left to right and without overlap."""
    text, language = table.document.text, table.space.settings.language
    starts, ends = (offsets.tolist() for offsets in table.offsets)
    at_start, at_end = ({place: i for i, place in enumerate(places)} for places in (starts, ends))
    free = 0
    for start in starts:
        match = pattern.compiled.match(text, start) if start >= free else None
        phi = pattern.phi_of(match, language) if match is not None else None
        if phi is not None and phi[0] in at_start and phi[1] in at_end:
            free = phi[1]
            yield at_start[phi[0]], at_end[phi[1]] + 1
