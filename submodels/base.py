"""What every submodel is, and where all of them are listed.

    Candidate(Span(12, 17, "DOCTOR"), source="crf", score=0.93, evidence="")

A submodel's constructor only stores its settings; `fit` learns from feature tables whose documents carry gold spans;
`propose` gives candidates for tables whose gold spans it never looks at. Learned state ends in an underscore, and is
saved to a folder without pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, get_type_hints, runtime_checkable

from features.columns.table import FeatureSpace, FeatureTable
from features.documents import Span
from features.errors import SettingsError
from features.names import did_you_mean, no_such
from features.saved_files import SavedFiles, same_type

__all__ = ["KINDS", "Candidate", "Submodel", "new_submodel", "saved_submodel", "submodel_class"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that a submodel takes for PHI.

    :param span: where and what.
    :param source: the name of the submodel, for example `crf`.
    :param score: how sure the submodel is, in [0, 1]; 1 where a submodel has no probabilities.
    :param chosen: whether the submodel itself would mark the span; the others are offered to the stacker only. The
        chosen candidates of one submodel never overlap.
    :param evidence: why: the pattern or rule that proposed it; names a rule, never holds text of the note.
    """

    span: Span
    source: str
    score: float = 1.0
    chosen: bool = True
    evidence: str = field(default="", compare=False, repr=False)


@runtime_checkable
class Submodel(Protocol):
    """One model that proposes PHI.

    `kind` is its versioned name in bundles, `name` the source that its candidates carry.
    """

    kind: ClassVar[str]
    name: ClassVar[str]

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes; :raises TrainingError: if they hold nothing to learn from."""
        ...

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """Candidates for each note, in the order of the notes."""
        ...

    def save(self, folder: Path) -> None:
        """Write settings and learned state into an existing, empty folder, without pickle."""
        ...

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that. `space` is the one of training."""
        ...

    def settings(self) -> Mapping[str, Any]:
        """The constructor's arguments, JSON-ready."""
        ...


KINDS: Mapping[str, tuple[str, str]] = {
    "regex.v1": ("submodels.regex.submodel", "RegexSubmodel"),
    "tbed.v1": ("submodels.tbed", "TbedSubmodel"),
    "crf.v1": ("submodels.crf.submodel", "CrfSubmodel"),
    "blstm.v1": ("submodels.blstm.submodel", "BlstmSubmodel"),
}
"""Versioned kind -> module and class; a module is imported when its kind is first used."""


def submodel_class(kind: str) -> type[Submodel]:
    """The class of a kind (`crf.v1`, or `crf` for its newest version); :raises SettingsError: for an unknown one."""
    matching = [known for known in KINDS if kind in (known, known.rpartition(".")[0])]
    if not matching:
        raise SettingsError(no_such("submodel", kind, (known.rpartition(".")[0] for known in KINDS)))
    module, name = KINDS[matching[-1]]
    found: type[Submodel] = getattr(import_module(module), name)
    return found


def new_submodel(kind: str, settings: Mapping[str, Any]) -> Submodel:
    """An untrained submodel; :raises SettingsError: for a setting that it does not have."""
    found = submodel_class(kind)
    known = signature(found).parameters
    unknown = [name for name in settings if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise SettingsError(f"the submodel {kind} has no setting {unknown[0]}{near}; there are {', '.join(known)}")
    return found(**settings)


_S = TypeVar("_S", bound=Submodel)


def saved_submodel(kind: type[_S], settings: Mapping[str, object]) -> _S:
    """An untrained submodel with the settings of a file.

    :raises ValueError: for a setting that it does not have, or of another type than the constructor's.
    :raises SettingsError: for a value that cannot work.
    """
    hints = get_type_hints(kind.__init__)
    if unknown := settings.keys() - hints.keys():
        raise ValueError(f"{len(unknown)} unknown settings")
    return kind(**{name: same_type(value, hints[name]) for name, value in settings.items()})
