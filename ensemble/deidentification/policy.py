"""Which strategy each label takes.

    Policy.named("safe-harbor").strategy("ZIP", "ZIP")               "generalise"
    Policy.named("tag").with_overrides({"DATE": "surrogate"})        the same, but dates are shifted

A policy names labels or kinds of PHI; a label beats its kind, and what is not named takes the default. As a file:

    default = "tag"

    [strategies]
    DATE = "surrogate"
    STATE = "keep"

    [options]
    keep_weekday = true

    tag          [PATIENT]
    number       [PATIENT-1], the same person the same number
    name         PATIENT, the label without brackets
    numbered     PATIENT 1, the same with a number for each person
    mask         an asterisk for every character, whatever its alphabet
    remove       nothing
    surrogate    another of the same kind; tagged where none can be made
    substitute   a string of one's own for the label, from the table [substitutes] or `--substitute`
    characters   each letter and digit by another of its class
    shuffle      another mention of the same label in the corpus, where there is a whole corpus
    generalise   dates to the year, ages of 90 and over to 90+, ZIP codes to three digits, professions to their group,
                 relatives to words such as `mother`
    keep         as it was
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from phistack.ensemble.deidentification.kinds import KINDS, kind_of
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.registry import FileRegistry
from phistack.features.suggestions import did_you_mean, no_such
from phistack.features.user_files import file_named, read_toml

REMOVING = ("tag", "number", "name", "numbered", "mask", "remove", "surrogate", "substitute", "characters", "shuffle")
"""Those that leave nothing of what was there."""

STRATEGIES = (*REMOVING, "generalise", "keep")

KEYED = ("surrogate", "characters", "shuffle")
"""Those that need a secret key."""

RESTRICTED_ZIP3 = tuple("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())
"""The ZIP code areas of 20,000 or fewer people in the census of 2000, which 45 CFR 164.514(b)(2)(i)(B) turns to 000
(Department of Health and Human Services, Guidance Regarding Methods for De-identification, 2012)."""

_OLDEST_AGES = ("90+", "89")
POLICIES = FileRegistry("policies", "policy", ".toml", "phistack.ensemble.deidentification:policies")


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of the strategies.

    :param keep_weekday: shift dates by whole weeks only.
    :param shift_forward: shift dates into the future only.
    :param shift_days: the greatest number of days by which the dates of a patient are shifted; 7 to 3650.
    :param age_shift: the greatest number of years by which a surrogate age differs; 1 to 5.
    :param oldest_age: what `generalise` writes for an age of 90 or more: `90+` or `89`.
    :param common_names: surrogate names are among so many of the most frequent of each list; 0 for all.
    :param same_county: places by others of the same county and the same preposition, rather than of the same region.
    :param generic_care_units: hospitals and departments by care units that any hospital may have.
    :param area_codes: exchange the area codes of telephone numbers, and the prefixes of mobile ones, for others.
    :param keep_general: counties, continents and, where dates are shifted by whole weeks, days of the week alone stay.
    :param present_year: of the data as a whole; a year 90 years or more before it shows an age of 90 or more, also in a
        note that holds no later year. 0 where only the years of the notes count.
    :param seek_again: in batch runs, take out names and numbers that were found elsewhere in the patient's notes,
        where they are no words of the language, although nothing marked them.
    :param restricted_zip3: three-digit ZIP code areas with too few people, written 000.
    :raises SettingsError: if a value is out of its range.
    """

    keep_weekday: bool = False
    shift_forward: bool = False
    shift_days: int = 364
    age_shift: int = 2
    oldest_age: str = "90+"
    common_names: int = 0
    same_county: bool = False
    generic_care_units: bool = False
    area_codes: bool = False
    keep_general: bool = False
    present_year: int = 0
    seek_again: bool = False
    restricted_zip3: tuple[str, ...] = RESTRICTED_ZIP3

    def __post_init__(self) -> None:
        for name, low, high in (("shift_days", 7, 3650), ("age_shift", 1, 5), ("common_names", 0, 10_000)):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise SettingsError(f"the policy option {name} must be a whole number from {low} to {high}")
        if self.present_year != 0 and not (type(self.present_year) is int and 1900 <= self.present_year <= 2199):
            raise SettingsError("the policy option present_year must be a year from 1900 to 2199, or 0")
        for name in (option.name for option in fields(self) if option.type == "bool"):
            if type(getattr(self, name)) is not bool:
                raise SettingsError(f"the policy option {name} must be true or false")
        if self.oldest_age not in _OLDEST_AGES:
            raise SettingsError(f"the policy option oldest_age must be {' or '.join(_OLDEST_AGES)}, in quotes")
        object.__setattr__(self, "restricted_zip3", tuple(map(str, self.restricted_zip3)))


