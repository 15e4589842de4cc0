"""What a worker gets besides the notes, what it returns for each note, and why a note is held back.

    took_longer(60.0)                                  "it took longer than 60 seconds"
    is_transient("it took longer than 60 seconds")     True: another try may do better
    is_transient("not UTF-8 at byte 7")                False

A death, a time limit and a lack of memory depend on the moment and the machine as much as on the note. The same command
tries such notes again; all other reasons would recur.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.columns import check_labels
from phistack.ensemble.batch.rows import Row
from phistack.ensemble.batch.settings import NoteSettings
from phistack.ensemble.batch.workers.identifier_register import HashedIdentifier
from phistack.ensemble.bundles.files import bundle_label_set, manifest_digest
from phistack.ensemble.deidentification import Deidentifier, Replacement
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster, kept_open
from phistack.ensemble.stacking.overruling import Overruling
from phistack.features.errors import SettingsError
from phistack.features.formats.format import Edit
from phistack.features.labels import LabelSet
from phistack.features.language_gate import languages_of

STRUCK = "STRUCK"
"""The label of words on the strike list; a policy treats it like any label that it does not name."""

DIED = "its process died each time it worked on this note alone"
STUCK = "its process did not answer"
_SLOW = "it took longer than "
_TRANSIENT = (DIED, STUCK, _SLOW, "MemoryError ", "its process died")

_LOG = logging.getLogger("phistack")

Bundle = tuple[Path, str]
"""A bundle and its digest."""


def suited_deidentifier(run: NoteSettings, labels: LabelSet, language: str, overruling: Overruling) -> Deidentifier:
    """The deidentifier for the PHI that an engine finds.

    :raises SettingsError: if the policy does not suit the engine, or keeps what a list says must go.
    """
    policy = run.policy
    if run.struck and policy.strategy(STRUCK, "OTHER") == "keep":
        raise SettingsError(
            "the policy keeps what it does not name, so the words of --strike would not be removed; give another "
            "--policy"
        )
    deidentifier = Deidentifier(policy, labels, language, run.key)
    for label in sorted(overruling.labels):
        if deidentifier.strategy(label) == "keep":
            raise SettingsError(
                f"the policy keeps {label}, so what --always or --patterns has under this label would not be "
                f"removed; give it another label, or another --policy"
            )
    return deidentifier


def suited_engines(settings: NoteSettings, roster: Roster | None) -> dict[str, Bundle]:
    """Language -> the bundle that reads the notes in it, and its digest.

    An engine that lacks a label of a list or a column is left out, with one warning for all of these: the language gate
    of the run's first engine then holds back the notes in their languages.

    :param settings: the settings of the run, with all columns.
    :raises BundleError: if one of the bundles cannot be read.
    """
    engines = settings.by_language
    objections = {
        language: _objection(settings, path, language, roster) if path != settings.model else ""
        for language, path in engines.items()
    }
    left_out = {language: objection for language, objection in objections.items() if objection}
    if left_out:
        # The list of known labels follows the first reason.
        reason = next(iter(left_out.values())).partition("; ")[0]
        _LOG.warning("notes in %s will be held back, as their engines do not suit: %s", ", ".join(left_out), reason)
    return {
        language: (path.resolve(), manifest_digest(path))
        for language, path in engines.items()
        if language not in left_out
    }


def _objection(settings: NoteSettings, path: Path, language: str, roster: Roster | None) -> str:
    label_set = bundle_label_set(path)
    try:
        check_labels(settings.form_settings.columns.labels, label_set.labels)
        overruling = settings.options.overruling.suited_to(label_set, language)
        suited_deidentifier(settings, label_set, language, overruling)
        if roster is not None:
            KnownIdentifiers(roster, RecordSearch(label_set, language))
    except SettingsError as error:
        return str(error)
    return ""


def took_longer(seconds: float) -> str:
    """Why a note is held back that took longer than this many seconds."""
    return f"{_SLOW}{seconds:g} second{'s' * (seconds != 1)}"


def is_transient(reason: str) -> bool:
    """Whether a note that was held back for this reason may come out when it is tried again."""
    return reason.startswith(_TRANSIENT)


@dataclass(frozen=True)
class Job:
    """Everything that decides what a worker makes of a note.

    :param run: the settings for notes, with all columns.
    :param bundle: the one that reads notes of unknown language, and those in its own.
    :param by_language: ISO 639-1 code -> the bundle that reads the notes in it.
    :param code: digest of the code with which the run began; a worker with other code is refused.
    :param secret: the secret of this run's register of identifiers.
    :param roster: digest of the roster; empty for none.
    :param roster_index: where the roster is saved for all workers that see it; the others read it themselves.
    """

    run: NoteSettings
    bundle: Bundle
    code: str
    secret: bytes = field(repr=False)
    by_language: Mapping[str, Bundle] = field(default_factory=dict)
    roster: str = ""
    roster_index: Path | None = None

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """All bundles, the one of the run first."""
        return tuple(dict.fromkeys([self.bundle, *self.by_language.values()]))

    def bundle_for(self, note: Row) -> Bundle:
        """The bundle that reads a note: that of its language, if its language is clear and has a bundle."""
        if not self.by_language:
            return self.bundle
        text = "\n".join(part.text for part in note.parts if not part.label)
        found = (self.by_language.get(language) for language in languages_of([text], self.by_language))
        return next(filter(None, found), self.bundle)

    def identity(self, bundle: Bundle) -> tuple[Any, ...]:
        """Jobs of equal identity can share a loaded bundle."""
        run = self.run
        said = (self.roster, *run.options.recorded.values(), *run.options.overruling.digests.values())
        return (*bundle, run.policy.digest, run.key, run.load, *self.by_language.items(), *said)

    def load(self, bundle: Bundle, others: Mapping[str, Engine]) -> Engine:
        """Load an engine, with the options of the run and the roster.

        :param others: language -> the engine that reads passages in it.
        :raises SettingsError: if lists or patterns have a label that the engine does not have, or the roster is not
            the one with which the run began.
        """
        run, roster = self.run, None
        if run.known is not None:
            roster = kept_open(run.known.resolve(), self.roster, run.key, self.roster_index)
        return run.load(bundle[0]).with_options(run.options, others=others, roster=roster)


@dataclass(slots=True)
class NoteResult:
    """The result of de-identifying a note.

    :ivar texts: the new text of each part; nothing if there is a problem.
    :ivar places: for each part what was replaced, and how likely it is PHI: 1 for what no submodel decided.
    :ivar problem: why the note goes to quarantine.
    :ivar record: JSON-ready facts for journal and audit, without text of PHI.
    :ivar entries: what the leak check searches for.
    """

    texts: tuple[str, ...] = field(default=(), repr=False)
    places: tuple[tuple[tuple[Replacement, float], ...], ...] = ()
    problem: str = ""
    record: dict[str, Any] = field(default_factory=dict)
    entries: set[HashedIdentifier] = field(default_factory=set, repr=False)

    @property
    def edits(self) -> list[list[Edit]]:
        """The edits that made the new text of each part."""
        return [
            [(r.span.start, r.span.end, text[r.start_in_output : r.end_in_output]) for r, _ in of_part]
            for text, of_part in zip(self.texts, self.places, strict=False)
        ]
