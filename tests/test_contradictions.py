"""Labels of a corpus that contradict each other, counted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.evaluation.contradictions import contradictions
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import write_corpus
from phistack.features.labels import LabelSet
from tests.fixture_types import Phistack
from tests.invented_names import FEW_NAMES as NAMES


def note(id: str, text: str) -> Document:
    """PHI in brackets, each with its label: `Dr. [Lee|DOCTOR] came`."""
    plain, spans = "", []
    for i, part in enumerate(text.replace("]", "[").split("[")):
        words, _, label = part.partition("|")
        if i % 2:
            spans.append(Span(len(plain), len(plain) + len(words), label))
        plain += words
    return Document(id, plain, tuple(spans))


def counted(*texts: str, context: int = 1) -> tuple[int, int, int, int, int]:
    found = contradictions([note(str(i), text) for i, text in enumerate(texts)], context=context)
    return found.spans, found.contradicted, found.other_label, found.other_extent, found.not_marked


CASES = {
    "all agree": (("by [Lee|DOCTOR] today", "by [Lee|DOCTOR] today"), (2, 0, 0, 0, 0)),
    "another label": (("by [Lee|DOCTOR] today", "by [Lee|PATIENT] today"), (2, 2, 2, 0, 0)),
    "another extent": (("by [Ann Lee|DOCTOR] today", "by Ann [Lee|DOCTOR] today"), (2, 2, 0, 2, 0)),
    "another extent that reaches out": (
        ("saw Dr. [Lee|DOCTOR] today", "saw [Dr. Lee|DOCTOR] today"), (2, 2, 0, 2, 0),
    ),
    "not marked": (("by [Lee|DOCTOR] today", "by Lee today"), (1, 1, 0, 0, 1)),
    "in three ways": (
        ("by [Lee|DOCTOR] today", "by [Lee|PATIENT] today", "by Lee today"), (2, 2, 2, 0, 2),
    ),
    "in the same note": (("by [Lee|DOCTOR] today, by [Lee|PATIENT] today",), (2, 2, 2, 0, 0)),
    "another context": (("by [Lee|DOCTOR] today", "of [Lee|PATIENT] today"), (2, 0, 0, 0, 0)),
    "other words": (("by [Lee|DOCTOR] today", "by [Lea|PATIENT] today"), (2, 0, 0, 0, 0)),
    "at the beginning and the end": (("[Lee|DOCTOR]", "[Lee|PATIENT]"), (2, 2, 2, 0, 0)),
    "no PHI": (("by Lee today",), (0, 0, 0, 0, 0)),
    "an empty note": (("", "by [Lee|DOCTOR]"), (1, 0, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_marked_otherwise_between_the_same_words_is_counted(name: str) -> None:
    texts, expected = CASES[name]
    assert counted(*texts) == expected


def test_more_context_finds_less() -> None:
    texts = ("seen by [Lee|DOCTOR] today", "come by [Lee|PATIENT] today", "seen by [Lee|CITY] today")
    assert counted(*texts)[1] == 3
    assert counted(*texts, context=2)[1] == 2


WORDS = st.lists(st.sampled_from(["a", "b", "c", "[a|X]", "[a|Y]", "[b c|X]", "[b|X]"]), max_size=14).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_counts_are_those_of_comparing_every_phi_with_every_place(texts: list[str]) -> None:
    notes = [note(str(i), text) for i, text in enumerate(texts)]
    cut = []
    for document in notes:
        words = document.text.split()
        starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
        phi = [
            (starts.index(s.start), starts.index(s.start) + len(document.text[s.start : s.end].split()), s.label)
            for s in document.spans
        ]
        cut.append((["^", *words, "$"], phi))
    expected = 0
    for words, phi in cut:
        for begin, end, _ in phi:
            window = words[begin : end + 2]
            own = {(a - begin, b - begin, kind) for a, b, kind in phi if a < end and begin < b}
            expected += any(
                others[at : at + len(window)] == window
                and {(a - at, b - at, k) for a, b, k in marked if a < at + end - begin and at < b} != own
                for others, marked in cut for at in range(len(others))
            )  # fmt: skip
    assert contradictions(notes).contradicted == expected


def test_a_training_says_what_its_labels_are_worth_without_text(phistack: Phistack, tmp_path: Path) -> None:
    texts = [f"Seen by Dr. [{name}|DOCTOR] today. Signed Dr. [{NAMES[0]}|DOCTOR] ." for name in NAMES]
    texts.append(f"Seen again. Signed Dr. [{NAMES[0]}|PATIENT] .")
    documents = tuple(note(f"{100 + i}-01", text) for i, text in enumerate(texts))
    write_corpus(Corpus(documents, LabelSet.named("i2b2-2014")), tmp_path / "notes", format="i2b2")
    model = tmp_path / "engine"
    options = ("--submodels", "regex", "--folds", 2, "--details")
    status, shown, _ = phistack("train", tmp_path / "notes", "--model", model, *options)
    assert status == 0
    near, far = read_manifest(model)["figures"]["contradictions"]
    assert [(found["context"], found["other_label"]) for found in (near, far)] == [(1, len(texts)), (2, len(texts))]
    card = (model / "MODEL_CARD.md").read_text()
    for found in (near, far):
        assert found["in short"] in shown
        assert found["in short"] in card
    assert not [name for name in NAMES if name in shown + card]


def test_what_is_marked_otherwise_more_often_is_outvoted() -> None:
    texts = ["by [Lee|DOCTOR] today"] * 3 + ["by [Lee|PATIENT] today"] * 2 + ["by Lee today"]
    found = contradictions([note(str(i), text) for i, text in enumerate(texts)])
    assert (found.contradicted, found.outvoted) == (5, 2)
    even = contradictions([note(str(i), text) for i, text in enumerate(texts[1:5])])
    assert (even.contradicted, even.outvoted) == (4, 0)