@dataclass(frozen=True, slots=True)
class Policy:
    """A strategy for each label.

    :param name: for reports; not part of the digest.
    :param strategies: label or kind -> strategy.
    :param overrides: the same; asked before `strategies`.
    :param default: the strategy of what neither names.
    :param options: of the strategies.
    :param substitutes: label or kind -> the string that `substitute` writes.
    :raises SettingsError: for a strategy that does not exist, or a string to write that is empty.
    """

    name: str = "tag"
    strategies: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    default: str = "tag"
    options: PolicyOptions = PolicyOptions()
    substitutes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for strategy in (self.default, *self.strategies.values(), *self.overrides.values()):
            if strategy not in STRATEGIES:
                raise SettingsError(no_such("strategy", strategy, STRATEGIES))
        blank = [name for name, string in self.substitutes.items() if not string.strip()]
        if blank:
            raise SettingsError(
                f"the string that takes the place of {blank[0]} is empty; the strategy remove does that"
            )

    @classmethod
    def named(cls, name: str) -> Policy:
        """A policy that phistack ships; :raises SettingsError: for a name without one."""
        if name not in cls.names():
            raise SettingsError(f"{no_such('policy', name, cls.names())}, or give a TOML file")
        return cls._from_table(name, tomllib.loads(POLICIES.text(name)))

    @staticmethod
    def names() -> tuple[str, ...]:
        """The policies that phistack and installed packages ship."""
        return POLICIES.names

    @classmethod
    def from_toml(cls, path: Path) -> Policy:
        """Read a policy file; :raises SettingsError: naming the file and what is wrong in it."""
        with file_named("the policy file", path):
            return cls._from_table(path.stem, read_toml(path))

    @classmethod
    def _from_table(cls, name: str, table: Mapping[str, Any]) -> Policy:
        _refuse_unknown(table, ("default", "strategies", "options", "substitutes"), "a policy")
        options = dict(_subtable(table, "options"))
        _refuse_unknown(options, [f.name for f in fields(PolicyOptions)], "the options of a policy")
        strategies = {str(label): str(strategy) for label, strategy in _subtable(table, "strategies").items()}
        substitutes = {str(label): str(string) for label, string in _subtable(table, "substitutes").items()}
        return cls(name, strategies, {}, str(table.get("default", "tag")), PolicyOptions(**options), substitutes)

    def with_overrides(self, overrides: Mapping[str, str]) -> Policy:
        """The same policy with other strategies for some labels or kinds."""
        return replace(self, overrides={**self.overrides, **overrides})

    def with_substitutes(self, substitutes: Mapping[str, str]) -> Policy:
        """The same policy, which writes these strings for some labels or kinds."""
        chosen = {**self.overrides, **dict.fromkeys(substitutes, "substitute")}
        return replace(self, overrides=chosen, substitutes={**self.substitutes, **substitutes})

    def strategy(self, label: str, kind: str) -> str:
        """The strategy of a label that is of a kind of PHI."""
        for table in (self.overrides, self.strategies):
            for name in (label, kind):
                if name in table:
                    return table[name]
        return self.default

    def substitute(self, label: str, kind: str) -> str | None:
        """The string for a label that is of a kind of PHI, if there is one."""
        return next((self.substitutes[name] for name in (label, kind) if name in self.substitutes), None)

    def check(self, label_set: LabelSet) -> None:
        """Refuse a policy that names what is neither a label of the set nor a kind, or lacks a string to write.

        :raises SettingsError: naming the first such name, as a slip of the pen could leave PHI in place.
        """
        for name in (*self.strategies, *self.overrides, *self.substitutes):
            if name not in label_set and name not in KINDS:
                near = did_you_mean(name, (*label_set.labels, *KINDS))
                raise SettingsError(
                    f"the policy names {name}{near}, which is neither a label of {label_set.name} nor a kind of PHI; "
                    f"the kinds are {', '.join(KINDS)}"
                )
        for label in (*label_set.labels, ""):
            kind = kind_of(label, label_set.name)
            if self.strategy(label, kind) == "substitute" and self.substitute(label, kind) is None:
                name = label or kind
                raise SettingsError(
                    f"the policy has no string to write for {name}; give one as --substitute {name}=STRING, or in a "
                    "policy file under [substitutes]"
                )

    def uses(self, strategy: str, label_set: LabelSet) -> bool:
        """Whether any label of the set, or an unknown one, takes the strategy."""
        used = {self.strategy(label, kind_of(label, label_set.name)) for label in label_set.labels}
        return strategy in used | {self.strategy("", "OTHER")}

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides the output: equal policies have equal digests, on every machine."""
        content = {key: value for key, value in asdict(self).items() if key != "name"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _subtable(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, Mapping):
        raise SettingsError(f"{name} must be a table: [{name}]")
    return found


def _refuse_unknown(table: Mapping[str, Any], known: Any, where: str) -> None:
    unknown = [name for name in table if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise SettingsError(f"{where} has no entry {unknown[0]}{near}; there are {', '.join(known)}")
