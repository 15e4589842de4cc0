"""Surrogates of persons, initials, user names and e-mail addresses."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.deidentification import Deidentifier, Policy, verify
from phistack.ensemble.deidentification.memory import PatientMemory
from phistack.ensemble.deidentification.names.surrogate import sounds_like
from phistack.ensemble.deidentification.names.tables import LOCALES, name_tables, short_forms
from phistack.ensemble.deidentification.word_lists import known_words
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.letters import fold, parts

KEY = b"a key of the tests, not a secret"
LABELS = LabelSet.named("i2b2-2014")
LETTERS = "abcdefghijklmnopqrstuvwxyzáéñöåß"

tables_of = {language: name_tables(language) for language in LOCALES}
languages = st.sampled_from(sorted(LOCALES))


@st.composite
def persons(draw: st.DrawFn, language: Any) -> Any:
    """A first and a last name, frequent or not, in one of the ways that notes write them."""
    tables = tables_of[language]
    rare = st.text(LETTERS, min_size=2, max_size=12).map(str.title)
    first = draw(st.one_of(st.sampled_from(tables.female), st.sampled_from(tables.male), rare))
    last = draw(st.one_of(st.sampled_from(tables.last), rare))
    form = draw(
        st.sampled_from(("{f} {l}", "{l}, {f}", "{l}, {f} M.", "{f} K. {l}", "{i}. {l}", "{f}", "{l}", "{l}-{l2} {f}"))
    )
    written = form.format(f=first, l=last, i=first[0], l2=draw(st.sampled_from(tables.last)))
    return draw(st.sampled_from((written, written.upper(), written.lower())))


def replace(
    mentions: list[str | tuple[str, str]],
    language: str = "en",
    key: bytes = KEY,
    group: str = "p",
    memory: None = None,
    label: str = "PATIENT",
    note: str = "1",
) -> list[str]:
    """What becomes of mentions of persons, each on its own line of one note."""
    text, spans = "", []
    for mention in mentions:
        mention, kind = mention if isinstance(mention, tuple) else (mention, label)
        spans.append(Span(len(text), len(text) + len(mention), kind))
        text += mention + "\n"
    document = Document(note, text, tuple(spans), group)
    result = Deidentifier(Policy.named("surrogate"), LABELS, language, key).apply(document, spans, memory)
    verify(document, result, spans)
    return [result.text[r.start_in_output : r.end_in_output] for r in result.replacements]


@given(st.data(), languages)
def test_no_part_of_a_name_is_in_its_surrogate_and_the_form_stays(data: st.DataObject, language: str) -> None:
    mention = data.draw(persons(language))
    (new,) = replace([mention], language)
    assert fold(new) != fold(mention)
    if new != "[PATIENT]":
        kept = known_words(language, "names", "titles", "connectors", "credentials")
        assert not [part for part in parts(mention) - kept if part in fold(new)]
        assert new.isupper() == mention.isupper()
        assert ("," in new) == ("," in mention)


@given(st.data(), languages)
def test_the_same_key_gives_the_same_and_nothing_depends_on_the_note(data: st.DataObject, language: str) -> None:
    mention = data.draw(persons(language))
    assert replace([mention], language, note="1") == replace([mention], language, note="2")


@given(st.data(), languages)
def test_a_frequent_name_has_one_surrogate_in_all_notes_or_its_initial(data: st.DataObject, language: str) -> None:
    """Whatever is beside it, in any form, whatever the order of the notes."""
    tables = tables_of[language]
    frequent = st.sampled_from([*tables.female, *tables.male, *tables.last])
    name, *others = data.draw(st.lists(frequent, min_size=1, max_size=8, unique_by=fold))
    (alone,) = replace([name], language)
    form = data.draw(st.sampled_from(("{n}", "{n}, {o}", "{o} {n}", "{o}-{n}", "{n} {o}")))
    note = [form.format(n=name, o=others[0]) if others else name, *others]
    mentions = data.draw(st.permutations([name, *note]))
    found = {new for old, new in zip(mentions, replace(mentions, language), strict=True) if old == name}
    assert len(found) == 1 and found <= {alone, f"{alone[0]}.", "[PATIENT]"}


def test_a_surrogate_that_is_a_name_of_the_note_is_its_initial() -> None:
    (full,) = replace(["John Smith"])
    first, last = full.split()
    john, *_ = replace(["John Smith", f"Ann {last}", ("jsmith@x.org", "EMAIL")])
    assert john == f"{first} {last[0]}."
    assert replace(["Smith's", last])[0] == f"{last[0]}.'s"


@given(languages)
def test_another_key_or_another_patient_gives_other_names(language: str) -> None:
    mentions = [f"{tables_of[language].female[n]} {tables_of[language].last[n]}" for n in range(8)]
    first, other = replace(mentions, language), replace(mentions, language, key=b"another key of the tests")
    patient = replace(mentions, language, group="q")
    assert sum(a == b for a, b in zip(first, other, strict=True)) <= 2
    assert sum(a == b for a, b in zip(first, patient, strict=True)) <= 2


@given(st.data(), languages)
def test_first_names_keep_their_gender(data: st.DataObject, language: str) -> None:
    tables = tables_of[language]
    gender = data.draw(st.sampled_from(("female", "male")))
    first = data.draw(st.sampled_from([n for n in getattr(tables, gender) if tables.gender(fold(n)) == gender]))
    last = data.draw(st.sampled_from([n for n in tables.last if tables.gender(fold(n)) is None]))
    (new,) = replace([f"{last}, {first}"], language)
    if new != "[PATIENT]" and fold(first) not in known_words(language, "names", "titles", "particles"):
        assert tables.gender(fold(new.partition(", ")[2])) == gender


def test_all_forms_of_one_name_are_forms_of_one_surrogate() -> None:
    full, formal, initial, upper, last, first, genitive, monogram = replace(
        ["John Smith", "Smith, John", "J. Smith", "JOHN SMITH", "Smith", "John", "Smith's", "JS"]
    )
    new_first, new_last = full.split()
    assert formal == f"{new_last}, {new_first}"
    assert initial == f"{new_first[0]}. {new_last}"
    assert upper == full.upper()
    assert (last, first, genitive) == (new_last, new_first, f"{new_last}'s")
    assert monogram == new_first[0] + new_last[0]


@pytest.mark.parametrize(("language", "name", "short"), [("en", "Robert", "Bob"), ("de", "Matthias", "Matze")])
def test_a_short_form_becomes_one_of_the_surrogate_or_the_surrogate_itself(
    language: str, name: str, short: str
) -> None:
    for n in range(20):
        key = KEY + bytes([n])
        full, nick = replace([f"{name} Hale", short], language, key)
        (alone,) = replace([short], language, key, note="2")
        new = fold(full.split()[0])
        assert fold(nick) in {new, *short_forms(new, language)} and alone == nick


def test_initials_fit_the_names_of_another_note() -> None:
    (full,) = replace(["John Smith"], note="1")
    (initial,) = replace(["J. Smith"], note="2")
    (monogram,) = replace(["JS"], note="3")
    assert initial == f"{full[0]}. {full.split()[1]}"
    assert monogram == full[0] + full.split()[1][0]


@pytest.mark.parametrize(
    ("name", "misspelt"), [("Johnson", "Jonhson"), ("Rodriguez", "Rodrigeuz"), ("Williams", "Wiliams")]
)
def test_a_misspelling_has_the_surrogate_of_the_name(name: str, misspelt: str) -> None:
    right, wrong = replace([f"Ann {name}", f"Ann {misspelt}"])
    assert right == wrong
    assert replace([f"Ann {name}"], note="1") == replace([f"Ann {misspelt}"], note="2")


def test_names_that_sound_alike_are_linked_without_being_in_one_note() -> None:
    assert replace(["Peter Johnson"], note="1") == replace(["Peter Jonson"], note="2")
    assert sounds_like("johnson") == sounds_like("jonson") and sounds_like("maria") != sounds_like("mario")


def test_a_memory_links_misspellings_across_notes() -> None:
    deidentifier = Deidentifier(Policy.named("surrogate"), LABELS, "en", KEY)
    texts = {"1": "Zelkowitz", "2": "Zelkowits", "3": "Zelkowitz"}
    documents = [Document(id, text, (Span(0, len(text), "DOCTOR"),), "p") for id, text in texts.items()]
    memory = PatientMemory()
    for document in documents:
        deidentifier.remember(memory, document, document.spans)
    assert len({deidentifier.apply(document, document.spans, memory).text for document in documents}) == 1


def test_two_frequent_names_an_edit_apart_stay_two_persons() -> None:
    one, other = replace(["Anna Hansen", "Anna Jansen"], "de")
    assert one != other


@pytest.mark.parametrize(
    ("language", "mention", "form"),
    [
        ("en", "Dr. Smith", r"Dr\. [A-Z]\w+"),
        ("en", "SMITH, JOHN Q.", r"[A-Z]+, [A-Z]+ [A-Z]\."),
        ("en", "John Smith, MD", r"[A-Z]\w+ [A-Z]\w+, MD"),
        ("en", "John and Mary Smith", r"[A-Z]\w+ and [A-Z]\w+ [A-Z]\w+"),
        ("en", "Mary Smith-Jones", r"[A-Z]\w+ [A-Z]\w+-[A-Z]\w+"),
        ("en", "O'Brien's", r"[A-Z]\w+'s"),
        ("es", "Dra. María García López", r"Dra\. [A-Z]\w+ [A-Z]\w+ [A-ZÁ]\w+"),
        ("es", "Mª José Vela Muñoz", r"[A-Z]\w+ [A-Z]\w+ [A-ZÁ]\w+ [A-ZÁ]\w+"),
        ("nl", "Jan van der Berg", r"[A-Z]\w+ [A-Z]\w+"),
        ("nl", "mw. de Vries", r"mw\. [A-Z]\w+"),
        ("sv", "Anderssons", r"[A-ZÅÄÖ]\w+[sxz]"),
        ("de", "Frau Prof. Müller", r"Frau Prof\. [A-ZÄÖÜ]\w+"),
    ],
)
def test_titles_genitives_and_separators_stay(language: str, mention: str, form: str) -> None:
    (new,) = replace([mention], language)
    assert re.fullmatch(form, new)


@pytest.mark.parametrize("mention", ["Smith 12", "王小明", "<b>", "a b c d e f g h i j k", "..."])
def test_what_cannot_be_read_as_a_name_is_tagged(mention: str) -> None:
    assert replace([mention]) == ["[PATIENT]"]


def test_a_name_with_a_character_that_nobody_sees_is_read_without_it() -> None:
    assert replace(["Smith\u200bJohn"]) == replace(["SmithJohn"]) != ["[PATIENT]"]


def test_no_surrogate_is_another_name_of_the_note() -> None:
    tables = tables_of["en"]
    names = [f"{tables.female[n]} {tables.last[n]}" for n in range(60)]
    originals = {fold(word) for name in names for word in name.split()}
    for group in "abcdefgh":
        found = replace(names, group=group)
        assert not {fold(word) for name in found for word in name.split()} & originals


def test_mail_and_user_names_follow_the_person() -> None:
    name, mail, initial_mail, user, web = replace(
        [
            "John Smith",
            ("john.smith@clinic.org", "EMAIL"),
            ("jsmith2@clinic.org", "EMAIL"),
            ("JSmith", "USERNAME"),
            ("js12", "USERNAME"),
        ]
    )
    first, last = name.lower().split()
    assert mail.startswith(f"{first}.{last}@example.")
    assert re.match(rf"{first[0]}{last}\d@example\.", initial_mail)
    assert user.lower() == first[0] + last
    assert re.fullmatch(rf"{first[0]}{last[0]}\d\d", web)


@given(st.from_regex(r"[a-z]{2,8}[._]?[a-z0-9]{1,8}@[a-z]{2,8}\.(com|org|es)", fullmatch=True))
def test_mail_addresses_are_in_reserved_domains(address: str) -> None:
    (new,) = replace([(address, "EMAIL")])
    assert re.fullmatch(r"[a-z0-9._]+@example\.(com|org|net)", new)
    assert new.partition("@")[0] != address.partition("@")[0]


# The sex that a note states


def first_name_in(text: str, name: str, language: str, key: bytes = KEY) -> str:
    """The first name that replaces a patient's in the note."""
    start = text.index(name)
    span = Span(start, start + len(name), "PATIENT")
    result = Deidentifier(Policy.named("surrogate"), LABELS, language, key).apply(Document("1", text), [span])
    made = result.replacements[0]
    return fold(result.text[made.start_in_output : made.end_in_output].split()[0])


