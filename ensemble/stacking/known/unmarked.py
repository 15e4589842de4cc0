"""Unmarked mentions of identifiers that were found elsewhere in the patient's notes; they must not be released.

    more = unmarked([(document, spans), ...], "en", counts.is_word, is_removed)
    more[0]         further spans for the first note, with the labels of what they repeat

In a release a missed name is worse than a word too many. So an occurrence of a found name counts unless all its words
are words of the language; two words of a name always count. Parts of a name have at least three letters, numbers and
addresses at least six letters and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from phistack.ensemble.stacking.known.roster import searched_as
from phistack.ensemble.stacking.known.search import Identifier, KnownIndex
from phistack.ensemble.stacking.known.signs import Place
from phistack.ensemble.stacking.repeats.search import search_mode
from phistack.features.documents import Document, Span
from phistack.features.plain_view import PlainView, plain_view
from phistack.features.ranges import covering, ranges_of
from phistack.features.text_words import is_without_blanks

_SHORTEST_PART, _SHORTEST_CODE = 3, 6


def unmarked(
    notes: Sequence[tuple[Document, Sequence[Span]]],
    language: str,
    is_word: Callable[[str], bool],
    is_removed: Callable[[str], bool],
) -> list[tuple[Span, ...]]:
    """For each note the unmarked places of PHI that was found in any of the notes.

    :param notes: of one patient, each with the PHI found in it.
    :param is_removed: whether PHI of a label is removed; other labels are not searched for.
    :returns: spans of the notes as they were written.
    """
    views = [plain_view(note.with_spans(span for span in found if is_removed(span.label))) for note, found in notes]
    identifiers = (
        Identifier(view.document.text[span.start : span.end], span.label, "", searched_as("", span.label))
        for view in views
        for span in view.document.spans
        if search_mode(span.label)
    )
    index = KnownIndex(identifiers, language, is_guessing=False)
    return [tuple(sorted({*_more(view, index, is_word)})) for view in views]


def _more(view: PlainView, index: KnownIndex, is_word: Callable[[str], bool]) -> Iterator[Span]:
    is_marked = covering(ranges_of(view.document.spans))
    for known, place in index.find(view.document.text):
        text = view.document.text[place.start : place.end]
        if not is_marked(place.start, place.end) and _must_go(place, text, known.kind == "name", is_word):
            yield view.in_note(Span(place.start, place.end, known.label))


def _must_go(place: Place, text: str, is_name: bool, is_word: Callable[[str], bool]) -> bool:
    if not is_name:
        return sum(map(str.isalnum, text)) >= _SHORTEST_CODE
    is_short = all(len(word) < _SHORTEST_PART and not is_without_blanks(word) for word in place.words)
    return not (place.needs_sign or (place.words and (is_short or all(map(is_word, place.words)))))
