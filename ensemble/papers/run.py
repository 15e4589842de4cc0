"""What the tables of a paper are filled from: the answers of its systems, and their scores.

    run.measured(("crf",), "")                              {"P": 0.97, "R": 0.93, "F1": 0.95}: on the test notes
    run.measured(("crf",), "type DOCTOR", n_folds=3)        means of the first three folds of the training notes

What is scored, the scope: all PHI strictly (``), `criterion i2b2 token`, `category NAME`, `type DOCTOR`, and
`types of PII`, the mean of the types of a category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from phistack.ensemble.evaluation import Report, criterion_named, evaluate
from phistack.ensemble.evaluation.counts import IntArray
from phistack.ensemble.evaluation.measures import f_score, precision, recall
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.evaluation.tables import TableRow
from phistack.ensemble.experiments.parts import Answers, systems_of
from phistack.ensemble.papers.missing_parts import missing_parts
from phistack.ensemble.stacking.folds import at_most_folds
from phistack.ensemble.stacking.svm import SvmSettings
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Span

Members = tuple[str, ...]
"""The submodels of a row: one alone, or several under a stacker."""

MEASURES = ("P", "R", "F1")


class FilledTable(NamedTuple):
    """What a table consists of.

    :ivar rows: as JSON can hold them.
    :ivar notes: what is said below it.
    :ivar n_texts: how many columns from the left hold words.
    """

    columns: Sequence[str]
    sections: Sequence[Sequence[TableRow]]
    rows: list[dict[str, Any]]
    notes: Sequence[str] = ()
    n_texts: int = 1


@dataclass(frozen=True)
class PaperRun:
    """What the tables of a paper are filled from.

    :param settings: that all was trained with.
    :param answers: what each row marks in the test notes.
    :param out_of_fold: the same for the training notes, where a table has means over folds.
    :param members: the submodels of the system.
    :param svm: what the stacker of the whole system was trained with; `None` without one.
    :param n_rules: submodel -> how many rules it learned, for those that a table counts rules of.
    :param off_tokens: how many PHI of the training notes begin or end within a token.
    :param added: the corpus that was learned from too; `None` for none.
    :param with_added: the same with each of the corpora that are added.
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
        """This run, or that with the n-th of the corpora which are added; `None` where it is not given."""
        runs = (self, *self.with_added)
        return runs[added] if added < len(runs) else None

    @property
    def language(self) -> str:
        """Of the notes, as an ISO 639-1 code."""
        return self.settings.features.language

    def lacking(self, row: Members) -> tuple[str, ...]:
        """What the paper's system has and the submodels of a row have not, in words."""
        parts = missing_parts(self.settings)
        return tuple(dict.fromkeys(part for name in row for part in parts.get(name, ())))

    @property
    def systems(self) -> Systems:
        """All rows on the test notes, by the names of their submodels joined by `+`, for tables of differences."""
        named = {"+".join(row): spans for row, spans in self.answers.items()}
        strict = criterion_named("strict")
        return systems_of(self.test, named, self.training.label_set, strict, seed=self.settings.seed)

    def report(self, row: Members, *, folds: bool = False, joined: Members = ()) -> Report:
        """The scores of a row, on the test notes or, out of fold, on those of training.

        :param joined: types that count as one, under the name of the first.
        """
        key = (row, folds, joined)
        if key not in self._reports:
            gold = self.training if folds else replace(self.test, label_set=self.training.label_set)
            found = gold.with_spans((self.out_of_fold if folds else self.answers)[row])
            # Intervals are not shown, so two draws do.
            self._reports[key] = evaluate(_joined(gold, joined), _joined(found, joined), resamples=2)
        return self._reports[key]

    def measured(
        self, row: Members, scope: str, *, n_folds: int | None = None, joined: Members = ()
    ) -> dict[str, float] | None:
        """Precision, recall and F1 of a row; `None` where there is no such PHI in gold or answer.

        :param n_folds: means over so many folds of the training notes, in which there is such PHI; 0 for all.
        """
        if row not in (self.answers if n_folds is None else self.out_of_fold):
            return None
        report = self.report(row, folds=n_folds is not None, joined=joined)
        parts = [by_document.sum(axis=0) for by_document in self._counted(report, scope)]
        if n_folds is not None:
            folds = at_most_folds(
                self.settings.grouped(self.training).documents, n_folds=self.settings.folds, seed=self.settings.seed
            )
            chosen = folds[: n_folds or None]
            parts = [by_document[fold].sum(axis=0) for by_document in self._counted(report, scope) for fold in chosen]
        values = [_values(*counts) for counts in parts if counts.any()]
        return {m: sum(value[m] for value in values) / len(values) for m in MEASURES} if values else None

    def _counted(self, report: Report, scope: str) -> list[IntArray]:
        """Right, wrong and missed by document, `(n_documents, 3)`: of what a scope names, or of each of several."""
        what, _, name = scope.partition(" ")
        if what == "types":
            category = name.removeprefix("of ")
            found = [score for score in report.types if self.training.label_set.category(score.name) == category]
        elif what:
            scores = {"criterion": report.criteria, "category": report.categories, "type": report.types}[what]
            by_name = {score.name: score for score in scores}
            # What the script counts without IDNUM are all labels of HIPAA where there is no such label.
            found = [by_name[n] for n in (name, name.replace("hipaa-script", "hipaa")) if n in by_name][:1]
        else:
            found = [report.strict]
        return [score.by_document for score in found]


def _joined(corpus: Corpus, tags: Members) -> Corpus:
    """The corpus with some types under the name of the first of them."""
    if not tags:
        return corpus
    notes = [[Span(s.start, s.end, tags[0] if s.label in tags else s.label) for s in d.spans] for d in corpus.documents]
    return corpus.with_spans(notes)


def _values(tp: int, fp: int, fn: int) -> dict[str, float]:
    p, r = float(precision(tp, fp)), float(recall(tp, fn))
    return {"P": p, "R": r, "F1": float(f_score(p, r))}
