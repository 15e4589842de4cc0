r"""Tables for LaTeX with booktabs, whatever stands in their cells.

latex_table("results of today", "A caption", ("system", "F1"), [[("a_b", "97.0")]])
escaped("50 % of a_b")          50 \% of a\_b
share(0.97, 0.95, 0.98)      97.00 {\scriptsize (95.00--98.00)}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["escaped", "gap", "latex_table", "share"]

_ESCAPES = str.maketrans(
    {character: rf"\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}
)


def escaped(text: str) -> str:
    """Plain text as LaTeX shows it letter for letter."""
    return text.translate(_ESCAPES)


def share(value: float, low: float, high: float) -> str:
    """A share and its interval, in percent."""
    return rf"{100 * value:.2f} {{\scriptsize ({100 * low:.2f}--{100 * high:.2f})}}"


def gap(value: float, low: float, high: float) -> str:
    """A difference of two shares and its interval, in points."""
    return rf"${100 * value:+.2f}$ {{\scriptsize (${100 * low:+.2f}$ to ${100 * high:+.2f}$)}}"


def latex_table(
    comment: str, caption: str, columns: Sequence[str], sections: Iterable[Iterable[Sequence[str]]], *, texts: int = 1
) -> str:
    """A table environment; a line is drawn above each section.

    :param comment: where the figures come from, for who reads the file.
    :param caption: LaTeX, as are columns and cells.
    :param sections: rows of as many cells as there are columns.
    :param texts: how many columns, from the left, hold words; the others are figures.
    """
    lines = [
        f"% {comment}",
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(columns) - texts)}}}",
        r"\toprule",
        _row(columns),
    ]
    for rows in sections:
        lines += [r"\midrule", *map(_row, rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
