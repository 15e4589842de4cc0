import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.stacking.folds import at_most_folds, labels_in_one_part
from phistack.features.documents import Document, Span
from phistack.features.errors import TrainingError


def _documents(groups: list[int]) -> list[Document]:
    return [Document(f"{i}", "text", (Span(0, 4, "DATE"),) * (i % 3), f"p{group}") for i, group in enumerate(groups)]


@given(st.lists(st.integers(0, 12), min_size=2, max_size=40), st.integers(2, 5), st.integers(0, 3))
def test_every_document_is_in_one_fold_and_no_patient_in_two(groups: list[int], n_folds: int, seed: int) -> None:
    documents, n_patients = _documents(groups), len(set(groups))
    if n_patients < 2:
        with pytest.raises(TrainingError, match="has 1 patients"):
            at_most_folds(documents, n_folds=n_folds, seed=seed)
        return
    folds = at_most_folds(documents, n_folds=n_folds, seed=seed)
    assert sorted(i for fold in folds for i in fold) == list(range(len(documents)))
    assert all(folds) and len(folds) == min(n_folds, n_patients)
    homes: dict[str, int] = {}
    for number, fold in enumerate(folds):
        for i in fold:
            assert homes.setdefault(documents[i].group, number) == number


def test_the_same_seed_gives_the_same_folds_and_another_seed_others() -> None:
    documents = _documents(list(range(30)))
    assert at_most_folds(documents, n_folds=5, seed=1) == at_most_folds(documents, n_folds=5, seed=1)
    assert at_most_folds(documents, n_folds=5, seed=1) != at_most_folds(documents, n_folds=5, seed=2)


def test_labels_of_a_single_fold_are_found() -> None:
    rare = Document("a", "text", (Span(0, 2, "DEVICE"), Span(0, 4, "DATE")), "p1")
    usual = Document("b", "text", (Span(0, 4, "DATE"),), "p2")
    assert labels_in_one_part([[rare], [usual]]) == ["DEVICE"]
