"""How the stacker is trained.

StackerSettings(kernel="linear", beta=2.0)      recall counts twice as much as precision where the threshold is chosen
"""

from __future__ import annotations

from dataclasses import dataclass

from phistack.ensemble.stacking.meta_features import FEATURE_SETS
from phistack.ensemble.stacking.svm import KERNELS
from phistack.features.errors import SettingsError, no_such


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
        `key=value`, DICOM).
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
