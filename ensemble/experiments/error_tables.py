"""Tables of a stack's wrong decisions: by kind, by label, by source and one by one; and of calibration.

by_kind([error, ...])         a row a kind, with what it means
by_label(errors, gold)        a row a label, a column a kind
by_chooser(errors)            a row a set of submodels, such as `crf+tbed`, a column a kind
one_by_one(errors)            a row a wrong decision
counts_by(errors, label_of)   {"DOCTOR": {"missed": {...}, "false": {...}}} for JSON
calibration_table(calibrations_of(documents, decisions, ("regex", "crf")), "Calibration")
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, percent, strong
from phistack.ensemble.experiments.parts import STACK, system_cell
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.wrong_decisions import FALSE, KINDS_OF_WRONG, MISSED
from phistack.ensemble.views.errors_page import ShownError
from phistack.features.documents import Document

_NOBODY = "nobody"
_HEADS = tuple(Cell(f"{kind.side}:\n{kind.short}", f"{kind.side}: {kind.short}") for kind in KINDS_OF_WRONG)
_COLUMNS = ("note", "place", "label", "wrong", "chosen by", "offered by", "instead")


def label_of(error: ShownError) -> str:
    """The label of the missed gold span or of the false span."""
    return error.wrong.span.label


def sources_of(error: ShownError) -> str:
    """The submodels that mark the false span, or the candidate closest to the missed one: `crf+tbed`."""
    return "+".join(error.wrong.chosen_by) or _NOBODY


def counts_of_kinds(errors: Iterable[ShownError]) -> dict[str, dict[str, int]]:
    """Side -> kind -> count, zero included."""
    counts = Counter(error.wrong.kind for error in errors)
    return {kinds[0].side: {kind.name: counts[kind] for kind in kinds} for kinds in (MISSED, FALSE)}


def counts_by(errors: Iterable[ShownError], key: Callable[[ShownError], str]) -> dict[str, dict[str, dict[str, int]]]:
    """The same for each value of a key, the most frequent first."""
    return {value: counts_of_kinds(some) for value, some in _grouped(errors, key).items()}


def by_kind(errors: Sequence[ShownError]) -> Table:
    """A row a kind, with its meaning and its share of all missed or all false spans."""
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
    """A row a label, a column a kind; :param gold: label -> how many gold spans have it."""
    rows = [(label, str(gold.get(label, 0)), *_by_kinds(some)) for label, some in _grouped(errors, label_of).items()]
    title = "Wrong decisions by label: of the missed gold span or of the false span"
    return Table(("label", "gold", *_HEADS), [rows], title)


def by_chooser(errors: Sequence[ShownError]) -> Table:
    """A row a set of submodels that were wrong together, a column a kind."""
    rows = [(chosen, *_by_kinds(some)) for chosen, some in _grouped(errors, sources_of).items()]
    title = "Wrong decisions by the submodels that mark the false span, or the candidate closest to a missed one"
    note = "nobody: no submodel marks it; it was only offered to the stacker, or not proposed at all"
    return Table(("chosen by", *_HEADS), [rows], title, note)


def one_by_one(errors: Sequence[ShownError]) -> Table:
    """A row a wrong decision, by offsets; with its text if that is known."""
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


def _by_kinds(errors: Iterable[ShownError]) -> list[str]:
    return [str(count or "") for side in counts_of_kinds(errors).values() for count in side.values()]


def _grouped(errors: Iterable[ShownError], key: Callable[[ShownError], str]) -> dict[str, list[ShownError]]:
    groups: defaultdict[str, list[ShownError]] = defaultdict(list)
    for error in errors:
        groups[key(error)].append(error)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def calibrations_of(
    documents: Sequence[Document], decided: Sequence[Sequence[Decision]], members: Iterable[str]
) -> dict[str, Calibration]:
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
