"""What a worker process does with the notes of a chunk: detect, replace, prove, look again.

    results = process_chunk(job, [NoteInput("110-01", "110", (Part("Seen by Dr. Ames."), Part("Ann Hill", "PATIENT")))])
    results[0].texts           ("Seen by Dr. [DOCTOR].", "[PATIENT]")
    results[0].problem         why there are no texts, without a word of the note

A note has parts: those without a label are read by the detector, the others are one identifier as a whole. A note that
fails in any way has a problem and no text. Notes of one patient that follow each other share what is known of the
patient, so that misspelt names are linked and numbers go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from ensemble.batch.formats.columns import check_labels
from ensemble.batch.formats.rows import Part, texts_digest
from ensemble.batch.reasons import took_longer
from ensemble.batch.workers.column_identifiers import with_column_identifiers
from ensemble.batch.workers.detector import LONGEST_PIECE, Detection, Detector, bundle_digest, load_detector
from ensemble.batch.workers.identifier_register import HashedIdentifier, IdentifierRegister, spellings_of
from ensemble.batch.workers.review_words import KnownWords, capitalised, resembling, struck_places
from ensemble.deidentification import REMOVING, Deidentified, Deidentifier, PatientMemory, Policy, kind_of, verify
from ensemble.stacking.repeats.unmarked import unmarked
from ensemble.tools.code_digest import code_digest
from ensemble.tools.deadline import deadline
from features.documents import Document, Span
from features.errors import BundleError, OverdueError, PhistackError, SettingsError, place_of
from features.ranges import covering, touching

FoundInParts = tuple[Detection, ...]
_NOTES_OF_A_LIMIT = 16
_COMMON_KINDS = ("DATE", "AGE", "SEX")

__all__ = ["STRUCK", "Job", "NoteInput", "NoteResult", "process_chunk", "start_worker"]

STRUCK = "STRUCK"
"""The label of words on the strike list; a policy treats it as it treats any label that it does not name."""


@dataclass(frozen=True)
class Job:
    """Everything that decides what a worker makes of a note.

    :param model: the bundle.
    :param model_digest: of the bundle with which the run began.
    :param code: digest of the code with which the run began; a worker with other code is refused.
    :param policy: what to do with each label.
    :param key: the secret of surrogates.
    :param secret: of the register of identifiers of this run.
    :param struck: folded words to be removed everywhere.
    :param timeout: seconds for a note, for each 100,000 characters begun; 0 for no limit.
    :param second_pass: whether to run the detector over the output.
    :param any_language: whether to read notes that the engine cannot read by its language gate.
    :param labels: column -> label, where each value is one identifier.
    :param load: makes a detector from the path of a bundle.
    """

    model: Path
    model_digest: str
    code: str
    policy: Policy = field(repr=False)
    key: bytes | None = field(repr=False)
    secret: bytes = field(repr=False)
    struck: frozenset[str] = field(default=frozenset(), repr=False)
    timeout: float = 60.0
    second_pass: bool = True
    any_language: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    load: Callable[[Path], Detector] = load_detector

    @property
    def identity(self) -> tuple[Any, ...]:
        """Jobs of equal identity can share a loaded engine."""
        return (str(self.model), self.model_digest, self.policy.digest, self.key, self.load)


@dataclass(frozen=True, slots=True)
class NoteInput:
    """A note on its way to a worker."""

    id: str
    patient: str = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)

    @property
    def documents(self) -> tuple[Document, ...]:
        """Each part for the engine."""
        return tuple(Document(self.id, part.text, (), self.patient) for part in self.parts)

    @property
    def units(self) -> int:
        """By how many times the time limit is multiplied."""
        return 1 + sum(len(part.text) for part in self.parts) // LONGEST_PIECE


@dataclass(slots=True)
class NoteResult:
    """What became of a note.

    :ivar texts: the new text of each part; nothing if there is a problem.
    :ivar problem: why the note goes to quarantine.
    :ivar record: JSON-ready facts for journal and audit, without text of PHI.
    :ivar entries: what the leak check searches for.
    """

    texts: tuple[str, ...] = field(default=(), repr=False)
    problem: str = ""
    record: dict[str, Any] = field(default_factory=dict)
    entries: set[HashedIdentifier] = field(default_factory=set, repr=False)


_LOADED: dict[tuple[Any, ...], tuple[Detector, Deidentifier]] = {}


def start_worker(job: Job) -> None:
    """Load the engine, once for each process.

    :raises BundleError: if the bundle is not the one with which the run began.
    :raises SettingsError: if the policy or the labels of columns do not suit the engine.
    """
    if job.identity not in _LOADED:
        if bundle_digest(job.model) != job.model_digest:
            raise BundleError(f"the bundle {job.model} was changed while a run was using it; start the run again")
        if code_digest() != job.code:
            raise SettingsError(
                "a worker has a different version of phistack; install the same version on all machines"
            )
        detector = job.load(job.model)
        if job.struck and job.policy.strategy(STRUCK, "OTHER") == "keep":
            raise SettingsError(
                "the policy keeps what it does not name, so the words of --strike would not be removed; give "
                "another --policy"
            )
        _LOADED.clear()
        _LOADED[job.identity] = detector, Deidentifier(job.policy, detector.label_set, detector.language, job.key)
    check_labels(job.labels, _LOADED[job.identity][0].label_set.labels)


def process_chunk(job: Job, notes: Sequence[NoteInput]) -> list[NoteResult]:
    """De-identify notes; one result each, in order. A note's failure is in its result and stops nothing."""
    start_worker(job)
    detector, deidentifier = _LOADED[job.identity]
    results = [NoteResult(problem=_objection(job, detector, note)) for note in notes]
    found = _find_in_readable(job, detector, notes, results)
    numbered = enumerate(notes)
    for _, run in groupby(numbered, key=lambda item: item[1].patient):
        _replace(job, detector, deidentifier, list(run), found, results)
    _look_again(job, detector, notes, results)
    return results


