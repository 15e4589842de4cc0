"""Learning rules from errors (Brill 1995), without ever counting anew what a rule did not touch.

    learner = Learner(named_templates("fntbl37"), max_rules=200, min_gain=2)
    rules = learner.learn(tables, initial, gold)      [Rule("O", "B-AGE", ...), ...], the first one first

At every wrongly tagged token each template proposes the rule that would correct it. The rule with the highest gain over
the whole corpus (tokens corrected minus tokens broken) is taken, applied to all tokens at once, and so on. Of rules with
the same gain the one is taken whose template stands first; then by the tag before, the tag after and the values, in the
order of their Python literals. This is the order of NLTK's deterministic trainer, whose rules are learned exactly.

Incremental: after a rule, the counts of candidate rules change only where a token changed, or has a changed token in
sight of a template that looks at tags (Ngai and Florian 2001).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.errors import SettingsError, TrainingError
from features.table import FeatureTable
from tbed.atoms import TAG, Atom
from tbed.encoding import Encoding
from tbed.grid import Condition, Ids, TokenGrid
from tbed.rule_table import RuleTable
from tbed.rules import EDGE, Example, Rule
from tbed.slots import Keys, Numbers
from tbed.tagger import TagSequences, flat_tags
from tbed.templates import Template

__all__ = ["Learner"]

_LOG = logging.getLogger("phistack")


@dataclass(frozen=True)
class Learner:
    """How to learn rules.

    :param templates: the conditions that rules may have.
    :param max_rules: learn no more rules than this.
    :param min_gain: stop when the best rule gains less; at least 1.
    :param edges: whether rules may ask for what lies beyond the sentence; NLTK's cannot.
    :param patience: with held-out notes, stop when so many rules in a row brought no new lowest number of errors there.
    :raises SettingsError: for settings that cannot work.
    """

    templates: tuple[Template, ...]
    max_rules: int = 200
    min_gain: int = 2
    edges: bool = True
    within: str = "sentence"
    patience: int = 40

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(self.templates))
        if not self.templates:
            raise SettingsError("the rule learner needs at least one template")
        for name, least in (("max_rules", 0), ("min_gain", 1), ("patience", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"{name} of the rule learner must be at least {least}")

    def learn(self, tables: Sequence[FeatureTable], initial: TagSequences, gold: TagSequences) -> list[Rule]:
        """Learn rules that turn the initial tags into the gold tags.

        :param tables: the notes.
        :param initial: for each note one tag a token.
        :param gold: of the same shape.
        :raises SettingsError: for a template that names a column that the tables do not have.
        :raises TrainingError: if the tags are not one a token, or there are no notes.
        """
        if not tables:
            raise TrainingError("the rule learner needs at least one annotated note")
        training = _Training(self, tables, initial, gold)
        rules: list[Rule] = []
        if not training.n_errors:
            _LOG.info("tbed: the initial tags have no errors, so there is no rule to learn")
        while len(rules) < self.max_rules and (rule := training.next_rule()) is not None:
            rules.append(rule)
            if len(rules) % 50 == 0:
                _LOG.info("tbed: rule %d, gain %d, %d errors left", len(rules), rule.gain, training.n_errors)
        return rules


class _Training:
    """The state of one run: current tags, and the table of candidate rules that fits them."""

    def __init__(
        self, settings: Learner, tables: Sequence[FeatureTable], initial: TagSequences, gold: TagSequences
    ) -> None:
        self.settings, self.tables = settings, tables
        templates = settings.templates
        columns = frozenset().union(*(template.columns for template in templates))
        self.grid = TokenGrid.of(tables, sorted(columns), max(template.reach for template in templates), within=settings.within)
        self._ends = np.cumsum(self.grid.lengths)
        ids: dict[str, int] = {}
        starting, wanted = flat_tags(tables, initial, ids), flat_tags(tables, gold, ids)
        self.tag_names = list(ids)
        edge = len(ids)
        self.tags, self.gold = self.grid.laid_out(starting, edge), self.grid.laid_out(wanted, edge)
        self.encoding = Encoding(self.grid, templates, self.tags, edge, edges=settings.edges)
        self.table = RuleTable(self.encoding.target_codes)
        looks_at_tags = np.array([any(atom.column == TAG for atom in t.atoms) for t in templates])
        self._looking = looks_at_tags[self.encoding.views.template]
        self._looking_views = self.encoding.views.part(self._looking)
        self._looking_numbers = np.flatnonzero(self._looking)
        sights = [offset for t in templates for atom in t.atoms if atom.column == TAG for offset in atom.offsets]
        self._sights = np.array(sorted({-offset for offset in sights} - {0}), dtype=np.int64)
        self._enter_errors()
        self._count_all_bad()

    @property
    def n_errors(self) -> int:
        """The number of tokens whose tag is wrong now."""
        return int((self.tags != self.gold).sum())

    def next_rule(self) -> Rule | None:
        """Choose the best rule, apply it and bring the table up to date; `None` when no rule gains enough."""
        while True:
            best = int(self.table.score.max(initial=0))
            if best < self.settings.min_gain:
                return None
            equals = np.flatnonzero(self.table.score == best)
            unknown = equals[~self.table.known[self.table.context[equals]]]
            if len(unknown):
                self._count_bad_of(unknown)
                continue
            chosen = self._first_of(equals)
            conditions, before = self._conditions(chosen)
            after = int(self.table.target[chosen])
            places = self.grid.where(conditions, self.tags, before)
            good, bad = int((self.gold[places] == after).sum()), int((self.gold[places] == before).sum())
            if good - bad != best:  # two contexts share a key
                self.table.correct(chosen, good, bad)
                continue
            rule = self._rule(conditions, before, after, places, bad)
            self._apply(places, after)
            return rule

    def _enter_errors(self) -> None:
        """Enter the rules that would correct a token that is wrong now."""
        wrong = np.flatnonzero(self.tags != self.gold)
        views = self.encoding.views
        for template in range(len(self.settings.templates)):
            chosen = views.template == template
            keys, counts = self.encoding.keys_at(wrong, views.part(chosen))
            self._add_good(keys, counts, wrong, np.flatnonzero(chosen))

    def _add_good(self, keys: Keys, counts: NDArray[np.bool_], places: Numbers, view_numbers: Numbers) -> None:
        """Rules that would correct these wrong tokens have one good token more; new ones are entered."""
        row, column = np.nonzero(counts)
        targets = self.gold[places[row]].astype(np.int64)
        rules, source = self.table.add(keys[row, column], targets)
        new = slice(len(self.table) - len(source), len(self.table))
        self.table.place[new] = places[row[source]]
        self.table.view[new] = view_numbers[column[source]]
        self.table.packed[new] = self.encoding.packed_tags(places[row[source]], view_numbers[column[source]])
        self.table.count_good(rules, 1)

    def _count_all_bad(self) -> None:
        """Count what the rules break that have good tokens enough, in one pass over the corpus."""
        promising = np.flatnonzero(self.table.good[: len(self.table)] >= self.settings.min_gain)
        contexts = np.unique(self.table.context[promising]).astype(np.int64)
        keys = self.table.contexts.keys[contexts]
        bits = max(10, min(26, (16 * len(keys)).bit_length()))
        shift = np.uint64(64 - bits)
        wanted = np.zeros(1 << bits, dtype=np.bool_)
        wanted[keys >> shift] = True
        counts = np.zeros(len(self.table.contexts), dtype=np.int64)
        for seen in self.encoding.all_keys((self.tags == self.gold) & (self.grid.before >= 0)):
            found = self.table.contexts.find(seen[wanted[seen >> shift]])
            np.add.at(counts, found[found >= 0], 1)
        self.table.known[contexts] = True
        self.table.count_bad(contexts, counts[contexts].astype(np.int32))

    def _count_bad_of(self, rules: Numbers) -> None:
        """Count what some rules break, each by itself."""
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

    def _first_of(self, rules: Numbers) -> int:
        """Which of equally good rules comes first: by template, then by tag before, tag after, and values."""
        templates = self.encoding.views.template[self.table.view[rules]]
        rules = rules[templates == templates.min()]
        rules = rules[self._smallest(self.table.packed[rules] % (len(self.tag_names) + 1))]
        rules = rules[self._smallest(self.table.target[rules])]
        return min(rules.tolist(), key=self._literals) if len(rules) > 1 else int(rules[0])

    def _smallest(self, tags: NDArray[np.integer]) -> NDArray[np.bool_]:
        first = min(np.unique(tags).tolist(), key=lambda tag: repr(self.tag_names[tag]))
        return tags == first

    def _literals(self, rule: int) -> list[str]:
        return [repr(self._value(column, value)) for column, _, value in self._conditions(rule)[0]]

    def _value(self, column: str, value: int) -> str | None:
        if column == TAG:
            return self.tag_names[value] if value < len(self.tag_names) else EDGE
        return self.tables[0].space.values(column)[value] if value < self.grid.edges[column] else EDGE

    def _rule(self, conditions: Sequence[Condition], before: int, after: int, places: Numbers, bad: int) -> Rule:
        good = places[self.gold[places] == after]
        token = int(np.searchsorted(self.grid.places, good[0]))
        return Rule(
            self.tag_names[before],
            self.tag_names[after],
            tuple((Atom(c, o[0], o[-1]), self._value(c, value)) for c, o, value in conditions),
            len(good) - bad,
            bad,
            self._example(token),
        )

    def _example(self, token: int) -> Example:
        note = int(np.searchsorted(self._ends, token, side="right"))
        table = self.tables[note]
        return table.document.id, int(table.offsets[0][token - int(self._ends[note]) + len(table)])

    def _apply(self, places: Numbers, after: int) -> None:
        """Change the tags of some places, and the counts of all rules that see them."""
        near = np.unique((places[:, None] + self._sights).ravel())
        near = np.setdiff1d(near[self.grid.before[near] >= 0], places, assume_unique=True)
        at_places, at_near = (places, self.encoding.views), (near, self._looking_views)
        right = self.tags[places] == self.gold[places]
        right_near = self.tags[near] == self.gold[near]
        old, counted = self.encoding.keys_at(*at_places)
        old_near, counted_near = self.encoding.keys_at(*at_near)
        self.encoding.retag(places, after)
        new, counts = self.encoding.keys_at(*at_places)
        new_near, counts_near = self.encoding.keys_at(*at_near)
        moved = (old_near != new_near) | (counted_near != counts_near)
        counted_near &= moved
        counts_near &= moved
        right_now = self.gold[places] == after

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

    def _remove_good(self, keys: Keys, counts: NDArray[np.bool_], places: Numbers) -> None:
        row, column = np.nonzero(counts)
        self.table.count_good(self.table.find(keys[row, column], self.gold[places[row]].astype(np.int64)), -1)

    def _change_bad(self, changes: Sequence[tuple[Keys, int]]) -> None:
        keys = np.concatenate([keys for keys, _ in changes])
        contexts = self.table.contexts.find(keys)
        steps = np.repeat([step for _, step in changes], [len(keys) for keys, _ in changes])
        tracked = contexts >= 0
        tracked[tracked] = self.table.known[contexts[tracked]]
        unique, which = np.unique(contexts[tracked], return_inverse=True)
        sums = np.bincount(which, weights=steps[tracked], minlength=len(unique)).astype(np.int32)
        self.table.count_bad(unique[sums != 0], sums[sums != 0])
