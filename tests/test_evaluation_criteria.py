"""Every criterion against a plain transcription of how the shared tasks' scorers count."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.evaluation import CRITERIA, Report, Resampling, evaluate
from phistack.features.documents import Corpus, Document, Span
from phistack.features.labels import LabelSet

LABELS = LabelSet(
    "small",
    dict(PATIENT="NAME", DOCTOR="NAME", CITY="LOCATION", DATE="DATE", IDNUM="ID", SSN="ID", OTHER="PHI"),
    frozenset({"PATIENT", "CITY", "DATE", "IDNUM", "SSN"}),
)
ALPHABET = "aZ9é .,-\n\u00d1\U0001d4b3"


def corpora(text: str, gold: list[Span], system: list[Span], labels: LabelSet = LABELS) -> tuple[Corpus, Corpus]:
    return tuple(Corpus((Document("110-01", text, tuple(spans)),), labels) for spans in (gold, system))  # type: ignore


def score(text: str, gold: list[Span], system: list[Span]) -> Report:
    return evaluate(*corpora(text, gold, system), sentence_counts={"110-01": 1}, resampling=Resampling(draws=1))


def counts(text: str, gold: list[Span], system: list[Span], criterion: str) -> tuple[int, int, int]:
    return tuple(score(text, gold, system).score(criterion).counts)  # type: ignore[return-value]


# --- the oracle: tuples in lists, loops, no code of ours -------------------------------------------------------------


def oracle_sets(text: str, gold: list[Span], system: list[Span], criterion: str) -> tuple[int, ...]:
    """True positives, false positives and false negatives, from the description of each criterion."""
    words = criterion.split()
    sides = []
    for spans in (gold, system):
        items = []
        for span in spans:
            if "hipaa" in words and span.label not in LABELS.hipaa_labels:
                continue
            if "hipaa-script" in words and (span.label not in LABELS.hipaa_labels or span.label == "IDNUM"):
                continue
            tag = (
                ("", "")
                if words[0] != "conll" and {"binary", "spans"} & set(words)
                else (LABELS.categories[span.label], span.label)
            )
            for start, end in oracle_offsets(text, span, words):
                item = (*tag, start, end)
                if item not in items:
                    items.append(item)
        sides.append(oracle_merge(text, items) if words[-1] == "merged" else items)
    gold_items, system_items = sides
    tolerance = 2 if "relaxed" in words else 0
    found = [g for g in gold_items if any(same(g, s, tolerance) for s in system_items)]
    right = [s for s in system_items if any(same(g, s, tolerance) for g in gold_items)]
    return len(found), len(system_items) - len(right), len(gold_items) - len(found)


def same(one: tuple[str, str, int, int], other: tuple[str, str, int, int], tolerance: int) -> bool:
    return one[:3] == other[:3] and abs(one[3] - other[3]) <= tolerance


def oracle_offsets(text: str, span: Span, words: list[str]) -> list[tuple[int, int]]:
    if words[-1] == "token":
        pieces = re.split("([a-zA-Z0-9]+)", text[span.start : span.end])
        if len(pieces) == 1:
            return [(span.end, span.end)]
        offsets, position = [], span.start
        for index, piece in enumerate(pieces):
            if index % 2:
                offsets.append((position, position + len(piece)))
            position += len(piece)
        return offsets
    if words[0] == "conll":
        tokens = [m.span() for m in re.finditer(r"[^\W\d_]+|\d+|\S", text)]
        before = [t for t in tokens if t[1] <= span.start]
        upto = [t for t in tokens if t[0] < span.end]
        return [(len(before), len(upto))]
    return [(span.start, span.end)]


def oracle_merge(text: str, items: list[tuple[str, str, int, int]]) -> list[tuple[str, str, int, int]]:
    merged = []
    for _, _, start, end in sorted(items, key=lambda item: item[2:]):
        if merged and all(not c.isalnum() for c in text[merged[-1][1] : start]):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return [("", "", *offsets) for offsets in merged]


@st.composite
def cases(draw: st.DrawFn) -> Any:
    """A text and two lists of spans, with at most one span of a type at each start."""
    text = draw(st.text(ALPHABET, min_size=1, max_size=30))

    def spans() -> Any:
        start = st.integers(0, len(text) - 1)
        lengths, labels = st.integers(1, 8), st.sampled_from(LABELS.labels)
        drawn = draw(st.lists(st.tuples(start, lengths, labels), max_size=6, unique_by=lambda s: (s[0], s[2])))
        return [Span(s, min(len(text), s + n), label) for s, n, label in drawn]

    return text, spans(), spans()


@given(cases())
def test_every_set_criterion_counts_as_its_description_says(case: tuple[str, list[Span], list[Span]]) -> None:
    report = score(*case)
    for criterion in CRITERIA:
        if criterion.name not in ("meddocan spans merged-script", "i2b2 binary-script strict"):
            expected = oracle_sets(*case, criterion.name)
            assert tuple(report.score(criterion.name).counts) == expected, criterion.name


class FuzzyTag:
    """A PHI as the i2b2 script compares it under its relaxed criterion: hashed without its end."""

    def __init__(self, span: Span) -> None:
        self.key, self.end = (LABELS.categories[span.label], span.start, span.label), span.end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FuzzyTag) and self.key == other.key and abs(self.end - other.end) <= 2

    def __hash__(self) -> int:
        return hash((*self.key, True))


def oracle_binary_script(spans: list[Span]) -> set[tuple[int | str, ...]]:
    """The set of the i2b2 script after it reduced the key of every element class except `PHI` itself."""
    keys = set()
    for span in spans:
        element = LABELS.categories[span.label]
        whole = {"name": element, "start": span.start, "end": span.end, "TYPE": span.label}
        key = ["name", "start", "end", "TYPE"] if element == "PHI" else ["start", "end"]
        keys.add(tuple(whole[name] for name in key))
    return keys  # type: ignore[return-value]


@given(cases())
def test_binary_strict_of_the_script_leaves_elements_named_phi_typed(case: tuple[str, list[Span], list[Span]]) -> None:
    _, gold, system = case
    one, other = oracle_binary_script(gold), oracle_binary_script(system)
    assert counts(*case, "i2b2 binary-script strict") == (len(one & other), len(other - one), len(one - other))


def test_binary_strict_by_the_script_and_by_its_description() -> None:
    gold, system = [Span(0, 5, "OTHER"), Span(6, 9, "DOCTOR")], [Span(0, 5, "CITY"), Span(6, 9, "PATIENT")]
    assert counts("Smith Ana", gold, system, "i2b2 binary-script strict") == (1, 1, 1)
    assert counts("Smith Ana", gold, system, "i2b2 binary strict") == (2, 0, 0)
    assert counts("Smith Ana", gold[:1], gold[:1], "i2b2 binary-script strict") == (1, 0, 0)


def test_each_figure_of_an_official_script_is_one_row_that_stands_before_ours() -> None:
    official = [criterion.official for criterion in CRITERIA if criterion.official]
    i2b2 = ["Token", "Strict", "Relaxed", "HIPAA Token", "HIPAA Strict", "HIPAA Relaxed"]
    i2b2 += ["Binary Token", "Binary Strict", "Binary HIPAA Token", "Binary HIPAA Strict"]
    assert official == [*i2b2, "Subtrack 1 [NER]", "Subtrack 2 [strict]", "Subtrack 2 [merged]"]
    names = [criterion.name for criterion in CRITERIA]
    for name in names:
        if "-script" in name:
            assert names.index(name) < names.index(name.replace("-script", ""))


CROWDED = st.lists(st.builds(lambda s, n: Span(s, s + n, "CITY"), st.integers(0, 1), st.integers(1, 9)), max_size=6)


@given(CROWDED, CROWDED)
def test_relaxed_sets_behave_as_those_of_the_script_where_tags_start_alike(
    gold: list[Span], system: list[Span]
) -> None:
    one, other = ({FuzzyTag(span) for span in sorted(spans)} for spans in (gold, system))
    expected = len(one & other), len(other - one), len(one - other)
    assert counts("a" * 12, gold, system, "i2b2 relaxed") == expected


def oracle_merged_script(text: str, gold: list[Span], system: list[Span]) -> tuple[int, ...]:
    """MEDDOCAN's script: hits on plain and joined spans, which forgive the plain spans inside."""
    plain, joined = [], []
    for spans in (gold, system):
        offsets = sorted({(s.start, s.end) for s in spans})
        stack = []
        for start, end in offsets:
            if stack and not [c for c in text[stack[-1][1] : start] if c.isalnum()]:
                stack[-1] = (stack[-1][0], end)
            else:
                stack.append((start, end))
        plain.append(offsets)
        joined.append(stack)
    hits = [h for h in plain[0] if h in plain[1]]
    hits += [h for h in joined[0] if h in joined[1] and h not in hits]

    def stray(own: Any, other: Any) -> Any:
        return [s for s in own if s not in other and not any(h[0] <= s[0] and s[1] <= h[1] for h in hits)]

    return len(set(hits)), len(stray(plain[1], plain[0])), len(stray(plain[0], plain[1]))