def _objection(job: Job, detector: Detector, note: NoteInput) -> str:
    """Why the engine cannot read a note, or nothing."""
    objections: list[str] = []

    def ask() -> None:
        objections.extend(detector.objection(part.text) for part in note.parts if not part.label)

    problem = "" if job.any_language else _failure(ask, job.timeout * note.units)
    return problem or next(filter(None, objections), "")


def _find_in_readable(
    job: Job, detector: Detector, notes: Sequence[NoteInput], results: list[NoteResult]
) -> list[FoundInParts]:
    """Detect in the notes that have no problem; nothing is found in the others, which do not come out."""
    found: list[FoundInParts] = [(Detection(()),) * len(note.parts) for note in notes]
    fine = [i for i, result in enumerate(results) if not result.problem]
    for i, in_parts in zip(fine, _find(job, detector, *_only(fine, notes, results)), strict=True):
        found[i] = in_parts
    return found


def _only(
    indices: Sequence[int], notes: Sequence[NoteInput], results: Sequence[NoteResult]
) -> tuple[list[NoteInput], list[NoteResult]]:
    return [notes[i] for i in indices], [results[i] for i in indices]


def _find(job: Job, detector: Detector, notes: Sequence[NoteInput], results: list[NoteResult]) -> list[FoundInParts]:
    """Detect in all notes at once; where that fails, one by one, so that only the note at fault is lost."""
    # Most notes take a small part of their limit, and one that hangs should not use up those of all.
    limits = 1 + sum(note.units for note in notes) // _NOTES_OF_A_LIMIT
    together: list[FoundInParts] = []
    if not _failure(partial(_append_found, together, detector, notes), job.timeout * limits):
        return together
    found: list[FoundInParts] = []
    for note, result in zip(notes, results, strict=True):
        single: list[FoundInParts] = []
        problem = _failure(partial(_append_found, single, detector, [note]), job.timeout * note.units)
        result.problem = result.problem or problem
        found += [(Detection(()),) * len(note.parts)] if problem else single
    fine = [i for i, result in enumerate(results) if not result.problem]
    again: list[FoundInParts] = []
    # Once more together, as what is found in a note of a patient is sought in the others.
    if 1 < len(fine) < len(notes) and not _failure(
        partial(_append_found, again, detector, [notes[i] for i in fine]), job.timeout * limits
    ):
        for i, of_note in zip(fine, again, strict=True):
            found[i] = of_note
    return found


