"""Signs and markup between or inside the words of identifiers."""

SIGNS = (
    " ", "\u00a0", "\u2009", "\t", "\v", "-", "\u2010", "\u2013", "\u2014", "\u00ad", "_", ".", "\u00b7", ",", "/",
    "\\", "|", "^", "~", "'", "\u2019", "\u200b", "\u2060", "\u2800", "\u20dd", "\u0336", "\u0085", "\u0007",
)  # fmt: skip
"""Blanks, dashes, invisible characters, marks over letters, control characters, what programs put between fields."""

MARKUPS = ("<b></b>", '<span class="x"></span>', "<br>", "&ndash;", "&shy;", "%20", "=20", "-\n")
"""HTML, characters written as their bytes, and a word that is hyphenated at a line end."""
