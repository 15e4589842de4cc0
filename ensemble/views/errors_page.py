"""One HTML file that shows the wrong decisions of a stack, by kind and one by one.

    shown = ShownError.of(wrong, note, times)                  ids, labels and offsets; nothing of the text
    shown = ShownError.of(wrong, note, times, with_text=True)
    errors_page([table, other], [shown], facts={"notes": "60"}, picture=svg)

The page fetches nothing and runs no script. Everything from notes is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.stacking.wrong_decisions import KINDS_OF_WRONG, WrongDecision
from phistack.ensemble.tools.templates import template
from phistack.features.documents import Document, Span
from phistack.features.shown import shown_id, shown_label

_AROUND = 40
"""Characters of the note shown before and after the span."""


@dataclass(frozen=True, slots=True)
class ShownError:
    """A wrong decision as it may be shown.

    :param wrong: the decision, with id and labels as they may be shown.
    :param text: the text of the span; empty, like the others, if no text is shown.
    """

    wrong: WrongDecision
    text: str = field(default="", repr=False)
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)

    @classmethod
    def of(cls, wrong: WrongDecision, note: Document, times: Mapping[str, int], *, with_text: bool = False) -> Self:
        """Show one.

        :param times: label -> number of spans that have it.
        :param with_text: whether id, labels and text are shown unchanged.
        """
        if with_text:
            start, end, text = wrong.span.start, wrong.span.end, note.text
            return cls(wrong, text[start:end], text[max(0, start - _AROUND) : start], text[end : end + _AROUND])

        def shown(span: Span) -> Span:
            return replace(span, label=shown_label(span.label, times[span.label]))

        instead = tuple(map(shown, wrong.instead))
        return cls(replace(wrong, document=shown_id(wrong.document), span=shown(wrong.span), instead=instead))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; with text only if it has any."""
        wrong = self.wrong
        return {
            "document": wrong.document,
            "start": wrong.span.start,
            "end": wrong.span.end,
            "label": wrong.span.label,
            "wrong": wrong.kind.side,
            "kind": wrong.kind.name,
            "chosen by": list(wrong.chosen_by),
            "offered by": list(wrong.offered_by),
            "instead": [[span.start, span.end, span.label] for span in wrong.instead],
            "probability": wrong.probability,
            **({"text": self.text} if self.text else {}),
        }


def errors_page(
    tables: Sequence[Table], errors: Sequence[ShownError], *, facts: Mapping[str, str], picture: str
) -> str:
    """The page: tables of counts, errors by kind, short lines about engine and notes, reliability diagrams as SVG."""
    by_kind = [(kind, [error for error in errors if error.wrong.kind == kind]) for kind in KINDS_OF_WRONG]
    by_kind = [(kind, found) for kind, found in by_kind if found]
    return template("phistack.ensemble.views", "errors_template.html").render(
        tables=tables, by_kind=by_kind, facts=facts, picture=picture, has_text=any(error.text for error in errors)
    )
