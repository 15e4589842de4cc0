"""The invented hospital notes that nothing is trained on, and the counts on them."""

import random
import re
from collections import Counter

import pytest
from stdnum import luhn

from benchmarks.hospital_notes.__main__ import counted
from benchmarks.hospital_notes.noise import NOISE, noisy
from benchmarks.hospital_notes.notes import corpus_of, inside, invented
from benchmarks.hospital_notes.people import FORMS, Person
from benchmarks.hospital_notes.templates import SETS, Mention, Template, filled, languages, templates, world
from benchmarks.reached import ALL, Tally
from phistack.ensemble.synthesis.templates import all_text
from phistack.features.documents import Span
from phistack.features.errors import SettingsError
from tests.annotated import annotated

KINDS = {
    *("discharge", "triage", "nursing", "radiology", "pathology", "operation", "portal", "letter", "consult"),
    "emergency",
}
THERE = [(language, hand) for hand in SETS for language in languages(hand)]
every_set = pytest.mark.parametrize(("language", "hand"), THERE)
_LETTERS = re.compile(r"[^\W\d_]+")


def _normalised(text: str) -> set[str]:
    """Its lines of five words or more, without slots, figures and case."""
    lines = (_LETTERS.findall(re.sub(r"\{[^}]*\}|\[\[[^\]]*\]\]", " ", line).casefold()) for line in text.splitlines())
    return {" ".join(words) for words in lines if len(words) >= 5}


@pytest.mark.parametrize("hand", SETS)
def test_a_language_without_hospital_notes_is_refused(hand: str) -> None:
    there = r"^there is no language with hospital notes named no\b.*; there are de, en, es, nl, sv$"
    with pytest.raises(SettingsError, match=there):
        templates("no", hand)


@every_set
def test_each_kind_has_templates_and_each_template_one_kind(language: str, hand: str) -> None:
    assert {template.kind for template in templates(language, hand)} == KINDS
    texts = Counter(template.text for template in templates(language, hand))
    assert max(texts.values()) == 1


@every_set
def test_every_slot_is_known_and_filled(language: str, hand: str) -> None:
    table = world(language, hand)
    known = {*table["people"], *table["values"], *table["words"], "date", "dob", "age"}
    for number, template in enumerate(templates(language, hand)):
        assert {slot.rstrip("0123456789").lower() for slot in template.slots} <= {name.lower() for name in known}
        for seed in range(5):
            text, mentions = filled(template, language, random.Random(seed), hand)
            assert not re.search(r"[{}]", text), f"template {number} of {template.kind} leaves a brace"
            assert mentions or template.kind == "triage"


@every_set
def test_spans_are_exact_and_labels_of_the_label_set(language: str, hand: str) -> None:
    corpus = corpus_of(invented(language, 200, seed=3, hand=hand), language)
    assert {span.label for note in corpus.documents for span in note.spans} <= set(corpus.label_set.labels)
    for note in corpus.documents:
        for span in note.spans:
            assert note.text[span.start : span.end] == note.text[span.start : span.end].strip() != ""
        assert all(a.end <= b.start for a, b in zip(note.spans, note.spans[1:], strict=False))


@every_set
def test_names_stand_where_they_are_marked(language: str, hand: str) -> None:
    """A name of the patient in any form is made of letters of that name, in whatever case."""
    for template in templates(language, hand)[:40]:
        text, mentions = filled(template, language, random.Random(5), hand)
        for mention in mentions:
            written = text[mention.span.start : mention.span.end]
            assert bool(mention.origin) == (mention.slot in {*world(language, hand)["people"], "user", "email"})
            if mention.slot in ("mrn", "phone", "zip"):
                assert re.search(r"\d", written)
            if mention.origin and mention.slot not in ("user", "email"):
                assert not re.search(r"\d", written)


@every_set
def test_no_line_is_one_of_the_templates_for_training_or_of_another_set(language: str, hand: str) -> None:
    ours, *others = (
        _normalised((SETS[one] / f"{language}.txt").read_text(encoding="utf-8"))
        for one in sorted(SETS, key=lambda one: one != hand)
        if (language, one) in THERE
    )
    assert len(ours) > 30
    assert sorted(ours & _normalised(all_text(language)).union(*others)) == []


