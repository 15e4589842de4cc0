"""Whether members and stack are as often right as their scores say.

    found = calibrations_of(documents, decisions, ("regex", "crf"))     {"regex": Calibration, "crf": ..., "stack": ...}
    calibration_table(found, "Calibration")

A member is judged on what it proposed, by its scores; the stack on all candidates, by its probabilities. Right is what
has the start, the end and the label of a gold span.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from phistack.ensemble.evaluation.calibration import Calibration
from phistack.ensemble.evaluation.tables import Table, percent, strong
from phistack.ensemble.experiments.parts import STACK
from phistack.ensemble.stacking.candidates import Decision
from phistack.features.documents import Document


def calibrations_of(
    documents: Sequence[Document], decided: Sequence[Sequence[Decision]], members: Iterable[str]
) -> dict[str, Calibration]:
    """Compare scores with the gold spans.

    :param documents: the notes with their gold spans.
    :param decided: for each note, decisions on all candidates.
    :param members: the names of the submodels.
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
    """A row for each member and the stack: the expected error, and the bin in which it errs most."""
    columns = ("system", "candidates", "expected error", "furthest: says", "is right", "of candidates")
    rows = [(strong(name) if name == STACK else name, *_cells(found)) for name, found in calibrations.items()]
    note = (
        "Shares in percent. Expected error: mean distance between score and share that is right. Furthest: the range "
        "of scores, with 50 candidates or more, where both are furthest apart."
    )
    return Table(columns, [rows], title, note)


def _cells(found: Calibration) -> tuple[str, ...]:
    furthest = found.furthest
    if furthest is None:
        return ("0", "", "", "", "")
    where = (percent(furthest.said), percent(furthest.right.value), str(furthest.n))
    return (str(found.n), percent(found.expected_error), *where)
