"""Files that a user wrote: settings, policies, label sets, patterns. Whatever is wrong in one names it.

with file_named("the policy file", path):
    table = read_toml(path)
    ...                             raises "the policy file mine.toml cannot be used: no strategy is named hide"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phistack.features.errors import PhistackError, SettingsError
from phistack.features.regular_files import read_regular


@contextmanager
def file_named(what: str, path: Path, error: type[PhistackError] = SettingsError) -> Iterator[None]:
    """Let the file be named by what is raised in the block because of it.

    :param what: the file is, for the message.
    :param error: the class to raise, for a file that cannot be read as well as for what is wrong in it.
    """
    try:
        yield
    except (OSError, ValueError, PhistackError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise error(f"{what} {path} cannot be used: {reason}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file; :raises OSError, ValueError: if it cannot be read, or is no TOML."""
    try:
        return tomllib.loads(read_regular(path).decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
