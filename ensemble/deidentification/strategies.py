"""What each strategy makes of a mention: `CHANGES`, whose properties are declared in `strategies.toml`.

tag("PATIENT")                 "[PATIENT]"
mask("Zoë 7")                  "*****"
CHANGES["remove"](mention)     ""

A new strategy is an entry in each of the two; policies, the deidentifier and the command line read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phistack.ensemble.deidentification.codes.patterns import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import cap_age
from phistack.ensemble.deidentification.dates.over_89 import is_birth, kept_year
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import Policy
from phistack.ensemble.deidentification.surrogates import surrogate
from phistack.ensemble.deidentification.word_groups import kinship, profession_group
from phistack.features.documents import Document, Span
from phistack.features.letters import normalised
from phistack.features.plain_view import plain_text

Shuffled = Mapping[tuple[str, str], str]
"""Label and normalised mention -> the mention that takes its place."""

_NUMBERS = 10**6
_ZIP = re.compile(r"(\d{3})\d{2}(?:[- ]?\d{4})?")


@dataclass(frozen=True, slots=True)
class Note:
    """A note whose PHI is to be changed.

    :param counted: where numbers without a key are counted.
    :param shuffled: what takes the place of each mention where a corpus is shuffled.
    :param heading: what the text stands under, such as the name of its column.
    """

    document: Document
    policy: Policy
    context: Context
    counted: PatientMemory
    shuffled: Shuffled = field(repr=False)
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of PHI in a note.

    :param year: of the date right beside it, for an age; 0 for none.
    """

    span: Span
    kind: str
    note: Note
    year: int = 0

    @property
    def label(self) -> str:
        """The label that decides what becomes of it."""
        return self.span.label

    @property
    def written(self) -> str:
        """As it is in the note."""
        return self.note.document.text[self.span.start : self.span.end]

    @property
    def text(self) -> str:
        """In plain view."""
        return plain_text(self.written)

    @property
    def number(self) -> int:
        """With a key a number of six digits, the same in every note; without one, the order of first mention."""
        context = self.note.context
        identity = context.memory.identity(self.text, self.kind, context.language)
        if context.keyed is None:
            return self.note.counted.order(self.label, identity)
        return context.keyed.number(_NUMBERS, "number", self.label, identity)


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def name(label: str) -> str:
    """The label as it is, as Tjong Kim Sang et al. (2019) write the class of an entity."""
    return label


def mask(mention: str) -> str:
    """An asterisk for every character, of whatever alphabet, blanks and line ends too; it shows the length."""
    return "*" * len(mention)


def _generalised(mention: Mention) -> str | None:
    make = _GENERALISED.get(mention.kind)
    return make(mention) if make else None


def _year(mention: Mention) -> str | None:
    """The year, unless it shows an age over 89 in the year of the run or in the latest one of the patient."""
    context, span = mention.note.context, mention.span
    present = {context.options.present_year, context.memory.latest_year or context.options.present_year}
    heading = mention.note.heading.replace("_", " ")
    born = is_birth(mention.note.document.text, span.start, span.end) or is_birth(heading, len(heading), len(heading))
    return kept_year(mention.text, context.language, present, is_birth=born, is_old=context.memory.is_old)


def _age(mention: Mention) -> str | None:
    """90 years and over as one; nothing for an age that is over 89 by the latest date of the patient."""
    context, note = mention.note.context, mention.note.document
    latest = context.memory.latest_year or 0
    stated = mention.year or context.memory.years.get(note.id, latest)
    later = latest - stated if context.options.over_89 else 0
    return cap_age(mention.text, context.language, context.options.oldest_age, later=later)


def _zip3(mention: Mention) -> str | None:
    match = _ZIP.fullmatch(mention.text.strip())
    if match is None:
        return None
    return "000" if match[1] in mention.note.context.options.restricted_zip3 else match[1]


_GENERALISED: dict[str, Callable[[Mention], str | None]] = {
    "DATE": _year,
    "AGE": _age,
    "ZIP": _zip3,
    "PROFESSION": lambda mention: profession_group(mention.text, mention.note.context.language),
    "RELATIVE": lambda mention: kinship(mention.text, mention.note.context.language),
}

CHANGES: dict[str, Callable[[Mention], str | None]] = {
    "tag": lambda mention: tag(mention.label),
    "number": lambda mention: tag(f"{mention.label}-{mention.number}"),
    "name": lambda mention: name(mention.label),
    # AnonyMate (Adams et al. 2019) writes `Person 1`.
    "numbered": lambda mention: f"{mention.label} {mention.number}",
    "mask": lambda mention: mask(mention.written),
    "remove": lambda mention: "",
    "surrogate": lambda mention: surrogate(mention.kind, mention.text, mention.note.context),
    "substitute": lambda mention: mention.note.policy.substitute(mention.label, mention.kind),
    "characters": lambda mention: same_pattern(mention.text, mention.note.context, "characters"),
    "shuffle": lambda mention: mention.note.shuffled.get((mention.label, normalised(mention.text))),
    "generalise": _generalised,
    "keep": lambda mention: mention.written,
}
"""Strategy -> the new text of a mention, or None where the strategy can do nothing with it: then it is tagged."""
