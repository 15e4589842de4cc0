r"""Tables of figures, made once and shown on the terminal, in Markdown and in LaTeX with booktabs.

table = Table(("system", "F1"), [[("a_b", share(score.f1))]], title="Strict")
console.print(table.rich())              a_b    97.00 (95.00-98.00)
table.markdown()                         ["| system | F1 |", "|---|---|", "| a_b | 97.00 (95.00-98.00) |"]
table.latex("results", "A caption")      a\_b & 97.00 {\scriptsize (95.00--98.00)} \\

Shares are in percent, differences in points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from phistack.ensemble.evaluation.intervals import Measure

if TYPE_CHECKING:
    from rich import table as rich_table

_ESCAPES = str.maketrans(
    {character: rf"\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}
)


class Cell(NamedTuple):
    """What stands in a cell, and how LaTeX writes it; a strong one makes its row bold on the terminal."""

    plain: str
    latex: str
    is_strong: bool = False


TableRow = Sequence[str | Cell]
"""A plain string is shown letter for letter everywhere."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, of which each row has as many cells as there are columns.

    :param sections: rows that stand together; LaTeX draws a line above each section, the terminal leaves one free.
    :param title: above it on the terminal.
    :param note: below it on the terminal.
    :param n_texts: how many columns, from the left, hold words; the others are figures.
    :param is_wide: whether figures too may be folded on a narrow terminal.
    """

    columns: TableRow
    sections: Sequence[Sequence[TableRow]]
    title: str = ""
    note: str = ""
    n_texts: int = 1
    is_wide: bool = False

    def rich(self) -> rich_table.Table:
        """The table for the terminal."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        # As `Text`, so that brackets in a note are not taken for markup.
        note = Text(self.note, style="table.caption") if self.note else None
        table = Table(title=self.title or None, title_justify="left", caption=note, caption_justify="left")
        table.box, table.collapse_padding, table.pad_edge = box.SIMPLE_HEAD, True, False
        for number, column in enumerate(map(_cell, self.columns)):
            is_text = number < self.n_texts
            table.add_column(
                Text(column.plain),
                justify="left" if is_text else "right",
                overflow="fold",
                no_wrap=not (is_text or self.is_wide),
            )
        for rows in self.sections:
            for cells in (list(map(_cell, row)) for row in rows):
                is_strong = any(cell.is_strong for cell in cells)
                table.add_row(*(Text(cell.plain) for cell in cells), style="bold" if is_strong else None)
            table.add_section()
        return table

    def markdown(self, *, right: bool = False) -> list[str]:
        """The lines of the table in Markdown.

        :param right: whether figures are aligned to the right.
        """
        figures = "---:|" if right else "---|"
        rule = "|" + "---|" * self.n_texts + figures * (len(self.columns) - self.n_texts)
        rows = [f"| {' | '.join(_cell(cell).plain for cell in row)} |" for row in (self.columns, *self._rows())]
        return [rows[0], rule, *rows[1:]]

    def latex(self, comment: str, caption: str) -> str:
        """A table environment.

        :param comment: where the figures come from, for who reads the file.
        :param caption: in LaTeX.
        """
        lines = [
            f"% {comment}",
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{'l' * self.n_texts}{'r' * (len(self.columns) - self.n_texts)}}}",
            r"\toprule",
            _latex_row(self.columns),
        ]
        for rows in self.sections:
            lines += [r"\midrule", *map(_latex_row, rows)]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])

    def _rows(self) -> Iterator[TableRow]:
        return (row for rows in self.sections for row in rows)


def strong(text: str) -> Cell:
    """A name that stands out."""
    return Cell(text, rf"\textbf{{{escaped(text)}}}", is_strong=True)


def share(measure: Measure) -> Cell:
    """A share and its interval."""
    value, low, high = map(percent, measure)
    return Cell(f"{value} ({low}-{high})", rf"{value} {{\scriptsize ({low}--{high})}}")


def gap(measure: Measure) -> Cell:
    """A difference of two shares and its interval."""
    value, low, high = (f"{100 * figure:+.2f}" for figure in measure)
    return Cell(f"{value} ({low} to {high})", rf"${value}$ {{\scriptsize (${low}$ to ${high}$)}}")


def percent(share: float) -> str:
    """A share without its interval."""
    return f"{100 * share:.2f}"


def points(gap: Measure) -> Cell:
    """A difference of two shares without its interval."""
    value = f"{100 * gap.value:+.2f}"
    return Cell(value, f"${value}$")


def escaped(text: str) -> str:
    """Plain text as LaTeX shows it letter for letter."""
    return text.translate(_ESCAPES)


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell, escaped(cell))


def _latex_row(row: TableRow) -> str:
    return " & ".join(_cell(cell).latex for cell in row) + r" \\"
