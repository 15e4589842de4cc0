"""Invented notes, most in languages other than English: reproducible, labelled at the right places, varied."""

import random
import re
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import pytest

from phistack.ensemble.deidentification import Policy
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.names import Name
from phistack.ensemble.synthesis.notes import fitting
from phistack.ensemble.synthesis.patients import invent_patient
from phistack.ensemble.synthesis.scene import Scene
from phistack.ensemble.synthesis.templates import clinical_words, pool_of, table
from phistack.ensemble.tasks.pseudonyms import pseudonymise
from phistack.features.documents import Corpus
from phistack.features.formats import read_corpus
from phistack.features.labels import LabelSet
from phistack.features.languages import language_of
from tests.fixture_types import Phistack

LANGUAGES = {"de": "i2b2-2014", "es": "meddocan", "nl": "nut", "no": "stockholm-epr-phi", "sv": "stockholm-epr-phi"}
ALL = {"en": "i2b2-2014", **LANGUAGES}
NOT_IN_NOTES = {
    *("DEPARTMENT", "ROOM", "AGE-OVER-90", "IPADDR", "ACCOUNT", "BIOID", "OTHER"),
    *("DIREC_PROT_INTERNET", "IDENTIF_BIOMETRICOS", "OTROS_SUJETO_ASISTENCIA"),
}


@pytest.fixture(scope="module", params=LANGUAGES)
def corpus(request: pytest.FixtureRequest) -> Corpus:
    return notes_in(request.param)


@cache
def notes_in(language: str) -> Corpus:
    return synthesize(150, seed=3, language=language)


def words_of(corpus: Corpus, label: str) -> list[str]:
    return [note.text[s.start : s.end] for note in corpus.documents for s in note.spans if s.label == label]


@pytest.mark.parametrize("language", ALL)
def test_the_same_seed_gives_the_same_notes_and_few_are_the_first_of_many(language: str) -> None:
    notes = synthesize(12, seed=5, language=language).documents
    assert synthesize(12, seed=5, language=language).documents == notes
    assert synthesize(7, seed=5, language=language).documents == notes[:7]
    assert synthesize(12, seed=6, language=language).documents != notes


def test_the_notes_are_in_their_language_and_have_every_label_of_its_set() -> None:
    for language, label_set in LANGUAGES.items():
        notes = synthesize(400, seed=4, language=language, registers="all")
        assert notes.label_set.name == label_set
        assert language_of(note.text for note in notes.documents[:40]) == language
        assert {span.label for note in notes.documents for span in note.spans} >= set(
            notes.label_set.labels
        ) - NOT_IN_NOTES


def test_records_of_a_patient_name_the_same_people(corpus: Corpus) -> None:
    label = {"nut": "Name", "stockholm-epr-phi": "Last_Name", "meddocan": "NOMBRE_SUJETO_ASISTENCIA"}.get(
        corpus.label_set.name, "PATIENT"
    )
    names: dict[str, set[str]] = defaultdict(set)
    for note in corpus.documents:
        names[note.group] |= {note.text[s.start : s.end].casefold() for s in note.spans if s.label == label}
    several = [found for group, found in names.items() if Counter(n.group for n in corpus.documents)[group] > 1]
    assert len(several) > 20 and len(set().union(*several)) > 5 * len(max(several, key=len))


def test_swedish_names_are_two_spans_and_dates_are_whole_or_in_part() -> None:
    notes = synthesize(60, seed=1, language="sv")
    together = 0
    for note in notes.documents:
        labels = {span.end: span.label for span in note.spans}
        together += sum(labels.get(s.start - 1) == "First_Name" and s.label == "Last_Name" for s in note.spans)
    assert together > 60
    assert all(re.search(r"\d", words) for words in words_of(notes, "Full_Date"))
    assert any(words.casefold() == "måndag" for words in words_of(notes, "Date_Part"))


def test_norwegian_families_have_many_first_names_alone_and_numbers_of_those_born_then() -> None:
    notes = synthesize(200, seed=1, language="no", registers="all")
    alone = 0
    for note in notes.documents:
        last = {span.start for span in note.spans if span.label == "Last_Name"}
        alone += sum(span.label == "First_Name" and span.end + 1 not in last for span in note.spans)
    assert alone > len(words_of(notes, "Last_Name"))
    assert len({*words_of(notes, "First_Name")}) > 400
    numbers = [words for words in words_of(notes, "Phone_Number") if re.fullmatch(r"\d{6}[ -]?\d{5}", words)]
    assert len(numbers) > 5 and all(1 <= int(words[:2]) <= 31 and 1 <= int(words[2:4]) <= 12 for words in numbers)


@pytest.mark.parametrize("language", ["no", "sv"])
def test_mail_and_initials_have_the_nearest_label(language: str) -> None:
    notes = synthesize(200, seed=1, language=language, registers="all")
    assert any("@" in words for words in words_of(notes, "Phone_Number"))
    assert any(re.fullmatch("[A-ZÅÄÖÆØ]{2}", words) for words in words_of(notes, "First_Name"))


