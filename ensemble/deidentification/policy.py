"""Which strategy each label takes.

    Policy.named("safe-harbor").strategy("ZIP", "ZIP")               "generalise"
    Policy.named("tag").with_overrides({"DATE": "surrogate"})        the same, but dates are shifted

A policy names labels or kinds of PHI; a label beats its kind, and what it does not name takes the default.
`policies/` has the policies that ship, `strategies.toml` the strategies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from phistack.ensemble.deidentification.kinds import KINDS, kind_of
from phistack.ensemble.deidentification.word_lists import shipped
from phistack.features.errors import SettingsError, did_you_mean, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.labels import LabelSet
from phistack.features.registry import FileRegistry


def _strategies(*properties: str) -> tuple[str, ...]:
    """The strategies that declare all these properties in `strategies.toml`."""
    return tuple(name for name, declared in shipped("strategies").items() if all(map(declared.get, properties)))


STRATEGIES = _strategies()
REMOVING = _strategies("removes")
"""Those that leave nothing of the original."""
KEYED = _strategies("keyed")
"""Those that need a secret key."""
REMEMBERING = _strategies("remembers")
"""Those that need the names and identifiers of the patient's notes."""

RESTRICTED_ZIP3 = tuple("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())
"""ZIP code areas of 20,000 or fewer people in the census of 2000, which 45 CFR 164.514(b)(2)(i)(B) turns to 000 (HHS,
Guidance Regarding Methods for De-identification, 2012)."""

_ALLOWED: dict[str, tuple[Container[object], str]] = {
    "shift_days": (range(7, 3651), "a whole number from 7 to 3650"),
    "age_shift": (range(1, 6), "a whole number from 1 to 5"),
    "common_names": (range(10_001), "a whole number from 0 to 10000"),
    "name_changes": (range(101), "a whole number from 0 to 100"),
    "present_year": ((0, *range(1900, 2200)), "a year from 1900 to 2199, or 0 for this year"),
    "oldest_age": (("90+", "89"), "90+ or 89, in quotes"),
}
_FLAGS = (False, True)
POLICIES = FileRegistry("policies", "policy", ".toml", "phistack.ensemble.deidentification:policies")


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of the strategies.

    :param keep_weekday: shift dates by whole weeks only.
    :param shift_forward: shift dates into the future only.
    :param shift_days: the most days by which the dates of a patient are shifted; 7 to 3650.
    :param age_shift: the most years by which a surrogate age differs; 1 to 5.
    :param oldest_age: what `generalise` writes for an age of 90 or more: `90+` or `89`.
    :param common_names: take surrogate names from this many of the most frequent in each list; 0 for all.
    :param name_changes: in how many of 100 cases a name that is mentioned again in a note gets another surrogate.
    :param same_county: replace places by others of the same county and preposition, rather than of the same region.
    :param generic_care_units: replace hospitals and departments by care units that any hospital may have.
    :param area_codes: exchange the area codes of telephone numbers, and the prefixes of mobile ones, for others.
    :param keep_general: keep counties, continents and, where dates are shifted by whole weeks, days of the week alone.
    :param present_year: no earlier than the latest note; `generalise` removes years 90 or more before it. 0: this year.
    :param over_89: also change unmarked ages over 89, unmarked birth years that show one, and ages that pass 89 by the
        latest date of the patient's notes.
    :param seek_again: in batch runs, also remove unmarked names and numbers that were found elsewhere in the patient's
        notes, unless they are words of the language.
    :param restricted_zip3: three-digit ZIP code areas with too few people, written 000.
    :raises SettingsError: if a value is out of its range.
    """

    keep_weekday: bool = False
    shift_forward: bool = False
    shift_days: int = 364
    age_shift: int = 2
    oldest_age: str = "90+"
    common_names: int = 0
    name_changes: int = 0
    same_county: bool = False
    generic_care_units: bool = False
    area_codes: bool = False
    keep_general: bool = False
    present_year: int = 0
    over_89: bool = False
    seek_again: bool = False
    restricted_zip3: tuple[str, ...] = RESTRICTED_ZIP3

    def __post_init__(self) -> None:
        for option in fields(self)[:-1]:
            value, (allowed, words) = getattr(self, option.name), _ALLOWED.get(option.name, (_FLAGS, "true or false"))
            if type(value) is not type(option.default) or value not in allowed:
                raise SettingsError(f"the policy option {option.name} must be {words}")
        object.__setattr__(self, "restricted_zip3", tuple(map(str, self.restricted_zip3)))


@dataclass(frozen=True, slots=True)
class Policy:
    """A strategy for each label.

    :param name: for reports; not part of the digest.
    :param strategies: label or kind -> strategy.
    :param overrides: the same; they take precedence over `strategies`.
    :param default: the strategy for what neither names.
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
            raise SettingsError(f"the string that takes the place of {blank[0]} is empty; use the strategy remove")

    @classmethod
    def named(cls, name: str) -> Policy:
        """A policy that phistack ships; :raises SettingsError: for an unknown name."""
        if name not in cls.names():
            raise SettingsError(f"{no_such('policy', name, cls.names())}, or give a TOML file")
        return cls._from_table(name, POLICIES.table(name))

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
        for part in ("strategies", "options", "substitutes"):
            if not isinstance(table.get(part, {}), Mapping):
                raise SettingsError(f"{part} must be a table: [{part}]")
        strategies, options, substitutes = (
            dict(table.get(part, {})) for part in ("strategies", "options", "substitutes")
        )
        _refuse_unknown(options, [f.name for f in fields(PolicyOptions)], "the options of a policy")
        substitutes = {label: str(string) for label, string in substitutes.items()}
        return cls(name, strategies, {}, table.get("default", "tag"), PolicyOptions(**options), substitutes)

    def with_overrides(self, overrides: Mapping[str, str]) -> Policy:
        """The same policy with other strategies for some labels or kinds."""
        return replace(self, overrides={**self.overrides, **overrides})

    def with_substitutes(self, substitutes: Mapping[str, str]) -> Policy:
        """The same policy, which writes these strings for some labels or kinds."""
        policy = self.with_overrides(dict.fromkeys(substitutes, "substitute"))
        return replace(policy, substitutes={**self.substitutes, **substitutes})

    def in_year(self, year: int = 0) -> Policy:
        """The same policy, with ages counted in `year` unless it names another; 0 for the current year."""
        year = self.options.present_year or year or date.today().year
        return replace(self, options=replace(self.options, present_year=year))

    def strategy(self, label: str, kind: str) -> str:
        """The strategy of a label of this kind of PHI."""
        tables = (self.overrides, self.strategies)
        return next((table[name] for table in tables for name in (label, kind) if name in table), self.default)

    def substitute(self, label: str, kind: str) -> str | None:
        """The string for a label of this kind of PHI, if there is one."""
        return next((self.substitutes[name] for name in (label, kind) if name in self.substitutes), None)

    def check(self, label_set: LabelSet) -> None:
        """Refuse a policy that names what is neither a label of the set nor a kind, or lacks a string to write.

        :raises SettingsError: naming the first such name; a typo could leave PHI in the text.
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

    def uses(self, strategies: Iterable[str], label_set: LabelSet) -> bool:
        """Whether any label of the set, or an unknown one, takes one of the strategies."""
        labels = (*label_set.labels, "")
        return any(self.strategy(label, kind_of(label, label_set.name)) in strategies for label in labels)

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides the output: equal policies have equal digests, on every machine."""
        content = {key: value for key, value in asdict(self).items() if key != "name"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _refuse_unknown(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    unknown = [name for name in table if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise SettingsError(f"{where} has no entry {unknown[0]}{near}; there are {', '.join(known)}")
