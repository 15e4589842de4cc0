"""What is counted most often.

most_frequent({"DOCTOR": 3, "PATIENT": 3, "DATE": 1})       "DOCTOR": of equals the first in order
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Name = TypeVar("_Name", bound=str)


def most_frequent(counts: Mapping[_Name, int]) -> _Name:
    """The name with the highest count, of several the first in order; :raises ValueError: if nothing was counted."""
    return min(counts, key=lambda name: (-counts[name], name))
