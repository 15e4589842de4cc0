"""A search space: ranges of a submodel's settings, declared in a TOML file.

    c2 = { from = 0.001, to = 10.0, scale = "log" }
    max_iterations = { from = 20, to = 80 }           whole numbers, as both ends are
    scheme = ["BIO", "BIOES"]                         one of these

    [search]
    trials = 250                                      how many are drawn by default
    validation = 20                                   percent of the patients that all trials are scored on

    space = SearchSpace.named("trienes2020")          an installed space, or the path of a file
    space.sampled(30, seed=0)                         30 draws such as {"c2": 0.0312, ...}

Random search (Bergstra and Bengio 2012) with scikit-learn's `ParameterSampler` and SciPy's distributions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.registry import FileRegistry

SPACES = FileRegistry("search-spaces", "search space", ".toml")
"""The search spaces of installed packages, by name."""

_SEARCH = "search"

_KEYS, _OF_SEARCH, _SCALES = ("from", "to", "scale"), ("trials", "validation"), ("linear", "log")
_MOST_VALIDATION = 50


@dataclass(frozen=True)
class SearchSpace:
    """Settings and their ranges.

    :param ranges: setting -> the values to choose from, or a table of its ends and scale.
    :param validation: percent of the patients that all trials are scored on; 0 for cross-validation.
    :raises SettingsError: if there is no range, or one is invalid.
    """

    ranges: Mapping[str, Any] = field(repr=False)
    trials: int = 20
    validation: int = 0

    def __post_init__(self) -> None:
        if self.trials < 1 or not 0 <= self.validation <= _MOST_VALIDATION:
            raise SettingsError(f"trials must be 1 or more, validation from 0 to {_MOST_VALIDATION}, in percent")
        if not self.ranges:
            raise SettingsError("it names no setting to search")
        for name, given in self.ranges.items():
            _distribution(name, given)

    @classmethod
    def named(cls, name: str) -> SearchSpace:
        """An installed space, or that of a file; :raises SettingsError: with the file and the mistake."""
        if name in SPACES.names:
            return cls.from_dict(tomllib.loads(SPACES.text(name)))
        with file_named("the search space", Path(name)):
            return cls.from_dict(read_toml(Path(name)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> SearchSpace:
        """The space that a file declares; :raises SettingsError: for an invalid one."""
        ranges = {name: given for name, given in table.items() if name != _SEARCH}
        search = table.get(_SEARCH, {})
        if not isinstance(search, Mapping) or not all(type(given) is int for given in search.values()):
            raise SettingsError("[search] must be a table of whole numbers")
        if unknown := sorted(search.keys() - {*_OF_SEARCH}):
            raise SettingsError(f"[search]: {no_such('key', unknown[0], _OF_SEARCH)}")
        return cls(ranges, **search)

    def sampled(self, trials: int, *, seed: int) -> list[dict[str, Any]]:
        """Random settings, the same for the same seed; fewer if all ranges are lists with fewer combinations."""
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        distributions = {name: _distribution(name, self.ranges[name]) for name in sorted(self.ranges)}
        if all(isinstance(given, list) for given in distributions.values()):
            trials = min(trials, len(ParameterGrid(distributions)))
        sampler = ParameterSampler(distributions, trials, random_state=seed)
        return [{name: self._value(name, drawn[name]) for name in self.ranges} for drawn in sampler]

    def _value(self, name: str, drawn: Any) -> Any:
        """A drawn value for a settings file: whole if both ends are, else with four digits and within the ends."""
        given = self.ranges[name]
        if isinstance(given, list):
            return drawn
        if isinstance(given["from"], int) and isinstance(given["to"], int):
            return round(float(drawn))
        return min(max(float(f"{drawn:.4g}"), float(given["from"])), float(given["to"]))


def _distribution(name: str, given: Any) -> Any:
    """A list or a distribution of SciPy to draw from; :raises SettingsError: for an invalid range."""
    from scipy.stats import loguniform, randint, uniform

    if isinstance(given, list) and given:
        return given
    if not isinstance(given, Mapping) or not {"from", "to"} <= given.keys():
        raise SettingsError(
            f"the range of {name} must be a list of values, or a table such as {{ from = 0.01, to = 1.0, scale = "
            f'"log" }}'
        )
    if unknown := sorted(given.keys() - {*_KEYS}):
        raise SettingsError(f"the range of {name}: {no_such('key', unknown[0], _KEYS)}")
    low, high, scale = given["from"], given["to"], given.get("scale", _SCALES[0])
    if scale not in _SCALES:
        raise SettingsError(f"the range of {name}: {no_such('scale', scale, _SCALES)}")
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)) or not low < high:
        raise SettingsError(f"the range of {name} must go from a number to a greater one")
    if scale == "log":
        if low <= 0:
            raise SettingsError(f"the range of {name} must begin above 0, as its scale is log")
        return loguniform(low, high)
    is_whole = isinstance(low, int) and isinstance(high, int)
    return randint(low, high + 1) if is_whole else uniform(low, high - low)
