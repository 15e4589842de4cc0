"""The wrong decisions of an engine's stack, counted and listed, with the other ways to choose.

    analysis = analyse_errors(gold, engine)
    analysis.summary, analysis.tables()            how many are missed and false; choosers, and errors by kind and label
    analysis.to_dict(), .latex(), .page()          the same as JSON, for LaTeX and as a page

`ensemble.stacking.wrong_decisions` defines wrong decisions and their kinds. The criterion is strict: start, end and
label must be right. No text of a note is kept unless the user asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.calibration import Calibration, calibration_picture
from phistack.ensemble.evaluation.pairing import vocabulary
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments import error_tables as counted
from phistack.ensemble.experiments.choosers import Choosers, choosers_of
from phistack.ensemble.experiments.parts import plain
from phistack.ensemble.experiments.results import CorpusFacts, Origin
from phistack.ensemble.stacking.wrong_decisions import wrong_decisions
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.views.errors_page import ShownError, errors_page
from phistack.features.documents import Corpus, Span
from phistack.features.errors import EvaluationError
from phistack.features.shown import shown_label

SCHEMA = "phistack.errors.v1"
_PROTOCOL = (
    "Strict: start, end and label must be right. All submodels read all lines, without a cascade, and all choosers "
    "have the same candidates. {intervals}; p of {p_values}, of F1 against the stack, after Holm's correction."
)


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """The result of `analyse_errors`.

    :param calibrations: of each submodel and the stack.
    :param gold: label, as it may be shown -> number of gold spans.
    :param errors: all wrong decisions, in the order of the notes.
    """

    origin: Origin
    notes: CorpusFacts
    choosers: Choosers
    calibrations: Mapping[str, Calibration]
    gold: Mapping[str, int]
    errors: tuple[ShownError, ...]

    @property
    def summary(self) -> str:
        """How many are missed and false, and how far the stack is from the perfect chooser."""
        sides = Counter(error.wrong.kind.side for error in self.errors)
        return (
            f"Of {self.notes.spans} PHI, {sides['missed']} are missed; {sides['false']} spans are false. "
            f"{self.choosers.sentence}"
        )

    def tables(self) -> list[Table]:
        """Choosers, calibration, and the wrong decisions by kind, by label and by submodels."""
        title = f"choosers on {self.notes.documents} notes, {self.origin.counted}"
        calibrated = counted.calibration_table(self.calibrations, "Calibration of the submodels and of the stack")
        wrong = counted.by_kind(self.errors), counted.by_label(self.errors, self.gold), counted.by_chooser(self.errors)
        return [self.choosers.table(title), calibrated, *wrong]

    def latex(self) -> str:
        """The tables for LaTeX with booktabs, without text of notes."""
        return "\n".join(table.latex(self.origin.comment) for table in self.tables())

    def page(self) -> str:
        """Everything as one HTML file."""
        notes = {"notes": str(self.notes.documents), "PHI": str(self.notes.spans), "label set": self.notes.label_set}
        members = ", ".join(self.choosers.members)
        facts = {**notes, "submodels": members, "date": self.origin.date, "in short": self.summary}
        picture = calibration_picture(plain(self.calibrations))
        return errors_page(self.tables(), self.errors, facts=facts, picture=picture)

    def to_dict(self) -> dict[str, Any]:
        """Every figure and every wrong decision, for JSON."""
        of_labels = counted.counts_by(self.errors, counted.label_of)
        return {
            **self.origin.to_dict(),
            "notes": self.notes.to_dict(),
            "submodels": list(self.choosers.members),
            **self.choosers.to_dict(),
            "calibration": plain(self.calibrations),
            "kinds": counted.counts_of_kinds(self.errors),
            "by label": {label: {"gold": self.gold.get(label, 0), **counts} for label, counts in of_labels.items()},
            "by who chose": counted.counts_by(self.errors, counted.sources_of),
            "each": plain(self.errors),
        }


def analyse_errors(
    gold: Corpus, engine: Engine, *, with_text: bool = False, resampling: Resampling = BY_PATIENT
) -> ErrorAnalysis:
    """Decide on annotated notes and sort the wrong decisions.

    :param gold: annotated notes that the engine was not trained on.
    :param engine: its cascade, if any, is switched off: all submodels read all lines.
    :param with_text: whether to show ids, labels and the text of wrong decisions as they are.
    :raises EvaluationError: if the notes have no annotated PHI.
    :raises LabelError: for a label of neither label set.
    """
    if not any(document.spans for document in gold.documents):
        raise EvaluationError("the notes have no annotated PHI to compare with; check their format and labels")
    known = vocabulary(gold.label_set, engine.label_set)

    def spelled(span: Span) -> Span:
        """The span with its label as gold spells it, as labels compare without regard to case."""
        label = known.get(span.label.upper())
        return span if label is None or label.name == span.label else replace(span, label=label.name)

    gold = gold.with_spans([map(spelled, {*note.spans}) for note in gold.documents])
    decided = []
    with progress("deciding", total=len(gold)) as advance:
        for decisions in engine.with_options(cascade=False).decide(gold.documents):
            decided.append([replace(decision, span=spelled(decision.span)) for decision in decisions])
            advance("")
    answers = [[d.span for d in found if d.accepted] for found in decided]
    rule = criterion_named("strict")
    choosers = choosers_of(gold, decided, answers, engine.names, engine.label_set, rule, resampling=resampling)
    units = choosers.units
    protocol = _PROTOCOL.format(intervals=units.intervals, p_values=units.p_values)
    in_gold = Counter(span.label for note in gold.documents for span in note.spans)
    times = in_gold + Counter(span.label for found in answers for span in found)
    return ErrorAnalysis(
        Origin(SCHEMA, rule.name, protocol, label_set=gold.label_set.name, units=units),
        CorpusFacts.of(gold),
        choosers,
        counted.calibrations_of(gold.documents, decided, engine.names),
        {label if with_text else shown_label(label, times[label]): count for label, count in in_gold.items()},
        tuple(
            ShownError.of(wrong, note, times, with_text=with_text)
            for note, found in zip(gold.documents, decided, strict=True)
            for wrong in wrong_decisions(note, found)
        ),
    )
