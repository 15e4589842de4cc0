"""Why a system is wrong: the nine causes of Trienes et al. (2020, table 7), computed where they can be.

    found = wrong_spans(gold, system)
    found[0].cause                      "Abbreviation"; empty if only a person can tell
    causes_sheet(found)                 CSV with a column `cause` for a person to fill in or correct
    found = judged(found, path)         with the causes from the returned sheet
    causes_table(found)                 how many false negatives and false positives have each cause

Each wrong span has one cause. `causes.toml` says which of the nine are computed, and how; only a person can tell
whether a span is ambiguous or debatable. This needs two annotations and no engine; `phistack errors` looks instead at
what the submodels of an engine proposed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from phistack.ensemble.evaluation.pairing import pair, vocabulary
from phistack.ensemble.evaluation.tables import Table, TableRow, strong
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Corpus, Span
from phistack.features.errors import SettingsError, no_such
from phistack.features.files import read_sheet, sheet
from phistack.features.letters import fold
from phistack.features.registry import packaged_table
from phistack.features.tokens import Tokeniser

SIDES = ("missed", "false")
"""False negatives and false positives."""


_TABLE = dict(packaged_table("phistack.ensemble.papers", "causes.toml"))
_ARTICLES = _TABLE.pop("articles")
CAUSES = tuple(cause for of_group in _TABLE.values() for cause in of_group)
"""The nine causes, in the order of the paper's table."""

_TO_BE_JUDGED = "to be judged by a person"
_COLUMNS = ("document", "wrong", "start", "end", "label", "cause")
_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.?){1,5}")
_EDGES = " \t\r\n\u00a0,;:"
_WORD = re.compile(r"[^\W\d_]+")


class WrongSpan(NamedTuple):
    """A gold span that the system lacks, or a span of the system that gold lacks; a row of the sheet.

    :ivar side: `missed` or `false`.
    :ivar cause: one of the nine, or empty.
    :ivar text: of the span.
    """

    document: str
    side: str
    start: int
    end: int
    label: str
    cause: str = ""
    text: str = ""

    def __repr__(self) -> str:
        return f"WrongSpan{(*self[:-1],)!r}"


@dataclass(frozen=True, slots=True)
class _JudgedNote:
    """What the causes of a note's wrong spans are computed from."""

    text: str = field(repr=False)
    gold: Sequence[Span]
    system: Sequence[Span]
    bounds: frozenset[int]
    articles: re.Pattern[str]
    in_gold: frozenset[tuple[str, str]] = field(repr=False)
    is_word: Callable[[str], bool]

    def of(self, span: Span) -> str:
        """The text of a span."""
        return self.text[span.start : span.end]


def wrong_spans(gold: Corpus, system: Corpus, *, allow_missing: bool = False) -> list[WrongSpan]:
    """All wrong spans in the order of the notes, with those causes that can be computed.

    :param gold: the reference; its notes also show which words are ordinary words of the language.
    :raises EvaluationError: as for `evaluate`.
    :raises LabelError: if a span carries a label that neither label set knows.
    """
    language = gold.label_set.language
    pairs = pair(gold, system, vocabulary(gold.label_set, system.label_set), allow_missing=allow_missing).pairs
    strings = frozenset((p.gold.text[phi.start : phi.end], phi.label) for p in pairs for phi in p.gold.phi)
    articles = re.compile(rf"(?:(?:{'|'.join(_ARTICLES.get(language, 'the').split())})\s+)+", re.IGNORECASE)
    is_word = WordCounts.of(gold.documents, language).is_word
    found: list[WrongSpan] = []
    for p in pairs:
        starts, ends = Tokeniser("liu")(p.gold.text)
        marked, found_there = ([Span(phi.start, phi.end, phi.label) for phi in s.phi] for s in (p.gold, p.system))
        bounds = frozenset((*starts.tolist(), *ends.tolist()))
        note = _JudgedNote(p.gold.text, marked, found_there, bounds, articles, strings, is_word)
        found += sorted(_wrong(p.id, note), key=lambda wrong: (*wrong[2:5], wrong.side))
    return found


