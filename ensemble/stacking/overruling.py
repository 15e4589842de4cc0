"""What a hospital knows better than the stacker: phrases that always are PHI or never are, and patterns of its own.

    overruling = read_overruling(always=Path("ours.txt"), never=Path("drugs.txt"), patterns=Path("numbers.toml"))
    engine.with_options(overruling=overruling).annotate(documents)

What a pattern finds is accepted; then accepted spans that are wholly a phrase of the list of `never` are not; then all
that the list of `always` says is accepted. A new span that overlaps accepted ones takes them in, so that nothing that
was covered becomes uncovered. Nothing else changes. Who said it is among the votes of the decision, with the line of
the list or the name of the pattern, and never the text.

A span that one of the sources in `CERTAIN` says is of a record, such as a roster of patients: no list uncovers it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.phrase_lists import ALWAYS, NEVER, Hit, PhraseList, read_list
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.plain_view import PlainView
from phistack.features.suggestions import no_such
from phistack.submodels.base import Candidate
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, user_patterns

PATTERNS = "patterns"
"""The source of what a user's own patterns find."""

CERTAIN = frozenset((KNOWN,))
"""Sources of spans that no list of `never` uncovers."""


@dataclass(frozen=True)
class Overruling:
    """Lists and patterns of a user.

    :param always: what is PHI whatever the stacker says.
    :param never: what is not, unless a source in `CERTAIN` says so.
    :param patterns: of the user; what they find is PHI.
    :param language: of the notes, as an ISO 639-1 code, for the validators of patterns.
    :raises SettingsError: if the same phrase is in both lists.
    """

    always: PhraseList = field(default_factory=lambda: PhraseList(ALWAYS))
    never: PhraseList = field(default_factory=lambda: PhraseList(NEVER))
    patterns: tuple[Pattern, ...] = field(default=(), repr=False)
    language: str = ""

    def __post_init__(self) -> None:
        lines = {phrase.key: phrase for phrase in self.always.phrases}
        for phrase in self.never.phrases:
            other = lines.get(phrase.key)
            if other is not None:
                raise SettingsError(
                    f"the lists contradict each other: line {other.line}, column {other.column} of {self.always.path} "
                    f"and line {phrase.line}, column {phrase.column} of {self.never.path} are the same phrase; take "
                    f"one of them out"
                )

    def __bool__(self) -> bool:
        return bool(self.always.phrases or self.never.phrases or self.patterns)

    @property
    def digests(self) -> dict[str, str]:
        """What decides what it does, by the name of its option; empty for an option that was not given."""
        patterns = "\n".join(repr(_what_it_finds(pattern)) for pattern in self.patterns)
        texts = {"always list": self.always.text, "never list": self.never.text, "own patterns": patterns}
        return {name: text and hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}

    def suited_to(self, label_set: LabelSet, language: str) -> Overruling:
        """The same for an engine of some labels; :raises SettingsError: for a label that it does not have."""
        self.always.check_labels(label_set.labels)
        self.never.check_labels(label_set.labels)
        patterns = tuple(_labelled(pattern, label_set) for pattern in self.patterns)
        return replace(self, patterns=patterns, language=language)

    @property
    def labels(self) -> set[str]:
        """Of all that it adds, once it is suited to an engine."""
        return {p.label for p in self.always.phrases} | {pattern.labels[ANY_SET] for pattern in self.patterns}

    def applied(self, view: PlainView, note: str, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions on a note, on spans of the note as it was written, after it has been asked.

        :param note: the text of the note as it was written.
        """
        text = view.document.text
        decisions = _added(decisions, _votes(view, PATTERNS, self._of_patterns(text)))
        decisions = self._without_never(view, note, decisions)
        return _added(decisions, _votes(view, ALWAYS, self.always.find(text, self.language)))

    def without_never(self, view: PlainView, note: str, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans that are not wholly a phrase of the list of `never`."""
        kept = self._without_never(view, note, [Decision(span, 1.0, True, ()) for span in spans])
        return tuple(decision.span for decision in kept if decision.accepted)

    def _of_patterns(self, text: str) -> Iterator[Hit]:
        for pattern in self.patterns:
            for start, end in pattern.find(text, self.language):
                yield Hit(start, end, pattern.labels[ANY_SET], pattern.name)

    def _without_never(self, view: PlainView, note: str, decisions: Sequence[Decision]) -> list[Decision]:
        if not (self.never.phrases and any(decision.accepted for decision in decisions)):
            return list(decisions)
        hits: dict[tuple[int, int], list[Hit]] = {}
        for hit in self.never.find(view.document.text, self.language):
            hits.setdefault(_core(note, *view.place(hit.start, hit.end)), []).append(hit)
        return [_refused(d, hits.get(_core(note, d.span.start, d.span.end), ())) for d in decisions]


def read_overruling(always: Path | None = None, never: Path | None = None, patterns: Path | None = None) -> Overruling:
    """The lists and patterns in files; :raises SettingsError: with file and place, for what cannot be used."""
    own = tuple(user_patterns(patterns)) if patterns else ()
    return Overruling(read_list(always, ALWAYS), read_list(never, NEVER), own)


def overruled(decisions: Iterable[Decision]) -> Counter[str]:
    """On how many spans each list and the patterns had a say."""
    return Counter(
        source for d in decisions for source in {vote.source for vote in d.votes} & {ALWAYS, NEVER, PATTERNS}
    )


def _what_it_finds(pattern: Pattern) -> tuple[object, ...]:
    """All that decides what a pattern finds."""
    return pattern.name, pattern.regex, pattern.flags, pattern.validator, sorted(pattern.labels.items())


def _labelled(pattern: Pattern, label_set: LabelSet) -> Pattern:
    """The pattern with its label in the label set alone."""
    label = pattern.label_in(label_set.name)
    if label not in label_set.labels:
        wrong = no_such("label", label, label_set.labels) if label else f"it has no label for {label_set.name}"
        raise SettingsError(f"the pattern {pattern.name} of --patterns cannot be used with this engine: {wrong}")
    return replace(pattern, labels={ANY_SET: label})


def _votes(view: PlainView, source: str, hits: Iterable[Hit]) -> list[Candidate]:
    return [Candidate(view.in_note(Span(h.start, h.end, h.label)), source, evidence=h.evidence) for h in hits]


def _core(note: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without what is neither letter nor digit at its ends, where anything is left then."""
    first, last = start, end
    while first < last and not note[first].isalnum():
        first += 1
    while first < last and not note[last - 1].isalnum():
        last -= 1
    return (first, last) if first < last else (start, end)


def _refused(decision: Decision, hits: Iterable[Hit]) -> Decision:
    """The decision, no longer accepted where a hit of its label says so and none that is certain speaks for it."""
    hit = next((hit for hit in hits if hit.label in ("", decision.span.label)), None)
    if hit is None or not decision.accepted or any(v.source in CERTAIN and v.chosen for v in decision.votes):
        return decision
    vote = Candidate(decision.span, NEVER, evidence=hit.evidence)
    return replace(decision, accepted=False, votes=(*decision.votes, vote))


def _added(decisions: Sequence[Decision], votes: Sequence[Candidate]) -> list[Decision]:
    """The decisions with some votes that count whatever the others say; accepted ones do not overlap."""
    if not votes:
        return list(decisions)
    accepted = [decision for decision in decisions if decision.accepted]
    joined = [_joined(group) for group in _groups([*accepted, *votes])]
    before = {d.span: replace(d, accepted=False) if d.accepted else d for d in decisions}
    new = {d.span: replace(d, votes=_with_votes_of(before.get(d.span), d.votes)) for d in joined}
    return [new.get(span) or before[span] for span in sorted({*before, *new})]


def _with_votes_of(decision: Decision | None, votes: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    return tuple(dict.fromkeys((*votes, *(decision.votes if decision else ()))))


def _groups(items: Sequence[Decision | Candidate]) -> list[list[Decision | Candidate]]:
    """What overlaps, directly or by way of others, together."""
    groups: list[list[Decision | Candidate]] = []
    end = -1
    for item in sorted(items, key=lambda item: (item.span.start, item.span.end)):
        if item.span.start >= end:
            groups.append([])
        groups[-1].append(item)
        end = max(end, item.span.end)
    return groups


def _joined(group: Sequence[Decision | Candidate]) -> Decision:
    """One accepted decision: the one that covers all, unless a vote does so too; otherwise a new one of all."""
    decisions = [item for item in group if isinstance(item, Decision)]
    votes = [item for item in group if isinstance(item, Candidate)]
    if not votes:
        return decisions[0]
    start, end = group[0].span.start, max(item.span.end for item in group)
    said = tuple({(vote.source, vote.evidence): vote for vote in votes}.values())
    every = (*said, *(vote for decision in decisions for vote in decision.votes))
    longest = max(votes, key=lambda vote: vote.span.end - vote.span.start).span
    whole = decisions[0].span if len(decisions) == 1 else longest
    if (whole.start, whole.end) == (start, end) != (longest.start, longest.end):
        return replace(decisions[0], votes=every)
    return Decision(Span(start, end, longest.label), 1.0, True, every)
