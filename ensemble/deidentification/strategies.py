"""What each strategy makes of a mention: `CHANGES`, whose properties are declared in `strategies.toml`.

tag("PATIENT")                 "[PATIENT]"
CHANGES["remove"](note, span)  ""

A new strategy is an entry in each of the two; policies, the deidentifier and the command line read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import cap_age, is_birth, kept_year, year_beside
from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.policy import Policy
from phistack.ensemble.deidentification.surrogates import kinship, profession_group, surrogate
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
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
    label_set: LabelSet
    policy: Policy
    context: Context
    counted: PatientMemory
    shuffled: Shuffled = field(repr=False)
    heading: str = ""

    def kind(self, span: Span) -> str:
        """The kind of PHI of a span."""
        return kind_of(span.label, self.label_set.name)

    def written(self, span: Span) -> str:
        """What is at a span, as the note has it."""
        return self.document.text[span.start : span.end]

    def text(self, span: Span) -> str:
        """The same in plain view."""
        return plain_text(self.written(span))


def tag(label: str) -> str:
    """The label in brackets."""
    return f"[{label}]"


def _number(note: Note, span: Span) -> int:
    """With a key a number of six digits, the same in every note; without one, the order of first mention."""
    context = note.context
    identity = context.memory.identity(note.text(span), note.kind(span), context.language)
    if context.choices.has_key:
        return context.choices.number(_NUMBERS, "number", span.label, identity)
    return note.counted.order(span.label, identity)


def _generalised(note: Note, span: Span) -> str | None:
    text, language = note.text(span), note.context.language
    match note.kind(span):
        case "DATE":
            return _year(note, span)
        case "AGE":
            return _age(note, span)
        case "ZIP":
            code = _ZIP.fullmatch(text.strip())
            return code and ("000" if code[1] in note.policy.options.restricted_zip3 else code[1])
        case "PROFESSION":
            return profession_group(text, language)
        case "RELATIVE":
            return kinship(text, language)
    return None


def _year(note: Note, span: Span) -> str | None:
    """The year, unless it shows an age over 89 in the present year or in the latest one of the patient's dates."""
    memory, present = note.context.memory, note.policy.options.present_year
    born = is_birth(note.document.text, span.start, span.end) or is_birth(note.heading, len(note.heading))
    years = {present, memory.latest_by(present) or present}
    return kept_year(note.text(span), note.context.language, years, is_birth=born, is_old=memory.is_old)


def _age(note: Note, span: Span) -> str | None:
    """90 years and over as one; None for an age that is over 89 by the latest date of the patient's notes."""
    memory, options = note.context.memory, note.policy.options
    later = 0
    if options.over_89:
        latest = memory.latest_by(options.present_year) or 0
        at = year_beside(note.document.text, span.start, span.end)
        later = latest - (at or memory.latest_by(options.present_year, note.document.id) or latest)
    return cap_age(note.text(span), note.context.language, options.oldest_age, later=later)


CHANGES: dict[str, Callable[[Note, Span], str | None]] = {
    "tag": lambda note, span: tag(span.label),
    "number": lambda note, span: f"[{span.label}-{_number(note, span)}]",
    # Tjong Kim Sang et al. (2019) write the class of an entity.
    "name": lambda note, span: span.label,
    # AnonyMate (Adams et al. 2019) writes `Person 1`.
    "numbered": lambda note, span: f"{span.label} {_number(note, span)}",
    # Blanks and line ends too; it shows the length.
    "mask": lambda note, span: "*" * len(note.written(span)),
    "remove": lambda note, span: "",
    "surrogate": lambda note, span: surrogate(note.kind(span), note.text(span), note.context),
    "substitute": lambda note, span: note.policy.substitute(span.label, note.kind(span)),
    "characters": lambda note, span: same_pattern(note.text(span), note.context, "characters"),
    "shuffle": lambda note, span: note.shuffled.get((span.label, normalised(note.text(span)))),
    "generalise": _generalised,
    "keep": lambda note, span: note.written(span),
}
"""Strategy -> the new text of a span, or None where the strategy can do nothing with it: then it is tagged."""
