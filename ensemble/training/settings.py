"""Everything that decides how an engine is trained, as one frozen value and as a TOML file.

    folds = 5
    seed = 0
    cascade = true

    [features]
    language = "es"

    [submodels.crf]
    c2 = 0.1

    [stacker]
    features = "all"

A file names only what differs from the defaults. Only the submodels with a table under `[submodels]` are trained, and
all four without `[submodels]`. A file used with a preset changes and adds settings but removes none. A submodel has the
kind of its name unless its table has another `kind`, so there may be several of one kind.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import reduce
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from phistack.ensemble.stacking.folds import GROUP_BY, grouped_by
from phistack.ensemble.stacking.stacker import StackerSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.trained_tagger import SUFFIX
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError, did_you_mean
from phistack.features.files import file_named, read_toml
from phistack.features.labels import LabelSet
from phistack.features.limited_regex import LimitedRegex
from phistack.features.registry import FileRegistry
from phistack.submodels.base import KIND, kind_of, new_submodel, submodel_class
from phistack.submodels.registry import SUBMODELS, newest, usual_name, usual_names

PRESETS = FileRegistry("presets", "preset", ".toml", "phistack.ensemble.training:presets")
"""Settings by name: ours, and those of installed packages, such as those of published systems in `ensemble.papers`."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_TAKEN = ("stack", "stacker", "features", "load")
"""Names with another meaning in tables and times of a training."""
_ITEM = r'(?:"[^"\n]*"|[\w.+-]+|\[[^\[\]\n]*\])'
_SHORT_ARRAY = re.compile(rf"\[\n\s+((?:{_ITEM},\n\s+)*{_ITEM}),\n\s*\]")
"""An array of names, numbers or arrays of one line, one item per line, as `tomli_w` writes it."""
_MOST = 8
"""A stacker is trained for each subset of the submodels; each further submodel doubles their number."""
_LONGEST = 100
"""Characters in the name of a subset, which is a folder in the bundle."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How an engine is trained.

    :param submodels: name -> constructor arguments that differ from the defaults, and the `kind` unless it is the name;
        ours come first and in their usual order, then the others in the given order.
    :param folds: parts into which patients are split for out-of-fold prediction.
    :param group_by: a regular expression; notes with the same match in their names are in one fold. Empty for folds by
        patient; see `ensemble.stacking.folds.grouped_by`.
    :param private: keep only words and other values that this many patients share and no identifier has; see
        `features.discretion`. 0 keeps everything.
    :param cascade: whether the engine may let costly submodels read only lines in doubt; see
        `ensemble.stacking.cascade`.
    :param best_subset: whether to keep only the submodels whose stack has the best strict F1 out of fold.
    """

    features: FeatureSettings = field(default_factory=FeatureSettings)
    submodels: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {name: {} for name in SUBMODELS})
    stacker: StackerSettings = field(default_factory=StackerSettings)
    folds: int = 5
    seed: int = 0
    cascade: bool = True
    group_by: str = ""
    private: int = 0
    best_subset: bool = False

    def __post_init__(self) -> None:
        if self.group_by:
            LimitedRegex(self.group_by, "", GROUP_BY)
        if self.private < 0 or self.private == 1:
            raise SettingsError(f"private must be how many patients share a word, 2 or more, not {self.private}")
        if not self.submodels:
            raise SettingsError("name at least one submodel to train")
        _check_names(tuple(self.submodels))
        names = sorted(self.submodels, key=lambda name: SUBMODELS.index(name) if name in SUBMODELS else len(SUBMODELS))
        checked = {name: _checked(name, self.submodels[name]) for name in names}
        object.__setattr__(self, "submodels", checked)
        others = (name for name, given in checked.items() if kind_of(name, given) not in SUBMODELS)
        ahead = tuple(name for name in others if submodel_class(kind_of(name, checked[name])).reads_ahead)
        object.__setattr__(self, "stacker", replace(self.stacker, lean_on=ahead))

    @classmethod
    def chosen(cls, preset: str = "", path: Path | None = None, *, language: str = "en") -> EngineSettings:
        """The settings of a preset, overridden by those of a file.

        :param language: if neither names one.
        :raises SettingsError: for a name without a preset, or naming the file and what is wrong in it.
        """
        table: dict[str, Any] = merged({"features": {"language": language}}, _preset(preset) if preset else {})
        return cls.from_dict(table) if path is None else cls.from_toml(path, over=table)

    @classmethod
    def from_toml(cls, path: Path, *, over: Mapping[str, Any] | None = None) -> EngineSettings:
        """Read a settings file.

        :param over: a table of settings that those of the file override.
        :raises SettingsError: naming the file and what is wrong in it.
        """
        with file_named("the settings file", path):
            settings = cls.from_dict(merged(over or {}, read_toml(path)))
            for name, given in settings.submodels.items():
                new_submodel(name, given)
        return settings

    @classmethod
    def preset(cls, name: str) -> EngineSettings:
        """The settings of a preset, by its name; :raises SettingsError: for a name without a file."""
        return cls.from_dict(_preset(name))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> EngineSettings:
        """The settings of a parsed file; :raises SettingsError: for unknown names, and values of another type."""
        try:
            settings: EngineSettings = msgspec.convert(table, cls)
        except ValueError as error:
            reported = str(error).replace("`object`", "`table`").replace("`array`", "`list`").replace("$.", "")
            raise SettingsError(f"a value is of the wrong type: {reported}") from None
        _refuse_unknown(table, cls, "the settings")
        for name in ("features", "stacker"):
            _refuse_unknown(table.get(name, {}), type(getattr(settings, name)), f"[{name}]")
        return settings

    def check(self) -> None:
        """Check the settings of all submodels; :raises SettingsError: if one of them cannot be trained."""
        for column, tagger in self.features.taggers.items() if self.private else ():
            if tagger.endswith(SUFFIX):
                raise SettingsError(f"the tagger of {column} may hold words of patients; do without it, or private")
        for name, given in self.submodels.items():
            model = new_submodel(name, given)
            model.check(self.features)
            if self.private and not model.gives_nobody_away():
                raise SettingsError(
                    f"the submodel {name} may hold words of patients; train without it, or without private"
                )

    def check_stacking(self) -> None:
        """Check that the submodels can be stacked; :raises SettingsError: if the settings are for one alone."""
        if self.stacker.alone and len(self.submodels) > 1:
            raise SettingsError(
                f"these settings do not join their submodels; name one of {', '.join(self.submodels)} with "
                "--submodels, or set alone = false under [stacker]"
            )

    @property
    def unsplit(self) -> str:
        """What no fold splits, in words."""
        return f"what `{self.group_by}` finds in the names of the notes" if self.group_by else "patient"

    def grouped(self, corpus: Corpus) -> Corpus:
        """The corpus with the groups of notes by `group_by`, which stay together wherever it is split."""
        return grouped_by(corpus, self.group_by)

    def only(self, names: tuple[str, ...]) -> EngineSettings:
        """The same with only these submodels."""
        return replace(self, submodels={name: self.submodels.get(name, {}) for name in names})

    def with_engines(self, bundles: Iterable[str]) -> EngineSettings:
        """The same with trained engines as further submodels, each named after its bundle.

        As in the engines that ship, recall then counts twice, unless the settings say otherwise.

        :param bundles: paths, or names of engines that ship.
        :raises SettingsError: for a name that is taken.
        """
        submodels = dict(self.submodels)
        for bundle in bundles:
            path = Path(bundle)
            name = re.sub(r"[^A-Za-z0-9_-]", "-", path.name.removesuffix(".zip"))
            if name in submodels:
                raise SettingsError(
                    f"two submodels would be named {name}; give the engine another name under [submodels] in --config"
                )
            by_name = bundle == name and not path.exists()
            submodels[name] = {KIND: "engine", **({} if by_name else {"bundle": str(path.absolute())})}
        beta = 2.0 if len(submodels) > len(self.submodels) and self.stacker.beta == 1 else self.stacker.beta
        return replace(self, submodels=submodels, stacker=replace(self.stacker, beta=beta))

    def for_label_set(self, name: str, labels: Sequence[str] = ()) -> EngineSettings:
        """The same, with the label set of the corpus for patterns and engines, to keep types too rare to learn.

        :param name: of the set; ignored unless it ships with phistack.
        :param labels: of the corpus.
        """
        shipped = name if name in LabelSet.names() else ""
        adapted = dict(self.submodels)
        for key, settings in self.submodels.items():
            kind = submodel_class(kind_of(key, settings))
            if shipped or "labels" in signature(kind).parameters:
                adapted[key] = kind.adapted(settings, label_set=shipped, labels=labels)
        return replace(self, submodels=adapted)

    def with_patterns(self, path: Path) -> EngineSettings:
        """The same, with a user's own patterns; :raises SettingsError: if no submodel learns from patterns."""
        return self._adapted("--patterns; add regex", patterns_file=str(path))

    def with_pretraining(self, paths: Sequence[Path]) -> EngineSettings:
        """The same, with annotated notes to pretrain on; :raises SettingsError: if no submodel has a pretraining."""
        return self._adapted("--pretrain; add blstm", pretraining_notes=[*map(str, paths)])

    def _adapted(self, option: str, **given: Any) -> EngineSettings:
        adapted = {
            key: submodel_class(kind_of(key, settings)).adapted(settings, **given)
            for key, settings in self.submodels.items()
        }
        if adapted == self.submodels:
            raise SettingsError(f"none of the submodels {', '.join(adapted)} learns from {option} to them")
        return replace(self, submodels=adapted)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for `from_dict`."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def complete(self) -> dict[str, Any]:
        """JSON-ready, for `from_dict`, with every setting, those at their defaults too."""
        own = {name: new_submodel(name, given).settings() for name, given in self.submodels.items()}
        kinds = {name: {KIND: given[KIND]} for name, given in self.submodels.items() if KIND in given}
        submodels = {name: {**own[name], **kinds.get(name, {})} for name in own}
        return {**self.to_dict(), "submodels": submodels}

    def to_toml(self, *, complete: bool = True) -> str:
        """Every setting, or those of submodels only as they were given, as a file for `from_toml`."""
        toml = tomli_w.dumps(_without_none(self.complete() if complete else self.to_dict()))
        for _ in range(2):  # arrays, then arrays of these
            toml = _SHORT_ARRAY.sub(lambda array: "[" + re.sub(r"\n\s+", " ", array[1]) + "]", toml)
        return toml

    @property
    def digest(self) -> str:
        """A short hash of all settings, those at their defaults too, for result tables."""
        return hashlib.sha256(json.dumps(self.complete(), sort_keys=True).encode()).hexdigest()[:12]


