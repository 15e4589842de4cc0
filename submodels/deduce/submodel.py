"""Lists with decision rules and fuzzy matching for Dutch notes: the method of DEDUCE.

    deduce = DeduceSubmodel(label_set="nut").fit(tables)
    deduce.propose(tables)[0]     [Candidate(Span(12, 25, "Name"), "deduce", 0.93, True, "title"), ...]

Menger, Scheepers, van Wijk and Spruit 2018, as Trienes 2020 describe it; lists and rules are ours. Nothing of the rules
is learned. What training adds is how often each of them is right, which is the score of its candidates, and what
another label set than NUT calls the types.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Self

from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel
from phistack.submodels.deduce.lists import DutchLists, Reading
from phistack.submodels.deduce.names import NameRules
from phistack.submodels.deduce.places import ADDRESS, PlaceRules
from phistack.submodels.own_types import Mark, OwnTypes, OwnTypesState, first_of_overlapping
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, format_patterns, parse_patterns, saved_patterns
from phistack.submodels.regex.scanner import Scanner

_LOG = logging.getLogger("phistack")
_NUT = "nut"
_LANGUAGE = "nl"


class _DeduceState(OwnTypesState):
    """What `settings.json` holds."""

    settings: dict[str, Any]


@dataclass(kw_only=True, eq=False, repr=False)
class DeduceSubmodel(Submodel):
    """Lists of names, places and institutions with rules, and patterns.

    Learned by `fit`: `types_` (what the corpus calls the types of NUT, and how often each rule is right), `lists_`,
    `patterns_`.

    :param label_set: name of the label set, for types that the notes do not show; empty for none.
    :param lists_file: a TOML file that adds to the lists, such as the institutions of a region; empty for none.
    :param fuzzy: whether long words one edit from an entry of a list count as that.
    """

    kind: ClassVar[str] = "deduce.v1"
    cost: ClassVar[float] = 0.6

    label_set: str = ""
    lists_file: str = ""
    fuzzy: bool = True

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn what the types are called and how often each rule is right; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if the file of lists cannot be used.
        """
        self.lists_ = DutchLists.shipped(self.lists_file)
        self.patterns_ = tuple(_shipped())
        marked = [self._marked(table.document.text) for table in tables]
        self.types_ = OwnTypes.learned(tables, marked, self._types, _NUT, self.label_set, exact=False)
        _LOG.info("deduce: %d of %d types have a label", len(self.types_.labels), len(self._types))
        return self

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
        return [self.types_.candidates(self._marked(table.document.text), self.name) for table in tables]

    def _marked(self, text: str) -> list[Mark]:
        """What the rules mark in a text: of what overlaps, that of the lower order stays, of equals the longer."""
        found = sorted((order, mark.start - mark.end, mark) for order, mark in self._found(text))
        return first_of_overlapping((mark for *_, mark in found), len(text))

    def _found(self, text: str) -> Iterator[tuple[int, Mark]]:
        """What is found, with its order: patterns as their file has them, then institutions, names and towns."""
        for _, number, start, end in self._scanner.find([text], _LANGUAGE):
            pattern = self.patterns_[number]
            mark = Mark(start, end, pattern.labels[ANY_SET], pattern.name, pattern.name)
            yield number - len(self.patterns_), mark
        reading = Reading.of(text)
        names = NameRules(self.lists_, self.fuzzy).find(reading)
        places = PlaceRules(self.lists_, self.fuzzy).find(reading)
        for found in (*names, *places):
            start, end = reading.starts[found.first], reading.ends[found.last - 1]
            order = 2 if found.type == "Name" else 3 if found.type == ADDRESS else 1
            yield order, Mark(start, end, found.type, found.rule, found.rule)

    def save(self, folder: Path) -> None:
        """Write `settings.json`, and the lists and patterns, so that an engine keeps those that it was trained with."""
        state: _DeduceState = {"settings": dict(self.settings()), **self.types_.state()}
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
            model.types_ = OwnTypes(state["labels"], state["precision"])
            model.lists_ = DutchLists.from_dict(lists)
            model.patterns_ = saved_patterns(patterns, _shipped())
        return model


def _shipped() -> list[Pattern]:
    text = (resources.files("phistack.submodels.deduce") / "patterns.toml").read_text(encoding="utf-8")
    return parse_patterns(text, shipped=True)
