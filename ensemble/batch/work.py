"""What a worker process does with the notes of a chunk: detect, replace, prove, look again.

    results = process_chunk(job, [Note("110-01", "110", "Seen by Dr. Ames.")])
    results[0].text            "Seen by Dr. [DOCTOR]."
    results[0].problem         why there is no text, without a word of the note

A note that fails in any way has a problem and no text. Notes of one patient that follow each other share what is known
of the patient, so that misspelt names are linked and numbers go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from ensemble.batch.deadline import NoteTimeoutError, deadline
from ensemble.batch.detector import LONGEST_PIECE, Detector, Found, bundle_digest, load_detector
from ensemble.batch.ranges import covering, touching
from ensemble.batch.register import Entry, Register
from ensemble.batch.rows import text_digest
from ensemble.batch.version import code_digest
from ensemble.batch.words import KnownWords, capitalised, resembling, struck_places
from ensemble.deidentification import REMOVING, Deidentified, Deidentifier, PatientMemory, Policy, kind_of, verify
from features.documents import Document, Span
from features.errors import BundleError, PhistackError, SettingsError

_NOTES_OF_A_LIMIT = 16
_COMMON_KINDS = ("DATE", "AGE", "SEX")

__all__ = ["STRUCK", "Job", "Note", "NoteResult", "process_chunk", "start_worker"]

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
    load: Callable[[Path], Detector] = load_detector

    @property
    def identity(self) -> tuple[Any, ...]:
        """Jobs of equal identity can share a loaded engine."""
        return (str(self.model), self.model_digest, self.policy.digest, self.key, self.load)


@dataclass(frozen=True, slots=True)
class Note:
    """A note on its way to a worker."""

    id: str
    patient: str = field(repr=False)
    text: str = field(repr=False)

    @property
    def document(self) -> Document:
        """The note for the engine."""
        return Document(self.id, self.text, (), self.patient)

    @property
    def units(self) -> int:
        """By how many times the time limit is multiplied."""
        return 1 + len(self.text) // LONGEST_PIECE


@dataclass(slots=True)
class NoteResult:
    """What became of a note.

    :ivar text: the new text; nothing if there is a problem.
    :ivar problem: why the note goes to quarantine.
    :ivar record: JSON-ready facts for journal and audit, without text of PHI.
    :ivar entries: what the leak check searches for.
    """

    text: str | None = field(default=None, repr=False)
    problem: str = ""
    record: dict[str, Any] = field(default_factory=dict)
    entries: set[Entry] = field(default_factory=set, repr=False)


_LOADED: dict[tuple[Any, ...], tuple[Detector, Deidentifier]] = {}


def start_worker(job: Job) -> None:
    """Load the engine, once for each process.

    :raises BundleError: if the bundle is not the one with which the run began.
    :raises SettingsError: if the policy does not suit the engine.
    """
    if job.identity not in _LOADED:
        if bundle_digest(job.model) != job.model_digest:
            raise BundleError(f"the bundle {job.model} was changed while a run used it; start the run again")
        if code_digest() != job.code:
            raise SettingsError(
                "a worker has another version of phistack than the run; install the same on all machines"
            )
        detector = job.load(job.model)
        if job.struck and job.policy.strategy(STRUCK, "OTHER") == "keep":
            raise SettingsError("the policy keeps what it does not name, so the words of the strike list would stay")
        _LOADED.clear()
        _LOADED[job.identity] = detector, Deidentifier(job.policy, detector.label_set, detector.language, job.key)


def process_chunk(job: Job, notes: Sequence[Note]) -> list[NoteResult]:
    """De-identify notes; one result each, in order. A note's failure is in its result and stops nothing."""
    start_worker(job)
    detector, deidentifier = _LOADED[job.identity]
    results = [NoteResult() for _ in notes]
    found = _find(job, detector, [note.document for note in notes], notes, results)
    numbered = enumerate(notes)
    for _, run in groupby(numbered, key=lambda item: item[1].patient):
        _replace(job, deidentifier, list(run), found, results)
    _look_again(job, detector, notes, results)
    return results


