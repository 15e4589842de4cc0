"""A system scored against gold, under every criterion at once.

    report = evaluate(gold, system)
    report.strict.f1                         Measure(value=0.9511, low=0.93, high=0.96)
    report.to_dict()["schema"]               "phistack.evaluation.v1"

Counts are kept by document; the sums, the averages and the intervals come from them. The schema name changes when a key
is renamed or dropped; new keys may come without a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from phistack.ensemble.evaluation.criteria import applicable
from phistack.ensemble.evaluation.leaks import Coverage, Leak, coverage, leak
from phistack.ensemble.evaluation.measures import IntArray
from phistack.ensemble.evaluation.pairing import DocumentPair, pair, vocabulary
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Bootstrap, Measure, Resampling, Units
from phistack.ensemble.evaluation.systems import Score, mean_and_deviation, scores
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.features.documents import Corpus
from phistack.features.errors import EvaluationError
from phistack.features.shown import explained, shown_id, shown_label

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "phistack.evaluation.v1"
STRICT = "i2b2 strict"
"""The criterion of a plain F1: start, end and type are all right."""
_COVERAGE = (
    "character_recall", "covered_characters", "phi_characters", "document_leak", "leaking_documents",
    "document_exposure", "uncovered_documents",
)  # fmt: skip

_SOURCES = {
    "reference": "sentences of the reference",
    "phistack": "sentences as phistack counts them; --sentences takes the task's own counts",
}
_MARK = " *"
_LEGEND = (
    "* equals the figure of the task's official script; it calls merged-script Subtrack 2 [merged], hipaa-script HIPAA "
    "and binary-script Binary"
)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `evaluate` found.

    :param documents: ids of the documents scored, in the order of gold.
    :param missing: ids of gold that the system lacks, not scored.
    :param extra: ids of the system that gold lacks, not scored.
    :param criteria: one row for each criterion that applies to the label set.
    :param categories: strict rows by category, of gold and system; `types` by type.
    """

    documents: tuple[str, ...] = field(repr=False)
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    label_set: str
    criteria: tuple[Score, ...]
    categories: tuple[Score, ...]
    types: tuple[Score, ...]
    leak: Leak
    coverage: Coverage
    units: Units

    @property
    def strict(self) -> Score:
        """The row of `STRICT`."""
        return self.score(STRICT)

    def score(self, criterion: str) -> Score:
        """The row of a criterion; :raises EvaluationError: if the report has none of that name."""
        rows = {score.name: score for score in self.criteria}
        if criterion not in rows:
            raise EvaluationError(f"the report has no criterion {criterion}; it has {', '.join(rows)}")
        return rows[criterion]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; the keys are stable within one `schema`."""
        how = self.units.resampling
        bootstrap = {"unit": self.units.name, "units": len(self.units), "resamples": how.draws, "seed": how.seed}
        return {
            "schema": SCHEMA,
            "label_set": self.label_set,
            "documents": {"scored": len(self.documents), "missing": list(self.missing), "extra": list(self.extra)},
            "bootstrap": {**bootstrap, "level": 0.95},
            "criteria": {s.name: {"official": s.official or None, **_row(s)} for s in self.criteria},
            "categories": {score.name: _row(score) for score in self.categories},
            "types": {score.name: _row(score) for score in self.types},
            "leak": {"rate": self.leak.rate, **asdict(self.leak)},
            "coverage": {name: getattr(self.coverage, name) for name in _COVERAGE},
        }


def _row(score: Score) -> dict[str, Any]:
    """A row as JSON can hold it, without the counts by document; the interval of recall is Wilson's."""
    averages = score.macro._asdict()
    return {
        "support": score.counts.support,
        **score.counts._asdict(),
        **{name: measure.value for name, measure in score.measures.items()},
        "f2": score.f2,
        "f1_interval": list(score.f1[1:]),
        "recall_interval": list(score.recall_by_wilson[1:]),
        "macro": {name: found if name == "f1_of_means" else found._asdict() for name, found in averages.items()},
    }


