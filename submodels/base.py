"""What every submodel is. The kinds that there are, ours and those of other packages, are in `submodels.registry`.

    Candidate(Span(12, 17, "DOCTOR"), source="crf", score=0.93, evidence="")
    new_submodel("crf", {"c2": 0.1})                       a submodel named as its kind
    new_submodel("second", {"kind": "crf", "c2": 1.0})     one with a name of its own

A submodel's constructor only stores its settings; `fit` learns from feature tables whose documents carry gold spans;
`propose` gives candidates for tables whose gold spans it never looks at. Learned state ends in an underscore, and is
saved to a folder without pickle.

A costly submodel can be asked for some lines of a note only, and one that has probabilities can tell how likely there
is more PHI in a line than its candidates; `ensemble.stacking.cascade` brings the two together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isabstract, signature
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from phistack.features.arrays import Floats
from phistack.features.columns.lines import line_bounds, lines_touched, tokens_touched
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Span
from phistack.features.errors import PackageError, SettingsError
from phistack.features.saved_files import SavedFiles, same_type
from phistack.features.suggestions import did_you_mean
from phistack.submodels.registry import KINDS, newest, usual_name

KIND = "kind"
"""The setting of a submodel that is no argument of its constructor."""


LineMask = NDArray[np.bool_]
"""Some lines of a note: for each of `features.columns.lines.line_bounds` whether it is one of them, `(n_lines,)`."""


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


@dataclass(frozen=True, slots=True)
class Told:
    """What a submodel says of a note.

    :param candidates: as `Submodel.propose` gives them.
    :param left: for each line the greatest probability that a token outside all of them is PHI, `(n_lines,)`; `None`
        if the submodel has no probabilities.
    """

    candidates: list[Candidate]
    left: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: FeatureTable, candidates: list[Candidate], is_phi: Floats) -> Self:
        """From the probability of each token to be PHI, of shape `(n_tokens,)`."""
        outside = is_phi.copy()
        for first, last in zip(*tokens_touched(table, [c.span for c in candidates]), strict=True):
            outside[first:last] = 0.0
        starts = line_bounds(table)[:-1]
        return cls(candidates, np.maximum.reduceat(outside, starts) if len(starts) else np.zeros(0))


@dataclass(frozen=True, slots=True)
class HeadStart:
    """What a submodel learns from before it sees the notes of a training; the same for all folds, as it has none.

    :param n_notes: how many invented notes (`ensemble.synthesis`) of the language, with labels of their own.
    :param changes: settings that are others while it learns from them.
    """

    n_notes: int
    changes: Mapping[str, Any]


class Submodel(ABC):
    """One model that proposes PHI: a class of its own for each kind.

    A kind says of itself, as attributes of its class:

    :cvar kind: its versioned name, as bundles have it, such as `crf.v1`.
    :cvar cost: what a fit costs beside those of the other kinds: about the seconds of one fold of MEDDOCAN.
    :cvar costly: whether it takes so long to propose that it should read only lines in which others leave doubt.
    :ivar name: the source that its candidates carry: the usual name of the kind, until an engine has another for it.
    """

    kind: ClassVar[str]
    cost: ClassVar[float] = 100.0
    costly: ClassVar[bool] = False
    name: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = usual_name(getattr(cls, "kind", ""))

    @abstractmethod
    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes; :raises TrainingError: if they hold nothing to learn from."""

    def head_start(self) -> HeadStart | None:
        """What it learns from before `fit`; most kinds have nothing such."""
        return None

    def begin_from(self, files: SavedFiles, space: FeatureSpace) -> None:
        """Let `fit` begin with what a submodel with the settings of the head start learned and saved."""
        return

    @abstractmethod
    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """Candidates for each note, in the order of the notes; `name` is their source."""

    def propose_in(self, tables: Sequence[FeatureTable], wanted: Sequence[LineMask]) -> list[list[Candidate]]:
        """Those of the candidates of `propose` that touch some lines of each note; a costly kind reads no others."""
        return candidates_in(tables, self.propose(tables), wanted)

    def tell(self, tables: Sequence[FeatureTable]) -> list[Told]:
        """The candidates of `propose`, and what is left beside them; only a kind with probabilities knows that."""
        return [Told(candidates) for candidates in self.propose(tables)]

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write settings and learned state into an existing, empty folder, without pickle."""

    @classmethod
    @abstractmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote; :raises BundleError: if it is not that. `space` is the one of training."""

    def settings(self) -> Mapping[str, Any]:
        """The constructor's arguments, JSON-ready: the attributes of their names, with lists for tuples."""
        given = {name: getattr(self, name) for name in signature(type(self)).parameters}
        return msgspec.json.decode(msgspec.json.encode(given), type=dict[str, Any])

    def check(self, features: FeatureSettings | None = None) -> None:
        """See that its settings can work; :raises SettingsError: if not, before a training begins.

        :param features: of the training, where they are known.
        """
        return

    @classmethod
    def for_label_set(cls, settings: Mapping[str, Any], label_set: str) -> Mapping[str, Any]:
        """The constructor's arguments that are given, with what the name of a shipped label set adds to them.

        That is `label_set` where the constructor has it, so that types too rare to learn are kept.
        """
        return with_label_set(settings, label_set) if "label_set" in signature(cls).parameters else settings

    @classmethod
    def for_patterns(cls, settings: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """The constructor's arguments with a file of a user's own patterns, for a kind that learns from patterns."""
        return settings

    @classmethod
    def holds(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The usual names of other kinds that a submodel with these arguments has within it, as TBED has patterns."""
        return ()


def with_label_set(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The arguments with the name of a label set where they have none."""
    return {**settings, "label_set": settings.get("label_set") or name}


def candidates_in(
    tables: Sequence[FeatureTable], proposals: Sequence[Sequence[Candidate]], wanted: Sequence[LineMask]
) -> list[list[Candidate]]:
    """The candidates that touch some lines of each note."""
    return [
        [c for c, is_in in zip(found, in_lines(table, [c.span for c in found], lines), strict=True) if is_in]
        for table, found, lines in zip(tables, proposals, wanted, strict=True)
    ]


def in_lines(table: FeatureTable, spans: Sequence[Span], lines: LineMask) -> NDArray[np.bool_]:
    """Whether each span touches one of some lines, of shape `(n_spans,)`."""
    first, last = lines_touched(table, spans)
    number_before = np.concatenate([[0], np.cumsum(lines)])
    touched: NDArray[np.bool_] = number_before[last] > number_before[first]
    return touched


def refuse_beyond(limits: Mapping[str, tuple[float, float]], settings: object, whose: str) -> None:
    """See that settings lie within their limits; :raises SettingsError: for the first that does not.

    :param limits: setting -> the least and the greatest value that it may have.
    :param whose: whose settings they are, such as `the CRF`.
    """
    for name, (least, most) in limits.items():
        if not least <= getattr(settings, name) <= most:
            raise SettingsError(f"{whose}'s setting {name} must lie between {least} and {most}")


def submodel_class(kind: str) -> type[Submodel]:
    """The class of a kind (`crf.v1`, or `crf` for its newest version).

    :raises PackageError: if it is of no installed package, or what the package registers is no such kind.
    """
    versioned = newest(kind)
    found = KINDS.load(versioned)
    if not (isinstance(found, type) and issubclass(found, Submodel) and getattr(found, "kind", "") == versioned):
        lacks = "is no class derived from submodels.base.Submodel with that kind"
    elif isabstract(found):
        lacks = f"lacks {', '.join(sorted(found.__abstractmethods__))}"
    else:
        return found
    package = KINDS.packages(versioned)[0]
    raise PackageError(f"what the package {package} registers as the submodel kind {versioned} {lacks}")


def kind_of(name: str, settings: Mapping[str, Any]) -> str:
    """The kind of a submodel of an engine: the one that its settings name, otherwise the one it is named as."""
    return str(settings.get(KIND, name))


def new_submodel(name: str, settings: Mapping[str, Any]) -> Submodel:
    """An untrained submodel of an engine.

    :param settings: arguments of the constructor, and the kind under `KIND` where it is not the name.
    :raises SettingsError: for a setting that it does not have, or of another type than the constructor's.
    """
    found = submodel_class(kind_of(name, settings))
    given = {key: value for key, value in settings.items() if key != KIND}
    known = signature(found).parameters
    for key in given:
        if key not in known:
            near = did_you_mean(key, known)
            raise SettingsError(f"the submodel {name} has no setting {key}{near}; there are {', '.join(known)}")
    try:
        typed = _typed(found, given)
    except ValueError as error:
        raise SettingsError(f"a setting of the submodel {name} is of the wrong type: {error}") from None
    model = found(**typed)
    model.name = name
    return model


def load_submodel(name: str, kind: str, files: SavedFiles, space: FeatureSpace) -> Submodel:
    """A trained submodel of an engine; :raises BundleError: if the files are not what a submodel of the kind saved."""
    model = submodel_class(kind).load(files, space)
    model.name = name
    return model


_S = TypeVar("_S", bound=Submodel)


def saved_submodel(kind: type[_S], settings: Mapping[str, object]) -> _S:
    """An untrained submodel with the settings of a file.

    :raises ValueError: for a setting that it does not have, or of another type than the constructor's.
    :raises SettingsError: for a value that cannot work.
    """
    if unknown := settings.keys() - signature(kind).parameters.keys():
        raise ValueError(f"{len(unknown)} unknown settings")
    return kind(**_typed(kind, settings))


def _typed(kind: type[Submodel], settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings, with lists as the tuples that the constructor asks for; :raises ValueError: for another type."""
    hints = get_type_hints(kind.__init__)
    return {name: same_type(value, hints.get(name, Any)) for name, value in settings.items()}
