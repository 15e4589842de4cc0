"""From annotated notes to a trained engine.

    corpus ──> feature tables ──> each submodel on each fold ──> out-of-fold candidates ──> stacker
                             └──> each submodel on everything ──────────────────────────────> bundle

The stacker learns only from out-of-fold candidates: those proposed for patients that the submodels were not trained on.
Folds and final fits are independent and run in parallel processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.candidates import chosen_spans, pools_of
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.repeats.word_counts import seen_words
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import fit_subset_stackers
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.tools.stopwatch import Spent, Stopwatch
from phistack.ensemble.training.fit_runs import FITS, Proposals, run_fits
from phistack.ensemble.training.fit_tasks import tasks_of
from phistack.ensemble.training.fold_cache import FoldCache
from phistack.ensemble.training.proposals import FEATURES, prepared
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.language_gate import LanguageGate
from phistack.features.plain_view import plain_view
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import kind_of, load_submodel

_STACKER, _SUBSETS, _CASCADE = 3, 7, 1
"""The shares of the parts of a training in its time, in percent."""


@dataclass(frozen=True)
class Training:
    """A trained engine and how it came about.

    :param engine: ready to annotate.
    :param models: submodel -> its files, which the bundle takes over.
    :param out_of_fold: submodel -> its out-of-fold candidates for each training note.
    :param seconds: (submodel, part) -> time spent; the part is `fold K of N` or `all`. Besides the submodels there are
        `features`, `load` (of the trained submodels) and `stacker`.
    :param warnings: counts of what the tags cannot express.
    """

    engine: Engine
    models: Mapping[str, SavedFiles] = field(repr=False)
    out_of_fold: Mapping[str, Proposals] = field(repr=False)
    seconds: Mapping[tuple[str, str], Spent]
    warnings: Counter[str]

    def only(self, names: Iterable[str]) -> Training:
        """The same with some of the submodels and their stacker."""
        engine = self.engine.only(names)
        return replace(self, engine=engine, out_of_fold={name: self.out_of_fold[name] for name in engine.names})


def train(
    corpus: Corpus,
    settings: EngineSettings | None = None,
    *,
    jobs: int = 1,
    cache: Path | None = None,
    added: Corpus | None = None,
) -> Training:
    """Train all submodels and the stacker.

    :param corpus: annotated notes of at least two patients; with fewer than `settings.folds` there are fewer folds.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder that keeps the predictions of folds for the next run.
    :param added: further annotated notes, from which only the submodels learn, in every fold; the stacker and the
        scores do not use them.
    :raises TrainingError: if the corpus has no PHI, or only one patient.
    """
    settings = (settings or EngineSettings()).for_label_set(corpus.label_set.name, corpus.label_set.labels)
    with stage("training", total=FEATURES + FITS + _STACKER + _SUBSETS + _CASCADE):
        watch = Stopwatch()
        more = added.documents if added else ()
        space, every, folds, warnings = prepared(corpus, settings, added=more)
        tables = every[: len(corpus)]
        preparing = watch.spent()
        tasks = [*tasks_of(settings, tables, folds, models=True, added=every[len(corpus) :])]
        fitted = run_fits(settings, tasks, len(tables), jobs=jobs, cache=FoldCache(cache))
        out_of_fold, saved, seconds = fitted.proposals, fitted.models, fitted.seconds
        watch = Stopwatch()
        models = [
            load_submodel(name, kind_of(name, given), saved[name], space) for name, given in settings.submodels.items()
        ]
        seconds |= {("features", "all"): preparing, ("load", "all"): watch.spent()}
        pools = pools_of(tables, out_of_fold, tuple(out_of_fold))
        watch = Stopwatch()
        with stage("stacker", weight=_STACKER):
            stacker = Stacker(settings.stacker).fit(tables, pools, sources=tuple(out_of_fold), seed=settings.seed)
        seconds["stacker", "all"] = watch.spent()
        watch = Stopwatch()
        smaller = fit_subset_stackers(stacker, tables, out_of_fold, seed=settings.seed, weight=_SUBSETS)
        seconds["stacker", "subsets"] = watch.spent()
        watch = Stopwatch()
        with stage("cascade", weight=_CASCADE):
            stackers = {**smaller, tuple(out_of_fold): stacker}
            waiting = [model.name for model in models if model.costly and settings.cascade]
            cascade = Cascade.fit(tables, fitted.proposed, stackers, waiting=waiting)
        seconds["stacker", "cascade"] = watch.spent()
    read = settings.features
    texts = (document.text for document in corpus.documents)
    gate = LanguageGate.fit(texts, read.language, html=read.html, is_known=seen_words(stacker.counts))
    engine = Engine(corpus.label_set, space, models, stacker, smaller, gate, cascade)
    return Training(engine, saved, out_of_fold, seconds, warnings)


def out_of_fold_corpora(training: Training, corpus: Corpus) -> dict[str, Corpus]:
    """The out-of-fold spans of each submodel alone and of the stack, as corpora to be scored.

    The stack's kernel and threshold were chosen on the same notes, so its score is slightly too good.
    """
    html = training.engine.space.settings.html
    views = [plain_view(document, html=html) for document in corpus.documents]
    spans = {name: list(map(chosen_spans, notes, views)) for name, notes in training.out_of_fold.items()}
    spans["stack"] = training.engine.stacker.out_of_fold_
    return {name: corpus.with_spans(notes) for name, notes in spans.items()}
