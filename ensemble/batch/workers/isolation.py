"""An isolated process for notes, one of which may be deadly.

    results = IsolatedProcess(job).process(notes)      one each; the deadly note has a problem instead of a text

The death of a process says little about its note: operators, other programs and a system short of memory kill processes
too, at any moment. So a death counts against a note only if the note was alone in a process that had already loaded the
engine, and `DEATHS_OF_A_NOTE` deaths are needed, with a pause between. Then a harmless note must get through the same
way; if it does not, the machine is at fault, and the run stops without blaming any note.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor
from typing import Any

from phistack.ensemble.batch.rows import Part, Row
from phistack.ensemble.batch.workers.job import DIED, STUCK, Job, NoteResult
from phistack.ensemble.batch.workers.work import process_chunk, start_worker
from phistack.ensemble.tools.processes import end_pool, start_pool
from phistack.features.errors import MissingResourceError

DEATHS_OF_A_NOTE = 3
"""How often a note's process must die while the note is alone in it. A note takes hundredths of a second, so kills
from outside seldom hit the same note; three in a row do so only if something kills every process, which the harmless
note shows. A deadly note kills three times for certain."""

SECONDS_TO_START = 120.0
_DEATHS_AT_THE_START = 30
_SECONDS_OF_PAUSE = 0.3
_LONGEST_PAUSE = 5.0
_HARMLESS = Row("", None, b"", "harmless", "harmless", (Part("Nothing to report."),))


def patience(job: Job, notes: Sequence[Any]) -> float:
    """Seconds after which a process that says nothing is given up, however many slow notes it has; 0 for never."""
    units = max((note.units for note in notes if isinstance(note, Row)), default=1)
    return SECONDS_TO_START + 10 * units * job.run.timeout if job.run.timeout else 0.0


class IsolatedProcess:
    """A fresh process, started when it is needed, and again after it died."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._pool: Executor | None = None

    def close(self) -> None:
        """End the process, if there is one."""
        if self._pool is not None:
            end_pool(self._pool)
            self._pool = None

    def process(self, notes: Sequence[Row]) -> list[NoteResult]:
        """De-identify notes; one result each, in order.

        :raises MissingResourceError: if processes die whatever they are given.
        """
        together = self._survived(notes, tries=1)
        if together is not None:
            return together
        results = [self._judged(note) for note in notes]
        fine = [i for i, result in enumerate(results) if not result.problem]
        if len(fine) > 1:
            # Once more together, as notes of one patient share what is known of the patient.
            again = self._survived([notes[i] for i in fine], DEATHS_OF_A_NOTE) or [results[i] for i in fine]
            for i, result in zip(fine, again, strict=True):
                results[i] = result
        return results

    def _judged(self, note: Row) -> NoteResult:
        """The result of a single note, which says so if the note is deadly."""
        try:
            result = self._survived([note], DEATHS_OF_A_NOTE)
        except TimeoutError:
            return NoteResult(problem=STUCK)
        if result is not None:
            return result[0]
        if self._survived([_HARMLESS], DEATHS_OF_A_NOTE) is None:
            raise _machine_kills()
        return NoteResult(problem=DIED)

    def _survived(self, notes: Sequence[Row], tries: int) -> list[NoteResult] | None:
        """The results; None if the process died each time, or several notes did not come back.

        :raises TimeoutError: if a single note did not come back.
        """
        for number in range(1, tries + 1):
            pool = self._ready()
            try:
                return pool.submit(process_chunk, self._job, list(notes)).result(patience(self._job, notes) or None)
            except BrokenExecutor:
                self.close()
                _pause(number)
            except TimeoutError:
                self.close()
                if len(notes) == 1:
                    raise
                break
        return None

    def _ready(self) -> Executor:
        """A process that has loaded the engine; if it dies later, the start is not the cause."""
        deaths = 0
        while self._pool is None:
            pool = start_pool(1)
            try:
                pool.submit(start_worker, self._job).result()
                self._pool = pool
            except BrokenExecutor:
                end_pool(pool)
                deaths += 1
                if deaths == _DEATHS_AT_THE_START:
                    raise _machine_kills() from None
                _pause(deaths)
            except BaseException:
                end_pool(pool)
                raise
        return self._pool


def _pause(number: int) -> None:
    time.sleep(min(_LONGEST_PAUSE, _SECONDS_OF_PAUSE * number))


def _machine_kills() -> MissingResourceError:
    return MissingResourceError(
        "the processes of this run die on every note, so something ends them: perhaps the system, because memory "
        "is short "
        "(give fewer --jobs), or a person; no note is held back for it, and the same command continues"
    )
