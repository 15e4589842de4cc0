"""Learning rules from errors (Brill 1995), applying them, and counting what each corrects and breaks.

    settings = LearnerSettings(named_templates("fntbl37"), max_rules=200, min_gain=2)
    learned = learn(Notes(tables, initial, gold), settings)
    learned.rules                        [Rule("O", "B-AGE", ...), ...], in order of application
    tagged = Tagger(learned.rules).tag(tables, initial)
    tagged[0].tags                       ["O", "B-DOCTOR", ...]
    tagged[0].changed_by                 [0, 12, ...]: the number of the rule that changed the tag last, 0 for none
    score_rules(rules, notes)[0].gain    tokens corrected minus tokens broken by this rule, in these notes

At every wrongly tagged token each template proposes the rule that would correct it. The rule with the highest gain over
the whole corpus (tokens corrected minus tokens broken) is applied to all tokens at once, so it never sees its own
changes, and so on. Ties go to the first template, then by the tag before, the tag after and the values, in the order of
their Python literals. This is the order of NLTK's deterministic trainer; its rules are learned exactly. Rules are
numbered from 1, those that are off included.

After a rule, the counts of candidate rules change only where a token changed, or has a changed token in range of a
template that reads tags (Ngai and Florian 2001). NLTK's trainer counts token by token, in sets of Python objects;
`docs/tbed.md` has the times of both.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.arrays import Integers, Integers32
from phistack.features.columns.table import FeatureTable
from phistack.features.errors import TrainingError
from phistack.features.reporting import report
from phistack.tbed.grid import Condition, Notes, TagSequences, TokenGrid, flat_tags
from phistack.tbed.rules import EDGE, Rule
from phistack.tbed.search import LearnerSettings, RuleSearch, Tagging
from phistack.tbed.templates import TAG

_LOG = logging.getLogger("phistack")
_PATIENCE = 50
"""After so many rules without a new minimum of errors in held-out notes learning stops."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The rules, in order of application.

    :param errors: wrong tokens before the first rule and after each, of length `n_rules + 1`.
    :param held_out_errors: the same in the held-out notes, for the rules dropped at the end too.
    """

    rules: tuple[Rule, ...] = field(repr=False)
    errors: tuple[int, ...] = field(repr=False)
    held_out_errors: tuple[int, ...] = field(default=(), repr=False)


def learn(notes: Notes, settings: LearnerSettings, *, held_out: Notes | None = None) -> Learned:
    """Learn rules that turn the initial tags into the gold tags.

    :param held_out: notes of other patients; the rules after the one with the fewest errors there are dropped.
    :raises SettingsError: if a template names a column that the tables lack, or there is not one tag per token.
    :raises TrainingError: if there are no notes.
    """
    if not notes.tables:
        raise TrainingError("the rule learner needs at least one annotated note")
    ids: dict[str, int] = {}
    for part in (notes, held_out or notes):
        flat_tags(part.tables, part.initial, ids)
        flat_tags(part.tables, part.gold, ids)
    search = RuleSearch(settings, notes, ids)
    trial = Tagging(settings, held_out, ids) if held_out else None
    rules: list[Rule] = []
    errors, held_out_errors = [search.n_errors], [trial.n_errors] if trial else []
    if not errors[0]:
        _LOG.warning("tbed: the initial tags have no errors, so there is no rule to learn")
    while len(rules) < settings.max_rules and (found := search.best()) is not None:
        rules.append(search.apply(*found))
        errors.append(search.n_errors)
        report(None, f"{len(rules)} rules{' tried' if trial else ''}, {errors[-1]} of {errors[0]} errors left")
        if trial:
            held_out_errors.append(trial.apply_elsewhere(*found))
            if len(held_out_errors) - _best(held_out_errors) > _PATIENCE:
                break
        if len(rules) % 50 == 0:
            _LOG.info("tbed: %d rules, the last gained %d, %d errors left", len(rules), rules[-1].gain, errors[-1])
    n_kept = _best(held_out_errors) if trial else len(rules)
    return Learned(tuple(rules[:n_kept]), tuple(errors[: n_kept + 1]), tuple(held_out_errors))


def _best(errors: Sequence[int]) -> int:
    """The last index of the smallest number."""
    return len(errors) - 1 - int(np.argmin(errors[::-1]))


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
