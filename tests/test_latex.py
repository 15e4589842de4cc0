from hypothesis import given
from hypothesis import strategies as st

from ensemble.evaluation.latex import escaped, gap, latex_table, share

TABLE = latex_table("today", "A caption", ("a", "b"), [[("x", "1")], [("y", "2"), ("z", "3")]])


def test_a_table_has_its_rows_in_sections():
    assert TABLE.splitlines()[-9:] == [
        r"a & b \\", r"\midrule", r"x & 1 \\", r"\midrule", r"y & 2 \\", r"z & 3 \\",
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    assert r"\begin{tabular}{lr}" in TABLE


def test_names_are_shown_letter_for_letter():
    assert escaped("50 % of a_b & c#1 {x} $y") == r"50 \% of a\_b \& c\#1 \{x\} \$y"
    assert escaped("a\\b~c^d<e>") == r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d$<$e$>$"


@given(st.text("abc_%&$#{} ", max_size=20))
def test_nothing_special_is_left_bare(text):
    assert escaped(text).replace("\\", "") == text
    assert all(escaped(text)[i - 1] == "\\" for i, c in enumerate(escaped(text)) if c in "_%&$#{}")


def test_shares_are_in_percent_and_differences_in_points():
    assert share(0.97, 0.95, 0.98) == r"97.00 {\scriptsize (95.00--98.00)}"
    assert gap(-0.01, -0.02, 0.005) == r"$-1.00$ {\scriptsize ($-2.00$ to $+0.50$)}"
