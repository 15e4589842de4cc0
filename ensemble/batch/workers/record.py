"""The audit record of a note that was changed, and what the leak check searches for.

audit_record(job, bundle, note, decisions, changed, known, safe, None).record["counts"]    {"DOCTOR": 2, "PATIENT": 1}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from phistack.ensemble.batch.rows import Part, Row, texts_digest
from phistack.ensemble.batch.workers.identifier_register import IdentifierRegister, spellings_of
from phistack.ensemble.batch.workers.job import Bundle, Job, NoteResult
from phistack.ensemble.batch.workers.review_words import KnownWords, suspects
from phistack.ensemble.deidentification import Deidentified
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers
from phistack.ensemble.stacking.overruling import overruled
from phistack.features.letters import fold
from phistack.features.passages import IN_DOUBT, UNREAD
from phistack.features.text_words import words_of


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

    :param bundle: the one that read it.
    :param decisions: of the engine on its candidates in each part.
    :param changed: what each part became.
    :param known: the words of the patient's identifiers.
    :param safe: what identifies nobody.
    :param identifiers: of the roster, if there is one.
    """
    register, options = IdentifierRegister(job.secret), job.run.options
    texts = tuple(result.text for result in changed)
    replacements = [r for of_part in changed for r in of_part.replacements if not r.span.label.startswith(UNREAD)]
    pairs = [pair for part, of_part in zip(note.parts, changed, strict=True) for pair in _changes(part, of_part)]
    entries = (register.entry(label, form) for label, old in pairs for form in spellings_of(old))
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
        "replaced": [[(r.start_in_output, r.end_in_output) for r in of_part.replacements] for of_part in changed],
        "review": [suspect for suspect in suspected if fold(suspect.word) not in options.overruling.never.folded],
    }
    if identifiers is not None:
        record["known"] = counted(d.span.label for d in accepted if any(vote.source == KNOWN for vote in d.votes))
        record["in roster"] = note.patient in identifiers.roster
    return NoteResult(texts, record=record, entries={entry for entry in entries if entry is not None})


def _changes(part: Part, result: Deidentified) -> Iterator[tuple[str, str]]:
    """The label and the text of what is no longer what it was."""
    for replacement in result.replacements:
        old = part.text[replacement.span.start : replacement.span.end]
        is_changed = old != result.text[replacement.start_in_output : replacement.end_in_output]
        if is_changed and not replacement.span.label.startswith(UNREAD):
            yield replacement.span.label, old


def _unread(part: Part, result: Deidentified) -> Iterator[str]:
    """The label of each passage that no engine read, and that of each word in doubt."""
    for span in (replacement.span for replacement in result.replacements):
        if span.label.startswith(UNREAD):
            yield from [span.label] * (len(words_of(part.text[span.start : span.end])) if span.label == IN_DOUBT else 1)


def counted(items: Iterable[str]) -> dict[str, int]:
    """How often each is there, in their order."""
    return dict(sorted(Counter(items).items()))
