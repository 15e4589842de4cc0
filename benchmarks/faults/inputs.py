"""Mutated corpora, tables and bundles: whether reading one fails unintentionally, hangs, or quotes it.

    counts = read_mutated(Path("engine"), 1_000_000, jobs=2)
    counts["read"], counts["refused"], counts["foreign"], counts["canary"], counts["hang"]

An input is a small file or folder of a known format with a few bytes changed, removed, doubled or inserted. All notes
contain a canary, which no message may quote. Input `i` of a kind is the same in every run, so a failure can be
repeated: `attempt("jsonl", 17, folder)`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path

from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.rows import FormatSettings, open_format
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import PhistackError
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet

CANARY = "Zxqvname"
_I2B2 = ("DOCTOR", "PATIENT", "DATE")
_MEDDOCAN = ("NOMBRE_PERSONAL_SANITARIO", "NOMBRE_SUJETO_ASISTENCIA", "FECHAS")
_SECONDS = 20.0
_AT_ONCE = 250
_INPUTS_PER_BUNDLE = 1_000
"""A bundle takes as long as this many other inputs, so only one input in this many is a bundle."""

Tally = Counter[str]
Mutation = Callable[[random.Random, bytes, int], bytes]

_TOKENS = (
    b"<", b"]]>", b"<![CDATA[", b"</TEXT><TEXT>", b"&#x0;", b"&a;", b'"', b"{", b"}", b"[" * 2000, b'{"a":' * 2000,
    b"\\u0000", b"\\ud800", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b",", b";", b"9" * 400, b"-1",
    b"1e999", b"NaN", b"null", b"true", b"../", b"T1\tDATE 5 2\t", b"-DOCSTART-", "\u202e\u200d\u0301".encode(),
    b" " * 500,
)  # fmt: skip
"""Bytes that a reader may stumble over."""


def _flipped(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def _cut(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + content[at + chance.randint(1, 40) :]


def _ended(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[:at]


def _doubled(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[: at + chance.randint(1, 80)] + content[at:]


def _put_in(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + chance.choice(_TOKENS) + content[at:]


def _noise(chance: random.Random, content: bytes, at: int) -> bytes:
    return content[:at] + chance.randbytes(chance.randint(1, 12)) + content[at:]


_MUTATIONS: tuple[Mutation, ...] = (_flipped, _cut, _ended, _doubled, _put_in, _noise)


def mutated(chance: random.Random, content: bytes) -> bytes:
    """The content with one to three changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if content:
            content = chance.choice(_MUTATIONS)(chance, content, chance.randrange(len(content)))
    return content


@dataclass(frozen=True, slots=True)
class InputKind:
    """A kind of input.

    :param make: writes an intact one into an empty folder, given an engine; returns its path.
    :param read: reads it.
    :param mend: corrects checksums after a change, to test what they guard.
    """

    make: Callable[[Path, Path], Path]
    read: Callable[[Path], object]
    mend: Callable[[Path], None] = lambda path: None


def _corpus(format: str) -> Corpus:
    text = f"Record date: 2021-03-04\r\n\r\nDr. {CANARY} saw Anna {CANARY}, 34, in Zürich \U0001f600; tel. 555-0134.\n"
    labels = _MEDDOCAN if format == "meddocan" else _I2B2
    places = (text.index(CANARY), text.index("Anna"), text.index("2021"))
    spans = [Span(at, at + n, label) for at, n, label in zip(places, (8, 13, 10), labels, strict=True)]
    notes = (Document(f"50{i}-01", text, () if format == "text" else tuple(spans)) for i in range(3))
    return Corpus(tuple(notes), LabelSet.named("meddocan" if format == "meddocan" else "i2b2-2014"))


def _written(format: str, folder: Path, engine: Path) -> Path:
    path = folder / (f"notes{FORMATS[format].suffixes[0]}" if FORMATS[format].single_file else "notes")
    write_corpus(_corpus(format), path, format=format)
    return path


def _rows(path: Path) -> None:
    form = open_format(path, path.with_name("out"), FormatSettings(Columns(rest="keep")))
    form.find_columns(keyed=True)
    for _ in form.rows():
        pass


