"""A trained engine described for people: what it is, how good, on what, and where not to trust it.

    reliability = reliability_of(read_manifest(path))
    reliability.sentence     "trained on 38 notes of 38 patients; out of fold it finds 91.2 % (88.0-93.9) of ..."
    reliability.warning      "this engine was trained on few notes (fewer than 100): a person must check ..."
    model_card(manifest)     all of it, by the template model_card.md

Bundles of older versions have fewer figures, and some have none; the card leaves out a part without figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec

from phistack.ensemble.tools.templates import template

CALIBRATION_PICTURE = "calibration.svg"
"""The file with the reliability diagrams, beside the card."""

_LONG_LIST = re.compile(r"^\w+ = \[\n(?: .*\n)*\]\n", re.M)
"""A setting of many lines, such as the feature crosses of a CRF."""

FEW_NOTES = 100
LEAST_RECALL = 0.9
"""With fewer notes, or if recall may be lower, a person must check the output."""


class _Found(TypedDict, total=False):
    recall: float
    recall_interval: tuple[float, float]


class _Strict(TypedDict, total=False):
    stack: _Found


class _Figures(TypedDict, total=False):
    strict: _Strict


class _TrainedOn(TypedDict, total=False):
    documents: int
    patients: int


class _ReliabilityManifest(TypedDict):
    trained_on: _TrainedOn
    figures: _Figures


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability of an engine, in words.

    :param sentence: the size of its training corpus and the share of the PHI that it finds.
    :param warning: why a person must check its output; empty if the figures are good.
    """

    sentence: str
    warning: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Both, as a terminal shows them."""
        return (f"engine: {self.sentence}", *((f"warning: {self.warning}",) if self.warning else ()))


def reliability_of(manifest: Mapping[str, Any]) -> Reliability:
    """The reliability of an engine by its manifest, which may be incomplete or damaged.

    The share is the strict out-of-fold recall of the stack, with its 95 % interval.
    """
    try:
        known: _ReliabilityManifest = msgspec.convert(dict(manifest), _ReliabilityManifest)
    except ValueError:
        known = {"trained_on": {}, "figures": {}}
    found = known["figures"].get("strict", {}).get("stack", {})
    documents = known["trained_on"].get("documents")
    return Reliability(f"{_training(known['trained_on'])}; {_recall(found)}", _warning(documents, found))


def _training(trained_on: _TrainedOn) -> str:
    if "documents" not in trained_on:
        return "trained on an unknown number of notes"
    patients = f" of {trained_on['patients']} patients" if "patients" in trained_on else ""
    return f"trained on {trained_on['documents']} notes{patients}"


def _recall(found: _Found) -> str:
    if "recall" not in found:
        return "how much of the PHI it finds is unknown"
    if "recall_interval" not in found:
        return f"out of fold it finds {100 * found['recall']:.1f} % of the PHI, strictly (without an interval)"
    low, high = found["recall_interval"]
    return f"out of fold it finds {100 * found['recall']:.1f} % ({100 * low:.1f}-{100 * high:.1f}) of the PHI, strictly"


def _warning(documents: int | None, found: _Found) -> str:
    reasons = []
    if documents is None or documents < FEW_NOTES:
        reasons.append(f"was trained on few notes (fewer than {FEW_NOTES})" if documents else "names no training notes")
    if "recall" not in found:
        reasons.append("does not say how much it finds")
    elif min(found.get("recall_interval", (found["recall"],))) < LEAST_RECALL:
        reasons.append(f"may find less than {100 * LEAST_RECALL:.0f} % of the PHI")
    return f"this engine {' and '.join(reasons)}: a person must check its output" if reasons else ""


def model_card(manifest: Mapping[str, Any], settings: str = "", certificates: Sequence[Any] = ()) -> str:
    """The card, as Markdown.

    :param manifest: the manifest of the bundle.
    :param settings: the settings of the training, as TOML; empty if unknown.
    :param certificates: each a `Certificate`.
    """
    card = template("phistack.ensemble.bundles", "model_card.md").render(
        manifest=manifest, figures=manifest["figures"], reliability=reliability_of(manifest), furthest=_furthest,
        picture=CALIBRATION_PICTURE, settings=_LONG_LIST.sub("", settings),
        certificates=certificates,
    )  # fmt: skip
    return card.rstrip("\n") + "\n"


def _furthest(bins: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The range in which the probabilities are furthest off."""
    return max(bins, key=lambda some: abs(some["right"]["value"] - some["said"]), default=None)
