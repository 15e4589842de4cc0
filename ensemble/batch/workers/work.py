"""What a worker process does with the notes of a chunk: detect, replace, prove, look again.

    results = process_chunk(job, rows)         of (Part("Seen by Dr. Ames."), Part("Ann Hill", "PATIENT"))
    results[0].texts           ("Seen by Dr. [DOCTOR].", "[PATIENT]")
    results[0].problem         why there are no texts, without a word of the note

A note has parts: those without a label are read by the detector, the others are one identifier as a whole. A note that
fails in any way has a problem and no text. Consecutive notes of one patient that the same engine reads share what is
known of the patient: misspelt names are linked, and numbers continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from typing import Any

from phistack.ensemble.batch.columns import check_labels, coded, engine_label
from phistack.ensemble.batch.rows import Part, Row, text_digest
from phistack.ensemble.batch.workers.column_identifiers import Spans, with_column_identifiers
from phistack.ensemble.batch.workers.job import STRUCK, Bundle, Job, NoteResult, suited_deidentifier, took_longer
from phistack.ensemble.batch.workers.record import KnownWords, audit_record, counted, struck_places
from phistack.ensemble.bundles.files import manifest_digest
from phistack.ensemble.deidentification import REMOVING, Deidentifier, PatientMemory, kind_of, verify
from phistack.ensemble.engine import READ, Engine, EnginesByLanguage
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, unmarked
from phistack.ensemble.tools.clock import deadline
from phistack.ensemble.tools.numerics import keep_all
from phistack.ensemble.tools.version import code_digest
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, OverdueError, PhistackError, SettingsError, place_of
from phistack.features.passages import UNREAD
from phistack.features.plain_view import plain_text, plain_view
from phistack.features.ranges import covering, touching

_NOTES_OF_A_LIMIT = 32
_COMMON_KINDS = ("DATE", "AGE", "SEX")

_LOADED: dict[tuple[Any, ...], tuple[Engine, Deidentifier]] = {}


def start_worker(job: Job) -> None:
    """Load the engine of the run, once for each process.

    :raises BundleError: if the bundle is not the one with which the run began.
    :raises SettingsError: if the policy or the labels of columns do not suit the engine.
    """
    engine, _ = _loaded(job, job.bundle)
    check_labels(job.run.form_settings.columns.labels, engine.label_set.labels)


def _loaded(job: Job, bundle: Bundle) -> tuple[Engine, Deidentifier]:
    identity = job.identity(bundle)
    if identity not in _LOADED:
        path, digest = bundle
        if manifest_digest(path) != digest:
            raise BundleError(f"the bundle {path} was changed while a run was using it; start the run again")
        if code_digest() != job.code:
            raise SettingsError(
                "a worker has a different version of phistack; install the same version on all machines"
            )
        others = {language: other for language, other in job.by_language.items() if other != bundle}
        engine = job.load(bundle, EnginesByLanguage(others, lambda language: _loaded(job, others[language])[0]))
        deidentifier = suited_deidentifier(job.run, engine.label_set, engine.language, engine.options.overruling)
        for other in _LOADED.keys() - set(map(job.identity, job.bundles)):
            del _LOADED[other]
        _LOADED[identity] = engine, deidentifier
        keep_all()
    return _LOADED[identity]


def process_chunk(job: Job, notes: Sequence[Row]) -> list[NoteResult]:
    """De-identify notes; one result each, in order. A note's failure is in its result and stops nothing."""
    chosen = list(map(job.bundle_for, notes))
    results: dict[int, NoteResult] = {}
    for bundle in job.bundles:
        places = [place for place, own in enumerate(chosen) if own == bundle]
        if places or bundle == job.bundle:
            results |= zip(places, _processed(job, bundle, [notes[place] for place in places]), strict=True)
    return [results[place] for place in range(len(notes))]


def _processed(job: Job, bundle: Bundle, notes: Sequence[Row]) -> list[NoteResult]:
    start_worker(job)
    engine, deidentifier = _loaded(job, bundle)
    worker = _Worker(job, bundle, engine, deidentifier, engine.safe_text)
    under_way = [_Note(note.labelled(worker.engine.label_set), NoteResult()) for note in notes]
    known = worker.engine.known
    if known is not None:
        for note in under_way:
            worker.attempt([note], partial(worker.check_kept, note, known))
    worker.find(_readable(under_way))
    for _, of_patient in groupby(under_way, key=lambda note: note.input.patient):
        worker.replace_phi(list(of_patient))
    if job.run.second_pass:
        worker.look_again(_readable(under_way))
    results = [note.result for note in under_way]
    return [NoteResult(problem=result.problem) if result.problem else result for result in results]


