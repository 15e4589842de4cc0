"""What a worker gets: the job and the notes; and what it gives back for each note, or why the note is held back.

    NoteInput("110-01", "110", (Part("Seen by Dr. Ames."), Part("Ann Hill", "PATIENT")))
    took_longer(60.0)                              "it took longer than 60 seconds"
    may_pass("it took longer than 60 seconds")     True: another try may do better
    may_pass("not UTF-8 at byte 7")                False

A death, a time limit and a lack of memory depend on the moment and the machine as much as on the note. The same command
tries such notes again; all other reasons would come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensemble.batch.formats.rows import Part
from ensemble.batch.workers.detector import LONGEST_PIECE, Detector, load_detector
from ensemble.batch.workers.identifier_register import HashedIdentifier
from ensemble.deidentification import Policy
from ensemble.stacking.known.roster import kept_open
from ensemble.stacking.overruling import Overruling
from ensemble.stacking.thresholds import BALANCED
from features.documents import Document

__all__ = ["DIED", "STUCK", "Job", "NoteInput", "NoteResult", "may_pass", "took_longer"]

DIED = "its process died each time it worked on this note alone"
STUCK = "its process did not answer"
_SLOW = "it took longer than "
_OF_THE_MOMENT = (DIED, STUCK, _SLOW, "MemoryError ", "its process died")


def took_longer(seconds: float) -> str:
    """The reason of a note that was not done within so many seconds."""
    return f"{_SLOW}{seconds:g} seconds"


def may_pass(reason: str) -> bool:
    """Whether a note that was held back for this reason may come out when it is tried again."""
    return reason.startswith(_OF_THE_MOMENT)


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
    :param cascade: whether costly submodels may read only lines in doubt.
    :param labels: column -> label, where each value is one identifier.
    :param recall: which threshold of the engine: `high`, `balanced` or `precise`.
    :param overruling: lists and patterns of the user.
    :param known: a roster of what is known of the patients, and its digest; nothing for none.
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
    cascade: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    recall: str = BALANCED
    overruling: Overruling = field(default_factory=Overruling, repr=False)
    known: tuple[Path, str] | None = None
    load: Callable[[Path], Detector] = load_detector

    @property
    def identity(self) -> tuple[Any, ...]:
        """Jobs of equal identity can share a loaded engine."""
        said = (self.cascade, self.recall, self.known, *self.overruling.digests.values())
        return (str(self.model), self.model_digest, self.policy.digest, self.key, self.load, *said)

    def detector(self) -> Detector:
        """Loads the engine, and the roster.

        :raises SettingsError: if lists or patterns have a label that the engine does not have, or the roster is not
            the one with which the run began.
        """
        detector = self.load(self.model)
        if self.recall != BALANCED:
            detector = detector.recalled(self.recall)
        detector = detector if self.cascade else detector.without_cascade()
        if self.known is not None:
            detector = detector.with_known(kept_open(*self.known, self.key, detector.label_set.labels))
        return detector.overruled_by(self.overruling) if self.overruling else detector


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
