"""Names accepted in one note are found again in others and, if they are PHI, accepted there too."""

import io
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine, Reading
from phistack.ensemble.stacking.candidates import Decision, pools_of
from phistack.ensemble.stacking.repeats import classifier as module
from phistack.ensemble.stacking.repeats.classifier import REPEAT, RepeatClassifier, TrainingNotes
from phistack.ensemble.stacking.repeats.search import Repeat, search
from phistack.ensemble.stacking.repeats.word_counts import Seen, WordCounts
from phistack.ensemble.stacking.stacker import Stacker, StackerSettings
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import train
from phistack.ensemble.views.explanation import print_explanation
from phistack.features.arrays import Floats
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import BundleError
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.ranges import non_overlapping
from phistack.features.saved_files import SavedFiles
from phistack.features.text_words import words_of
from phistack.submodels.base import Candidate
from tests.annotated import annotated, corpus_of

PATIENT, DOCTOR = "PATIENT", "DOCTOR"


def mention(span: Span) -> Decision:
    return Decision(span, 1.0, True, ())


def found_again(seed: Any, text: Any, label: Any = PATIENT, language: str = "en") -> Any:
    """What is found in a note when another note of the patient names `seed`."""
    repeats = search([seed, text], [[mention(Span(0, len(seed), label))], []], language)
    return [text[repeat.span.start : repeat.span.end] for repeat in repeats[1]]


@pytest.mark.parametrize(
    ("seed", "text", "found"),
    [
        ("Dana Smith", "Smith, Dana: fell at home.", ["Smith, Dana"]),
        ("Dana Smith", "DANA SMITH. Mr. Smith fell.", ["DANA SMITH", "Smith"]),
        ("Dana Smith", "spoke with dana, Smithson was out", ["dana"]),
        ("José Núñez", "Nunez and jose\u0301 came", ["Nunez", "jose\u0301"]),
        ("Dr. Anselm van der Berg", "van der Berg agrees; the dr, van and der do not", ["van der Berg"]),
        ("Andrew W. Macdonald", "Macdonald, Andrew W. - 046-81-66", ["Macdonald, Andrew W"]),
        ("Ann O'Brien", "O'Brien's sister Ann\nO'Brien", ["O'Brien", "Ann\nO'Brien"]),
        ("Dana Smith", "Smith. Dana came.", ["Smith", "Dana"]),
        ("Jo Li", "Li and Jo Li came", []),
        ("Dana Smith", "Smith Dana came.", ["Smith", "Dana"]),
        ("Smith, Dana", "Dana Smith came.", ["Dana Smith"]),
        ("Dana Mary Smith", "Smith, Dana came; Smith, Mary", ["Smith, Dana", "Smith", "Mary"]),
        ("Mr Juan Peral", "Juan Peral , Mr Luis Otero; Mr Peral", ["Juan Peral", "Mr Peral"]),
    ],
)
def test_names_are_found_whole_or_in_part_in_any_order_case_and_accents(seed: Any, text: Any, found: Any) -> None:
    assert found_again(seed, text) == found


@pytest.mark.parametrize(
    ("label", "seed", "text", "found"),
    [
        ("MEDICALRECORD", "046-81-66", "MRN 046 81 66, not 046-81-67", ["046 81 66"]),
        ("PHONE", "(218) 209-9807", "call 218-209-9807", ["218-209-9807"]),
        ("EMAIL", "d.smith@example.org", "D.Smith@Example.org wrote", ["D.Smith@Example.org"]),
        ("EMAIL", "d.smith@example.org", "Smith wrote", []),
        ("IDNUM", "12", "12 tablets", []),
        ("DATE", "12/03/2021", "12/03/2021", []),
        ("PER", "Dana Smith", "Smith", ["Smith"]),
    ],
)
def test_numbers_and_addresses_are_searched_for_whole_dates_not(label: Any, seed: Any, text: Any, found: Any) -> None:
    assert found_again(seed, text, label) == found


def test_what_is_marked_is_no_repeat_but_what_goes_beyond_it_is() -> None:
    text = "Smith, Dana was seen. Dana Smith left."
    marked = [mention(Span(7, 11, PATIENT)), mention(Span(22, 32, PATIENT))]
    assert [repeat.span for repeat in search([text], [marked], "en")[0]] == [Span(0, 11, PATIENT)]


