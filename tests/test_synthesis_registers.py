"""English notes of all registers: reproducible, in their shares, exact spans, words that only look like PHI."""

import random
import re
from collections import Counter

import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.grammar import placeholders
from phistack.ensemble.synthesis.names import invent_name, invent_person
from phistack.ensemble.synthesis.notes import note_types_of
from phistack.ensemble.synthesis.templates import Lists, is_held_out, lexicon_of, lists_of, part_of, table
from phistack.features.columns.installed import clinical_words
from phistack.features.documents import Corpus, Document
from phistack.features.letters import fold

RECIPES = table("en/note_types")
ORIGINS = tuple(table("en/origins"))
HOSPITAL = [name for name, recipe in RECIPES.items() if recipe.get("hospital", True)]
OTHERS = [name for name in RECIPES if name not in HOSPITAL]
PROSE = [name for name in OTHERS if name != "structured"]
WORDS = [f"{first}{last}" for first in "abcdefghijklmnopqrstuvwxyz" for last in ("son", "ov", "ella", "aki", "nes")]


def terms(lexicon: str) -> Lists:
    return lists_of("en/words", "", lexicon)


def names(lexicon: str) -> dict[str, tuple[str, ...]]:
    """All lists of names and places, those of people as ORIGIN.PART."""
    people = {
        f"{origin}.{part}": lists_of("en/origins", origin, lexicon)[part]
        for origin in ORIGINS
        for part in ("female", "male", "family")
    }
    return {**people, **lists_of("en/world", "inside", lexicon)}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthesize(1000, seed=3, registers="all", lexicon="train")


def register_of(note: Document, seed: int = 3) -> str:
    number, record = note.id.split("-")
    return note_types_of(int(number), seed=seed, language="en", registers="all")[int(record) - 1]


def test_every_register_occurs_with_its_share(corpus: Corpus) -> None:
    found = Counter(map(register_of, corpus.documents))
    total = sum(recipe["share"] for recipe in RECIPES.values())
    for register, recipe in RECIPES.items():
        assert found[register] / len(corpus) == pytest.approx(recipe["share"] / total, abs=0.05), register


def test_about_a_tenth_of_long_notes_and_many_short_ones_have_no_phi(corpus: Corpus) -> None:
    clean: dict[str, list[bool]] = {register: [] for register in RECIPES}
    for note in corpus.documents:
        clean[register_of(note)].append(not note.spans)
    shares = {register: sum(found) / len(found) for register, found in clean.items() if found}
    assert 0.1 < shares["question"] < 0.4
    assert 0.4 < shares["everyday"] < 0.9
    assert 0.3 < shares["entry"] < 0.7
    short = ("question", "entry", "everyday", "general", "asking_plain", "asking_plain_long", "desk_question")
    long = [name for name in PROSE if name not in short]
    others = [one for register in long for one in clean[register]]
    assert 0.04 < sum(others) / len(others) < 0.2
    assert shares["general"] == 1


def test_vocabularies_name_no_phi_and_are_many() -> None:
    entries = {entry for entries in terms("whole").values() for entry in entries}
    assert len(entries) >= 1500
    assert not any(placeholders(entry) for entry in entries)


@pytest.mark.parametrize("name", ["eponym_disease", "score", "drug_brand", "guideline", "spine"])
def test_what_merely_looks_like_phi_is_never_within_a_span(corpus: Corpus, name: str) -> None:
    hits = 0
    for word in terms("train")[name]:
        if len(word) < 5 or not re.search(r"[a-z].*[A-Z ]|[A-Z].*[-\d']", word) or re.search(r"[<(|]", word):
            continue
        for note in (one for one in corpus.documents if word in one.text):
            for hit in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", note.text):
                hits += 1
                touched = [s for s in note.spans if s.start < hit.end() and hit.start() < s.end]
                # A doctor may have an eponym's name, and patients too: Down's pt.
                assert not [s for s in touched if note.text[s.start : s.end] + "'s" != word], (note.id, word)
    assert hits > 5


def test_names_held_out_are_in_no_training_note(corpus: Corpus) -> None:
    people = (f"{origin}.{part}" for origin in ORIGINS for part in ("female", "male", "family"))
    lists = ("city", "founder", "saint", *people)
    unseen = {fold(name) for one in lists for name in {*names("whole")[one]} - {*names("train")[one]}}
    unseen -= {"qing"}  # which a typing error makes of another name
    everything = {fold(name) for one in lists for name in names("whole")[one]}
    assert len(unseen) > 300 and all(map(is_held_out, unseen)) and len(unseen) / len(everything) > 0.12
    for note in corpus.documents:
        for span in note.spans:
            if span.label in ("PATIENT", "DOCTOR", "CITY", "HOSPITAL"):
                written = fold(note.text[span.start : span.end])
                words = {written, *re.split(r"[\s,]+", written)}
                assert not {word for word in words & unseen if len(word) > 3}, note.id  # the short may be initials


def _without_phi(note: Document) -> str:
    return "".join(c for at, c in enumerate(note.text) if not any(s.start <= at < s.end for s in note.spans))


def test_terms_held_out_are_in_no_training_note_and_in_test_notes(corpus: Corpus) -> None:
    made_again = "dose laboratory vital fraction code symptom body_part condition test spine".split()
    lists = [name for name in terms("whole") if name not in made_again]
    of_train = {name: {*terms("train")[name]} for name in lists}
    unseen = {term for name in lists for term in {*terms("whole")[name]} - of_train[name] if term.isascii()}
    unseen = {term for term in unseen if "<" not in term and len(term) > 5}
    unseen -= {"Cytotec", "Phalen's sign", "Ki-67 20%"}  # of a typing error, an eponym of the lexicon, a staging
    inside = re.compile(r"\S+@\S+|www\S+|http\S+")
    plain = [inside.sub("", _without_phi(note)) for note in corpus.documents]
    said = set(re.findall(r"[\w-]+", "\n".join(plain)))
    for term in (term for term in unseen if said.issuperset(re.findall(r"[\w-]+", term))):
        whole = re.compile(rf"(?<![\w-]){re.escape(term)}(?![\w-])")
        assert not [text for text in plain if term in text and whole.search(text)], term
    test_notes = synthesize(60, seed=3, registers="all", lexicon="test").documents
    assert sum(any(term in note.text for term in unseen) for note in test_notes) > 20


