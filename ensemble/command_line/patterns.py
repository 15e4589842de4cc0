"""A command on a user's own patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from phistack.ensemble.command_line.groups import ReadingOptions
from phistack.ensemble.command_line.options import LanguageOption, argument, option
from phistack.ensemble.command_line.output import console, say
from phistack.features.errors import SettingsError


def patterns(
    action: Annotated[str, argument("check", "What to do.")],
    file: Annotated[Path, argument("FILE", "A TOML file of patterns.")],
    *,
    on: Annotated[Path | None, option("Notes to search for matches.", metavar="NOTES")] = None,
    text: Annotated[bool, option("Show the text of the matches.", "--text")] = False,
    language: LanguageOption = "",
    reading: ReadingOptions,
) -> None:
    """Check that your own patterns can be used and are not too slow, and show where they match."""
    from phistack.ensemble.tasks.patterns import counts_of, matches_table, pattern_matches
    from phistack.submodels.regex.pattern_files import user_patterns

    if action != "check":
        raise SettingsError(f"patterns can only check a file, not {action}; give patterns check FILE")
    own = user_patterns(file)
    if on is not None:
        notes = reading.reader.read(on, accept_unknown_labels=True, language=language)
        matches = pattern_matches(own, notes.documents, language or notes.label_set.language)
        console().print(matches_table(matches, show_text=text))
        for sentence in counts_of(own, matches):
            say(sentence)
    say(f"the patterns of {file} can be used: {', '.join(pattern.name for pattern in own)}")
