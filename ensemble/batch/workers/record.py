"""The audit record of a note that was changed, and what the leak check searches for.

audit_record(job, bundle, note, found, changed, known, None).record["counts"]        {"DOCTOR": 2, "PATIENT": 1}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from phistack.ensemble.batch.rows import Part, texts_digest
from phistack.ensemble.batch.workers.detection import Detection
from phistack.ensemble.batch.workers.identifier_register import IdentifierRegister, spellings_of
from phistack.ensemble.batch.workers.job import Bundle, Job, NoteInput, NoteResult
from phistack.ensemble.batch.workers.review_words import KnownWords, Suspect, suspects
from phistack.ensemble.deidentification import Deidentified
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers
from phistack.features.letters import fold
from phistack.features.passages import IN_DOUBT, UNREAD
from phistack.features.text_words import words_of


def audit_record(
    job: Job,
    bundle: Bundle,
    note: NoteInput,
    found: Sequence[Detection],
    changed: Sequence[Deidentified],
    known: KnownWords,
    safe: SafeText,
    identifiers: KnownIdentifiers | None,
) -> NoteResult:
    """The result of a note that was changed.

    :param bundle: the one that read it.
    :param found: what was found in each part.
    :param changed: what each part became.
    :param known: the words of the patient's identifiers.
    :param safe: what identifies nobody.
    :param identifiers: of the roster, if there is one.
    """
    register = IdentifierRegister(job.secret)
    texts = tuple(result.text for result in changed)
    every = [replacement for of_part in changed for replacement in of_part.replacements]
    replacements = [replacement for replacement in every if not replacement.span.label.startswith(UNREAD)]
    replaced = [[(r.start_in_output, r.end_in_output) for r in of_part.replacements] for of_part in changed]
    pairs = [pair for part, of_part in zip(note.parts, changed, strict=True) for pair in _changes(part, of_part)]
    entries = (register.entry(label, form) for label, old in pairs for form in spellings_of(old))
    lists = (name for part in found for name in Counter(part.overruled).elements())
    words = _reviewed(zip(note.parts, found, changed, strict=True), safe, known, with_line=job.run.review_lines)
    never = job.run.options.overruling.never.folded
    record: dict[str, Any] = {
        "input": texts_digest([part.text for part in note.parts], job.run.key),
        "output": texts_digest(texts, None),
        "counts": counted(r.span.label for r in replacements),
        "strategies": counted(r.strategy for r in replacements),
        "unread": counted(label for pair in zip(note.parts, changed, strict=True) for label in _unread(*pair)),
        "unresolved": sum(len(of_part.unresolved) for of_part in changed),
        **({"engine": bundle[0].stem} if job.by_language else {}),
        **({"lists": counted(lists)} if job.run.options.overruling else {}),
        "lowest": round(min(part.lowest for part in found), 6),
        "replaced": replaced,
        "review": [suspect for suspect in words if fold(suspect.word) not in never],
    }
    if identifiers is not None:
        record["known"] = counted(label for part in found for label in part.known)
        record["in roster"] = note.patient in identifiers.roster
    return NoteResult(texts, record=record, entries={entry for entry in entries if entry is not None})


def _changes(part: Part, result: Deidentified) -> Iterator[tuple[str, str]]:
    """The label and the text of what is no longer what it was."""
    for replacement in result.replacements:
        old = part.text[replacement.span.start : replacement.span.end]
        is_changed = old != result.text[replacement.start_in_output : replacement.end_in_output]
        if is_changed and not replacement.span.label.startswith(UNREAD):
            yield replacement.span.label, old


def _reviewed(
    parts: Iterable[tuple[Part, Detection, Deidentified]], safe: SafeText, known: KnownWords, *, with_line: bool
) -> Iterator[Suspect]:
    """Each word that is still there and may identify somebody."""
    for part, found, result in parts:
        replaced = sorted({(r.span.start, r.span.end) for r in result.replacements})
        for suspect in suspects(part.text, replaced, found.rejected, safe, known, with_line=with_line):
            yield suspect._replace(likely=round(suspect.likely, 4))


def _unread(part: Part, result: Deidentified) -> Iterator[str]:
    """The label of each passage that no engine read, and that of each word in doubt."""
    for span in (replacement.span for replacement in result.replacements):
        if span.label.startswith(UNREAD):
            yield from [span.label] * (len(words_of(part.text[span.start : span.end])) if span.label == IN_DOUBT else 1)


def counted(items: Iterable[str]) -> dict[str, int]:
    """How often each is there, in their order."""
    return dict(sorted(Counter(items).items()))
