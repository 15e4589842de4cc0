"""Tables in LaTeX, in Markdown and on terminals of any width: no figure is ever cut."""

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
    console = Console(width=40, file=StringIO())
    console.print(TABLE)
    words = [line.split() for line in console.file.getvalue().splitlines() if line.strip(" ─")]  # type: ignore[attr-defined]
    assert words == [["A", "title"], ["a_b", "p"], ["x", "1"], ["y", "[red]2"], ["z", "3", "%"]]


def test_names_are_shown_letter_for_letter() -> None:
    assert escaped("50 % of a_b & c#1 {x} $y") == r"50 \% of a\_b \& c\#1 \{x\} \$y"
    assert escaped("a\\b~c^d<e>") == r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d$<$e$>$"


def test_shares_are_in_percent_and_differences_in_points() -> None:
    assert share(Measure(0.97, 0.95, 0.98)) == ("97.00 (95.00-98.00)", r"97.00 {\scriptsize (95.00--98.00)}", False)
    lower = gap(Measure(-0.01, -0.02, 0.005))
    assert lower[:2] == ("-1.00 (-2.00 to +0.50)", r"$-1.00$ {\scriptsize ($-2.00$ to $+0.50$)}")


FIGURES = st.one_of(
    st.floats(0, 1).map(lambda x: f"{100 * x:.2f}"),
    st.tuples(*[st.floats(0, 1)] * 3).map(lambda m: share(Measure(*m)).plain),
    st.tuples(*[st.floats(-1, 1)] * 3).map(lambda m: gap(Measure(*m)).plain),
    st.integers(0, 10**9).map(str),
    st.just(""),
)
WORDS = st.lists(st.text("abcdefgh-_", min_size=1, max_size=12), min_size=1, max_size=6).map(" ".join)


def printed(table: Table, width: int) -> list[str]:
    console = Console(width=width, file=StringIO())
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@given(st.data(), st.integers(40, 200), st.integers(1, 3), st.integers(1, 10))
def test_no_figure_is_cut_at_any_width(data: Any, width: int, n_texts: int, n_figures: int) -> None:
    row = st.tuples(*[WORDS] * n_texts, *[FIGURES] * n_figures)
    columns = (*(f"words {n}" for n in range(n_texts)), *(f"figure{n}" for n in range(n_figures)))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    lines = printed(Table(columns, [rows], data.draw(WORDS), data.draw(WORDS), n_texts), width)
    assert max(map(len, lines)) <= width
    shown = " ".join(lines).split()
    for cells in rows:
        for figure in cells[n_texts:]:
            assert all(shown.count(part) >= 1 for part in figure.split())


def test_a_table_that_fits_has_a_line_for_each_row_and_another_is_written_out() -> None:
    names = ("system", "precision", "recall", "F1", "difference", "p (Holm)")
    cells = ("100.00 (100.00-100.00)",) * 3
    table = Table(names, [[("stacker features zhao2020", *cells, "-0.45", "0.0001")]])
    (line,) = [line for line in printed(table, 130) if "zhao2020" in line]
    assert line.split() == ["stacker", "features", "zhao2020", *" ".join(cells).split(), "-0.45", "0.0001"]
    assert [line.strip() for line in printed(table, 40)[:3]] == [
        "stacker features zhao2020", "precision   100.00 (100.00-100.00)", "recall      100.00 (100.00-100.00)",
    ]  # fmt: skip
