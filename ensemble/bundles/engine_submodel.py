"""A trained engine, shipped or one's own, as a submodel of another.

    [submodels.english]
    kind = "engine"                 the engine that ships under this name, or `bundle = "PATH"`

It never saw the notes, so it reads each of them once, not once per fold. `fit` learns what the corpus calls the
engine's labels: it counts the gold labels that spans of a label meet, and adds one for the label of the same kind of
PHI. A label that never meets gold, such as e-mail in a few notes, thus becomes that label. Everything that the engine
weighed is a candidate, with its probability; what it accepted is chosen, unless most spans of that label meet no gold.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import (
    bundle_label_set,
    bundle_languages,
    manifest_digest,
    read_bundle,
    read_manifest,
)
from phistack.ensemble.bundles.shipped import FOLDER, bundle_path
from phistack.ensemble.deidentification.kinds import kind_of, label_like
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.options import READ
from phistack.ensemble.tools.version import code_digest
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError, TrainingError
from phistack.features.labels import LabelSet
from phistack.features.languages import language_name
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import write_json
from phistack.submodels.base import Candidate, Submodel, saved_submodel

_AHEAD, _STATE = "read_ahead.json", "engine_submodel.json"
_DEEPEST = 5
"""The most slashes in the file names of an engine that another one can hold."""

_LEAST_SHARE = 0.1
"""A gold label that a smaller share of the spans of a label meet is no candidate for it."""

_Row = tuple[int, int, str, float, bool]
"""Start, end, the engine's label, probability, and whether it accepted this."""


class _State(TypedDict):
    settings: dict[str, Any]
    labels: dict[str, dict[str, float]]
    doubtful: list[str]


