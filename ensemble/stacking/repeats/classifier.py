"""Which repeats are PHI, learned from out-of-fold decisions.

    classifier = RepeatClassifier(counts).fit(tables, decisions, folds)    of stackers that never saw the patient
    classifier.extended(tables, decisions)                                 the decisions, with repeats among them

Names accepted in one note are also searched for in the patient's neighbouring notes. An SVM, trained out of fold like
the stacker's, classifies each repeat. Its threshold is the lowest with about the best strict F1 of the whole result; if
that is clearly worse than the result without repeats, none is accepted. With too few repeats in training, a rule
accepts capitalised names that are not words of the language.

An accepted repeat replaces what it overlaps, but never part of an accepted span of the same label.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from phistack.ensemble.stacking.candidates import ByNote, Decided, Decision, Tables
from phistack.ensemble.stacking.repeats.repeat_features import REPEAT_FEATURES, RepeatPlace, is_plain_name, matrix_of
from phistack.ensemble.stacking.repeats.search import Repeat, search
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.ensemble.stacking.svm import (
    KernelSettings,
    Svm,
    fit_svm,
    machines_out_of_fold,
    margins_of,
    svm_from_arrays,
)
from phistack.ensemble.stacking.thresholds import Curve, calibrated, platt_scaling
from phistack.features.arrays import Floats
from phistack.features.documents import Span
from phistack.features.errors import BundleError
from phistack.features.ranges import non_overlapping, overlapping_each, ranges_of, touching
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate

_LOG = logging.getLogger("phistack")

REPEAT = "repeated mention"
"""The source of the vote for a repeat."""

_KERNELS = (KernelSettings(0.01, 1.0, 1.0), KernelSettings(0.03, 1.0, 1.0), KernelSettings(0.01, 5.0, 5.0))
_THRESHOLDS = tuple(np.round(np.arange(0.10, 0.91, 0.02), 2).tolist())
_NEVER, _BY_RULE = 1.0, 0.5
"""A threshold that no repeat exceeds, and the threshold without an SVM."""

_FEWEST = 20
"""The fewest right repeats, and wrong repeats, to train an SVM."""

_ABOUT = 0.0002
"""A negligible difference in F1; repeats are few, so it is smaller than the stacker's."""


class _ClassifierState(TypedDict):
    evidence: list[str]
    kernel: KernelSettings
    curve: Curve
    threshold: float
    figures: dict[str, float]
    has_machine: bool


class TrainingNotes(NamedTuple):
    """For each annotated note its gold spans, those that the stacker accepted, and its repeats."""

    gold: Sequence[set[Span]]
    accepted: Sequence[set[Span]]
    repeats: Sequence[Sequence[Repeat]]

    def f1(self, probabilities: ByNote, thresholds: Sequence[float]) -> Floats:
        """The strict F1 at each threshold, of shape `(n_thresholds,)`; a repeat replaces the spans that it overlaps."""
        # (n_thresholds, 2): how many spans are accepted, and how many of them are right.
        counts = np.zeros((len(thresholds), 2))
        for gold, accepted, repeats, values in zip(*self, probabilities, strict=True):
            counts += len(accepted), len(accepted & gold)
            for row, threshold in zip(counts, thresholds, strict=True):
                if (values > threshold).any():
                    taken = [repeats[i].span for i in non_overlapping(repeats, (values - threshold).tolist())]
                    lost = {span for span in accepted if any(map(span.overlaps, taken))}
                    row += len(taken) - len(lost), len(gold.intersection(taken)) - len(gold & lost)
        scores: Floats = 2 * counts[:, 1] / np.maximum(counts[:, 0] + sum(map(len, self.gold)), 1)
        return scores


