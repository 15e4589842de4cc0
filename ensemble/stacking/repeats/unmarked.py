"""What must not be released although nothing marked it: names that were found elsewhere in the patient's notes.

    more = unmarked([(document, spans), ...], "en", counts.is_word, is_removed)
    more[0]         further spans for the first note, with the labels of what they repeat

A stacker weighs right against wrong; who releases notes fears a name more than a word too many. So an occurrence of a
found name is taken for the name, unless all its words are words of the language; one of two words of the name is taken
in any case. Parts of a name have at least three letters. A number or an address counts from six letters and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phistack.ensemble.stacking.repeats.search import Mention, Repeat, search
from phistack.features.documents import Document, Span
from phistack.features.plain_view import plain_view

_SHORTEST_CODE = 6


def unmarked(
    notes: Sequence[tuple[Document, Sequence[Span]]],
    language: str,
    is_word: Callable[[str], bool],
    is_removed: Callable[[str], bool],
) -> list[tuple[Span, ...]]:
    """For each note the places where something that was found in any of them stands again.

    :param notes: of one patient, each with what was found in it.
    :param is_word: whether a folded word is one of the language.
    :param is_removed: whether PHI of a label is taken out; what is not is not sought either.
    :returns: spans of the notes as they were written.
    """
    views = [plain_view(note.with_spans(span for span in found if is_removed(span.label))) for note, found in notes]
    texts = [view.document.text for view in views]
    mentions = [[Mention(span) for span in view.document.spans] for view in views]
    found_again = search(texts, mentions, language)
    return [
        tuple(view.in_note(repeat.span) for repeat in repeats if _must_go(repeat, is_word))
        for view, repeats in zip(views, found_again, strict=True)
    ]


def _must_go(repeat: Repeat, is_word: Callable[[str], bool]) -> bool:
    if not repeat.is_name:
        return sum(map(len, repeat.words)) >= _SHORTEST_CODE
    return len(repeat.parts) > 1 or not all(map(is_word, repeat.parts))
