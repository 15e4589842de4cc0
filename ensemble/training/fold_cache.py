"""Out-of-fold proposals on disk: a run that was stopped, or has another stacker, does not train submodels again.

The name of a file is a hash of all that its content depends on: the training and held-out documents, the feature and
submodel settings, the seed and the source code. It holds offsets, labels and scores as JSON, never text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from phistack.ensemble.tools.version import code_digest
from phistack.features.documents import Document, Span
from phistack.features.writing import new_file
from phistack.submodels.base import Candidate, NoteProposals

_DECIDING = ("features", "tbed", "submodels")
"""The packages that decide what a submodel predicts."""


class FoldCache:
    """Proposals by key.

    :param folder: of the files; `None` keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        # The process of a fit may have another working directory.
        self.folder = None if folder is None else folder.absolute()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def __contains__(self, key: str) -> bool:
        """Whether something was kept under the key."""
        return self.get(key) is not None

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
                ([_kept(c) for c in note.candidates], None if note.residual is None else note.residual.tolist())
                for note in proposed
            ]
            part.write_text(json.dumps(notes), encoding="utf-8")

    @staticmethod
    def key(training: Sequence[Document], held_out: Sequence[Document], *parts: Any) -> str:
        """The key of candidates for `held_out` by a model of `training`; `parts` are JSON-ready settings."""
        described = [corpus_digest(training), corpus_digest(held_out), code_digest(*_DECIDING), *parts]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _kept(candidate: Candidate) -> tuple[Any, ...]:
    return astuple(candidate.span), candidate.source, candidate.score, candidate.chosen


def corpus_digest(documents: Iterable[Document]) -> str:
    """SHA-256 over ids, groups, texts and spans, in order."""
    digest = hashlib.sha256()
    for document in documents:
        spans = [astuple(span) for span in document.spans]
        digest.update(json.dumps([document.id, document.group, document.text, spans]).encode())
    return digest.hexdigest()
