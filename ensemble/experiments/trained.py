"""The engine that `train` made, found again by an experiment with the same cache.

    remember(cache, bundle, settings, corpus)
    engine_of(cache, settings, corpus)          that engine; none if there is no such bundle any more

A cache keeps what submodels propose out of fold, and no model, as models hold words of the training notes. So `train`
leaves in it where the bundle is, and an experiment lets that bundle propose for notes of another corpus.
"""

from __future__ import annotations

import json
from pathlib import Path

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.engine import Engine
from phistack.ensemble.training.fit_tasks import digests_of_files
from phistack.ensemble.training.fold_cache import FoldCache
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.errors import PhistackError
from phistack.features.writing import new_file


def remember(cache: Path, bundle: Path, settings: EngineSettings, corpus: Corpus) -> None:
    """Leave in a cache where the bundle is that was trained with some settings on a corpus and nothing else."""
    with new_file(_note_of(cache, settings, corpus), replace=True) as part:
        part.write_text(json.dumps({"bundle": str(bundle.absolute())}), encoding="utf-8")


def engine_of(cache: Path | None, settings: EngineSettings, corpus: Corpus) -> Engine | None:
    """The engine that was trained so; none if it is not known, has other submodels, or cannot be loaded."""
    try:
        note = json.loads(_note_of(cache, settings, corpus).read_text(encoding="utf-8")) if cache else {}
        engine = load_bundle(Path(note["bundle"]), cascade=False)
    except (OSError, ValueError, TypeError, KeyError, PhistackError):
        return None
    return engine if engine.names == tuple(settings.submodels) else None


def _note_of(cache: Path, settings: EngineSettings, corpus: Corpus) -> Path:
    files = digests_of_files(settings.to_dict())
    return cache / f"{FoldCache.key(corpus.documents, (), settings.digest, *files)}.bundle.json"
