"""How commands speak: results on standard output, warnings on standard error, both without text of notes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ensemble.paths import refuse_existing

if TYPE_CHECKING:
    from rich.console import Console

    from features.documents import Document

__all__ = ["console", "fail", "n_spans", "say", "warn", "write_new"]


def say(sentence: str) -> None:
    """Print a result."""
    print(sentence)


def warn(counts: Mapping[str, int]) -> None:
    """Print oddities and how often each was met."""
    for what, count in sorted(counts.items()):
        print(f"phistack: warning: {what}: {count}", file=sys.stderr)


def fail(sentence: str, status: int) -> None:
    """Print what went wrong and end the process; :raises SystemExit: always."""
    print(f"phistack: {sentence}", file=sys.stderr)
    sys.exit(status)


def console() -> Console:
    """Where tables are printed: as wide as the terminal, and 120 characters elsewhere."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def n_spans(documents: Iterable[Document]) -> int:
    """How many spans some notes have."""
    return sum(len(document.spans) for document in documents)


def write_new(path: Path, text: str) -> None:
    """Write a file; :raises SettingsError: if there is anything at the path."""
    refuse_existing(path)
    path.write_text(text, encoding="utf-8")
