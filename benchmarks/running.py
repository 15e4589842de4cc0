"""How a benchmark runs as a command; imports nothing that would change its measurements."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from phistack.features.errors import PhistackError


def run_main(main: Callable[[], None]) -> None:
    """Run a benchmark; faulty input ends the program with a message that begins with the benchmark's name."""
    try:
        main()
    except PhistackError as error:
        script = Path(sys.argv[0])
        sys.exit(f"{script.parent.name if script.stem == '__main__' else script.stem}: {error}")