WORDS = st.sampled_from(["Dana", "SMITH", "smith", "Berg", "van", "fell", "Núñez", "nunez", "12", "Lee"])


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, min_size=1, max_size=3))
def test_every_whole_part_of_a_name_is_found_and_nothing_else(words: Any, name: Any) -> None:
    """The oracle: folded words compared one by one."""
    seed, text = " ".join(name), " ; ".join(words)
    parts = {fold(w) for w in name if len(w) > 2 and w.isalpha()} - {"van"}
    repeats = search([seed, text], [[mention(Span(0, len(seed), PATIENT))], []], "en")[1]
    expected = [place for place in words_of(text) if fold(text[slice(*place)]) in parts]
    assert [(repeat.span.start, repeat.span.end) for repeat in repeats] == expected


def test_words_are_counted_by_patient_and_the_own_patient_can_be_left_out(tmp_path: Path) -> None:
    counts = WordCounts.of(corpus_of(*["Brown urine; brown stool. [Brown|PATIENT] called."] * 3).documents, "en")
    assert counts.count("brown") == Seen(small=3, outside=3, inside=3)
    assert counts.count("brown", without="100-01") == Seen(2, 2, 2)
    assert counts.count("birchwood") == Seen()
    rare = WordCounts.of(corpus_of("Dr. [Zelkowitz|DOCTOR]", "Seen.").documents, "en")
    assert set(rare.seen) == {"seen"}, "a name of one patient alone is not kept"
    counts.save(tmp_path)
    assert WordCounts.load(SavedFiles.of_folder(tmp_path)) == counts
    (tmp_path / WordCounts.FILE).write_text('{"language": "en", "seen": [1]}')
    with pytest.raises(BundleError, match="word_counts"):
        WordCounts.load(SavedFiles.of_folder(tmp_path))


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "rose brown young grace june will"), ("es", "sol mayo rosa"), ("de", "mai klein"), ("fr", "mai petit")],
)
def test_everyday_words_are_known_as_such_without_training(language: Any, words: Any) -> None:
    counts = WordCounts(language)
    assert all(map(counts.is_word, words.split()))
    assert not any(map(counts.is_word, ["smith", "dana", "garcia", "birchwood", "zelkowitz"]))


LAST = "Selwyn Alder Larkin Osgood Penhale Rusk Tolliver Vance Wexford Yardley Zeller Ingram".split()
FIRST = "Dana Marisa Kathryn Austin Connor Brenda Derek Nadia Oscar Petra Quentin Rhoda".split()


def _tables(documents: Any) -> Any:
    return FeatureSpace(FeatureSettings()).fit(documents)


def _decided(table: Any, spans: Any) -> Any:
    return [Decision(span, 0.95, True, (Candidate(span, "crf", 0.9),)) for span in sorted(spans)]