@given(cases())
def test_merged_script_counts_as_the_script_does(case: tuple[str, list[Span], list[Span]]) -> None:
    report = score(*case)
    assert tuple(report.score("meddocan spans merged-script").counts) == oracle_merged_script(*case)


@given(cases())
def test_a_laxer_criterion_never_scores_less(case: tuple[str, list[Span], list[Span]]) -> None:
    # Two types on the same offsets are one item without types, so they are left out here.
    text, *sides = case
    report = score(text, *(list({(s.start, s.end): s for s in spans}.values()) for spans in sides))
    for strict, lax in (
        ("i2b2 strict", "i2b2 relaxed"),
        ("i2b2 strict", "meddocan spans strict"),
        ("i2b2 strict", "i2b2 binary strict"),
        ("i2b2 hipaa strict", "i2b2 hipaa relaxed"),
    ):
        assert report.score(strict).f1.value <= report.score(lax).f1.value + 1e-12


@given(cases())
def test_exchanging_gold_and_system_exchanges_precision_and_recall(case: tuple[str, list[Span], list[Span]]) -> None:
    text, gold, system = case
    there, back = score(text, gold, system), score(text, system, gold)
    for criterion in there.criteria:
        mirrored = back.score(criterion.name)
        assert (criterion.precision, criterion.recall) == (mirrored.recall, mirrored.precision)
        assert criterion.f1 == mirrored.f1