def _find(
    job: Job, detector: Detector, documents: Sequence[Document], notes: Sequence[Note], results: list[NoteResult]
) -> list[Found]:
    """Detect in all notes at once; where that fails, one by one, so that only the note at fault is lost."""
    # Most notes take a small part of their limit, and one that hangs should not use up those of all.
    limits = 1 + sum(note.units for note in notes) // _NOTES_OF_A_LIMIT
    together: list[list[Found]] = []
    if not _failure(partial(_append_found, together, detector, documents), job.timeout * limits):
        return together[0]
    found: list[Found] = []
    for document, note, result in zip(documents, notes, results, strict=True):
        single: list[list[Found]] = []
        problem = _failure(partial(_append_found, single, detector, [document]), job.timeout * note.units)
        result.problem = result.problem or problem
        found.append(Found(()) if problem else single[0][0])
    return found


def _append_found(found: list[list[Found]], detector: Detector, documents: Sequence[Document]) -> None:
    found.append(detector.find(documents))


def _replace(
    job: Job, deidentifier: Deidentifier, run: list[tuple[int, Note]], found: list[Found], results: list[NoteResult]
) -> None:
    """Replace the PHI of a patient's notes that follow each other."""
    memory = PatientMemory()
    spans = {i: _with_struck(job, deidentifier, note.text, found[i].spans) for i, note in run}
    named = ((note, span) for i, note in run for span in spans[i] if _holds_names(span.label, deidentifier))
    known = KnownWords(note.text[span.start : span.end] for note, span in named)

    def remember(i: int, note: Note) -> None:
        deidentifier.remember(memory, note.document, spans[i])

    def replace(i: int, note: Note) -> None:
        result = deidentifier.apply(note.document, spans[i], memory)
        verify(note.document, result, spans[i])
        results[i].text = result.text
        _record(job, note, found[i], result, results[i], known)

    for step in (remember, replace):
        for i, note in run:
            if not results[i].problem:
                results[i].problem = _failure(partial(step, i, note), job.timeout * note.units)


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


def _record(job: Job, note: Note, found: Found, result: Deidentified, out: NoteResult, known: KnownWords) -> None:
    replaced = [(r.start_in_output, r.end_in_output) for r in result.replacements]
    register = Register(job.secret)
    changed = [
        (r.span.label, note.text[r.span.start : r.span.end])
        for r in result.replacements
        if note.text[r.span.start : r.span.end] != result.text[r.start_in_output : r.end_in_output]
    ]
    out.entries = {entry for label, old in changed if (entry := register.entry(label, old)) is not None}
    out.record = {
        "input": text_digest(note.text, job.key),
        "output": text_digest(result.text, None),
        "counts": dict(sorted(Counter(r.span.label for r in result.replacements).items())),
        "strategies": dict(sorted(Counter(r.strategy for r in result.replacements).items())),
        "unresolved": len(result.unresolved),
        "lowest": round(found.lowest, 6),
        "replaced": replaced,
        "capitalised": dict(sorted(capitalised(result.text, replaced).items())),
        "resembling": dict(sorted(resembling(result.text, replaced, known).items())),
    }


def _look_again(job: Job, detector: Detector, notes: Sequence[Note], results: list[NoteResult]) -> None:
    """Count what the detector finds in the output outside what was replaced."""
    fine = [i for i, result in enumerate(results) if not result.problem]
    if job.second_pass and fine:
        documents = [Document(notes[i].id, results[i].text or "", (), notes[i].patient) for i in fine]
        again = _find(job, detector, documents, [notes[i] for i in fine], [results[i] for i in fine])
        for i, found in zip(fine, again, strict=True):
            touched = touching(results[i].record["replaced"])
            # What touches a replacement is a surrogate or a tag, with or without its neighbours.
            left = (span.label for span in found.spans if not touched(span.start, span.end))
            results[i].record["second_pass"] = dict(sorted(Counter(left).items()))
    for result in results:
        if result.problem:
            result.text, result.record, result.entries = None, {}, set()


def _failure(action: Callable[[], object], seconds: float) -> str:
    """Do it; the reason if that failed, without any text."""
    try:
        with deadline(seconds):
            action()
    except NoteTimeoutError:
        return f"it took longer than {seconds:g} seconds"
    except PhistackError as error:
        return str(error)
    except Exception as error:  # Whatever a submodel raises, the note must not come out.
        return f"{type(error).__name__} {_place(error)}"
    return ""


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"in {Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace else ""