def _check_names(names: tuple[str, ...]) -> None:
    """Check that names can be used for folders and sources of candidates, and are not too many."""
    for name in names:
        if not _NAME.fullmatch(name) or name in _TAKEN:
            raise SettingsError(
                f"a submodel cannot be named {name[:60]!a}; a name has up to 40 letters, digits, - and _, starts with "
                f"a letter, and is not one of {', '.join(_TAKEN)}"
            )
    if len({name.casefold() for name in names}) < len(names):
        raise SettingsError("two submodels have names that differ only in upper and lower case; rename one")
    if len(names) > _MOST or len("+".join(names)) > _LONGEST:
        raise SettingsError(
            f"an engine has at most {_MOST} submodels, with at most {_LONGEST} characters in all their names, not "
            f"{len(names)} with {len('+'.join(names))}"
        )


def _checked(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a submodel, without a kind that is its name."""
    if not isinstance(settings, Mapping):
        raise SettingsError(f"the settings of the submodel {name} must be a table, as [submodels.{name}] in a file is")
    kind = kind_of(name, settings)
    usual = usual_name(newest(kind))
    if kind == name:
        return {key: value for key, value in settings.items() if key != KIND}
    if name in usual_names() and name != usual:
        raise SettingsError(f"the submodel {name} has the name of one kind but is of the kind {kind}; rename it")
    return dict(settings)


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as one; entries of the second override those of the first, and tables in both are merged."""
    both = [name for name in over if isinstance(over[name], Mapping) and isinstance(under.get(name), Mapping)]
    return {**under, **over, **{name: merged(under[name], over[name]) for name in both}}


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table without entries that are `None`, which TOML cannot write."""
    return {
        name: _without_none(value) if isinstance(value, Mapping) else value
        for name, value in table.items()
        if value is not None
    }


def _preset(name: str) -> dict[str, Any]:
    """The table of a preset; a preset that is `like` others is merged over them."""
    table = PRESETS.table(name)
    like = table.pop("like", [])
    others = map(_preset, [like] if isinstance(like, str) else like)
    return reduce(merged, [*others, table])


def _refuse_unknown(table: Mapping[str, Any], kind: type, where: str) -> None:
    known = [f.name for f in fields(kind)]
    unknown = [name for name in table if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise SettingsError(f"{where} have no entry named {unknown[0]}{near}; there are {', '.join(known)}")
