"""The fits of a training: of one submodel on some of the notes, each independent of the others; and their cache.

pretraining_tasks(settings, space)      a fit on invented and other notes for each submodel with pretraining
reading_tasks(settings, tasks)          all notes are read once by each submodel that reads ahead
tasks_of(settings, tables, folds)       a fit of each submodel for each fold, the cheapest first and then the costly
task.run()                              the submodel's proposals for the notes that it did not learn from
FoldCache(folder).get(task.key())       the same from disk, where a run that was stopped left it
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.notes import LANGUAGES
from phistack.ensemble.tools.version import code_digest
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import CorpusError, TrainingError
from phistack.features.formats import read_corpus
from phistack.features.saved_files import SavedFiles
from phistack.features.writing import new_file
from phistack.submodels.base import Candidate, NoteProposals, kind_of, new_submodel, submodel_class
from phistack.submodels.registry import usual_name

_OF_INVENTED_NOTES = 1_000_003
"""Added to the seed for pretraining, so its notes are not those of `phistack synthesize`."""

_LOG = logging.getLogger("phistack")
_PRETRAINING = "pretraining"
_OWN = "they have the patient or the text of notes to learn from or to score"
_DECIDING = ("features", "tbed", "submodels")
"""The packages that decide what a submodel predicts."""


class FoldCache:
    """Out-of-fold proposals on disk, by the key of their task.

    The name of a file is a hash of all that its content depends on: the training and held-out documents, the feature
    and submodel settings, the seed and the source code. It holds offsets, labels and scores as JSON, never text.

    :param folder: of the files; `None` keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        # The process of a fit may have another working directory.
        self.folder = None if folder is None else folder.absolute()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> list[NoteProposals] | None:
        """The proposals under the key; `None` if there are none or the file is damaged."""
        if self.folder is None:
            return None
        try:
            notes = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            return [
                NoteProposals(
                    [Candidate(Span(*span), *rest) for span, *rest in candidates],
                    None if left is None else np.array(left, dtype=np.float64),
                )
                for candidates, left in notes
            ]
        except (OSError, ValueError, TypeError):
            return None

    def put(self, key: str, proposed: Sequence[NoteProposals]) -> None:
        """Keep proposals in one atomic step, without evidence, which may quote words of training notes."""
        if self.folder is None:
            return
        with new_file(self.folder / f"{key}.json", replace=True) as part:
            notes = [
                (
                    [(astuple(c.span), c.source, c.score, c.chosen) for c in note.candidates],
                    None if note.residual is None else note.residual.tolist(),
                )
                for note in proposed
            ]
            part.write_text(json.dumps(notes), encoding="utf-8")

    @staticmethod
    def key(training: Sequence[Document], held_out: Sequence[Document], *parts: Any) -> str:
        """The key of candidates for `held_out` by a model of `training`; `parts` are JSON-ready settings."""
        described = [corpus_digest(training), corpus_digest(held_out), code_digest(*_DECIDING), *parts]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def corpus_digest(documents: Iterable[Document]) -> str:
    """SHA-256 over ids, groups, texts and spans, in order."""
    digest = hashlib.sha256()
    for document in documents:
        spans = [astuple(span) for span in document.spans]
        digest.update(json.dumps([document.id, document.group, document.text, spans]).encode())
    return digest.hexdigest()


def fingerprints(documents: Iterable[Document]) -> str:
    """Two bytes of a hash of each text, sorted, as hexadecimal digits.

    They can show that many notes are the same, but not that one is: one in 65,536 of all texts has the same two bytes.
    """
    return "".join(sorted(hashlib.sha256(d.text.encode("utf-8", "surrogatepass")).hexdigest()[:4] for d in documents))


