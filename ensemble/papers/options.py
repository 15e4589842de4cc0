"""The names of the papers, and the options of a reproduction and of a sample, for commands and programs.

PaperOptions(quick=True, most=5)
Sampling(institution="^[^-]+", type="intake|plan", reports=5)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.options import SeedOption, SeedsOption, option

PUBLISHED = Path(__file__).parent / "published"
PAPERS = tuple(sorted(path.stem for path in PUBLISHED.glob("*.toml")))
"""The papers whose tables can be reproduced."""


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """What the tables of a paper are made from and what they show; each option has its help."""

    quick: Annotated[bool, option("Fewer folds and steps, and no taggers: minutes.", "--quick")] = False
    only_right: Annotated[
        str,
        option("In zhao2020, table 7 has the places where this one alone is right, not TBED.", metavar="SUBMODEL"),
    ] = ""
    text: Annotated[bool, option("Show the text of the notes in table 7.", "--text")] = False
    most: Annotated[
        int | None,
        option(
            "In table 7, at most so many places of each type; 0 for all.",
            min=0,
            show_default="20 in liu2017, all in zhao2020",
        ),
    ] = None
    annotated: Annotated[bool, option("Write the test notes too, as the system annotates them.", "--annotated")] = False
    curve: Annotated[
        bool, option("Draw the learning curve too, where the paper has one: longest.", "--curve/--no-curve")
    ] = True
    search_svm: Annotated[
        bool,
        option("Search gamma and both C of the stacker's SVM by ten-fold cross-validation.", "--search-svm"),
    ] = False
    seeds: SeedsOption = 1


DEFAULT = PaperOptions()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How documents to annotate are drawn; each option has its help."""

    institution: Annotated[
        str, option("What it finds in the name of a note is the institution.", metavar="PATTERN")
    ] = ""
    type: Annotated[str, option("Likewise the type of a survey.", metavar="PATTERN")] = ""
    surveys: Annotated[int, option("Surveys of each institution.", min=0)] = 70
    files: Annotated[int, option("Patient files of each institution.", min=0)] = 70
    reports: Annotated[int, option("Reports that make a patient file.", min=1)] = 10
    least: Annotated[int, option("Least tokens of a document.", min=0)] = 50
    most: Annotated[int, option("Most tokens of a document.", min=1)] = 1000
    seed: SeedOption = 0
