"""Which engines read the notes of a run, where there is one for each of several languages.

    suited_engines(settings, roster)      {"es": (Path("spanish.zip"), digest), ...}

An engine that cannot do what is asked, as it lacks a label of a list or a column, is left out, and a warning says so:
the notes in its language are then held back by the language gate of the run's first engine.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ensemble.batch.formats.columns import check_labels
from ensemble.batch.settings import RunSettings
from ensemble.batch.workers.job import suited_deidentifier
from ensemble.bundles.files import bundle_label_set, manifest_digest
from ensemble.stacking.known import KnownIdentifiers, RecordSearch, Roster
from features.errors import SettingsError

__all__ = ["suited_engines"]

_LOG = logging.getLogger("phistack")


def suited_engines(settings: RunSettings, roster: Roster | None) -> dict[str, tuple[Path, str]]:
    """Language -> the bundle that reads the notes in it, and its digest.

    :param settings: with all columns.
    :raises BundleError: if one of the bundles cannot be read.
    """
    found: dict[str, tuple[Path, str]] = {}
    for language, path in settings.by_language.items():
        objection = _objection(settings, path, language, roster) if path != settings.model else ""
        if objection:
            what = "notes in %s are held back, as the engine %s cannot read them as it is asked: %s"
            _LOG.warning(what, language, path.stem, objection)
        else:
            found[language] = path.resolve(), manifest_digest(path)
    return found


def _objection(settings: RunSettings, path: Path, language: str, roster: Roster | None) -> str:
    label_set = bundle_label_set(path)
    try:
        check_labels(settings.form_settings.columns.labels, label_set.labels)
        overruling = settings.overruling.suited_to(label_set, language)
        suited_deidentifier(settings.policy, settings.key, settings.struck, label_set, language, overruling)
        if roster is not None:
            KnownIdentifiers(roster, RecordSearch(label_set, language))
    except SettingsError as error:
        return str(error)
    return ""
