"""Rules for people: in words, with what they did in training, and with what they do on new notes.

    describe(rules)[0].sentence          'O becomes B-AGE where the lower after is "years" and ...'
    score_rules(rules, notes)[0].gain    tokens corrected minus tokens broken by this rule, in these notes

A reviewer reads the first table to see what was learned, and the second to drop the rules that do harm elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from phistack.tbed.notes import Notes, flat_tags
from phistack.tbed.rules import Example, Rule
from phistack.tbed.tagger import Application


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule for people.

    :param number: its place in the file, from 1.
    :param sentence: the rule in words.
    :param gain: tokens corrected minus tokens broken in training; `None` for a rule by hand.
    :param broken: tokens broken in training.
    :param example: document id and offset of a token that it corrected in training.
    :param off: whether the rule is switched off.
    """

    number: int
    sentence: str = field(repr=False)
    gain: int | None
    broken: int
    example: Example | None = field(repr=False)
    off: bool


@dataclass(frozen=True, slots=True)
class RuleScore:
    """What one rule did to tagged notes, after all rules before it.

    :param number: its place in the file, from 1.
    :param corrected: tokens that became right.
    :param broken: tokens that were right before.
    :param moved: tokens that were wrong and still are.
    """

    number: int
    corrected: int = 0
    broken: int = 0
    moved: int = 0

    @property
    def gain(self) -> int:
        """Tokens corrected minus tokens broken."""
        return self.corrected - self.broken


def describe(rules: Sequence[Rule]) -> list[RuleRow]:
    """One row for each rule, in order."""
    return [
        RuleRow(number, rule.sentence(), rule.gain, rule.broken, rule.example, rule.off)
        for number, rule in enumerate(rules, 1)
    ]


def score_rules(rules: Sequence[Rule], notes: Notes, *, within: str = "sentence") -> list[RuleScore]:
    """What each rule adds on annotated notes; rules that are off, or change nothing, count zero.

    :param notes: tables with initial and gold tags.
    :param within: which neighbours a token has, as in learning.
    :raises SettingsError: if a rule names a column that the tables do not have, or the tags are not one a token.
    """
    ids: dict[str, int] = {}
    gold_tags = flat_tags(notes.tables, notes.gold, ids)
    initial = flat_tags(notes.tables, notes.initial, ids)
    application = Application(rules, notes.tables, initial, ids, within)
    gold = application.grid.laid_out(gold_tags, len(ids))
    scores = [RuleScore(number) for number in range(1, len(rules) + 1)]
    for number, places, after in application:
        before = application.tags[places]
        corrected, broken = int((gold[places] == after).sum()), int((gold[places] == before).sum())
        scores[number - 1] = RuleScore(number, corrected, broken, len(places) - corrected - broken)
        application.tags[places] = after
    return scores