class RepeatClassifier:
    """Adds repeats to decisions.

    Learned by `fit`: `svm_` (`None` where there were too few repeats), `kernel_`, `calibration_`, `threshold_`,
    `figures_` and `out_of_fold_` (the training notes' decisions, with repeats; not saved).
    """

    def __init__(self, counts: WordCounts) -> None:
        self.counts = counts

    def fit(self, tables: Tables, decisions: Decided, folds: Sequence[Sequence[int]]) -> RepeatClassifier:
        """Learn from out-of-fold decisions.

        :param decisions: for each note, of a stacker that was not trained on its patient.
        :param folds: indices of the notes; no patient is in two of them.
        """
        places = self._places(tables, decisions, is_training=True)
        notes = TrainingNotes(
            [{*table.document.spans} for table in tables],
            [{decision.span for decision in found if decision.accepted} for found in decisions],
            [[place.repeat for place in found] for found in places],
        )
        is_phi = [
            np.array([repeat.span in gold for repeat in repeats], dtype=bool)
            for gold, repeats in zip(notes.gold, notes.repeats, strict=True)
        ]
        n_right = sum(int(answers.sum()) for answers in is_phi)
        n_wrong = sum(map(len, is_phi)) - n_right
        self.svm_: Svm | None = None
        self.calibration_: Curve = (1.0, 0.0)
        self.kernel_, self.threshold_ = _KERNELS[0], _BY_RULE
        probabilities = list(map(_by_rule, places))
        without, by_rule = notes.f1(probabilities, [_NEVER, _BY_RULE]).tolist()
        self.figures_ = {
            "right repeats": float(n_right),
            "wrong repeats": float(n_wrong),
            "F1 without repeats": without,
            "F1 by rule": by_rule,
        }
        best = by_rule
        if min(n_right, n_wrong) >= _FEWEST:
            rows = list(map(matrix_of, places))
            best = -1.0
            for kernel in _KERNELS:
                margins = margins_of(machines_out_of_fold(rows, is_phi, folds, kernel), rows, folds)
                calibration = platt_scaling(np.concatenate(margins), np.concatenate(is_phi))
                found = [calibrated(margin, calibration) for margin in margins]
                f1 = notes.f1(found, _THRESHOLDS)
                self.figures_[str(kernel)] = float(f1.max())
                if f1.max() > best:
                    chosen = int(np.argmax(f1 >= f1.max() - _ABOUT))
                    best, probabilities, self.threshold_ = f1.max(), found, _THRESHOLDS[chosen]
                    self.kernel_, self.calibration_ = kernel, calibration
            (best,) = notes.f1(probabilities, [self.threshold_]).tolist()
            self.svm_ = fit_svm(np.concatenate(rows), np.concatenate(is_phi), self.kernel_)
        self.figures_["F1"] = best
        if best < without - _ABOUT:
            self.threshold_ = _NEVER
        _LOG.info("repeats: %s; threshold %s", self.figures_, self.threshold_)
        self.out_of_fold_ = _extended(decisions, places, probabilities, self.threshold_)
        return self

    def extended(self, tables: Tables, decisions: Decided) -> list[list[Decision]]:
        """The decisions on some notes and on their repeats, sorted by span.

        :param tables: the notes; adjacent notes of a patient are searched together.
        """
        places = self._places(tables, decisions)
        return _extended(decisions, places, self._probabilities(places), self.threshold_)

    def _probabilities(self, places: Sequence[Sequence[RepeatPlace]]) -> list[Floats]:
        if self.svm_ is None or not places:
            return list(map(_by_rule, places))
        margins = self.svm_.margins(matrix_of([place for found in places for place in found]))
        bounds = np.cumsum([len(found) for found in places])[:-1]
        return list(np.split(calibrated(margins, self.calibration_), bounds))

    def _places(self, tables: Tables, decisions: Decided, *, is_training: bool = False) -> list[list[RepeatPlace]]:
        """For each note its repeats with their surroundings."""
        places: list[list[RepeatPlace]] = []
        pairs = zip(tables, decisions, strict=True)
        for patient, run in groupby(pairs, key=lambda pair: pair[0].document.group):
            notes = list(run)
            texts = [table.document.text for table, _ in notes]
            accepted = [[decision for decision in found if decision.accepted] for _, found in notes]
            without = patient if is_training else ""
            for i, repeats in enumerate(search(texts, accepted, self.counts.language)):
                places.append(
                    [
                        RepeatPlace(repeat, i, texts[i], near, self.counts, without)
                        for repeat, near in zip(repeats, overlapping_each(repeats, notes[i][1]), strict=True)
                        if not any(_cuts(repeat.span, decision) for decision in near)
                    ]
                )
        return places

    def save(self, folder: Path) -> None:
        """Write `repeats.json` and, if there is an SVM, `repeats.npz`; without the word counts."""
        state = {
            "evidence": list(REPEAT_FEATURES),
            "kernel": asdict(self.kernel_),
            "curve": self.calibration_,
            "threshold": self.threshold_,
            "figures": self.figures_,
            "has_machine": self.svm_ is not None,
        }
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "repeats.json", state)
        if self.svm_ is not None:
            np.savez_compressed(folder / "repeats.npz", allow_pickle=False, **self.svm_.arrays())

    @classmethod
    def load(cls, files: SavedFiles, counts: WordCounts) -> RepeatClassifier:
        """Read what `save` wrote; :raises BundleError: if it is not that, or has other features."""
        classifier = cls(counts)
        state = files.json("repeats.json", _ClassifierState)
        with damage_refused("the repeats of the engine"):
            if state["evidence"] != list(REPEAT_FEATURES):
                reason = "this phistack does not know the features by which the engine judges repeats; train it again"
                raise BundleError(reason)
            classifier.kernel_, classifier.calibration_ = state["kernel"], state["curve"]
            classifier.threshold_, classifier.figures_ = state["threshold"], state["figures"]
            classifier.svm_ = None
            if state["has_machine"]:
                arrays = files.arrays("repeats.npz")
                classifier.svm_ = svm_from_arrays(arrays, len(REPEAT_FEATURES), classifier.kernel_)
        return classifier