def test_ages_of_children_and_of_the_very_old() -> None:
    patient = invent_patient(100, seed=0, language="no")
    scene = Scene(patient, patient.first_visit, random.Random(0), "{y}")
    for role, lowest, highest in (("child", 1, 17), ("old", 88, 104)):
        ages = {int(scene.pieces(Placeholder("AGE", role))[0][0]) for _ in range(200)}
        assert len(ages) > 10 and lowest <= min(ages) and max(ages) <= highest


def test_dutch_numbers_are_valid_and_ages_are_numbers() -> None:
    from stdnum.nl import bsn

    notes = synthesize(200, seed=1, language="nl")
    assert all(map(bsn.is_valid, words_of(notes, "SSN"))) and len(words_of(notes, "SSN")) > 5
    assert all(words.isdigit() for words in words_of(notes, "Age"))
    assert all(re.fullmatch(r"[\w.-]+@([\w-]+\.)+[a-z]+", words, re.I) for words in words_of(notes, "Email"))


@pytest.mark.parametrize("language", ALL)
def test_values_that_look_like_phi_are_not_labelled(language: str) -> None:
    corpus = notes_in(language)
    patterns = {
        "en": (r"SVR of \d{3,4}", "BP 120/80", r"CK of 1\d{3}", "5/5 strength", r"\b48 hours", r"\b25/100"),
        "de": (r"\bC5/C6\b", r"\bMorbus [A-Z]\w+", r"\b1-0-1\b"),
        "es": (r"\bL4-L5\b", r"(?i)(enfermedad|síndrome) de [A-Z]\w+", r"\b1-0-1\b"),
        "no": (r"\bL4-L5\b", r"10-12 uker"),
        "nl": (r"\b(10-12|4-6|2-3|3-4) (weken|dagen|keer)", r"\d/30\b"),
        "sv": (r"\bv \d\d\+\d\b", r"\bL[45]-(L5|S1)\b"),
    }
    for pattern in patterns[language]:
        hits = [(note, m) for note in corpus.documents for m in re.finditer(pattern, note.text)]
        assert hits, pattern
        assert not any(s.start < m.end() and m.start() < s.end for note, m in hits for s in note.spans)


@pytest.mark.parametrize("language", ALL)
def test_each_template_can_be_written(language: str) -> None:
    world, words = table(f"{language}/world"), clinical_words(language, "whole")
    patient = invent_patient(100, seed=0, language=language)
    scene = Scene(patient, patient.first_visit, random.Random(0), world["dates"]["full"][0])
    labels = set(LabelSet.named(world["label_set"]).labels)
    written = set()
    for note_type, recipe in table(f"{language}/note_types").items():
        chosen = {name: (word,) for once in recipe.get("once", ()) for name, word in once.items()}
        for pool in sorted({part["pool"] for part in recipe["parts"]}):
            drawn = pool_of(pool, note_type, "en") if language == "en" else fitting(pool, note_type, patient)
            assert drawn, (note_type, pool)
            for template in drawn:
                # Most note types share most of their templates.
                if (template.text, *chosen) in written:
                    continue
                written.add((template.text, *chosen))
                assert template.weight > 0
                assert expand(template.text, {**words, **patient.words, **chosen}, random.Random(1)), template.text
                for slot in template.slots:
                    pieces = scene.pieces(slot)
                    assert "".join(text for text, _ in pieces).strip(), template.text
                    found = {label for _, label in pieces} - {""}
                    assert found <= labels and (found or slot.kind == "SEXLETTER"), template.text


@pytest.mark.parametrize("language", ALL)
def test_spans_fit_their_words_also_under_noise_and_some_notes_name_nobody(language: str) -> None:
    notes = synthesize(200, seed=4, language=language, registers="all", lexicon="train").documents
    assert 0.05 < sum(not note.spans for note in notes) / len(notes) < 0.3
    assert any(note.text.isupper() for note in notes)
    for note in (*notes_in(language).documents, *notes):
        assert not re.search(r"\[\[|\]\]|\{\w*\}|\\n|<[\d.]+-[\d.]+>|_cap\b", note.text), note.id
        assert all(a.end <= b.start for a, b in pairwise(note.spans)), note.id
        for span in note.spans:
            words = note.text[span.start : span.end]
            assert words == words.strip() and re.search(r"\w", words), note.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_that_are_held_out_stand_in_no_training_note(language: str) -> None:
    named: dict[str, set[str]] = {"train": set(), "test": set()}
    for lexicon, number in product(named, range(100, 250)):
        for person in invent_patient(number, seed=0, language=language, lexicon=lexicon).people["COLLEAGUE"]:
            named[lexicon] |= {person.first, *person.surnames}
    assert len(named["test"] - named["train"]) / len(named["test"]) > 0.75  # short lists are not parted


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_the_clinic_are_many_and_name_nobody(language: str) -> None:
    words = table(f"{language}/words")
    known = {**clinical_words(language, "whole"), **invent_patient(1, seed=0, language=language).words}
    for entries in words.values():
        for entry in entries:
            assert "[[" not in entry and expand(entry, known, random.Random(0))
    plain = {entry for entries in words.values() for entry in entries if not re.search(r"[{(<]", entry)}
    drugs = {*words["generic"], *words.get("brand", ()), *words.get("medicine", ())}
    assert (len(plain) > 600 and len(drugs) > 150) or language == "no"


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_the_clinic_never_stand_in_a_span(language: str) -> None:
    words = table(f"{language}/words")
    hard = {entry for name in ("eponym", "generic", "sign", "gene") for entry in words.get(name, ())}
    long = "|".join(sorted((re.escape(entry) for entry in hard if len(entry) > 7 and entry.isprintable()), key=len))
    # Once a note, as a person is named several times in it.
    hits = {
        (note.id, match.group()): any(span.start < match.end() and match.start() < span.end for span in note.spans)
        for note in notes_in(language).documents
        for match in re.finditer(rf"(?<!\w)({long})(?!\w)", note.text)
    }
    assert len(hits) > 50 and sum(hits.values()) / len(hits) < 0.03  # one surname in 20 is an eponym


