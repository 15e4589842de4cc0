"""A general tagger of named entities, and rules for what such a tagger does not know, as a submodel.

    submodel = EntitySubmodel(label_set="tjongkimsang2019").fit(tables)
    submodel.propose(tables)[0]     [Candidate(Span(12, 17, "PER"), "entities", 0.9, True, "PERSON"), ...]

The system of Tjong Kim Sang et al. (2019): persons, organisations, locations, other names and numbers are those of a
tagger that was trained on other text, the column `ner` of the features; dates, mail and web addresses are found by
rules, here the patterns that phistack ships. Rules come before the tagger, and numbers that neither has come last.
Nothing is learned but what the corpus calls a class, where its labels are others, and how often each class is right.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypedDict

from features.columns.table import FeatureSpace, FeatureTable
from features.counting import most_frequent
from features.documents import Span
from features.errors import BundleError, LabelError, TrainingError
from features.labels import LabelSet, label_mapping
from features.saved_files import SavedFiles, damage_refused
from features.writing import write_json
from submodels.base import Candidate, Submodel, saved_submodel
from submodels.regex.pattern_files import ANY_SET, format_patterns, parse_patterns, shipped_patterns
from submodels.regex.scanner import Scanner

__all__ = ["CLASSES", "EntitySubmodel"]

_LOG = logging.getLogger("phistack")
_COLUMN = "ner"
_SET = "tjongkimsang2019"
CLASSES = LabelSet.named(_SET).labels
"""The eight classes."""

_RULED = ("DATE", "MAIL", "URL")
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,/:-]\d+)*(?!\w)")
_TYPES = {
    "PER": ("PERSON", "PER", "PRS"),
    "ORG": ("ORGANIZATION", "ORG"),
    "LOC": ("LOCATION", "LOC", "GPE", "GSP", "FACILITY", "FAC", "CITY", "STATE_OR_PROVINCE", "COUNTRY"),
    "MISC": (
        "MISC", "NORP", "EVENT", "EVN", "WORK_OF_ART", "WRK", "PRODUCT", "OBJ", "LAW", "LANGUAGE", "NATIONALITY",
        "RELIGION", "IDEOLOGY",
    ),
    "NUM": ("NUMBER", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT", "MSR"),
}  # fmt: skip
"""Class -> what CoreNLP, NLTK and pipelines of spaCy call it; their dates are left to the rules, as in the paper."""
_CLASS_OF = {name: of_class for of_class, names in _TYPES.items() for name in names}


class _Entity(NamedTuple):
    """What is found, with the class and why."""

    start: int
    end: int
    of_class: str
    reason: str


class _EntityState(TypedDict):
    """What `settings.json` holds."""

    settings: dict[str, Any]
    labels: dict[str, str]
    precision: dict[str, float]
    language: str


@dataclass(kw_only=True, eq=False, repr=False)
class EntitySubmodel(Submodel):
    """A tagger of general named entities with rules.

    Learned by `fit`: `labels_` (class -> label of the corpus), `precision_` (class -> how often it is right),
    `patterns_` (the rules), `language_`.

    :param label_set: name of the label set, for classes that the notes do not show; empty for none.
    :param numbers: whether every number that nothing else marks is of the class NUM.
    """

    kind: ClassVar[str] = "entities.v1"
    cost: ClassVar[float] = 0.5

    label_set: str = ""
    numbers: bool = True

    @classmethod
    def for_label_set(cls, settings: Mapping[str, Any], label_set: str) -> Mapping[str, Any]:
        """The arguments with the label set, so that classes too rare to learn are kept."""
        return {"label_set": label_set, **settings}

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn what classes are called and how often they are right; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        """
        gold = {span.label for table in tables for span in table.document.spans}
        if not gold:
            raise TrainingError(
                f"the entity tagger needs PHI to learn labels from; none of {len(tables)} notes has any"
            )
        space = tables[0].space
        if _COLUMN not in space.columns:
            _LOG.warning("entities: no general tagger is named as ner under [features], so there are rules only")
        self.language_ = space.settings.language
        named = [(p, p.label_in(_SET)) for p in shipped_patterns(self.language_)]
        self.patterns_ = tuple(replace(p, labels={ANY_SET: label}) for p, label in named if label in _RULED)
        found = self._found(tables)
        self.labels_ = self._labels(tables, found, gold)
        self.precision_ = self._precision(tables, found)
        return self

    def _labels(
        self, tables: Sequence[FeatureTable], found: Sequence[Sequence[_Entity]], gold: set[str]
    ) -> dict[str, str]:
        """What the corpus calls each class: the same, or what its gold has where it is found, or by a mapping."""
        there: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for table, entities in zip(tables, found, strict=True):
            exact = {(span.start, span.end): span.label for span in table.document.spans}
            for one in entities:
                if (one.start, one.end) in exact:
                    there[one.of_class][exact[one.start, one.end]] += 1
        same, mapped = set(CLASSES) if self.label_set == _SET else gold, self._mapped()
        learned = {name: most_frequent(there[name]) if there[name] else mapped.get(name, "") for name in CLASSES}
        return {name: name if name in same else label for name, label in learned.items() if label or name in same}

    def _mapped(self) -> Mapping[str, str]:
        try:
            return label_mapping(_SET, self.label_set)
        except LabelError:
            return {}

    def _precision(self, tables: Sequence[FeatureTable], found: Sequence[Sequence[_Entity]]) -> dict[str, float]:
        """The share of each class that is PHI of its label, drawn towards a half where there is little."""
        right, all_there = Counter[str](), Counter[str]()
        for table, entities in zip(tables, found, strict=True):
            gold = {(span.start, span.end, span.label) for span in table.document.spans}
            for one in entities:
                all_there[one.of_class] += 1
                right[one.of_class] += (one.start, one.end, self.labels_.get(one.of_class, "")) in gold
        return {name: (right[name] + 1) / (n + 2) for name, n in sorted(all_there.items())}

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """What is found in each note; nothing overlaps."""
        return [
            [
                Candidate(Span(start, end, self.labels_[name]), self.name, self.precision_.get(name, 0.5), True, reason)
                for start, end, name, reason in entities
                if name in self.labels_
            ]
            for entities in self._found(tables)
        ]

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.patterns_)

    def _found(self, tables: Sequence[FeatureTable]) -> list[list[_Entity]]:
        """What there is in each note, in order: of what overlaps, rules before the tagger, numbers last."""
        ruled: list[list[_Entity]] = [[] for _ in tables]
        for note, number, start, end in self._scanner.find([t.document.text for t in tables], self.language_):
            pattern = self.patterns_[number]
            ruled[note].append(_Entity(start, end, pattern.labels[ANY_SET], pattern.name))
        return [
            _apart(len(table.document.text), [
                *sorted(of_note, key=lambda one: (one.start - one.end, one)),
                *_tagged(table),
                *(_numbers(table.document.text) if self.numbers else ()),
            ])
            for table, of_note in zip(tables, ruled, strict=True)
        ]  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write `settings.json` and the rules, which a person can read and edit."""
        state: _EntityState = {
            "settings": dict(self.settings()), "labels": self.labels_, "precision": self.precision_,
            "language": self.language_,
        }  # fmt: skip
        write_json(folder / "settings.json", state)
        (folder / "patterns.toml").write_text(format_patterns(self.patterns_), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state, patterns = files.json("settings.json", _EntityState), files.text("patterns.toml")
        with damage_refused("the entity tagger of the engine"):
            model = saved_submodel(cls, state["settings"])
            model.labels_, model.precision_ = state["labels"], state["precision"]
            model.language_ = state["language"]
            model.patterns_ = tuple(parse_patterns(patterns))
            if not all(ANY_SET in pattern.labels for pattern in model.patterns_):
                raise BundleError("a rule of the engine has no class")
        return model


def _tagged(table: FeatureTable) -> Iterator[_Entity]:
    """The entities of the tagger: neighbours in a sentence that have the same type."""
    if _COLUMN not in table.space.columns:
        return
    values = table.space.values(_COLUMN)
    types = [values[i] for i in table.column(_COLUMN).tolist()]
    starts, ends = table.offsets
    sentence = table.sentences.searchsorted(range(len(types)), side="right")
    for (name, _), run in groupby(range(len(types)), key=lambda i: (types[i], sentence[i])):
        tokens = list(run)
        if name in _CLASS_OF:
            yield _Entity(int(starts[tokens[0]]), int(ends[tokens[-1]]), _CLASS_OF[name], name)


def _numbers(text: str) -> Iterator[_Entity]:
    return (_Entity(*match.span(), "NUM", "number") for match in _NUMBER.finditer(text))


def _apart(length: int, found: Sequence[_Entity]) -> list[_Entity]:
    """Those that overlap none before them, sorted by place."""
    taken = bytearray(length)
    kept: list[_Entity] = []
    for one in found:
        if one.end > one.start and 1 not in taken[one.start : one.end]:
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept)
