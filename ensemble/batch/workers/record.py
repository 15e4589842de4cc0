"""The audit record of a note that was changed, and the words that are still in it and may identify a person.

    audit_record(job, bundle, note, decisions, changed, known, safe, None).record["counts"]        {"DOCTOR": 2}
    suspects("Seen by Dr. Ames.", result, [], safe, KnownWords([]))            [Suspect("Ames", 0.015, 12, 16, "")]
    suspects("Mr Hilard.", result, [], safe, KnownWords(["Ann Hillard"]))      [Suspect("Hilard", 0.2, 3, 9, "")]

A word is listed if it is like an identifier of the patient, in a candidate the engine rejected, or not known to be
safe (`ensemble.engine.doubt`); a word known to be safe counts less. The list of Tjong Kim Sang and others (HealTAC
2019) has all capitalised words within sentences, most of which are not names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from phistack.ensemble.batch.rows import Part, Row, texts_digest
from phistack.ensemble.batch.workers.identifier_register import IdentifierRegister, spellings_of
from phistack.ensemble.batch.workers.job import Bundle, Job, NoteResult
from phistack.ensemble.deidentification import Deidentified, Replacement
from phistack.ensemble.deidentification.context import spliced
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers
from phistack.ensemble.stacking.overruling import overruled
from phistack.features.documents import Document, Span
from phistack.features.letters import edits, fold
from phistack.features.passages import IN_DOUBT, UNREAD
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import covering, overlapping_each
from phistack.features.text_words import words_of

_RUN = re.compile(r"[^\W\d_]+|\w+")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANY_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_BLOT = "\ufffc"
_SHORTEST = 4
_AROUND = 60
_EDITS_BY_LENGTH = ((8, 2), (5, 1))

_LIKE_KNOWN, _CAPITALISED, _NUMBER, _SMALL, _SHORT = 0.2, 0.015, 0.005, 0.008, 0.005
"""How likely a word that is not known to be safe identifies a person: if it is like a word of an identifier that was
replaced in its note, and by its form alone. Rough shares, as `_OF_SAFE` is, of what the English engine left in
invented notes of the third set; `benchmarks.review_list` measures the list on the second."""
_OF_SAFE = 0.3
"""How likely a word that is known to be safe identifies a person, relative to an otherwise equal word."""
_LEAST = 0.005
_LONG_NUMBER = 5


def audit_record(
    job: Job,
    bundle: Bundle,
    note: Row,
    decisions: Sequence[Sequence[Decision]],
    changed: Sequence[Deidentified],
    known: KnownWords,
    safe: SafeText,
    identifiers: KnownIdentifiers | None,
) -> NoteResult:
    """The result of a note that was changed.

    :param decisions: the engine's decisions on its candidates in each part.
    :param known: the words of the patient's identifiers.
    """
    register, options = IdentifierRegister(job.secret), job.run.options
    texts = tuple(result.text for result in changed)
    replacements = [r for of_part in changed for r in of_part.replacements if not r.span.label.startswith(UNREAD)]
    changes = (one for part, of_part in zip(note.parts, changed, strict=True) for one in of_part.changes(part.text))
    gone = ((span.label, old) for span, old in changes if not span.label.startswith(UNREAD))
    entries = (register.entry(label, form) for label, old in gone for form in spellings_of(old))
    every_decision = [decision for of_part in decisions for decision in of_part]
    accepted = [decision for decision in every_decision if decision.accepted]
    suspected = (
        suspect._replace(likely=round(suspect.likely, 4))
        for part, of_part, result in zip(note.parts, decisions, changed, strict=True)
        for suspect in suspects(part.text, result, of_part, safe, known, with_line=job.run.review_lines)
    )
    record: dict[str, Any] = {
        "input": texts_digest(note.texts, job.run.key),
        "output": texts_digest(texts, None),
        "counts": counted(r.span.label for r in replacements),
        "strategies": counted(r.strategy for r in replacements),
        "unread": counted(label for pair in zip(note.parts, changed, strict=True) for label in _unread(*pair)),
        "unresolved": sum(len(of_part.unresolved) for of_part in changed),
        **({"engine": bundle[0].stem} if job.by_language else {}),
        **({"lists": counted(overruled(every_decision).elements())} if options.overruling else {}),
        "lowest": round(min((decision.probability for decision in accepted), default=1.0), 6),
        "replaced": [
            [(r.start_in_output, r.end_in_output, r.span.label, r.strategy) for r in of_part.replacements]
            for of_part in changed
        ],
        "review": [suspect for suspect in suspected if fold(suspect.word) not in options.overruling.never.folded],
    }
    if identifiers is not None:
        record["known"] = counted(d.span.label for d in accepted if any(vote.source == KNOWN for vote in d.votes))
        record["in roster"] = note.patient in identifiers.roster
    places = tuple(map(_scored, changed, decisions))
    return NoteResult(texts, places, record=record, entries={entry for entry in entries if entry is not None})


def _scored(result: Deidentified, decisions: Iterable[Decision]) -> tuple[tuple[Replacement, float], ...]:
    """Each replacement with the probability of the surest decision in its stretch."""
    accepted = [decision for decision in decisions if decision.accepted]
    in_stretches = overlapping_each([replacement.span for replacement in result.replacements], accepted)
    likely = (max((decision.probability for decision in of_stretch), default=1.0) for of_stretch in in_stretches)
    return tuple(zip(result.replacements, likely, strict=True))


def _unread(part: Part, result: Deidentified) -> Iterator[str]:
    """The label of each passage that no engine read, and that of each word in doubt."""
    for span in (replacement.span for replacement in result.replacements):
        if span.label.startswith(UNREAD):
            yield from [span.label] * (len(words_of(part.text[span.start : span.end])) if span.label == IN_DOUBT else 1)


def counted(items: Iterable[str]) -> dict[str, int]:
    """How often each item occurs, sorted by item."""
    return dict(sorted(Counter(items).items()))


class Suspect(NamedTuple):
    """A word that may identify a person.

    :param likely: how likely, in [0, 1], for a ranking.
    :param start: in the note as it was written.
    :param line: the line of that place, without what was replaced, if it was asked for.
    """

    word: str
    likely: float
    start: int
    end: int
    line: str = ""

    def __repr__(self) -> str:
        return f"Suspect({self.likely}, {self.start}, {self.end})"


def suspects(
    text: str,
    result: Deidentified,
    decisions: Iterable[Decision],
    safe: SafeText,
    known: KnownWords,
    *,
    with_line: bool = False,
) -> Iterator[Suspect]:
    """The words of a note that may still identify a person, from left to right."""
    spans = (replacement.span for replacement in result.replacements)
    # The length stays the same, so places in it are places in the note.
    blanked = spliced(text, ((span.start, span.end, _BLOT * (span.end - span.start)) for span in spans)) or ""
    view = plain_view(Document("note", blanked))
    plain = view.document.text
    is_doubtful = covering(safe.doubtful(plain))
    matches = list(_ANY_WORD.finditer(plain))
    places = [Span(*view.place(*match.span()), IN_DOUBT) for match in matches]
    near = overlapping_each(places, (decision for decision in decisions if not decision.accepted))
    for match, place, of_word in zip(matches, places, near, strict=True):
        signs = (_LIKE_KNOWN * known.has_like(match[0]), *(one.probability for one in of_word))
        likely = max(likely_by_form(match[0]), *signs) * (1 if is_doubtful(*match.span()) else _OF_SAFE)
        if likely >= _LEAST and len(match[0]) > 1:
            line = _line(blanked, place) if with_line else ""
            yield Suspect(match[0], likely, place.start, place.end, line)


def likely_by_form(word: str) -> float:
    """How likely a word that is not known to be safe identifies a person, by its form alone."""
    if any(map(str.isdecimal, word)):
        return _NUMBER if len(word) >= _LONG_NUMBER else _SHORT
    if word[0].isupper() and not word.isupper() and len(word) >= _SHORTEST - 1:
        return _CAPITALISED
    return _SMALL if len(word) >= _SHORTEST else _SHORT


class KnownWords:
    """The words of four letters or more in identifiers, and which words are like them."""

    def __init__(self, identifiers: Iterable[str]) -> None:
        found = (word for mention in identifiers for word in _WORD.findall(plain_text(mention)))
        words = {fold(word) for word in found if len(word) >= _SHORTEST}
        self._by_start: defaultdict[str, list[str]] = defaultdict(list)
        for word in words:
            self._by_start[word[0]].append(word)
        self._asked = dict.fromkeys(words, True)

    def has_like(self, word: str) -> bool:
        """Whether one is the word apart from case and accents, or one edit (from 5 letters) or two (from 8) away."""
        plain = fold(word)
        if plain not in self._asked:
            self._asked[plain] = any(_near(plain, other) for other in self._by_start.get(plain[:1], ()))
        return self._asked[plain]


def struck_places(text: str, struck: Collection[str]) -> list[tuple[int, int]]:
    """Where the folded words of a strike list are in a text, also as part of a word with hyphens."""
    view = plain_view(Document("note", text))
    words = (match for pattern in (_RUN, _WORD) for match in pattern.finditer(view.document.text))
    return [view.place(*match.span()) for match in words if fold(match[0]) in struck]


def _line(blanked: str, place: Span) -> str:
    before = blanked[max(0, place.start - _AROUND) : place.start].rpartition("\n")[2]
    after = blanked[place.end : place.end + _AROUND].partition("\n")[0]
    line = before + blanked[place.start : place.end] + after
    return " ".join(re.sub(f"{_BLOT}+", "[...]", line).split())


def _near(word: str, known: str) -> bool:
    allowed = next((n for length, n in _EDITS_BY_LENGTH if len(known) >= length), 0)
    return bool(allowed) and edits(word, known, allowed) <= allowed
