"""What a paper's system has and these settings leave out, so that no table shows less as if it were all.

    missing_parts(settings)     {"crf": ("without parts of speech (20 of 52 templates)",)}

Read off the settings, before anything is trained: files of vectors and clusters that are not named, taggers that are
left out, and the templates that are dropped with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from phistack.ensemble.papers.entities import EntitySubmodel
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.representations import BROWN_COLUMNS, VECTOR_CLUSTER
from phistack.features.columns.settings import FeatureSettings
from phistack.submodels.base import KIND, new_submodel
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.tbed.submodel import TbedSubmodel
from phistack.tbed.templates import TEMPLATES, named_templates

_NAMED = {
    "pos": "parts of speech",
    "ner": "general named entities",
    VECTOR_CLUSTER: "clusters of word vectors",
    **dict.fromkeys(BROWN_COLUMNS, "Brown clusters"),
}
"""Column -> the part that it is of."""


def is_missing(given: Mapping[str, Any]) -> bool:
    """Whether the settings of a submodel are those of the published program DEDUCE, and it is not installed."""
    return given.get(KIND) == "deduce_program" and find_spec("deduce") is None


def missing_parts(settings: EngineSettings) -> dict[str, tuple[str, ...]]:
    """Submodel -> what its settings leave out of the paper's, in words; nothing for one that has all."""
    found = {name: tuple(_of(name, given, settings.features)) for name, given in settings.submodels.items()}
    return {name: parts for name, parts in found.items() if parts}


def _of(name: str, given: Mapping[str, Any], features: FeatureSettings) -> Iterable[str]:
    model = new_submodel(name, given)
    if isinstance(model, CrfSubmodel):
        yield from _without(({column for column, _ in cross} for cross in model.declared), features)
    elif isinstance(model, TbedSubmodel) and model.templates in TEMPLATES.names:
        yield from _without((template.columns for template in named_templates(model.templates)), features)
    elif isinstance(model, EntitySubmodel):
        yield from _without([{"ner"}], features)
    elif isinstance(model, BlstmSubmodel):
        lacking = [*_lacking(model.columns, features)]
        if model.pretrained and not features.vectors:
            lacking.append("word vectors")
        if lacking:
            yield f"without {_in_words(lacking)}"


def _lacking(columns: Iterable[str], features: FeatureSettings) -> list[str]:
    """The parts that some columns are of which the features leave out."""
    absent = (column for column in columns if column not in features.columns)
    return list(dict.fromkeys(_NAMED.get(column, f"the column {column}") for column in absent))


def _without(templates: Iterable[Iterable[str]], features: FeatureSettings) -> Iterable[str]:
    """What templates, each of some columns, lack, and how many are dropped for that."""
    declared = [set(template) for template in templates]
    dropped = [template for template in declared if not template.issubset(features.columns)]
    if dropped:
        parts = _in_words(sorted(_lacking(sorted(set[str]().union(*dropped)), features)))
        count = f" ({len(dropped)} of {len(declared)} templates)" if len(declared) > 1 else ""
        yield f"without {parts}{count}"


def _in_words(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
