"""Labels that are probably wrong: those that the stack, out of fold, or the rest of the corpus contradicts.

    found = check_labels(corpus, settings)     the most doubtful place first
    found[0]                    LabelDoubt("110-01", (Span(9, 12, "DATE"),), (Span(9, 17, "DATE"),), 0.97, ...)

A gold span is in doubt where the stack decides otherwise. The doubt grows with the stack's probability for what it
marks instead or, if it marks nothing, with the share of the label's spans that it usually finds. A gap is in doubt
where the stack marks a span. The stack never saw the patient of the note. A place is also in doubt if most places
between the same words are marked differently. Both are signs of a wrong label, not proof: a person decides. The idea is
that of confident learning (Northcutt et al. 2021), with the answers of a stack on whole spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phistack.ensemble.evaluation.contradictions import outvoted
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.cases import spans_as_text
from phistack.ensemble.experiments.parts import stack_decisions
from phistack.ensemble.stacking.candidates import Decided, Decision
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.documents import Corpus, Document, Span
from phistack.features.files import sheet
from phistack.features.ranges import overlapping_groups
from phistack.features.shown import shown_id, shown_label

Spans = tuple[Span, ...]

KINDS = {
    "perhaps missed": "nothing is marked there",
    "perhaps no PHI": "nothing would be marked there",
    "other label": "the same start and end would have another label",
    "other extent": "the span would begin or end elsewhere",
}
"""Kind of doubt -> what it means."""

_COLUMNS = ("doubt", "document", "start", "end", "kind", "marked", "instead", "stack", "others")
_CLEAR = 0.9


@dataclass(frozen=True, slots=True)
class LabelDoubt:
    """A place whose labels may be wrong.

    :param here: the gold spans; none for a gap.
    :param instead: what would be right if the gold is wrong; none if nothing there is PHI.
    :param doubt: from 0 to 1.
    :param by_stack: whether the stack contradicts.
    :param votes: how many places between the same words are marked as `instead`, and how many as this one is; zeros
        where the stack alone contradicts.
    """

    document: str
    here: Spans
    instead: Spans
    doubt: float
    by_stack: bool = False
    votes: tuple[int, int] = (0, 0)

    @property
    def kind(self) -> str:
        """A key of `KINDS`."""
        if not (self.here and self.instead):
            return "perhaps no PHI" if self.here else "perhaps missed"
        extents, others = ({(span.start, span.end) for span in spans} for spans in (self.here, self.instead))
        return "other label" if extents == others else "other extent"

    @property
    def place(self) -> tuple[int, int]:
        """From the first to the last character of all spans."""
        spans = (*self.here, *self.instead)
        return min(span.start for span in spans), max(span.end for span in spans)


def check_labels(
    corpus: Corpus, settings: EngineSettings, *, jobs: int = 1, cache: Path | None = None
) -> list[LabelDoubt]:
    """Train out of fold and rank the places in doubt, the most doubtful first.

    :param corpus: annotated notes of two patients or more.
    :param settings: of the stack; parameters as in `ensemble.training.trainer.train`.
    :raises TrainingError: if the notes have no PHI, or are of one patient.
    """
    proposed = propose(corpus, settings, jobs=jobs, cache=cache)
    decided = stack_decisions(proposed, tuple(settings.submodels), Stacker(settings.stacker), seed=settings.seed)
    return doubts(corpus.documents, decided)


def doubts(documents: Sequence[Document], decided: Decided) -> list[LabelDoubt]:
    """The places in doubt, the most doubtful first.

    :param decided: for each note the decisions on all candidates, of a stack that never saw its patient.
    """
    usual = _found(documents, decided)
    places = {
        (doubt.document, doubt.here or doubt.instead): doubt
        for note, decisions in zip(documents, decided, strict=True)
        for doubt in _by_stack(note, decisions, usual)
    }
    for place in outvoted(documents):
        votes = place.as_elsewhere, place.as_here
        key = documents[place.note].id, place.here or place.elsewhere
        known = places.get(key) or LabelDoubt(*key, (), 0.0)
        places[key] = _voted(known, place.here, place.elsewhere, votes)
    return sorted(places.values(), key=lambda doubt: (-doubt.doubt, doubt.document, doubt.here or doubt.instead))


def _voted(known: LabelDoubt, here: Spans, elsewhere: Spans, votes: tuple[int, int]) -> LabelDoubt:
    """A place with the doubt from how others are marked, combined with the doubt of the stack."""
    most, own = votes
    doubt = (most - own) / (most + own + 1)
    instead = known.instead if known.by_stack else elsewhere
    return replace(known, here=here, instead=instead, doubt=1 - (1 - known.doubt) * (1 - doubt), votes=votes)


def _found(documents: Sequence[Document], decided: Decided) -> Mapping[str, float]:
    """Label -> the share of its gold spans that the stack finds, as if it had missed one more."""
    counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for note, decisions in zip(documents, decided, strict=True):
        accepted = {decision.span for decision in decisions if decision.accepted}
        for span in {*note.spans}:
            counts[span.label] += 1
            found[span.label] += span in accepted
    return {label: found[label] / (n + 1) for label, n in counts.items()}


def _by_stack(note: Document, decisions: Sequence[Decision], usual: Mapping[str, float]) -> Iterator[LabelDoubt]:
    """The places of a note where the stack decides otherwise."""
    gold = {*note.spans}
    probability = {decision.span: decision.probability for decision in decisions}
    accepted = {decision.span for decision in decisions if decision.accepted}
    for group in overlapping_groups(gold | accepted):
        here, instead = (
            tuple(sorted({*group} & spans - other)) for spans, other in ((gold, accepted), (accepted, gold))
        )
        if here or instead:
            sure = max((probability[span] for span in instead), default=0.0) or usual[here[0].label]
            own = max((probability.get(span, 0.0) for span in here), default=0.0)
            yield LabelDoubt(note.id, here, instead, sure * (1 - own), by_stack=True)


def doubts_sheet(found: Sequence[LabelDoubt], documents: Sequence[Document], *, with_text: bool = False) -> str:
    """The list as tab-separated values, the most doubtful place first.

    :param documents: the notes, for their text and how often they have each label.
    :param with_text: whether to show ids and labels in full, and the text of each place.
    """
    times = Counter(span.label for note in documents for span in note.spans)
    texts = {note.id: note.text for note in documents}

    def written(spans: Spans) -> str:
        shown = spans if with_text else [replace(s, label=shown_label(s.label, times[s.label])) for s in spans]
        return spans_as_text(shown)

    rows = []
    for row in found:
        (start, end), (most, own) = row.place, row.votes
        id = row.document if with_text else shown_id(row.document)
        cells = (f"{row.doubt:.3f}", id, start, end, row.kind, written(row.here), written(row.instead))
        why = "otherwise" if row.by_stack else "", f"{most} to {own}" if most else ""
        rows.append((*cells, *why, *([texts[row.document][start:end]] if with_text else [])))
    return sheet((*_COLUMNS, *(["text"] if with_text else [])), rows, between="\t")


def doubts_table(found: Sequence[LabelDoubt]) -> Table:
    """How many places are in doubt, by kind."""
    counts, clear = (Counter(row.kind for row in found if row.doubt >= least) for least in (0.0, _CLEAR))
    rows = [(kind, means, str(counts[kind]), str(clear[kind])) for kind, means in KINDS.items()]
    return Table(("kind", "means", "places", f"doubt of {_CLEAR:g} or more"), [rows], "Labels in doubt", n_texts=2)
