"""The rule learner as a submodel: initial tags, corrected by rules learned from errors.

    tbed = TbedSubmodel().fit(tables)
    tbed.propose(tables)[0]    [Candidate(Span(12, 17, "DOCTOR"), "tbed", 0.93, True, "rule 12: O -> B-DOCTOR if ...")]

Brill 1995; as a submodel in Zhao 2020, where it starts from the tags of regular expressions. The learner is the package
`tbed`.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Span
from phistack.features.errors import BundleError, SettingsError, TrainingError
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.tags import OUTSIDE, decode, encode
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel, submodel_class
from phistack.submodels.regex.token_tagger import TokenTagger
from phistack.tbed.grid import STRETCHES, Notes
from phistack.tbed.rules import Rule, RuleFile, format_rules, parse_rules
from phistack.tbed.tagger import Tagged, Tagger
from phistack.tbed.templates import TEMPLATES, RuleTemplate, named_templates, read_templates, restricted

if TYPE_CHECKING:
    from phistack.tbed.search import LearnerSettings

_LOG = logging.getLogger("phistack")
_SETTINGS_FILE, _RULES_FILE, _REGEX_FOLDER = "settings.json", "rules.txt", "regex"
_PATTERNS_FILE = "token_patterns.toml"


STARTS = ("regex", "empty", "patterns")
"""The initial taggers: the regex submodel, all tokens outside, token patterns."""


class _TbedState(TypedDict):
    """The content of `settings.json`."""

    settings: dict[str, Any]
    tags: list[str]


@dataclass(kw_only=True, eq=False, repr=False)
class TbedSubmodel(Submodel):
    """Transformation-based error-driven learning.

    Learned by `fit`: `rules_` (a `RuleFile`), `tags_` (the tags of rules), and `regex_` or `patterns_` (the initial
    tagger, and `None` for the others).

    :param start: the initial tagger, one of `STARTS`.
    :param regex: settings of the regex submodel, with `start="regex"`.
    :param token_patterns: the name or path of a file of token patterns, with `start="patterns"`; see
        `submodels.regex.token_tagger`.
    :param label_set: of the labels of token patterns; may be empty.
    :param templates: the name of a template set, or the path of a template file; see `tbed.templates`. Templates with
        a column that the feature space lacks are dropped.
    :param max_rules: the most rules to learn; 0 for the initial tagger alone.
    :param min_gain: stop when the best rule gains less.
    :param min_groups: a rule must correct tokens of this many patients; see also `features.discretion`.
    :param within: which tokens are neighbours: those of a `sentence`, a `line` or a `note`.
    :param held_out: share of held-out patients, or 0. Rules are first learned from the others for as long as they help
        on the held-out patients; the gain of the last one is the least gain in learning from all notes.
    :raises SettingsError: if a setting cannot work.
    """

    kind: ClassVar[str] = "tbed.v1"
    cost: ClassVar[float] = 10.0
    discreet: ClassVar[bool] = True

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
        if self.within not in STRETCHES:
            raise SettingsError(f"TBED's setting within must be one of {', '.join(STRETCHES)}, not {self.within}")
        if not 0 <= self.held_out < 1:
            raise SettingsError(f"the share of patients held out for TBED must be in [0, 1), not {self.held_out}")

    @classmethod
    def adapted(cls, settings: Mapping[str, Any], **given: Any) -> Mapping[str, Any]:
        """See `Submodel.adapted`; for the patterns of the initial tagger."""
        if cls.holds(settings):
            return {**settings, "regex": submodel_class("regex").adapted(settings.get("regex", {}), **given)}
        return super().adapted(settings, **given) if settings.get("start") == "patterns" else settings

    @classmethod
    def holds(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The regex kind, if it is the initial tagger."""
        return ("regex",) if settings.get("start", STARTS[0]) == "regex" else ()

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn the initial tagger, then the rules that correct its errors.

        :param seed: for the choice of held-out patients.
        :raises TrainingError: if no note has PHI.
        :raises SettingsError: if the template file cannot be used.
        """
        from phistack.tbed.learner import learn
        from phistack.tbed.search import LearnerSettings

        gold = [table.tags() for table in tables]
        if all(tag == OUTSIDE for tags in gold for tag in tags):
            raise TrainingError(f"TBED needs PHI to learn from, and none of the {len(tables)} notes has any")
        discretion = tables[0].space.discretion_
        settings = LearnerSettings(
            self._templates(tables[0].space),
            max_rules=self.max_rules,
            min_gain=self.min_gain,
            min_groups=self.min_groups if discretion is None else max(self.min_groups, discretion.least),
            within=self.within,
        )
        self._fit_start(tables)
        initial, _ = self._initial(tables)
        self.tags_ = tuple(sorted({tag for tags in (*initial, *gold) for tag in tags}))
        notes = Notes(tables, initial, gold)
        if self.held_out:
            settings = replace(settings, min_gain=self._helpful_gain(settings, notes, seed))
        learned = learn(notes, settings)
        # An example names a note.
        rules = (replace(rule, example=None) for rule in learned.rules) if discretion else learned.rules
        self.rules_ = RuleFile(tuple(rules))
        _LOG.info("tbed: %d rules, %d of %d errors left", len(learned.rules), learned.errors[-1], learned.errors[0])
        return self

    def _helpful_gain(self, settings: LearnerSettings, notes: Notes, seed: int) -> int:
        """The gain of the last rule that helps on held-out patients."""
        from phistack.tbed.learner import learn

        groups = sorted({table.document.group for table in notes.tables})
        random.Random(seed).shuffle(groups)
        chosen = set(groups[: round(self.held_out * len(groups))])
        if not chosen or len(chosen) == len(groups):
            return self.min_gain
        is_chosen = [table.document.group in chosen for table in notes.tables]
        learned = learn(_part(notes, [not c for c in is_chosen]), settings, held_out=_part(notes, is_chosen))
        errors = learned.held_out_errors
        _LOG.info(
            "tbed: on %d held-out patients %d rules bring the errors from %d to %d",
            len(chosen), len(learned.rules), errors[0], errors[len(learned.rules)],
        )  # fmt: skip
        return learned.rules[-1].gain or self.min_gain if learned.rules else self.min_gain

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """The spans of the corrected tags; the evidence is the last rule that changed one of their tags."""
        initial, proposed = self._initial(tables)
        tagged = Tagger(self.rules_.rules, self.within).tag(tables, initial)
        return [self._candidates(*row) for row in zip(tables, tagged, proposed, strict=True)]

    def notes(self, tables: Sequence[FeatureTable]) -> Notes:
        """Annotated notes with their initial tags, for `tbed.tagger.score_rules`."""
        return Notes(tables, self._initial(tables)[0], [table.tags() for table in tables])

    def edited(self, text: str, *, name: str, space: FeatureSpace) -> Self:
        """The same submodel with the rules in the text of a file; :raises SettingsError: for a mistake in them.

        :param name: of the file, for error messages.
        """
        model = copy(self)
        model.rules_ = parse_rules(text, name=name, tags=self.tags_, columns=space.columns)
        return model

    def save(self, folder: Path) -> None:
        """Write `settings.json`, the rules as an editable `rules.txt`, and the initial tagger."""
        state = {"settings": self.settings(), "tags": self.tags_}
        write_json(folder / _SETTINGS_FILE, state)
        (folder / _RULES_FILE).write_text(format_rules(self.rules_), encoding="utf-8", newline="\n")
        if self.patterns_ is not None:
            (folder / _PATTERNS_FILE).write_text(self.patterns_.to_toml(), encoding="utf-8")
        if self.regex_ is not None:
            (folder / _REGEX_FOLDER).mkdir()
            self.regex_.save(folder / _REGEX_FOLDER)

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read the files of `save`; :raises BundleError: if they are damaged, with line and column for the rules."""
        state = files.json(_SETTINGS_FILE, _TbedState)
        text = files.text(_RULES_FILE)
        with damage_refused("the TBED submodel of the engine"):
            model = saved_submodel(cls, state["settings"])
            model.tags_ = tuple(state["tags"])
            model.regex_ = model.patterns_ = None
            if model.start == "patterns":
                model.patterns_ = TokenTagger.from_toml(files.text(_PATTERNS_FILE))
        try:
            model.rules_ = parse_rules(text, name=_RULES_FILE, tags=model.tags_, columns=space.columns)
        except SettingsError as error:
            raise BundleError(f"the rules of the engine cannot be read: {error}") from None
        if model.start == "regex":
            model.regex_ = submodel_class("regex").load(files.part(_REGEX_FOLDER), space)
        return model

    def _templates(self, space: FeatureSpace) -> tuple[RuleTemplate, ...]:
        """The templates whose columns the space has."""
        templates = named_templates(self.templates)
        if self.templates in TEMPLATES.names:
            templates += _of_further(space.further_columns(()))
        kept = restricted(templates, space.columns)
        if len(kept) < len(templates):
            _LOG.info("tbed: %d of %d templates are left out, as the features lack their columns",
                      len(templates) - len(kept), len(templates))  # fmt: skip
        return kept

    def _fit_start(self, tables: Sequence[FeatureTable]) -> None:
        self.regex_: Submodel | None = None
        self.patterns_: TokenTagger | None = None
        if self.start == "patterns":
            labels = {span.label for table in tables for span in table.document.spans}
            self.patterns_ = TokenTagger.of(self.token_patterns, self.label_set, labels)
        if self.start == "regex":
            self.regex_ = submodel_class("regex")(**self.regex).fit(tables)

    def _initial(self, tables: Sequence[FeatureTable]) -> tuple[list[list[str]], list[list[Candidate]]]:
        """The initial tags of each note, and what the regex submodel proposes if they are from it."""
        proposed = self.regex_.propose(tables) if self.regex_ is not None else [[] for _ in tables]
        if self.patterns_ is not None:
            return list(map(self.patterns_.tag, tables)), proposed
        chosen = ([candidate.span for candidate in candidates if candidate.chosen] for candidates in proposed)
        return [encode(spans, table.offsets) for spans, table in zip(chosen, tables, strict=True)], proposed

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
        """Score and evidence of a span, by the rules that changed its tags."""
        if rules := [self.rules_.rules[number - 1] for number in numbers]:
            return min(map(_precision, rules)), _evidence(numbers[-1], rules[-1])
        return (start.score, f"{start.source} {start.evidence}") if start else (1.0, f"initial tags ({self.start})")


def _of_further(columns: Sequence[str]) -> tuple[RuleTemplate, ...]:
    """Templates for columns of other packages, which the shipped sets do not name."""
    lines = ("{}[{{-1, 0, 1}}]", "{}[0] & lower[0]", "tag[{{-1, 1}}] & {}[0]")
    return read_templates("\n".join(line.format(name) for name in columns for line in lines))


def _part(notes: Notes, chosen: Sequence[bool]) -> Notes:
    return Notes(
        list(compress(notes.tables, chosen)), list(compress(notes.initial, chosen)), list(compress(notes.gold, chosen))
    )


@lru_cache(maxsize=4096)
def _evidence(number: int, rule: Rule) -> str:
    return f"rule {number}: {rule}"


def _precision(rule: Rule) -> float:
    """Precision of a rule in training, over the tokens that it corrected or broke (Laplace)."""
    if rule.gain is None:
        return 1.0
    return (rule.gain + rule.broken + 1) / (rule.gain + 2 * rule.broken + 2)