@every_set
def test_notes_depend_on_the_seed_alone(language: str, hand: str) -> None:
    first, again, other = (invented(language, 20, seed=seed, hand=hand) for seed in (1, 1, 2))
    assert first == again
    assert [note.text for note in first] != [note.text for note in other]


def test_every_noise_keeps_each_identifier() -> None:
    text, mentions = filled(templates("en")[0], "en", random.Random(0))
    for noise in NOISE:
        changed, after = noisy(text, mentions, noise, random.Random(1))
        assert len(after) >= len(mentions)
        assert all(changed[m.span.start : m.span.end].strip() for m in after)
        if noise in ("none", "lower", "upper", "wrap", "copied"):
            before = [text[m.span.start : m.span.end].casefold().split() for m in mentions]
            assert [changed[m.span.start : m.span.end].casefold().split() for m in after][: len(mentions)] == before
        assert (changed == text) == (noise == "none")


def test_copied_text_has_its_identifiers_again() -> None:
    mentions = [Mention(Span(0, 3, "PATIENT"), "patient", "english"), Mention(Span(8, 12, "DATE"), "date", "")]
    text, after = noisy("Ann\nsaw 3/14\nend\n", mentions, "copied", random.Random(0))
    head, _, copied = text.partition("\n-----\n")
    assert head == "Ann\nsaw 3/14\nend\n" and copied in head
    assert [text[m.span.start : m.span.end] for m in after[2:]] == [w for w in ("Ann", "3/14") if w in copied]


def test_forms_of_a_name() -> None:
    person = Person("Ngozi", "Bin-Salem", "T", "F", "west_african", 21)
    written = {form: "".join(text for text, _ in person.written(form, ["a.org"])) for form in FORMS}
    assert written["caret"] == "Bin-Salem^Ngozi^T"
    assert (written["initials"], written["dotted"], written["small"]) == ("NB", "N.B.", "nb")
    assert person.written("email", ["a.org"]) == [("nbinsalem@a.org", "email")]
    assert person.written("formal", ["a.org"]) == [("Bin-Salem", "last"), (", ", ""), ("Ngozi", "first")]


def test_what_is_counted() -> None:
    """Two of three identifiers are touched, one wholly; of three stretches two are right; one word of two is lost."""
    note = annotated("[Ann Hill|A], [3/14|B], [44|C] well today")
    tally = Tally()
    own = {note.spans[1]: [("identifier", "date")]}
    tally.add(note, note.spans, [(0, 3), (10, 14), (19, 23)], [("kind", "x")], own)
    figures = tally.figures()
    everything = figures[ALL]
    shares = (everything.touched, everything.covered, everything.right, everything.lost)
    assert [share.value for share in shares] == pytest.approx([2 / 3, 1 / 3, 2 / 3, 1 / 2])
    assert figures["identifier", "date"].touched.value == 1
    assert figures["identifier", "date"].right is None
    assert figures["kind", "x"] == everything


def test_the_table_of_a_run_has_each_kind_noise_and_origin() -> None:
    notes = invented("en", 60, seed=0)
    nothing: list[list[tuple[int, int]]] = [[] for _ in notes]
    figures = counted(notes, [note.document.spans for note in notes], nothing).figures()
    assert {name for by, name in figures if by == "kind"} == KINDS
    assert {"none", "typing"} <= {name for by, name in figures if by == "noise"}
    assert {("identifier", "mrn"), ("origin", "english")} <= figures.keys()
    assert figures[ALL].touched.value == 0 and figures[ALL].right is None


def test_a_line_shows_what_was_missed() -> None:
    assert inside("a\nsaw Ann  Hill today\nb", Span(6, 9, "PATIENT")) == "saw [[Ann]] Hill today"


def test_a_personal_number_fits_the_day_of_birth_and_the_sex() -> None:
    """However often it stands in a note; its last digit checks it."""
    template = Template("letter", "{dob.iso} {dob.pnr} {dob.pnr}", "F", (20, 90))
    for seed in range(20):
        text, mentions = filled(template, "sv", random.Random(seed))
        dob, *numbers = (re.sub(r"\D", "", text[m.span.start : m.span.end]) for m in mentions)
        assert [mention.slot for mention in mentions] == ["dob", "pnr", "pnr"]
        (number,) = {number[-10:] for number in numbers}
        assert number[:6] == dob[2:] and number[8] in "02468" and luhn.is_valid(number)
