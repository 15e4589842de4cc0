"""Applying learned rules, and counting what each corrects and breaks.

    tagged = Tagger(learned.rules).tag(tables, initial)
    tagged[0].tags                       ["O", "B-DOCTOR", ...]
    tagged[0].changed_by                 [0, 12, ...]: the number of the rule that changed the tag last, 0 for none
    score_rules(rules, notes)[0].gain    tokens corrected minus tokens broken by this rule, in these notes

Rules are numbered from 1, those that are off included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.tbed.grid import Condition, Notes, TagSequences, TokenGrid, flat_tags
from phistack.tbed.rules import EDGE, Rule
from phistack.tbed.templates import TAG


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tags of one note after the rules, and for each token the number of the rule that changed it last, or 0."""

    tags: list[str] = field(repr=False)
    changed_by: list[int] = field(repr=False)


@dataclass(frozen=True)
class Tagger:
    """A list of rules, ready to be applied.

    :param rules: in order of application.
    :param within: which neighbours a token has, as in learning; see `tbed.grid.STRETCHES`.
    """

    rules: tuple[Rule, ...]
    within: str = "sentence"

    def tag(self, tables: Sequence[FeatureTable], initial: TagSequences) -> list[Tagged]:
        """Correct the initial tags of notes.

        :raises SettingsError: if a rule names a column that the tables lack, or there is not one tag per token.
        """
        ids: dict[str, int] = {}
        starting = flat_tags(tables, initial, ids)
        grid, tags = _laid_out(self.rules, tables, starting, ids, self.within)
        changed_by = np.zeros(len(grid), dtype=np.int32)
        for number, places in _applied(self.rules, tables, grid, tags, ids):
            changed_by[places] = number
        names = np.array(list(ids), dtype=object)
        of_notes = zip(grid.split(tags), grid.split(changed_by), strict=True)
        return [Tagged(names[own].tolist(), changes.tolist()) for own, changes in of_notes]


@dataclass(frozen=True, slots=True)
class RuleScore:
    """How many tokens a rule corrected, broke, and moved from one wrong tag to another, after all rules before it."""

    number: int
    corrected: int = 0
    broken: int = 0
    moved: int = 0

    @property
    def gain(self) -> int:
        """Tokens corrected minus tokens broken."""
        return self.corrected - self.broken


def score_rules(rules: Sequence[Rule], notes: Notes, *, within: str = "sentence") -> list[RuleScore]:
    """What each rule adds on annotated notes; rules that are off, or change nothing, count zero.

    :param within: which neighbours a token has, as in learning.
    :raises SettingsError: if a rule names a column that the tables lack, or there is not one tag per token.
    """
    ids: dict[str, int] = {}
    gold_tags = flat_tags(notes.tables, notes.gold, ids)
    initial = flat_tags(notes.tables, notes.initial, ids)
    grid, tags = _laid_out(rules, notes.tables, initial, ids, within)
    gold = grid.laid_out(gold_tags, len(ids))
    scores = [RuleScore(number) for number in range(1, len(rules) + 1)]
    for number, places in _applied(rules, notes.tables, grid, tags, ids):
        rule = rules[number - 1]
        corrected, broken = (int((gold[places] == ids[tag]).sum()) for tag in (rule.after, rule.before))
        scores[number - 1] = RuleScore(number, corrected, broken, len(places) - corrected - broken)
    return scores


def _laid_out(
    rules: Sequence[Rule], tables: Sequence[FeatureTable], tags: Integers32, ids: dict[str, int], within: str
) -> tuple[TokenGrid, Integers32]:
    """The grid that rules read, and the tags of its places.

    :param tags: ids of the initial tags, of shape `(n_tokens,)`.
    :param ids: tag -> id; the tags of the rules are added.
    """
    columns: frozenset[str] = frozenset().union(*(rule.columns for rule in rules))
    grid = TokenGrid.of(tables, sorted(columns), max((rule.reach for rule in rules), default=0), within=within)
    for rule in rules:
        ids.setdefault(rule.before, len(ids))
        ids.setdefault(rule.after, len(ids))
    return grid, grid.laid_out(tags, len(ids))


def _applied(
    rules: Sequence[Rule], tables: Sequence[FeatureTable], grid: TokenGrid, tags: Integers32, ids: Mapping[str, int]
) -> Iterator[tuple[int, Integers]]:
    """Change the tags by each rule, and give its number and the places that it changes, if there are any."""
    present = set(np.unique(tags).tolist())
    for number, rule in enumerate(rules, 1):
        before, after = ids[rule.before], ids[rule.after]
        conditions = None if rule.off or before not in present else _conditions(rule, tables, grid, ids)
        if conditions is not None and len(places := grid.where(conditions, tags, before)):
            present.add(after)
            tags[places] = after
            yield number, places


def _conditions(
    rule: Rule, tables: Sequence[FeatureTable], grid: TokenGrid, ids: Mapping[str, int]
) -> list[Condition] | None:
    """The conditions in ids; `None` if one asks for a value that no token can have."""
    found: list[Condition] = []
    for atom, value in rule.conditions:
        if value is EDGE:
            number = len(ids) if atom.column == TAG else grid.edges[atom.column]
        elif atom.column == TAG:
            number = ids.get(value, -1)
        else:
            number = tables[0].space.id(atom.column, value) or -1
        if number < 0:
            return None
        found.append((atom.column, atom.offsets, number))
    return found