def _cuts(repeat: Span, decision: Decision) -> bool:
    """Whether a repeat would cut an accepted span of its label."""
    span = decision.span
    is_within = repeat.start <= span.start and span.end <= repeat.end
    return decision.accepted and span.label == repeat.label and not is_within


def _by_rule(places: Sequence[RepeatPlace]) -> Floats:
    """The probability of the surest seed if the rule holds, otherwise 0."""
    best = REPEAT_FEATURES["best seed"]
    return np.array([best(place) if is_plain_name(place) else 0.0 for place in places])


def _extended(
    decisions: Decided, places: Sequence[Sequence[RepeatPlace]], probabilities: ByNote, threshold: float
) -> list[list[Decision]]:
    notes = zip(decisions, places, probabilities, strict=True)
    return [_with_repeats(*note, threshold) if note[1] else list(note[0]) for note in notes]


def _with_repeats(
    decided: Sequence[Decision], places: Sequence[RepeatPlace], probabilities: Floats, threshold: float
) -> list[Decision]:
    """The decisions on a note; an accepted repeat replaces what it overlaps."""
    repeats = [place.repeat for place in places]
    accepted = {*non_overlapping(repeats, (probabilities - threshold).tolist())}
    is_taken = touching(ranges_of(repeats[i] for i in accepted))
    by_span = {
        d.span: replace(d, accepted=False) if d.accepted and is_taken(d.span.start, d.span.end) else d for d in decided
    }
    for i, (place, probability) in enumerate(zip(places, probabilities.tolist(), strict=True)):
        span = place.repeat.span
        vote = Candidate(span, REPEAT, probability, i in accepted, _where(place))
        known = by_span.get(span, Decision(span, 0.0, False, ()))
        by_span[span] = Decision(span, max(probability, known.probability), i in accepted, (*known.votes, vote))
    return [by_span[span] for span in sorted(by_span)]


def _where(place: RepeatPlace) -> str:
    """The places of the repeated mentions, without their text."""
    seeds = place.repeat.seeds
    share = "all" if any(len(seed.words) == len(place.repeat.words) for seed in seeds) else "part"
    here = [seed.places[place.note] for seed in seeds if place.note in seed.places]
    where = f"at {min(here)}" if here else "in another note of the patient"
    return f"{share} of what is {where}; mentions: {sum(seed.times for seed in seeds)}"