def _copied(folder: Path, engine: Path) -> Path:
    return Path(shutil.copytree(engine, folder / "engine"))


def _hashed_again(path: Path) -> None:
    manifest = path / "manifest.json"
    try:
        facts = json.loads(manifest.read_bytes())
        facts["files"] = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in facts["files"]}
        manifest.write_text(json.dumps(facts))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
        return  # The manifest itself was damaged.


KINDS: dict[str, InputKind] = {
    **{name: InputKind(partial(_written, name), partial(read_corpus, accept_unknown_labels=True)) for name in FORMATS},
    **{
        f"{name}, rows": InputKind(partial(_written, name), _rows)
        for name in ("jsonl", "csv", "parquet", "brat", "text", "i2b2")
    },
    "bundle": InputKind(_copied, load_bundle, _hashed_again),
}


def attempt(kind: str, number: int, sound: Path) -> str:
    """Change one file of an intact input, read it, and restore it.

    :returns: `read`, `refused`, `hang`, `canary`, or `foreign: ` with the exception and its place.
    """
    chance = random.Random(f"{kind} {number}")
    files = sorted(path for path in sound.rglob("*") if path.is_file()) if sound.is_dir() else [sound]
    file = chance.choice(files)
    before = {path: path.read_bytes() for path in {file, sound / "manifest.json"} if path.is_file()}
    file.write_bytes(mutated(chance, before[file]))
    KINDS[kind].mend(sound)
    try:
        return _outcome(partial(KINDS[kind].read, sound))
    finally:
        for path, content in before.items():
            path.write_bytes(content)


class _HangError(BaseException):
    """Time is up; no reader may catch this."""


@contextmanager
def _limited() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _HangError

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _outcome(action: Callable[[], object]) -> str:
    said = StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    outcome = "read"
    try:
        with _limited(), redirect_stderr(said), redirect_stdout(said):
            action()
    except PhistackError as error:
        outcome = "refused"
        said.write(str(error))
    except _HangError:
        outcome = "hang"
    except Exception as error:  # This is what the attack looks for.
        outcome = f"foreign: {type(error).__name__} in {_place(error)}"
    finally:
        logging.getLogger().removeHandler(handler)
    return "canary" if CANARY in said.getvalue() else outcome


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace else "no place"


def read_mutated(engine: Path, n_inputs: int, *, jobs: int = 2) -> tuple[Tally, list[str]]:
    """Read so many mutated inputs of all kinds.

    :param engine: a small bundle.
    :returns: how often each outcome occurred, and kind and number of each input with a forbidden one.
    """
    tally: Tally = Counter()
    found: list[str] = []
    with get_context("spawn").Pool(jobs) as pool:
        for outcomes in pool.imap_unordered(partial(_attempts, engine), _parts(n_inputs)):
            for kind, number, outcome in outcomes:
                tally[outcome.partition(":")[0]] += 1
                if outcome not in ("read", "refused"):
                    found.append(f"{kind} {number}: {outcome}")
    return tally, sorted(found)


def _parts(n_inputs: int) -> Iterator[tuple[str, range]]:
    """Kinds in turn, with ranges of input numbers."""
    n_bundles = n_inputs // _INPUTS_PER_BUNDLE
    for first in range(0, n_bundles, 5):
        yield "bundle", range(first, min(first + 5, n_bundles))
    others = [kind for kind in KINDS if kind != "bundle"]
    left = n_inputs - n_bundles
    for turn, kind in enumerate(islice(cycle(others), -(-left // _AT_ONCE))):
        first = turn // len(others) * _AT_ONCE
        yield kind, range(first, first + min(_AT_ONCE, left - turn * _AT_ONCE))


def _attempts(engine: Path, part: tuple[str, range]) -> list[tuple[str, int, str]]:
    kind, numbers = part
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        sound = KINDS[kind].make(Path(folder), engine)
        return [(kind, number, attempt(kind, number, sound)) for number in numbers]


def _memory() -> str | None:
    """A folder in memory, as so many files need no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
