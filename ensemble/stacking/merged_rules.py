"""Rules for rare formulaic types, whose spans are merged after the SVM, as Liu 2017 does on N-GRID (section 3.6).

    rules = MergedRules.of(("PHONE", "EMAIL"), "", "en")         the shipped patterns for these labels
    rules = MergedRules.structured(("PATIENT", "DATE"), "en")    those for HL7, JSON, XML, DICOM, addresses
    rules.merged(tables, decisions)                              the decisions, with the matches of the rules

Submodels and stacker do not learn the labels of the former. The latter add to what was learned: few training notes have
structured text, but its keys say what a value is. A match is accepted if it overlaps no accepted span, or only spans of
its label within it, which it replaces; of overlapping matches the longest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Self

from phistack.ensemble.stacking.candidates import Decision, Tables
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.submodels.base import Candidate
from phistack.submodels.regex.pattern_files import (
    ANY_SET,
    Pattern,
    format_patterns,
    saved_patterns,
    shipped_patterns,
    structured_patterns,
    user_patterns,
)
from phistack.submodels.regex.scanner import Scanner

MERGED_RULES = "merged rules"
"""The source of their votes; a submodel cannot have this name, as it has a blank."""

_FILE = "merged_rules.toml"


@dataclass(frozen=True)
class MergedRules:
    """Patterns that add to what the stacker accepts.

    :param patterns: each with one label, that of `ANY_SET`.
    """

    patterns: tuple[Pattern, ...] = field(repr=False)
    language: str

    @classmethod
    def of(cls, labels: Sequence[str], path: str, language: str) -> Self:
        """The patterns of some labels: those shipped for a language, and those of a user's file.

        :param path: of a pattern file; empty for none. Its patterns replace shipped ones of the same name.
        :raises SettingsError: if the file cannot be used, or no pattern finds one of the labels.
        """
        known = {pattern.name: pattern for pattern in shipped_patterns(language)}
        known |= {pattern.name: pattern for pattern in user_patterns(Path(path))} if path else {}
        found = tuple(replace(p, labels={ANY_SET: label}) for p in known.values() if (label := _label_in(p, labels)))
        without = sorted({*labels} - {pattern.labels[ANY_SET] for pattern in found})
        if without:
            raise SettingsError(
                f"no pattern of the language {language} finds {without[0]}; take it out of rule_labels, or give "
                "patterns of your own as rules_file"
            )
        return cls(found, language)

    @classmethod
    @cache
    def structured(cls, labels: tuple[str, ...], language: str) -> Self:
        """The patterns for structured text that find one of the labels; made ready once for all stackers."""
        found = ((pattern, _label_in(pattern, labels)) for pattern in structured_patterns())
        return cls(tuple(replace(p, labels={ANY_SET: label}) for p, label in found if label), language)

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.patterns)

    def _matches(self, tables: Tables) -> list[dict[Span, str]]:
        """In each note the spans of the matches, with the names of their patterns."""
        hits: list[dict[Span, str]] = [{} for _ in tables]
        for note, number, start, end in self._scanner.find([table.document.text for table in tables], self.language):
            pattern = self.patterns[number]
            hits[note].setdefault(Span(start, end, pattern.labels[ANY_SET]), pattern.name)
        return hits

    def merged(self, tables: Tables, decisions: Iterable[Sequence[Decision]]) -> Iterator[list[Decision]]:
        """The decisions on each note with the accepted matches, sorted by span."""
        for matches, of_note in zip(self._matches(tables), decisions, strict=True):
            accepted = {decision.span: decision for decision in of_note if decision.accepted}
            for span in sorted(matches, key=lambda span: (span.start - span.end, span)):
                met = list(filter(span.overlaps, accepted))
                if all(_widens(span, other) for other in met):
                    vote = Candidate(span, MERGED_RULES, evidence=matches[span])
                    votes = (vote, *(vote for other in met for vote in accepted.pop(other).votes))
                    accepted[span] = Decision(span, 1.0, True, votes)
            rest = [replace(d, accepted=False) for d in of_note if accepted.get(d.span) is not d]
            yield sorted([*rest, *accepted.values()], key=lambda decision: decision.span)

    def save(self, folder: Path) -> None:
        """Write the patterns, as a person can read and edit them."""
        (folder / _FILE).write_text(format_patterns(self.patterns), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, language: str) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        with damage_refused("the rules of the engine that are merged after the stacker"):
            return cls(saved_patterns(files.text(_FILE), shipped_patterns(language)), language)


def _widens(span: Span, other: Span) -> bool:
    """Whether a span is longer than another of its label that it holds whole."""
    return span.label == other.label and span != other and span.start <= other.start and other.end <= span.end


def _label_in(pattern: Pattern, labels: Sequence[str]) -> str:
    """The first of the labels that a pattern declares, or has by the mappings between label sets."""
    declared = (*pattern.labels.values(), *map(pattern.label_in, LabelSet.names()))
    return next((label for label in declared if label in labels), "")
