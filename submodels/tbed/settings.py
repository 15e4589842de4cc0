"""The settings of the rule learner as a submodel.

TbedSettings(start="frequent", max_rules=200)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phistack.features.errors import SettingsError
from phistack.submodels.base import with_label_set

STARTS = ("regex", "frequent", "empty", "patterns")
"""The initial taggers: the regex submodel, the most frequent tag of each word, all tokens outside, token patterns."""


@dataclass(kw_only=True, eq=False, repr=False)
class TbedSettings:
    """From which tags TBED starts, and how it learns rules that correct them.

    :param start: the initial tagger, one of `STARTS`.
    :param regex: settings of the regex submodel, with `start="regex"`.
    :param token_patterns: a file of token patterns of phistack, or the path of one, with `start="patterns"`; see
        `submodels.regex.token_tagger`.
    :param label_set: of the notes, by which token patterns have their labels; empty for none with a name.
    :param templates: a template set of phistack, or the path of a template file; see `tbed.templates`. Templates that
        name a column left out of the feature space are dropped.
    :param max_rules: learn no more rules than this; with 0 it is the initial tagger alone.
    :param min_gain: stop when the best rule gains less.
    :param min_groups: a rule has to correct tokens of so many patients.
    :param within: which tokens are neighbours: those of a `sentence`, a `line` or a `note`.
    :param held_out: share of the patients on whom it is tried how far rules help; 0 learns up to `min_gain`. Rules are
        learned from the others until they stop to help; the gain of the last helpful rule is then the smallest that is
        accepted in learning from all notes.
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

    @classmethod
    def for_label_set(cls, settings: Mapping[str, Any], label_set: str) -> Mapping[str, Any]:
        """The arguments with the label set for the patterns that it starts from, if it does."""
        if settings.get("start") == "patterns":
            return with_label_set(settings, label_set)
        if not cls.holds(settings):
            return settings
        return {**settings, "regex": with_label_set(settings.get("regex", {}), label_set)}

    @classmethod
    def for_patterns(cls, settings: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """The arguments with a user's own patterns among those that it starts from, if it does."""
        if not cls.holds(settings):
            return settings
        return {**settings, "regex": {**settings.get("regex", {}), "patterns_file": path}}

    @classmethod
    def holds(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The regex kind, where it starts from patterns."""
        return ("regex",) if settings.get("start", STARTS[0]) == "regex" else ()
