"""What an attacker makes of a finished run: the parrot attack (Carrell et al., JAMIA 2019) on one's own output.

    found = attack(Path("clean"))
    found.places[0]              LookAlike("17", 120, 131, "DOCTOR", 0.93, ("regex", "crf"), "Hill")
    found.shifts                 Counter({728: 40, 104: 3}): for 3 patients 104 shifts of their dates are possible

Surrogates hide what was missed if no one can tell the two apart. The attacker learns from the surrogates of half
the patients how identifiers look here, and searches the notes of the other half; then the other way round, so every
note is attacked. The reports of the run say where it replaced something; a real attacker reads it off the text. What
the models find elsewhere was probably missed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from phistack.ensemble.batch.reports.audit import audit_run, opened_output
from phistack.ensemble.batch.reports.report import REVIEW, replaced_in
from phistack.ensemble.batch.reports.summary import FEWEST_TO_ATTACK
from phistack.ensemble.batch.settings import run_folder
from phistack.ensemble.batch.workers.record import likely_by_form
from phistack.ensemble.deidentification.dates.parsing import has_day_first, order_shown_by
from phistack.ensemble.deidentification.dates.recovery import Clue, clues, possible_shifts
from phistack.ensemble.deidentification.kinds import kind_anywhere
from phistack.ensemble.deidentification.policy import KEYED
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.candidates import PooledCandidate, pools_of
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.plain_view import plain_view
from phistack.features.ranges import Range, Test, overlapping_groups, touching

ATTACKERS = ("regex", "tbed", "crf")
"""The submodels of the attacker."""
MANY = 2
"""What at least this many of the submodels mark counts as marked."""
FEWEST_PATIENTS = 4
MOST_LEARNED = 1_000
"""The attacker learns from at most this many notes of each half."""

_COUNTS = ("notes", "patients", "surrogates", "marked", "tags")
_READ_ON = (*KEYED, "generalise", "keep")
"""Strategies whose results read as identifiers do; the others leave tags or nothing."""


class LookAlike(NamedTuple):
    """A place in the output that was not replaced and looks like an identifier.

    :param note: its id, as reports show it, with the number of the text if the note has several.
    :param label: the one with the highest votes; empty if no model proposed it and it is only not known to be safe.
    :param likely: how sure the attacker is, in [0, 1]: the mean score of the models, or by the form of the word.
    :param votes: the models that mark it.
    """

    note: str
    start: int
    end: int
    label: str
    likely: float
    votes: tuple[str, ...]
    text: str

    def __repr__(self) -> str:
        return f"LookAlike({self.start}, {self.end}, {self.likely:.2f})"

    @property
    def is_marked(self) -> bool:
        """Whether the attacker's models mark it: it looks like the surrogates."""
        return len(self.votes) >= MANY


@dataclass(frozen=True)
class Released:
    """A text of the output.

    :param document: its spans are what reads as an identifier: surrogates, and what the policy keeps.
    :param taken: everything that was replaced or kept, tags too; `shifted`: the dates among them with surrogates.
    """

    document: Document
    taken: tuple[Range, ...]
    shifted: tuple[Range, ...]

    @classmethod
    def of(cls, document: Document, replaced: Iterable[tuple[int, int, str, str]]) -> Self:
        """A text, given the start, end, label and strategy of each replacement in it."""
        places = list(replaced)
        spans = (Span(s, e, label) for s, e, label, strategy in places if strategy in _READ_ON and s < e)
        dates = (
            (start, end)
            for start, end, label, strategy in places
            if strategy == "surrogate" and kind_anywhere(label) == "DATE"
        )
        return cls(document.with_spans(spans), tuple((start, end) for start, end, *_ in places), tuple(dates))