@dataclass(frozen=True)
class FitTask:
    """One fit: of a submodel on some notes, to propose for held-out notes or, without any, to keep the model.

    :param begins_with: the key of the pretraining; empty without one.
    :param start: the pretrained model.
    """

    name: str
    settings: Mapping[str, Any]
    part: str
    training: Sequence[FeatureTable] = field(repr=False)
    held_out: Sequence[FeatureTable] = field(repr=False)
    indices: Sequence[int] = field(repr=False)
    seed: int
    begins_with: str = ""
    start: SavedFiles | None = field(default=None, repr=False)

    @property
    def keeps_model(self) -> bool:
        """Whether the model itself is wanted, which is never cached."""
        return not self.held_out

    @property
    def is_pretraining(self) -> bool:
        """Whether it comes before the folds: pretraining, or reading ahead."""
        return self.part == _PRETRAINING

    @property
    def cost(self) -> float:
        """The cost of a fit of this kind, relative to other kinds."""
        return submodel_class(kind_of(self.name, self.settings)).cost

    def key(self) -> str:
        space = self.training[0].space
        return FoldCache.key(
            [table.document for table in self.training],
            [table.document for table in self.held_out],
            self.name,
            dict(self.settings),
            self.seed,
            space.settings.columns,
            repr(space.settings),
            space.representations_.digest,
            space.discretion_.digest if space.discretion_ else "",
            self.begins_with,
            new_submodel(self.name, self.settings).content(),
            *digests_of_files({**self.settings, **space.settings.taggers}),
        )

    def run(self) -> list[NoteProposals] | SavedFiles:
        """Fit, then propose for the held-out notes, or save the model without any."""
        model = new_submodel(self.name, self.settings)
        if self.is_pretraining and model.reads_ahead:
            return SavedFiles.written_by(partial(model.read_ahead, self.training))
        if self.start is not None:
            model.warm_start(self.start, self.training[0].space)
        model.fit(self.training, seed=self.seed)
        if self.keeps_model:
            return SavedFiles.written_by(model.save)
        proposed = model.proposals(self.held_out)
        # The stacker knows the submodels by these names.
        if any(candidate.source != model.name for note in proposed for candidate in note.candidates):
            raise TrainingError(
                f"the submodel {model.name} proposes candidates under another name; {type(model).__name__} must use "
                "its own name as their source"
            )
        return proposed


def digests_of_files(settings: Mapping[str, Any]) -> Iterator[str]:
    """SHA-256 of each file that settings name: the content counts, not the name."""
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from digests_of_files(value)
        elif isinstance(value, str):
            with suppress(OSError, ValueError):
                yield hashlib.sha256(Path(value).read_bytes()).hexdigest()


def pretraining_tasks(
    settings: EngineSettings, space: FeatureSpace, notes: Iterable[Document] = ()
) -> Iterator[FitTask]:
    """The fits that come before all others: on invented notes, if the language has any, and on other annotated notes.

    :param space: of the training.
    :param notes: all that the training learns from or proposes for; see `pretraining_notes`.
    """
    language, read = settings.features.language, pretraining_notes(settings, notes)
    for name, given in settings.submodels.items():
        start = new_submodel(name, given).pretraining()
        if start is None:
            continue
        seed, number = settings.seed + _OF_INVENTED_NOTES, start.n_notes if language in LANGUAGES else 0
        first = [document for path in start.corpora for document in read[path]]
        if number:
            first += synthesize(number, seed=seed, language=language, registers="all").documents
        if first:
            changed = {**given, **start.changes}
            yield FitTask(name, changed, _PRETRAINING, space.tables(first), (), (), settings.seed)


def pretraining_notes(settings: EngineSettings, notes: Iterable[Document] = ()) -> dict[str, list[Document]]:
    """Path -> the annotated notes there that submodels begin with.

    :param notes: notes with the patient or text of one of these are left out, as folds could not measure their effect.
    :raises CorpusError: if a path holds no notes, or none that is annotated and not left out.
    """
    starts = (new_submodel(name, given).pretraining() for name, given in settings.submodels.items())
    apart, found = apart_from(notes), dict[str, list[Document]]()
    for path in sorted({path for start in starts if start for path in start.corpora}):
        every = read_corpus(Path(path), accept_unknown_labels=True).documents
        found[path] = [document for document in every if apart(document)]
        if left_out := len(every) - len(found[path]):
            _LOG.warning(
                "%d of the %d notes in %s are left out of the pretraining: %s", left_out, len(every), path, _OWN
            )
        if not any(document.spans for document in found[path]):
            raise CorpusError(f"{path} has no annotated notes to pretrain on, or only those of the training itself")
    return found


