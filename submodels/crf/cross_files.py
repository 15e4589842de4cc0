"""Files of feature crosses, one a line.

    read_crosses("word[-1] & word[0]\nstem[0]")       ((("word", -1), ("word", 0)), (("stem", 0),))
    named_crosses("zhao2020")                         the crosses of an installed file, or of a file of one's own

A column stands with its offset in tokens, as in the templates of TBED; `#` begins a comment.
"""

from __future__ import annotations

import re
from pathlib import Path

from phistack.features.errors import SettingsError
from phistack.features.registry import FileRegistry
from phistack.features.regular_files import read_regular
from phistack.features.user_files import file_named
from phistack.submodels.crf.templates import Cross

CROSSES = FileRegistry("crosses", "file of feature crosses", ".txt")
"""Files by name; all are of installed packages."""

_READ = re.compile(r"([a-z]\w*)\[(-?\d{1,3})\]")


def named_crosses(name: str) -> tuple[Cross, ...]:
    """The crosses of a file.

    :param name: one of `CROSSES`, or the path of a file.
    :raises SettingsError: if it cannot be read, with the number of the line.
    """
    if name in CROSSES.names:
        return read_crosses(CROSSES.text(name))
    with file_named("the file of feature crosses", Path(name)):
        return read_crosses(read_regular(Path(name)).decode("utf-8"))


def read_crosses(text: str) -> tuple[Cross, ...]:
    """The crosses of a text; :raises SettingsError: for a line that is none or comes twice, or if there is none."""
    found: dict[Cross, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        declared = line.partition("#")[0].strip()
        if not declared:
            continue
        parts = [_READ.fullmatch(part.strip()) for part in declared.split("&")]
        cross = tuple((part[1], int(part[2])) for part in parts if part is not None)
        if None in parts or len(set(cross)) < len(parts) or cross in found:
            raise SettingsError(
                f"line {number} is no feature cross, such as word[-1] & shape[0], or one that came before"
            )
        found[cross] = None
    if not found:
        raise SettingsError("it holds no feature cross")
    return tuple(found)
