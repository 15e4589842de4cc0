"""Reliability diagrams as one SVG drawing: probability against the share that is right, a panel a system.

    calibration_picture({"crf": calibration.to_dict(), "stack": ...})       <svg xmlns="http://www.w3.org/2000/svg" ...

Each dot is a bin of candidates (DeGroot and Fienberg 1983), with the interval of the share that is right; on the dashed
line both agree. The bars at the bottom are the share of all candidates. The drawing fetches nothing and runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

_PER_ROW = 4


def calibration_picture(calibrations: Mapping[str, Mapping[str, Any]]) -> str:
    """The drawing.

    :param calibrations: system -> its figures, as `ensemble.evaluation.calibration` gives them for JSON.
    """
    from jinja2 import Environment, StrictUndefined

    template = (resources.files("phistack.ensemble.evaluation") / "calibration_template.svg").read_text(
        encoding="utf-8"
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    per_row = min(_PER_ROW, max(len(calibrations), 1))
    return environment.from_string(template).render(
        calibrations=calibrations, per_row=per_row, n_rows=-(-len(calibrations) // per_row)
    )
