"""The papers; and what a reproduction of one shows, or a sample has, as options of a command and as a value.

PaperOptions(quick=True, most=5)
Sampling(institution="^[^-]+", type="intake|plan", reports=5)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.options import SeedOption

PUBLISHED = Path(__file__).parent / "published"
PAPERS = tuple(sorted(path.stem for path in PUBLISHED.glob("*.toml")))
"""The papers that have tables here."""


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """What the tables of a paper are made from and what they show; the help of each option says what it is."""

    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds and steps, and no taggers: minutes.")] = False
    only_right: Annotated[
        str,
        typer.Option(
            metavar="SUBMODEL",
            help="In zhao2020, table 7 has the places where this one alone is right, not TBED.",
            show_default=False,
        ),
    ] = ""
    text: Annotated[bool, typer.Option("--text", help="Show the text of the notes in table 7.")] = False
    most: Annotated[
        int | None,
        typer.Option(
            help="In table 7, at most so many places of each type; 0 for all.",
            min=0,
            show_default="20 in liu2017, all in zhao2020",
        ),
    ] = None
    annotated: Annotated[
        bool, typer.Option("--annotated", help="Write the test notes too, as the system annotates them.")
    ] = False
    curve: Annotated[
        bool, typer.Option("--curve/--no-curve", help="Draw the learning curve too, where the paper has one: longest.")
    ] = True
    search_svm: Annotated[
        bool,
        typer.Option("--search-svm", help="Search gamma and both C of the stacker's SVM by ten-fold cross-validation."),
    ] = False


DEFAULT = PaperOptions()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How documents to annotate are drawn; the help of each option says what it is."""

    institution: Annotated[
        str, typer.Option(metavar="PATTERN", help="What it finds in the name of a note is the institution.")
    ] = ""
    type: Annotated[str, typer.Option(metavar="PATTERN", help="Likewise the type of a survey.")] = ""
    surveys: Annotated[int, typer.Option(help="Surveys of each institution.", min=0)] = 70
    files: Annotated[int, typer.Option(help="Patient files of each institution.", min=0)] = 70
    reports: Annotated[int, typer.Option(help="Reports that make a patient file.", min=1)] = 10
    least: Annotated[int, typer.Option(help="Least tokens of a document.", min=0)] = 50
    most: Annotated[int, typer.Option(help="Most tokens of a document.", min=1)] = 1000
    seed: SeedOption = 0
