"""The state of one run of the learner: the tags after the rules so far, and the candidate rules.

    search = RuleSearch(settings, Notes(tables, initial, gold), ids)
    while (found := search.best()) is not None:
        rule = search.apply(*found)

Applying a rule changes the counts of the candidate rules at the changed tokens, and at those neighbours for which some
template reads the tag of a changed token. Nothing else is counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Integers, Integers32
from phistack.features.errors import SettingsError
from phistack.tbed.encoding import Encoding
from phistack.tbed.grid import STRETCHES, Condition, Notes, TokenGrid, flat_tags
from phistack.tbed.rule_table import Keys, RuleTable
from phistack.tbed.rules import EDGE, Example, Rule
from phistack.tbed.templates import TAG, Atom, RuleTemplate

BestRule = tuple[list[Condition], int, int]
"""Conditions, the tag before and the tag after, all as ids."""

_LEAST = {"max_rules": 0, "min_gain": 1, "min_groups": 1}


@dataclass(frozen=True)
class LearnerSettings:
    """How to learn rules.

    :param templates: of the conditions that rules may have.
    :param max_rules: the most rules to learn.
    :param min_gain: stop when the best rule gains less; at least 1.
    :param min_groups: a rule must correct tokens in the notes of this many patients, or of all if there are fewer.
    :param edges: whether conditions may match positions beyond the sentence; NLTK's cannot.
    :param within: which neighbours a token has: those of its `sentence`, `line` or `note`.
    :raises SettingsError: for settings that cannot work.
    """

    templates: tuple[RuleTemplate, ...]
    max_rules: int = 200
    min_gain: int = 2
    min_groups: int = 1
    edges: bool = True
    within: str = "sentence"

    def __post_init__(self) -> None:
        if not self.templates:
            raise SettingsError("the rule learner needs at least one template")
        if self.within not in STRETCHES:
            raise SettingsError(f"tokens are neighbours within a {' or '.join(STRETCHES)}, not a {self.within}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise SettingsError(f"{name} of the rule learner must be at least {least}")


class Tagging:
    """Notes on a grid, with their current and their gold tags."""

    def __init__(self, settings: LearnerSettings, notes: Notes, ids: dict[str, int]) -> None:
        templates = settings.templates
        columns: frozenset[str] = frozenset().union(*(template.columns for template in templates))
        reach = max(template.reach for template in templates)
        self.grid = TokenGrid.of(notes.tables, sorted(columns), reach, within=settings.within)
        self.tags: Integers32 = self.grid.laid_out(flat_tags(notes.tables, notes.initial, ids), len(ids))
        self.gold: Integers32 = self.grid.laid_out(flat_tags(notes.tables, notes.gold, ids), len(ids))

    @property
    def n_errors(self) -> int:
        """The number of wrong tags."""
        return int((self.tags != self.gold).sum())

    def apply_elsewhere(self, conditions: Sequence[Condition], before: int, after: int) -> int:
        """Apply a rule of another search; returns the number of errors left."""
        self.tags[self.grid.where(conditions, self.tags, before)] = after
        return self.n_errors


class RuleSearch(Tagging):
    """Training notes, and the table of candidate rules that fits their tags."""

    def __init__(self, settings: LearnerSettings, notes: Notes, ids: dict[str, int]) -> None:
        super().__init__(settings, notes, ids)
        self.settings, self.tables, self.tag_names = settings, notes.tables, list(ids)
        templates = settings.templates
        # (n_notes,): the token after the last of each note, and the number of its patient.
        self._ends = np.cumsum(self.grid.lengths)
        groups = {table.document.group: None for table in notes.tables}
        numbers = {group: number for number, group in enumerate(groups)}
        self._groups = np.array([numbers[table.document.group] for table in notes.tables])
        self._min_groups = min(settings.min_groups, len(groups))
        self.encoding = Encoding(self.grid, templates, self.tags, len(ids), edges=settings.edges)
        self.table = RuleTable(self.encoding.target_codes)
        # (n_templates,) and (n_views,): only views with a tag atom depend on the tags of neighbours.
        looks_at_tags = np.array([any(atom.column == TAG for atom in t.atoms) for t in templates])
        looking = looks_at_tags[self.encoding.views.template]
        self._looking_views, self._looking_numbers = self.encoding.views.part(looking), np.flatnonzero(looking)
        tag_offsets = {
            -o for template in templates for atom in template.atoms if atom.column == TAG for o in atom.offsets
        }
        self._tag_offsets = np.array(sorted(tag_offsets - {0}), dtype=np.int64)
        self._enter_errors()
        self._count_all_bad()

    def best(self) -> BestRule | None:
        """The best rule; `None` when no rule gains enough."""
        while True:
            best = int(self.table.score.max(initial=0))
            if best < self.settings.min_gain:
                return None
            # (n_equal,): the score of an unknown context is an upper bound, so those are counted first.
            equals = np.flatnonzero(self.table.score == best)
            unknown = equals[~self.table.known[self.table.context[equals]]]
            if len(unknown):
                self._count_bad_of(unknown)
                continue
            chosen = self._first_of(equals)
            conditions, before = self._conditions(chosen)
            after = int(self.table.target[chosen])
            if self._holds_good(chosen, conditions, before, after):
                return conditions, before, after

    def _holds_good(self, rule: int, conditions: Sequence[Condition], before: int, after: int) -> bool:
        """Whether a rule has the gain of the table (not if two contexts share a key), in enough groups."""
        # (n_found,): all tokens that the rule would change.
        places = self.grid.where(conditions, self.tags, before)
        corrected, n_broken = places[self.gold[places] == after], int((self.gold[places] == before).sum())
        if len(corrected) - n_broken != self.table.score[rule]:
            self.table.correct(rule, len(corrected), n_broken)
            return False
        if self._min_groups > 1 and len(np.unique(self._groups[self._notes_of(corrected)])) < self._min_groups:
            self.table.bar(rule)
            return False
        return True

    def _notes_of(self, places: Integers) -> Integers:
        return np.searchsorted(self._ends, np.searchsorted(self.grid.places, places), side="right")

    def apply(self, conditions: Sequence[Condition], before: int, after: int) -> Rule:
        """Apply a rule and update the table; returns the rule with the names of its tags and values."""
        places = self.grid.where(conditions, self.tags, before)
        corrected, n_broken = places[self.gold[places] == after], int((self.gold[places] == before).sum())
        self._change(places, after)
        return Rule(
            self.tag_names[before],
            self.tag_names[after],
            tuple((Atom(c, offsets[0], offsets[-1]), self._value(c, value)) for c, offsets, value in conditions),
            len(corrected) - n_broken,
            n_broken,
            self._example(int(corrected[0])),
        )

    def _example(self, place: int) -> Example:
        token = int(np.searchsorted(self.grid.places, place))
        note = int(np.searchsorted(self._ends, token, side="right"))
        table = self.tables[note]
        return table.document.id, int(table.offsets[0][token - int(self._ends[note]) + len(table)])

    def _enter_errors(self) -> None:
        """Add the rules that would correct a token that is wrong now."""
        wrong = np.flatnonzero(self.tags != self.gold)
        views = self.encoding.views
        for template in range(len(self.settings.templates)):
            chosen = views.template == template
            keys, counts = self.encoding.keys_at(wrong, views.part(chosen))
            self._add_good(keys, counts, wrong, np.flatnonzero(chosen))

    def _add_good(self, keys: Keys, counts: NDArray[np.bool_], places: Integers, view_numbers: Integers) -> None:
        """Count these wrong tokens for the rules that would correct them, adding new rules."""
        # (n_seen,): place and view of each context that counts; its target is the gold tag of the place.
        row, column = np.nonzero(counts)
        targets = self.gold[places[row]].astype(np.int64)
        rules, source = self.table.add(keys[row, column], targets)
        new = slice(len(self.table) - len(source), len(self.table))
        self.table.place[new] = places[row[source]]
        self.table.view[new] = view_numbers[column[source]]
        self.table.packed[new] = self.encoding.packed_tags(places[row[source]], view_numbers[column[source]])
        self.table.count_good(rules, 1)

    def _count_all_bad(self) -> None:
        """Count the bad tokens of rules with enough good ones, in one pass over the corpus."""
        promising = np.flatnonzero(self.table.good[: len(self.table)] >= self.settings.min_gain)
        contexts = np.unique(self.table.context[promising]).astype(np.int64)
        counts = np.zeros(len(self.table.contexts), dtype=np.int32)
        for seen in self.encoding.all_keys((self.tags == self.gold) & (self.grid.before >= 0)):
            found = self.table.contexts.find(seen)
            np.add.at(counts, found[found >= 0], 1)
        self.table.known[contexts] = True
        self.table.count_bad(contexts, counts[contexts])

    def _count_bad_of(self, rules: Integers) -> None:
        """Count the bad tokens of some rules, one context at a time."""
        # (n_contexts,): the rules of a context break the same tokens, so one of them is enough.
        contexts, firsts = np.unique(self.table.context[rules], return_index=True)
        bad = np.zeros(len(contexts), dtype=np.int32)
        for i, rule in enumerate(rules[firsts].tolist()):
            conditions, before = self._conditions(rule)
            places = self.grid.where(conditions, self.tags, before)
            bad[i] = (self.gold[places] == before).sum()
        self.table.known[contexts] = True
        self.table.count_bad(contexts.astype(np.int64), bad)

    def _conditions(self, rule: int) -> tuple[list[Condition], int]:
        table = self.table
        return self.encoding.conditions(int(table.place[rule]), int(table.view[rule]), int(table.packed[rule]))

    def _first_of(self, rules: Integers) -> int:
        """Which of equally good rules comes first: by template, then by tag before, tag after, and values."""
        templates = self.encoding.views.template[self.table.view[rules]]
        rules = rules[templates == templates.min()]
        rules = rules[self._smallest(self.table.packed[rules] % (len(self.tag_names) + 1))]
        rules = rules[self._smallest(self.table.target[rules])]
        return min(rules.tolist(), key=self._literals) if len(rules) > 1 else int(rules[0])

    def _smallest(self, tags: NDArray[np.integer]) -> NDArray[np.bool_]:
        first = min(np.unique(tags).tolist(), key=lambda tag: repr(self.tag_names[tag]))
        smallest: NDArray[np.bool_] = tags == first
        return smallest

    def _literals(self, rule: int) -> list[str]:
        return [repr(self._value(column, value)) for column, _, value in self._conditions(rule)[0]]

    def _value(self, column: str, value: int) -> str | None:
        if column == TAG:
            return self.tag_names[value] if value < len(self.tag_names) else EDGE
        return self.tables[0].space.values(column)[value] if value < self.grid.edges[column] else EDGE

    def _change(self, places: Integers, after: int) -> None:
        """Change the tags of some places, and the counts of the rules there and at their neighbours."""
        # (n_places,) what changes, and (n_near,) tokens with a changed tag in range of a template that reads tags.
        near = np.unique((places[:, None] + self._tag_offsets).ravel())
        near = np.setdiff1d(near[self.grid.before[near] >= 0], places, assume_unique=True)
        at_places, at_near = (places, self.encoding.views), (near, self._looking_views)
        right = self.tags[places] == self.gold[places]
        right_near = self.tags[near] == self.gold[near]
        # (n_places, n_views) and (n_near, n_looking_views): the contexts before and after, and which of them count.
        old, counted = self.encoding.keys_at(*at_places)
        old_near, counted_near = self.encoding.keys_at(*at_near)
        self.encoding.retag(places, after)
        new, counts = self.encoding.keys_at(*at_places)
        new_near, counts_near = self.encoding.keys_at(*at_near)
        # Of the neighbours only changed contexts are counted again.
        moved = (old_near != new_near) | (counted_near != counts_near)
        counted_near &= moved
        counts_near &= moved
        right_now = self.gold[places] == after
        # A wrong token is good for the rule to its gold tag, a right one is bad for all rules of its context: subtract
        # the old ones, add the new ones.
        self._remove_good(old, counted & ~right[:, None], places)
        self._remove_good(old_near, counted_near & ~right_near[:, None], near)
        self._change_bad(
            [
                (old[counted & right[:, None]], -1),
                (old_near[counted_near & right_near[:, None]], -1),
                (new[counts & right_now[:, None]], 1),
                (new_near[counts_near & right_near[:, None]], 1),
            ]
        )
        self._add_good(new, counts & ~right_now[:, None], places, np.arange(len(self.encoding.views)))
        self._add_good(new_near, counts_near & ~right_near[:, None], near, self._looking_numbers)

    def _remove_good(self, keys: Keys, counts: NDArray[np.bool_], places: Integers) -> None:
        row, column = np.nonzero(counts)
        self.table.count_good(self.table.find(keys[row, column], self.gold[places[row]].astype(np.int64)), -1)

    def _change_bad(self, changes: Sequence[tuple[Keys, int]]) -> None:
        # (n_changes,) +1 and -1 for contexts that may repeat; summed by known context.
        keys = np.concatenate([keys for keys, _ in changes])
        contexts = self.table.contexts.find(keys)
        steps = np.repeat([step for _, step in changes], [len(keys) for keys, _ in changes])
        tracked = contexts >= 0
        tracked[tracked] = self.table.known[contexts[tracked]]
        unique, which = np.unique(contexts[tracked], return_inverse=True)
        sums = np.bincount(which, weights=steps[tracked], minlength=len(unique)).astype(np.int32)
        self.table.count_bad(unique[sums != 0], sums[sums != 0])
