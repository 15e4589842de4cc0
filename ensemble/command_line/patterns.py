"""A command on a user's own patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.groups import ReadingOptions, with_options
from phistack.ensemble.command_line.output import console, say
from phistack.features.errors import SettingsError


@with_options
def patterns(
    action: Annotated[str, typer.Argument(metavar="check", help="What to do.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file of patterns.", show_default=False)],
    *,
    on: Annotated[
        Path | None, typer.Option(metavar="NOTES", help="Notes in which to look for matches.", show_default=False)
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Show the text of the matches.")] = False,
    language: Annotated[str, typer.Option(help="ISO 639-1 code; default: from labels or text.")] = "",
    reading: ReadingOptions,
) -> None:
    """Check that patterns of your own can be used and never take endless time, and show where they match."""
    from phistack.ensemble.tasks.patterns import counts_of, matches_table, pattern_matches
    from phistack.submodels.regex.pattern_files import user_patterns

    if action != "check":
        raise SettingsError(f"patterns can check a file and nothing else, not {action}; give patterns check FILE")
    own = user_patterns(file)
    if on is not None:
        notes = reading.reader.read(on, accept_unknown_labels=True, language=language)
        matches = pattern_matches(own, notes.documents, language or notes.label_set.language)
        console().print(matches_table(matches, show_text=text))
        for sentence in counts_of(own, matches):
            say(sentence)
    say(f"the patterns of {file} can be used: {', '.join(pattern.name for pattern in own)}")
