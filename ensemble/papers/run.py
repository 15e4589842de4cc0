"""What the tables of a paper are filled from: the answers of its systems, and their scores.

    run.measured(("crf",), "")                              {"P": 0.97, "R": 0.93, "F1": 0.95}: on the test notes
    run.measured(("crf",), "type DOCTOR", 3)                means of the first three folds of the training notes

What is scored, the scope: all PHI strictly (``), `criterion i2b2 token`, `category NAME`, `type DOCTOR`, `any A+B`,
types that count as one, and `types of PII`, the mean of the types of a category.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from phistack.ensemble.evaluation import Report, Score, criterion_named, evaluate
from phistack.ensemble.evaluation.measures import f_score, precision, recall
from phistack.ensemble.evaluation.resampling import Resampling
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.evaluation.tables import TableRow, strong
from phistack.ensemble.experiments.parts import Answers, systems_of
from phistack.ensemble.papers.entities import EntitySubmodel
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.svm import SvmSettings
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.representations import BROWN_COLUMNS, VECTOR_CLUSTER
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus
from phistack.submodels.base import KIND, Submodel, new_submodel
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.crf.submodel import CrfSubmodel
from phistack.submodels.tbed.submodel import TbedSubmodel
from phistack.tbed.templates import TEMPLATES, named_templates

Members = tuple[str, ...]
"""The submodels of a row: one alone, or several under a stacker."""

MEASURES = ("P", "R", "F1")

_NAMED = {
    "pos": "parts of speech",
    "ner": "general named entities",
    VECTOR_CLUSTER: "clusters of word vectors",
    **dict.fromkeys(BROWN_COLUMNS, "Brown clusters"),
}
"""Column -> the part of the system that it belongs to."""


def is_missing(given: Mapping[str, Any]) -> bool:
    """Whether a submodel is the published program DEDUCE and this is not installed."""
    return given.get(KIND) == "deduce_program" and find_spec("deduce") is None


def missing_parts(settings: EngineSettings) -> dict[str, str]:
    """Submodel -> what it lacks of the paper's settings, in words; complete submodels are left out."""
    found = {name: _without(new_submodel(name, given), settings.features) for name, given in settings.submodels.items()}
    return {name: part for name, part in found.items() if part}


def _without(model: Submodel, features: FeatureSettings) -> str:
    """What a submodel lacks, and how many of its templates are dropped because of it."""
    read = [set(template) for template in _templates(model)]
    dropped = [template for template in read if not template.issubset(features.columns)]
    absent = sorted(set[str]().union(*dropped).difference(features.columns))
    parts = sorted({_NAMED.get(column, f"the column {column}") for column in absent})
    if isinstance(model, BlstmSubmodel) and model.pretrained and not features.vectors:
        parts.append("word vectors")
    is_counted = dropped and isinstance(model, CrfSubmodel | TbedSubmodel)
    count = f" ({len(dropped)} of {len(read)} templates)" if is_counted else ""
    *most, last = parts or [""]
    return f"without {', '.join(most)}{' and ' * bool(most)}{last}{count}" if parts else ""


def _templates(model: Submodel) -> Iterable[Iterable[str]]:
    """The columns that a submodel reads together."""
    if isinstance(model, CrfSubmodel):
        return ((column for column, _ in cross) for cross in model.declared)
    if isinstance(model, TbedSubmodel) and model.templates in TEMPLATES.names:
        return (template.columns for template in named_templates(model.templates))
    if isinstance(model, BlstmSubmodel):
        return ([column] for column in model.columns)
    return [["ner"]] if isinstance(model, EntitySubmodel) else []


def section(name: str, rows: Iterable[TableRow], width: int) -> list[TableRow]:
    """Rows of a table under a bold name; :param width: how many cells a row has."""
    return [(strong(name), *[""] * (width - 1)), *rows]


