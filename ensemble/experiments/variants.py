"""The variants of an engine that an ablation compares, with their scores.

variants_of(settings, groups=False)
[Variant("regex", "submodel alone", ...), ..., Variant("stack", ...), Variant("without regex", ...), ...]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from phistack.ensemble.evaluation import Score
from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.systems import Difference, mean_figures
from phistack.ensemble.experiments.choosers import difference_facts
from phistack.ensemble.experiments.parts import STACK
from phistack.ensemble.stacking.meta_features import FEATURE_SETS
from phistack.ensemble.training.settings import EngineSettings
from phistack.submodels.base import kind_of, submodel_class
from phistack.submodels.registry import usual_name

ALONE = "submodel alone"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build the engine.

    :param part: its section of the table.
    :param stacker_features: the stacker's feature set; empty for one submodel alone, without a stacker.
    :param without: the feature groups left out.
    """

    name: str
    part: str
    submodels: tuple[str, ...]
    stacker_features: str
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A variant, its score, F1 less that of the stack, and means over folds or seeds if there are several."""

    variant: Variant
    score: Score
    difference: Difference | None
    of_folds: Macro | None = None
    of_seeds: Macro | None = None

    @property
    def name(self) -> str:
        """Of the variant."""
        return self.variant.name

    def to_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        means = {"mean of folds": self.of_folds, "mean of seeds": self.of_seeds}
        return {
            "name": self.name, "part": self.variant.part, "submodels": list(self.variant.submodels),
            "stacker features": self.variant.stacker_features or None,
            "feature groups left out": list(self.variant.without),
            **self.score.to_dict(),
            **{what: mean_figures(mean) for what, mean in means.items() if mean},
            **({"difference": difference_facts(self.difference)} if self.difference else {}),
        }  # fmt: skip


def variants_of(settings: EngineSettings, *, groups: bool) -> list[Variant]:
    """Every variant: each submodel alone, the stack, and the stack with one part left out or exchanged.

    TBED starts from the tags of its own patterns, so the stack is also tried without both the regex submodel and TBED;
    likewise for any other kind that contains another.

    :param groups: whether to leave out feature groups too, those that have columns under these settings.
    """
    names, features, without = tuple(settings.submodels), settings.stacker.features, settings.features.without
    left_out = [(name,) for name in names] + _held_within_others(settings)
    rows = [Variant(name, ALONE, (name,), "", without) for name in names]
    rows.append(Variant(STACK, STACK, names, features, without))
    for gone in left_out:
        if rest := tuple(name for name in names if name not in gone):
            rows.append(Variant(f"without {' and '.join(gone)}", "without a submodel", rest, features, without))
    rows += [
        Variant(f"stacker features {name}", "stacker features", names, name, without)
        for name in FEATURE_SETS
        if name != features
    ]
    for group in settings.features.groups if groups else ():
        fewer = replace(settings.features, without=(*without, group))
        if group not in without and fewer.columns != settings.features.columns:
            rows.append(Variant(f"without {group}", "without a feature group", names, features, fewer.without))
    return rows


def _held_within_others(settings: EngineSettings) -> list[tuple[str, ...]]:
    """Each submodel whose kind others contain, together with these."""
    classes = {name: submodel_class(kind_of(name, given)) for name, given in settings.submodels.items()}
    holding = {name: found.holds(settings.submodels[name]) for name, found in classes.items()}
    groups = (
        (name, *(other for other in holding if other != name and usual_name(found.kind) in holding[other]))
        for name, found in classes.items()
    )
    return [group for group in groups if len(group) > 1]
