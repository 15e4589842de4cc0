"""The rule learner as a submodel: initial tags, corrected by rules learned from errors.

    tbed = TbedSubmodel().fit(tables)
    tbed.propose(tables)[0]    [Candidate(Span(12, 17, "DOCTOR"), "tbed", 0.93, True, "rule 12: O -> B-DOCTOR if ...")]

Brill 1995; as a submodel in Zhao 2020, where it starts from the tags of regular expressions. The learner itself is the
package `tbed`; here it meets the other submodels.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from features.documents import Span
from features.errors import BundleError, SettingsError, TrainingError
from features.table import FeatureSpace, FeatureTable
from features.tags import OUTSIDE, decode, encode
from submodels.base import Candidate, Submodel, submodel_class
from tbed.initial import FrequentTags
from tbed.learner import Learner
from tbed.rules import Rule, RuleFile, format_rules, parse_rules
from tbed.tagger import Tagged, Tagger
from tbed.templates import Template, named_templates, read_templates, restricted, template_names

__all__ = ["STARTS", "TbedSubmodel"]

_LOG = logging.getLogger("phistack")
_SETTINGS_FILE, _RULES_FILE, _FREQUENT_FILE, _REGEX_FOLDER = "settings.json", "rules.txt", "frequent.json", "regex"

STARTS = ("regex", "frequent", "empty")
"""The initial taggers: the regex submodel, the most frequent tag of each word, all tokens outside."""


class TbedSubmodel:
    """Transformation-based error-driven learning.

    Learned by `fit`: `rules_` (a `RuleFile`), `tags_` (the tags that rules may name), `regex_` or `frequent_` (the
    initial tagger; `None` if it is another one).

    :param start: the initial tagger, one of `STARTS`.
    :param regex: settings of the regex submodel, with `start="regex"`.
    :param templates: a template set of phistack, or the path of a template file; see `tbed.templates`. Templates that
        name a column left out of the feature space are dropped.
    :param max_rules: learn no more rules than this.
    :param min_gain: stop when the best rule gains less.
    :raises SettingsError: if a setting cannot work.
    """

    kind: ClassVar[str] = "tbed.v1"
    name: ClassVar[str] = "tbed"

    def __init__(
        self,
        *,
        start: str = "regex",
        regex: Mapping[str, Any] | None = None,
        templates: str = "default",
        max_rules: int = 400,
        min_gain: int = 2,
    ) -> None:
        if start not in STARTS:
            raise SettingsError(f"TBED cannot start from {start}; choose from {', '.join(STARTS)}")
        self.start = start
        self.regex = dict(regex or {})
        self.templates = templates
        self.max_rules = max_rules
        self.min_gain = min_gain

    def settings(self) -> Mapping[str, Any]:
        """The constructor's arguments, JSON-ready."""
        names = ("start", "regex", "templates", "max_rules", "min_gain")
        return {name: getattr(self, name) for name in names}

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn the initial tagger, then the rules that correct its errors; `seed` changes nothing.

        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if the template file cannot be used.
        """
        gold = [table.tags() for table in tables]
        if all(tag == OUTSIDE for tags in gold for tag in tags):
            raise TrainingError(f"TBED needs PHI to learn from, and none of the {len(tables)} notes has any")
        learner = Learner(self._templates(tables[0].space), max_rules=self.max_rules, min_gain=self.min_gain)
        self._fit_start(tables, gold)
        initial = self._initial(tables)
        self.tags_ = tuple(sorted({tag for tags in (*initial, *gold) for tag in tags}))
        self.rules_ = RuleFile(tuple(learner.learn(tables, initial, gold)))
        _LOG.info("tbed: %d rules", len(self.rules_.rules))
        return self

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans that the corrected tags say, each with the rule that was the last to change one of its tags."""
        proposed = self._initial_candidates(tables)
        tagged = Tagger(self.rules_.rules).tag(tables, self._initial(tables, proposed))
        return [self._candidates(*row) for row in zip(tables, tagged, proposed, strict=True)]

    def save(self, folder: Path) -> None:
        """Write `settings.json`, the rules as `rules.txt`, which may be edited, and the initial tagger."""
        state = {"settings": self.settings(), "tags": self.tags_}
        (folder / _SETTINGS_FILE).write_text(json.dumps(state, indent=1, ensure_ascii=False), encoding="utf-8")
        (folder / _RULES_FILE).write_text(format_rules(self.rules_), encoding="utf-8", newline="\n")
        if self.frequent_ is not None:
            text = json.dumps(self.frequent_.to_dict(), ensure_ascii=False)
            (folder / _FREQUENT_FILE).write_text(text, encoding="utf-8")
        if self.regex_ is not None:
            (folder / _REGEX_FOLDER).mkdir()
            self.regex_.save(folder / _REGEX_FOLDER)

    @classmethod
    def load(cls, folder: Path, space: FeatureSpace) -> Self:
        """Read what `save` wrote.

        :raises BundleError: if it is not that; for a mistake in the rules the message has its line and column.
        """
        try:
            state = json.loads((folder / _SETTINGS_FILE).read_text(encoding="utf-8"))
            model = cls(**state["settings"])
            model.tags_ = tuple(map(str, state["tags"]))
            text = (folder / _RULES_FILE).read_text(encoding="utf-8")
            model.frequent_ = model.regex_ = None
            if model.start == "frequent":
                frequent = json.loads((folder / _FREQUENT_FILE).read_text(encoding="utf-8"))
                model.frequent_ = FrequentTags.from_dict(frequent)
        except (OSError, ValueError, KeyError, TypeError, SettingsError) as error:
            raise BundleError(f"the TBED submodel in {folder} cannot be read ({type(error).__name__})") from None
        try:
            model.rules_ = parse_rules(text, name=_RULES_FILE, tags=model.tags_, columns=space.columns)
        except SettingsError as error:
            raise BundleError(f"the rules in {folder} have a mistake: {error}") from None
        if model.start == "regex":
            model.regex_ = submodel_class("regex").load(folder / _REGEX_FOLDER, space)
        return model

    def _templates(self, space: FeatureSpace) -> tuple[Template, ...]:
        """The templates whose columns there are."""
        if self.templates in template_names():
            templates = named_templates(self.templates)
        else:
            try:
                text = Path(self.templates).read_text(encoding="utf-8")
            except (OSError, ValueError):
                raise SettingsError(
                    f"{self.templates} is neither a readable template file nor a set of phistack, which are "
                    f"{', '.join(template_names())}"
                ) from None
            templates = read_templates(text, self.templates)
        kept = restricted(templates, space.columns)
        if len(kept) < len(templates):
            _LOG.info("tbed: %d of %d templates are left out, as the features lack their columns",
                      len(templates) - len(kept), len(templates))  # fmt: skip
        return kept

    def _fit_start(self, tables: Sequence[FeatureTable], gold: Sequence[Sequence[str]]) -> None:
        self.frequent_ = FrequentTags.learn(tables, gold) if self.start == "frequent" else None
        self.regex_: Submodel | None = None
        if self.start == "regex":
            self.regex_ = submodel_class("regex")(**self.regex).fit(tables)

    def _initial_candidates(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """What the regex submodel proposes; nothing with another initial tagger."""
        return self.regex_.propose(tables) if self.regex_ is not None else [[] for _ in tables]

    def _initial(
        self, tables: Sequence[FeatureTable], proposed: Sequence[Sequence[Candidate]] | None = None
    ) -> list[list[str]]:
        """The initial tags of each note."""
        if self.frequent_ is not None:
            return self.frequent_.tag(tables)
        return [
            encode((candidate.span for candidate in candidates if candidate.chosen), table.offsets)
            for table, candidates in zip(tables, proposed or self._initial_candidates(tables), strict=True)
        ]

    def _candidates(self, table: FeatureTable, tagged: Tagged, proposed: Sequence[Candidate]) -> list[Candidate]:
        starts, ends = table.offsets
        of_start = {candidate.span: candidate for candidate in proposed}
        found = []
        for first, last, label in decode(tagged.tags):
            span = Span(int(starts[first]), int(ends[last - 1]), label)
            numbers = sorted({number for number in tagged.changed_by[first:last] if number})
            score, evidence = self._reasons(numbers, of_start.get(span))
            found.append(Candidate(span, self.name, score, True, evidence))
        return found

    def _reasons(self, numbers: Sequence[int], start: Candidate | None) -> tuple[float, str]:
        """How sure a span is, and why, by the rules that changed its tags."""
        rules = [self.rules_.rules[number - 1] for number in numbers]
        if rules:
            return min(map(_precision, rules)), f"rule {numbers[-1]}: {rules[-1]}"
        return (start.score, f"{start.source} {start.evidence}") if start else (1.0, f"initial tags ({self.start})")


def _precision(rule: Rule) -> float:
    """How often a rule was right in training when it changed a tag that was right, or made it so (Laplace)."""
    if rule.gain is None:
        return 1.0
    return (rule.gain + rule.broken + 1) / (rule.gain + 2 * rule.broken + 2)