def _half_found(n: int = 48) -> Any:
    """Notes whose header has the name found below; their `Will` is a word although a doctor has that name.

    :returns: tables with the gold spans, and decisions in which the header was missed.
    """
    texts = (
        f"[{last}, {first}|PATIENT]: seen. Patient [{first} {last}|PATIENT] fell. Dr. [Will Grace|DOCTOR] came. "
        "Will call. grace period."
        for first, last in ((FIRST[i % 12], LAST[(i * 5 + i // 12) % 12]) for i in range(n))
    )
    tables = _tables(corpus_of(*texts).documents)
    return tables, [_decided(table, table.document.spans[1:]) for table in tables]


def _folds(n: Any, parts: int = 4) -> Any:
    return [list(range(part, n, parts)) for part in range(parts)]


def _by_rule(language: str = "en") -> RepeatClassifier:
    classifier = RepeatClassifier(WordCounts(language))
    classifier.svm_, classifier.threshold_ = None, 0.5
    return classifier


def _accepted(decisions: Any) -> Any:
    return [[d.span for d in note if d.accepted] for note in decisions]


def test_a_name_that_was_missed_in_the_header_is_accepted_and_words_of_the_language_are_not() -> None:
    tables, decisions = _half_found()
    classifier = RepeatClassifier(WordCounts.of((t.document for t in tables), "en")).fit(tables, decisions, _folds(48))
    assert classifier.svm_ is not None
    assert _accepted(classifier.out_of_fold_) == [list(table.document.spans) for table in tables]
    assert _accepted(classifier.extended(tables[:2], decisions[:2])) == [list(t.document.spans) for t in tables[:2]]
    refused = [d for d in classifier.out_of_fold_[0] if not d.accepted]
    assert [vote.source for d in refused for vote in d.votes] == [REPEAT] * 2


def test_with_too_few_repeats_a_rule_decides_and_where_it_does_harm_nothing_is_accepted() -> None:
    tables, decisions = _half_found(6)
    counts = WordCounts.of((t.document for t in tables), "en")
    classifier = RepeatClassifier(counts).fit(tables, decisions, _folds(6, 2))
    assert classifier.svm_ is None
    assert _accepted(classifier.out_of_fold_) == [list(table.document.spans) for table in tables]
    unmarked = _tables([t.document.with_spans(t.document.spans[1:]) for t in tables])
    classifier = RepeatClassifier(counts).fit(unmarked, decisions, _folds(6, 2))
    assert _accepted(classifier.out_of_fold_) == _accepted(decisions)


def test_repeats_in_training_are_judged_by_machines_that_never_saw_the_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, decisions = _half_found()
    seen = []

    def spy(rows: Any, right: Any, folds: Any, kernel: Any) -> Any:
        seen.append([list(fold) for fold in folds])
        return original(rows, right, folds, kernel)

    original = module.machines_out_of_fold  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "machines_out_of_fold", spy)
    counts = WordCounts.of((t.document for t in tables), "en")
    RepeatClassifier(counts).fit(tables, decisions, _folds(48))
    assert seen and all(folds == _folds(48) for folds in seen)
    place = RepeatClassifier(counts)._places(tables[:1], decisions[:1], is_training=True)[0][0]
    assert place.patient == tables[0].document.group, "its own notes must not count as known words"


def test_the_notes_of_a_patient_are_searched_together_and_those_of_others_apart() -> None:
    texts = ["Patient Dana Selwyn fell.", "Selwyn, Dana: better.", "Selwyn sang."]
    ids = ["100-01", "100-02", "101-01"]
    tables = _tables([Document(id, text, (), id[:3]) for id, text in zip(ids, texts, strict=True)])
    decisions = [_decided(tables[0], [Span(8, 19, PATIENT)]), [], []]
    classifier = _by_rule()
    first, second, other = classifier.extended(tables, decisions)
    assert [d.span for d in second if d.accepted] == [Span(0, 12, PATIENT)]
    assert "another note" in second[0].votes[0].evidence and "Selwyn" not in second[0].votes[0].evidence
    assert (first, other) == (decisions[0], [])


def test_an_explanation_tells_that_a_name_is_said_again_and_where_without_its_text() -> None:
    text = "Selwyn, Dana fell. Patient Dana Selwyn left."
    table = _tables([Document("100-01", text)])[0]
    classifier = _by_rule()
    decisions = classifier.extended([table], [_decided(table, [Span(27, 38, PATIENT)])])[0]
    console = Console(width=140, record=True, file=io.StringIO())
    print_explanation(Reading(table.document, table.view, decisions=decisions), console)
    shown = console.export_text()
    assert "repeated mention 0.950: all of what is at 27; mentions: 1" in shown and "Selwyn" not in shown


def test_an_accepted_repeat_takes_the_place_of_what_it_holds() -> None:
    text = "Selwyn, Dana fell. Patient Dana Selwyn left."
    table = _tables([Document("100-01", text)])[0]
    decisions = [_decided(table, [Span(8, 12, PATIENT), Span(27, 38, PATIENT)])]
    classifier = _by_rule()
    assert _accepted(classifier.extended([table], decisions)) == [[Span(0, 12, PATIENT), Span(27, 38, PATIENT)]]


def test_in_a_list_of_names_no_accepted_name_is_lost_to_a_repeat_of_its_words() -> None:
    """As in court decisions: each name with its title, and commas between them."""
    note = annotated("[Sr . Juan Peral|PER] , [Sr . Luis Otero|PER] , [Sr . Juan Soto|PER] , [Sr . Peral Luna|PER] .")
    table = _tables([note])[0]
    decisions = [_decided(table, note.spans)]
    assert _accepted(_by_rule("es").extended([table], decisions)) == [[*note.spans]]


@pytest.mark.parametrize(("label", "is_replaced"), [(PATIENT, False), (DOCTOR, True)])
def test_a_repeat_takes_a_part_only_of_accepted_spans_of_other_labels(label: str, is_replaced: bool) -> None:
    text = "Patient Dana Selwyn left. Dr. Dana Selwyn Ames"
    table = _tables([Document("100-01", text)])[0]
    seed, other = Span(8, 19, PATIENT), Span(35, len(text), label)
    classifier = _by_rule()
    inner = Span(30, 41, PATIENT)
    decisions = [[*_decided(table, [seed]), Decision(other, 0.9, True, ())]]
    assert _accepted(classifier.extended([table], decisions)) == [[seed, inner if is_replaced else other]]


def _corpus() -> Any:
    """Two notes for each patient; the second names the patient in a header that no submodel here can know."""
    documents = []
    for i, (first, last) in enumerate(zip(FIRST, LAST, strict=True)):
        name, date = f"[{first} {last}|PATIENT]", f"[0{i % 9 + 1}/12/2019|DATE]"
        seen = f"Patient: {name}\nSeen by Dr. [{last}|DOCTOR] on {date}.\nPlan: rest."
        documents.append(annotated(seen, f"{100 + i}-01"))
        documents.append(annotated(f"Still in pain.\nleft word with {name} at noon", f"{100 + i}-02"))
    return Corpus(tuple(documents), LabelSet.named("i2b2-2014"))


SETTINGS = replace(
    EngineSettings(folds=2).only(("regex", "tbed", "crf")),
    submodels={"regex": {}, "tbed": {}, "crf": {"max_iterations": 10}},
)


@pytest.fixture(scope="module")
def training() -> Any:
    return train(_corpus(), SETTINGS)


def _answers(engine: Any, documents: Any) -> Any:
    return [[(d.span, round(d.probability, 9), d.accepted) for d in note] for note in engine.decide(documents)]


def test_a_bundle_keeps_what_repeats_need_and_an_old_one_does_without(training: Any, tmp_path: Path) -> None:
    engine = training.engine
    save_bundle(engine, tmp_path / "engine", self_test=self_test(engine), trained_on={}, figures={})
    again = load_bundle(tmp_path / "engine")
    documents = _corpus().documents
    assert _answers(again, documents) == _answers(engine, documents)
    crf = _answers(engine.only(["crf"]), documents)
    assert _answers(again.only(["crf"]), documents) == _answers(
        load_bundle(tmp_path / "engine", only=["crf"]), documents
    )
    assert crf == _answers(again.only(["crf"]), documents)
    stacker = Stacker(replace(engine.stacker.settings))
    stacker.__dict__ |= {**engine.stacker.__dict__, "repeats_": None}
    old = Engine(engine.label_set, engine.space, engine.submodels, stacker)
    save_bundle(old, tmp_path / "old", self_test=self_test(old), trained_on={}, figures={})
    assert not (tmp_path / "old" / "word_counts.json").exists()
    assert _answers(load_bundle(tmp_path / "old"), documents) == _answers(old, documents)


@pytest.mark.parametrize(("others", "characters"), [(63, 63 * len("Nothing.") + 1), (1023, 400_000)])
def test_the_notes_of_a_patient_stay_together_whatever_is_asked_at_once(
    training: Any, monkeypatch: pytest.MonkeyPatch, others: int, characters: int
) -> None:
    """More than the engine takes at once: the first of a patient's notes reaches the limit of characters or notes."""
    monkeypatch.setattr("phistack.ensemble.engine.engine._CHARACTERS_AT_ONCE", characters)
    filling = [Document(f"x{i}", "Nothing.") for i in range(others)]
    documents = _corpus().documents[:2]
    alone = _answers(training.engine, documents)
    assert _answers(training.engine, [*filling, *documents])[others:] == alone


def test_seeking_again_can_be_switched_off(training: Any) -> None:
    engine = training.engine
    tables = engine.space.tables(_corpus().documents)
    pools = pools_of(tables, training.out_of_fold, engine.names)
    stacker = Stacker(StackerSettings(seek_again=False)).fit(tables, pools, sources=engine.names)
    assert stacker.repeats_ is None and stacker.counts is None
    said = [vote.source for note in stacker.decide_all(tables, pools) for d in note for vote in d.votes]
    assert REPEAT not in said
    assert replace(SETTINGS, stacker=StackerSettings(seek_again=False)).digest != SETTINGS.digest


@given(st.text(st.sampled_from("aé1_ .\u0301\u0308-"), max_size=20))
def test_words_are_letters_and_digits_each_with_its_accents(text: Any) -> None:
    expected = [match.span() for match in re.finditer("(?:[^\\W_][\u0300-\u036f]*)+", text)]
    assert words_of(text) == expected


def test_a_word_of_many_megabytes_takes_no_step_for_each_character() -> None:
    begin = time.process_time()
    assert words_of("x" * 10_000_000) == [(0, 10_000_000)]
    assert time.process_time() - begin < 0.3


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


def _left(
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
            found = _left(set(gold), set(accepted), of_note, value, threshold)
            n_right += len(found & set(gold))
            n_all += len(found) + len(gold)
        expected.append(2 * n_right / n_all if n_all else 0.0)
    scored = TrainingNotes([set(note[0]) for note in given_notes], [set(note[1]) for note in given_notes], repeats)
    assert scored.f1(values, THRESHOLDS).tolist() == expected
