"""A user's corrections of the stacker: phrases that are always or never PHI, and patterns.

    overruling = read_overruling(always=Path("ours.txt"), never=Path("drugs.txt"), patterns=Path("numbers.toml"))
    engine.with_options(overruling=overruling).annotate(documents)

Matches of patterns are accepted; then accepted spans that are wholly a phrase of the `never` list are refused; then all
phrases of the `always` list are accepted. A new span is merged with accepted ones that it overlaps, so nothing is
uncovered. The votes of a decision name the line of the list or the pattern, never the text.

A `never` list cannot uncover a span of a source in `CERTAIN`, such as a roster.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.phrase_lists import ALWAYS, NEVER, Hit, PhraseList, read_list
from phistack.features.documents import Span
from phistack.features.errors import SettingsError, no_such
from phistack.features.labels import LabelSet
from phistack.features.plain_view import PlainView
from phistack.features.ranges import Range, overlapping_groups
from phistack.features.text_words import trimmed
from phistack.submodels.base import Candidate
from phistack.submodels.regex.pattern_files import ANY_SET, Pattern, user_patterns

PATTERNS = "patterns"
"""The source of the votes of a user's patterns."""

CERTAIN = frozenset((KNOWN,))
"""Sources whose spans a `never` list cannot uncover."""


@dataclass(frozen=True)
class Overruling:
    """Lists and patterns of a user.

    :param never: phrases that are never PHI, except spans of a source in `CERTAIN`.
    :raises SettingsError: if the same phrase is in both lists.
    """

    always: PhraseList = field(default_factory=lambda: PhraseList(ALWAYS))
    never: PhraseList = field(default_factory=lambda: PhraseList(NEVER))
    patterns: tuple[Pattern, ...] = field(default=(), repr=False)
    language: str = ""

    def __post_init__(self) -> None:
        always = {phrase.key: phrase for phrase in self.always.phrases}
        for phrase in self.never.phrases:
            if (other := always.get(phrase.key)) is not None:
                raise SettingsError(
                    f"the lists contradict each other: line {other.line}, column {other.column} of {self.always.path} "
                    f"and line {phrase.line}, column {phrase.column} of {self.never.path} are the same phrase; "
                    "take one of them out"
                )

    def __bool__(self) -> bool:
        return bool(self.always.phrases or self.never.phrases or self.patterns)

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each list and of the patterns, by option; empty for an option that was not given."""
        finds = ((p.name, p.regex, p.flags, p.validator, sorted(p.labels.items())) for p in self.patterns)
        patterns = "\n".join(map(repr, finds))
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
        """The labels of all that it adds, after `suited_to`."""
        return {p.label for p in self.always.phrases} | {pattern.labels[ANY_SET] for pattern in self.patterns}

    def applied(self, view: PlainView, note: str, decisions: Sequence[Decision]) -> list[Decision]:
        """The decisions on a note with those of lists and patterns, all on spans of the note as it was written."""
        text = view.document.text
        of_patterns = (
            Hit(start, end, pattern.labels[ANY_SET], pattern.name)
            for pattern in self.patterns
            for start, end in pattern.find(text, self.language)
        )
        decisions = _added(decisions, _votes(view, PATTERNS, of_patterns))
        decisions = self._without_never(view, note, decisions)
        return _added(decisions, _votes(view, ALWAYS, self.always.find(text, self.language)))

    def without_never(self, view: PlainView, note: str, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans that are not wholly a phrase of the `never` list."""
        kept = self._without_never(view, note, [Decision(span, 1.0, True, ()) for span in spans])
        return tuple(decision.span for decision in kept if decision.accepted)

    def _without_never(self, view: PlainView, note: str, decisions: Sequence[Decision]) -> list[Decision]:
        if not (self.never.phrases and any(decision.accepted for decision in decisions)):
            return list(decisions)
        hits: dict[Range, list[Hit]] = {}
        for hit in self.never.find(view.document.text, self.language):
            hits.setdefault(trimmed(note, *view.place(hit.start, hit.end)), []).append(hit)
        return [_refused(d, hits.get(trimmed(note, d.span.start, d.span.end), ())) for d in decisions]


def read_overruling(always: Path | None = None, never: Path | None = None, patterns: Path | None = None) -> Overruling:
    """The lists and patterns in files; :raises SettingsError: with file and place, if one cannot be used."""
    own = tuple(user_patterns(patterns)) if patterns else ()
    return Overruling(read_list(always, ALWAYS), read_list(never, NEVER), own)


def overruled(decisions: Iterable[Decision]) -> Counter[str]:
    """The number of spans that each list and the patterns voted on."""
    ours = {ALWAYS, NEVER, PATTERNS}
    return Counter(source for d in decisions for source in ours.intersection(vote.source for vote in d.votes))


def _labelled(pattern: Pattern, label_set: LabelSet) -> Pattern:
    """The pattern with its label in the label set alone."""
    label = pattern.label_in(label_set.name)
    if label not in label_set.labels:
        wrong = no_such("label", label, label_set.labels) if label else f"it has no label for {label_set.name}"
        raise SettingsError(f"the pattern {pattern.name} of --patterns cannot be used with this engine: {wrong}")
    return replace(pattern, labels={ANY_SET: label})


def _votes(view: PlainView, source: str, hits: Iterable[Hit]) -> list[Candidate]:
    return [Candidate(view.in_note(Span(h.start, h.end, h.label)), source, evidence=h.evidence) for h in hits]


def _refused(decision: Decision, hits: Iterable[Hit]) -> Decision:
    """The decision, no longer accepted if a hit has its label and no certain source proposes it."""
    hit = next((hit for hit in hits if hit.label in ("", decision.span.label)), None)
    if hit is None or not decision.accepted or any(v.source in CERTAIN and v.chosen for v in decision.votes):
        return decision
    vote = Candidate(decision.span, NEVER, evidence=hit.evidence)
    return replace(decision, accepted=False, votes=(*decision.votes, vote))


def _added(decisions: Sequence[Decision], votes: Sequence[Candidate]) -> list[Decision]:
    """The decisions with some votes that are always accepted; accepted decisions do not overlap."""
    if not votes:
        return list(decisions)
    accepted = [decision for decision in decisions if decision.accepted]
    every: list[Decision | Candidate] = [*accepted, *votes]
    joined = [_joined(group) for group in overlapping_groups(every)]
    before = {d.span: replace(d, accepted=False) if d.accepted else d for d in decisions}
    new = {}
    for decision in joined:
        old = before[decision.span].votes if decision.span in before else ()
        new[decision.span] = replace(decision, votes=tuple(dict.fromkeys((*decision.votes, *old))))
    return [new.get(span) or before[span] for span in sorted({*before, *new})]


def _joined(group: Sequence[Decision | Candidate]) -> Decision:
    """One accepted decision on the whole group: an old one if it alone covers all, otherwise a new one."""
    decisions = [item for item in group if isinstance(item, Decision)]
    votes = [item for item in group if isinstance(item, Candidate)]
    if not votes:
        return decisions[0]
    start, end = group[0].span.start, max(item.span.end for item in group)
    distinct = tuple({(vote.source, vote.evidence): vote for vote in votes}.values())
    every = (*distinct, *(vote for decision in decisions for vote in decision.votes))
    longest = max(votes, key=lambda vote: vote.span.end - vote.span.start).span
    whole = decisions[0].span if len(decisions) == 1 else longest
    if (whole.start, whole.end) == (start, end) != (longest.start, longest.end):
        return replace(decisions[0], votes=every)
    return Decision(Span(start, end, longest.label), 1.0, True, every)
