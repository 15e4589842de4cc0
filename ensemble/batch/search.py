"""What a worker process does with outputs: search them for the identifiers of their patients.

search_chunk(job, [Search("Called ames hill.", [], entries)])       Counter({("DOCTOR", "outside"): 1})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ensemble.batch.register import Entry, Register, by_length
from ensemble.batch.work import Job

__all__ = ["Search", "search_chunk"]


@dataclass(frozen=True, slots=True)
class Search:
    """An output text, where it was replaced, and the identifiers of its patient."""

    text: str = field(repr=False)
    replaced: list[tuple[int, int]]
    entries: list[Entry] = field(repr=False)


def search_chunk(job: Job, searches: Sequence[Search]) -> Counter[tuple[str, str]]:
    """How often identifiers of the patients are still in their output, by label and place."""
    register = Register(job.secret)
    found: Counter[tuple[str, str]] = Counter()
    # Notes of one patient share the list of its entries, here as where they were put together.
    for _, of_patient in groupby(searches, key=lambda search: id(search.entries)):
        alike = list(of_patient)
        entries = by_length(alike[0].entries)
        for search in alike:
            found += register.search(search.text, search.replaced, entries)
    return found
