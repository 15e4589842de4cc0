"""Which engines read the notes of a run, where there is one for each of several languages.

    suited_engines(settings, roster)      {"es": (Path("spanish.zip"), digest), ...}

An engine that cannot do what is asked, as it lacks a label of a list or a column, is left out, and one warning says so
of all such: the notes in their languages are then held back by the language gate of the run's first engine.
"""

from __future__ import annotations

import logging
from pathlib import Path

from phistack.ensemble.batch.columns import check_labels
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.batch.workers.job import suited_deidentifier
from phistack.ensemble.bundles.files import bundle_label_set, manifest_digest
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster
from phistack.features.errors import SettingsError

_LOG = logging.getLogger("phistack")


def suited_engines(settings: RunSettings, roster: Roster | None) -> dict[str, tuple[Path, str]]:
    """Language -> the bundle that reads the notes in it, and its digest.

    :param settings: with all columns.
    :raises BundleError: if one of the bundles cannot be read.
    """
    engines = settings.by_language
    objections = {
        language: _objection(settings, path, language, roster) if path != settings.model else ""
        for language, path in engines.items()
    }
    left_out = {language: objection for language, objection in objections.items() if objection}
    if left_out:
        # All that follows the first reason are the labels that there are.
        reason = next(iter(left_out.values())).partition("; ")[0]
        _LOG.warning("notes in %s will be held back, as their engines do not suit: %s", ", ".join(left_out), reason)
    return {
        language: (path.resolve(), manifest_digest(path))
        for language, path in engines.items()
        if language not in left_out
    }


def _objection(settings: RunSettings, path: Path, language: str, roster: Roster | None) -> str:
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
