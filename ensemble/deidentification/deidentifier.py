"""Turns a note and its PHI into a new text.

    result = Deidentifier(policy, label_set, "en", key).apply(document, spans)
    result.replacements[0]       Replacement(span=Span(12, 17, "DOCTOR"), 12, 20, "tag")
    redact(document)             "Seen by [DOCTOR] on [DATE].": the policy `tag` in one call

Overlapping spans are merged into one stretch, so nothing of any of them remains. `CHANGES` says what each strategy
makes of a stretch, and `strategies.toml` has its properties: a new strategy is an entry in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import cap_age, is_birth, kept_year, unmarked, year_beside
from phistack.ensemble.deidentification.dates.recovery import weekday_beside
from phistack.ensemble.deidentification.keyed_choices import Chain, KeyedChoices, usable_key
from phistack.ensemble.deidentification.kinds import kind_of, name_role
from phistack.ensemble.deidentification.memory import NAMED, PatientMemory
from phistack.ensemble.deidentification.names.stated_sex import pronouns, stated_sex
from phistack.ensemble.deidentification.places.cities import stays
from phistack.ensemble.deidentification.policy import KEYED, REMEMBERING, Policy
from phistack.ensemble.deidentification.surrogates import kinship, profession_group, surrogate
from phistack.ensemble.deidentification.verification import Deidentified, Replacement, tag, verify
from phistack.ensemble.deidentification.word_lists import LANGUAGES
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.letters import normalised
from phistack.features.passages import UNREAD
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import Range, overlapping_groups, ranges_of, touching

Shuffled = Mapping[tuple[str, str], str]
"""Label and normalised mention -> the mention that takes its place."""

_NUMBERS = 10**6
_ZIP = re.compile(r"(\d{3})\d{2}(?:[- ]?\d{4})?")


@dataclass(frozen=True, slots=True)
class Note:
    """A note whose PHI is to be changed.

    :param counted: where numbers without a key are counted.
    :param chain: which surrogates come next, if those of names change.
    :param heading: the heading of the text, such as the name of its column.
    """

    document: Document
    label_set: LabelSet
    policy: Policy
    context: Context
    counted: PatientMemory
    shuffled: Shuffled = field(repr=False)
    chain: Chain = field(repr=False)
    heading: str = ""

    def kind(self, span: Span) -> str:
        """The kind of PHI of a span."""
        return kind_of(span.label, self.label_set.name)

    def written(self, span: Span) -> str:
        """The text of a span, as the note has it."""
        return self.document.text[span.start : span.end]

    def text(self, span: Span) -> str:
        """The same in plain view."""
        return plain_text(self.written(span))

    def identity(self, span: Span) -> str:
        """Whom or what a span names."""
        return self.context.memory.identity(self.text(span), self.kind(span), self.context.language)


def _number(note: Note, span: Span) -> int:
    """With a key, a number of up to six digits, the same in every note; without one, the order of first mention."""
    identity = note.identity(span)
    if note.context.choices.has_key:
        return note.context.choices.number(_NUMBERS, "number", span.label, identity)
    return note.counted.order(span.label, identity)


def _surrogate(note: Note, span: Span) -> str | None:
    context = note.context
    if context.options.name_changes and note.kind(span) in NAMED:
        context = replace(context, choices=note.chain.next(note.identity(span)))
    return surrogate(note.kind(span), note.text(span), context)


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
    """The age, with 90 and over as one; None for an age that passes 89 by the latest date of the patient's notes."""
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
    "surrogate": _surrogate,
    "substitute": lambda note, span: note.policy.substitute(span.label, note.kind(span)),
    "characters": lambda note, span: same_pattern(note.text(span), note.context, "characters"),
    "shuffle": lambda note, span: note.shuffled.get((span.label, normalised(note.text(span)))),
    "generalise": _generalised,
    "keep": lambda note, span: note.written(span),
}
"""Strategy -> the new text of a span, or None if the strategy cannot treat it: then it is tagged."""