def reading_tasks(settings: EngineSettings, tasks: Iterable[FitTask]) -> Iterator[FitTask]:
    """One for each submodel that reads ahead, over all notes of some tasks."""
    of_name = {name: kind_of(name, given) for name, given in settings.submodels.items()}
    ahead = [name for name, kind in of_name.items() if submodel_class(kind).reads_ahead]
    notes = {id(note): note for task in tasks for note in (*task.training, *task.held_out)} if ahead else {}
    for name in ahead:
        yield FitTask(name, settings.submodels[name], _PRETRAINING, [*notes.values()], (), (), settings.seed)


def tasks_of(
    settings: EngineSettings,
    tables: Sequence[FeatureTable],
    folds: Sequence[Sequence[int]],
    *,
    models: bool = False,
    unseen: Sequence[FeatureTable] = (),
    added: Sequence[FeatureTable] = (),
) -> Iterator[FitTask]:
    """All fits: one of each submodel, the cheapest first, to estimate the time left; then the costly ones first, to
    keep all processes busy until the end.

    :param models: whether models of all notes are fitted too.
    :param unseen: further notes to propose for; their indices follow those of `tables`.
    :param added: further notes to learn from; see `_with_added` and `apart_from`.
    """
    apart = apart_from(table.document for table in unseen)
    every = [*tables, *added] if added else tables
    of_others = [*tables, *(table for table in added if apart(table.document))]
    classes = {name: submodel_class(kind_of(name, given)) for name, given in settings.submodels.items()}
    by_kind = []
    for name, found in sorted(classes.items(), key=lambda row: row[1].cost, reverse=True):
        arguments, seed = settings.submodels[name], settings.seed + _own_seed(name, found.kind)
        fits = []
        if models:
            fits.append(FitTask(name, arguments, "all", every, (), (), seed))
        if unseen:
            indices = range(len(tables), len(tables) + len(unseen))
            fits.append(FitTask(name, arguments, "unseen", of_others, unseen, indices, seed))
        for number, fold in enumerate(folds, start=1):
            rest = _with_added(tables, fold, added, number - 1, len(folds))
            part = f"fold {number} of {len(folds)}"
            fits.append(FitTask(name, arguments, part, rest, [tables[i] for i in fold], fold, seed))
        by_kind.append(fits)
    yield from (fits.pop() for fits in reversed(by_kind) if fits)
    yield from chain.from_iterable(by_kind)


def _with_added(
    tables: Sequence[FeatureTable], fold: Sequence[int], added: Sequence[FeatureTable], number: int, n_folds: int
) -> list[FeatureTable]:
    """The notes to learn from if a fold is held out: the other notes, and all but one n-th of the added notes.

    Berg and Dalianis (2019) add a corpus in this way.
    """
    held = set(fold)
    rest = [table for i, table in enumerate(tables) if i not in held]
    apart = apart_from(tables[i].document for i in fold)
    return rest + [table for i, table in enumerate(added) if i % n_folds != number and apart(table.document)]


def apart_from(held_out: Iterable[Document]) -> Callable[[Document], bool]:
    """A test whether a note has neither the patient nor the text of a held-out note."""
    patients, texts = set[str](), set[str]()
    for document in held_out:
        patients.add(document.group)
        texts.add(document.text)
    return lambda document: document.group not in patients and document.text not in texts


def _own_seed(name: str, kind: str) -> int:
    """Added to the seed of a submodel not named after its kind, so two of one kind differ."""
    return 0 if name == usual_name(kind) else 1 + crc32(name.encode()) % 1_000_000
