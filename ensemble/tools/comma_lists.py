"""Lists in one string, as options and variables of the environment have them.

comma_list("regex, crf,")     ("regex", "crf")
"""

from __future__ import annotations


def comma_list(text: str) -> tuple[str, ...]:
    """What commas join, without the blanks around it; empty entries are left out."""
    return tuple(entry for part in text.split(",") if (entry := part.strip()))
