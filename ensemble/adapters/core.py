"""The core of all adapters: texts in, the same number of results out, as `phistack deidentify` would write them.

    [found] = redact_texts([("Seen by Dr. Ames.", "110")], job_of("english", "safe-harbor"))
    found.text           "Seen by Dr. [DOCTOR]."
    found.error          None, or a code and the reason without a word of the text; then there is no text
    found.places         (Replacement(Span(12, 16, "DOCTOR"), 12, 20, "tag"), 0.99): what was replaced, and how likely

No text stops the others: one that is not a string, takes too long or makes a submodel fail gets an error. The engine
used last stays loaded. Consecutive texts of a patient share what is known of the patient.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Required, TypedDict

from phistack.ensemble.batch.chunks import together
from phistack.ensemble.batch.rows import Part, Row
from phistack.ensemble.batch.settings import NoteSettings, policy_from
from phistack.ensemble.batch.workers.job import Job, NoteResult
from phistack.ensemble.batch.workers.work import process_chunk
from phistack.ensemble.bundles.files import manifest_digest
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy, Replacement
from phistack.ensemble.engine import Engine, EngineOptions
from phistack.ensemble.stacking.known.roster import roster_digest
from phistack.ensemble.tools.version import code_digest
from phistack.features.formats.records import one_name

NO_TEXT, NO_PATIENT = "type: it is not a string", "patient: it is neither a string nor a whole number"
_CODES = {
    **{"it took longer than ": "time-limit", "MemoryError ": "memory"},
    **{"it is not text": "not-text", "it has text in ": "language", "": "failed"},
}
"""How the reason of a held-back note begins -> its code."""

# Engines are not made for several threads at once, and some hosts (DuckDB, gateways) call from any.
_ONE_AT_A_TIME = threading.Lock()


class Settings(TypedDict, total=False):
    """What every adapter takes by keyword, as in `NoteSettings`.

    model: path of a bundle, or the name of an engine that ships.
    policy: a policy, its name or its file; default: `tag`.
    """

    model: Required[str | Path]
    policy: Policy | str
    key: bytes | None
    options: EngineOptions
    struck: frozenset[str]
    known: Path | None
    timeout: float
    load: Callable[[Path], Engine]


@dataclass(frozen=True, slots=True)
class Redacted:
    """The result of a text.

    :param text: the new text; `None` if there was none, or there is an error.
    :param error: a code, a colon and the reason, without a word of the text; `None` if all is well.
    :param places: what was replaced, in order, and how likely it is PHI.
    """

    text: str | None = field(default=None, repr=False)
    error: str | None = None
    places: tuple[tuple[Replacement, float], ...] = ()


def job_of(model: str | Path, policy: Policy | str = "tag", **more: Any) -> Job:
    """The job for keywords of `Settings`; equal keywords give equal jobs, as caches of hosts need.

    :raises SettingsError, BundleError: if there is no such policy or engine, or a value cannot work.
    """
    chosen = policy if isinstance(policy, Policy) else policy_from(policy)
    path = bundle_path(str(model))
    digest = manifest_digest(path)
    run = NoteSettings(path.resolve(), chosen.in_year(), second_pass=False, **more)
    roster = roster_digest(run.known, run.key) if run.known else ""
    # No register of identifiers is kept, so its secret hides nothing.
    return Job(run, (run.model, digest), code_digest(), bytes(32), roster=roster)


def redact_texts(texts: Iterable[tuple[Any, Any]], job: Job) -> Iterator[Redacted]:
    """De-identify texts; one result each, in order, as soon as the texts that belong together are done.

    :param texts: each with its patient; a text without one is a patient of its own, the same wherever it is.
    :raises PhistackError: if the settings do not suit the engine; never for a text.
    """
    for rows in together(map(_row, count(1), texts)):
        with _ONE_AT_A_TIME:
            results = iter(process_chunk(job, [row for row in rows if row.parts]))
        for row in rows:
            yield _redacted(next(results)) if row.parts else Redacted(error=row.problem or None)


def _row(number: int, given: tuple[Any, Any]) -> Row:
    text, patient = given
    id = f"text {number}"
    if text is None:
        return Row(id, None, b"")
    if not isinstance(text, str):
        return Row(id, None, b"", problem=NO_TEXT)
    own = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    named = own if patient is None or patient == "" else one_name(patient)
    return Row(id, None, b"", id, named, (Part(text),)) if named else Row(id, None, b"", problem=NO_PATIENT)


def _redacted(result: NoteResult) -> Redacted:
    if result.problem:
        code = next(code for begin, code in _CODES.items() if result.problem.startswith(begin))
        return Redacted(error=f"{code}: {result.problem}")
    return Redacted(result.texts[0], None, result.places[0])