# --- by hand ---------------------------------------------------------------------------------------------------------


CITY, NESTED = [Span(0, 7, "CITY")], [Span(0, 4, "CITY"), Span(0, 6, "CITY")]
PAIR = [Span(0, 3, "PATIENT"), Span(5, 8, "DOCTOR")]
IDS = [Span(0, 5, "DOCTOR"), Span(6, 10, "IDNUM"), Span(11, 15, "SSN")]
SMITH = [Span(4, 9, "DOCTOR")]
BY_HAND: dict[str, list[tuple[str, list[Span], list[Span], str, tuple[int, ...]]]] = {
    "a hit of the wrong type is wrong and missed": [
        ("Dr. Smith", SMITH, [Span(4, 9, "PATIENT")], "i2b2 strict", (0, 1, 1)),
        ("Dr. Smith", SMITH, [Span(4, 9, "PATIENT")], "i2b2 binary strict", (1, 0, 0)),
    ],
    "duplicates count once": [("Dr. Smith", SMITH * 3, SMITH * 2, "i2b2 strict", (1, 0, 0))],
    "relaxed forgives two characters at the end": [
        ("abcdefghij", CITY, [Span(0, end, "CITY")], "i2b2 relaxed", expected)
        for end, expected in ((4, (0, 1, 1)), (5, (1, 0, 0)), (9, (1, 0, 0)), (10, (0, 1, 1)))
    ],
    "relaxed forgives neither start nor type": [
        ("abcdefgh", CITY, [Span(1, 7, "CITY")], "i2b2 relaxed", (0, 1, 1)),
        ("abcdefgh", CITY, [Span(0, 7, "DATE")], "i2b2 relaxed", (0, 1, 1)),
    ],
    "relaxed sets hold only the first of two tags within tolerance": [
        ("abcdefghijkl", NESTED, [], "i2b2 relaxed", (0, 0, 1)),
        ("abcdefghijkl", [*NESTED, Span(0, 9, "CITY")], CITY, "i2b2 relaxed", (1, 0, 1)),
        ("abcdefghijkl", [Span(0, 4, "CITY"), *CITY], [Span(0, 5, "CITY")], "i2b2 relaxed", (1, 0, 0)),
    ],
    "tokens are runs of ASCII letters and digits, one at least": [
        ("José O'Neil-Núñez", [Span(0, 17, "PATIENT")], [Span(5, 17, "PATIENT")], "i2b2 token", (4, 0, 1)),
        ("Ñ é", [Span(0, 1, "PATIENT")], [], "i2b2 token", (0, 0, 1)),
    ],
    "HIPAA drops other types, and the script IDNUM": [
        ("Smith 1234 5678", IDS, [], "i2b2 strict", (0, 0, 3)),
        ("Smith 1234 5678", IDS, [], "i2b2 hipaa strict", (0, 0, 2)),
        ("Smith 1234 5678", IDS, [], "i2b2 hipaa-script strict", (0, 0, 1)),
    ],
    "merged spans join over punctuation but not over letters of any script": [
        ("Ana, Paz", PAIR, [Span(0, 8, "PATIENT")], "meddocan spans merged", (1, 0, 0)),
        ("Anañ Paz", PAIR, [Span(0, 8, "PATIENT")], "meddocan spans merged", (0, 1, 2)),
        ("Ana, Paz", PAIR, [Span(0, 8, "PATIENT")], "meddocan spans strict", (0, 1, 2)),
    ],
    "the script counts joined and plain hits": [
        ("Ana, Paz", PAIR, PAIR, "meddocan spans merged", (1, 0, 0)),
        ("Ana, Paz", PAIR, PAIR, "meddocan spans merged-script", (3, 0, 0)),
    ],
    "CoNLL compares the tokens that a span touches": [
        ("48-year-old", [Span(0, 2, "DATE")], [Span(0, 1, "DATE")], "conll exact", (1, 0, 0)),
        ("48-year-old", [Span(0, 2, "DATE")], [Span(0, 3, "DATE")], "conll exact", (0, 1, 1)),
    ],
}


