"""A stacker on disk: `stacker.json`, `stacker.npz`, and the files of its repeats and rules.

save_stacker(stacker, folder)
load_stacker(files, sources=("regex", "crf"), counts=counts)
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from phistack.ensemble.stacking.merged_rules import MergedRules
from phistack.ensemble.stacking.meta_features import MetaFeatures
from phistack.ensemble.stacking.repeats.classifier import RepeatClassifier
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.ensemble.stacking.stacker import Stacker, StackerSettings
from phistack.ensemble.stacking.surface_forms import SurfaceForms, SurfaceFormsState
from phistack.ensemble.stacking.svm import svm_from_arrays, svm_settings
from phistack.ensemble.stacking.thresholds import Curve
from phistack.features.errors import BundleError
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json


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


def save_stacker(stacker: Stacker, folder: Path) -> None:
    """Write a trained stacker without pickle, except the word counts of its repeats."""
    state: dict[str, Any] = {
        "settings": asdict(stacker.settings),
        "sources": stacker.features_.sources,
        "labels": stacker.features_.labels,
        "language": stacker.features_.language,
        "kernel": asdict(stacker.kernel_),
        "curve": stacker.calibration_,
        "threshold": stacker.threshold_,
        "figures": stacker.figures_,
    }
    if stacker.forms_ is not None:
        state["forms"] = stacker.forms_.to_dict()
    if stacker.settings.lean_on:
        state["trust"] = stacker.trust_
    if stacker.choices_:
        state["choices"] = stacker.choices_
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "stacker.json", state)
    np.savez_compressed(folder / "stacker.npz", allow_pickle=False, **stacker.svm_.arrays())
    for part in (stacker.repeats_, stacker.rules_):
        if part is not None:
            part.save(folder)


def load_stacker(files: SavedFiles, *, sources: tuple[str, ...] = (), counts: WordCounts | None = None) -> Stacker:
    """Read what `save_stacker` wrote; :raises BundleError: if it is not that.

    :param sources: the submodels whose candidates it must know; any if not given.
    :param counts: of the words of the training notes; without them repeats are not searched for.
    """
    state = files.json("stacker.json", _StackerState)
    with damage_refused("the stacker of the engine"):
        stacker = Stacker(state["settings"])
        stacker.features_ = MetaFeatures(
            tuple(state["sources"]), tuple(state["labels"]), stacker.settings.features, state["language"]
        )
        if sources not in ((), stacker.features_.sources):
            raise BundleError("a stacker of the engine was trained for other submodels than those in it")
        stacker.kernel_ = svm_settings(state["kernel"])
        stacker.calibration_ = state["curve"]
        stacker.threshold_ = state["threshold"]
        stacker.figures_ = state["figures"]
        stacker.trust_ = state.get("trust", 1.0)
        stacker.choices_ = state.get("choices", {})
        if not all(0 < choice.get("threshold", 0.0) < 1 for choice in stacker.choices_.values()):
            raise BundleError("a choice of recall of the engine has no threshold between 0 and 1; train it again")
        if "forms" in state:
            stacker.forms_ = SurfaceForms.from_dict(state["forms"])
        stacker.svm_ = svm_from_arrays(files.arrays("stacker.npz"), len(stacker.features_.columns), stacker.kernel_)
    if counts is not None and stacker.settings.seek_again:
        stacker.repeats_ = RepeatClassifier.load(files, counts)
    if stacker.settings.rule_labels:
        stacker.rules_ = MergedRules.load(files, stacker.features_.language)
    return stacker
