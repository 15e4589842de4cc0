"""The wrong decisions of an engine's stack, counted and listed, beside the other ways to choose.

    analysis = analyse_errors(gold, engine)
    analysis.tables()                  choosers; wrong decisions by kind, by label, by who would have made them
    analysis.errors[0].wrong           one of them: offsets, kind, who said so
    analysis.to_dict()                 all of it for JSON
    analysis.latex(), analysis.page()

What a wrong decision is and which kinds there are, `ensemble.stacking.wrong_decisions` says. All is strict: start, end
and label must be right. Nothing here holds text of a note unless that was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.evaluation.calibration_picture import calibration_picture
from phistack.ensemble.evaluation.pairing import Label, vocabulary
from phistack.ensemble.evaluation.tables import Table, escaped
from phistack.ensemble.experiments.calibrations import calibration_table, calibrations_of
from phistack.ensemble.experiments.chooser_scores import (
    ChooserRow,
    chooser_scores,
    chooser_table,
    share_of_the_way,
    the_way,
)
from phistack.ensemble.experiments.error_tables import (
    by_chooser,
    by_kind,
    by_label,
    choosers_of,
    counts_by,
    counts_of_kinds,
    label_of,
    one_by_one,
)
from phistack.ensemble.experiments.results import CorpusFacts, Origin
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.wrong_decisions import wrong_decisions
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.views.errors_page import ShownError, errors_page
from phistack.features.documents import Corpus, Span
from phistack.features.errors import EvaluationError
from phistack.features.shown import shown_label

SCHEMA = "phistack.errors.v1"
_PROTOCOL = (
    "Strict: start, end and label must be right. All submodels read all lines, without a cascade, and all choosers "
    "have the same candidates. Intervals are bootstraps by document; p-values are of paired approximate randomisation "
    "of F1 by document against the stack, {shuffles} shuffles, after Holm's correction over all of them."
)


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """Everything that `analyse_errors` found.

    :param notes: what was read.
    :param members: the names of the submodels.
    :param choosers: the stack, and the other ways to choose from the same candidates.
    :param calibrations: of each submodel and the stack: whether it is as often right as it says.
    :param gold: label, as it may be shown -> how many gold spans have it.
    :param errors: all wrong decisions, in the order of the notes.
    """

    origin: Origin
    notes: CorpusFacts
    members: tuple[str, ...]
    choosers: tuple[ChooserRow, ...]
    calibrations: Mapping[str, Calibration]
    gold: Mapping[str, int]
    errors: tuple[ShownError, ...]

    @property
    def summary(self) -> str:
        """How far the stack is from the best that could be made of its candidates, in a sentence."""
        return the_way(self.choosers)

    def tables(self) -> list[Table]:
        """Choosers, calibration, and the wrong decisions by kind, by label, and by who would have made them."""
        choosers = chooser_table(self.choosers, self.origin.title(f"{self.notes.documents} notes, 95 % intervals"))
        calibrated = calibration_table(self.calibrations, "Calibration of the submodels' scores and of the stack")
        wrong = by_kind(self.errors), by_label(self.errors, self.gold), by_chooser(self.errors)
        return [choosers, calibrated, *wrong]

    def each(self) -> Table:
        """A row a wrong decision."""
        return one_by_one(self.errors)

    def latex(self) -> str:
        """The tables for LaTeX with booktabs, without text of notes."""
        comment = self.origin.comment
        return "\n".join(t.latex(comment, escaped(f"{t.title}. {t.note}".rstrip())) for t in self.tables())

    def page(self) -> str:
        """All of it as one HTML file."""
        facts = {
            "notes": str(self.notes.documents),
            "PHI": str(self.notes.spans),
            "label set": self.notes.label_set,
            "submodels": ", ".join(self.members),
            "date": self.origin.date,
            "in short": self.summary,
        }
        picture = calibration_picture(self._calibrations())
        return errors_page(self.tables(), self.errors, facts=facts, picture=picture)

    def _calibrations(self) -> dict[str, Any]:
        return {name: found.to_dict() for name, found in self.calibrations.items()}

    def to_dict(self) -> dict[str, Any]:
        """Every figure and every wrong decision, as JSON can hold them."""
        of_labels = counts_by(self.errors, label_of)
        return {
            **self.origin.to_dict(),
            "notes": self.notes.to_dict(),
            "submodels": list(self.members),
            "choosers": [row.to_dict() for row in self.choosers],
            "share of the way from best member to perfect chooser": share_of_the_way(self.choosers),
            "calibration": self._calibrations(),
            "kinds": counts_of_kinds(self.errors),
            "by label": {label: {"gold": self.gold.get(label, 0), **counts} for label, counts in of_labels.items()},
            "by who chose": counts_by(self.errors, choosers_of),
            "each": [error.to_dict() for error in self.errors],
        }


def analyse_errors(
    gold: Corpus, engine: Engine, *, with_text: bool = False, shuffles: int = 9999, seed: int = 0
) -> ErrorAnalysis:
    """Decide on annotated notes, and see what is wrong in which way.

    :param gold: annotated notes that the engine was not trained on.
    :param engine: if it has a cascade, all submodels read all lines nevertheless.
    :param with_text: whether the text of wrong decisions, ids and labels are in the analysis as they are.
    :param shuffles: of the paired randomisation.
    :param seed: of it and of the bootstrap.
    :raises EvaluationError: if the notes have no annotated PHI.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    if not any(document.spans for document in gold.documents):
        raise EvaluationError("the notes have no annotated PHI to compare with; check their format and labels")
    known = vocabulary(gold.label_set, engine.label_set)
    gold = gold.with_spans([[_spelled(span, known) for span in {*note.spans}] for note in gold.documents])
    decided = [[replace(d, span=_spelled(d.span, known)) for d in found] for found in _decided(gold, engine)]
    answers = [[d.span for d in found if d.accepted] for found in decided]
    rule = criterion_named("strict")
    choosers = chooser_scores(
        gold, decided, answers, engine.names, engine.label_set, rule, shuffles=shuffles, seed=seed
    )
    notes = list(zip(gold.documents, decided, strict=True))
    in_gold = Counter(span.label for note in gold.documents for span in note.spans)
    times = in_gold + Counter(span.label for found in answers for span in found)
    return ErrorAnalysis(
        Origin(SCHEMA, rule.name, _PROTOCOL.format(shuffles=shuffles)),
        CorpusFacts.of(gold),
        engine.names,
        choosers,
        calibrations_of(gold.documents, decided, engine.names),
        {label if with_text else shown_label(label, times[label]): count for label, count in in_gold.items()},
        tuple(
            ShownError.of(wrong, note, times, with_text=with_text)
            for note, found in notes
            for wrong in wrong_decisions(note, found)
        ),
    )


def _decided(gold: Corpus, engine: Engine) -> list[list[Decision]]:
    """What the engine decides on each note, by candidates of submodels that read all of it."""
    decided = []
    with progress("deciding", total=len(gold)) as advance:
        for decisions in engine.with_options(cascade=False).decide(gold.documents):
            decided.append(decisions)
            advance("")
    return decided


def _spelled(span: Span, known: Mapping[str, Label]) -> Span:
    """The span with its label as gold spells it, as labels compare without regard to case."""
    label = known.get(span.label.upper())
    return span if label is None or label.name == span.label else replace(span, label=label.name)
