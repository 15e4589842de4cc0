"""What a worker process does with outputs: search them for the identifiers of their patients.

search_chunk(job, [LeakSearch("Called ames hill.", [], entries)])       Counter({("DOCTOR", "outside"): 1})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from phistack.ensemble.batch.workers.identifier_register import HashedIdentifier, IdentifierRegister, by_length
from phistack.ensemble.batch.workers.job import Job

IN_COLUMN = "column "
"""How a place begins that is a column kept as it is; its name follows."""


@dataclass(frozen=True, slots=True)
class LeakSearch:
    """An output text, where it was replaced, and the identifiers of its patient; or the value of a column kept."""

    text: str = field(repr=False)
    replaced: list[tuple[int, int]]
    entries: list[HashedIdentifier] = field(repr=False)
    column: str = ""


def search_chunk(job: Job, searches: Sequence[LeakSearch]) -> Counter[tuple[str, str]]:
    """How often identifiers of the patients are still in their output, by label and place."""
    register = IdentifierRegister(job.secret)
    found: Counter[tuple[str, str]] = Counter()
    # Notes of one patient share the list of its entries, here as where they were put together.
    for _, of_patient in groupby(searches, key=lambda search: id(search.entries)):
        alike = list(of_patient)
        entries = by_length(alike[0].entries)
        for search in alike:
            for (label, place), count in register.search(search.text, search.replaced, entries).items():
                # What is in a kept column by chance is not reported.
                if not search.column or place == "outside":
                    found[label, IN_COLUMN + search.column if search.column else place] += count
    return found
