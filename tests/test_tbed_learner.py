"""The learner and the tagger, with NLTK's Brill tagger as the oracle."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tag import brill
from nltk.tag.brill_trainer import BrillTaggerTrainer
from nltk.tbl import Template as NltkTemplate
from nltk.tbl.rule import Rule as NltkRule

from phistack.ensemble.synthesis import synthesize
from phistack.features.columns.settings import COLUMN_GROUPS, FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document
from phistack.features.errors import SettingsError, TrainingError
from phistack.tbed.grid import Notes
from phistack.tbed.learner import Learned, learn
from phistack.tbed.rules import Rule, parse_rules
from phistack.tbed.search import LearnerSettings
from phistack.tbed.tagger import Tagger, score_rules
from phistack.tbed.templates import Atom, RuleTemplate, named_templates, read_templates

WORDS_ONLY = FeatureSettings(without=tuple(group for group in COLUMN_GROUPS if group != "words"), split_lines=True)


def tables_of(*texts: str) -> list[FeatureTable]:
    documents = [Document(f"note-{i}", text, group=f"patient-{i // 2}") for i, text in enumerate(texts)]
    return FeatureSpace(WORDS_ONLY).fit(documents)


class Given:
    """An initial tagger for NLTK that returns given tags, sentence by sentence."""

    def __init__(self, tags: Sequence[Sequence[str]]) -> None:
        self._tags = iter(tags)

    def tag(self, words: Sequence[str]) -> list[tuple[str, str]]:
        return list(zip(words, next(self._tags), strict=True))


def sentences(notes: Notes, tags: Sequence[Sequence[str]]) -> Iterator[tuple[list[str], list[str]]]:
    for table, of_note in zip(notes.tables, tags, strict=True):
        for a, b in pairwise(table.sentences.tolist()):
            yield table.words[a:b], list(of_note[a:b])


def nltk_learns(notes: Notes, templates: Sequence[NltkTemplate], max_rules: int, min_gain: int) -> Learned:
    """What NLTK's deterministic trainer learns, in our notation."""
    gold = [list(zip(words, tags, strict=True)) for words, tags in sentences(notes, notes.gold)]
    initial = [tags for _, tags in sentences(notes, notes.initial)]
    trainer = BrillTaggerTrainer(Given(initial), list(templates), deterministic=True)
    tagger = trainer.train(gold, max_rules=max_rules, min_score=min_gain)
    scores = tagger.train_stats("rulescores")
    errors = [tagger.train_stats("initialerrors")]
    for score in scores:
        errors.append(errors[-1] - score)
    rules = [in_our_words(rule, score) for rule, score in zip(tagger.rules(), scores, strict=True)]
    return Learned(tuple(rules), tuple(errors))


def in_our_words(rule: Any, gain: int) -> Rule:
    names = {"Word": "word", "Pos": "tag"}
    conditions = tuple(
        (Atom(names[f.PROPERTY_NAME], f.positions[0], f.positions[-1]), value) for f, value in rule._conditions
    )
    return Rule(rule.original_tag, rule.replacement_tag, conditions, gain)


def nltk_tags(notes: Notes, learned: Sequence[Rule]) -> list[list[str]]:
    """The tags that NLTK's tagger gives with NLTK's own rules."""
    names = {"word": brill.Word, "tag": brill.Pos}
    rules = [
        NltkRule("000", r.before, r.after, [(names[a.column](a.first, a.last), v) for a, v in r.conditions])
        for r in learned
    ]
    initial = [tags for _, tags in sentences(notes, notes.initial)]
    tagger = brill.BrillTagger(Given(initial), rules)
    return [[tag for _, tag in tagger.tag(words)] for words, _ in sentences(notes, notes.gold)]


def same_as_nltk(notes: Notes, name: str, *, max_rules: int, min_gain: int) -> None:
    """Our rules, their gains, the errors after each, and the tags are those of NLTK."""
    NltkTemplate.ALLTEMPLATES.clear()
    expected = nltk_learns(notes, getattr(brill, name)(), max_rules, min_gain)
    settings = LearnerSettings(named_templates(name), max_rules=max_rules, min_gain=min_gain, edges=False)
    found = learn(notes, settings)
    assert [(str(rule), rule.gain) for rule in found.rules] == [(str(rule), rule.gain) for rule in expected.rules]
    assert found.errors == expected.errors
    tagged = [tagged.tags for tagged in Tagger(found.rules).tag(notes.tables, notes.initial)]
    assert [tags for _, tags in sentences(notes, tagged)] == nltk_tags(notes, expected.rules)
    wrong = sum(a != b for x, y in zip(tagged, notes.gold, strict=True) for a, b in zip(x, y, strict=True))
    assert wrong == found.errors[-1]