@dataclass(frozen=True)
class Attack:
    """The result of an attack.

    :param notes: how many were attacked; `patients`: how many they belong to.
    :param surrogates: what an attacker can mistake for an identifier; `marked`: how many of these the models mark.
    :param tags: replacements that no one mistakes for an identifier.
    :param shifts: how many shifts, in days, are possible for a patient's dates given the words near them -> patients.
    :param places: the look-alikes, the surest first.
    :param passed_over: language -> notes in it that are too few to attack.
    """

    notes: int
    patients: int
    surrogates: int
    marked: int
    tags: int
    shifts: Counter[int]
    places: tuple[LookAlike, ...] = field(repr=False)
    passed_over: Mapping[str, int] = field(default_factory=dict)


def attack(target: Path, *, jobs: int = 1) -> Attack:
    """Attack the output of a finished run.

    :param jobs: processes; the result does not depend on it.
    :raises CorpusError: if there is no such run, it was changed since, or has too few notes with surrogates.
    """
    outcomes, passed_over = [], {}
    for (language, label_set), texts in _released(target).items():
        if len(texts) < FEWEST_TO_ATTACK or len({text.document.group for text in texts}) < FEWEST_PATIENTS:
            passed_over[language] = len(texts)
        else:
            outcomes.append(_attacked(texts, language, label_set, jobs))
    if not outcomes:
        least = f"{FEWEST_TO_ATTACK} of {FEWEST_PATIENTS} patients"
        raise CorpusError(f"{target} has too few notes to attack: no language has {least}; give more notes")
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in outcomes) for name in _COUNTS}
    sums["shifts"] = sum((one.shifts for one in outcomes), Counter())
    return Attack(**sums, places=ranked([place for one in outcomes for place in one.places]), passed_over=passed_over)


def _attacked(texts: Sequence[Released], language: str, label_set: str, jobs: int) -> Attack:
    """The attack on texts that one engine read; its places are not ranked."""
    pools = parroted([text.document for text in texts], language, label_set, jobs=jobs)
    safe = SafeText.of((language,))
    marks = map(marked_in, pools)
    return Attack(
        notes=len(texts),
        patients=len({text.document.group for text in texts}),
        surrogates=sum(len(text.document.spans) for text in texts),
        marked=sum(mark(s.start, s.end) for mark, t in zip(marks, texts, strict=True) for s in t.document.spans),
        shifts=shifts_left(texts, language),
        tags=sum(len(text.taken) - len(text.document.spans) for text in texts),
        places=tuple(p for text, pool in zip(texts, pools, strict=True) for p in look_alikes(text, pool, safe)),
    )


def _released(target: Path) -> dict[tuple[str, str], list[Released]]:
    """The texts of a run by language and label set of the engine that read them."""
    problems = audit_run(target).problems
    if problems:
        raise CorpusError(f"{target} cannot be attacked, as {problems[0]}")
    form, _ = opened_output(target)
    parts = defaultdict[tuple[str, str], list[Released]](list)
    is_hiding = False
    for row, line in replaced_in(target, form):
        read = [pair for pair in zip(row.parts, line["replaced"], strict=True) if not pair[0].label]
        for number, (part, replaced) in enumerate(read, 1):
            name = line["id"] if len(read) == 1 else f"{line['id']}, text {number}"
            document = Document(name, part.text, (), line["patient"])
            parts[tuple(line["read as"])].append(Released.of(document, replaced))
            is_hiding = is_hiding or any(strategy in KEYED for *_, strategy in replaced)
    if not is_hiding:
        raise CorpusError(
            f"{target} has no surrogates: tags hide nothing, so that whatever else in it looks like an identifier is "
            f"one; read {run_folder(target) / REVIEW}, or run again with --policy surrogate"
        )
    return parts


