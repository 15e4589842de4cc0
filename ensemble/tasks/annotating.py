"""What the command annotate does: read notes, find PHI, write them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine, EngineOptions, EnginesByLanguage, Reading
from phistack.ensemble.stacking.known import Roster
from phistack.ensemble.stacking.known.roster import tell_unused
from phistack.ensemble.tools.progress import progress, stage
from phistack.features.documents import Corpus
from phistack.features.errors import CorpusError
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.formats.corpora import STANDARD, input_path, write_notes
from phistack.features.formats.recognise import format_told_by
from phistack.features.labels import LabelSet
from phistack.features.shown import shown_id

_LOG = logging.getLogger("phistack")
_NO_LABELS = LabelSet("none", {})
"""Expected of notes whose spans are ignored."""

HeldBack = Mapping[str, str]
"""Id -> reason of the notes that the engine cannot read."""


def engine_with(
    model: Path,
    options: EngineOptions,
    *,
    by_language: Mapping[str, Path] = MappingProxyType({}),
    only: Iterable[str] = (),
    known: Path | None = None,
) -> Engine:
    """The engine of a bundle with the options of a command.

    :param by_language: language -> the bundle that reads passages and notes in it.
    :param only: names of submodels; all by default.
    :param known: a roster.
    :raises SettingsError: if the roster cannot be used, or the engine does not suit what is asked for.
    """
    engine = load_bundle(model, only=only)
    roster = Roster.open(known, engine.label_set.labels) if known is not None else None
    if roster is not None:
        tell_unused(roster, engine.label_set.labels)
    bundles = {language: path for language, path in by_language.items() if path != model}
    others = EnginesByLanguage(bundles, cache(lambda language: load_bundle(bundles[language])))
    return engine.with_options(options, roster=roster, others=others)


@dataclass(frozen=True)
class Source:
    """Notes that an engine is to read; they are read once, when they are first asked for.

    :param path: a file or folder, or `-` for standard input.
    :param reader: how it is read.
    """

    path: Path
    reader: Reader = USUAL_READER

    @property
    def format(self) -> str:
        """The name of the format of the notes; :raises CorpusError: if it is none that is known."""
        return self.reader.format_of(input_path(self.path))

    @cached_property
    def notes(self) -> Corpus:
        """All notes, without any spans that they had; :raises CorpusError: if there are none to be had."""
        corpus = self.reader.read(input_path(self.path), label_set=_NO_LABELS, accept_unknown_labels=True)
        return replace(corpus, documents=tuple(document.with_spans(()) for document in corpus.documents))

    def sample(self, most: int) -> list[str]:
        """The texts of some notes from all over them; :raises CorpusError: if there are none to be had."""
        return [document.text for document in self.notes.documents[:: 1 + (len(self.notes) - 1) // most]]

    def read(self, engine: Engine, *, traced: bool = False) -> tuple[list[Reading], HeldBack]:
        """What becomes of the notes that the engine can read; :raises CorpusError: if it can read none.

        :param traced: whether the readings have a trace.
        """
        notes = self.notes.documents
        readings: list[Reading] = []
        held_back: dict[str, str] = {}
        with progress("annotating", total=len(notes)) as advance:
            for reading in engine.read(notes, traced=traced):
                if reading.objection:
                    held_back[reading.document.id] = reading.objection
                else:
                    readings.append(reading)
                advance("")
        if notes and not readings:
            id, reason = next(iter(held_back.items()))
            raise CorpusError(
                f"the engine cannot read any of the {len(notes)} notes; document {shown_id(id)}: {reason}"
            )
        _warn(engine, readings)
        return readings, held_back


def _warn(engine: Engine, readings: Sequence[Reading]) -> None:
    roster = engine.options.roster
    if roster is not None and (n_others := sum(r.document.group not in roster for r in readings)):
        _LOG.warning("%d of %d notes are of patients who are not in the roster", n_others, len(readings))
    unread = Counter(label for reading in readings for label in {span.label for span in reading.unread})
    for label, n_notes in unread.most_common():
        _LOG.warning("%d of %d notes have a passage that the engine did not read: %s", n_notes, len(readings), label)


def annotate_corpus(source: Source, out: Path, engine: Engine, *, format: str = "") -> tuple[Corpus, HeldBack]:
    """Annotate every note that the engine can read and write them all to `out`, or nothing.

    :param out: what to write, or `-` for standard output.
    :param format: of `out`; otherwise by its file ending, or that of `source`, or brat where that is plain text.
    :raises CorpusError: if it can read none of the notes.
    """
    found = source.format
    with stage("reading the notes"):
        corpus = source.notes
    readings, held_back = source.read(engine)
    annotated = tuple(reading.document.with_spans(reading.accepted) for reading in readings)
    result = replace(corpus, documents=annotated, label_set=engine.label_set)
    of_text = "jsonl" if out == STANDARD else "brat"
    write_notes(result, out, format=format or format_told_by(out) or (of_text if found == "text" else found))
    return result, held_back
