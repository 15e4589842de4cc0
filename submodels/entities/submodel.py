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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Self

from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.labels import LabelSet
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel
from phistack.submodels.own_types import Mark, OwnTypes, OwnTypesState, first_of_overlapping, refuse_without_phi
from phistack.submodels.regex.pattern_files import ANY_SET, format_patterns, saved_patterns, shipped_patterns
from phistack.submodels.regex.scanner import Scanner

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


class _EntityState(OwnTypesState):
    """What `settings.json` holds."""

    settings: dict[str, Any]
    language: str


@dataclass(kw_only=True, eq=False, repr=False)
class EntitySubmodel(Submodel):
    """A tagger of general named entities with rules.

    Learned by `fit`: `types_` (what the corpus calls the classes, and how often each is right), `patterns_` (the
    rules), `language_`.

    :param label_set: name of the label set, for classes that the notes do not show; empty for none.
    :param numbers: whether every number that nothing else marks is of the class NUM.
    """

    kind: ClassVar[str] = "entities.v1"
    cost: ClassVar[float] = 0.5

    label_set: str = ""
    numbers: bool = True

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn what classes are called and how often they are right; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        """
        refuse_without_phi(tables)
        space = tables[0].space
        if _COLUMN not in space.columns:
            _LOG.warning("entities: no general tagger is named as ner under [features], so there are rules only")
        self.language_ = space.settings.language
        named = [(p, p.label_in(_SET)) for p in shipped_patterns(self.language_)]
        self.patterns_ = tuple(replace(p, labels={ANY_SET: label}) for p, label in named if label in _RULED)
        self.types_ = OwnTypes.learned(tables, self._found(tables), CLASSES, _SET, self.label_set, exact=True)
        return self

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """What is found in each note; nothing overlaps."""
        return [self.types_.candidates(marks, self.name) for marks in self._found(tables)]

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.patterns_)

    def _found(self, tables: Sequence[FeatureTable]) -> list[list[Mark]]:
        """What there is in each note, in order: of what overlaps, rules before the tagger, numbers last."""
        ruled: list[list[Mark]] = [[] for _ in tables]
        for note, number, start, end in self._scanner.find([t.document.text for t in tables], self.language_):
            pattern = self.patterns_[number]
            ruled[note].append(_mark(start, end, pattern.labels[ANY_SET], pattern.name))
        return [
            first_of_overlapping([
                *sorted(of_note, key=lambda mark: (mark.start - mark.end, mark)),
                *_tagged(table),
                *(_numbers(table.document.text) if self.numbers else ()),
            ], len(table.document.text))
            for table, of_note in zip(tables, ruled, strict=True)
        ]  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write `settings.json` and the rules, which a person can read and edit."""
        state: _EntityState = {
            "settings": dict(self.settings()), "language": self.language_, **self.types_.state(),
        }  # fmt: skip
        write_json(folder / "settings.json", state)
        (folder / "patterns.toml").write_text(format_patterns(self.patterns_), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state, patterns = files.json("settings.json", _EntityState), files.text("patterns.toml")
        with damage_refused("the entity tagger of the engine"):
            model = saved_submodel(cls, state["settings"])
            model.types_ = OwnTypes(state["labels"], state["precision"])
            model.language_ = state["language"]
            model.patterns_ = saved_patterns(patterns, shipped_patterns(model.language_))
        return model


def _mark(start: int, end: int, of_class: str, evidence: str) -> Mark:
    """A mark, of which it is counted how often its class is right."""
    return Mark(start, end, of_class, of_class, evidence)


def _tagged(table: FeatureTable) -> Iterator[Mark]:
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
            yield _mark(int(starts[tokens[0]]), int(ends[tokens[-1]]), _CLASS_OF[name], name)


def _numbers(text: str) -> Iterator[Mark]:
    return (_mark(*match.span(), "NUM", "number") for match in _NUMBER.finditer(text))
