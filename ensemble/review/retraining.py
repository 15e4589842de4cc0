"""An engine that learns from what was decided so far, while the review goes on.

    retrainer = Retrainer(session, base=bundle, load=load_bundle)
    retrainer.start()            in the background: regex, TBED and CRF, with the first engine as a further submodel
    retrainer.status()           whether it runs, what came of it, F1 on the notes set aside, the curve so far

Another process trains, with the ordinary command, on the notes that are done and not set aside. Then the new engine
reads all notes, and its suggestions take the place of the old ones in notes that were not begun.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from math import log
from pathlib import Path
from threading import Thread
from typing import Any

from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import Resampling, evaluate
from phistack.ensemble.review.decisions import Trained
from phistack.ensemble.review.order import Outlook
from phistack.ensemble.review.session import Session, judged
from phistack.ensemble.tools.progress import progress
from phistack.features.documents import Corpus, Document
from phistack.features.errors import PhistackError, SettingsError, TrainingError, place_of
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet

SUBMODELS = "regex,tbed,crf"

_FEWEST, _DRAWS, _NEXT = 10, 1000, 50


def outlooks(engine: Engine, documents: Sequence[Document]) -> list[Outlook]:
    """What an engine says about each note."""
    found = []
    with progress("reading", total=len(documents)) as advance:
        for reading in engine.read(documents):
            found.append(Outlook.of(reading))
            advance("")
    return found


class Retrainer:
    """Trains engines for a session, one at a time.

    :param base: the bundle of the first engine.
    :param load: makes an engine of a bundle, with the options of the command.
    """

    def __init__(self, session: Session, base: Path, load: Callable[[Path], Engine]) -> None:
        self._session, self._base, self._load = session, base, load
        self._thread: Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._said = ""
        self._scored: tuple[object, tuple[float, ...]] = (None, ())

    def start(self) -> None:
        """Begin; :raises SettingsError: if it runs already, or too few notes are done."""
        if self._runs:
            raise SettingsError("an engine is being trained already; wait until it is done")
        corpus = self._training_notes()
        if len(corpus) < _FEWEST:
            raise SettingsError(f"{len(corpus)} notes to learn from are done, and training needs {_FEWEST}; go on")
        self._said = ""
        self._thread = Thread(target=self._tell, args=(corpus,), daemon=True)
        self._thread.start()

    @property
    def _runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _training_notes(self) -> Corpus:
        documents, _ = judged(self._session.documents, self._session.decisions, "training")
        return Corpus(tuple(documents), self._session.decisions.scheme.labels)

    def _tell(self, corpus: Corpus) -> None:
        try:
            self._said = self._train(corpus)
        except PhistackError as error:
            self._said = f"no engine was trained: {error}"
        except Exception as error:
            self._said = f"no engine was trained: internal error, {type(error).__name__} in {place_of(error)}"

    def _train(self, corpus: Corpus) -> str:
        session, before = self._session, self._f1()
        bundle = self._trained_on(corpus)
        new, old = outlooks(self._load(bundle), session.documents), session.outlooks
        session.outlooks, session.engine = new, bundle.name
        after = self._f1()
        session.decisions.add(Trained(bundle.name, len(corpus), after))
        still = [n for n in range(len(new)) if session.judgement(n) is None]
        gone = [({*old[n].suggestions}, {*new[n].suggestions}) for n in still]
        spans = [({s.span for s in one}, {s.span for s in other}) for one, other in gone]
        added, removed = sum(len(b - a) for a, b in spans), sum(len(a - b) for a, b in spans)
        learned = f"{bundle.name} learned from {len(corpus)} notes; in {len(still)} notes that were not begun, "
        changed = f"{added} suggestions are new and {removed} are gone"
        scores = f"; F1 on the notes set aside: {before[0]:.1%} before, {after[0]:.1%} now" if after else ""
        return learned + changed + scores

    def _trained_on(self, corpus: Corpus) -> Path:
        """Train an engine in another process; its bundle is in the folder of the decisions, no copy of the notes stays.

        :raises TrainingError: with what the command said, if it did not succeed.
        """
        folder, labels = self._session.decisions.folder, corpus.label_set.name
        bundle = next(path for n in count(1) if not (path := folder / f"engine-{n}").exists())
        with tempfile.TemporaryDirectory(dir=folder) as made:
            notes = Path(made) / "notes.jsonl"
            write_corpus(corpus, notes, format="jsonl")
            command = [sys.executable, "-m", "phistack.ensemble.command_line.app", "train", notes, "--model", bundle]
            known = ["--label-set", labels] if labels in LabelSet.names() else []
            options = ["--submodels", SUBMODELS, "--with", self._base, "--jobs", 1, *known]
            self._process = subprocess.Popen(
                [*map(str, command + options)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            said = self._process.communicate()[1].strip().splitlines() or ["the training was ended from outside"]
        if self._process.returncode:
            raise TrainingError(said[-1].removeprefix("phistack: "))
        return bundle

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _f1(self) -> tuple[float, ...]:
        """Strict F1 of the present engine on the notes set aside, with its 95 % interval; nothing if none is done."""
        session, pair = self._session, self._session.measured()
        if pair is None:
            return ()
        key = (session.engine, pair[0].documents)
        if self._scored[0] != key:
            self._scored = key, tuple(evaluate(*pair, resampling=Resampling(draws=_DRAWS)).strict.f1)
        return self._scored[1]

    def status(self) -> dict[str, Any]:
        """What the page shows about engines."""
        curve = [(trained.notes, *trained.f1) for trained in self._session.decisions.trained if trained.f1]
        return {
            "training": self._runs, "said": self._said, "f1": self._f1(), "curve": curve, "next": expected_gain(curve),
        }  # fmt: skip


def expected_gain(curve: Sequence[Sequence[float]], more: int = _NEXT) -> float | None:
    """By how much F1 would grow with more notes, if its distance from 1 goes on falling as a power of their number.

    :param curve: number of notes and F1 of each training, in order; the last two count.
    :returns: None if they do not show a fall.
    """
    if len(curve) < 2:
        return None
    (few, low, *_), (many, high, *_) = curve[-2:]
    if not (few < many and low < high < 1):
        return None
    power = log((1 - low) / (1 - high)) / log(many / few)
    return (1 - high) * (1 - float((many / (many + more)) ** power))
