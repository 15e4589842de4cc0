"""Label sets: which PHI types an annotation scheme knows, and the category and HIPAA status of each.

    labels = LabelSet.named("i2b2-2014")
    labels.category("DOCTOR")    # "NAME"
    labels.hipaa("DOCTOR")       # False: HIPAA does not list providers

The sets and the mappings between them are tables: `label_sets/NAME.toml` and `label_sets/mappings.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

from features.errors import LabelError
from features.hashed import hashed
from features.suggestions import did_you_mean, no_such

__all__ = ["LabelSet", "label_mapping"]

_TABLES = resources.files("features") / "label_sets"


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
    def named(cls, name: str) -> LabelSet:
        """Read a label set that phistack ships; :raises LabelError: for a name without a table."""
        try:
            table = tomllib.loads((_TABLES / f"{name}.toml").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LabelError(no_such("label set", name, cls.names())) from None
        types: dict[str, dict[str, object]] = table["types"]
        return cls(
            name,
            {label: str(properties["category"]) for label, properties in types.items()},
            frozenset(label for label, properties in types.items() if properties.get("hipaa")),
            table["language"],
        )

    @staticmethod
    def names() -> tuple[str, ...]:
        """The label sets that phistack ships."""
        files = (entry.name for entry in _TABLES.iterdir())
        return tuple(sorted(f.removesuffix(".toml") for f in files if f.endswith(".toml") and f != "mappings.toml"))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the table."""
        return tuple(self.categories)

    def __contains__(self, label: object) -> bool:
        return label in self.categories

    def category(self, label: str) -> str:
        """The category of a label; :raises LabelError: for an unknown label."""
        try:
            return self.categories[label]
        except KeyError:
            raise LabelError(f"the label {hashed(label)} is not in the label set {self.name}") from None

    def hipaa(self, label: str) -> bool:
        """Whether HIPAA Safe Harbor lists the type."""
        return label in self.hipaa_labels

    def extended(self, categories: Mapping[str, str]) -> LabelSet:
        """This set with further labels (label -> category), as when a user accepts unknown ones."""
        new = {label: category for label, category in categories.items() if label not in self.categories}
        return LabelSet(self.name, {**self.categories, **new}, self.hipaa_labels, self.language) if new else self


def label_mapping(source: str, target: str) -> Mapping[str, str]:
    """The table that turns labels of one set into those of another.

    :returns: source label -> target label, for every label of the source.
    :raises LabelError: if there is no such table.
    """
    tables = tomllib.loads((_TABLES / "mappings.toml").read_text(encoding="utf-8"))
    try:
        mapping: dict[str, str] = tables[source][target]
    except KeyError:
        near, known = did_you_mean(target, tables.get(source, ())), " or ".join(tables.get(source, ()))
        instead = f"map to {known}" if known else "rename the labels in the corpus"
        raise LabelError(f"there is no mapping from the label set {source} to {target}{near}; {instead}") from None
    return mapping