@st.composite
def random_notes(draw: st.DrawFn) -> Notes:
    words = st.lists(st.sampled_from(["a", "b", "it's", "É", "7", "."]), min_size=1, max_size=12)
    lines = draw(st.lists(words, min_size=1, max_size=6))
    tables = tables_of(*["\n".join(" ".join(line) for line in lines[i::2]) for i in range(2)])
    tags = st.sampled_from(["O", "B-X", "I-X", "B-Y"])
    initial, gold = ([draw(st.lists(tags, min_size=len(t), max_size=len(t))) for t in tables] for _ in range(2))
    return Notes(tables, initial, gold)


@settings(max_examples=15)
@given(random_notes(), st.sampled_from(["brill24", "fntbl37"]), st.integers(1, 3))
def test_random_notes_give_the_rules_of_nltk(notes: Notes, name: str, min_gain: int) -> None:
    same_as_nltk(notes, name, max_rules=12, min_gain=min_gain)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brill24", "fntbl37"])
def test_notes_of_the_demo_give_the_rules_of_nltk(name: str) -> None:
    same_as_nltk(untagged(synthesize(10, seed=0).documents), name, max_rules=10, min_gain=2)


def untagged(documents: Sequence[Document]) -> Notes:
    """Notes whose initial tags are all outside."""
    tables = FeatureSpace(WORDS_ONLY).fit(documents)
    return Notes(tables, [["O"] * len(table) for table in tables], [table.tags() for table in tables])


def naive(notes: Notes, templates: Sequence[RuleTemplate], max_rules: int) -> list[tuple[str, int]]:
    """Brill's algorithm by the book, slow, with each note as one sequence: rules with their gains."""
    tags = [list(of_note) for of_note in notes.initial]
    ids = [[table.space.values("word")[i] for i in table.column("word")] for table in notes.tables]
    learned = []
    while len(learned) < max_rules:
        gains: dict[tuple[Any, ...], int] = {}
        for number, template in enumerate(templates):
            for note, gold in enumerate(notes.gold):
                for place, right in enumerate(gold):
                    seen = [
                        {value_at(ids[note] if a.column == "word" else tags[note], place + o) for o in a.offsets}
                        for a in template.atoms
                    ]
                    for values in combinations(seen):
                        key = (number, tags[note][place], values)
                        if tags[note][place] != right:
                            gains[(*key, right)] = gains.get((*key, right), 0) + 1
                        else:
                            gains[(*key, None)] = gains.get((*key, None), 0) - 1
        scores = {key: good + gains.get((*key[:3], None), 0) for key, good in gains.items() if key[3] is not None}
        best = max(scores.values(), default=0)
        if best < 1:
            break
        number, before, values, after = min(
            (key for key in scores if scores[key] == best),
            key=lambda key: (key[0], repr(key[1]), repr(key[3]), [repr(value) for value in key[2]]),
        )
        rule = Rule(before, after, tuple(zip(templates[number].atoms, values, strict=True)))
        learned.append((str(rule), best))
        tags = [
            [after if tag == before and holds(rule, ids[note], of_note, i) else tag for i, tag in enumerate(of_note)]
            for note, of_note in enumerate(tags)
        ]
    return learned


def value_at(row: Sequence[str], place: int) -> str | None:
    return row[place] if 0 <= place < len(row) else None


def combinations(seen: Sequence[set[str | None]]) -> list[tuple[str | None, ...]]:
    found: list[tuple[str | None, ...]] = [()]
    for values in seen:
        found = [(*front, value) for front in found for value in values]
    return found


def holds(rule: Rule, words: Sequence[str], tags: Sequence[str], place: int) -> bool:
    return all(
        value in {value_at(words if atom.column == "word" else tags, place + o) for o in atom.offsets}
        for atom, value in rule.conditions
    )


@settings(max_examples=12)
@given(random_notes())
def test_with_edges_and_whole_notes_the_rules_are_those_of_the_book(notes: Notes) -> None:
    templates = read_templates("word[0]\ntag[-1..1] & word[-2..2]\n{tag, word}[{-1, 1}] & word[0]\ntag[-2] & tag[2]")
    settings = LearnerSettings(templates, max_rules=5, min_gain=1, within="note")
    found = [(str(rule), rule.gain) for rule in learn(notes, settings).rules]
    assert found == naive(notes, templates, 5)


def doctors() -> Notes:
    tables = tables_of(*["seen by dr smith today", "dr jones was in", "the dr said so", "dr smith came"])
    gold = [["B-DOCTOR" if w in ("smith", "jones") else "O" for w in table.words] for table in tables]
    return Notes(tables, [["O"] * len(table) for table in tables], gold)


def test_a_rule_has_a_record_that_people_can_follow() -> None:
    notes = doctors()
    learned = learn(notes, LearnerSettings(read_templates("word[-1]\nword[0]"), min_gain=1))
    assert str(learned.rules[0]) == 'O -> B-DOCTOR if word[-1] = "dr"'
    rule = learned.rules[0]
    assert (rule.gain, rule.broken, rule.example, rule.off) == (2, 1, ("note-0", 11), False)
    assert rule.sentence() == 'O becomes B-DOCTOR where the word before is "dr"'
    assert learned.errors[:2] == (3, 1)


