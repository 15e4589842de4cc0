"""The wrong decisions of an engine's stack, counted and listed, with the other ways to choose.

    analysis = analyse_errors(gold, engine)
    analysis.summary, analysis.tables()            how many are missed and false; choosers, and errors by kind and label
    analysis.to_dict(), .latex(), .page()          the same as JSON, for LaTeX and as a page

`ensemble.stacking.wrong_decisions` defines wrong decisions and their kinds. The criterion is strict: start, end and
label must be right. No text of a note is kept unless the user asks for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.calibration import Calibration, calibration_picture
from phistack.ensemble.evaluation.pairing import vocabulary
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, percent, strong
from phistack.ensemble.experiments.choosers import Choosers, choosers_of
from phistack.ensemble.experiments.parts import STACK, CorpusFacts, Origin, plain, system_cell
from phistack.ensemble.stacking.candidates import Decided
from phistack.ensemble.stacking.wrong_decisions import FALSE, KINDS_OF_WRONG, MISSED, wrong_decisions
from phistack.ensemble.tools.progress import progress
from phistack.ensemble.views.errors_page import ShownError, errors_page
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError
from phistack.features.shown import shown_label

_HEADS = tuple(Cell(f"{kind.side}:\n{kind.short}", f"{kind.side}: {kind.short}") for kind in KINDS_OF_WRONG)
_COLUMNS = ("note", "place", "label", "wrong", "chosen by", "offered by", "instead")


def label_of(error: ShownError) -> str:
    """The label of the missed gold span or of the false span."""
    return error.wrong.span.label


def sources_of(error: ShownError) -> str:
    """The submodels that mark the false span, or the candidate closest to the missed one: `crf+tbed`."""
    return "+".join(error.wrong.chosen_by) or "no submodel"


def counts_of_kinds(errors: Iterable[ShownError]) -> dict[str, dict[str, int]]:
    """Side -> kind -> count, zero included."""
    counts = Counter(error.wrong.kind for error in errors)
    return {kinds[0].side: {kind.name: counts[kind] for kind in kinds} for kinds in (MISSED, FALSE)}


def counts_by(errors: Iterable[ShownError], key: Callable[[ShownError], str]) -> dict[str, dict[str, dict[str, int]]]:
    """The same for each value of a key, the most frequent first."""
    groups: defaultdict[str, list[ShownError]] = defaultdict(list)
    for error in errors:
        groups[key(error)].append(error)
    return {key: counts_of_kinds(groups[key]) for key in sorted(groups, key=lambda key: (-len(groups[key]), key))}


def by_kind(errors: Sequence[ShownError]) -> Table:
    """One row per kind, with its meaning and its share of all missed or all false spans."""
    counts = Counter(error.wrong.kind for error in errors)
    sections = []
    for kinds in (MISSED, FALSE):
        total = sum(counts[kind] for kind in kinds)
        rows: list[TableRow] = [
            (f"{kind.side}: {kind.name}", kind.means, str(counts[kind]), percent(counts[kind] / max(total, 1)))
            for kind in kinds
        ]
        sections.append([*rows, (strong(f"{kinds[0].side}, all"), "", str(total), "")])
    return Table(("kind", "what it means", "spans", "percent"), sections, "Wrong decisions by kind", n_texts=2)


def by_label(errors: Sequence[ShownError], gold: Mapping[str, int]) -> Table:
    """One row per label, one column per kind; :param gold: label -> how many gold spans have it."""
    counts = counts_by(errors, label_of)
    rows = [(label, str(gold.get(label, 0)), *_cells(of_label)) for label, of_label in counts.items()]
    title = "Wrong decisions by label: of the missed gold span or of the false span"
    return Table(("label", "gold", *_HEADS), [rows], title)


def by_chooser(errors: Sequence[ShownError]) -> Table:
    """One row per set of submodels that were wrong together, one column per kind."""
    rows = [(chosen, *_cells(counts)) for chosen, counts in counts_by(errors, sources_of).items()]
    title = "Wrong decisions by the submodels that mark the false span, or the candidate closest to a missed one"
    note = "no submodel: none marks it; it was only offered to the stacker, or not proposed at all"
    return Table(("chosen by", *_HEADS), [rows], title, note)


def _cells(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [str(count or "") for side in counts.values() for count in side.values()]


def one_by_one(errors: Sequence[ShownError]) -> Table:
    """One row per wrong decision, by offsets; with its text if that is known."""
    has_text = any(error.text for error in errors)
    columns = (*_COLUMNS, *(["text"] if has_text else []))
    rows = [
        [
            wrong.document, f"{wrong.span.start}-{wrong.span.end}", wrong.span.label,
            f"{wrong.kind.side}: {wrong.kind.name}", " ".join(wrong.chosen_by), " ".join(wrong.offered_by),
            ", ".join(f"{span.label} {span.start}-{span.end}" for span in wrong.instead),
            *([repr(text)] if has_text else []), "" if wrong.probability is None else f"{wrong.probability:.3f}",
        ]
        for wrong, text in ((error.wrong, error.text) for error in errors)
    ]  # fmt: skip
    return Table((*columns, "probability"), [rows], "Each wrong decision", n_texts=len(columns))


def calibrations_of(documents: Sequence[Document], decided: Decided, members: Iterable[str]) -> dict[str, Calibration]:
    """Calibration of members and stack against the gold spans of some notes.

    A member is judged on its own proposals, by its scores; the stack on all candidates, by its probabilities.
    """
    judged = [(d, d.span in note.spans) for note, found in zip(documents, decided, strict=True) for d in found]
    said: dict[str, list[tuple[float, bool]]] = {name: [] for name in members}
    for decision, is_right in judged:
        for vote in decision.votes:
            if vote.source in said:
                said[vote.source].append((vote.score, is_right))
    said[STACK] = [(decision.probability, is_right) for decision, is_right in judged]
    return {name: Calibration.of((p for p, _ in found), (right for _, right in found)) for name, found in said.items()}


def calibration_table(calibrations: Mapping[str, Calibration], title: str) -> Table:
    """A row for each member and the stack: the expected error, and the bin with the largest error."""
    columns = ("system", "candidates", "expected error", "furthest: says", "is right", "of candidates")
    rows = [
        (
            system_cell(name), str(found.n), percent(found.expected_error),
            *((percent(bin.said), percent(bin.right.value), str(bin.n)) if bin else ("", "", "")),
        )
        for name, found, bin in ((name, found, found.furthest) for name, found in calibrations.items())
    ]  # fmt: skip
    note = (
        "Shares in percent. Expected error: mean distance between score and share that is right. Furthest: the range "
        "of scores, with 50 candidates or more, where they differ most."
    )
    return Table(columns, [rows], title, note)


SCHEMA = "phistack.errors.v1"
_PROTOCOL = (
    "Strict: start, end and label must be right. All submodels read all lines, without a cascade, and all choosers "
    "have the same candidates. {intervals}; p of {p_values}, of F1 against the stack, after Holm's correction."
)


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """The result of `analyse_errors`.

    :param gold: label, as it may be shown -> number of gold spans.
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
        calibrated = calibration_table(self.calibrations, "Calibration of the submodels and of the stack")
        wrong = by_kind(self.errors), by_label(self.errors, self.gold), by_chooser(self.errors)
        return [self.choosers.table(title), calibrated, *wrong]

    def latex(self) -> str:
        """The tables for LaTeX with booktabs, without text of notes."""
        return "\n".join(table.latex(self.origin.comment) for table in self.tables())

    def page(self) -> str:
        notes = {"notes": str(self.notes.documents), "PHI": str(self.notes.spans), "label set": self.notes.label_set}
        members = ", ".join(self.choosers.members)
        facts = {**notes, "submodels": members, "date": self.origin.date, "in short": self.summary}
        picture = calibration_picture(plain(self.calibrations))
        return errors_page(self.tables(), self.errors, facts=facts, picture=picture)

    def to_dict(self) -> dict[str, Any]:
        """Every figure and every wrong decision, for JSON."""
        of_labels = counts_by(self.errors, label_of)
        return {
            **self.origin.to_dict(),
            "notes": self.notes.to_dict(),
            "submodels": list(self.choosers.members),
            **self.choosers.to_dict(),
            "calibration": plain(self.calibrations),
            "kinds": counts_of_kinds(self.errors),
            "by label": {label: {"gold": self.gold.get(label, 0), **counts} for label, counts in of_labels.items()},
            "by who chose": counts_by(self.errors, sources_of),
            "each": plain(self.errors),
        }


def analyse_errors(
    gold: Corpus, engine: Engine, *, with_text: bool = False, resampling: Resampling = BY_PATIENT
) -> ErrorAnalysis:
    """Decide on annotated notes and sort the wrong decisions.

    :param gold: annotated notes that the engine was not trained on.
    :param engine: its cascade, if any, is switched off: all submodels read all lines.
    :param with_text: whether to show ids, labels and the text of wrong decisions in full.
    :raises EvaluationError: if the notes have no annotated PHI.
    :raises LabelError: for a label that is in neither label set.
    """
    if not any(document.spans for document in gold.documents):
        raise EvaluationError("the notes have no annotated PHI to compare with; check their format and labels")
    known = vocabulary(gold.label_set, engine.label_set)

    def spelled(span: Span) -> Span:
        """The span with its label as gold spells it, as labels are compared ignoring case."""
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
        calibrations_of(gold.documents, decided, engine.names),
        {label if with_text else shown_label(label, times[label]): count for label, count in in_gold.items()},
        tuple(
            ShownError.of(wrong, note, times, with_text=with_text)
            for note, found in zip(gold.documents, decided, strict=True)
            for wrong in wrong_decisions(note, found)
        ),
    )
