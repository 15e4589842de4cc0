"""A folder of results, made in one step, and what every results file tells of how it came about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from ensemble.training.settings import EngineSettings
from features.writing import new_folder, refuse_taken

__all__ = ["head", "write_json", "write_results"]


def head(schema: str, settings: EngineSettings, *, criterion: str, protocol: str) -> dict[str, Any]:
    """The first entries of a results file: what it is, of when, with which settings and by which protocol."""
    return {
        "schema": schema,
        "date": date.today().isoformat(),
        "settings hash": settings.digest,
        "settings": settings.to_dict(),
        "criterion": criterion,
        "protocol": protocol,
    }


def write_results(
    out: Path,
    measure: Callable[[], dict[str, Any]],
    draw: Callable[[Mapping[str, Any], Path], None],
    latex: Callable[[Mapping[str, Any]], str] | None = None,
) -> dict[str, Any]:
    """Measure, and write figures, pictures and a table to a folder, complete or not at all.

    :param measure: gives the results; not called where the folder is taken.
    :param draw: writes the pictures of the results to a folder.
    :param latex: gives the results as a table for LaTeX, `table.tex`.
    :raises SettingsError: if there is anything at the path.
    """
    refuse_taken(out)
    results = measure()
    with new_folder(out) as folder:
        write_json(folder / "results.json", results)
        draw(results, folder)
        if latex:
            (folder / "table.tex").write_text(latex(results), encoding="utf-8")
    return results


def write_json(path: Path, results: Mapping[str, Any]) -> None:
    """Write results, indented, as UTF-8."""
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
