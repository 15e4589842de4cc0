"""A note and its PHI to a new text.

    result = Deidentifier(policy, label_set, "en", key).apply(document, spans)
    result.replacements[0]       Replacement(span=Span(12, 17, "DOCTOR"), 12, 20, "tag")

Overlapping spans are one stretch, so that nothing of any of them can remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from phistack.ensemble.deidentification import strategies
from phistack.ensemble.deidentification.codes.patterns import same_pattern
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.keyed_choices import KeyedChoices, usable_key
from phistack.ensemble.deidentification.kinds import kind_of, name_role
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.places.nearby import stays
from phistack.ensemble.deidentification.policy import KEYED, Policy
from phistack.ensemble.deidentification.surrogates import surrogate
from phistack.ensemble.deidentification.verification import Deidentified, Replacement
from phistack.ensemble.deidentification.word_lists import LANGUAGES
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.letters import normalised
from phistack.features.passages import UNREAD
from phistack.features.plain_view import plain_text
from phistack.features.ranges import overlapping_groups

Shuffled = Mapping[tuple[str, str], str]
"""Label and normalised mention -> the mention that takes its place."""

_NUMBERS = 10**6
_NUMBERING = {"number": strategies.number, "numbered": strategies.numbered}
_SEVERITY = {"keep": 0, "generalise": 1}


class Deidentifier:
    """Applies a policy to notes, one at a time; it can be used by many processes at once.

    :param policy: what to do with each label.
    :param label_set: the labels of the spans; a label that is not in it is of the kind OTHER.
    :param language: of the notes, as an ISO 639-1 code; surrogates know en, es, nl, sv and de.
    :param key: the secret of the surrogates and of the numbers, at least 16 bytes; not needed without surrogates.
    :param shuffled: what takes the place of each mention of a corpus whose labels the policy shuffles.
    :raises SettingsError: if the policy names unknown labels, makes surrogates without a key or in a language for
        which there are none, or shuffles where there is no corpus.
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
        if policy.uses("shuffle", label_set) and shuffled is None:
            raise SettingsError(
                f"the policy {policy.name} shuffles mentions over a corpus, which only `phistack pseudonymise` has at "
                "hand; use another strategy for these labels, for example surrogate"
            )
        if any(policy.uses(strategy, label_set) for strategy in KEYED):
            usable_key(key)
            if language not in LANGUAGES and policy.uses("surrogate", label_set):
                raise SettingsError(
                    f"there are no surrogates in the language {language}, only in {', '.join(LANGUAGES)}; "
                    "use another strategy, for example --policy tag"
                )
        self.policy = policy
        self.label_set = label_set
        self.language = language
        self._looks_back = any(policy.uses(strategy, label_set) for strategy in ("surrogate", *_NUMBERING))
        self._shuffled = shuffled or {}
        self._key = None if key is None else usable_key(key)

    def __repr__(self) -> str:
        return f"Deidentifier(policy={self.policy.name!r}, label_set={self.label_set.name!r}, {self.language!r})"

    def remember(self, memory: PatientMemory, document: Document, spans: Iterable[Span]) -> None:
        """Add the identifiers of a note to what is known of its patient.

        Whoever has all notes of a patient at hand remembers them all before the first `apply`: then misspelt names are
        linked across notes, and no surrogate equals an identifier of any of them.
        """
        if memory.has(document):
            return
        memory.documents.add((document.id, document.text))
        for stretch in _stretches(spans, self.strategy):
            kind = kind_of(stretch.label, self.label_set.name)
            if self._looks_back or kind == "DATE":
                mention = plain_text(document.text[stretch.start : stretch.end])
                memory.add(mention, kind, self.language, name_role(stretch.label))

    def apply(self, document: Document, spans: Iterable[Span], memory: PatientMemory | None = None) -> Deidentified:
        """The note with its spans treated as the policy says.

        :param document: the note; its own spans are not looked at.
        :param spans: the PHI; they may overlap.
        :param memory: what is known of the patient; only numbers without a key are added to it. Without it the note
            stands for itself.
        :raises CorpusError: if a span ends beyond the text.
        """
        spans = document.with_spans(spans).spans
        known = self._known(document, spans, memory)
        context = self._context(document, known)
        pieces: list[str] = []
        replacements: list[Replacement] = []
        unresolved: list[Span] = []
        length = position = 0
        for span in _stretches(spans, self.strategy):
            strategy, new = self._replace(span, document.text[span.start : span.end], context, memory)
            if strategy == "tag" != self.strategy(span.label):
                unresolved.append(span)
            start = length + span.start - position
            pieces += (document.text[position : span.start], new)
            length, position = start + len(new), span.end
            replacements.append(Replacement(span, start, length, strategy))
        pieces.append(document.text[position:])
        return Deidentified("".join(pieces), tuple(replacements), tuple(unresolved))

    def _known(self, document: Document, spans: tuple[Span, ...], memory: PatientMemory | None) -> PatientMemory:
        """The memory, if it has the note; or else a copy of it, or a new one, with the note."""
        if memory is not None and memory.has(document):
            return memory
        known = PatientMemory() if memory is None else memory.copy()
        self.remember(known, document, spans)
        return known

    def strategy(self, label: str) -> str:
        """What the policy does with a label; what no engine read is always tagged."""
        if label.startswith(UNREAD):
            return "tag"
        return self.policy.strategy(label, kind_of(label, self.label_set.name))

    def _context(self, document: Document, known: PatientMemory) -> Context:
        keyed = None if self._key is None else KeyedChoices(self._key, document.group)
        return Context(keyed, self.language, self.policy.options, known)

    def _replace(self, span: Span, mention: str, context: Context, memory: PatientMemory | None) -> tuple[str, str]:
        strategy, kind = self.strategy(span.label), kind_of(span.label, self.label_set.name)
        if strategy in _NUMBERING:
            number = self._number(span.label, kind, plain_text(mention), context, memory)
            return strategy, _NUMBERING[strategy](span.label, number)
        if strategy == "name":
            return strategy, strategies.name(span.label)
        if strategy == "surrogate" and stays(kind, plain_text(mention), context):
            return "keep", mention
        if strategy == "substitute":
            new = self.policy.substitute(span.label, kind)
        elif strategy == "shuffle":
            new = self._shuffled.get((span.label, normalised(plain_text(mention))))
        else:
            new = self._changed(strategy, kind, mention, context)
        if new is None:
            return "tag", strategies.tag(span.label)
        return strategy, new

    def _changed(self, strategy: str, kind: str, mention: str, context: Context) -> str | None:
        """The mention by a strategy that needs no label; nothing for `tag`, and where the strategy can do nothing."""
        match strategy:
            case "keep":
                return mention
            case "mask":
                return strategies.mask(mention)
            case "remove":
                return ""
            case "surrogate":
                return surrogate(kind, plain_text(mention), context)
            case "characters":
                return same_pattern(plain_text(mention), context, "characters")
            case "generalise":
                latest = max(context.memory.latest_year or 0, context.options.present_year) or None
                return strategies.generalise(kind, plain_text(mention), context.options, latest, self.language)
            case _:
                return None

    def _number(self, label: str, kind: str, mention: str, context: Context, memory: PatientMemory | None) -> int:
        """With a key a number of six digits, the same in every note; without one, the order of first mention."""
        identity = context.memory.identity(mention, kind, self.language)
        if context.keyed is not None:
            return context.keyed.number(_NUMBERS, "number", label, identity)
        return (context.memory if memory is None else memory).order(label, identity)


def _stretches(spans: Iterable[Span], strategy_of: Callable[[str], str]) -> list[Span]:
    """Overlapping spans as one stretch, under the label whose strategy takes away the most."""
    return [_stretch(overlapping, strategy_of) for overlapping in overlapping_groups(spans)]


def _stretch(overlapping: Iterable[Span], strategy_of: Callable[[str], str]) -> Span:
    # Of labels with strategies that take away the same, that of the first and longest span counts.
    spans = sorted(overlapping, key=lambda span: (span.start, -span.end, span.label))
    leading = max(spans, key=lambda span: _SEVERITY.get(strategy_of(span.label), 2))
    return Span(spans[0].start, max(span.end for span in spans), leading.label)
