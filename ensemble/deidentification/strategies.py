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
from phistack.ensemble.deidentification.dates.over_89 import is_birth, is_birth_column, kept_year, year_beside
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
    """A stretch of PHI in a note, as it is written and in plain view."""

    span: Span
    kind: str
    note: Note

    @property
    def written(self) -> str:
        """As the note has it."""
        return self.note.document.text[self.span.start : self.span.end]

    @property
    def text(self) -> str:
        """In plain view."""
        return plain_text(self.written)


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def name(label: str) -> str:
    """The label as it is, as Tjong Kim Sang et al. (2019) write the class of an entity."""
    return label


def mask(mention: str) -> str:
    """An asterisk for every character, of whatever alphabet, blanks and line ends too; it shows the length."""
    return "*" * len(mention)


def _number(mention: Mention) -> int:
    """With a key a number of six digits, the same in every note; without one, the order of first mention."""
    context, label = mention.note.context, mention.span.label
    identity = context.memory.identity(mention.text, mention.kind, context.language)
    if context.keyed is None:
        return mention.note.counted.order(label, identity)
    return context.keyed.number(_NUMBERS, "number", label, identity)


def _generalised(mention: Mention) -> str | None:
    context = mention.note.context
    match mention.kind:
        case "DATE":
            return _year(mention)
        case "AGE":
            return _age(mention)
        case "ZIP":
            code = _ZIP.fullmatch(mention.text.strip())
            return code and ("000" if code[1] in context.options.restricted_zip3 else code[1])
        case "PROFESSION":
            return profession_group(mention.text, context.language)
        case "RELATIVE":
            return kinship(mention.text, context.language)
    return None


def _year(mention: Mention) -> str | None:
    """The year, unless it shows an age over 89 in the present year or in the latest one of the patient's dates."""
    note, memory = mention.note, mention.note.context.memory
    present = note.context.options.present_year
    born = is_birth(note.document.text, mention.span.start, mention.span.end) or is_birth_column(note.heading)
    years = {present, memory.latest_year or present}
    return kept_year(mention.text, note.context.language, years, is_birth=born, is_old=memory.is_old)


def _age(mention: Mention) -> str | None:
    """90 years and over as one; None for an age that is over 89 by the latest date of the patient's notes."""
    note, options, memory = mention.note, mention.note.context.options, mention.note.context.memory
    latest, beside = memory.latest_year or 0, year_beside(note.document.text, mention.span.start, mention.span.end)
    stated = beside or memory.years.get(note.document.id, latest)
    later = latest - stated if options.over_89 else 0
    return cap_age(mention.text, note.context.language, options.oldest_age, later=later)


CHANGES: dict[str, Callable[[Mention], str | None]] = {
    "tag": lambda mention: tag(mention.span.label),
    "number": lambda mention: f"[{mention.span.label}-{_number(mention)}]",
    "name": lambda mention: name(mention.span.label),
    # AnonyMate (Adams et al. 2019) writes `Person 1`.
    "numbered": lambda mention: f"{mention.span.label} {_number(mention)}",
    "mask": lambda mention: mask(mention.written),
    "remove": lambda mention: "",
    "surrogate": lambda mention: surrogate(mention.kind, mention.text, mention.note.context),
    "substitute": lambda mention: mention.note.policy.substitute(mention.span.label, mention.kind),
    "characters": lambda mention: same_pattern(mention.text, mention.note.context, "characters"),
    "shuffle": lambda mention: mention.note.shuffled.get((mention.span.label, normalised(mention.text))),
    "generalise": _generalised,
    "keep": lambda mention: mention.written,
}
"""Strategy -> the new text of a mention, or None where the strategy can do nothing with it: then it is tagged."""