class Deidentifier:
    """Applies a policy to notes, one at a time; many processes can use it at once.

    :param policy: what to do with each label; its present year is this year unless it names one.
    :param label_set: the labels of the spans; a label that is not in it is of the kind OTHER.
    :param key: the secret of the surrogates and of the numbers, at least 16 bytes; not needed without surrogates.
    :param shuffled: what replaces each mention of a corpus whose labels the policy shuffles.
    :raises SettingsError: if the policy names unknown labels, makes surrogates without a key or in a language for
        which there are none, or shuffles without a corpus.
    """

    def __init__(
        self,
        policy: Policy,
        label_set: LabelSet,
        language: str,
        key: bytes | None = None,
        *,
        shuffled: Shuffled | None = None,
    ) -> None:
        policy.check(label_set)
        if policy.uses(("shuffle",), label_set) and shuffled is None:
            raise SettingsError(
                f"the policy {policy.name} shuffles mentions over a corpus, which only `phistack pseudonymise` has at "
                "hand; use another strategy for these labels, for example surrogate"
            )
        if policy.uses(KEYED, label_set):
            usable_key(key)
            if language not in LANGUAGES and policy.uses(("surrogate",), label_set):
                raise SettingsError(
                    f"there are no surrogates in the language {language}, only in {', '.join(LANGUAGES)}; "
                    "use another strategy, for example --policy tag"
                )
        self.policy = policy.in_year()
        self.label_set = label_set
        self.language = language
        self._remembers = policy.uses(REMEMBERING, label_set)
        self._shuffled = shuffled or {}
        self._key = None if key is None else usable_key(key)
        self._labels = {self._kind(label): label for label in reversed(label_set.labels)}

    def __repr__(self) -> str:
        return f"Deidentifier(policy={self.policy.name!r}, label_set={self.label_set.name!r}, {self.language!r})"

    def strategy(self, label: str) -> str:
        """What the policy does with a label; text that no engine read is always tagged."""
        if label.startswith(UNREAD):
            return "tag"
        return self.policy.strategy(label, self._kind(label))

    def changed(self, document: Document) -> list[Range]:
        """The ranges that the policy changes in an annotated note, from left to right."""
        return ranges_of(span for span, _ in self.apply(document, document.spans).changes(document.text))

    def must_go(self, document: Document) -> tuple[Span, ...]:
        """The spans of an annotated note that the policy changes, and those whose labels it does not know."""
        goes, known = touching(self.changed(document)), self.label_set.labels
        return tuple(span for span in document.spans if span.label not in known or goes(span.start, span.end))

    def _kind(self, label: str) -> str:
        return kind_of(label, self.label_set.name)

    def remember(self, memory: PatientMemory, document: Document, spans: Iterable[Span]) -> None:
        """Add the identifiers of a note to what is known of its patient.

        If all notes of a patient are at hand, remember them before the first `apply`: then misspelt names are linked
        across notes, and no surrogate equals an identifier of any of them.
        """
        if memory.has(document):
            return
        memory.documents.add((document.id, document.text))
        memory.pronouns.update(pronouns(document.text, self.language) if self._remembers else {})
        for stretch in self._stretches(document, spans):
            kind = self._kind(stretch.label)
            if self._remembers or kind in ("DATE", "AGE"):
                mention = plain_text(document.text[stretch.start : stretch.end])
                born = kind == "DATE" and is_birth(document.text, stretch.start, stretch.end)
                is_named = kind == "PERSON"
                sex = stated_sex(document.text, stretch.start, stretch.end, self.language) if is_named else None
                memory.add(mention, kind, self.language, name_role(stretch.label), document.id, is_birth=born, sex=sex)

    def apply(
        self, document: Document, spans: Iterable[Span], memory: PatientMemory | None = None, *, heading: str = ""
    ) -> Deidentified:
        """The note with its spans treated as the policy says.

        :param document: the note; its own spans are not used.
        :param spans: the PHI; they may overlap.
        :param memory: what is known of the patient; only numbers without a key are added to it.
        :param heading: the heading of the text, such as the name of its column.
        :raises CorpusError: if a span ends beyond the text.
        """
        document = document.with_spans(spans)
        spans = document.spans
        counted = known = PatientMemory() if memory is None else memory
        if not known.has(document):
            known = deepcopy(known)
            self.remember(known, document, spans)
        context = Context(KeyedChoices(self._key, document.group), self.language, self.policy.options, known)
        chain = Chain(context.choices, document.id, self.policy.options.name_changes)
        heading = heading.replace("_", " ")
        note = Note(document, self.label_set, self.policy, context, counted, self._shuffled, chain, heading)
        pieces: list[str] = []
        replacements: list[Replacement] = []
        length = position = 0
        for span in self._stretches(document, (*spans, *self._weekdays(document))):
            strategy, new = self._replacement(note, span)
            start = length + span.start - position
            pieces += (document.text[position : span.start], new)
            length, position = start + len(new), span.end
            replacements.append(Replacement(span, start, length, strategy))
        pieces.append(document.text[position:])
        unresolved = (r.span for r in replacements if r.strategy == "tag" != self.strategy(r.span.label))
        return Deidentified("".join(pieces), tuple(replacements), tuple(unresolved))

    def _replacement(self, note: Note, span: Span) -> tuple[str, str]:
        """The strategy and the new text; a tag if the strategy cannot treat the span."""
        strategy = self.strategy(span.label)
        if strategy == "surrogate" and stays(note.kind(span), note.text(span), note.context):
            strategy = "keep"
        new = CHANGES[strategy](note, span)
        return ("tag", tag(span.label)) if new is None else (strategy, new)

    def _stretches(self, document: Document, spans: Iterable[Span]) -> list[Span]:
        """Overlapping spans as one stretch, with the label whose strategy removes the most."""
        stretches = []
        for group in overlapping_groups((*spans, *self._over_89(document))):
            # If strategies remove equally much, the label of the first and longest span wins.
            ordered = sorted(group, key=lambda span: (span.start, -span.end, span.label))
            label = max(ordered, key=self._severity).label
            stretches.append(Span(ordered[0].start, max(span.end for span in ordered), label))
        return stretches

    def _severity(self, span: Span) -> tuple[int, bool]:
        """How much the strategy removes; generalising as an age ranks higher, as it fails on text that is more."""
        severity = {"keep": 0, "generalise": 1}.get(self.strategy(span.label), 2)
        return severity, severity == 1 and self._kind(span.label) == "AGE"

    def _weekdays(self, document: Document) -> Iterator[Span]:
        """The weekdays next to dates that will be shifted: left unchanged, they would reveal the shift."""
        touched = touching(ranges_of(document.spans))
        for span in document.spans:
            if self._kind(span.label) == "DATE" and self.strategy(span.label) == "surrogate":
                place = weekday_beside(document.text, span.start, span.end, self.language)
                if place and not touched(*place):
                    yield Span(*place, span.label)

    def _over_89(self, document: Document) -> list[Span]:
        """Ages over 89, and birth dates that show one, marked or not."""
        if not self.policy.options.over_89:
            return []
        view = plain_view(document.with_spans(()))
        found = unmarked(view.document.text, self.language, self.policy.options.present_year)
        return [view.in_note(Span(start, end, self._labels.get(kind, kind))) for kind, start, end in found]


def redact(document: Document) -> str:
    """The document's text with every span replaced by its label in brackets.

    :raises CorpusError: if a span ends beyond the text.
    :raises VerificationError: if the new text is anything else; do not use it then.
    """
    labels = LabelSet("any", {span.label: span.label for span in document.spans})
    result = Deidentifier(Policy(), labels, labels.language).apply(document, document.spans)
    verify(document, result, document.spans)
    return result.text
