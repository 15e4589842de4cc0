"""A note and its PHI to a new text.

    result = Deidentifier(policy, label_set, "en", key).apply(document, spans)
    result.replacements[0]       Replacement(span=Span(12, 17, "DOCTOR"), 12, 20, "tag")
    redact(document)             "Seen by [DOCTOR] on [DATE].": the policy `tag` in one call

Overlapping spans are one stretch, so that nothing of any of them remains.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

from phistack.ensemble.deidentification import strategies
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import is_birth, unmarked
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices, usable_key
from phistack.ensemble.deidentification.kinds import kind_of, name_role
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.names.stated_sex import pronouns, stated_sex
from phistack.ensemble.deidentification.places.cities import stays
from phistack.ensemble.deidentification.policy import KEYED, REMEMBERING, Policy
from phistack.ensemble.deidentification.strategies import CHANGES, Note, Shuffled
from phistack.ensemble.deidentification.verification import Deidentified, Replacement, verify
from phistack.ensemble.deidentification.word_lists import LANGUAGES
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.passages import UNREAD
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import overlapping_groups


class Deidentifier:
    """Applies a policy to notes, one at a time; many processes can use it at once.

    :param policy: what to do with each label; its present year is this year unless it names one.
    :param label_set: the labels of the spans; a label that is not in it is of the kind OTHER.
    :param language: of the notes, as an ISO 639-1 code.
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
        """What the policy does with a label; what no engine read is always tagged."""
        if label.startswith(UNREAD):
            return "tag"
        return self.policy.strategy(label, self._kind(label))

    def _kind(self, label: str) -> str:
        return kind_of(label, self.label_set.name)

    def remember(self, memory: PatientMemory, document: Document, spans: Iterable[Span]) -> None:
        """Add the identifiers of a note to what is known of its patient.

        Remember all notes of a patient before the first `apply`, where they are at hand: then misspelt names are linked
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
        :param heading: what the text stands under, such as the name of its column.
        :raises CorpusError: if a span ends beyond the text.
        """
        spans = document.with_spans(spans).spans
        counted = known = PatientMemory() if memory is None else memory
        if not known.has(document):
            known = deepcopy(known)
            self.remember(known, document, spans)
        context = Context(KeyedChoices(self._key, document.group), self.language, self.policy.options, known)
        note = Note(document, self.label_set, self.policy, context, counted, self._shuffled, heading.replace("_", " "))
        pieces: list[str] = []
        replacements: list[Replacement] = []
        length = position = 0
        for span in self._stretches(document, spans):
            strategy, new = self._replacement(note, span)
            start = length + span.start - position
            pieces += (document.text[position : span.start], new)
            length, position = start + len(new), span.end
            replacements.append(Replacement(span, start, length, strategy))
        pieces.append(document.text[position:])
        unresolved = (r.span for r in replacements if r.strategy == "tag" != self.strategy(r.span.label))
        return Deidentified("".join(pieces), tuple(replacements), tuple(unresolved))

    def _replacement(self, note: Note, span: Span) -> tuple[str, str]:
        """The strategy and the new text; a tag where the strategy can do nothing."""
        strategy = self.strategy(span.label)
        if strategy == "surrogate" and stays(note.kind(span), note.text(span), note.context):
            strategy = "keep"
        new = CHANGES[strategy](note, span)
        return ("tag", strategies.tag(span.label)) if new is None else (strategy, new)

    def _stretches(self, document: Document, spans: Iterable[Span]) -> list[Span]:
        """Overlapping spans as one stretch, under the label whose strategy takes away the most."""
        stretches = []
        for group in overlapping_groups((*spans, *self._over_89(document))):
            # Of labels whose strategies take away the same, that of the first and longest span counts.
            ordered = sorted(group, key=lambda span: (span.start, -span.end, span.label))
            label = max(ordered, key=self._severity).label
            stretches.append(Span(ordered[0].start, max(span.end for span in ordered), label))
        return stretches

    def _severity(self, span: Span) -> tuple[int, bool]:
        """A text that is an age and something else is generalised as an age, which fails where it is more than one."""
        severity = {"keep": 0, "generalise": 1}.get(self.strategy(span.label), 2)
        return severity, severity == 1 and self._kind(span.label) == "AGE"

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
    :raises VerificationError: if the new text is anything else, so that it cannot be used.
    """
    labels = LabelSet("any", {span.label: span.label for span in document.spans})
    result = Deidentifier(Policy(), labels, labels.language).apply(document, document.spans)
    verify(document, result, document.spans)
    return result.text
