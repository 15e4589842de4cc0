"""Linear-chain inference against enumerating every tag sequence."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.tags import decode
from phistack.submodels.chain.candidates import batches, propose, spans_of
from phistack.submodels.chain.crf import Chain, Lines
from phistack.submodels.chain.lattice import Lattice, viterbi

BIO = ("O", "B-AGE", "I-AGE", "B-DATE", "I-DATE")
BIOES = ("O", "B-AGE", "I-AGE", "E-AGE", "S-AGE")
TAG_SETS = {"BIO": BIO, "BIOES": BIOES}


@dataclass(frozen=True)
class Case:
    """A random chain with one sentence of emissions."""

    chain: Chain
    emissions: NDArray[np.float64]
    scheme: str

    @classmethod
    def drawn(cls, seed: int, n_tokens: int, scheme: str, constrained: bool, scale: float = 2.0) -> Case:
        random = np.random.default_rng(seed)
        tags = TAG_SETS[scheme]
        size = len(tags)
        chain = Chain(
            tags, random.normal(0, scale, (size, size)), random.normal(0, scale, size), random.normal(0, scale, size)
        )
        emissions = random.normal(0, scale, (n_tokens, size))
        return cls(chain.constrained(scheme) if constrained else chain, emissions, scheme)

    def lattice(self, bounds: ArrayLike | None = None) -> Lattice:
        return Lattice.over(self.chain, self.emissions, bounds)

    def scores(self) -> dict[tuple[int, ...], float]:
        """Every tag sequence and its score."""
        chain, n_tokens = self.chain, len(self.emissions)
        return {
            path: float(
                chain.start[path[0]]
                + sum(self.emissions[i, tag] for i, tag in enumerate(path))
                + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))
                + chain.end[path[-1]]
            )
            for path in itertools.product(range(len(chain.tags)), repeat=n_tokens)
        }

    def probabilities(self) -> dict[tuple[int, ...], float]:
        """Every tag sequence and its probability."""
        weights = {path: math.exp(score) for path, score in self.scores().items()}
        total = sum(weights.values())
        return {path: weight / total for path, weight in weights.items()}

    def span_probabilities(self) -> dict[tuple[int, int, str], float]:
        """Every span in any tag sequence, and its probability."""
        found: dict[tuple[int, int, str], float] = defaultdict(float)
        for path, probability in self.probabilities().items():
            for span in decode([self.chain.tags[tag] for tag in path], scheme=self.scheme):
                found[span] += probability
        return found


CASES = st.builds(
    Case.drawn, st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(sorted(TAG_SETS)), st.booleans()
)


@given(CASES)
def test_enumeration_gives_the_same_best_path_partition_and_marginals(case: Case) -> None:
    scores, probabilities = case.scores(), case.probabilities()
    assert tuple(case.lattice().best_path()) == max(scores, key=scores.__getitem__)
    assert case.lattice().log_z.sum() == pytest.approx(math.log(sum(map(math.exp, scores.values()))))
    expected = np.zeros_like(case.emissions)
    for path, probability in probabilities.items():
        expected[np.arange(len(path)), path] += probability
    assert case.lattice().marginals() == pytest.approx(expected)


@given(CASES, st.sampled_from([0.02, 0.2, 0.6]))
def test_enumeration_gives_the_same_span_probabilities(case: Case, threshold: float) -> None:
    expected = {span: p for span, p in case.span_probabilities().items() if abs(p - threshold) > 1e-9}
    found = {(a, b, label): p for a, b, label, p in spans_of(case.lattice(), threshold)}
    assert found == pytest.approx({span: p for span, p in expected.items() if p >= threshold})


@given(CASES)
@settings(max_examples=20)
def test_a_span_asked_for_is_given_whatever_its_probability(case: Case) -> None:
    wanted = min(case.span_probabilities().items(), key=lambda item: item[1])
    [(*found, probability)] = spans_of(case.lattice(), 1.1, [wanted[0]])
    assert tuple(found) == wanted[0] and probability == pytest.approx(wanted[1], abs=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(sorted(TAG_SETS)))
def test_the_constrained_best_path_has_no_orphans(seed: int, n_tokens: int, scheme: str) -> None:
    case = Case.drawn(seed, n_tokens, scheme, constrained=True, scale=20.0)
    tags = [case.chain.tags[i] for i in case.lattice().best_path()]
    for before, tag, after in zip(["O", *tags], tags, [*tags[1:], "O"], strict=False):
        prefix, _, label = tag.partition("-")
        if prefix in "IE":
            assert before in (f"B-{label}", f"I-{label}")
        if scheme == "BIOES" and prefix in "BI":
            assert after in (f"I-{label}", f"E-{label}")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(0, 10**6))
def test_many_sentences_at_once_are_as_each_alone(lengths: list[int], seed: int) -> None:
    bounds = np.cumsum([0, *lengths])
    case = Case.drawn(seed, int(bounds[-1]), "BIO", constrained=False)
    parts = [case.emissions[a:b] for a, b in itertools.pairwise(bounds)]
    paths = [Lattice.over(case.chain, part).best_path() for part in parts]
    assert case.lattice(bounds).best_path().tolist() == np.concatenate(paths).tolist()
    alone = np.concatenate([Lattice.over(case.chain, part).marginals() for part in parts])
    assert case.lattice(bounds).marginals() == pytest.approx(alone)
    shifted = {
        (int(offset) + a, int(offset) + b, label): p
        for offset, part in zip(bounds, parts, strict=False)
        for a, b, label, p in spans_of(Lattice.over(case.chain, part), 0.1)
    }
    assert {(a, b, label): p for a, b, label, p in spans_of(case.lattice(bounds), 0.1)} == pytest.approx(shifted)


@pytest.mark.parametrize("scheme", sorted(TAG_SETS))
def test_long_sentences_and_large_scores_stay_finite(scheme: str) -> None:
    case = Case.drawn(1, 2000, scheme, constrained=True, scale=15.0)
    marginals = case.lattice().marginals()
    assert np.isfinite(marginals).all()
    assert marginals.sum(axis=1) == pytest.approx(np.ones(2000))


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(sorted(TAG_SETS)), st.sampled_from([0.1, 3.0, 15.0]))
def test_sums_over_logarithms_give_the_same_marginals(seed: int, n_tokens: int, scheme: str, scale: float) -> None:
    case = Case.drawn(seed, n_tokens, scheme, constrained=True, scale=scale)
    chain = case.chain
    ahead = [chain.start + case.emissions[0]]
    for row in case.emissions[1:]:
        ahead.append(np.logaddexp.reduce(ahead[-1][:, None] + chain.transitions, axis=0) + row)
    back = [chain.end]
    for row in case.emissions[:0:-1]:
        back.append(np.logaddexp.reduce(chain.transitions + row + back[-1], axis=1))
    joint = np.array(ahead) + np.array(back[::-1])
    log_z = np.logaddexp.reduce(joint, axis=1)
    assert case.lattice().marginals() == pytest.approx(np.exp(joint - log_z[:, None]), abs=1e-9)
    assert case.lattice().log_z.sum() == pytest.approx(log_z[0])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 4.0]))
def test_a_path_taken_for_the_best_without_search_is_the_best(lengths: list[int], seed: int, scale: float) -> None:
    bounds = np.cumsum([0, *lengths])
    case = Case.drawn(seed, int(bounds[-1]), "BIOES", constrained=True, scale=scale)
    searched = viterbi(case.chain, case.emissions, Lines.of(bounds, int(bounds[-1])))
    assert case.lattice(bounds).best_path().tolist() == searched.tolist()


def test_a_sentence_without_tokens() -> None:
    chain = Case.drawn(0, 1, "BIO", constrained=False).chain
    nothing = np.zeros((0, len(BIO)))
    assert Lattice.over(chain, nothing).log_z.sum() == 0.0
    assert Lattice.over(chain, nothing).best_path().shape == (0,)
    assert Lattice.over(chain, nothing).marginals().shape == (0, len(BIO))
    assert spans_of(Lattice.over(chain, nothing), 0.1) == []


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(SettingsError, match="transitions"):
        Chain(("O", "B-AGE"), np.zeros((3, 3)), np.zeros(2), np.zeros(2))
    with pytest.raises(SettingsError, match="bounds"):
        Lattice.over(Case.drawn(0, 3, "BIO", constrained=False).chain, np.zeros((3, len(BIO))), [0, 2])


def table_of(text: str) -> FeatureTable:
    return FeatureSpace(FeatureSettings(split_lines=True)).fit([Document("n-1", text)])[0]


def test_candidates_of_the_best_path_are_chosen_and_others_offered() -> None:
    table = table_of("Seen 3 May 2080\nAge 41")
    size = len(BIO)
    chain = Chain(BIO, np.zeros((size, size)), np.zeros(size), np.zeros(size)).constrained("BIO")
    emissions = np.zeros((len(table), size))
    emissions[:, 0] = 8.0
    for token, tag in ((1, "B-DATE"), (2, "I-DATE"), (5, "B-AGE")):
        emissions[token, BIO.index(tag)] = 16.0
    emissions[3, BIO.index("I-DATE")] = 7.0
    candidates = propose(chain, emissions, [table], [table.sentences], "crf", 0.2)[0]
    found = {(c.span, c.chosen): c.score for c in candidates}
    assert set(found) == {(Span(5, 10, "DATE"), True), (Span(5, 15, "DATE"), False), (Span(20, 22, "AGE"), True)}
    assert found[Span(5, 10, "DATE"), True] + found[Span(5, 15, "DATE"), False] == pytest.approx(1, abs=1e-2)
    assert {c.source for c in candidates} == {"crf"}


@given(st.integers(0, 10**6), st.booleans())
def test_chosen_candidates_are_the_best_path_and_never_overlap(seed: int, constrained: bool) -> None:
    table = table_of("one two three. Four five six\nseven\n\neight nine")
    case = Case.drawn(seed, len(table), "BIOES", constrained)
    candidates = propose(case.chain, case.emissions, [table], [table.sentences], "crf", 0.3)[0]
    chosen = [c.span for c in candidates if c.chosen]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(chosen, 2))
    path = case.lattice(table.sentences).best_path()
    expected = [
        Span(int(table.offsets[0][begin + a]), int(table.offsets[1][begin + b - 1]), label)
        for begin, stop in itertools.pairwise(table.sentences.tolist())
        for a, b, label in decode([BIOES[i] for i in path[begin:stop]], scheme="BIOES")
    ]
    assert chosen == expected
    assert all(c.score >= 0.3 - 1e-9 for c in candidates if not c.chosen)
    assert [c.span for c in candidates] == sorted(c.span for c in candidates)


def test_notes_together_have_the_candidates_of_each_alone() -> None:
    tables = [table_of(text) for text in ("one two three. Four", "", "five six\nseven", "\n \n", "eight nine ten")]
    case = Case.drawn(3, sum(map(len, tables)), "BIOES", constrained=True)
    bounds = [table.sentences for table in tables]
    edges = np.cumsum([0, *map(len, tables)])
    together = propose(case.chain, case.emissions, tables, bounds, "crf", 0.1)
    assert sum(map(len, together)) > 3
    for i, found in enumerate(together):
        (alone,) = propose(
            case.chain, case.emissions[edges[i] : edges[i + 1]], tables[i : i + 1], bounds[i : i + 1], "crf", 0.1
        )
        assert [(c.span, c.chosen) for c in alone] == [(c.span, c.chosen) for c in found]
        assert [c.score for c in alone] == pytest.approx([c.score for c in found])


def test_batches_hold_every_note_once() -> None:
    tables = [table_of("one two three"), table_of(""), table_of("four five"), table_of("six"), table_of("a b c d e f")]
    assert list(batches(tables, 5)) == [slice(0, 3), slice(3, 4), slice(4, 5)]
    assert list(batches(tables, 100)) == [slice(0, 5)]
    assert list(batches(tables, 1)) == [slice(i, i + 1) for i in range(5)]
    assert list(batches([])) == []