def test_people_of_every_origin_occur() -> None:
    assert len(ORIGINS) >= 25
    rng = random.Random(2)
    drawn = Counter(invent_person("F", "train", rng).origin for _ in range(3000))
    assert set(drawn) == set(ORIGINS) and min(drawn.values()) > 20


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_origin_has_names_enough_and_each_lexicon_its_own(origin: str) -> None:
    whole, train, test = (names(lexicon) for lexicon in ("whole", "train", "test"))
    given = {*whole[f"{origin}.female"], *whole[f"{origin}.male"]}
    assert len(given) >= 40 and len({*whole[f"{origin}.family"]}) >= 40
    assert not {*train[f"{origin}.family"]} & {*test[f"{origin}.family"]}
    person = invent_person("M", "test", random.Random(1), origin=origin)
    assert person.origin == origin and person.last.split()[0] not in train[f"{origin}.family"]


def test_names_are_written_in_many_ways() -> None:
    rng = random.Random(4)
    people = [invent_name("en", rng.choice("FM"), rng) for _ in range(400)]
    assert any(person.turned for person in people) and any(person.suffix for person in people)
    assert any(not person.last.isascii() for person in people) and any(person.middle for person in people)
    assert any("-" in person.last for person in people) and any(" " in person.last for person in people)
    written = [
        person.written(form, rng) for person in people[:60] for form in ("", "short", "initialled", "nick", "joined")
    ]
    assert all(text.strip() == text != "" and "None" not in text and "{" not in text for text in written)
    robert = next(
        p for p in (invent_person("M", "whole", rng, origin="anglo") for _ in range(4000)) if p.first == "Robert"
    )
    assert robert.nick in ("Bob", "Bobby", "Rob") and robert.written("short", rng).startswith("Robert ")


def test_structured_text_is_in_some_notes_with_and_without_phi(corpus: Corpus) -> None:
    forms = (r"^(PID|OBX|PV1)\|", r'"\w+": ?"', r"</\w+>", r"\b\w+=\w+", r"\w+_\w+\.(pdf|dcm|png|tif|docx|jpg)")
    for form in forms:
        hits = [(note, hit) for note in corpus.documents for hit in re.finditer(form, note.text, re.M)]
        lines = [
            (note, note.text.rfind("\n", 0, hit.start()) + 1, (note.text + "\n").find("\n", hit.end()))
            for note, hit in hits
        ]
        with_phi = sum(any(start <= span.start < end for span in note.spans) for note, start, end in lines)
        assert 3 < with_phi < len(lines) - 3, form


# Words held out of training notes: the same everywhere, a fifth of all, and never what is said in any case


def test_a_fifth_is_held_out_by_the_word_alone() -> None:
    assert 0.1 < sum(map(is_held_out, WORDS)) / len(WORDS) < 0.3
    assert all(is_held_out(word) == is_held_out(word.upper()) for word in WORDS)
    assert is_held_out("Núñez") == is_held_out("NUNEZ")


def test_training_and_test_part_the_whole() -> None:
    train, test = part_of(WORDS, "train"), part_of(WORDS, "test")
    assert sorted(train + test) == sorted(part_of(WORDS, "whole")) == sorted(WORDS)
    assert not set(train) & set(test) and set(test) == set(filter(is_held_out, WORDS))


def test_short_lists_and_what_is_said_anyway_are_not_held_out() -> None:
    assert part_of(WORDS[:10], "train") == part_of(WORDS[:10], "test") == tuple(WORDS[:10])
    first = part_of(WORDS, "test")[0]
    assert first in part_of(WORDS, "train", said=f"seen by {first}, again")
    assert first in part_of(WORDS, "test", said=f"seen by x{first}, again")


def test_hospital_notes_have_lexicons_too() -> None:
    notes = {lexicon: synthesize(5, seed=2, lexicon=lexicon).documents for lexicon in ("whole", "train", "test")}
    assert notes["train"] != notes["test"] and all(len(found) == 5 for found in notes.values())


def test_a_third_of_the_clinical_lexicon_is_in_no_training_note_and_the_rest_is_drawn(corpus: Corpus) -> None:
    for name, words in clinical_words("en").items():
        whole, train, test = (set(lexicon_of("en", part)[f"lexicon_{name}"]) for part in ("whole", "train", "test"))
        assert 0.6 < len(whole) / len(words) < 0.73 and train < whole
        assert train | test == set(words) and not train & test
    said = set(re.findall(r"\w+", "\n".join(note.text.lower() for note in corpus.documents)))
    assert len(said & set(lexicon_of("en", "train")["lexicon_drugs"])) > 300


def test_eponyms_are_surnames_too_and_credentials_are_no_part_of_a_name(corpus: Corpus) -> None:
    eponyms = set(clinical_words("en")["eponyms"])
    spans = [note.text[s.start : s.end] for note in corpus.documents for s in note.spans if s.label == "DOCTOR"]
    assert len([name for name in spans if name.split()[-1].lower() in eponyms]) > 20
    assert not [name for name in spans if re.search(r"\w\w,? (RN|LPN|CRNA|FACEP|LCSW|BSN)$", name)]
