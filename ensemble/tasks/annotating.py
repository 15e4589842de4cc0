"""The commands `annotate` and `explain`: read notes, find PHI, write them or show why."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine, EngineOptions, EnginesByLanguage, Reading
from phistack.ensemble.tools.progress import progress, stage
from phistack.features.documents import Document, refuse_repeated
from phistack.features.errors import CorpusError
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.formats.corpora import STANDARD, input_path, write_documents
from phistack.features.formats.found import Found
from phistack.features.formats.recognise import format_by_ending
from phistack.features.shown import shown_id

if TYPE_CHECKING:
    from rich.console import Console

_LOG = logging.getLogger("phistack")
_MOST_TEXTS = 400


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
    :raises SettingsError: if the roster is not usable, or the engine does not support an option.
    """
    engine, roster = load_bundle(model, only=only), None
    if known is not None:
        from phistack.ensemble.stacking.known.roster import Roster, tell_unused

        roster = Roster.open(known, engine.label_set.labels)
        tell_unused(roster, engine.label_set.labels)
    bundles = {language: path for language, path in by_language.items() if path != model}
    others = EnginesByLanguage(bundles, cache(lambda language: load_bundle(bundles[language])))
    return engine.with_options(options, roster=roster, others=others)


@dataclass(frozen=True)
class Source:
    """Notes for an engine, read one at a time and as often as needed; the path `-` is standard input.

    :param unmatched_roster: whether to continue if the engine's roster has no patient of these notes.
    """

    path: Path
    reader: Reader = USUAL_READER
    unmatched_roster: bool = False

    @cached_property
    def notes(self) -> Found:
        """All notes, without their spans; :raises CorpusError: for an unknown format."""
        return self.reader.notes(input_path(self.path), annotated=False)

    @cached_property
    def _overview(self) -> tuple[int, list[str]]:
        """The number of notes, and texts sampled evenly; notes that cannot be read are refused here."""
        ids, texts, step = set[str](), list[str](), 1
        for number, document in enumerate(self.notes):
            refuse_repeated([*ids & {document.id}])
            ids.add(document.id)
            texts += [document.text] if number % step == 0 else []
            if len(texts) > _MOST_TEXTS:
                texts, step = texts[::2], 2 * step
        if not ids:
            raise CorpusError(f"{self.path} holds no notes; give at least one")
        return len(ids), texts

    def __len__(self) -> int:
        return self._overview[0]

    def sample(self, most: int) -> list[str]:
        """The texts of some notes, sampled evenly; :raises CorpusError: if there are no notes."""
        texts = self._overview[1]
        return texts[:: 1 + (len(texts) - 1) // most]

    def format_to(self, out: Path, format: str = "") -> str:
        """The format to write notes with spans in: as asked, by the ending of `out`, or that of the notes.

        For plain text, that is brat, or jsonl on standard output.
        """
        known, of_text = self.notes.format, "jsonl" if out == STANDARD else "brat"
        found = (known.written or known).name
        return format or format_by_ending(out) or (of_text if found == "text" else found)

    def read(self, engine: Engine, held_back: dict[str, str], *, traced: bool = False) -> Generator[Reading]:
        """The engine's reading of each note that it can read.

        :param held_back: receives the id of each other note, with the reason.
        :raises CorpusError: if it can read none.
        :raises SettingsError: if the engine's roster has no patient of these notes.
        """
        roster, n_others, unread = engine.options.roster, 0, Counter[str]()
        with stage("reading the notes"):
            total = len(self)
            if roster is not None and not self.unmatched_roster:
                roster.check_fits(document.group for document in self.notes)
        with progress("annotating", total=total) as advance:
            for reading in engine.read(self.notes, traced=traced):
                if reading.objection:
                    held_back[reading.document.id] = reading.objection
                else:
                    n_others += roster is not None and reading.document.group not in roster
                    unread.update({span.label for span in reading.unread})
                    yield reading
                advance("")
        n_read = total - len(held_back)
        if not n_read:
            id, reason = next(iter(held_back.items()))
            raise CorpusError(f"the engine cannot read any of the {total} notes; document {shown_id(id)}: {reason}")
        if n_others:
            _LOG.warning("%d of %d notes are of patients who are not in the roster", n_others, n_read)
        for label, n_notes in unread.most_common():
            _LOG.warning("%d of %d notes have a passage that the engine did not read: %s", n_notes, n_read, label)


@dataclass
class Written:
    """What was written: counts of notes, spans and warnings, and id -> reason of the notes held back."""

    notes: int = 0
    spans: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    held_back: dict[str, str] = field(default_factory=dict)


def annotate_corpus(source: Source, out: Path, engine: Engine, *, format: str = "") -> Written:
    """Annotate every note that the engine can read; the output is complete or not written at all.

    :param out: a path, or `-` for standard output.
    :param format: of `out`; by default that of its file ending, else that of `source`, or brat if that is plain text.
    :raises CorpusError: if it can read none of the notes.
    """
    written = Written()
    with closing(source.read(engine, written.held_back)) as readings:

        def annotated() -> Iterator[Document]:
            for reading in readings:
                written.notes += 1
                written.spans += len(reading.accepted)
                yield reading.suggested

        write_documents(annotated(), engine.label_set, out, format=source.format_to(out, format))
    written.warnings = source.notes.how.warnings
    return written


def explain_corpus(
    source: Source, engine: Engine, console: Console, *, html: Path | None = None, show_text: bool = False
) -> tuple[int, dict[str, str]]:
    """Print the decisions on every note that the engine can read, and write them to the page `html`, if given.

    :returns: the number of these notes, and id -> reason of those held back.
    :raises CorpusError: if it can read none of the notes.
    """
    from phistack.ensemble.views.explanation import print_explanation
    from phistack.ensemble.views.page import NoteView, write_page

    held_back: dict[str, str] = {}
    readings = list(source.read(engine, held_back, traced=True))
    for reading in readings:
        print_explanation(reading, console, show_text=show_text)
    if html is not None:
        views = [NoteView(reading.document, reading.decisions) for reading in readings]
        write_page(html, title="Why each span was marked", notes=views)
    return len(readings), held_back
