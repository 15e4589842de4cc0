"""Lists with decision rules and fuzzy matching for Dutch notes: the method of DEDUCE.

    deduce = DeduceSubmodel(label_set="nut").fit(tables)
    deduce.propose(tables)[0]     [Candidate(Span(12, 25, "Name"), "deduce", 0.93, True, "title"), ...]

Menger, Scheepers, van Wijk and Spruit 2018, as Trienes 2020 describe it; lists and rules are ours. Nothing of the rules
is learned. What training adds is how often each of them is right, which is the score of its candidates, and what
another label set than NUT calls the types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from phistack.ensemble.papers.deduce.lists import KINDS_OF_INSTITUTIONS, KNOWN_INSTITUTIONS, DutchLists, Reading
from phistack.ensemble.papers.deduce.names import NAME, Found, NameRules
from phistack.ensemble.papers.rule_submodel import Mark, RuleSubmodel, first_of_overlapping
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.registry import packaged_text
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, parse_patterns

ADDRESS = "Address"
_INTERNAL = "Internal_Location"
_ARTICLES = ("de", "het")
_MOST_AFTER, _MOST_BEFORE = 4, 2


@dataclass(frozen=True)
class PlaceRules:
    """The rules over some lists.

    :param fuzzy: whether a long word one edit from a town of a list counts as that.
    """

    lists: DutchLists
    fuzzy: bool = True

    def find(self, reading: Reading) -> Iterator[Found]:
        """All institutions, towns and countries; they may overlap."""
        for i in range(len(reading)):
            yield from self._of_a_kind(reading, i)
            yield from self._known(reading, i)
            yield from self._town(reading, i)

    def _of_a_kind(self, reading: Reading, i: int) -> Iterator[Found]:
        for name in self.lists.labels(KINDS_OF_INSTITUTIONS):
            end = self._kind(name, reading, i)
            if end == i:
                continue
            label = name.partition(".")[2]
            last = self._after(reading, end, numbered=label == _INTERNAL)
            first = self._before(reading, i) if last == end and reading.is_capital(i) and label != _INTERNAL else i
            if (first, last) != (i, end):
                yield Found(first, last, label, "kind of institution")

    def _kind(self, name: str, reading: Reading, i: int) -> int:
        """The token after a kind of institution; a longer word may end in one."""
        end = self.lists.end(name, reading, i)
        return end if end > i else i + reading.folded[i].endswith(self.lists.endings[name])

    def _after(self, reading: Reading, i: int, *, numbered: bool) -> int:
        """The token after the name that follows a kind: words with a capital, or for a ward also a number or code."""
        first = i
        while i - first < _MOST_AFTER and reading.joins(i):
            is_number = numbered and reading.words[i].isdecimal()
            idle = self.lists.has("words", reading.words[i]) and not (i == first and reading.folded[i] in _ARTICLES)
            is_name = reading.is_capital(i) and not idle
            if not (is_number or is_name):
                break
            i += 1
            while reading.glued(i) and reading.words[i].isalnum() and numbered:
                i += 1
        return i

    def _before(self, reading: Reading, i: int) -> int:
        """The first of the words with a capital before a kind."""
        first = i
        while i - first < _MOST_BEFORE and reading.joins(first) and reading.is_capital(first - 1):
            if self.lists.has("words", reading.words[first - 1]):
                break
            first -= 1
        return first

    def _known(self, reading: Reading, i: int) -> Iterator[Found]:
        for name in self.lists.labels(KNOWN_INSTITUTIONS):
            end = self.lists.end(name, reading, i)
            if end > i and not reading.words[i].islower():
                yield Found(i, end, name.partition(".")[2], "known institution")

    def _town(self, reading: Reading, i: int) -> Iterator[Found]:
        if not reading.is_capital(i) and reading.words[i] not in ("'", "’"):
            return
        after_preposition = reading.joins(i) and self.lists.has("prepositions", reading.words[i - 1])
        end = self.lists.end("towns", reading, i)
        if end == i and (after_preposition or not reading.is_first(i)):
            end += self.lists.has("towns", reading.words[i], fuzzy=self.fuzzy)
        unsure = end == i or self.lists.end("ambiguous_towns", reading, i) > i
        end = max(end, self.lists.end("ambiguous_towns", reading, i))
        if end > i and (after_preposition or not unsure):
            yield Found(i, end, ADDRESS, "town")


@dataclass(kw_only=True, eq=False, repr=False)
class DeduceSubmodel(RuleSubmodel):
    """Lists of names, places and institutions with rules, and patterns.

    Learned by `fit`: `labels_`, `precision_`, `patterns_` and `lists_`.

    :param lists_file: a TOML file that adds to the lists, such as the institutions of a region; empty for none.
    :param fuzzy: whether long words one edit from an entry of a list count as that.
    """

    kind: ClassVar[str] = "deduce.v1"
    cost: ClassVar[float] = 0.6

    lists_file: str = ""
    fuzzy: bool = True

    def rules(self, space: FeatureSpace) -> tuple[Pattern, ...]:
        """The patterns, beside the lists."""
        self.lists_ = DutchLists.shipped(self.lists_file)
        return tuple(self.shipped())

    def shipped(self) -> list[Pattern]:
        """Those of the method."""
        return parse_patterns(packaged_text("phistack.ensemble.papers.deduce", "patterns.toml"), shipped=True)

    def types(self) -> tuple[str, ...]:
        """The types of NUT that have rules."""
        of_lists = (name.partition(".")[2] for name in self.lists_.entries if "." in name)
        return tuple(sorted({NAME, ADDRESS, *of_lists, *(pattern.labels[ANY_SET] for pattern in self.patterns_)}))

    def marked(self, tables: Sequence[FeatureTable]) -> list[list[Mark]]:
        """What the rules mark: of what overlaps, that of the lower order stays, of equals the longer."""
        texts = [table.document.text for table in tables]
        every = zip(texts, self.scanned(texts, "nl"), strict=True)
        ordered = [sorted((n, m.start - m.end, m) for n, m in self._found(text, matched)) for text, matched in every]
        return [
            first_of_overlapping((mark for *_, mark in found), len(text))
            for found, text in zip(ordered, texts, strict=True)
        ]

    def _found(self, text: str, matched: Sequence[tuple[int, Mark]]) -> Iterator[tuple[int, Mark]]:
        """What is found, with its order: patterns as their file has them, then institutions, names and towns."""
        for number, mark in matched:
            yield number - len(self.patterns_), mark
        reading = Reading(text)
        names = NameRules(self.lists_, self.fuzzy).find(reading)
        places = PlaceRules(self.lists_, self.fuzzy).find(reading)
        for found in (*names, *places):
            start, end = reading.starts[found.first], reading.ends[found.last - 1]
            order = 2 if found.type == NAME else 3 if found.type == ADDRESS else 1
            yield order, Mark(start, end, found.type, found.rule, found.rule)

    def save(self, folder: Path) -> None:
        """Write the lists too, so that an engine keeps those that it was trained with."""
        super().save(folder)
        write_json(folder / "lists.json", self.lists_.to_dict(), indent=None)

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        model, lists = super().load(files, space), files.json("lists.json", dict[str, list[str]])
        with damage_refused("the lists of the engine"):
            model.lists_ = DutchLists.from_dict(lists)
        return model
