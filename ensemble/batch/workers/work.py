"""What a worker process does with the notes of a chunk: detect, replace, prove, look again.

    results = process_chunk(job, [NoteInput("110-01", "110", (Part("Seen by Dr. Ames."), Part("Ann Hill", "PATIENT")))])
    results[0].texts           ("Seen by Dr. [DOCTOR].", "[PATIENT]")
    results[0].problem         why there are no texts, without a word of the note

A note has parts: those without a label are read by the detector, the others are one identifier as a whole. A note that
fails in any way has a problem and no text. Notes of one patient that follow each other share what is known of the
patient, so that misspelt names are linked and numbers go on; but only with those that the same engine reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from typing import Any

from phistack.ensemble.batch.formats.columns import check_labels
from phistack.ensemble.batch.formats.rows import Part
from phistack.ensemble.batch.workers.column_identifiers import with_column_identifiers
from phistack.ensemble.batch.workers.detector import Detection, Detector
from phistack.ensemble.batch.workers.job import STRUCK, Job, NoteInput, NoteResult, suited_deidentifier, took_longer
from phistack.ensemble.batch.workers.record import counted, put_down
from phistack.ensemble.batch.workers.review_words import KnownWords, struck_places
from phistack.ensemble.bundles.files import manifest_digest
from phistack.ensemble.deidentification import REMOVING, Deidentifier, PatientMemory, kind_of, verify
from phistack.ensemble.stacking.repeats.unmarked import unmarked
from phistack.ensemble.tools.deadline import deadline
from phistack.ensemble.tools.garbage import keep_all
from phistack.ensemble.tools.version import code_digest
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, OverdueError, PhistackError, SettingsError, place_of
from phistack.features.ranges import covering, touching

_NOTES_OF_A_LIMIT = 32
_COMMON_KINDS = ("DATE", "AGE", "SEX")

_LOADED: dict[tuple[Any, ...], tuple[Detector, Deidentifier]] = {}


def start_worker(job: Job) -> None:
    """Load the engine, once for each process.

    :raises BundleError: if the bundle is not the one with which the run began.
    :raises SettingsError: if the policy or the labels of columns do not suit the engine.
    """
    if job.identity not in _LOADED:
        if manifest_digest(job.model) != job.model_digest:
            raise BundleError(f"the bundle {job.model} was changed while a run was using it; start the run again")
        if code_digest() != job.code:
            raise SettingsError(
                "a worker has a different version of phistack; install the same version on all machines"
            )
        detector = job.detector()
        deidentifier = suited_deidentifier(
            job.policy, job.key, job.struck, detector.label_set, detector.language, detector.overruling
        )
        for other in _LOADED.keys() - {of_engine.identity for of_engine in job.of_each_engine.values()}:
            del _LOADED[other]
        _LOADED[job.identity] = detector, deidentifier
        keep_all()
    check_labels(job.labels, _LOADED[job.identity][0].label_set.labels)


def process_chunk(job: Job, notes: Sequence[NoteInput]) -> list[NoteResult]:
    """De-identify notes; one result each, in order. A note's failure is in its result and stops nothing."""
    engines = [job.engine_for(note) for note in notes]
    results: dict[int, NoteResult] = {}
    for engine, of_engine in job.of_each_engine.items():
        places = [place for place, chosen in enumerate(engines) if chosen == engine]
        if places or engine == (job.model, job.model_digest):
            results |= zip(places, _processed(of_engine, [notes[place] for place in places]), strict=True)
    return [results[place] for place in range(len(notes))]


def _processed(job: Job, notes: Sequence[NoteInput]) -> list[NoteResult]:
    """De-identify notes with one engine."""
    start_worker(job)
    worker = _Worker(job, *_LOADED[job.identity])
    under_way = [_Note(note, NoteResult()) for note in notes]
    for note in under_way if not job.any_language else ():
        worker.attempt([note], partial(worker.check_language, note))
    worker.find(_readable(under_way))
    for _, of_patient in groupby(under_way, key=lambda note: note.input.patient):
        worker.replace_phi(list(of_patient))
    if job.second_pass:
        worker.look_again(_readable(under_way))
    results = [note.result for note in under_way]
    return [NoteResult(problem=result.problem) if result.problem else result for result in results]


@dataclass(slots=True)
class _Note:
    """A note under way.

    :ivar found: what is in each part.
    :ivar marked: each part, and what is to be replaced in it.
    """

    input: NoteInput
    result: NoteResult
    found: tuple[Detection, ...] = ()
    marked: tuple[tuple[Document, tuple[Span, ...]], ...] = ()

    def __post_init__(self) -> None:
        self.found = (Detection(()),) * len(self.input.parts)


def _readable(notes: Sequence[_Note]) -> list[_Note]:
    return [note for note in notes if not note.result.problem]


