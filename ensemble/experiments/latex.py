"""Results as `table.tex`, for papers. All of them read what `results.json` holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ensemble.evaluation.latex import escaped, latex_table, share
from ensemble.experiments.parts import STACK
from ensemble.experiments.tables import spread

__all__ = ["ablation_latex", "curve_latex", "transfer_latex"]

_MEASURES = ("precision", "recall", "f1")
_BOOTSTRAP = r"95\,\% bootstrap intervals by document"


def ablation_latex(results: Mapping[str, Any]) -> str:
    """Every variant by sections: scores with intervals, the difference to the stack and its corrected p-value."""
    test = results["test"]
    where = "out of fold" if test is None else f"on {test['documents']} other notes"
    caption = (
        f"Criterion: {results['criterion']}. Trained on {results['training']['documents']} notes, scored {where}. "
        f"In brackets {_BOOTSTRAP}; $p$ of paired approximate randomisation by document with {results['shuffles']} "
        f"shuffles, after Holm's correction. Differences are to the full stack, in points of F1; "
        f"{results['variants tried']} variants were tried."
    )
    columns = ("system", "precision", "recall", "F1", "difference", "$p$")
    parts = groupby(results["rows"], key=lambda row: row["part"])
    return latex_table(_comment(results), caption, columns, (map(_variant, rows) for _, rows in parts))


def _variant(row: Mapping[str, Any]) -> Sequence[str]:
    gap = row.get("difference")
    compared = (f"${100 * gap['f1']['value']:+.2f}$", f"{gap['p after Holm']:.4f}") if gap else ("", "")
    return (_system(row["name"]), *(share(**row[name]) for name in _MEASURES), *compared)


def curve_latex(results: Mapping[str, Any]) -> str:
    """Mean F1 of every system, a row a share, in brackets the spread that the caption names."""
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = results["curves"]
    caption = (
        f"F1 in percent by the share of {results['training']['patients']} training patients, on "
        f"{results['test']['documents']} other notes; criterion: {results['criterion']}. Means over "
        f"{results['samples']} random orders, in brackets: {escaped(results['spread'])}."
    )
    rows = [
        (rf"{points[0]['share']}\,\%", str(points[0]["patients"]), *map(_point, points))
        for points in zip(*curves.values(), strict=True)
    ]
    columns = ("share", "patients", *map(_system, curves))
    return latex_table(_comment(results), caption, columns, [rows], texts=0)


def _point(point: Mapping[str, Any]) -> str:
    return share(point["f1"], *spread(point))


def transfer_latex(results: Mapping[str, Any]) -> str:
    """F1 of every system, a section each: a row for each training corpus, a column for each test corpus."""
    caption = (
        f"F1 in percent, trained on four fifths of the patients of one corpus and tested on the held-out fifth of "
        f"each; criterion: {results['criterion']}. In brackets {_BOOTSTRAP}."
    )
    columns = ("system", "trained on", *(f"tested on {escaped(name)}" for name in results["corpora"]))
    sections = (
        [
            (_system(system), escaped(trained), *(share(**row[tested]["f1"]) for tested in results["corpora"]))
            for trained, row in matrix.items()
        ]
        for system, matrix in results["matrix"].items()
    )
    return latex_table(_comment(results), caption, columns, sections, texts=2)


def _system(name: str) -> str:
    return rf"\textbf{{{escaped(name)}}}" if name == STACK else escaped(name)


def _comment(results: Mapping[str, Any]) -> str:
    return f"{results['schema']}, {results['date']}, settings {results['settings hash']}"
