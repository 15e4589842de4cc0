"""The settings of the rule learner: `LearnerSettings(named_templates("fntbl37"), max_rules=200, min_gain=2)`."""

from __future__ import annotations

from dataclasses import dataclass

from phistack.features.errors import SettingsError
from phistack.tbed.grid import STRETCHES
from phistack.tbed.templates import RuleTemplate

_LEAST = {"max_rules": 0, "min_gain": 1, "min_groups": 1, "patience": 1}


@dataclass(frozen=True)
class LearnerSettings:
    """How to learn rules.

    :param templates: of the conditions that rules may have.
    :param max_rules: the most rules to learn.
    :param min_gain: stop when the best rule gains less; at least 1.
    :param min_groups: a rule must correct tokens in the notes of this many patients, or of all if there are fewer.
    :param edges: whether conditions may match positions beyond the sentence; NLTK's cannot.
    :param within: which neighbours a token has: those of its `sentence`, `line` or `note`.
    :param patience: with held-out notes, stop after this many rules without a new minimum of errors there.
    :raises SettingsError: for settings that cannot work.
    """

    templates: tuple[RuleTemplate, ...]
    max_rules: int = 200
    min_gain: int = 2
    min_groups: int = 1
    edges: bool = True
    within: str = "sentence"
    patience: int = 50

    def __post_init__(self) -> None:
        if not self.templates:
            raise SettingsError("the rule learner needs at least one template")
        if self.within not in STRETCHES:
            raise SettingsError(f"tokens are neighbours within a {' or '.join(STRETCHES)}, not a {self.within}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise SettingsError(f"{name} of the rule learner must be at least {least}")
