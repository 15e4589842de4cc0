"""Wrong decisions of a stack as tables: by kind, by label, by who would have made them, and one by one.

by_kind([error, ...])         a row a kind, with what it means
by_label(errors, gold)        a row a label, a column a kind
by_chooser(errors)            a row a set of sources, such as `crf+tbed`, a column a kind
one_by_one(errors)            a row a wrong decision
counts_by(errors, label_of)   {"DOCTOR": {"missed": {...}, "false": {...}}} for JSON
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from phistack.ensemble.evaluation.tables import Cell, Table, TableRow, percent, strong
from phistack.ensemble.stacking.wrong_decisions import FALSE, KINDS_OF_WRONG, MISSED
from phistack.ensemble.views.errors_page import ShownError

_NOBODY = "nobody"
_HEADS = tuple(Cell(f"{kind.side}:\n{kind.short}", f"{kind.side}: {kind.short}") for kind in KINDS_OF_WRONG)
_COLUMNS = ("note", "place", "label", "wrong", "chosen by", "offered by", "instead")


def label_of(error: ShownError) -> str:
    """The label of the gold span that was missed, or of the false span."""
    return error.wrong.span.label


def sources_of(error: ShownError) -> str:
    """The submodels that would have marked the false span, or the closest candidate for the missed one: `crf+tbed`."""
    return "+".join(error.wrong.chosen_by) or _NOBODY


def counts_of_kinds(errors: Iterable[ShownError]) -> dict[str, dict[str, int]]:
    """Side -> kind -> how many, kinds without any included."""
    counts = Counter(error.wrong.kind for error in errors)
    return {kinds[0].side: {kind.name: counts[kind] for kind in kinds} for kinds in (MISSED, FALSE)}


def counts_by(errors: Iterable[ShownError], key: Callable[[ShownError], str]) -> dict[str, dict[str, dict[str, int]]]:
    """The same for each value of a key, most wrong decisions first."""
    return {value: counts_of_kinds(some) for value, some in _grouped(errors, key).items()}


def by_kind(errors: Sequence[ShownError]) -> Table:
    """A row a kind, with what it means and its share of all that is missed, or false."""
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
    """A row a label, a column a kind.

    :param gold: label -> how many gold spans have it.
    """
    rows = [(label, str(gold.get(label, 0)), *_by_kinds(some)) for label, some in _grouped(errors, label_of).items()]
    title = "Wrong decisions by label, which is that of the gold span for a missed one"
    return Table(("label", "gold", *_HEADS), [rows], title)


def by_chooser(errors: Sequence[ShownError]) -> Table:
    """A row a set of sources that were wrong together, a column a kind."""
    rows = [(chosen, *_by_kinds(some)) for chosen, some in _grouped(errors, sources_of).items()]
    title = "Wrong decisions by who would have marked the false span, or the closest candidate for a missed one"
    note = "nobody: it was only offered to the stacker, or not proposed at all"
    return Table(("chosen by", *_HEADS), [rows], title, note)


def one_by_one(errors: Sequence[ShownError]) -> Table:
    """A row a wrong decision, by offsets; with its text where there is any."""
    has_text = any(error.text for error in errors)
    columns = (*_COLUMNS, *(["text"] if has_text else []))
    rows = [[*_row(error), *([repr(error.text)] if has_text else []), _probability(error)] for error in errors]
    return Table((*columns, "probability"), [rows], "Each wrong decision", n_texts=len(columns))


def _row(error: ShownError) -> list[str]:
    wrong = error.wrong
    return [
        wrong.document,
        f"{wrong.span.start}-{wrong.span.end}",
        wrong.span.label,
        f"{wrong.kind.side}: {wrong.kind.name}",
        " ".join(wrong.chosen_by),
        " ".join(wrong.offered_by),
        ", ".join(f"{span.label} {span.start}-{span.end}" for span in wrong.instead),
    ]


def _probability(error: ShownError) -> str:
    return "" if error.wrong.probability is None else f"{error.wrong.probability:.3f}"


def _by_kinds(errors: Iterable[ShownError]) -> list[str]:
    return [str(count or "") for side in counts_of_kinds(errors).values() for count in side.values()]


def _grouped(errors: Iterable[ShownError], key: Callable[[ShownError], str]) -> dict[str, list[ShownError]]:
    groups: defaultdict[str, list[ShownError]] = defaultdict(list)
    for error in errors:
        groups[key(error)].append(error)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))
