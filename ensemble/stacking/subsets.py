"""Some of the submodels of an engine, and the stackers that are trained for them.

    subsets_of(("regex", "tbed", "crf"))      ("regex",), ("tbed",), ("crf",), ("regex", "tbed"), ... all three
    subset_name(("regex", "tbed"))            "regex+tbed", as tables and bundles write it

A stacker needs the candidates of all submodels that it was trained over. So a training also fits one for every subset,
with the kernel that was best for all submodels; then `--submodels` can leave some out of any bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from phistack.ensemble.stacking.candidates import CandidatesOf, Tables, pools_of
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.tools.progress import progress
from phistack.features.errors import BundleError, SettingsError, did_you_mean

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
    """The error for an engine that cannot use these submodels alone."""
    return BundleError(
        f"this engine has no stacker for {subset_name(subset)} alone: nothing was proposed in training, or the engine "
        f"is older than stackers of subsets; train it again"
    )


def fit_subset_stackers(
    stacker: Stacker, tables: Tables, out_of_fold: CandidatesOf, *, seed: int, weight: float = 1.0
) -> dict[Subset, Stacker]:
    """Train a stacker for every subset but the whole, with the kernel that was chosen for the whole.

    :param out_of_fold: submodel -> its out-of-fold candidates for each note.
    :param weight: of this step in the progress of the training.
    :returns: the stackers by subset; subsets without any candidate are left out.
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
