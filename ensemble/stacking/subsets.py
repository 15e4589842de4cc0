"""Some of the submodels of an engine, and the stackers that are trained for them.

    subsets_of(("regex", "tbed", "crf"))      ("regex",), ("tbed",), ("crf",), ("regex", "tbed"), ... all three
    subset_name(("regex", "tbed"))            "regex+tbed", as tables and bundles write it
    fit_subset_stackers(stacker, ...)         a stacker for each subset but the whole

A stacker expects the candidates of the submodels that it was trained over; without one of them it must be trained
again. It is, when the engine is: the out-of-fold candidates are there, and the kernel that was best for all submodels
is taken for their subsets too, so that each takes one cross-validation and one fit, and no bundle has to be trained
again to leave a submodel out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from phistack.ensemble.stacking.candidates import CandidatesOf, pools_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.tools.progress import progress
from phistack.features.columns.table import FeatureTable
from phistack.features.errors import BundleError, SettingsError
from phistack.features.suggestions import did_you_mean

Subset = tuple[str, ...]
"""Names of submodels, in the order of the engine."""


def subsets_of(names: Sequence[str]) -> list[Subset]:
    """Every non-empty subset, small ones first, the whole last."""
    return [subset for size in range(1, len(names) + 1) for subset in combinations(names, size)]


def subset_name(subset: Iterable[str]) -> str:
    """One word for a subset."""
    return "+".join(subset)


def in_order(names: Sequence[str], chosen: Iterable[str]) -> Subset:
    """The chosen names in the order of all; :raises SettingsError: if one is not among them, or none is chosen."""
    wanted = set(chosen)
    unknown = sorted(wanted - set(names))
    if unknown:
        near = did_you_mean(unknown[0], names)
        raise SettingsError(f"this engine has no submodel {unknown[0]}{near}; it has {', '.join(names)}")
    if not wanted:
        raise SettingsError(f"name at least one submodel of this engine; it has {', '.join(names)}")
    return tuple(name for name in names if name in wanted)


def no_stacker(subset: Subset) -> BundleError:
    """What is raised where an engine cannot do with these submodels alone."""
    return BundleError(
        f"this engine has no stacker for {subset_name(subset)} alone: nothing was proposed in training, or the engine "
        f"is older than stackers of subsets; train it again"
    )


def fit_subset_stackers(
    stacker: Stacker,
    tables: Sequence[FeatureTable],
    out_of_fold: CandidatesOf,
    *,
    seed: int,
    weight: float = 1.0,
) -> dict[Subset, Stacker]:
    """Train a stacker for every subset but the whole, with the kernel that was chosen for the whole.

    :param stacker: the one over all submodels.
    :param tables: the annotated notes.
    :param out_of_fold: for each submodel, its candidates for each note, proposed out of fold.
    :param weight: of this in the progress of the training.
    :returns: the stackers by subset; a subset that proposed nothing has none.
    """
    stackers: dict[Subset, Stacker] = {}
    subsets = subsets_of(tuple(out_of_fold))[:-1]
    with progress("stackers of subsets", total=len(subsets), weight=weight) as advance:
        for subset in subsets:
            pools = pools_of(tables, out_of_fold, subset)
            if any(pools):
                smaller = Stacker(stacker.settings)
                stackers[subset] = smaller.fit(
                    tables, pools, sources=subset, seed=seed, kernels=(stacker.kernel_,), counts=stacker.counts
                )
            advance("")
    return stackers