def _append_found(found: list[FoundInParts], detector: Detector, notes: Sequence[NoteInput]) -> None:
    """Append what is in the parts of each note."""
    pairs = [pair for note in notes for pair in zip(note.parts, note.documents, strict=True)]
    read = iter(detector.find([document for part, document in pairs if not part.label]))
    in_parts = iter([_whole(part) if part.label else next(read) for part, _ in pairs])
    found += [tuple(islice(in_parts, len(note.parts))) for note in notes]


def _whole(part: Part) -> Detection:
    """The whole text, without the blanks around it, as one identifier."""
    start, end = len(part.text) - len(part.text.lstrip()), len(part.text.rstrip())
    return Detection((Span(start, end, part.label),) if start < end else ())


def _replace(
    job: Job,
    detector: Detector,
    deidentifier: Deidentifier,
    run: list[tuple[int, NoteInput]],
    found: list[FoundInParts],
    results: list[NoteResult],
) -> None:
    """Replace the PHI of a patient's notes that follow each other."""
    _seek_in_run(job, detector, deidentifier, run, found, results)
    memory = PatientMemory()
    parts: dict[int, list[tuple[Document, tuple[Span, ...]]]] = {}
    for i, note in run:
        in_parts = zip(note.documents, found[i], strict=True)
        parts[i] = [(text, _with_struck(job, deidentifier, text.text, part.spans)) for text, part in in_parts]
    spans = ((document, span) for of_note in parts.values() for document, of_part in of_note for span in of_part)
    named = (pair for pair in spans if _holds_names(pair[1].label, deidentifier))
    known = KnownWords(document.text[span.start : span.end] for document, span in named)

    def remember(i: int, note: NoteInput) -> None:
        for document, spans in parts[i]:
            deidentifier.remember(memory, document, spans)

    def change(i: int, note: NoteInput) -> None:
        changed = [deidentifier.apply(document, spans, memory) for document, spans in parts[i]]
        for (document, spans), result in zip(parts[i], changed, strict=True):
            verify(document, result, spans)
        results[i].texts = tuple(result.text for result in changed)
        _record(job, note, found[i], changed, results[i], known)

    for step in (remember, change):
        for i, note in run:
            if not results[i].problem:
                results[i].problem = _failure(partial(step, i, note), job.timeout * note.units)


def _seek_in_run(
    job: Job,
    detector: Detector,
    deidentifier: Deidentifier,
    run: list[tuple[int, NoteInput]],
    found: list[FoundInParts],
    results: list[NoteResult],
) -> None:
    """Seek what columns tell of the patient, and what was found in any of the notes, in all of them."""
    notes = [note for _, note in run]
    known: list[list[FoundInParts]] = [[found[i] for i, _ in run]]

    def seek() -> None:
        if job.labels:
            known.append(with_column_identifiers([note.parts for note in notes], known[-1], deidentifier.language))
        if job.policy.options.seek_again:
            known.append(_with_repeats(detector, deidentifier, notes, known[-1]))

    problem = _failure(seek, job.timeout * sum(note.units for note in notes))
    for place, (i, _) in enumerate(run):
        found[i] = known[-1][place]
        results[i].problem = results[i].problem or problem


def _with_repeats(
    detector: Detector, deidentifier: Deidentifier, notes: Sequence[NoteInput], found: Sequence[FoundInParts]
) -> list[FoundInParts]:
    """What was found, and where it stands again although nothing marked it."""
    pairs = [pair for note, of in zip(notes, found, strict=True) for pair in zip(note.documents, of, strict=True)]
    known = [(document, part.spans) for document, part in pairs]
    more = unmarked(known, detector.language, detector.is_word, lambda label: deidentifier.strategy(label) in REMOVING)
    every = (replace(part, spans=part.spans + spans) for (_, part), spans in zip(pairs, more, strict=True))
    return [tuple(islice(every, len(note.parts))) for note in notes]


