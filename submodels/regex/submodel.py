"""Regular expressions that propose PHI, each scored by its precision in training.

    submodel = RegexSubmodel(label_set="i2b2-2014", language="en").fit(tables)
    submodel.propose(tables)[0]     [Candidate(Span(12, 17, "DOCTOR"), "regex", 0.97, True, "doctor-title")]

A pattern is written for a type of PHI, and the label that a corpus has for it is learned: the one that the gold gives
most often to exactly what the pattern matches. So the same patterns serve corpora with other labels.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypedDict
from weakref import WeakKeyDictionary

from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import LabelError, SettingsError, TrainingError
from phistack.features.labels import LabelSet, most_frequent
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel
from phistack.submodels.regex.pattern_files import (
    ANY_SET,
    Pattern,
    format_patterns,
    saved_patterns,
    shipped_patterns,
    user_patterns,
)
from phistack.submodels.regex.scanner import Scanner

_LOG = logging.getLogger("phistack")
_ENOUGH_MATCHES = 10

_Search = tuple[tuple[Pattern, ...], str]
_Matched = Mapping[Span, Pattern]

_SEARCHED: WeakKeyDictionary[FeatureTable, tuple[_Search, _Matched]] = WeakKeyDictionary()
"""The last search in each note in memory: the patterns and the language, and the most precise pattern of each span.

