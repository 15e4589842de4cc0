"""The command that lists the engines that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.choices import ENGINES, completing_paths
from phistack.ensemble.command_line.options import JsonOption, argument, option
from phistack.ensemble.command_line.output import console, say
from phistack.features.errors import SettingsError
from phistack.features.writing import write_new

_NAME = argument(
    "NAME", "Print the model card of this one; your own bundles have one too.",
    parser=bundle_path, autocompletion=completing_paths(ENGINES),
)  # fmt: skip


def engines(
    model: Annotated[Path | None, _NAME] = None,
    details: Annotated[bool, option("Show submodels, sources and figures on other notes too.", "--details")] = False,
    json_file: JsonOption = None,
) -> None:
    """List the engines that ship, with their figures, or print the model card of one."""
    from phistack.ensemble.tasks.shipped_engines import card_of, elsewhere_table, facts_of_shipped, shipped_table

    if model is not None:
        if json_file:
            raise SettingsError("--json writes the figures of all engines that ship; leave the name out")
        say(card_of(model).rstrip())
        return
    found = facts_of_shipped()
    if json_file:
        write_new(json_file, json.dumps([engine.to_dict() for engine in found], indent=2, ensure_ascii=False) + "\n")
    if not found:
        say("no engine ships with this phistack; train your own: phistack train CORPUS --model BUNDLE")
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
