"""The interface of submodels. Their kinds, ours and those of other packages, are in `submodels.registry`.

    Candidate(Span(12, 17, "DOCTOR"), source="crf", score=0.93, evidence="")
    new_submodel("crf", {"c2": 0.1})                       a submodel with the name of its kind
    new_submodel("second", {"kind": "crf", "c2": 1.0})     one with another name

The constructor only stores settings; `fit` learns from feature tables with gold spans; `propose` gives candidates and
never reads gold spans. Attributes with learned state end in an underscore, and are saved to a folder without pickle.

For the cascade (`ensemble.stacking.cascade`) a costly submodel can read only some lines of a note, and a submodel with
probabilities can give the probability of further PHI in each line.
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
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds, lines_touched, tokens_touched
from phistack.features.documents import Span
from phistack.features.errors import PackageError, SettingsError, did_you_mean
from phistack.features.saved_files import SavedFiles
from phistack.submodels.registry import KINDS, newest, usual_name

KIND = "kind"
"""The setting with the kind of a submodel; not an argument of its constructor."""


LineMask = NDArray[np.bool_]
"""Some lines of a note, as a mask of those of `features.columns.table.line_bounds`: `(n_lines,)`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that a submodel proposes as PHI.

    :param span: with its label.
    :param source: the name of the submodel, for example `crf`.
    :param score: the confidence of the submodel in [0, 1]; 1 if it has no probabilities.
    :param chosen: whether the submodel alone would mark the span; the others are only for the stacker. The chosen
        candidates of one submodel never overlap.
    :param evidence: the name of the pattern or rule that proposed it; never text of the note.
    """

    span: Span
    source: str
    score: float = 1.0
    chosen: bool = True
    evidence: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NoteProposals:
    """The proposals of a submodel for a note.

    :param candidates: as from `Submodel.propose`.
    :param residual: for each line the greatest probability of PHI at a token outside all candidates, `(n_lines,)`;
        `None` if the submodel has no probabilities.
    """

    candidates: list[Candidate]
    residual: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: FeatureTable, candidates: list[Candidate], is_phi: Floats) -> Self:
        """With `residual` from the probability of PHI at each token, of shape `(n_tokens,)`."""
        outside = is_phi.copy()
        for first, last in zip(*tokens_touched(table, [c.span for c in candidates]), strict=True):
            outside[first:last] = 0.0
        starts = line_bounds(table)[:-1]
        return cls(candidates, np.maximum.reduceat(outside, starts) if len(starts) else np.zeros(0))


@dataclass(frozen=True, slots=True)
class Pretraining:
    """Pretraining, shared by all folds.

    :param n_notes: how many synthetic notes it reads (`ensemble.synthesis`), if the language has any.
    :param changes: settings that differ in pretraining.
    :param corpora: paths of annotated notes that it reads too.
    """

    n_notes: int
    changes: Mapping[str, Any]
    corpora: Sequence[str] = ()


class Submodel(ABC):
    """One model that proposes PHI; each kind is a subclass.

    :cvar kind: the versioned name in bundles, such as `crf.v1`.
    :cvar cost: of a fit: about the seconds that one fold of MEDDOCAN takes.
    :cvar costly: whether `propose` is so slow that it should read only the lines that other submodels leave in doubt.
    :cvar reads_ahead: whether it reads each note once, before all folds, as its findings do not depend on training.
    :cvar discreet: whether `fit` keeps only what the `discretion_` of the feature space allows.
    :ivar name: the source of its candidates: the usual name of the kind, unless an engine gives it another one.
    """

    kind: ClassVar[str]
    cost: ClassVar[float] = 100.0
    costly: ClassVar[bool] = False
    reads_ahead: ClassVar[bool] = False
    discreet: ClassVar[bool] = False
    name: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = usual_name(getattr(cls, "kind", ""))

    @abstractmethod
    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn from annotated notes; :raises TrainingError: if there is nothing to learn."""

    def pretraining(self) -> Pretraining | None:
        """The pretraining before `fit`, if any."""
        return None

    def read_ahead(self, tables: Sequence[FeatureTable], folder: Path) -> None:
        """Write what it finds in all training notes, for `warm_start`; only for kinds with `reads_ahead`.

        :raises TrainingError: if it cannot learn from such notes.
        """
        raise NotImplementedError

    def warm_start(self, files: SavedFiles, space: FeatureSpace) -> None:
        """Let `fit` begin with the saved state of a pretrained submodel, or with what `read_ahead` wrote."""
        return

    @abstractmethod
    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """Candidates for each note; their source is `name`."""

    def propose_in(self, tables: Sequence[FeatureTable], wanted: Sequence[LineMask]) -> list[list[Candidate]]:
        """The candidates of `propose` in some lines of each note; a costly kind reads only these lines."""
        return candidates_in(tables, self.propose(tables), wanted)

    def proposals(self, tables: Sequence[FeatureTable]) -> list[NoteProposals]:
        """The candidates of `propose`, and `NoteProposals.residual` if the kind has probabilities."""
        return [NoteProposals(candidates) for candidates in self.propose(tables)]

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write settings and learned state into an existing, empty folder, without pickle."""

    @classmethod
    @abstractmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read the files of `save`, with the space of training; :raises BundleError: if they are damaged."""

    def settings(self) -> Mapping[str, Any]:
        """The constructor's arguments, JSON-ready, from the attributes of the same names."""
        given = {name: getattr(self, name) for name in signature(type(self)).parameters}
        return msgspec.json.decode(msgspec.json.encode(given), type=dict[str, Any])

    def check(self, features: FeatureSettings | None = None) -> None:
        """Check the settings before a training; :raises SettingsError: if they cannot work."""
        return

    def gives_nobody_away(self) -> bool:
        """Whether what it saves may be in a private engine; see `features.discretion`."""
        return self.discreet

    def content(self) -> str:
        """A digest of what its settings only name, such as an engine, so a cache notices changes."""
        return ""

    @classmethod
    def adapted(
        cls,
        settings: Mapping[str, Any],
        *,
        label_set: str = "",
        labels: Sequence[str] = (),
        patterns_file: str = "",
        pretraining_notes: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """The settings with a shipped label set (unless they name one), the corpus' labels, and a user's files.

        Each is added only if the constructor has an argument of that name.
        """
        given = {
            "label_set": settings.get("label_set") or label_set,
            "labels": [*labels],
            "patterns_file": patterns_file,
            "pretraining_notes": [*pretraining_notes],
        }
        known = signature(cls).parameters
        return {**settings, **{name: value for name, value in given.items() if value and name in known}}

    @classmethod
    def holds(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The usual names of the kinds that a submodel with these settings contains, as TBED contains regex."""
        return ()


def candidates_in(
    tables: Sequence[FeatureTable], proposals: Sequence[Sequence[Candidate]], wanted: Sequence[LineMask]
) -> list[list[Candidate]]:
    """The candidates in some lines of each note."""
    return [
        [c for c, is_in in zip(found, in_lines(table, [c.span for c in found], lines), strict=True) if is_in]
        for table, found, lines in zip(tables, proposals, wanted, strict=True)
    ]


def in_lines(table: FeatureTable, spans: Sequence[Span], lines: LineMask) -> NDArray[np.bool_]:
    """Whether each span is at least partly in one of some lines; of shape `(n_spans,)`."""
    first, last = lines_touched(table, spans)
    number_before = np.concatenate([[0], np.cumsum(lines)])
    touched: NDArray[np.bool_] = number_before[last] > number_before[first]
    return touched


def refuse_beyond(limits: Mapping[str, tuple[float, float]], settings: object, whose: str) -> None:
    """Check settings against their limits; :raises SettingsError: for the first beyond them.

    :param limits: setting -> its least and greatest value.
    :param whose: the owner of the settings, such as `the CRF`.
    """
    for name, (least, most) in limits.items():
        if not least <= getattr(settings, name) <= most:
            raise SettingsError(f"{whose}'s setting {name} must lie between {least} and {most}")


def submodel_class(kind: str) -> type[Submodel]:
    """The class of a kind (`crf.v1`, or `crf` for its newest version).

    :raises PackageError: if no installed package has it, or the registered object is not such a kind.
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
    """The kind of a submodel of an engine: the one in its settings, otherwise its name."""
    return str(settings.get(KIND, name))


def new_submodel(name: str, settings: Mapping[str, Any]) -> Submodel:
    """An untrained submodel of an engine.

    :param settings: arguments of the constructor, and the kind under `KIND` unless it is the name.
    :raises SettingsError: for an unknown setting, or one of the wrong type.
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
    """A trained submodel of an engine; :raises BundleError: if its files are damaged."""
    model = submodel_class(kind).load(files, space)
    model.name = name
    return model


_S = TypeVar("_S", bound=Submodel)


def saved_submodel(kind: type[_S], settings: Mapping[str, object]) -> _S:
    """An untrained submodel with the settings of a file.

    :raises ValueError: for an unknown setting, or one of the wrong type.
    :raises SettingsError: for a value that cannot work.
    """
    if unknown := settings.keys() - signature(kind).parameters.keys():
        raise ValueError(f"{len(unknown)} unknown settings")
    return kind(**_typed(kind, settings))


def _typed(kind: type[Submodel], settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings in the types of the constructor, as tuples for lists; :raises ValueError: for a wrong type."""
    hints = get_type_hints(kind.__init__)
    return {name: msgspec.convert(value, hints.get(name, Any)) for name, value in settings.items()}
