from io import StringIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from phistack.ensemble.evaluation.resampling import Measure
from phistack.ensemble.evaluation.tables import Cell, Table, escaped, gap, share, strong

TABLE = Table(("a_b", Cell("p", "$p$")), [[("x", "1")], [(strong("y"), "[red]2"), ("z", "3 %")]], "A title")


def test_a_table_for_latex_has_its_rows_in_sections() -> None:
    latex = TABLE.latex("today", "A caption")
    assert latex.splitlines()[-9:] == [
        r"a\_b & $p$ \\", r"\midrule", r"x & 1 \\", r"\midrule", r"\textbf{y} & [red]2 \\", r"z & 3 \% \\",
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    assert r"\begin{tabular}{lr}" in latex
    assert latex.startswith("% today\n") and r"\caption{A caption}" in latex


def test_the_same_table_in_markdown_and_on_the_terminal() -> None:
    assert TABLE.markdown() == ["| a_b | p |", "|---|---|", "| x | 1 |", "| y | [red]2 |", "| z | 3 % |"]
    assert TABLE.markdown(right=True)[1] == "|---|---:|"
    console = Console(width=40, file=StringIO())
    console.print(TABLE.rich())
    words = [line.split() for line in console.file.getvalue().splitlines() if line.strip(" ─")]  # type: ignore[attr-defined]
    assert words == [["A", "title"], ["a_b", "p"], ["x", "1"], ["y", "[red]2"], ["z", "3", "%"]]


def test_names_are_shown_letter_for_letter() -> None:
    assert escaped("50 % of a_b & c#1 {x} $y") == r"50 \% of a\_b \& c\#1 \{x\} \$y"
    assert escaped("a\\b~c^d<e>") == r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d$<$e$>$"


@given(st.text("abc_%&$#{} ", max_size=20))
def test_nothing_special_is_left_bare(text: Any) -> None:
    assert escaped(text).replace("\\", "") == text
    assert all(escaped(text)[i - 1] == "\\" for i, c in enumerate(escaped(text)) if c in "_%&$#{}")


def test_shares_are_in_percent_and_differences_in_points() -> None:
    assert share(Measure(0.97, 0.95, 0.98)) == ("97.00 (95.00-98.00)", r"97.00 {\scriptsize (95.00--98.00)}", False)
    lower = gap(Measure(-0.01, -0.02, 0.005))
    assert lower[:2] == ("-1.00 (-2.00 to +0.50)", r"$-1.00$ {\scriptsize ($-2.00$ to $+0.50$)}")