def parroted(notes: Sequence[Document], language: str, label_set: str, *, jobs: int = 1) -> list[list[PooledCandidate]]:
    """For each note, what models propose that were trained on the spans of the other half of the patients.

    :param label_set: its name; the set is used if it ships.
    """
    labels = {span.label: span.label for note in notes for span in note.spans}
    known = LabelSet.named(label_set) if label_set in LabelSet.names() else LabelSet(label_set, {}, language=language)
    # The ids of a table may occur more than once.
    documents = [replace(note, id=str(number)) for number, note in enumerate(notes)]
    settings = EngineSettings(FeatureSettings(language=language), {name: {} for name in ATTACKERS})
    halves = [set(half) for half in at_most_folds(documents, n_folds=2)]
    found: dict[str, list[PooledCandidate]] = {}
    for half in halves:
        learned = [document for number, document in enumerate(documents) if number not in half]
        learned = learned[:: math.ceil(len(learned) / MOST_LEARNED)]
        corpus, searched = (
            Corpus(tuple(learned), known.extended(labels)),
            [documents[number] for number in sorted(half)],
        )
        proposed = propose(corpus, settings, unseen=searched, out_of_fold=False, jobs=jobs)
        pools = pools_of(proposed.unseen, proposed.on_unseen, ATTACKERS)
        for table, pool in zip(proposed.unseen, pools, strict=True):
            found[table.document.id] = [candidate.in_note(table.view) for candidate in pool]
    return [found[document.id] for document in documents]


def shifts_left(texts: Iterable[Released], language: str) -> Counter[int]:
    """Number of possible shifts -> number of patients with shifted dates."""
    of_patients = defaultdict[str, list[Released]](list)
    for text in texts:
        if text.shifted:
            of_patients[text.document.group].append(text)
    return Counter(len(possible_shifts(_clues(notes, language))) for notes in of_patients.values())


def _clues(notes: Sequence[Released], language: str) -> Iterator[Clue]:
    dates = [note.document.text[start:end] for note in notes for start, end in note.shifted]
    shown = Counter(way for mention in dates for way in order_shown_by(mention))
    first = has_day_first(shown, language)
    for note in notes:
        yield from clues(note.document.text, note.shifted, note.taken, language, day_first=first)


def marked_in(pool: Sequence[PooledCandidate]) -> Test:
    """A test of whether a stretch of a note overlaps what enough models mark, each in its own bounds."""
    return touching(_range(group) for group in overlapping_groups(pool) if len(_sources(group)) >= MANY)


def _range(group: Sequence[PooledCandidate]) -> Range:
    return group[0].span.start, max(candidate.span.end for candidate in group)


def _sources(group: Sequence[PooledCandidate]) -> tuple[str, ...]:
    marking = {vote.source for candidate in group for vote in candidate.votes if vote.chosen}
    return tuple(name for name in ATTACKERS if name in marking)


def look_alikes(released: Released, pool: Sequence[PooledCandidate], safe: SafeText) -> Iterator[LookAlike]:
    """What was not replaced and is a candidate of the attacker, or not known to be safe."""
    note, taken = released.document, touching(released.taken)
    groups = overlapping_groups(c for c in pool if not taken(c.span.start, c.span.end))
    for group in groups:
        best = {name: 0.0 for name in ATTACKERS}
        for vote in (vote for candidate in group for vote in candidate.votes):
            best[vote.source] = max(best[vote.source], vote.score)
        label = max(group, key=lambda candidate: sum(vote.score for vote in candidate.votes)).span.label
        yield _place(note, _range(group), label, sum(best.values()) / len(best), _sources(group))
    proposed = touching(map(_range, groups))
    view = plain_view(note.with_spans(()))
    for start, end in safe.doubtful(view.document.text):
        place = view.place(start, end)
        if not taken(*place) and not proposed(*place):
            yield _place(note, place, "", likely_by_form(view.document.text[start:end]), ())


def _place(note: Document, place: Range, label: str, likely: float, votes: tuple[str, ...]) -> LookAlike:
    return LookAlike(note.id, *place, label, likely, votes, note.text[slice(*place)])


def ranked(places: Sequence[LookAlike]) -> tuple[LookAlike, ...]:
    """Marked places, then the rest, the surest first; a text in many notes is more likely a medical term."""
    notes = defaultdict[str, set[str]](set)
    for place in places:
        notes[fold(place.text)].add(place.note)
    weighed = (p._replace(likely=p.likely / math.sqrt(len(notes[fold(p.text)]))) for p in places)
    return tuple(sorted(weighed, key=lambda place: (not place.is_marked, -place.likely, place.note, place.start)))
