"""Label sets: which PHI types an annotation scheme knows, and the category and HIPAA status of each.

    labels = LabelSet.named("i2b2-2014")
    labels.category("DOCTOR")    # "NAME"
    labels.hipaa("DOCTOR")       # False: HIPAA does not list providers

The sets and the mappings between them are in `label_sets/NAME.toml` and `label_sets/mappings.toml`. A user's file has
the same form, with the mappings into its set:

    language = "en"

    [types]
    NAME = { category = "NAME", hipaa = true }

    [from.i2b2-2014]
    PATIENT = "NAME"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec

from phistack.features.errors import LabelError, did_you_mean, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.registry import packaged_table
from phistack.features.shown import hashed

_TABLES = resources.files("phistack.features") / "label_sets"
_Name = TypeVar("_Name", bound=str)
_TOML = ".toml"
_LABEL = re.compile(r"[^\W\d_][\w.:/+-]{0,63}")


class _LabelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    category: str
    hipaa: bool = False


class _LabelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file holds."""

    types: dict[str, _LabelEntry]
    language: str = "en"
    by_name_only: bool = False
    mappings: dict[str, dict[str, str]] = msgspec.field(name="from", default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The PHI types of one annotation scheme.

    :param name: for example `i2b2-2014`.
    :param categories: label -> category, as the scheme's XML elements are named.
    :param hipaa_labels: the labels that HIPAA Safe Harbor lists.
    :param language: the language in which corpora of this scheme are written, as an ISO 639-1 code.
    """

    name: str
    categories: Mapping[str, str] = field(repr=False)
    hipaa_labels: frozenset[str] = field(repr=False, default=frozenset())
    language: str = "en"

    @classmethod
    def of(cls, given: str) -> LabelSet:
        """A label set by its name, or by the path of a TOML file, which names it.

        :raises LabelError: if there is no such set, or the file cannot be used.
        """
        return cls._of_table(Path(given).stem, _own_table(given)) if given.endswith(_TOML) else cls.named(given)

    @classmethod
    def named(cls, name: str) -> LabelSet:
        """Read a label set that phistack ships; :raises LabelError: for a name without a table."""
        if name not in cls.names():
            raise LabelError(f"{no_such('label set', name, cls.names())}, or give a TOML file")
        return cls._of_table(name, _shipped(name))

    @classmethod
    def _of_table(cls, name: str, table: _LabelFile) -> LabelSet:
        hipaa_labels = frozenset(label for label, properties in table.types.items() if properties.hipaa)
        categories = {label: properties.category for label, properties in table.types.items()}
        return cls(name, categories, hipaa_labels, table.language)

    @staticmethod
    def names() -> tuple[str, ...]:
        """The label sets that phistack ships."""
        names = {entry.name.removesuffix(_TOML) for entry in _TABLES.iterdir() if entry.name.endswith(_TOML)}
        return tuple(sorted(names - {"mappings"}))

    @classmethod
    def recognised(cls) -> tuple[str, ...]:
        """The shipped sets by which a corpus is recognised; the labels of others are too general for that."""
        return tuple(name for name in cls.names() if not _shipped(name).by_name_only)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the table."""
        return tuple(self.categories)

    def __contains__(self, label: object) -> bool:
        return label in self.categories

    def category(self, label: str) -> str:
        """The category of a label; :raises LabelError: for an unknown label."""
        if label not in self.categories:
            raise LabelError(f"the label {hashed(label)} is not in the label set {self.name}")
        return self.categories[label]

    def hipaa(self, label: str) -> bool:
        """Whether HIPAA Safe Harbor lists the type."""
        return label in self.hipaa_labels

    def extended(self, categories: Mapping[str, str]) -> LabelSet:
        """This set with further labels (label -> category)."""
        new = {label: category for label, category in categories.items() if label not in self.categories}
        return LabelSet(self.name, {**self.categories, **new}, self.hipaa_labels, self.language) if new else self


def most_frequent(counts: Mapping[_Name, int]) -> _Name:
    """The name with the highest count, first in order if several; :raises ValueError: if nothing was counted."""
    return min(counts, key=lambda name: (-counts[name], name))


@cache
def _shipped(name: str) -> _LabelFile:
    return msgspec.convert(packaged_table("phistack.features", f"label_sets/{name}.toml"), _LabelFile)


def is_label(label: str) -> bool:
    """Whether a label can be written in every format: it begins with a letter and has no blanks."""
    return bool(_LABEL.fullmatch(label))


def label_mapping(source: str, target: str) -> Mapping[str, str]:
    """The table that turns labels of one set into those of another.

    :param source: the name of a set.
    :param target: the name of another, or the path of a TOML file that has a table `[from.SOURCE]`.
    :returns: source label -> target label, for every label of the source.
    :raises LabelError: if there is no such table.
    """
    if target.endswith(_TOML):
        own = _own_table(target).mappings
        if source not in own:
            raise LabelError(
                f"there is no mapping from the label set {source} in {target}; add a table [from.{source}]"
            )
        return own[source]
    mappings: dict[str, dict[str, str]] = packaged_table("phistack.features", "label_sets/mappings.toml").get(
        source, {}
    )
    if target not in mappings:
        near, known = did_you_mean(target, mappings), " or ".join(mappings)
        instead = f"map to {known}" if known else "rename the labels in the corpus"
        raise LabelError(f"there is no mapping from the label set {source} to {target}{near}; {instead}")
    return mappings[target]


def _own_table(path: str) -> _LabelFile:
    """A user's file, checked; :raises LabelError: naming the file and what is wrong in it."""
    with file_named("the label set file", Path(path), LabelError):
        table = msgspec.convert(read_toml(Path(path)), _LabelFile)
        targets = {label for mapping in table.mappings.values() for label in mapping.values()}
        bad = sorted(label for label in table.types if not is_label(label)) or sorted(targets - table.types.keys())
        if bad:
            raise LabelError(f"{bad[0][:64]!a} is no label of it: a letter, then letters, digits and _ . : / + -")
        if not table.types:
            raise LabelError("it has no [types]")
        if Path(path).stem in LabelSet.names():
            raise LabelError("a shipped label set has its name; rename the file")
    return table
