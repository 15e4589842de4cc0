"""Lists with decision rules and fuzzy matching for Dutch notes: the method of DEDUCE.

    deduce = DeduceSubmodel(label_set="nut").fit(tables)
    deduce.propose(tables)[0]     [Candidate(Span(12, 25, "Name"), "deduce", 0.93, True, "title"), ...]

Menger, Scheepers, van Wijk and Spruit 2018, as Trienes 2020 describe it; lists and rules are ours. Nothing of the rules
is learned. What training adds is how often each of them is right, which is the score of its candidates, and what
another label set than NUT calls the types.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypedDict

from features.columns.table import FeatureSpace, FeatureTable
from features.counting import most_frequent
from features.documents import Span
from features.errors import BundleError, LabelError, TrainingError
from features.labels import label_mapping
from features.saved_files import SavedFiles, damage_refused
from features.writing import write_json
from submodels.base import Candidate, Submodel, saved_submodel
from submodels.deduce.lists import DutchLists, Reading
from submodels.deduce.names import NameRules
from submodels.deduce.places import ADDRESS, PlaceRules
from submodels.regex.pattern_files import ANY_SET, format_patterns, parse_patterns
from submodels.regex.scanner import Scanner

__all__ = ["DeduceSubmodel"]

_LOG = logging.getLogger("phistack")
_NUT = "nut"
_LANGUAGE = "nl"


class _Marked(NamedTuple):
    """What a rule marks.

    :ivar order: of two that overlap the one with the lower order stays, of equals the longer.
    """

    order: int
    start: int
    end: int
    type: str
    rule: str


class _DeduceState(TypedDict):
    """What `settings.json` holds."""

    settings: dict[str, Any]
    labels: dict[str, str]
    precision: dict[str, float]


@dataclass(kw_only=True, eq=False, repr=False)
class DeduceSubmodel(Submodel):
    """Lists of names, places and institutions with rules, and patterns.

    Learned by `fit`: `labels_` (type of NUT -> label of the corpus), `precision_` (rule -> how often it is right),
    `lists_`, `patterns_`.

    :param label_set: name of the label set, for types that the notes do not show; empty for none.
    :param lists_file: a TOML file that adds to the lists, such as the institutions of a region; empty for none.
    :param fuzzy: whether long words one edit from an entry of a list count as that.
    """

    kind: ClassVar[str] = "deduce.v1"
    cost: ClassVar[float] = 0.6

    label_set: str = ""
    lists_file: str = ""
    fuzzy: bool = True

    @classmethod
    def for_label_set(cls, settings: Mapping[str, Any], label_set: str) -> Mapping[str, Any]:
        """The arguments with the label set, so that types too rare to learn are kept."""
        return {"label_set": label_set, **settings}

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn what the types are called and how often each rule is right; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if the file of lists cannot be used.
        """
        gold = {span.label for table in tables for span in table.document.spans}
        if not gold:
            raise TrainingError(f"the lists need PHI to learn labels from, and none of {len(tables)} notes has any")
        self.lists_ = DutchLists.shipped(self.lists_file)
        text = (resources.files("submodels.deduce") / "patterns.toml").read_text(encoding="utf-8")
        self.patterns_ = tuple(parse_patterns(text))
        marked = [self._marked(table.document.text) for table in tables]
        self.labels_ = self._labels(tables, marked, gold)
        self.precision_ = self._precision(tables, marked)
        _LOG.info("deduce: %d of %d types have a label", len(self.labels_), len(self._types))
        return self

    def _labels(
        self, tables: Sequence[FeatureTable], marked: Sequence[Sequence[_Marked]], gold: set[str]
    ) -> dict[str, str]:
        """What the corpus calls each type: the same, or what its gold has where the type is found, or by a mapping."""
        there: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for table, found in zip(tables, marked, strict=True):
            for one in found:
                spans = (span for span in table.document.spans if span.start < one.end and one.start < span.end)
                there[one.type].update(span.label for span in spans)
        mapped, same = self._mapped(), set(self._types) if self.label_set == _NUT else gold
        learned = {name: most_frequent(there[name]) if there[name] else mapped.get(name, "") for name in self._types}
        return {name: name if name in same else label for name, label in learned.items() if label or name in same}

    def _mapped(self) -> Mapping[str, str]:
        try:
            return label_mapping(_NUT, self.label_set)
        except LabelError:
            return {}

    def _precision(self, tables: Sequence[FeatureTable], marked: Sequence[Sequence[_Marked]]) -> dict[str, float]:
        """The share of what each rule marks that is PHI of the label, drawn towards a half where there is little."""
        right, all_there = Counter[str](), Counter[str]()
        for table, found in zip(tables, marked, strict=True):
            gold = {(span.start, span.end, span.label) for span in table.document.spans}
            for one in found:
                all_there[one.rule] += 1
                right[one.rule] += (one.start, one.end, self.labels_.get(one.type, "")) in gold
        return {rule: (right[rule] + 1) / (n + 2) for rule, n in sorted(all_there.items())}

    @cached_property
    def _types(self) -> tuple[str, ...]:
        """The types of NUT that there are rules for."""
        of_lists = (name.partition(".")[2] for name in self.lists_.entries if "." in name)
        return tuple(sorted({"Name", ADDRESS, *of_lists, *(pattern.labels[ANY_SET] for pattern in self.patterns_)}))

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.patterns_)

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """What the rules mark in each note; nothing overlaps."""
        return [list(self._candidates(table.document.text)) for table in tables]

    def _candidates(self, text: str) -> Iterator[Candidate]:
        for _, start, end, name, rule in self._marked(text):
            if name in self.labels_:
                span = Span(start, end, self.labels_[name])
                yield Candidate(span, self.name, self.precision_.get(rule, 0.5), evidence=rule)

    def _marked(self, text: str) -> list[_Marked]:
        """What the rules mark in a text, without overlap, from left to right."""
        taken = bytearray(len(text))
        kept: list[_Marked] = []
        for one in sorted(self._found(text), key=lambda one: (one.order, one.start - one.end, one.start, one.type)):
            if 1 not in taken[one.start : one.end]:
                taken[one.start : one.end] = b"\1" * (one.end - one.start)
                kept.append(one)
        return sorted(kept, key=lambda one: one.start)

    def _found(self, text: str) -> Iterator[_Marked]:
        """Patterns come first, in the order of their file, then institutions, names and towns."""
        for _, number, start, end in self._scanner.find([text], _LANGUAGE):
            pattern = self.patterns_[number]
            yield _Marked(number - len(self.patterns_), start, end, pattern.labels[ANY_SET], pattern.name)
        reading = Reading.of(text)
        names = NameRules(self.lists_, self.fuzzy).find(reading)
        places = PlaceRules(self.lists_, self.fuzzy).find(reading)
        for found in (*names, *places):
            order = 2 if found.type == "Name" else 3 if found.type == ADDRESS else 1
            yield _Marked(order, reading.starts[found.first], reading.ends[found.last - 1], found.type, found.rule)

    def save(self, folder: Path) -> None:
        """Write `settings.json`, and the lists and patterns, so that an engine keeps those that it was trained with."""
        state: _DeduceState = {
            "settings": dict(self.settings()), "labels": self.labels_, "precision": self.precision_,
        }  # fmt: skip
        write_json(folder / "settings.json", state)
        write_json(folder / "lists.json", self.lists_.to_dict(), indent=None)
        (folder / "patterns.toml").write_text(format_patterns(self.patterns_), encoding="utf-8")

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json("settings.json", _DeduceState)
        lists, patterns = files.json("lists.json", dict[str, list[str]]), files.text("patterns.toml")
        with damage_refused("the lists of the engine"):
            model = saved_submodel(cls, state["settings"])
            model.labels_, model.precision_ = state["labels"], state["precision"]
            model.lists_ = DutchLists.from_dict(lists)
            model.patterns_ = tuple(parse_patterns(patterns))
            if not all(ANY_SET in pattern.labels for pattern in model.patterns_):
                raise BundleError("a pattern of the engine has no type")
        return model