def evaluate(
    gold: Corpus,
    system: Corpus,
    *,
    sentence_counts: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    resampling: Resampling = BY_PATIENT,
) -> Report:
    """Score a system's PHI against gold's.

    :param gold: the reference; its label set decides the categories and which criteria apply.
    :param system: the answers, with the texts unchanged.
    :param sentence_counts: document id -> number of sentences, for the leak; without it our own splitter counts.
    :param allow_missing: score the documents that both sides have, instead of refusing; the report names the others.
    :raises EvaluationError: if documents are missing or extra, texts differ, nothing is common, or sentence counts lack
        a document.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    labels = vocabulary(gold.label_set, system.label_set)
    pairing = pair(gold, system, labels, allow_missing=allow_missing)
    pairs, criteria = pairing.pairs, applicable(gold.label_set)
    categories = _in_use((label.category for label in labels.values()), pairs, "category")
    types = _in_use((label.name for label in labels.values()), pairs, "label")
    by_criterion = np.stack([criterion.by_document(pairs) for criterion in criteria], axis=1)
    counts = np.concatenate((by_criterion, _by(pairs, "category", categories), _by(pairs, "label", types)), axis=1)
    units = Units.of([pair.patient for pair in pairs], resampling)
    names = [*(criterion.name for criterion in criteria), *categories, *types]
    rows = iter(scores(names, counts, Bootstrap(counts, units)))
    scored = tuple(replace(next(rows), official=criterion.official) for criterion in criteria)
    strict = next(score for score in scored if score.name == STRICT)
    return Report(
        documents=tuple(pair.id for pair in pairs),
        missing=pairing.missing,
        extra=pairing.extra,
        label_set=gold.label_set.name,
        criteria=scored,
        categories=tuple(islice(rows, len(categories))),
        types=tuple(rows),
        leak=leak(pairs, strict.counts.fn, sentence_counts),
        coverage=coverage(pairs, int((strict.by_document[:, 2] > 0).sum())),
        units=units,
    )


def evaluate_systems(
    gold: Corpus, systems: Mapping[str, Corpus], *, resampling: Resampling = BY_PATIENT
) -> dict[str, Report]:
    """The report of each system, by name; their intervals rest on the same draws. Errors are those of `evaluate`."""
    return {name: evaluate(gold, system, resampling=resampling) for name, system in systems.items()}


def _in_use(names: Iterable[str], pairs: Sequence[DocumentPair], attribute: str) -> list[str]:
    """Those names that gold or system uses at least once, in the order of the label set."""
    used = {getattr(phi, attribute) for p in pairs for note in (p.gold, p.system) for phi in note.phi}
    return [name for name in dict.fromkeys(names) if name in used]


def _by(pairs: Sequence[DocumentPair], attribute: str, names: Sequence[str]) -> IntArray:
    """Strict counts by document and category or type; shape `(n_documents, n_names, 3)`."""
    counts, row = np.zeros((len(pairs), len(names), 3), dtype=np.int64), {name: i for i, name in enumerate(names)}
    for n, note in enumerate(pairs):
        gold, system = frozenset(note.gold.phi), frozenset(note.system.phi)
        for column, items in enumerate((gold & system, system - gold, gold - system)):
            for phi in items:
                counts[n, row[getattr(phi, attribute)], column] += 1
    return counts


def print_report(report: Report, console: Console) -> None:
    """Print the criteria, micro and macro, then categories and types, then what leaks; 80 columns are enough."""
    macros = [(score.name, score.macro) for score in report.criteria]
    for table in (
        Table(
            ("criterion", "P", "R", "F1", "F1 95 %", "F2"),
            [[(s.name + _MARK * bool(s.official), *_measures(s), percent(s.f2)) for s in report.criteria]],
            f"{len(report.documents)} documents, label set {report.label_set}, percent, summed over documents",
            _LEGEND,
        ),
        Table(
            ("criterion", "P (sd)", "R (sd)", "F1 of means"),
            [[(n, *map(mean_and_deviation, (m.precision, m.recall)), percent(m.f1_of_means)) for n, m in macros]],
            "Averaged over documents, with standard deviations",
        ),
        _breakdown("Strict by category", report.categories),
        _breakdown("Strict by type", report.types),
    ):
        console.print(table)
    for line in _lines(report):
        console.print(line, markup=False, highlight=False)


def _breakdown(title: str, scores: Sequence[Score]) -> Table:
    rows = [(_shown(s), str(s.counts.support), *_measures(s), _range(s.recall_by_wilson)) for s in scores]
    return Table(("name", "support", "P", "R", "F1", "F1 95 %", "R 95 %"), [rows], title)


def _lines(report: Report) -> Iterator[str]:
    """Intervals, leaks, documents left out and hashed names, one sentence each."""
    seen = report.coverage
    yield f"F1 95 %: {report.units.intervals}; R 95 %: Wilson's interval, each PHI on its own"
    yield (
        f"leak {report.leak.rate:.4f}: {report.leak.false_negatives} missed PHI in {report.leak.sentences} "
        f"{_SOURCES[report.leak.sentence_source]}"
    )
    yield (
        f"{seen.leaking_documents} of {seen.documents} documents with at least one missed PHI "
        f"({percent(seen.document_leak)} %), {seen.uncovered_documents} with at least one character of PHI uncovered"
    )
    yield f"character recall {percent(seen.character_recall)} %: {seen.covered_characters} of {seen.phi_characters}"
    for ids, where in ((report.missing, "missing from the system's output"), (report.extra, "not in gold")):
        if ids:
            yield f"NOT SCORED: {len(ids)} documents {where}, the first is {shown_id(ids[0])}"
    if hashes := explained(" ".join(map(_shown, (*report.categories, *report.types)))).strip():
        yield hashes


def _shown(score: Score) -> str:
    """The name of a category or type as it may be shown; an annotator may have typed it."""
    return shown_label(score.name, score.counts.support)


def _measures(score: Score) -> list[str]:
    return [*(percent(measure.value) for measure in score.measures.values()), _range(score.f1)]


def _range(measure: Measure) -> str:
    return f"{100 * measure.low:.1f}-{100 * measure.high:.1f}"