@pytest.mark.parametrize(
    ("language", "text", "name", "sex"),
    [
        ("en", "Mr. Robin Hale was seen.", "Robin Hale", "male"),
        ("en", "Ms. Robin Hale was seen.", "Robin Hale", "female"),
        ("en", "Robin Hale is a 54 y/o M with pain.", "Robin Hale", "male"),
        ("en", "Robin Hale, 54F, has pain.", "Robin Hale", "female"),
        ("en", "Xyvang Hale came. He has pain. He walks.", "Xyvang Hale", "male"),
        ("de", "Herr Kim Brandl kam.", "Kim Brandl", "male"),
        ("es", "Xuan Prieto, mujer de 40 años.", "Xuan Prieto", "female"),
        ("nl", "Mevrouw Robin Smit kwam.", "Robin Smit", "female"),
        ("sv", "Kim Berg kom. Han mår bra.", "Kim Berg", "male"),
    ],
)
def test_the_sex_that_a_note_states_decides_first_names(language: str, text: str, name: str, sex: str) -> None:
    names = {"female": tables_of[language].female, "male": tables_of[language].male}[sex]
    for number in range(8):
        assert first_name_in(text, name, language, KEY + bytes([number])) in set(map(fold, names))


def test_a_note_that_states_both_decides_nothing() -> None:
    alone = first_name_in("Ann Hale came.", "Ann Hale", "en")
    assert first_name_in("Ann Hale, a woman, whose husband, a man, came too.", "Ann Hale", "en") == alone
    assert first_name_in("Ann Hale came. He drove. She rested.", "Ann Hale", "en") == alone