@dataclass(slots=True)
class _Note:
    """A note under way.

    :ivar found: what must not come out of each part: what the engine accepted, and what no engine read.
    :ivar decisions: the engine's decisions in each part.
    :ivar marked: each part, and what is to be replaced in it.
    """

    input: Row
    result: NoteResult
    found: tuple[Spans, ...] = ()
    decisions: tuple[Sequence[Decision], ...] = ()
    marked: tuple[tuple[Document, Spans], ...] = ()

    def __post_init__(self) -> None:
        self.found = ((),) * len(self.input.parts)


def _readable(notes: Sequence[_Note]) -> list[_Note]:
    return [note for note in notes if not note.result.problem]


@dataclass(frozen=True, slots=True)
class _Worker:
    """An engine and a policy at work on the notes of a chunk."""

    job: Job
    bundle: Bundle
    engine: Engine
    deidentifier: Deidentifier
    safe: SafeText

    def attempt(self, notes: Sequence[_Note], action: Callable[[], object], units: int = 0) -> bool:
        """Do it within the time limit of the notes, or of this many units; if that fails, each note has a problem.

        :returns: whether it was done.
        """
        problem = _failure(action, self.job.run.timeout * (units or sum(note.input.units for note in notes)))
        for note in notes:
            note.result.problem = note.result.problem or problem
        return not problem

    def check_kept(self, note: _Note, known: KnownIdentifiers) -> None:
        """Hold back a note with a name of the roster in a column, an id or a file name that passes unchanged."""
        index = known.index(note.input.patient)
        for column, value in note.input.kept:
            if known.search.has_name(plain_text(value), index, self._removes):
                reason = f"a name of the roster is in what is kept as it is: {column}"
                note.result.problem = note.result.problem or reason

    def find(self, notes: Sequence[_Note]) -> None:
        """Detect in all notes at once; if that fails, one by one, to lose only the note at fault."""
        if self._find_together(notes):
            return
        for note in notes:
            self.attempt([note], partial(_detect, self.engine, [note]))
        fine = _readable(notes)
        if 1 < len(fine) < len(notes):
            # Once more together, as names found in one note are searched for in the patient's others.
            self._find_together(fine)

    def _find_together(self, notes: Sequence[_Note]) -> bool:
        # Most notes take a small part of their limit; one that hangs should not use up the limits of all.
        units = 1 + sum(note.input.units for note in notes) // _NOTES_OF_A_LIMIT
        return self.attempt([], partial(_detect, self.engine, notes), units)

    def replace_phi(self, notes: Sequence[_Note]) -> None:
        """Replace the PHI in consecutive notes of a patient."""
        self.attempt(notes, partial(self._seek, notes))
        for note in notes:
            in_parts = zip(note.input.documents, note.found, strict=True)
            note.marked = tuple((text, self._with_struck(text.text, spans)) for text, spans in in_parts)
        spans = ((text.text, span) for note in notes for text, of_part in note.marked for span in of_part)
        known = KnownWords(text[span.start : span.end] for text, span in spans if self._holds_names(span.label))
        memory = PatientMemory()
        for note in _readable(notes):
            self.attempt([note], partial(self._remember, note, memory))
        for note in _readable(notes):
            self.attempt([note], partial(self._change, note, memory, known))

    def _seek(self, notes: Sequence[_Note]) -> None:
        """Search all notes for the patient's identifiers in columns, and for what was found in any of the notes."""
        if self.job.run.form_settings.columns.labels:
            parts, found = [note.input.parts for note in notes], [note.found for note in notes]
            _set_found(notes, with_column_identifiers(parts, found, self.engine.record_search, self._removes))
        if self.job.run.policy.options.seek_again:
            _set_found(notes, self._with_repeats(notes))

    def _with_repeats(self, notes: Sequence[_Note]) -> list[tuple[Spans, ...]]:
        """What was found, and further mentions of it that nothing marked."""
        pairs = [pair for note in notes for pair in zip(note.input.documents, note.found, strict=True)]
        more = unmarked(pairs, self.engine.language, self.engine.is_word, self._removes)
        every = (
            spans + self._without_never(document, repeats)
            for (document, spans), repeats in zip(pairs, more, strict=True)
        )
        return [tuple(islice(every, len(note.input.parts))) for note in notes]

    def _without_never(self, document: Document, spans: Sequence[Span]) -> Spans:
        """The spans that are not wholly a phrase of the user's list of what never is PHI."""
        overruling = self.engine.options.overruling
        if not (spans and overruling.never.phrases):
            return tuple(spans)
        return overruling.without_never(plain_view(document, html=self.engine.html), document.text, spans)

    def _removes(self, label: str) -> bool:
        return self.deidentifier.strategy(label) in REMOVING

    def _holds_names(self, label: str) -> bool:
        """Whether the words of an identifier say who or where; those of dates and ages are in every note."""
        return not label.startswith(UNREAD) and kind_of(label, self.deidentifier.label_set.name) not in _COMMON_KINDS

    def _with_struck(self, text: str, spans: Spans) -> Spans:
        """The spans, and the struck words that the policy would not remove with them."""
        if not self.job.run.struck:
            return spans
        covered = covering((s.start, s.end) for s in spans if self._removes(s.label))
        places = sorted(set(struck_places(text, self.job.run.struck)))
        return spans + tuple(Span(start, end, STRUCK) for start, end in places if not covered(start, end))

    def _remember(self, note: _Note, memory: PatientMemory) -> None:
        for document, spans in note.marked:
            self.deidentifier.remember(memory, document, spans)

    def _change(self, note: _Note, memory: PatientMemory, known: KnownWords) -> None:
        changed = [
            coded(document, spans, self.job.run.key)
            if part.is_coded and self.job.run.key
            else self.deidentifier.apply(document, spans, memory, heading=self._heading(part.label))
            for part, (document, spans) in zip(note.input.parts, note.marked, strict=True)
        ]
        for (document, spans), result in zip(note.marked, changed, strict=True):
            verify(document, result, spans)
        note.result = audit_record(
            self.job, self.bundle, note.input, note.decisions, changed, known, self.safe, self.engine.known
        )
        note.result.record["read as"] = (self.engine.language, self.deidentifier.label_set.name)
        if self.job.run.certificate:
            texts = [part.text for part in note.input.parts if not part.label]
            facts = self.engine.facts_of(texts, chain.from_iterable(note.decisions))
            note.result.record["facts"] = [text_digest(note.input.patient, self.job.secret), *facts]

    def _heading(self, label: str) -> str:
        """The names of a label's columns, which may say that their dates are dates of birth."""
        labels, of_engine = self.job.run.form_settings.columns.labels, self.engine.label_set
        return " ".join(column for column, given in labels.items() if engine_label(given, of_engine) == label)

    def look_again(self, notes: Sequence[_Note]) -> None:
        """Count what the engine finds in the output outside what was replaced."""
        written = [_Note(_written(note), note.result) for note in notes]
        if written:
            replace(self, engine=self.engine.with_options(other_languages=READ)).find(written)
        for note in written:
            in_parts = zip(note.found, note.result.record["replaced"], strict=True)
            note.result.record["second_pass"] = counted(label for pair in in_parts for label in _left(*pair))