@dataclass(kw_only=True, eq=False, repr=False)
class EngineSubmodel(Submodel):
    """An engine whose labels are mapped onto those of the corpus.

    Learned by `fit`: `labels_` (the engine's label -> the corpus' labels for it, the most frequent first, each with its
    frequency as a share of the first one's) and `doubtful_` (labels most of whose spans meet no gold span).

    :param bundle: the path of the engine or the name of one that ships; by default the submodel's name.
    :param label_set: the label set of the corpus, a name or a TOML file.
    :param labels: the labels of the corpus, if it has no such set; those of gold spans are added anyway.
    """

    kind: ClassVar[str] = "engine.v1"
    cost: ClassVar[float] = 0.1
    reads_ahead: ClassVar[bool] = True

    bundle: str = ""
    label_set: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._ahead: dict[str, list[_Row]] = {}
        self._files: SavedFiles | None = None

    @property
    def path(self) -> Path:
        """The path of the bundle."""
        return bundle_path(self.bundle or self.name)

    @cached_property
    def engine(self) -> Engine:
        """The engine, which reads passages in other languages too: the engine that holds it decides about these."""
        return load_bundle(self._files or self.path).with_options(other_languages=READ)

    def check(self, features: FeatureSettings | None = None) -> None:
        """Check that the engine exists, reads the language, and fits into a bundle.

        :raises BundleError: if there is no such engine.
        """
        if max(name.count("/") for name in read_manifest(self.path)["files"]) > _DEEPEST:
            raise SettingsError(
                f"the engine {self.path} holds an engine that holds one itself; train with the innermost one instead"
            )
        languages = bundle_languages(self.path)
        if features is not None and features.language not in languages:
            raise SettingsError(
                f"the engine {self.path} reads notes in {' and '.join(map(language_name, languages))}, and these are "
                f"in {language_name(features.language)}; train with an engine for them, or without"
            )

    def gives_nobody_away(self) -> bool:
        """Whether the engine ships, as it learned from invented or published notes, or is private itself."""
        return self.path.parent == FOLDER or "private" in read_manifest(self.path)["figures"]

    def content(self) -> str:
        """The digest of bundle and code."""
        return manifest_digest(self.path) + code_digest()

    def read_ahead(self, tables: Sequence[FeatureTable], folder: Path) -> None:
        """Write what the engine finds in the notes; :raises TrainingError: if it shares no label with the gold."""
        found = self._found(tables)
        self._learn(tables, found)
        write_json(folder / _AHEAD, {_key(t.document): rows for t, rows in zip(tables, found, strict=True)})

    def warm_start(self, files: SavedFiles, space: FeatureSpace) -> None:
        """Take what `read_ahead` wrote."""
        self._ahead = files.json(_AHEAD, dict[str, list[_Row]])

    def fit(self, tables: Sequence[FeatureTable], *, seed: int = 0) -> Self:
        """Learn what the corpus calls the engine's labels."""
        self._learn(tables, self._found(tables))
        return self

    def propose(self, tables: Sequence[FeatureTable]) -> list[list[Candidate]]:
        """All that the engine weighed, under the labels of the corpus."""
        return [[*self._candidates(rows)] for rows in self._found(tables)]

    def save(self, folder: Path) -> None:
        """Write the labels, and the whole bundle beside them."""
        (self._files or read_bundle(self.path)[1]).write_to(folder)
        state: _State = {
            "settings": {**self.settings()}, "labels": self.labels_, "doubtful": sorted(self.doubtful_)
        }  # fmt: skip
        write_json(folder / _STATE, state)

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote."""
        state = files.json(_STATE, _State)
        with damage_refused("the engine within the engine"):
            model = saved_submodel(cls, state["settings"])
            model.labels_, model.doubtful_ = state["labels"], {*state["doubtful"]}
            model._files = read_bundle(files.without(_STATE))[1]
        return model

    def _found(self, tables: Sequence[FeatureTable]) -> list[list[_Row]]:
        """What the engine weighed in each note, each read as the only one of its patient."""
        keys = [_key(table.document) for table in tables]
        new = {key: table.document for key, table in zip(keys, tables, strict=True) if key not in self._ahead}
        notes = [replace(document, id=key, group=key, spans=()) for key, document in new.items()]
        read = zip(new, self.engine.decide(notes) if notes else (), strict=True)
        found = {
            key: [(d.span.start, d.span.end, d.span.label, d.probability, d.accepted) for d in decisions]
            for key, decisions in read
        }
        return [found.get(key) or self._ahead.get(key, []) for key in keys]

    def _learn(self, tables: Sequence[FeatureTable], found: Sequence[Sequence[_Row]]) -> None:
        gold = sorted({span.label for table in tables for span in table.document.spans})
        if not gold:
            raise TrainingError("the notes have no PHI that would show what the labels of an engine mean in them")
        theirs = self.engine.label_set if self._files else bundle_label_set(self.path)
        ours = LabelSet.of(self.label_set) if self.label_set else LabelSet("", dict.fromkeys((*self.labels, *gold), ""))
        meetings: dict[str, Counter[str]] = {label: Counter() for label in theirs.labels}
        for table, rows in zip(tables, found, strict=True):
            for start, end, label, _, accepted in rows:
                if accepted:
                    meetings.setdefault(label, Counter())[_met(start, end, table.document.spans)] += 1
        self.labels_, self.doubtful_ = {}, set[str]()
        for label, counts in meetings.items():
            n_alone = counts.pop("", 0)
            if n_alone > counts.total() + 1:
                self.doubtful_.add(label)
            alike = label_like(label, theirs, ours)
            # A label of unknown kind is like all that have no other counterpart, which says nothing.
            if alike in ours and (alike == label or kind_of(alike, ours.name) != "OTHER"):
                counts[alike] += 1
            ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
            self.labels_[label] = {name: n / ordered[0][1] for name, n in ordered if n >= _LEAST_SHARE * counts.total()}
        if not any(self.labels_.values()):
            raise TrainingError(
                f"the engine {self.path} has no label in common with the notes, and marks nothing that is marked in "
                "them; train without it"
            )

    def _candidates(self, rows: Iterable[_Row]) -> list[Candidate]:
        """The candidates; if several engine labels give one label, with the probability that any of them is right."""
        found: dict[Span, Candidate] = {}
        for start, end, theirs, probability, accepted in rows:
            for place, (label, share) in enumerate(self.labels_.get(theirs, {}).items()):
                span = Span(start, end, label)
                chosen = accepted and not place and theirs not in self.doubtful_
                new = Candidate(span, self.name, share * probability, chosen, theirs)
                old = found.get(span, new)
                better = max(old, new, key=lambda c: (c.chosen, c.score))
                score = new.score if old is new else 1 - (1 - old.score) * (1 - new.score)
                found[span] = replace(better, score=score)
        return sorted(found.values(), key=lambda candidate: candidate.span)


def _key(document: Document) -> str:
    """The key of a note: its text, hashed; nothing else of it changes what the engine finds."""
    return hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()


def _met(start: int, end: int, gold: Iterable[Span]) -> str:
    """The label of the gold span that shares the most characters with a span; empty if none does."""
    shared, label = max(((min(end, s.end) - max(start, s.start), s.label) for s in gold), default=(0, ""))
    return label if shared > 0 else ""