@dataclass(frozen=True)
class PaperRun:
    """What the tables of a paper are filled from.

    :param settings: that everything was trained with.
    :param answers: what each row marks in the test notes.
    :param out_of_fold: the same for the training notes, where a table has means over folds.
    :param members: the submodels of the system.
    :param svm: the settings of the whole system's stacker; `None` without one.
    :param n_rules: submodel -> how many rules it learned, where a table counts them.
    :param off_tokens: how many PHI of the training notes begin or end within a token.
    :param added: the added corpus; `None` for none.
    :param with_added: the runs with each added corpus.
    """

    training: Corpus
    test: Corpus
    settings: EngineSettings
    answers: Mapping[Members, Answers] = field(repr=False)
    out_of_fold: Mapping[Members, Answers] = field(default_factory=dict, repr=False)
    members: Members = ()
    svm: SvmSettings | None = None
    n_rules: Mapping[str, int] = field(default_factory=dict)
    off_tokens: int = 0
    added: Corpus | None = None
    with_added: tuple[PaperRun, ...] = ()
    _reports: dict[tuple[Members, bool, Members], Report] = field(default_factory=dict, repr=False, compare=False)

    def of(self, added: int) -> PaperRun | None:
        """This run for 0, or the run with the n-th added corpus; `None` if there is none."""
        runs = (self, *self.with_added)
        return runs[added] if added < len(runs) else None

    @property
    def language(self) -> str:
        """The language of the notes, as an ISO 639-1 code."""
        return self.settings.features.language

    def lacking(self, row: Members) -> tuple[str, ...]:
        """What the paper's system has and the submodels of a row lack, in words."""
        parts = missing_parts(self.settings)
        return tuple(dict.fromkeys(parts[name] for name in row if name in parts))

    @property
    def systems(self) -> Systems:
        """All rows on the test notes, by the names of their submodels joined by `+`, for tables of differences."""
        named = {"+".join(row): spans for row, spans in self.answers.items()}
        strict = criterion_named("strict")
        return systems_of(
            self.test, named, self.training.label_set, strict, resampling=Resampling(seed=self.settings.seed)
        )

    def measured(self, row: Members, scope: str, n_folds: int | None = None) -> dict[str, float] | None:
        """Precision, recall and F1 of a row; `None` if neither gold nor the answer has such PHI.

        :param n_folds: take means over the first so many folds of the training notes, those with such PHI; 0 for all.
        """
        by_fold, (what, _, name) = n_folds is not None, scope.partition(" ")
        answers = self.out_of_fold if by_fold else self.answers
        if row not in answers:
            return None
        joined = tuple(name.split("+")) if what == "any" else ()
        key = (row, by_fold, joined)
        if key not in self._reports:
            gold = self.training if by_fold else replace(self.test, label_set=self.training.label_set)
            both = (_joined(corpus, joined) for corpus in (gold, gold.with_spans(answers[row])))
            # Intervals are not shown, so two draws do.
            self._reports[key] = evaluate(*both, resampling=Resampling(draws=2))
        folds: Sequence[Sequence[int]] = [range(len(self.test))]
        if by_fold:
            notes = self.settings.grouped(self.training).documents
            folds = at_most_folds(notes, n_folds=self.settings.folds, seed=self.settings.seed)[: n_folds or None]
        scores = self._scores(self._reports[key], what, joined[0] if joined else name)
        counts = [score.by_document[list(fold)].sum(axis=0) for score in scores for fold in folds]
        values = [_values(*of_part) for of_part in counts if of_part.any()]
        return {m: sum(value[m] for value in values) / len(values) for m in MEASURES} if values else None

    def _scores(self, report: Report, what: str, name: str) -> list[Score]:
        """The score of what a scope names, or several."""
        if what == "types":
            category = name.removeprefix("of ")
            return [score for score in report.types if self.training.label_set.category(score.name) == category]
        found = {
            "": [report.strict], "criterion": report.criteria, "category": report.categories,
            "type": report.types, "any": report.types,
        }[what]  # fmt: skip
        # Where no label IDNUM exists, what the script counts without it is all labels of HIPAA.
        named = [name, name.replace("hipaa-script", "hipaa")] if what else [report.strict.name]
        return [score for wanted in named for score in found if score.name == wanted][:1]


def _joined(corpus: Corpus, tags: Members) -> Corpus:
    """The corpus with some types under the name of the first of them."""
    notes = [[replace(s, label=tags[0]) if s.label in tags else s for s in note.spans] for note in corpus.documents]
    return corpus.with_spans(notes)


def _values(tp: int, fp: int, fn: int) -> dict[str, float]:
    p, r = float(precision(tp, fp)), float(recall(tp, fn))
    return {"P": p, "R": r, "F1": float(f_score(p, r))}