def _holds_names(label: str, deidentifier: Deidentifier) -> bool:
    """Whether the words of an identifier tell who or where; those of dates and ages are in every note."""
    return kind_of(label, deidentifier.label_set.name) not in _COMMON_KINDS


def _with_struck(job: Job, deidentifier: Deidentifier, text: str, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """The spans, and the struck words that the policy would not take out with them."""
    if not job.struck:
        return spans
    covered = covering((s.start, s.end) for s in spans if deidentifier.strategy(s.label) in REMOVING)
    places = sorted(set(struck_places(text, job.struck)))
    return spans + tuple(Span(start, end, STRUCK) for start, end in places if not covered(start, end))


def _record(
    job: Job, note: NoteInput, found: FoundInParts, changed: Sequence[Deidentified], out: NoteResult, known: KnownWords
) -> None:
    register = IdentifierRegister(job.secret)
    replacements = [replacement for result in changed for replacement in result.replacements]
    replaced = [[(r.start_in_output, r.end_in_output) for r in result.replacements] for result in changed]
    pairs = [pair for part, result in zip(note.parts, changed, strict=True) for pair in _changes(part, result)]
    entries = (register.entry(label, form) for label, old in pairs for form in spellings_of(old))
    out.entries = {entry for entry in entries if entry is not None}
    texts = list(zip(out.texts, replaced, strict=True))
    out.record = {
        "input": texts_digest([part.text for part in note.parts], job.key),
        "output": texts_digest(out.texts, None),
        "counts": _counted(r.span.label for r in replacements),
        "strategies": _counted(r.strategy for r in replacements),
        "unresolved": sum(len(result.unresolved) for result in changed),
        "lowest": round(min(part.lowest for part in found), 6),
        "replaced": replaced,
        "capitalised": _counted(word for text, at in texts for word in capitalised(text, at).elements()),
        "resembling": _counted(word for text, at in texts for word in resembling(text, at, known).elements()),
    }


def _changes(part: Part, result: Deidentified) -> Iterator[tuple[str, str]]:
    """The label and the text of what is no longer what it was."""
    for replacement in result.replacements:
        old = part.text[replacement.span.start : replacement.span.end]
        if old != result.text[replacement.start_in_output : replacement.end_in_output]:
            yield replacement.span.label, old


def _counted(items: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(items).items()))


def _look_again(job: Job, detector: Detector, notes: Sequence[NoteInput], results: list[NoteResult]) -> None:
    """Count what the detector finds in the output outside what was replaced."""
    fine = [i for i, result in enumerate(results) if not result.problem]
    if job.second_pass and fine:
        written = [_written(notes[i], results[i]) for i in fine]
        again = _find(job, detector, written, [results[i] for i in fine])
        for i, found in zip(fine, again, strict=True):
            in_parts = zip(found, results[i].record["replaced"], strict=True)
            results[i].record["second_pass"] = _counted(label for pair in in_parts for label in _left(*pair))
    for result in results:
        if result.problem:
            result.texts, result.record, result.entries = (), {}, set()


def _written(note: NoteInput, result: NoteResult) -> NoteInput:
    """The note as it comes out."""
    parts = zip(note.parts, result.texts, strict=True)
    return replace(note, parts=tuple(replace(part, text=text) for part, text in parts))


def _left(found: Detection, replaced: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The labels of what was found; what touches a replacement is a surrogate or a tag, with or without neighbours."""
    touched = touching(replaced)
    yield from (span.label for span in found.spans if not touched(span.start, span.end))


def _failure(action: Callable[[], object], seconds: float) -> str:
    """Do it; the reason if that failed, without any text."""
    try:
        with deadline(seconds, OverdueError):
            action()
    except OverdueError:
        return took_longer(seconds)
    except PhistackError as error:
        return str(error)
    except Exception as error:  # Whatever a submodel raises, the note must not come out.
        return f"{type(error).__name__} in {place_of(error)}"
    return ""
