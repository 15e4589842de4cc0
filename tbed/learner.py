"""Learning rules from errors (Brill 1995).

    settings = LearnerSettings(named_templates("fntbl37"), max_rules=200, min_gain=2)
    learned = learn(Notes(tables, initial, gold), settings)
    learned.rules                        [Rule("O", "B-AGE", ...), ...], in order of application

At every wrongly tagged token each template proposes the rule that would correct it. The rule with the highest gain over
the whole corpus (tokens corrected minus tokens broken) is applied to all tokens at once, so it never sees its own
changes, and so on. Ties go to the first template, then by the tag before, the tag after and the values, in the order of
their Python literals. This is the order of NLTK's deterministic trainer; its rules are learned exactly.

After a rule, the counts of candidate rules change only where a token changed, or has a changed token in range of a
template that reads tags (Ngai and Florian 2001). NLTK's trainer counts token by token, in sets of Python objects;
`docs/tbed.md` has the times of both.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from phistack.features.errors import TrainingError
from phistack.features.reporting import report
from phistack.tbed.grid import Notes, flat_tags
from phistack.tbed.rules import Rule
from phistack.tbed.search import LearnerSettings, RuleSearch, Tagging

_LOG = logging.getLogger("phistack")
_PATIENCE = 50
"""Learning stops after this many rules without a new minimum of errors in held-out notes."""


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