def _wrong(document: str, note: _JudgedNote) -> Iterator[WrongSpan]:
    for side, own, others in (("missed", note.gold, note.system), ("false", note.system, note.gold)):
        for span in sorted({*own}.difference(others)):
            near = [other for other in others if other.overlaps(span)]
            cause = _cause(side, span, near, note)
            yield WrongSpan(document, side, span.start, span.end, span.label, cause, note.of(span))


def _cause(side: str, span: Span, near: Sequence[Span], note: _JudgedNote) -> str:
    """The first cause that applies; `near` are the spans of the other side that overlap it."""
    annotated = [span] if side == "missed" else near
    words = _WORD.findall(note.of(span))
    tests: Mapping[str, bool] = {
        "Tokenization error": any(not {s.start, s.end} <= note.bounds and not _is_frayed(s, note) for s in annotated),
        "Annotation error": any(_is_frayed(s, note) for s in annotated),
        "Prefix": any(_differ_by_article(span, other, note) for other in near),
        "Missing annotation": side == "false" and not near and (note.of(span), span.label) in note.in_gold,
        "Abbreviation": note.of(span).isupper() and _ABBREVIATION.fullmatch(note.of(span)) is not None,
        "Common language": bool(words) and all(note.is_word(fold(word)) for word in words),
    }
    return next((cause for cause, is_so in tests.items() if is_so), "")


def _is_frayed(span: Span, note: _JudgedNote) -> bool:
    return note.text[span.start] in _EDGES or note.text[span.end - 1] in _EDGES


def _differ_by_article(one: Span, other: Span, note: _JudgedNote) -> bool:
    """Whether the longer of two spans is the shorter one with articles before it."""
    shorter, longer = sorted((one, other), key=lambda span: span.end - span.start)
    before = note.text[longer.start : shorter.start]
    return one.end == other.end and one.label == other.label and note.articles.fullmatch(before) is not None


def causes_sheet(wrong: Iterable[WrongSpan], *, with_text: bool = False) -> str:
    """The wrong spans as CSV, with the causes that were computed."""
    columns = (*_COLUMNS, "text") if with_text else _COLUMNS
    return sheet(columns, (w[: len(columns)] for w in wrong))


def judged(wrong: Sequence[WrongSpan], path: Path) -> list[WrongSpan]:
    """The wrong spans with the causes that a person gave in a sheet; an empty cell leaves the computed cause.

    :raises SettingsError: if the sheet cannot be read, names another cause, or has a row that is none of these errors.
    """
    what = "the sheet of causes"
    by_key = {tuple(map(str, w[:5])): w for w in wrong}
    known = {cause.casefold(): cause for cause in CAUSES}
    given: dict[tuple[str, ...], str] = {}
    for number, row in enumerate(read_sheet(path, what, _COLUMNS), 2):
        key = tuple(row[column] for column in _COLUMNS[:-1])
        if key not in by_key:
            raise SettingsError(
                f"{what} {path}, line {number}: these annotations do not have this error; write the sheet again"
            )
        if row["cause"] and row["cause"].casefold() not in known:
            raise SettingsError(f"{what} {path}, line {number}: {no_such('cause', row['cause'], known.values())}")
        given[key] = known.get(row["cause"].casefold(), "")
    return [w._replace(cause=given.get(key) or w.cause) for key, w in by_key.items()]


def causes_table(wrong: Sequence[WrongSpan]) -> Table:
    """How many false negatives and false positives have each cause, and their shares, as in the paper's table 7."""
    counts = Counter((w.cause or _TO_BE_JUDGED, w.side) for w in wrong)
    totals = Counter(w.side for w in wrong)

    def row(name: str, paper: Mapping[str, int] | None = None) -> TableRow:
        figures = ((counts[name, side], totals[side]) for side in SIDES)
        ours = (cell for n, total in figures for cell in (str(n), f"{100 * n / max(total, 1):.1f} %"))
        return (name, *ours, *(str((paper or {}).get(side, "")) for side in SIDES))

    sections = [[row(name, paper) for name, paper in of_group.items()] for of_group in _TABLE.values()]
    every = (strong("all"), str(totals["missed"]), "", str(totals["false"]), "", "469", "288")
    columns = ("cause", "missed", "part", "false", "part", "paper, missed", "paper, false")
    title = "Wrong spans by cause: of the model, then of annotation or preprocessing"
    return Table(columns, [*sections, [row(_TO_BE_JUDGED), every]], title)
