"""The command that tells of the engines that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.choices import ENGINES, completing_paths
from phistack.ensemble.command_line.options import JsonOption
from phistack.ensemble.command_line.output import console, say
from phistack.features.errors import SettingsError
from phistack.features.writing import write_new


def engines(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="NAME",
            parser=bundle_path,
            help="Print the model card of this one; a bundle of your own has one too.",
            show_default=False,
            autocompletion=completing_paths(ENGINES),
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Show submodels, sources and figures on other notes too.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """List the engines that ship, with their figures, or print the model card of one."""
    from phistack.ensemble.tasks.shipped_engines import card_of, elsewhere_table, facts_of_shipped, shipped_table

    if model is not None:
        if json_file:
            raise SettingsError("--json has the figures of all engines that ship; leave the name out")
        say(card_of(model).rstrip())
        return
    found = facts_of_shipped()
    if json_file:
        write_new(json_file, json.dumps([engine.to_dict() for engine in found], indent=2, ensure_ascii=False) + "\n")
    if not found:
        say("no engine ships with this phistack; one of your own is made with: phistack train CORPUS --model BUNDLE")
        return
    console().print(shipped_table(found).rich())
    if details:
        if any(engine.measured_elsewhere for engine in found):
            console().print(elsewhere_table(found).rich())
        for engine in found:
            sources = f", trained on {engine.sources}" if engine.sources else ""
            say(f"{engine.name}: {', '.join(engine.submodels)}{sources}")
    more = "" if details else "--details shows more of all; "
    say(f"{more}phistack engines NAME prints the model card of one")
