"""Trains the submodels and stacks in a paper's tables; also the baselines that any engine must beat.

    plan = PaperPlan.of(published("zhao2020"), settings, PaperOptions())
    run = plan.run(training, test, jobs=2, cache=Path("folds"))
    run.answers["crf",], run.answers["tbed", "crf", "blstm"]     a submodel alone, and a stack

    found = entity_baselines(training, test)
    found["most frequent"]      the test notes with the PHI of training, each under its usual label
    found["unambiguous"]        only what always had the same label

Submodels propose once for all tables: fold by fold for the training notes, if a row needs that, and for the test notes
after training on all the others. Adams et al. (2019, table 4) compare their models with the two baselines; the second
is that of the CoNLL task of 2003 (Tjong Kim Sang and De Meulder 2003). Phrases are matched as written, the longest
first.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phistack.ensemble.experiments.parts import Answers, alone_answers, stack_answers
from phistack.ensemble.papers.options import PaperOptions
from phistack.ensemble.papers.run import Members, PaperRun, is_missing
from phistack.ensemble.stacking.merged_rules import MERGED_RULES, MergedRules
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.svm import KernelSettings, SvmSettings
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.training.fit_tasks import FitTask
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import Proposed, propose
from phistack.features.documents import Corpus, Span
from phistack.features.errors import SettingsError, TrainingError, no_such
from phistack.features.labels import most_frequent
from phistack.features.saved_files import SavedFiles
from phistack.features.text_words import Phrases
from phistack.features.writing import write_new
from phistack.submodels.base import KIND, kind_of
from phistack.tbed.rules import parse_rules

STACKING = 0.1
"""The time that the stacks take, relative to the training."""
_BASELINE = " baseline"
"""Ends the name of a row that is a baseline and not submodels; see `entity_baselines`."""
_SEARCHED = tuple(
    KernelSettings(gamma, right, wrong)
    for gamma in (0.001, 0.003, 0.009, 0.027)
    for right in (1.3, 5.2, 20.8)
    for wrong in (3.12, 12.48, 49.92)
)
"""Values of gamma and both penalties of the RBF SVM for ten-fold cross-validation, around those of Zhao 2020."""


@dataclass(frozen=True, slots=True)
class PaperPlan:
    """What to train for a paper's tables.

    :param declared: the tables of the paper, as its file in `published` has them.
    :param settings: of the submodels to train: those of the system, and those that only the tables need.
    """

    declared: Mapping[str, Any] = field(repr=False)
    settings: EngineSettings
    options: PaperOptions

    @classmethod
    def of(cls, declared: Mapping[str, Any], settings: EngineSettings, options: PaperOptions) -> PaperPlan:
        """The plan for settings with the submodels of the system.

        :raises SettingsError: if they lack a submodel that the tables or options name, or the stacker to search.
        """
        members, further = tuple(declared["members"]), declared.get("further", {})
        for name in filter(None, (*members, options.only_right)):
            if name not in settings.submodels:
                raise SettingsError(no_such("submodel of these settings", name, settings.submodels))
        own = settings.only(members)
        beside = {name: _like(own, given) for name, given in further.items() if not is_missing(given)}
        if options.search_svm:
            if own.stacker.alone:
                raise SettingsError("this paper has no stacker, so there is nothing that --search-svm could search")
            own = replace(own, stacker=replace(own.stacker, folds=10))
        return cls(declared, replace(own, submodels={**own.submodels, **beside}), options)

    @property
    def members(self) -> Members:
        """The submodels of the system."""
        return tuple(self.declared["members"])

    @property
    def system(self) -> Members:
        """What the paper recommends: all members under a stacker, or one of them."""
        return tuple(self.declared.get("system", self.members))

    @property
    def rows(self) -> list[Members]:
        """All that a table has figures for, and each submodel of the system; without programs not installed."""
        tables = self.declared["tables"]
        whole = (
            [self.system] if self.options.annotated or any(table.get("kind") == "places" for table in tables) else []
        )
        named = [row for table in tables for row in _rows_of(table)]
        found = dict.fromkeys([*whole, *((name,) for name in self.members), *named])
        known = {*self.settings.submodels, MERGED_RULES}
        return [row for row in found if _is_baseline(row) or known.issuperset(row)]

    @property
    def stacks(self) -> bool:
        """Whether any row is a stack, which learns from what submodels propose out of fold."""
        return any(len(row) > 1 for row in self.rows)

    @property
    def has_folds(self) -> bool:
        """Whether a table has means over folds."""
        return any(table.get("basis") == "folds" for table in self.declared["tables"])

    def run(
        self, training: Corpus, test: Corpus, *, added: Corpus | None = None, jobs: int, cache: Path | None
    ) -> PaperRun:
        """Train all rows of the tables on one corpus, and let them annotate another.

        :param added: a further corpus to learn from.
        """
        proposed = propose(
            training, self.settings, unseen=test.documents, out_of_fold=self.stacks or self.has_folds,
            added=added.documents if added else (), jobs=jobs, cache=cache,
        )  # fmt: skip
        answers, svm = self._answers(proposed)
        baselines = [row for row in self.rows if _is_baseline(row)]
        found = entity_baselines(training, test) if baselines else {}
        answers |= {row: [d.spans for d in found[row[0].removesuffix(_BASELINE)].documents] for row in baselines}
        alone = [(name,) for name in self.members] if self.has_folds else []
        counted = [row["rules"] for t in self.declared["tables"] for row in t.get("rows", ()) if "rules" in row]
        labelled = self.settings.for_label_set(training.label_set.name)
        return PaperRun(
            training, test, self.settings, answers,
            {row: alone_answers(replace(proposed, unseen=()), row[0]) for row in alone},
            self.members, svm,
            {} if added else {name: _n_rules(proposed, labelled, name, cache) for name in counted},
            proposed.warnings["spans off the token grid"],
            added,
        )  # fmt: skip

    def _answers(self, proposed: Proposed) -> tuple[dict[Members, Answers], SvmSettings | None]:
        """What each row marks in the test notes, and the settings of the SVM over all members.

        Rules that are merged after a stack are used only in rows that name them.
        """
        answers: dict[Members, Answers] = {}
        settings, views = self.settings.stacker, [table.view for table in proposed.unseen]
        plain = replace(settings, rule_labels=(), rules_file="")
        kernels: Sequence[SvmSettings] = _SEARCHED if self.options.search_svm else ()
        chosen: SvmSettings | None = None
        # The widest row comes first: the others use the SVM that it chose, as the subsets of an engine do.
        wanted = sorted((row for row in self.rows if not _is_baseline(row)), key=len, reverse=True)
        with progress("stacking", total=len(wanted), weight=STACKING) as advance:
            for row in wanted:
                learned = tuple(name for name in row if name != MERGED_RULES)
                if not learned:
                    rules = MergedRules.of(settings.rule_labels, settings.rules_file, self.settings.features.language)
                    found = rules.merged(proposed.unseen, [()] * len(proposed.unseen))
                    notes = zip(found, views, strict=True)
                    answers[row] = [[decision.in_note(view).span for decision in note] for note, view in notes]
                elif len(row) == 1:
                    answers[row] = alone_answers(proposed, row[0])
                else:
                    stacker = Stacker(plain if row == learned else settings)
                    answers[row] = stack_answers(proposed, learned, stacker, seed=self.settings.seed, kernels=kernels)
                    chosen = chosen or getattr(stacker, "kernel_", None)
                    kernels = (chosen,) if self.options.search_svm and chosen else kernels
                advance(" and ".join(row))
        return answers, chosen


def _n_rules(proposed: Proposed, settings: EngineSettings, name: str, cache: Path | None) -> int:
    """How many rules TBED learns from all training notes; it learns them again unless a cache has the number."""
    task = FitTask(name, settings.submodels[name], "all", proposed.tables, (), (), settings.seed)
    kept = cache / f"rules-{task.key()}.json" if cache else None
    if kept and kept.exists():
        return int(json.loads(kept.read_text(encoding="utf-8")))
    saved = task.run()
    assert isinstance(saved, SavedFiles), "a task without held-out notes keeps its model"
    n_rules = len(parse_rules(saved.text("rules.txt")).rules)
    if kept:
        write_new(kept, json.dumps(n_rules))
    return n_rules


def _rows_of(table: Mapping[str, Any]) -> list[Members]:
    """The submodels of each system that a table has figures for."""
    given = [table, *table.get("rows", ()), *table.get("columns", ())]
    named = [part[key] for part in given for key in ("ours", "of", "less") if key in part]
    return list(map(tuple, [*named, *table.get("methods", {}).values()]))


def _like(settings: EngineSettings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a submodel of another kind, or those of one in the system, with the given changes."""
    if "like" not in given:
        return dict(given)
    like = given["like"]
    own = settings.submodels[like]
    return {**own, KIND: kind_of(like, own), **{name: value for name, value in given.items() if name != "like"}}


def _is_baseline(row: Members) -> bool:
    return row[0].endswith(_BASELINE)


def entity_baselines(training: Corpus, test: Corpus) -> dict[str, Corpus]:
    """The test notes as each of the baselines annotates them.

    :param training: annotated notes.
    :param test: other notes; their own spans are ignored.
    :raises TrainingError: if the training notes have no PHI.
    """
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for note in training.documents:
        for span in note.spans:
            labels[note.text[span.start : span.end]][span.label] += 1
    if not labels:
        raise TrainingError("the training notes have no annotated PHI, so there is nothing to find again")
    unambiguous = {entity: had for entity, had in labels.items() if len(had) == 1}
    return {"unambiguous": _annotated(test, unambiguous), "most frequent": _annotated(test, labels)}


def _annotated(test: Corpus, labels: Mapping[str, Counter[str]]) -> Corpus:
    phrases = Phrases({entity: most_frequent(had) for entity, had in labels.items()})
    return test.with_spans([[Span(*found) for found in phrases.find(note.text)] for note in test.documents])