TBED's initial tagger mostly has the same patterns.
"""


class _Match(NamedTuple):
    """A match in training, with the labels that the gold has for exactly this span."""

    document: int
    start: int
    end: int
    labels: frozenset[str]


@dataclass(frozen=True)
class _Fit:
    """A pattern and its label, with all its matches, and those where no more precise pattern matches."""

    pattern: Pattern
    label: str
    matches: Sequence[_Match]
    free: Sequence[_Match]

    @cached_property
    def precision(self) -> float:
        """On the free matches, smoothed towards that on all matches."""
        overall = (self._hits(self.matches) + 1) / (len(self.matches) + 2)
        if len(self.free) == len(self.matches):
            return overall
        return (self._hits(self.free) + 2 * overall) / (len(self.free) + 2)

    def _hits(self, matches: Sequence[_Match]) -> int:
        return sum(self.label in match.labels for match in matches)

    def without(self, taken: Sequence[bytearray]) -> _Fit:
        """The same where no character of a free match is taken."""
        free = [match for match in self.free if not any(taken[match.document][match.start : match.end])]
        return self if len(free) == len(self.free) else replace(self, free=free)


class _RegexState(TypedDict):
    """What `settings.json` holds."""

    settings: dict[str, Any]
    language: str


@dataclass(kw_only=True, eq=False, repr=False)
class RegexSubmodel(Submodel):
    """Patterns whose labels and precision are learned.

    Learned by `fit`: `patterns_`, the patterns kept, each with one label; `language_`, that of the notes.

    :param label_set: name or TOML file of the label set, for patterns without a match in training; empty for none.
    :param language: ISO 639-1 code that chooses the patterns; empty for the language of the feature tables.
    :param patterns_file: path of a user's patterns, which are added to the shipped ones or replace one of their name.
    :param min_precision: patterns with at least ten matches and a lower precision are left out, in [0, 1].
    :param choose_precision: patterns with a lower precision only propose to the stacker, in [0, 1].
    :raises SettingsError: if a setting cannot work.
    """

    kind: ClassVar[str] = "regex.v1"
    cost: ClassVar[float] = 0.5
    discreet: ClassVar[bool] = True

    label_set: str = ""
    language: str = ""
    patterns_file: str = ""
    min_precision: float = 0.3
    choose_precision: float = 0.5

    def __post_init__(self) -> None:
        for setting in ("min_precision", "choose_precision"):
            if not 0 <= (value := getattr(self, setting)) <= 1:
                raise SettingsError(f"the regex setting {setting} must be from 0 to 1, not {value}")

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn label and precision of every pattern; `seed` changes nothing.

        :raises TrainingError: if there are no notes, or neither annotated PHI nor a label set.
        :raises SettingsError: if the label set or the pattern file cannot be used.
        """
        documents = [table.document for table in tables]
        labels = self._known_labels(documents)
        self.language_ = self.language or tables[0].space.settings.language
        available = {pattern.name: pattern for pattern in shipped_patterns(self.language_)}
        if self.patterns_file:
            available |= {pattern.name: pattern for pattern in user_patterns(Path(self.patterns_file))}
        matches = zip(available.values(), self._matches(tuple(available.values()), documents), strict=True)
        fits = [_Fit(pattern, self._label(pattern, found, labels), found, found) for pattern, found in matches]
        patterns = self._decision_list([fit for fit in fits if fit.label], documents)
        self._use(Scanner(tuple(patterns)))
        _LOG.info("regex: %d of %d patterns kept", len(self.patterns_), len(available))
        return self

    def _known_labels(self, documents: Sequence[Document]) -> Collection[str]:
        if not documents:
            raise TrainingError("the regex submodel needs at least one annotated note")
        try:
            named = LabelSet.of(self.label_set).labels if self.label_set else ()
        except LabelError as error:
            raise SettingsError(str(error)) from None
        labels = {span.label for document in documents for span in document.spans}.union(named)
        if not labels:
            raise TrainingError(
                "the notes have no annotated PHI, so the regex submodel cannot learn labels; name a label set"
            )
        return labels

    def _matches(self, patterns: Sequence[Pattern], documents: Sequence[Document]) -> list[list[_Match]]:
        """The matches of each pattern."""
        gold: defaultdict[tuple[int, int, int], set[str]] = defaultdict(set)
        for note, document in enumerate(documents):
            for span in document.spans:
                gold[note, span.start, span.end].add(span.label)
        matches: list[list[_Match]] = [[] for _ in patterns]
        for note, number, start, end in Scanner(patterns).find([d.text for d in documents], self.language_):
            matches[number].append(_Match(note, start, end, frozenset(gold.get((note, start, end), ()))))
        return matches

    def _decision_list(self, fits: list[_Fit], documents: Sequence[Document]) -> Iterator[Pattern]:
        """The patterns that are precise enough, the most precise first.

        A decision list (Rivest 1987, Machine Learning 2): the precision of a pattern counts its matches where no more
        precise one matched, so `June 2011` is not an error where it is a part of `3 June 2011`.
        """
        taken = [bytearray(len(document.text)) for document in documents]
        while fits:
            best = min(fits, key=lambda fit: (-fit.precision, -len(fit.matches), fit.pattern.name))
            fits = [fit for fit in fits if fit is not best]
            n_matches = len(best.matches)
            if n_matches < _ENOUGH_MATCHES or best.precision >= self.min_precision:
                yield replace(best.pattern, labels={ANY_SET: best.label}, precision=best.precision, matches=n_matches)
            if best.free and best.precision >= self.choose_precision:
                for match in best.free:
                    taken[match.document][match.start : match.end] = bytes([1]) * (match.end - match.start)
                fits = [fit.without(taken) for fit in fits]

    def _label(self, pattern: Pattern, matches: Sequence[_Match], known: Collection[str]) -> str:
        """The label that the gold gives most often to the matches, or else the one that the pattern declares."""
        if hits := Counter(label for match in matches for label in match.labels):
            return most_frequent(hits)
        if self.label_set:
            return pattern.label_in(self.label_set)
        return next((label for label in pattern.labels.values() if label in known), "")

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """Candidates for each note; of overlapping ones, those of the most precise, then longest, are chosen.

        A note in which the same patterns were searched last, as TBED's initial tagger does, is not searched again.
        """
        found = zip(tables, self._found(tables), strict=True)
        return [self._candidates(table.document.text, of_note) for table, of_note in found]

    def _found(self, tables: Sequence[FeatureTable]) -> list[_Matched]:
        new = [table for table in tables if _SEARCHED.get(table, (None, {}))[0] != self._search]
        texts = [table.document.text for table in new]
        best: list[dict[Span, Pattern]] = [{} for _ in new]
        for note, number, start, end in self._scanner.find(texts, self.language_):
            pattern = self.patterns_[number]
            span = Span(start, end, pattern.labels[ANY_SET])
            if span not in best[note] or best[note][span].precision < pattern.precision:
                best[note][span] = pattern
        _SEARCHED.update({table: (self._search, found) for table, found in zip(new, best, strict=True)})
        return [_SEARCHED[table][1] for table in tables]

    def _use(self, scanner: Scanner) -> None:
        self.patterns_, self._scanner = scanner.patterns, scanner
        self._search: _Search = (scanner.patterns, self.language_)

    def _candidates(self, text: str, found: _Matched) -> list[Candidate]:
        taken = bytearray(len(text))
        candidates: list[Candidate] = []
        ranked = sorted((-pattern.precision, span.start - span.end, span) for span, pattern in found.items())
        for _, _, span in ranked:
            pattern = found[span]
            chosen = pattern.precision >= self.choose_precision and 1 not in taken[span.start : span.end]
            if chosen:
                taken[span.start : span.end] = bytes([1]) * (span.end - span.start)
            candidates.append(Candidate(span, self.name, pattern.precision, chosen, pattern.name))
        return sorted(candidates, key=lambda found: (found.span.start, found.span.end, found.span.label))

    def save(self, folder: Path) -> None:
        """Write `settings.json` and `patterns.toml`, which a person can read and edit."""
        state = {"settings": dict(self.settings()), "language": self.language_}
        write_json(folder / "settings.json", state)
        (folder / "patterns.toml").write_text(format_patterns(self.patterns_), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json("settings.json", _RegexState)
        text = files.text("patterns.toml")
        with damage_refused("the regex submodel of the engine"):
            submodel = saved_submodel(cls, state["settings"])
            submodel.language_ = state["language"]
            submodel._use(_saved_scanner(text, state["language"]))
        return submodel


@lru_cache(maxsize=1)
def _saved_scanner(toml: str, language: str) -> Scanner:
    """The patterns of an engine, ready; TBED's initial tagger and the regex submodel mostly have the same."""
    return Scanner(saved_patterns(toml, shipped_patterns(language)))
