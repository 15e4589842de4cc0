"""What a worker gets: the job and the notes; and what it gives back for each note, or why the note is held back.

    NoteInput("110-01", "110", (Part("Seen by Dr. Ames."), Part("Ann Hill", "PATIENT")))
    took_longer(60.0)                              "it took longer than 60 seconds"
    may_pass("it took longer than 60 seconds")     True: another try may do better
    may_pass("not UTF-8 at byte 7")                False

A death, a time limit and a lack of memory depend on the moment and the machine as much as on the note. The same command
tries such notes again; all other reasons would come back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.formats.rows import Part
from phistack.ensemble.batch.workers.detector import LONGEST_PIECE, Detector, load_detector
from phistack.ensemble.batch.workers.identifier_register import HashedIdentifier
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.stacking.known.roster import kept_open
from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.stacking.thresholds import BALANCED
from phistack.features.documents import Document
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet
from phistack.features.language_gate import languages_of

STRUCK = "STRUCK"
"""The label of words on the strike list; a policy treats it as it treats any label that it does not name."""

DIED = "its process died each time it worked on this note alone"
STUCK = "its process did not answer"
_SLOW = "it took longer than "
_OF_THE_MOMENT = (DIED, STUCK, _SLOW, "MemoryError ", "its process died")


def suited_deidentifier(
    policy: Policy, key: bytes | None, struck: Collection[str], labels: LabelSet, language: str, overruling: Overruling
) -> Deidentifier:
    """What takes the PHI of an engine out.

    :param labels: of the engine.
    :param overruling: suited to it.
    :raises SettingsError: if the policy does not suit the engine, or keeps what a list says must go.
    """
    if struck and policy.strategy(STRUCK, "OTHER") == "keep":
        raise SettingsError(
            "the policy keeps what it does not name, so the words of --strike would not be removed; give another "
            "--policy"
        )
    deidentifier = Deidentifier(policy, labels, language, key)
    for label in sorted(overruling.labels):
        if deidentifier.strategy(label) == "keep":
            raise SettingsError(
                f"the policy keeps {label}, so what --always or --patterns has under this label would not be "
                f"removed; give it another label, or another --policy"
            )
    return deidentifier


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
    :param roster_index: where the roster is saved for all workers that see it; the others read it themselves.
    :param load: makes a detector from the path of a bundle.
    :param by_language: ISO 639-1 code -> the bundle that reads the notes in it in the place of `model`, and its digest.
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
    roster_index: Path | None = None
    load: Callable[[Path], Detector] = load_detector
    by_language: Mapping[str, tuple[Path, str]] = field(default_factory=dict)

    @property
    def of_each_engine(self) -> dict[tuple[Path, str], Job]:
        """The same job for the notes that one engine reads: its bundle and digest -> the job; its own engine first."""
        engines = dict.fromkeys([(self.model, self.model_digest), *self.by_language.values()])
        return {engine: replace(self, model=engine[0], model_digest=engine[1]) for engine in engines}

    def engine_for(self, note: NoteInput) -> tuple[Path, str]:
        """The bundle that reads a note, and its digest: that of its language, if it shows one that there is one for."""
        own = self.model, self.model_digest
        if not self.by_language:
            return own
        text = "\n".join(part.text for part in note.parts if not part.label)
        return next((self.by_language.get(language, own) for language in languages_of([text], self.by_language)), own)

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
            detector = detector.with_known(kept_open(*self.known, self.key, self.roster_index))
        return detector.overruled_by(self.overruling) if self.overruling else detector


@dataclass(frozen=True, slots=True)
class NoteInput:
    """A note on its way to a worker."""

    id: str
    patient: str = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    kept: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Column and value of what passes as it is."""

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
