"""Submodels with fixed rules: training adds the corpus's labels for their types, and how often each rule is right.

    model = DeduceSubmodel(label_set="nut").fit(tables)
    model.labels_, model.precision_     {"Name": "PATIENT", ...}, {"title": 0.93, ...}

A kind derives from `RuleSubmodel` and defines its types, its patterns, and what it marks in a note.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NotRequired, Self, TypedDict

from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Span
from phistack.features.errors import LabelError, TrainingError
from phistack.features.labels import LabelSet, label_mapping, most_frequent
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, format_patterns, saved_patterns
from phistack.submodels.regex.scanner import Scanner


class Mark(NamedTuple):
    """What a rule marks in a note.

    :ivar rule: the rule; how often it is right is counted.
    :ivar evidence: of the candidate.
    """

    start: int
    end: int
    type: str
    rule: str
    evidence: str


class _RulesState(TypedDict):
    """What `settings.json` of an engine holds."""

    settings: dict[str, Any]
    labels: dict[str, str]
    precision: dict[str, float]
    language: NotRequired[str]
    version: NotRequired[str]


@dataclass(kw_only=True, eq=False, repr=False)
class RuleSubmodel(Submodel):
    """Rules and patterns that are not learned.

    Learned by `fit`: `labels_` (type -> label of the corpus), `precision_` (rule -> share of its marks that are exactly
    PHI of that label, drawn towards a half if there are few) and `patterns_`.

    :cvar own_set: the label set of the types.
    :cvar exact: whether a type takes its label only from PHI that the rules mark exactly, not from all that they touch.
    :cvar kept: names of further state that an engine saves; the attributes end with an underscore.
    :param label_set: name of the label set of the notes, for types that the notes do not show; empty for none.
    """

    own_set: ClassVar[str] = "nut"
    exact: ClassVar[bool] = False
    kept: ClassVar[tuple[str, ...]] = ()

    label_set: str = ""

    @abstractmethod
    def rules(self, space: FeatureSpace) -> tuple[Pattern, ...]:
        """The patterns for a feature space, each with one label; also reads whatever else the rules need."""

    def shipped(self) -> Iterable[Pattern]:
        """The patterns that phistack ships, which may be among those of an engine and need no time limit."""
        return ()

    @abstractmethod
    def types(self) -> Iterable[str]:
        """All types that a rule can mark."""

    @abstractmethod
    def marked(self, tables: Sequence[FeatureTable]) -> list[list[Mark]]:
        """What the rules mark in each note; nothing overlaps."""

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn the label of each type and how often each rule is right; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if a file of the settings cannot be used.
        """
        gold = {span.label for table in tables for span in table.document.spans}
        if not gold:
            raise TrainingError(f"rules need PHI to learn labels from, and none of {len(tables)} notes has any")
        self.patterns_ = self.rules(tables[0].space)
        marked = self.marked(tables)
        there = self._labels_there(tables, marked)
        try:
            mapped = label_mapping(self.own_set, self.label_set)
        except LabelError:
            mapped = {}
        same = set(LabelSet.named(self.own_set).labels) if self.label_set == self.own_set else gold
        named = {name: most_frequent(there[name]) if there[name] else mapped.get(name, "") for name in self.types()}
        self.labels_ = {name: name if name in same else label for name, label in named.items() if label or name in same}
        self.precision_ = _precision(tables, marked, self.labels_)
        return self

    def _labels_there(
        self, tables: Sequence[FeatureTable], marked: Sequence[Sequence[Mark]]
    ) -> defaultdict[str, Counter[str]]:
        """Type -> the labels of the PHI that is marked with it, and how often."""
        there: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for table, marks in zip(tables, marked, strict=True):
            for mark in marks:
                touched = [s for s in table.document.spans if s.start < mark.end and mark.start < s.end]
                there[mark.type].update(s.label for s in touched if not self.exact or (s.start, s.end) == mark[:2])
        return there

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """What the rules mark in each note, except types that the corpus has no label for."""
        return [
            [
                Candidate(
                    Span(mark.start, mark.end, self.labels_[mark.type]), self.name,
                    self.precision_.get(mark.rule, 0.5), evidence=mark.evidence,
                )
                for mark in marks if mark.type in self.labels_
            ]
            for marks in self.marked(tables)
        ]  # fmt: skip

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.patterns_)

    def scanned(self, texts: Sequence[str], language: str) -> list[list[tuple[int, Mark]]]:
        """For each text the matches of the patterns, each with the number of its pattern."""
        found: list[list[tuple[int, Mark]]] = [[] for _ in texts]
        for text, number, start, end in self._scanner.find(texts, language):
            pattern = self.patterns_[number]
            found[text].append((number, Mark(start, end, pattern.labels[ANY_SET], pattern.name, pattern.name)))
        return found

    def save(self, folder: Path) -> None:
        """Write `settings.json`, and the patterns, which a person can read and edit."""
        own = {name: getattr(self, f"{name}_") for name in (*self.kept, "labels", "precision")}
        write_json(folder / "settings.json", {"settings": dict(self.settings()), **own})
        (folder / "patterns.toml").write_text(format_patterns(self.patterns_), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if the files are anything else."""
        state, patterns = files.json("settings.json", _RulesState), files.text("patterns.toml")
        with damage_refused(f"the rules {cls.kind} of the engine"):
            model = saved_submodel(cls, state["settings"])
            for name in (*cls.kept, "labels", "precision"):
                setattr(model, f"{name}_", state[name])  # type: ignore[literal-required]
            model.patterns_ = saved_patterns(patterns, model.shipped())
        return model


def first_of_overlapping(marks: Iterable[Mark], length: int) -> list[Mark]:
    """The marks that overlap none before them in the list, from left to right; `length` is that of the text."""
    taken = bytearray(length)
    kept: list[Mark] = []
    for mark in marks:
        if mark.end > mark.start and 1 not in taken[mark.start : mark.end]:
            taken[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
            kept.append(mark)
    return sorted(kept)


def _precision(
    tables: Sequence[FeatureTable], marked: Sequence[Sequence[Mark]], labels: Mapping[str, str]
) -> dict[str, float]:
    right, all_there = Counter[str](), Counter[str]()
    for table, marks in zip(tables, marked, strict=True):
        gold = {(span.start, span.end, span.label) for span in table.document.spans}
        for mark in marks:
            all_there[mark.rule] += 1
            right[mark.rule] += (mark.start, mark.end, labels.get(mark.type, "")) in gold
    return {rule: (right[rule] + 1) / (n + 2) for rule, n in sorted(all_there.items())}