def _detect(engine: Engine, notes: Sequence[_Note]) -> None:
    """Detect in the parts of each note, and hold back those that the engine cannot read."""
    texts = (zip(note.input.parts, note.input.documents, strict=True) for note in notes)
    readings = engine.read([document for of_note in texts for part, document in of_note if not part.label])
    for note in notes:
        in_parts = [next(readings) if not part.label else None for part in note.input.parts]
        pairs = zip(note.input.parts, in_parts, strict=True)
        note.found = tuple(reading.annotated.spans if reading else _whole(part) for part, reading in pairs)
        note.decisions = tuple(reading.decisions if reading else () for reading in in_parts)
        objections = (reading.objection for reading in in_parts if reading and reading.objection)
        note.result.problem = note.result.problem or next(objections, "")


def _set_found(notes: Sequence[_Note], found: Iterable[tuple[Spans, ...]]) -> None:
    for note, in_parts in zip(notes, found, strict=True):
        note.found = in_parts


def _whole(part: Part) -> Spans:
    """The whole text, without the blanks around it, as one identifier."""
    start, end = len(part.text) - len(part.text.lstrip()), len(part.text.rstrip())
    return (Span(start, end, part.label),) if start < end else ()


def _written(note: _Note) -> Row:
    parts = zip(note.input.parts, note.result.texts, strict=True)
    return replace(note.input, parts=tuple(replace(part, text=text) for part, text in parts))


def _left(found: Spans, replaced: Iterable[tuple[int, int, str, str]]) -> Iterator[str]:
    """The labels of what was found outside replacements; what touches one is a surrogate or a tag."""
    touched = touching((start, end) for start, end, *_ in replaced)
    yield from (span.label for span in found if not touched(span.start, span.end))


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