def test_the_tagger_says_which_rule_changed_a_tag_last_and_leaves_out_rules_that_are_off() -> None:
    notes = doctors()
    text = 'O -> B-DOCTOR if word[-1] = "dr"\noff B-DOCTOR -> O\nB-DOCTOR -> O if word[0] = "said"\n'
    rules = parse_rules(text).rules
    tagged = Tagger(rules).tag(notes.tables, notes.initial)
    assert [t.tags for t in tagged] == notes.gold
    assert tagged[0].changed_by == [0, 0, 0, 1, 0]
    assert tagged[2].changed_by == [0, 0, 3, 0]
    scores = score_rules(rules, notes)
    assert [(s.corrected, s.broken, s.moved, s.gain) for s in scores] == [(3, 1, 0, 2), (0, 0, 0, 0), (1, 0, 0, 1)]


def test_rules_apply_to_all_tokens_at_once() -> None:
    tables = tables_of("a a a a")
    rules = parse_rules('O -> B-X if tag[-1] = "B-X"\n').rules
    assert Tagger(rules).tag(tables, [["B-X", "O", "O", "O"]])[0].tags == ["B-X", "B-X", "O", "O"]


def test_a_rule_does_not_look_into_the_next_sentence_unless_told_to() -> None:
    tables = tables_of("a\nb")
    rules = parse_rules('O -> B-X if word[-1] = "a"\n').rules
    tags = {within: Tagger(rules, within).tag(tables, [["O", "O"]])[0].tags for within in ("sentence", "line", "note")}
    assert tags == {"sentence": ["O", "O"], "line": ["O", "O"], "note": ["O", "B-X"]}


def test_rules_that_help_one_patient_only_can_be_passed_over() -> None:
    tables = tables_of("x x x", "x x", "y", "y z", "z")
    gold = [["B-A"] * len(table) for table in tables]
    notes = Notes(tables, [["O"] * len(table) for table in tables], gold)
    rules = learn(notes, LearnerSettings(read_templates("word[0]"), min_gain=1, min_groups=2)).rules
    assert list(map(str, rules)) == ['O -> B-A if word[0] = "z"']


def test_rules_that_do_not_help_held_out_patients_are_dropped() -> None:
    learning = tables_of(*["x p q", "x p q", "x p q"])
    gold = [["B-A", "B-B", "O"]] * 3
    other = learning[0].space.tables([Document("h", "x p q", group="h")])
    notes = Notes(learning, [["O"] * 3] * 3, gold)
    held_out = Notes(other, [["O"] * 3], [["B-A", "O", "O"]])
    learned = learn(notes, LearnerSettings(read_templates("word[0]"), min_gain=1), held_out=held_out)
    assert list(map(str, learned.rules)) == ['O -> B-A if word[0] = "x"']
    assert learned.held_out_errors == (1, 0, 1)


def test_no_errors_no_rules_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    notes = doctors()
    with caplog.at_level(logging.INFO, logger="phistack"):
        learned = learn(Notes(notes.tables, notes.gold, notes.gold), LearnerSettings(read_templates("word[0]")))
    assert learned.rules == ()
    assert "no errors" in caplog.text


def test_one_tag_everywhere_is_learned_in_one_rule() -> None:
    tables = tables_of("a b c", "c d")
    notes = Notes(tables, [["O"] * len(t) for t in tables], [["B-X"] * len(t) for t in tables])
    learned = learn(notes, LearnerSettings(read_templates("tag[-1..1]")))
    assert list(map(str, learned.rules)) == ['O -> B-X if tag[-1..1] = "O"']


def test_empty_notes_are_no_trouble() -> None:
    tables = tables_of("", "a b", "")
    notes = Notes(tables, [[], ["O", "O"], []], [[], ["B-X", "B-X"], []])
    learned = learn(notes, LearnerSettings(named_templates("fntbl37"), min_gain=1))
    assert [t.tags for t in Tagger(learned.rules).tag(tables, notes.initial)] == [list(tags) for tags in notes.gold]
    assert Tagger(learned.rules).tag([], []) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"templates": ()}, "at least one template"),
        ({"min_gain": 0}, "min_gain of the rule learner must be at least 1"),
        ({"within": "page"}, "not a page"),
        ({"templates": read_templates("key[0]")}, "the column key is not among the features"),
    ],
)
def test_settings_that_cannot_work(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        learn(doctors(), LearnerSettings(**{"templates": read_templates("word[0]"), **change}))


def test_notes_that_cannot_be_learned_from() -> None:
    settings = LearnerSettings(read_templates("word[0]"))
    with pytest.raises(TrainingError, match="at least one annotated note"):
        learn(Notes([], [], []), settings)
    notes = doctors()
    with pytest.raises(SettingsError, match="exactly one tag for each token"):
        learn(Notes(notes.tables, [["O"]] * 4, notes.gold), settings)
