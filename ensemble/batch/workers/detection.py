"""What an engine found in one part of a note.

Detection.of(reading)       Detection(spans=(Span(12, 17, "DOCTOR"),), lowest=0.93)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from phistack.ensemble.engine import Reading
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.overruling import overruled
from phistack.features.documents import Span


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in one part of a note.

    :param spans: what must not come out: what the engine accepted, and what no engine read.
    :param lowest: the least probability among the accepted; 1 if there are none.
    :param overruled: on how many spans the user's lists and patterns had a say, by their source.
    :param known: the labels of those that a roster says.
    """

    spans: tuple[Span, ...] = ()
    lowest: float = 1.0
    overruled: Mapping[str, int] = field(default_factory=dict)
    known: tuple[str, ...] = ()

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """From what became of the part."""
        accepted = [decision for decision in reading.decisions if decision.accepted]
        lowest = min((decision.probability for decision in accepted), default=1.0)
        known = tuple(d.span.label for d in accepted if any(vote.source == KNOWN for vote in d.votes))
        return cls(reading.annotated.spans, lowest, overruled(reading.decisions), known)
