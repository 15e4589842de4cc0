r"""Tables of figures, made once and shown on the terminal, in Markdown and in LaTeX with booktabs.

table = Table(("system", "F1"), [[("a_b", share(score.f1))]], title="Strict")
table.markdown()                         ["| system | F1 |", "|---|---|", "| a_b | 97.00 (95.00-98.00) |"]
table.latex("results", "A caption")      a\_b & 97.00 {\scriptsize (95.00--98.00)} \\

Shares are in percent, differences in points. On a narrow terminal cells break between words, and a table that is still
too wide is written as one line per figure; a figure is never cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from phistack.ensemble.evaluation.resampling import Measure

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

_ESCAPES = str.maketrans(
    {character: rf"\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$"}
)


class Cell(NamedTuple):
    """The text of a cell, and how LaTeX writes it; a strong one makes its row bold on the terminal."""

    plain: str
    latex: str
    is_strong: bool = False


TableRow = Sequence[str | Cell]
"""A plain string is shown letter for letter everywhere."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table in which each row has as many cells as there are columns.

    :param sections: groups of rows; LaTeX draws a line above each group, the terminal leaves one free.
    :param title: above it on the terminal.
    :param note: below it on the terminal.
    :param n_texts: how many columns, from the left, hold words; the others are figures, aligned to the right.
    :param caption: in LaTeX; title and note without it.
    """

    columns: TableRow
    sections: Sequence[Sequence[TableRow]]
    title: str = ""
    note: str = ""
    n_texts: int = 1
    caption: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="italic")
        # Two blanks between columns, or one.
        fitting = ((blanks, self._widths(options.max_width, blanks)) for blanks in (2, 1))
        blanks, widths = next((found for found in fitting if found[1]), (0, []))
        yield from [self._grid(widths, blanks)] if widths else self._written_out(options.max_width)
        if self.note:
            yield Text(f"{self.note}\n", style="dim italic")

    def markdown(self) -> list[str]:
        """The lines of the table in Markdown."""
        rows = [f"| {' | '.join(cell.plain for cell in row)} |" for row in self._rows(with_head=True)]
        return [rows[0], f"|{'---|' * len(self.columns)}", *rows[1:]]

    def latex(self, comment: str, caption: str = "") -> str:
        """A table environment.

        :param comment: where the figures come from, for readers of the file.
        :param caption: in LaTeX, in place of the table's own.
        """
        caption = caption or escaped(self.caption or f"{self.title}. {self.note}".rstrip())
        columns = "l" * self.n_texts + "r" * (len(self.columns) - self.n_texts)
        lines = [
            f"% {comment}", r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering\small",
            rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule",
        ]  # fmt: skip
        for number, rows in enumerate([[self.columns], *self.sections]):
            lines += [r"\midrule"] if number else []
            lines += [" & ".join(_cell(cell).latex for cell in row) + r" \\" for row in rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])

    def _rows(self, *, with_head: bool = False) -> list[list[Cell]]:
        every = [*([self.columns] if with_head else []), *(row for rows in self.sections for row in rows)]
        return [list(map(_cell, row)) for row in every]

    def _widths(self, width: int, blanks: int) -> list[int]:
        """The width of each column on a terminal; nothing if they do not fit even with a line for each word."""
        columns = list(zip(*self._rows(with_head=True), strict=True))
        widths = [_longest(line for cell in column for line in cell.plain.splitlines()) for column in columns]
        least = [_longest(word for cell in column for word in cell.plain.split()) for column in columns]
        room = width - blanks * len(columns) - (blanks == 1)  # rich has a margin on the left
        while sum(widths) > room and (wider := [n for n, width in enumerate(widths) if width > least[n]]):
            widths[max(wider, key=widths.__getitem__)] -= 1
        return widths if sum(widths) <= room else []

    def _grid(self, widths: Sequence[int], blanks: int) -> RenderableType:
        from rich import box, table
        from rich.text import Text

        grid = table.Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, padding=(0, blanks - 1))
        for number, (column, width) in enumerate(zip(map(_cell, self.columns), widths, strict=True)):
            head, is_text = Text(column.plain), number < self.n_texts
            grid.add_column(head, width=width, justify="left" if is_text else "right", overflow="fold")
        for rows in self.sections:
            for row in (list(map(_cell, cells)) for cells in rows):
                style = "bold" if any(cell.is_strong for cell in row) else None
                grid.add_row(*(Text(cell.plain) for cell in row), style=style)
            grid.add_section()
        return grid

    def _written_out(self, width: int) -> Iterator[RenderableType]:
        """A line for each cell, under the first one of its row."""
        from rich.text import Text

        names = [_cell(column).plain.replace("\n", " ") for column in self.columns]
        pad = _longest(names[1:])
        for first, *others in self._rows():
            yield Text(first.plain, style="bold" if first.is_strong else "")
            for name, cell in zip(names[1:], others, strict=True):
                line = f"  {name:{pad}}  {cell.plain}"
                if cell.plain:
                    yield Text(line if len(line) <= width else f"  {name}\n    {cell.plain}")
        yield Text("")


def strong(text: str) -> Cell:
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


def _longest(parts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, parts), default=0)


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell, escaped(cell))
