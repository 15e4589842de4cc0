"""The settings of the rule learner as a submodel: `TbedSettings(start="frequent", max_rules=200)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phistack.features.errors import SettingsError

STARTS = ("regex", "frequent", "empty", "patterns")
"""The initial taggers: the regex submodel, the most frequent tag of each word, all tokens outside, token patterns."""


@dataclass(kw_only=True, eq=False, repr=False)
class TbedSettings:
    """The initial tagger of TBED, and how it learns rules.

    :param start: the initial tagger, one of `STARTS`.
    :param regex: settings of the regex submodel, with `start="regex"`.
    :param token_patterns: the name or path of a file of token patterns, with `start="patterns"`; see
        `submodels.regex.token_tagger`.
    :param label_set: of the labels of token patterns; may be empty.
    :param templates: the name of a template set, or the path of a template file; see `tbed.templates`. Templates with
        a column that the feature space lacks are dropped.
    :param max_rules: the most rules to learn; 0 for the initial tagger alone.
    :param min_gain: stop when the best rule gains less.
    :param min_groups: a rule must correct tokens of this many patients.
    :param within: which tokens are neighbours: those of a `sentence`, a `line` or a `note`.
    :param held_out: share of held-out patients, or 0. Rules are first learned from the others for as long as they help
        on the held-out patients; the gain of the last one is the least gain in learning from all notes.
    :raises SettingsError: if a setting cannot work.
    """

    start: str = "regex"
    regex: Mapping[str, Any] = field(default_factory=dict)
    token_patterns: str = "zhao2020"
    label_set: str = ""
    templates: str = "default"
    max_rules: int = 600
    min_gain: int = 2
    min_groups: int = 2
    within: str = "line"
    held_out: float = 0.2

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise SettingsError(f"TBED cannot start from {self.start}; choose from {', '.join(STARTS)}")
        if not 0 <= self.held_out < 1:
            raise SettingsError(f"the share of patients held out for TBED must be in [0, 1), not {self.held_out}")
