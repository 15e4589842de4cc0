"""Nothing that is on disk is overwritten.

refuse_existing(Path("engine"), BundleError)     raises where there is anything at the path
"""

from __future__ import annotations

import os
from pathlib import Path

from features.errors import PhistackError, SettingsError

__all__ = ["refuse_existing"]


def refuse_existing(path: Path, error: type[PhistackError] = SettingsError) -> None:
    """To be asked before long work begins, and again before its result takes its place.

    :param error: the class to raise.
    :raises PhistackError: of the class `error`, if there is anything at the path, were it a link to nothing.
    """
    if os.path.lexists(path):
        raise error(f"{path} is already there; remove it or give another name")
