"""The submodels and stacks that the tables of a paper have rows of, trained and scored.

    plan = PaperPlan.of(published("zhao2020"), settings, only_right="tbed", text=False, whole=False)
    run = plan.run(training, test, jobs=2, cache=Path("folds"))
    run.scores["crf",], run.answers["tbed", "crf", "blstm"]     a submodel alone, and a stack

Submodels propose once for all tables: fold by fold for the training notes, where a row needs that, and for the test
notes after training on all of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.experiments.parts import Answers, alone_answers, stack_answers, systems_of
from phistack.ensemble.papers.entity_baselines import entity_baselines
from phistack.ensemble.papers.tables import OF_PLACES, Members, PaperRun
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.merged_rules import MERGED_RULES, MergedRules
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.training.proposals import Proposed, propose
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError
from phistack.features.suggestions import no_such
from phistack.submodels.base import KIND, kind_of

STACKING = 0.1
"""What the stacks take of the time of a run, beside its training."""
_BASELINE = " baseline"
"""At the end of the name of a row that is none of submodels; see `ensemble.experiments.entity_baselines`."""


@dataclass(frozen=True, slots=True)
class PaperPlan:
    """What a paper's tables need.

    :param declared: the tables of the paper, as its file in `papers/` has them.
    :param settings: of the submodels that are trained: its system's, and those that only tables have.
    :param only_right: the submodel of the table of cases.
    :param text: whether that table shows the text of the notes.
    :param whole: whether what the whole system marks is wanted, even if no table has it.
    """

    declared: Mapping[str, Any] = field(repr=False)
    settings: EngineSettings
    only_right: str
    text: bool
    whole: bool

    @classmethod
    def of(
        cls, declared: Mapping[str, Any], settings: EngineSettings, *, only_right: str, text: bool, whole: bool
    ) -> PaperPlan:
        """For settings with the submodels of the system.

        :raises SettingsError: if they lack one that the tables have.
        """
        members = tuple(declared["members"])
        has_cases = any(table["kind"] == "cases" for table in declared["tables"])
        for name in (*members, only_right) if has_cases else members:
            if name not in settings.submodels:
                raise SettingsError(no_such("submodel of these settings", name, settings.submodels))
        own = settings.only(members)
        further = {name: _like(own, given) for name, given in declared.get("further", {}).items()}
        return cls(declared, replace(own, submodels={**own.submodels, **further}), only_right, text, whole)

    @property
    def members(self) -> Members:
        """The submodels of the whole system."""
        return tuple(self.declared["members"])

    @property
    def rows(self) -> list[Members]:
        """All that a table has figures of, and each submodel of the system."""
        tables = self.declared["tables"]
        whole = [self.members] if self.whole or any(table["kind"] in OF_PLACES for table in tables) else []
        named = [row for table in tables for row in _rows_of(table)]
        return list(dict.fromkeys([*whole, *((name,) for name in self.members), *named]))

    @property
    def stacks(self) -> bool:
        """Whether a row is of a stack, which learns from what submodels propose out of fold."""
        return any(len(row) > 1 for row in self.rows)

    @property
    def fold_rows(self) -> list[Members]:
        """All that a table has means over folds of."""
        return [row for table in self.declared["tables"] if table["kind"] == "fold-means" for row in _rows_of(table)]

    def run(
        self, training: Corpus, test: Corpus, *, added: Corpus | None = None, jobs: int, cache: Path | None
    ) -> PaperRun:
        """Train on one corpus, and score on another, all that the tables have rows of.

        :param added: a further corpus to learn from.
        """
        settings = self.settings
        more = added.documents if added else ()
        proposed = propose(
            training, settings, unseen=test.documents, out_of_fold=self.stacks or bool(self.fold_rows), added=more,
            jobs=jobs, cache=cache,
        )  # fmt: skip
        answers = _answers(proposed, [row for row in self.rows if not _is_baseline(row)], settings)
        answers |= _baselines([row for row in self.rows if _is_baseline(row)], training, test)
        systems = _systems(test, answers, training, settings)
        return PaperRun(
            training, test, answers, {row: systems.scores["+".join(row)] for row in self.rows},
            self.members, self.only_right, self.text, systems,
            fold_means=_fold_means(proposed, self.fold_rows, training, settings),
            off_tokens=proposed.warnings["spans off the token grid"],
            added=added,
        )  # fmt: skip


def _rows_of(table: Mapping[str, Any]) -> list[Members]:
    """The submodels of all that a table has figures of."""
    named = [row["ours"] for row in table.get("rows", ()) if "ours" in row]
    return list(map(tuple, [*named, *([table["ours"]] if "ours" in table else []), *table.get("methods", {}).values()]))


def _like(settings: EngineSettings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a submodel of another kind, or like another of the system, but for what is given."""
    if "like" not in given:
        return dict(given)
    like = given["like"]
    own = settings.submodels[like]
    return {**own, KIND: kind_of(like, own), **{name: value for name, value in given.items() if name != "like"}}


def _systems(gold: Corpus, answers: Mapping[Members, Answers], training: Corpus, settings: EngineSettings) -> Systems:
    named = {"+".join(row): spans for row, spans in answers.items()}
    return systems_of(gold, named, training.label_set, criterion_named("strict"), seed=settings.seed)


def _fold_means(
    proposed: Proposed, rows: Sequence[Members], training: Corpus, settings: EngineSettings
) -> dict[Members, Macro]:
    """The measures of submodels over the folds of the training notes, each fold scored by itself."""
    if not rows:
        return {}
    out_of_fold = replace(proposed, unseen=())
    answers = {row: alone_answers(out_of_fold, row[0]) for row in rows}
    folds = at_most_folds(settings.grouped(training).documents, n_folds=settings.folds, seed=settings.seed)
    scores = _systems(training, answers, training, settings).scores
    return {row: scores["+".join(row)].over_folds(folds) for row in rows}


def _is_baseline(row: Members) -> bool:
    return row[0].endswith(_BASELINE)


def _baselines(wanted: Sequence[Members], training: Corpus, test: Corpus) -> dict[Members, Answers]:
    """What the baselines mark, where there are any among the rows."""
    found = entity_baselines(training, test) if wanted else {}
    return {row: [note.spans for note in found[row[0].removesuffix(_BASELINE)].documents] for row in wanted}


def _answers(proposed: Proposed, wanted: Sequence[Members], settings: EngineSettings) -> dict[Members, Answers]:
    answers: dict[Members, Answers] = {}
    with progress("stacking", total=len(wanted), weight=STACKING) as advance:
        for row in wanted:
            answers[row] = _marked(proposed, row, settings)
            advance(" and ".join(row))
    return answers


def _marked(proposed: Proposed, row: Members, settings: EngineSettings) -> Answers:
    """What a submodel alone marks, or a stack of several; with the rules that are merged after it only where named."""
    learned, stacker = tuple(name for name in row if name != MERGED_RULES), settings.stacker
    if not learned:
        rules = MergedRules.of(stacker.rule_labels, stacker.rules_file, settings.features.language)
        views = [table.view for table in proposed.unseen]
        return list(map(chosen_spans, rules.find(proposed.unseen), views))
    if row == learned:
        stacker = replace(stacker, rule_labels=(), rules_file="")
    if len(row) == 1:
        return alone_answers(proposed, row[0])
    return stack_answers(proposed, learned, stacker, seed=settings.seed)