@pytest.mark.parametrize("case", BY_HAND)
def test_counts_by_hand(case: str) -> None:
    for text, gold, system, criterion, expected in BY_HAND[case]:
        assert counts(text, gold, system, criterion) == expected


def test_labels_compare_without_regard_to_case() -> None:
    lower = LabelSet("small", {"doctor": "NAME"})
    gold, _ = corpora("Smith", [Span(0, 5, "DOCTOR")], [])
    _, system = corpora("Smith", [], [Span(0, 5, "doctor")], lower)
    assert evaluate(gold, system, resampling=Resampling(draws=1)).score("i2b2 strict").f1.value == 1.0


def test_hipaa_rows_are_left_out_where_no_label_is_listed() -> None:
    plain = LabelSet("plain", {"DOCTOR": "NAME"})
    report = evaluate(*corpora("Smith", [Span(0, 5, "DOCTOR")], [], plain), resampling=Resampling(draws=1))
    assert [c.name for c in report.criteria] == [c.name for c in CRITERIA if "hipaa" not in c.name]
    listed = LabelSet("listed", {"SSN": "ID"}, frozenset({"SSN"}))
    report = evaluate(*corpora("12345", [Span(0, 5, "SSN")], [], listed), resampling=Resampling(draws=1))
    assert [c.name for c in report.criteria] == [c.name for c in CRITERIA if "hipaa-script" not in c.name]
