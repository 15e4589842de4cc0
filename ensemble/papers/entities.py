"""A submodel: a general named-entity tagger, and rules for what such a tagger does not know.

    submodel = EntitySubmodel(label_set="tjongkimsang2019").fit(tables)
    submodel.propose(tables)[0]     [Candidate(Span(12, 17, "PER"), "entities", 0.9, True, "PERSON"), ...]

The system of Tjong Kim Sang et al. (2019): a tagger trained on other text (the feature column `ner`) finds persons,
organisations, locations, other names and numbers; rules, here the patterns that phistack ships, find dates, mail and
web addresses. Rules win over the tagger; numbers that neither finds come last. Training learns only which label the
corpus uses for each class, where its labels differ, and how often each class is right.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from phistack.ensemble.papers.rule_submodel import Mark, RuleSubmodel, first_of_overlapping
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.labels import LabelSet
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, shipped_patterns

_LOG = logging.getLogger("phistack")
_COLUMN = "ner"
_SET = "tjongkimsang2019"
CLASSES = LabelSet.named(_SET).labels
"""The eight classes."""

_RULED = ("DATE", "MAIL", "URL")
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,/:-]\d+)*(?!\w)")
_TYPES = {
    "PER": ("PERSON", "PER", "PRS"),
    "ORG": ("ORGANIZATION", "ORG"),
    "LOC": ("LOCATION", "LOC", "GPE", "GSP", "FACILITY", "FAC", "CITY", "STATE_OR_PROVINCE", "COUNTRY"),
    "MISC": (
        "MISC", "NORP", "EVENT", "EVN", "EVT", "WORK_OF_ART", "WRK", "PRODUCT", "PROD", "OBJ", "LAW", "LANGUAGE",
        "NATIONALITY", "RELIGION", "IDEOLOGY", "DRV", "OTH",
    ),
    "NUM": ("NUMBER", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT", "MSR"),
}  # fmt: skip
"""Class -> its names in CoreNLP, NLTK, spaCy and open corpora; dates are left to the rules, as in the paper."""
_CLASS_OF = {name: of_class for of_class, names in _TYPES.items() for name in names}


@dataclass(kw_only=True, eq=False, repr=False)
class EntitySubmodel(RuleSubmodel):
    """A general named-entity tagger with rules.

    Learned by `fit`: `labels_`, `precision_`, `patterns_` (the rules) and `language_`.

    :param numbers: whether every number that nothing else marks gets the class NUM.
    """

    kind: ClassVar[str] = "entities.v1"
    cost: ClassVar[float] = 0.5
    own_set: ClassVar[str] = _SET
    exact: ClassVar[bool] = True
    kept: ClassVar[tuple[str, ...]] = ("language",)

    numbers: bool = True

    def rules(self, space: FeatureSpace) -> tuple[Pattern, ...]:
        """The patterns of the language for dates, mail and web addresses."""
        if _COLUMN not in space.columns:
            _LOG.warning("entities: no general tagger is named as ner under [features], so there are rules only")
        self.language_ = space.settings.language
        named = [(p, p.label_in(_SET)) for p in self.shipped()]
        return tuple(replace(p, labels={ANY_SET: label}) for p, label in named if label in _RULED)

    def shipped(self) -> Iterable[Pattern]:
        """The patterns of the language."""
        return shipped_patterns(self.language_)

    def types(self) -> tuple[str, ...]:
        """The eight classes."""
        return CLASSES

    def marked(self, tables: Sequence[FeatureTable]) -> list[list[Mark]]:
        """What is found in each note; where marks overlap, rules win over the tagger, and numbers come last."""
        texts = [table.document.text for table in tables]
        found: list[list[Mark]] = []
        for table, text, ruled in zip(tables, texts, self.scanned(texts, self.language_), strict=True):
            # For the rules too, precision is counted by class, not by rule.
            of_rules = sorted((m._replace(rule=m.type) for _, m in ruled), key=lambda m: (m.start - m.end, m))
            of_numbers = [Mark(*m.span(), "NUM", "NUM", "number") for m in _NUMBER.finditer(text) if self.numbers]
            found.append(first_of_overlapping([*of_rules, *_tagged(table), *of_numbers], len(text)))
        return found


def _tagged(table: FeatureTable) -> Iterator[Mark]:
    """The tagger's entities: runs of tokens of one type within a sentence."""
    if _COLUMN not in table.space.columns:
        return
    values = table.space.values(_COLUMN)
    types = [values[i] for i in table.column(_COLUMN).tolist()]
    starts, ends = table.offsets
    sentence = table.sentences.searchsorted(range(len(types)), side="right")
    for (name, _), run in groupby(range(len(types)), key=lambda i: (types[i], sentence[i])):
        tokens = list(run)
        if name in _CLASS_OF:
            yield Mark(int(starts[tokens[0]]), int(ends[tokens[-1]]), _CLASS_OF[name], _CLASS_OF[name], name)
