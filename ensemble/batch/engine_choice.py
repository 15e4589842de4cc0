"""The engines of a run that reads several languages.

    suited_engines(settings, roster)      {"es": (Path("spanish.zip"), digest), ...}

An engine that lacks a label of a list or a column is left out, with one warning for all of these: the language gate of
the run's first engine then holds back the notes in their languages.
"""

from __future__ import annotations

import logging
from pathlib import Path

from phistack.ensemble.batch.columns import check_labels
from phistack.ensemble.batch.settings import RunSettings
from phistack.ensemble.batch.workers.job import Bundle, suited_deidentifier
from phistack.ensemble.bundles.files import bundle_label_set, manifest_digest
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster
from phistack.features.errors import SettingsError

_LOG = logging.getLogger("phistack")


def suited_engines(settings: RunSettings, roster: Roster | None) -> dict[str, Bundle]:
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
        # The list of known labels follows the first reason.
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
