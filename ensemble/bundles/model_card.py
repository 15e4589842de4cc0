"""A trained engine described for people: what it is, how good, on what, and where not to trust it.

The texts are in model_card.toml. A part without figures, as in bundles of older versions, is left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from phistack.ensemble.bundles.reliability import reliability_of

CALIBRATION_PICTURE = "calibration.svg"
"""The file with the reliability diagrams, beside the card."""

_LONG_LIST = re.compile(r"^\w+ = \[\n(?: .*\n)*\]\n", re.M)
"""A setting of many lines, such as the feature crosses of a CRF."""


def model_card(manifest: Mapping[str, Any], settings: str = "") -> str:
    """The card, as Markdown.

    :param manifest: of the bundle.
    :param settings: of the training, as TOML; empty if unknown.
    """
    facts = {
        "submodels": ", ".join(manifest["kinds"].values()),
        "label set": manifest["label_set"],
        "language": manifest["language"],
        "tokeniser": manifest["tokeniser"],
        "bundle protocol": manifest["protocol"],
        **{f"{name} version": version for name, version in manifest["versions"].items()},
    }
    figures = manifest["figures"]
    elsewhere = _table((row["corpus"], row["figure"], row["value"]) for row in measured_elsewhere(manifest))
    contradictions = " ".join(found["in short"] for found in figures.get("contradictions", []))
    calibration = _table((name, *_calibrated(found)) for name, found in figures.get("calibration", {}).items())
    choices = _table(
        (name, f"{row['threshold']:.2f}", *_shares(row["precision"], row["recall"]))
        for name, row in figures.get("recall choices", {}).items()
    )
    return _texts()["card"].format(
        facts=_facts(facts),
        reliability=_reliability(manifest),
        trained_on=_facts(manifest["trained_on"]),
        figures=_strict(figures),
        seeds=_seeds(figures),
        budget=_budget(figures.get("budget")),
        elsewhere=elsewhere and _part("elsewhere", rows=elsewhere),
        contradictions=contradictions and _part("contradictions", sentences=contradictions),
        choosers=_choosers(figures.get("choosers")),
        calibration=calibration and _part("calibration", picture=CALIBRATION_PICTURE, rows=calibration),
        cascade=_part("cascade", **figures["cascade"]) if figures.get("cascade") else "",
        choices=choices and _part("choices", rows=choices),
        settings=settings and _part("settings", toml=_LONG_LIST.sub("", settings)),
    )


def measured_elsewhere(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The figures on other notes by the builder of an engine: `corpus`, `figure` and `value` of each."""
    return list(manifest["figures"].get("measured elsewhere", ()))


@cache
def _texts() -> dict[str, str]:
    file = resources.files("phistack.ensemble.bundles") / "model_card.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _part(name: str, **values: Any) -> str:
    return _texts()[name].format_map(values)


def _table(rows: Iterable[Iterable[object]]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _facts(facts: Mapping[str, Any]) -> str:
    return _table((name.replace("_", " "), value) for name, value in facts.items())


def _shares(*shares: float) -> list[str]:
    return [f"{share:.4f}" for share in shares]


def _interval(ends: Sequence[float] | None) -> str:
    return "-".join(_shares(*ends)) if ends else ""


def _reliability(manifest: Mapping[str, Any]) -> str:
    reliability = reliability_of(manifest)
    sentences = [f"This engine was {reliability.sentence}."] if reliability.sentence.startswith("trained") else []
    return "\n\n".join([*sentences, *([f"**Warning**: {reliability.warning}."] if reliability.warning else [])])


def _strict(figures: Mapping[str, Any]) -> str:
    """Strict precision, recall and F1 of submodels and stack."""
    rows = (
        (
            name,
            *_shares(row["precision"], row["recall"]),
            _interval(row.get("recall_interval")),
            *_shares(row["f1"]),
            _interval(row.get("interval")),
        )
        for name, row in figures.get("strict", {}).items()
    )
    head = ("| system | precision | recall | 95 % interval | F1 | 95 % interval |", "|---|---|---|---|---|---|")
    return "\n".join([figures.get("protocol", ""), "", *head, *filter(None, [_table(rows)])])


def _seeds(figures: Mapping[str, Any]) -> str:
    rows = _table(
        (name, *(f"{found['mean']:.4f} ({found['sd']:.4f})" for found in row.values()))
        for name, row in figures.get("mean of seeds", {}).items()
    )
    return rows and _part("seeds", n=figures["seeds"], rows=rows)


def _budget(figures: Mapping[str, Any] | None) -> str:
    if not figures:
        return ""
    measured = figures.get("measured", ())
    rows = _table((row["submodels"], f"{row['f1']:.4f}", f"{row['notes per second']:.0f}") for row in measured)
    return _part("budget", **{**figures, **figures["machine"], "rows": rows})


def _choosers(figures: Mapping[str, Any] | None) -> str:
    if not figures:
        return ""
    unit, rows = figures.get("unit", "document"), _table(map(_chooser, figures["rows"]))
    return _part("choosers", unit=unit, shuffles=figures["shuffles"], sentence=figures["in short"], rows=rows)


def _chooser(row: Mapping[str, Any]) -> list[str]:
    scores = _shares(*(row[measure]["value"] for measure in ("precision", "recall", "f1")))
    compared = row.get("less stack")
    gap, p = (f"{compared['f1']['value']:+.4f}", f"{compared['p after Holm']:.3f}") if compared else ("", "")
    why = row["chosen on these notes as"]
    return [f"{row['name']}{f' ({why})' if why else ''}", *scores, gap, p]


def _calibrated(found: Mapping[str, Any]) -> list[str]:
    """Number of candidates, expected error, and the range where the probabilities are furthest off."""
    furthest = max(found["bins"], key=lambda some: abs(some["right"]["value"] - some["said"]), default=None)
    where = [*_shares(furthest["said"], furthest["right"]["value"]), str(furthest["n"])] if furthest else [" | | "]
    return [str(found["candidates"]), *_shares(found["expected error"]), *where]
