"""Random search for the settings of one submodel, each trial scored out of fold by patient.

    out/settings.toml    all settings, with the best that were found: for `train --config`
    out/trials.txt       every trial, the best first; results.json and table.tex have the same

A TOML file, as `SearchSpace.named` reads it, declares the ranges:

    c2 = { from = 0.001, to = 10.0, scale = "log" }
    max_iterations = { from = 20, to = 80 }           whole numbers, as both ends are
    scheme = ["BIO", "BIOES"]                         one of these

    [search]
    trials = 250                                      how many are drawn by default
    validation = 20                                   percent of the patients that all trials are scored on

The first trial has the submodel's present settings, so the result is never worse out of fold; the others are random
(Bergstra and Bengio 2012). A cache keeps the fits of folds, so a search that was stopped, or one with more trials,
continues. Zhao 2020 tunes by 10-fold cross-validation, Trienes 2020 on one part of the notes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.measures import MEASURES, Counts, total
from phistack.ensemble.evaluation.systems import counts_of
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, strong
from phistack.ensemble.experiments.parts import CorpusFacts, Origin, plain
from phistack.ensemble.stacking.candidates import chosen_spans
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.fit_runs import FITS, run_fits
from phistack.ensemble.training.fit_tasks import FoldCache, tasks_of
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import FEATURES, prepared
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.registry import FileRegistry
from phistack.submodels.base import new_submodel

SPACES = FileRegistry("search-spaces", "search space", ".toml")
"""The search spaces of installed packages, by name."""

_SEARCH, _OF_SEARCH = "search", ("trials", "validation")
_KEYS, _SCALES = ("from", "to", "scale"), ("linear", "log")
_MOST_VALIDATION = 50


@dataclass(frozen=True)
class SearchSpace:
    """Settings and their ranges.

    :param ranges: setting -> the values to choose from, or a table of its ends and scale.
    :param validation: percent of the patients that all trials are scored on; 0 for cross-validation.
    :raises SettingsError: if there is no range, or one is invalid.
    """

    ranges: Mapping[str, Any] = field(repr=False)
    trials: int = 20
    validation: int = 0

    def __post_init__(self) -> None:
        if self.trials < 1 or not 0 <= self.validation <= _MOST_VALIDATION:
            raise SettingsError(f"trials must be 1 or more, validation from 0 to {_MOST_VALIDATION}, in percent")
        if not self.ranges:
            raise SettingsError("it names no setting to search")
        for name, given in self.ranges.items():
            _distribution(name, given)

    @classmethod
    def named(cls, name: str) -> SearchSpace:
        """An installed space, or that of a file; :raises SettingsError: with the file and the mistake."""
        if name in SPACES.names:
            return cls.from_dict(SPACES.table(name))
        with file_named("the search space", Path(name)):
            return cls.from_dict(read_toml(Path(name)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> SearchSpace:
        """The space that a file declares; :raises SettingsError: for an invalid one."""
        ranges = {name: given for name, given in table.items() if name != _SEARCH}
        search = table.get(_SEARCH, {})
        if not isinstance(search, Mapping) or not all(type(given) is int for given in search.values()):
            raise SettingsError("[search] must be a table of whole numbers")
        if unknown := sorted(search.keys() - {*_OF_SEARCH}):
            raise SettingsError(f"[search]: {no_such('key', unknown[0], _OF_SEARCH)}")
        return cls(ranges, **search)

    def sampled(self, trials: int, *, seed: int) -> list[dict[str, Any]]:
        """Random settings, the same for the same seed; fewer if all ranges are lists with fewer combinations."""
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        distributions = {name: _distribution(name, self.ranges[name]) for name in sorted(self.ranges)}
        if all(isinstance(given, list) for given in distributions.values()):
            trials = min(trials, len(ParameterGrid(distributions)))
        sampler = ParameterSampler(distributions, trials, random_state=seed)
        return [{name: self._value(name, drawn[name]) for name in self.ranges} for drawn in sampler]

    def _value(self, name: str, drawn: Any) -> Any:
        """A drawn value for a settings file: whole if both ends are, else with four digits and within the ends."""
        given = self.ranges[name]
        if isinstance(given, list):
            return drawn
        if isinstance(given["from"], int) and isinstance(given["to"], int):
            return round(float(drawn))
        return min(max(float(f"{drawn:.4g}"), float(given["from"])), float(given["to"]))


def _distribution(name: str, given: Any) -> Any:
    """A list or a distribution of SciPy to draw from; :raises SettingsError: for an invalid range."""
    from scipy.stats import loguniform, randint, uniform

    if isinstance(given, list) and given:
        return given
    if not isinstance(given, Mapping) or not {"from", "to"} <= given.keys():
        raise SettingsError(
            f"the range of {name} must be a list of values, or a table such as {{ from = 0.01, to = 1.0, scale = "
            f'"log" }}'
        )
    if unknown := sorted(given.keys() - {*_KEYS}):
        raise SettingsError(f"the range of {name}: {no_such('key', unknown[0], _KEYS)}")
    low, high, scale = given["from"], given["to"], given.get("scale", _SCALES[0])
    if scale not in _SCALES:
        raise SettingsError(f"the range of {name}: {no_such('scale', scale, _SCALES)}")
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)) or not low < high:
        raise SettingsError(f"the range of {name} must go from a number to a greater one")
    if scale == "log":
        if low <= 0:
            raise SettingsError(f"the range of {name} must begin above 0, as its scale is log")
        return loguniform(low, high)
    is_whole = isinstance(low, int) and isinstance(high, int)
    return randint(low, high + 1) if is_whole else uniform(low, high - low)


SCHEMA = "phistack.tuning.v1"
_LOG = logging.getLogger("phistack")
_PROTOCOL = (
    "Random search, {trials} trials. Each trial was trained and scored on the same notes{how} by {unsplit}, "
    "seed {seed}. The best trial was chosen by these scores, so its score is slightly too good."
)
_OUT_OF_FOLD = " out of fold, {folds} folds"
_VALIDATED = ", trained on {rest} % of them and scored on the other {validation} %,"


class Trial(NamedTuple):
    """The submodel with some settings.

    :ivar number: 0 for the present settings, then in the order of the draws.
    :ivar counts: right, wrong and missed, out of fold; None if the settings cannot work, as `reason` says.
    """

    number: int
    given: Mapping[str, Any]
    counts: Counts | None
    reason: str = ""

    @property
    def measures(self) -> dict[str, float]:
        """Precision, recall and F1; nothing without counts."""
        return {name: float(measure(self.counts)) for name, measure in MEASURES.items()} if self.counts else {}

    @property
    def order(self) -> tuple[float, int]:
        """Sorts the best first; equal ones in the order of the draws."""
        return -self.measures.get("f1", -1.0), self.number

    def to_dict(self) -> dict[str, Any]:
        counted = {} if self.counts is None else self.counts._asdict()
        reason = {"reason": self.reason} if self.reason else {}
        return {"trial": self.number, "settings": {**self.given}, **counted, **self.measures, **reason}


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials of a search for the settings of a submodel; the search began with those of `origin`."""

    origin: Origin
    corpus: CorpusFacts
    submodel: str
    space: SearchSpace
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the highest F1."""
        return min(self.trials, key=lambda trial: trial.order)

    @property
    def settings(self) -> EngineSettings:
        """All settings, with the best that were found."""
        assert self.origin.settings is not None
        return _with(self.origin.settings, self.submodel, self.best.given)

    def tables(self) -> dict[str, Table]:
        """Every trial, the best first."""
        rows: list[TableRow] = []
        for trial in sorted(self.trials, key=lambda trial: trial.order):
            name = "as it is" if trial.number == 0 else str(trial.number)
            drawn = [str(trial.given.get(setting, "")) for setting in self.space.ranges]
            figures = list(map(percent, trial.measures.values())) or ["-", "-", "-"]
            rows.append((name if rows else strong(name), *drawn, *figures))
        columns = ("trial", *self.space.ranges, "precision", "recall", "F1")
        reasons = [f"Trial {trial.number} cannot work: {trial.reason}." for trial in self.trials if trial.reason]
        how = f"on {self.space.validation} %" if self.space.validation else "out of fold on all"
        title = f"settings of {self.submodel}, {self.origin.counted}"
        caption = (
            f"Random search for the {title}, {how} of {self.corpus.documents} notes. The best trial was chosen by "
            "these scores."
        )
        return {"table": Table(columns, [rows], title, "\n".join(reasons), 1 + len(self.space.ranges), caption)}

    def draw(self, folder: Path) -> None:
        """The settings file for `train --config`, and the table of trials as text."""
        (folder / "settings.toml").write_text(self.settings.to_toml(complete=False), encoding="utf-8")
        table = self.tables()["table"]
        (folder / "trials.txt").write_text("\n".join([table.title, "", *table.markdown(), ""]), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        found = {"best trial": self.best.number, "trials": self.trials}
        searched = {"corpus": self.corpus, "submodel": self.submodel, "space": self.space.ranges}
        return {**self.origin.to_dict(), **plain({**searched, **found})}


def tune(
    corpus: Corpus,
    settings: EngineSettings,
    submodel: str,
    space: SearchSpace,
    *,
    trials: int | None = None,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> Tuning:
    """Search for the settings of a submodel.

    :param settings: of training; the submodel's settings in them are the first trial.
    :param trials: how many settings to draw; by default the space's number.
    :raises SettingsError: if the submodel lacks a setting of the space, or no trial can work.
    :raises TrainingError: if nothing can be learned from the corpus.
    """
    rule = criterion_named(criterion)
    drawn: list[dict[str, Any]] = [{}, *space.sampled(trials or space.trials, seed=settings.seed)]
    begun = settings if submodel in settings.submodels else settings.only((*settings.submodels, submodel))
    for given in drawn:
        new_submodel(submodel, _with(begun, submodel, given).submodels[submodel])
    alone = begun.only((submodel,)).for_label_set(corpus.label_set.name)
    with stage("tuning", total=FEATURES + len(drawn) * FITS):
        if space.validation:
            alone = replace(alone, folds=round(100 / space.validation))
        _, tables, folds, _ = prepared(corpus, alone)
        folds = folds[:1] if space.validation else folds
        held_out = sorted(chain.from_iterable(folds))

        def counted(given: Mapping[str, Any]) -> Counts:
            """The submodel's counts with these settings, out of fold; :raises SettingsError: if they cannot work."""
            own = _with(alone, submodel, given)
            fitted = run_fits(own, [*tasks_of(own, tables, folds)], len(tables), jobs=jobs, cache=FoldCache(cache))
            notes = zip(fitted.proposals[submodel], tables, strict=True)
            answered = corpus.with_spans([chosen_spans(candidates, table.view) for candidates, table in notes])
            gold, found = (replace(c, documents=tuple(c.documents[i] for i in held_out)) for c in (corpus, answered))
            return total(counts_of(gold, found, rule))

        found, best = [], 0.0
        for number, given in enumerate(drawn):
            so_far = f", best F1 so far {percent(best)}" if best else ""
            with stage(f"trial {number} of {len(drawn) - 1}{so_far}", total=FITS, weight=FITS):
                try:
                    trial = Trial(number, given, counted(given))
                except SettingsError as error:
                    trial = Trial(number, given, None, str(error))
            best = max(best, trial.measures.get("f1", 0.0))
            _LOG.info("tuning: trial %d of %d: %s", number, len(drawn) - 1, trial.measures or trial.reason)
            found.append(trial)
    if all(trial.counts is None for trial in found):
        raise SettingsError(f"no trial can work; the first one: {found[0].reason}")
    how = _VALIDATED if space.validation else _OUT_OF_FOLD
    how = how.format(folds=len(folds), validation=space.validation, rest=100 - space.validation)
    protocol = _PROTOCOL.format(trials=len(drawn) - 1, how=how, unsplit=settings.unsplit, seed=settings.seed)
    origin = Origin(SCHEMA, rule.name, protocol, begun, corpus.label_set.name)
    return Tuning(origin, CorpusFacts.of(corpus), submodel, space, tuple(found))


def _with(settings: EngineSettings, submodel: str, given: Mapping[str, Any]) -> EngineSettings:
    """The same settings, with some of a submodel's."""
    return replace(settings, submodels={**settings.submodels, submodel: {**settings.submodels[submodel], **given}})
