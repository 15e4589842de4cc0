"""Lists in one string, as in options and environment variables.

comma_list("regex, crf,")     ("regex", "crf")
"""

from __future__ import annotations


def comma_list(text: str) -> tuple[str, ...]:
    """The entries between commas, without surrounding blanks; empty ones are left out."""
    return tuple(entry for part in text.split(",") if (entry := part.strip()))
