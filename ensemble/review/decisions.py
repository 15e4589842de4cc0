"""What a person decides about notes: a journal of JSON lines that survives a kill, and the judgements in it.

    with Decisions(Path("notes.review"), Scheme.of(label_set, seed=0)) as decisions:
        decisions.add(Begun("110-01", digest_of(text), (Suggestion(8, 12, "DOCTOR", 0.97),)))
        decisions.add(Edited("110-01", "accept", (Change(8, 12, "DOCTOR", SUGGESTED, JUDGED),), seconds=1.5))
        decisions.add(Finished("110-01", seconds=4.0))
        decisions.of("110-01").spans            (Span(8, 12, "DOCTOR"),)

A span of a note is absent, suggested or judged. An edit changes this for some spans, and says what it was before.
So it can be undone, and an edit of an outdated state is refused. A line is on the disk before `add` returns. A line
that a kill left unfinished was never confirmed, and is cut off. A note with a changed text begins anew; what was
decided on the old text stays in the journal.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self

import msgspec

from phistack.ensemble.batch.run_folder import locked
from phistack.features.documents import Span
from phistack.features.errors import CorpusError
from phistack.features.labels import LabelSet
from phistack.features.writing import refused_by_disk

SCHEMA = "phistack.review.v1"
JOURNAL = "decisions.jsonl"
ABSENT, SUGGESTED, JUDGED = range(3)


class Suggestion(NamedTuple):
    """A span that is suggested.

    :ivar probability: how likely it is right, as judged by who suggests it.
    :ivar by: who suggests it, if not the engine.
    """

    start: int
    end: int
    label: str
    probability: float = 1.0
    by: str = ""

    @property
    def span(self) -> Span:
        return Span(self.start, self.end, self.label)


class Change(NamedTuple):
    """A change of a span: `was` and `now` are `ABSENT`, `SUGGESTED` or `JUDGED`."""

    start: int
    end: int
    label: str
    was: int
    now: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end, self.label)


class Scheme(msgspec.Struct, frozen=True, tag="scheme"):
    """The first line: the labels, as in a `LabelSet`, and the seed that draws which notes are set aside."""

    label_set: str
    categories: dict[str, str]
    hipaa: tuple[str, ...]
    language: str
    seed: int = 0
    schema: str = SCHEMA

    @classmethod
    def of(cls, labels: LabelSet, *, seed: int = 0) -> Self:
        """The scheme of a label set."""
        return cls(labels.name, dict(labels.categories), tuple(sorted(labels.hipaa_labels)), labels.language, seed)

    @property
    def labels(self) -> LabelSet:
        return LabelSet(self.label_set, self.categories, frozenset(self.hipaa), self.language)


class _OfNote(msgspec.Struct, frozen=True, kw_only=True):
    again: bool = False


class Begun(_OfNote, frozen=True, tag="begun"):
    """A note is first opened.

    :param text: the digest of its text.
    :param judged: how many of the suggestions, from the first on, already count as judged.
    :param shown: whether the suggestions are shown; otherwise the person begins with none.
    :param aside: whether the note is set aside, to measure on.
    :param again: whether the person judges the note for the second time.
    """

    note: str
    text: str
    suggestions: tuple[Suggestion, ...] = ()
    judged: int = 0
    shown: bool = True
    aside: bool = False

    @property
    def states(self) -> dict[Span, int]:
        """What the person begins with."""
        pairs = enumerate(self.suggestions if self.shown else ())
        return {found.span: JUDGED if number < self.judged else SUGGESTED for number, found in pairs}


class Edited(_OfNote, frozen=True, tag="edited"):
    """An edit; `kind` is its name, and `undo` and `redo` show where a person took something back."""

    note: str
    kind: str
    changes: tuple[Change, ...]
    seconds: float = 0.0


class Finished(_OfNote, frozen=True, tag="finished"):
    """A note is done, or, if `done` is false, reopened."""

    note: str
    seconds: float = 0.0
    done: bool = True


class Trained(msgspec.Struct, frozen=True, tag="trained"):
    """An engine was trained.

    :param bundle: its name in the folder.
    :param notes: how many it learned from.
    :param f1: strict F1 on the notes set aside and its 95 % interval, or nothing if there are none.
    """

    bundle: str
    notes: int
    f1: tuple[float, ...] = ()


Line = Scheme | Begun | Edited | Finished | Trained


@dataclass
class Judgement:
    """A note as the person left it: label spans and their states, edits in order, and how many seconds it took."""

    begun: Begun
    states: dict[Span, int] = field(repr=False)
    edits: list[Edited] = field(default_factory=list, repr=False)
    seconds: float = 0.0
    done: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        """All present spans, judged or not."""
        return tuple(sorted(self.states))

    def fits(self, line: Edited) -> bool:
        """Whether an edit fits the present states."""
        return all(self.states.get(change.span, ABSENT) == change.was for change in line.changes)

    def take(self, line: Edited | Finished) -> None:
        """Add what was done."""
        self.seconds += line.seconds
        self.done = isinstance(line, Finished) and line.done
        if isinstance(line, Edited):
            self.edits.append(line)
            for change in line.changes:
                self.states.pop(change.span, None)
                self.states |= {change.span: change.now} if change.now else {}


class Decisions:
    """The journal in a folder, and the judgements in it.

    :param folder: made if missing; no other user can read it.
    :param scheme: for a new journal; an existing journal keeps its own.
    :raises CorpusError: if there is no journal and no scheme, or it is damaged.
    :raises SettingsError: if another process has the folder.
    :raises StorageError: in every method, if the disk is full or fails.
    """

    def __init__(self, folder: Path, scheme: Scheme | None = None) -> None:
        self.folder, self.path = folder, folder / JOURNAL
        if scheme is None and not self.path.is_file():
            raise CorpusError(f"{folder} holds no decisions on notes; name the folder that phistack review made")
        self.judgements: dict[tuple[str, bool], Judgement] = {}
        self.trained: list[Trained] = []
        self._one_at_a_time = Lock()
        self._lock = locked(folder, "{} is open in another phistack review; use that, or end it first")
        self._lock.__enter__()
        try:
            with refused_by_disk(self.path):
                self._file = self.path.open("ab", buffering=0)
                self.path.chmod(0o600)
                self._read()
            if not hasattr(self, "scheme") and scheme is not None:
                self.add(scheme)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if hasattr(self, "_file"):
            self._file.close()
        self._lock.__exit__(None, None, None)

    def _read(self) -> None:
        """Read the existing lines; an unfinished last one is cut off."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
        for number, written in enumerate(content[:whole].splitlines(), 1):
            try:
                line = msgspec.convert(json.loads(written), Line)
                self._check(line)
            except (ValueError, msgspec.ValidationError, CorpusError):
                raise CorpusError(f"{self.path}, line {number}, is damaged; restore the file from a backup") from None
            self._take(line)

    def add(self, line: Line) -> None:
        """Store a line; it is on the disk when this returns.

        :raises CorpusError: if an edit does not fit the present states; nothing is stored then.
        """
        # ASCII, as JSON can express lone surrogates only by escapes.
        written = json.dumps(msgspec.to_builtins(line), separators=(",", ":")).encode("ascii") + b"\n"
        with self._one_at_a_time, refused_by_disk(self.path, "free space on its disk; what was saved before is there"):
            self._check(line)
            size = os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(written) < len(written):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise
            self._take(line)

    def _check(self, line: Line) -> None:
        if isinstance(line, Edited | Finished):
            judgement = self.of(line.note, line.again)
            if judgement is None:
                raise CorpusError("the note was not begun; it is read again")
            if isinstance(line, Edited) and not judgement.fits(line):
                raise CorpusError("the note was changed in another window; it is read again")

    def _take(self, line: Line) -> None:
        if isinstance(line, Scheme):
            self.scheme = line
        elif isinstance(line, Trained):
            self.trained.append(line)
        elif isinstance(line, Begun):
            self.judgements[line.note, line.again] = Judgement(line, line.states)
        else:
            self.judgements[line.note, line.again].take(line)

    def of(self, note: str, again: bool = False) -> Judgement | None:
        """What was decided on a note; None if it was not begun."""
        return self.judgements.get((note, again))


def digest_of(text: str) -> str:
    """A digest that shows whether the text of a note changed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
