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
from phistack.submodels.base import KIND, Submodel, new_submodel
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
    found = {name: _without(new_submodel(name, given), settings.features) for name, given in settings.submodels.items()}
    return {name: (part,) for name, part in found.items() if part}


def _without(model: Submodel, features: FeatureSettings) -> str:
    """What a submodel lacks, and how many of its templates are dropped for that."""
    read = [set(template) for template in _templates(model)]
    dropped = [template for template in read if not template.issubset(features.columns)]
    absent = sorted(set[str]().union(*dropped).difference(features.columns))
    parts = sorted({_NAMED.get(column, f"the column {column}") for column in absent})
    if isinstance(model, BlstmSubmodel) and model.pretrained and not features.vectors:
        parts.append("word vectors")
    is_counted = dropped and isinstance(model, CrfSubmodel | TbedSubmodel)
    count = f" ({len(dropped)} of {len(read)} templates)" if is_counted else ""
    return f"without {_in_words(parts)}{count}" if parts else ""


def _templates(model: Submodel) -> Iterable[Iterable[str]]:
    """The columns that a submodel reads together."""
    if isinstance(model, CrfSubmodel):
        return ((column for column, _ in cross) for cross in model.declared)
    if isinstance(model, TbedSubmodel) and model.templates in TEMPLATES.names:
        return (template.columns for template in named_templates(model.templates))
    if isinstance(model, BlstmSubmodel):
        return ([column] for column in model.columns)
    return [["ner"]] if isinstance(model, EntitySubmodel) else []


def _in_words(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