def test_names_begin_and_end_where_words_do(corpus: Corpus) -> None:
    for note in corpus.documents:
        for span in note.spans:
            if span.label.lower() not in ("age", "edad_sujeto_asistencia", "date_part"):
                assert not note.text[span.start - 1 : span.start].isalnum(), note.id
                assert not note.text[span.end : span.end + 1].isalnum(), note.id


@pytest.mark.parametrize("language", ALL)
def test_notes_seldom_repeat_each_other(language: str) -> None:
    notes = notes_in(language).documents
    assert len({note.text for note in notes}) == len(notes)
    lines = Counter(line for note in notes for line in {*re.split(r"(?<=[.:]) |\n", note.text)} if len(line) > 40)
    assert sum(n for n in lines.values() if n > 1) / lines.total() < 0.2


@pytest.mark.parametrize(("language", "policy"), [("nl", "trienes2020"), ("sv", "dalianis2019")])
def test_they_can_be_pseudonymised_by_the_policy_of_their_paper(language: str, policy: str) -> None:
    notes = synthesize(20, seed=2, language=language)
    made = pseudonymise(notes, Policy.named(policy), b"a key of the tests, not a secret")
    n_tags, n_phi = len(made.tags), sum(len(note.spans) for note in notes.documents)
    by_design = sum(n for (label, how), n in made.counts.items() if how == "tag" and label in ("Profession", "Other"))
    assert sum(len(note.spans) for note in made.corpus.documents) == n_phi and made.removed == 0
    assert (n_tags - by_design) / n_phi < 0.12


def test_the_command_writes_them_in_brat_unless_told_otherwise(tmp_path: Path, phistack: Phistack) -> None:
    assert phistack("synthesize", tmp_path / "nl", "--documents", 3, "--language", "nl")[0] == 0
    assert (tmp_path / "nl" / "100-01.ann").exists()
    corpus = read_corpus(tmp_path / "nl")
    assert corpus.label_set.name == "nut" and len(corpus) == 3
    assert phistack("synthesize", tmp_path / "sv.jsonl", "--documents", 30, "--language", "sv")[0] == 0
    assert read_corpus(tmp_path / "sv.jsonl").label_set.name == "stockholm-epr-phi"
    status, _, said = phistack("synthesize", tmp_path / "x", "--language", "fi")
    assert status == 1 and "there are no synthetic notes in the language fi" in said and not (tmp_path / "x").exists()


@pytest.mark.parametrize(("surname", "initials"), [("van den Berg", "JvdB"), ("Berg", "JB"), ("Van der Berg", "JV")])
def test_initials_keep_the_small_letters_of_particles(surname: str, initials: str) -> None:
    name = Name("Jan", (surname,), "own")
    assert name.parts("letters", random.Random(1), {}) == [("letters", initials)]
    assert "".join(text for _, text in name.parts("filed", random.Random(1), {})).startswith(f"{surname.upper()}, J.")


def test_mail_goes_to_domains_and_mailboxes_of_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    world = {**table("nl/world"), "domains": ["huize-{founder}.nl", "zorg"], "mailboxes": ["info", "{first}{last}"]}
    patients = [invent_patient(n, seed=1, language="nl") for n in range(60)]
    monkeypatch.setattr("phistack.ensemble.synthesis.patients.table", lambda name: world)
    mails = [patient.invented("EMAIL", random.Random(n)) for n, patient in enumerate(patients)]
    assert all(re.fullmatch(r"[\w.]+@(zorg\.example\.org|huize-\w+\.nl)", mail) for mail in mails)
    assert any(mail.startswith("info@") for mail in mails) and any(mail.endswith(".nl") for mail in mails)
