"""The stacking SVM: which of the submodels' candidates are PHI.

    stacker = Stacker(StackerSettings(beta=2.0))        recall counts twice as much as precision for the threshold
    stacker.fit(tables, pools, sources=names)           pools: candidates that every submodel proposed out of fold
    stacker.decide_all(tables, pools)                   a Decision for each candidate; accepted ones never overlap

A binary SVM judges each candidate from named features (Zhao 2020; Liu 2017; Kim and Riloff 2015): a linear one from
log-odds, unless the settings name another. Its margin is calibrated to a probability. The accepted set is the one
without overlap that has the largest sum of probabilities above the threshold. Of several kernel settings, grouped
cross-validation over the candidates chooses the one with the best strict F1.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NotRequired, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from phistack.ensemble.stacking.candidates import ByNote, Decided, Decision, Pools, Tables, decided, which_are_phi
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.merged_rules import MergedRules
from phistack.ensemble.stacking.meta_features import FEATURE_SETS, MetaFeatures, log_odds
from phistack.ensemble.stacking.repeats.classifier import RepeatClassifier
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.ensemble.stacking.surface_forms import SurfaceForms, SurfaceFormsState
from phistack.ensemble.stacking.svm import (
    KERNELS,
    KernelSettings,
    LinearSettings,
    LinearSVM,
    Svm,
    SvmSettings,
    fit_svm,
    machines_out_of_fold,
    margins_of,
    svm_from_arrays,
)
from phistack.ensemble.stacking.thresholds import (
    BALANCED,
    CHOICES,
    Curve,
    best_threshold,
    calibrated,
    calibration_curve,
    recall_choices,
)
from phistack.features.arrays import Floats
from phistack.features.documents import Span
from phistack.features.errors import BundleError, SettingsError, TrainingError, no_such
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json

_LOG = logging.getLogger("phistack")
_SUREST = 0.9999
_EVEN = 50
"""The number of gold mentions at which the machine counts as much as the submodels that learned from other notes."""
_CERTAIN = (50.0, 0.0)
"""The curve of a stacker of one submodel: only what that submodel chose is PHI."""


@dataclass(frozen=True, slots=True)
class StackerSettings:
    """How the stacker is trained.

    :param features: one of `ensemble.stacking.meta_features.FEATURE_SETS`.
    :param kernel: a name in `ensemble.stacking.svm.KERNELS`.
    :param folds: parts of its own cross-validation.
    :param weigh_forms: whether a surface form that is new for its label makes a candidate less probable; see
        `ensemble.stacking.surface_forms`.
    :param seek_again: whether to search for repeats of accepted mentions, in the note and in the patient's other notes.
    :param beta: weight of recall against precision where the threshold is chosen.
    :param rule_labels: labels that are not learned, because rules find them; see `ensemble.stacking.merged_rules`.
    :param structured_text: whether shipped patterns add to the stack what they find in structured text (HL7, JSON, XML,
        `key=value`, DICOM), and e-mail and IP addresses.
    :param rules_file: path of a user's patterns for these labels, added to the shipped ones.
    :param lean_on: the submodels that learned from other notes, such as an engine; `EngineSettings` fills it in. The
        fewer mentions the training notes have, the more the stacker believes them.
    :param alone: whether to accept the choices of the engine's only submodel as they are, without an SVM.
    """

    features: str = "log-odds"
    kernel: str = "linear"
    folds: int = 5
    weigh_forms: bool = True
    seek_again: bool = True
    beta: float = 1.0
    rule_labels: tuple[str, ...] = ()
    rules_file: str = ""
    structured_text: bool = True
    alone: bool = False
    lean_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule_labels", tuple(self.rule_labels))
        if self.rules_file and not self.rule_labels:
            raise SettingsError("rules_file has no effect without rule_labels; name the labels that its patterns find")
        if not 0.1 <= self.beta <= 10:
            raise SettingsError(f"the stacker's setting beta must lie between 0.1 and 10, not {self.beta}")
        if self.features not in FEATURE_SETS:
            raise SettingsError(no_such("set of stacker features", self.features, FEATURE_SETS))
        if self.kernel not in KERNELS:
            raise SettingsError(no_such("kernel setting", self.kernel, KERNELS))


class _StackerState(TypedDict):
    settings: StackerSettings
    sources: list[str]
    labels: list[str]
    language: str
    kernel: dict[str, float]
    curve: Curve
    threshold: float
    figures: dict[str, float]
    forms: NotRequired[SurfaceFormsState]
    trust: NotRequired[float]
    choices: NotRequired[dict[str, dict[str, float]]]


class Stacker:
    """Judges candidates and chooses among them.

    Learned by `fit`: `features_`, `svm_`, `kernel_` (the chosen settings), `calibration_` (its curve), `threshold_`,
    `choices_` (thresholds for more recall or precision; see `recalling`), `trust_` (the weight of the machine beside
    `lean_on`), `figures_` (strict F1 out of fold for each setting tried), `forms_`, `repeats_`, `rules_` (`None` where
    the settings leave them out). Not saved: `decided_` (the out-of-fold decisions on each training note as it was
    written, with repeats and rules), `out_of_fold_` (the spans accepted there), `folds_` and `machines_` (one for each
    fold, which never saw its patients).
    """

    def __init__(self, settings: StackerSettings | None = None) -> None:
        self.settings = settings or StackerSettings()
        self.repeats_: RepeatClassifier | None = None
        self.forms_: SurfaceForms | None = None
        self.rules_: MergedRules | None = None
        self.trust_ = 1.0
        self.choices_: Mapping[str, Mapping[str, float]] = {}

    @property
    def counts(self) -> WordCounts | None:
        """The words of the training notes; `None` where repeats are not searched for."""
        return None if self.repeats_ is None else self.repeats_.counts

    def fit(
        self,
        tables: Tables,
        pools: Pools,
        *,
        sources: tuple[str, ...],
        seed: int = 0,
        kernels: Sequence[SvmSettings] = (),
        counts: WordCounts | None = None,
    ) -> Stacker:
        """Learn from candidates that were proposed out of fold.

        :param pools: for each note, the pooled candidates of submodels that never saw its patient.
        :param kernels: to choose from; by default those of the settings.
        :param counts: of the notes' words, if they are already known.
        :raises TrainingError: if no submodel proposed anything.
        """
        if not any(pools):
            raise TrainingError("no submodel proposed any PHI out of fold, so the stacker has nothing to learn from")
        labels = tuple(sorted({span.label for table in tables for span in table.document.spans}))
        space = tables[0].space
        language = space.settings.language
        self.features_ = MetaFeatures(sources, labels, self.settings.features, language)
        if self.settings.rule_labels:
            self.rules_ = MergedRules.of(self.settings.rule_labels, self.settings.rules_file, language)
        rows = self.features_.matrices(tables, pools)
        gold = [set(table.document.spans) for table in tables]
        self.trust_ = sum(map(len, gold)) / (sum(map(len, gold)) + _EVEN)
        is_phi = which_are_phi(pools, gold)
        folds = at_most_folds([table.document for table in tables], n_folds=self.settings.folds, seed=seed + 1)
        extremes = self.features_.extremes(next(table for table in tables if len(table)))
        if self.settings.weigh_forms:
            wrong = [[c.span for c in pool if c.span not in g] for g, pool in zip(gold, pools, strict=True)]
            self.forms_ = SurfaceForms.of(tables, wrong, space.discretion_.least if space.discretion_ else 1)
        self.figures_: dict[str, float] = {}
        best = -1.0
        for kernel in () if self.settings.alone else kernels or KERNELS[self.settings.kernel]:
            machines = machines_out_of_fold(rows, is_phi, folds, kernel, extremes)
            margins = margins_of(machines, rows, folds)
            calibration = calibration_curve(np.concatenate(margins), np.concatenate(is_phi))
            probabilities = self._leaning(pools, [calibrated(margin, calibration) for margin in margins])
            threshold, f1 = best_threshold(pools, probabilities, gold, self.settings.beta)
            self.figures_[str(kernel)] = f1
            _LOG.info("stacker: %s: out-of-fold F1 %.4f", kernel, f1)
            if f1 > best:
                best, self.kernel_, self.calibration_, self.threshold_ = f1, kernel, calibration, threshold
                self.folds_, self.machines_, best_probabilities = folds, machines, probabilities
        self.svm_: Svm
        if self.settings.alone:
            self.svm_ = LinearSVM.of_weights([2.0 * name.startswith("vote:") for name in self.features_.columns], -1.0)
            self.kernel_, self.calibration_, self.threshold_ = LinearSettings(0.0), _CERTAIN, 0.5
            self.folds_, self.machines_ = folds, [self.svm_] * len(folds)
            best_probabilities = [calibrated(self.svm_.margins(of_note), _CERTAIN) for of_note in rows]
        else:
            self.svm_ = fit_svm(np.concatenate(rows), np.concatenate(is_phi), self.kernel_)
        weighed = self._weighed(tables, pools, best_probabilities, in_training=True)
        self.choices_ = recall_choices(pools, weighed, gold, self.threshold_)
        decisions = [decided(pool, found, self.threshold_) for pool, found in zip(pools, weighed, strict=True)]
        if self.settings.seek_again:
            counts = counts or WordCounts.of((table.document for table in tables), language, space.discretion_)
            self.repeats_ = RepeatClassifier(counts).fit(tables, decisions, folds)
            decisions = self.repeats_.out_of_fold_
        decisions = self.with_rules(tables, decisions)
        self.decided_ = [[d.in_note(table.view) for d in note] for table, note in zip(tables, decisions, strict=True)]
        self.out_of_fold_ = [[decision.span for decision in note if decision.accepted] for note in self.decided_]
        return self

    def recalling(self, choice: str) -> Stacker:
        """The same with another threshold; the decisions on repeated mentions do not change.

        :param choice: `high` for more recall, `precise` for more precision, or `balanced`.
        :raises SettingsError: if there is no such choice, or the stacker was trained without choices.
        """
        if choice not in CHOICES:
            raise SettingsError(no_such("choice of --recall", choice, CHOICES))
        if choice == BALANCED:
            return self
        if choice not in self.choices_:
            raise SettingsError("the engine has only the threshold `balanced`, as older ones have; train it again")
        stacker = copy(self)
        stacker.threshold_ = self.choices_[choice]["threshold"]
        return stacker

    def lowered(self, factor: float) -> Stacker:
        """The same with all thresholds multiplied by a factor; their figures no longer hold.

        :param factor: in (0, 1].
        """
        stacker = copy(self)
        stacker.threshold_ = factor * self.threshold_
        stacker.choices_ = {name: {"threshold": factor * at["threshold"]} for name, at in self.choices_.items()}
        return stacker

    def decide_all(self, tables: Tables, pools: Pools) -> Iterator[list[Decision]]:
        """Decide on the candidates of many notes, in order of their spans, with repeated mentions and rules.

        Accepted mentions are also searched for in the patient's notes right before and after.
        """
        decisions = self.chosen(pools, self.probabilities(tables, pools))
        yield from self.with_rules(tables, self.with_repeats(tables, decisions))

    def probabilities(
        self, tables: Tables, pools: Pools, asked: Sequence[NDArray[np.bool_]] | None = None
    ) -> list[Floats]:
        """For each note the probability of each candidate, of shape `(n_candidates,)`.

        :param asked: for each note which candidates are wanted; the values of the others are meaningless.
        """
        rows = self.features_.matrices(tables, pools)
        if not rows:
            return []
        together = np.concatenate(rows)
        wanted = np.ones(len(together), dtype=bool) if asked is None else np.concatenate(asked)
        probabilities = np.zeros(len(together))
        probabilities[wanted] = calibrated(self.svm_.margins(together[wanted]), self.calibration_)
        by_note = np.split(probabilities, np.cumsum([len(pool) for pool in pools])[:-1])
        return self._weighed(tables, pools, self._leaning(pools, by_note))

    def chosen(self, pools: Pools, probabilities: ByNote, thresholds: ByNote | None = None) -> list[list[Decision]]:
        """Decisions from probabilities alone.

        :param thresholds: for each note that of each candidate; by default that of this stacker.
        """
        limits = [self.threshold_] * len(pools) if thresholds is None else thresholds
        return list(map(decided, pools, probabilities, limits))

    def with_repeats(self, tables: Tables, decisions: Decided) -> list[list[Decision]]:
        """The decisions with those on repeated mentions of accepted spans."""
        return [*map(list, decisions)] if self.repeats_ is None else self.repeats_.extended(tables, decisions)

    def with_rules(self, tables: Tables, decisions: Decided) -> list[list[Decision]]:
        """The decisions with the spans of rules where nothing is accepted."""
        if self.rules_ is not None:
            decisions = list(self.rules_.merged(tables, decisions))
        if self.settings.structured_text:
            rules = MergedRules.structured(self.features_.labels, self.features_.language)
            decisions = list(rules.merged(tables, decisions))
        return [*map(list, decisions)]

    def accepted(self, pools: Pools, probabilities: ByNote, thresholds: ByNote | None = None) -> list[set[Span]]:
        """The spans that `chosen` accepts."""
        chosen = self.chosen(pools, probabilities, thresholds)
        return [{decision.span for decision in of_note if decision.accepted} for of_note in chosen]

    def judged_out_of_fold(self, tables: Tables, pools: Pools) -> list[Floats]:
        """Like `probabilities`, for candidates in the training notes, by machines that never saw the patient.

        :param tables: the training notes, in the order of `fit`.
        """
        margins = margins_of(self.machines_, self.features_.matrices(tables, pools), self.folds_)
        found = [calibrated(of_note, self.calibration_) for of_note in margins]
        return self._weighed(tables, pools, self._leaning(pools, found), in_training=True)

    def _leaning(self, pools: Pools, found: ByNote) -> list[Floats]:
        """The probabilities, drawn towards those of the submodels of `lean_on` that propose the candidate.

        The odds are a weighted geometric mean: the prior counts as `_EVEN` mentions, the machine as those that it saw.
        """
        on = {*self.settings.lean_on} & {*self.features_.sources}
        if not on:
            return list(found)
        leaning = []
        for pool, machine in zip(pools, found, strict=True):
            prior = np.array([max((v.score for v in c.votes if v.source in on), default=0.0) for c in pool])
            odds = self.trust_ * log_odds(machine, _SUREST) + (1 - self.trust_) * log_odds(prior, _SUREST)
            leaning.append(np.where(prior > 0, 1 / (1 + np.exp(-odds)), machine))
        return leaning

    def _weighed(self, tables: Tables, pools: Pools, found: ByNote, *, in_training: bool = False) -> list[Floats]:
        """The probabilities of each note's candidates, lower where their label never had their surface form."""
        if self.forms_ is None:
            return list(found)
        weighed = []
        for table, pool, probabilities in zip(tables, pools, found, strict=True):
            text, patient = table.document.text, table.document.group if in_training else ""
            pairs = zip((candidate.span for candidate in pool), probabilities.tolist(), strict=True)
            weighed.append(
                np.array([self.forms_.weighed(text[s.start : s.end], s.label, p, patient) for s, p in pairs])
            )
        return weighed

    def save(self, folder: Path) -> None:
        """Write `stacker.json`, `stacker.npz` and the files of repeats and rules, without the words of the notes."""
        state: dict[str, Any] = {
            "settings": asdict(self.settings),
            "sources": self.features_.sources,
            "labels": self.features_.labels,
            "language": self.features_.language,
            "kernel": asdict(self.kernel_),
            "curve": self.calibration_,
            "threshold": self.threshold_,
            "figures": self.figures_,
        }
        if self.forms_ is not None:
            state["forms"] = self.forms_.to_dict()
        if self.settings.lean_on:
            state["trust"] = self.trust_
        if self.choices_:
            state["choices"] = self.choices_
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "stacker.json", state)
        np.savez_compressed(folder / "stacker.npz", allow_pickle=False, **self.svm_.arrays())
        for part in (self.repeats_, self.rules_):
            if part is not None:
                part.save(folder)

    @classmethod
    def load(cls, files: SavedFiles, *, sources: tuple[str, ...] = (), counts: WordCounts | None = None) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that.

        :param sources: the submodels whose candidates it must know; any if not given.
        :param counts: of the words of the training notes; without them repeats are not searched for.
        """
        state = files.json("stacker.json", _StackerState)
        with damage_refused("the stacker of the engine"):
            stacker = cls(state["settings"])
            stacker.features_ = MetaFeatures(
                tuple(state["sources"]), tuple(state["labels"]), stacker.settings.features, state["language"]
            )
            if sources not in ((), stacker.features_.sources):
                raise BundleError("a stacker of the engine was trained for other submodels than those in it")
            saved = state["kernel"]
            stacker.kernel_ = LinearSettings(**saved) if "c" in saved else KernelSettings(**saved)
            stacker.calibration_ = state["curve"]
            stacker.threshold_ = state["threshold"]
            stacker.figures_ = state["figures"]
            stacker.trust_ = state.get("trust", 1.0)
            stacker.choices_ = state.get("choices", {})
            if not all(0 < choice.get("threshold", 0.0) < 1 for choice in stacker.choices_.values()):
                raise BundleError("a choice of recall of the engine has no threshold between 0 and 1; train it again")
            if "forms" in state:
                stacker.forms_ = SurfaceForms.from_dict(state["forms"])
            arrays, n_features = files.arrays("stacker.npz"), len(stacker.features_.columns)
            stacker.svm_ = svm_from_arrays(arrays, n_features, stacker.kernel_)
        if counts is not None and stacker.settings.seek_again:
            stacker.repeats_ = RepeatClassifier.load(files, counts)
        if stacker.settings.rule_labels:
            stacker.rules_ = MergedRules.load(files, stacker.features_.language)
        return stacker
