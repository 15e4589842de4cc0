"""What a surrogate may depend on: the patient's keyed choices, the language, the options, the rest of the note.

context.pick(("Ann", "Eve"), "first", "mary")    by the key, the patient and the number of the attempt
context.day_first                                whether 3/5 is the third of May
spliced("room 12", [(5, 7, "47")])               "room 47": a mention with other stretches in place of some
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from phistack.ensemble.deidentification.dates.parsing import has_day_first
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import PolicyOptions

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Context:
    """What every surrogate maker receives besides the mention.

    :param memory: the known identifiers of the note and of the patient.
    :param attempt: 0 at first; a higher number gives other choices, when one must not be used.
    """

    choices: KeyedChoices
    language: str
    options: PolicyOptions
    memory: PatientMemory
    attempt: int = 0

    @property
    def day_first(self) -> bool:
        """Whether numeric dates put the day first, judged by the patient's dates or else by the language."""
        return has_day_first(self.memory.day_first, self.language)

    def pick(self, options: Sequence[_T], *parts: object) -> _T:
        """One of the options, chosen by the key, the patient, the parts and the attempt."""
        return self.choices.pick(options, *parts, self.attempt)

    def number(self, below: int, *parts: object) -> int:
        """A number less than `below`, chosen in the same way."""
        return self.choices.number(below, *parts, self.attempt)

    def next(self) -> Context:
        """The same context with other choices."""
        return replace(self, attempt=self.attempt + 1)


def spliced(text: str, changes: Iterable[tuple[int, int, str | None]]) -> str | None:
    """The text with new text for each (start, end), given in order; None if one of them has no new text."""
    pieces: list[str] = []
    position = 0
    for start, end, new in changes:
        if new is None:
            return None
        pieces += (text[position:start], new)
        position = end
    return "".join([*pieces, text[position:]])
