"""Everything that decides how an engine is trained, as one frozen value and as a TOML file.

    folds = 5
    seed = 0

    [features]
    language = "es"

    [submodels.crf]
    c2 = 0.1

    [stacker]
    features = "all"

A file names only what differs from the defaults. `[submodels]` may leave some out: only those that it has a table for
are trained; without `[submodels]` all four are.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ensemble.stacking.stacker import StackerSettings
from features.columns.table import FeatureSettings
from features.errors import SettingsError
from features.labels import LabelSet
from features.names import did_you_mean, no_such
from features.regular_files import read_regular
from submodels.base import new_submodel

__all__ = ["SUBMODELS", "EngineSettings"]

SUBMODELS = ("regex", "tbed", "crf", "blstm")
"""The submodels that are trained when nothing else is said."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How an engine is trained.

    :param features: tokens and columns.
    :param submodels: name -> constructor arguments that differ from the defaults.
    :param stacker: how the stacker is trained.
    :param folds: parts into which patients are split for out-of-fold prediction.
    :param seed: of every random choice.
    """

    features: FeatureSettings = field(default_factory=FeatureSettings)
    submodels: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {name: {} for name in SUBMODELS})
    stacker: StackerSettings = field(default_factory=StackerSettings)
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.submodels if name not in SUBMODELS]
        if unknown:
            raise SettingsError(no_such("submodel", unknown[0], SUBMODELS))
        if not self.submodels:
            raise SettingsError("name at least one submodel to train")
        ordered = {name: dict(self.submodels[name]) for name in SUBMODELS if name in self.submodels}
        object.__setattr__(self, "submodels", ordered)

    @classmethod
    def from_toml(cls, path: Path) -> EngineSettings:
        """Read a settings file; :raises SettingsError: naming the file and what is wrong in it."""
        try:
            return cls.from_dict(tomllib.loads(read_regular(path).decode("utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, SettingsError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise SettingsError(f"the settings file {path} cannot be used: {reason}") from None

    @classmethod
    def preset(cls, name: str) -> EngineSettings:
        """The settings of a published system, by its name; :raises SettingsError: for a name without a file."""
        folder = resources.files("ensemble.training") / "presets"
        names = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
        if name not in names:
            raise SettingsError(no_such("preset", name, names))
        return cls.from_dict(tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> EngineSettings:
        """The settings of a parsed file; unknown names are errors."""
        _refuse_unknown(table, cls, "the settings")
        parts: dict[str, Any] = dict(table)
        for name, part in (("features", FeatureSettings), ("stacker", StackerSettings)):
            if name in parts:
                _refuse_unknown(parts[name], part, f"[{name}]")
                parts[name] = part(**parts[name])
        return cls(**parts)

    def only(self, names: tuple[str, ...]) -> EngineSettings:
        """The same with just these submodels."""
        return replace(self, submodels={name: self.submodels.get(name, {}) for name in names})

    def for_label_set(self, name: str) -> EngineSettings:
        """The same, with patterns told the corpus' label set, so that those for types too rare to learn are kept."""
        if name not in LabelSet.names():
            return self
        submodels = {key: dict(settings) for key, settings in self.submodels.items()}
        if "regex" in submodels:
            submodels["regex"].setdefault("label_set", name)
        if submodels.get("tbed", {"start": ""}).get("start", "regex") == "regex":
            submodels["tbed"]["regex"] = {"label_set": name, **submodels["tbed"].get("regex", {})}
        return replace(self, submodels=submodels)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `from_dict` reads it back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @property
    def digest(self) -> str:
        """A short hash of all settings, those left at their defaults too, for result tables."""
        submodels = {name: dict(new_submodel(name, given).settings()) for name, given in self.submodels.items()}
        complete = json.dumps(self.to_dict() | {"submodels": submodels}, sort_keys=True)
        return hashlib.sha256(complete.encode()).hexdigest()[:12]


def _refuse_unknown(table: Mapping[str, Any], kind: type, where: str) -> None:
    known = [f.name for f in fields(kind)]
    unknown = [name for name in table if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise SettingsError(f"{where} have no entry named {unknown[0]}{near}; there are {', '.join(known)}")
