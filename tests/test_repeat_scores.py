"""The strict F1 with some repeats accepted is that of the spans that are left then, at any threshold."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.repeats.classifier import TrainingNotes
from phistack.ensemble.stacking.repeats.search import Repeat
from phistack.features.arrays import Floats
from phistack.features.documents import Span
from phistack.features.ranges import non_overlapping

THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0)

spans = st.builds(
    lambda start, length, label: Span(start, start + length, label),
    st.integers(0, 16),
    st.integers(1, 5),
    st.sampled_from(["DOCTOR", "PATIENT"]),
)
apart = st.lists(spans, max_size=6).map(lambda found: [found[i] for i in non_overlapping(found, [1.0] * len(found))])
notes = st.tuples(
    st.lists(spans, max_size=5, unique=True),
    apart,
    st.lists(st.tuples(spans, st.sampled_from([0.1, 0.3, 0.6, 0.62, 0.9])), max_size=6, unique_by=lambda pair: pair[0]),
)


def _by_sets(
    gold: set[Span], accepted: set[Span], repeats: Sequence[Repeat], values: Floats, threshold: float
) -> set[Span]:
    """The oracle: the spans of a note once the accepted repeats have taken their places."""
    taken = [repeats[i].span for i in non_overlapping(repeats, (values - threshold).tolist())]
    return {span for span in accepted if not any(span.overlaps(other) for other in taken)}.union(taken)


@given(st.lists(notes, min_size=1, max_size=3))
def test_f1_is_that_of_the_spans_that_are_left(
    given_notes: list[tuple[list[Span], list[Span], list[tuple[Span, float]]]],
) -> None:
    repeats = [[Repeat(span, (), ()) for span, _ in pairs] for _, _, pairs in given_notes]
    values = [np.array([value for _, value in pairs]) for _, _, pairs in given_notes]
    expected = []
    for threshold in THRESHOLDS:
        n_right = n_all = 0
        for (gold, accepted, _), of_note, value in zip(given_notes, repeats, values, strict=True):
            found = _by_sets(set(gold), set(accepted), of_note, value, threshold)
            n_right += len(found & set(gold))
            n_all += len(found) + len(gold)
        expected.append(2 * n_right / n_all if n_all else 0.0)
    scored = TrainingNotes([set(note[0]) for note in given_notes], [set(note[1]) for note in given_notes], repeats)
    assert scored.f1(values, THRESHOLDS).tolist() == expected