@dataclass(frozen=True, slots=True)
class _Worker:
    """An engine and a policy at work on the notes of a chunk."""

    job: Job
    detector: Detector
    deidentifier: Deidentifier

    def attempt(self, notes: Sequence[_Note], action: Callable[[], object], units: int = 0) -> bool:
        """Do it within the time of the notes, or of so many units; if that fails, each note has a problem at least.

        :returns: whether it was done.
        """
        problem = _failure(action, self.job.timeout * (units or sum(note.input.units for note in notes)))
        for note in notes:
            note.result.problem = note.result.problem or problem
        return not problem

    def check_language(self, note: _Note) -> None:
        """Hold back a note that the engine cannot read."""
        objections = [self.detector.objection(part.text) for part in note.input.parts if not part.label]
        note.result.problem = next(filter(None, objections), "")

    def find(self, notes: Sequence[_Note]) -> None:
        """Detect in all notes at once; where that fails, one by one, so that only the note at fault is lost."""
        if self._find_together(notes):
            return
        for note in notes:
            self.attempt([note], partial(_detect, self.detector, [note]))
        fine = _readable(notes)
        if 1 < len(fine) < len(notes):
            # Once more together, as what is found in a note of a patient is sought in the others.
            self._find_together(fine)

    def _find_together(self, notes: Sequence[_Note]) -> bool:
        # Most notes take a small part of their limit, and one that hangs should not use up those of all.
        units = 1 + sum(note.input.units for note in notes) // _NOTES_OF_A_LIMIT
        return self.attempt([], partial(_detect, self.detector, notes), units)

    def replace_phi(self, notes: Sequence[_Note]) -> None:
        """Replace the PHI of a patient's notes that follow each other."""
        self.attempt(notes, partial(self._seek, notes))
        for note in notes:
            in_parts = zip(note.input.documents, note.found, strict=True)
            note.marked = tuple((text, self._with_struck(text.text, part.spans)) for text, part in in_parts)
        spans = ((text.text, span) for note in notes for text, of_part in note.marked for span in of_part)
        known = KnownWords(text[span.start : span.end] for text, span in spans if self._holds_names(span.label))
        memory = PatientMemory()
        for note in _readable(notes):
            self.attempt([note], partial(self._remember, note, memory))
        for note in _readable(notes):
            self.attempt([note], partial(self._change, note, memory, known))

    def _seek(self, notes: Sequence[_Note]) -> None:
        """Search all notes for the patient's identifiers in columns, and for what was found in any of the notes."""
        if self.job.labels:
            parts, found = [note.input.parts for note in notes], [note.found for note in notes]
            _set_found(notes, with_column_identifiers(parts, found, self.detector.record_search, self._removes))
        if self.job.policy.options.seek_again:
            _set_found(notes, self._with_repeats(notes))

    def _with_repeats(self, notes: Sequence[_Note]) -> list[tuple[Detection, ...]]:
        """What was found, and where it stands again although nothing marked it."""
        pairs = [pair for note in notes for pair in zip(note.input.documents, note.found, strict=True)]
        known = [(document, part.spans) for document, part in pairs]
        more = unmarked(known, self.detector.language, self.detector.is_word, self._removes)
        every = (
            replace(part, spans=part.spans + self.detector.without_never(document, tuple(spans)))
            for (document, part), spans in zip(pairs, more, strict=True)
        )
        return _by_note(notes, every)

    def _removes(self, label: str) -> bool:
        return self.deidentifier.strategy(label) in REMOVING

    def _holds_names(self, label: str) -> bool:
        """Whether the words of an identifier say who or where; those of dates and ages are in every note."""
        return kind_of(label, self.deidentifier.label_set.name) not in _COMMON_KINDS

    def _with_struck(self, text: str, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """The spans, and the struck words that the policy would not take out with them."""
        if not self.job.struck:
            return spans
        covered = covering((s.start, s.end) for s in spans if self._removes(s.label))
        places = sorted(set(struck_places(text, self.job.struck)))
        return spans + tuple(Span(start, end, STRUCK) for start, end in places if not covered(start, end))

    def _remember(self, note: _Note, memory: PatientMemory) -> None:
        for document, spans in note.marked:
            self.deidentifier.remember(memory, document, spans)

    def _change(self, note: _Note, memory: PatientMemory, known: KnownWords) -> None:
        changed = [
            self.deidentifier.apply(document, spans, memory, heading=self._heading(part.label))
            for part, (document, spans) in zip(note.input.parts, note.marked, strict=True)
        ]
        for (document, spans), result in zip(note.marked, changed, strict=True):
            verify(document, result, spans)
        note.result = put_down(self.job, note.input, note.found, changed, known, self.detector.known)

    def _heading(self, label: str) -> str:
        """The columns of a label, whose names may say that their dates are of birth."""
        return " ".join(column for column, of_column in self.job.labels.items() if label == of_column)

    def look_again(self, notes: Sequence[_Note]) -> None:
        """Count what the detector finds in the output outside what was replaced."""
        written = [_Note(_written(note), note.result) for note in notes]
        if written:
            self.find(written)
        for note in written:
            in_parts = zip(note.found, note.result.record["replaced"], strict=True)
            note.result.record["second_pass"] = counted(label for pair in in_parts for label in _left(*pair))


def _detect(detector: Detector, notes: Sequence[_Note]) -> None:
    """Detect in the parts of each note."""
    pairs = [pair for note in notes for pair in zip(note.input.parts, note.input.documents, strict=True)]
    read = iter(detector.find([document for part, document in pairs if not part.label]))
    _set_found(notes, _by_note(notes, iter([_whole(part) if part.label else next(read) for part, _ in pairs])))


def _by_note(notes: Sequence[_Note], in_parts: Iterator[Detection]) -> list[tuple[Detection, ...]]:
    """What is in the parts of all notes, as what is in those of each."""
    return [tuple(islice(in_parts, len(note.input.parts))) for note in notes]


def _set_found(notes: Sequence[_Note], found: Iterable[tuple[Detection, ...]]) -> None:
    for note, in_parts in zip(notes, found, strict=True):
        note.found = in_parts


def _whole(part: Part) -> Detection:
    """The whole text, without the blanks around it, as one identifier."""
    start, end = len(part.text) - len(part.text.lstrip()), len(part.text.rstrip())
    return Detection((Span(start, end, part.label),) if start < end else ())


def _written(note: _Note) -> NoteInput:
    """The note as it comes out."""
    parts = zip(note.input.parts, note.result.texts, strict=True)
    return replace(note.input, parts=tuple(replace(part, text=text) for part, text in parts))


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
