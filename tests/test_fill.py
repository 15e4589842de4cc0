"""`fill`: invented identifiers where PHI was taken out, with exact offsets."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest

from phistack.ensemble.synthesis.notes import LANGUAGES
from phistack.ensemble.tasks.filling import Filled, fill
from phistack.ensemble.tasks.placeholders import STYLES, Style, slots_of_labels
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, PhistackError, SettingsError
from phistack.features.formats import read_corpus
from phistack.features.labels import LabelSet
from tests.annotated import corpus_of
from tests.fixture_types import Phistack

I2B2 = LabelSet.named("i2b2-2014")
MIMIC = (
    "Admission Date: [**2151-7-16**]\nMs. [**Known lastname 12**] was brought to [**Hospital1 18**] by Lena. She saw "
    "Dr. [**Doctor Last Name 34**] at [**Hospital1 18**] on [**7-18**], again [**Holidays of 1999**] and [** **]."
)


def corpus(*texts: str, spans: tuple[Span, ...] = ()) -> Corpus:
    notes = (Document(f"7-{i:02d}", text, spans, group="7") for i, text in enumerate(texts, 1))
    return Corpus(tuple(notes), I2B2)


def mentions(filled: Filled, label: str) -> list[str]:
    return [d.text[s.start : s.end] for d in filled.corpus.documents for s in d.spans if s.label == label]


def own_style(tmp_path: Path, text: str) -> Style:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    return Style.of(str(tmp_path / "mine.toml"))


def test_all_that_is_known_is_filled_and_the_rest_listed() -> None:
    at = MIMIC.index("Lena")
    filled = fill(corpus(MIMIC, spans=(Span(at, at + 4, "PATIENT"),)), seed=1)
    [note] = filled.corpus.documents
    assert filled.style == "mimic-iii" and filled.counts == {"DATE": 2, "PATIENT": 1, "HOSPITAL": 2, "DOCTOR": 1}
    assert "Lena" in mentions(filled, "PATIENT"), "spans of the notes move with the text"
    assert [(note.text[u.start : u.end], u.text) for u in filled.unfilled] == [
        (text, text) for text in ("[**Holidays of 1999**]", "[** **]")
    ]
    assert re.sub(r"\[\*\*.*?\*\*\]", "", note.text).startswith("Admission Date: ") and note.text.count("[**") == 2
    # The text between the spans is that between the placeholders.
    cut = [0, *(x for s in note.spans for x in (s.start, s.end)), len(note.text)]
    between = [note.text[a:b] for a, b in zip(cut[::2], cut[1::2], strict=True)]
    assert "".join(between).replace("the ", "") == re.sub(r"\[\*\*(?!Holidays| ).*?\*\*\]|Lena", "", MIMIC), (
        "nothing else changes"
    )


def test_a_patient_keeps_name_and_places_and_another_has_others() -> None:
    notes = corpus(MIMIC, MIMIC)
    other = Document("8-01", MIMIC, group="8")
    filled = fill(Corpus((*notes.documents, other), I2B2), seed=3)
    first, second, third = mentions(filled, "PATIENT")
    assert first.split()[-1] == second.split()[-1] != third.split()[-1]
    assert len({name.split()[-1] for name in mentions(filled, "DOCTOR")[:2]}) == 1
    assert fill(notes, seed=3).corpus == fill(notes, seed=3).corpus != fill(notes, seed=4).corpus


def test_days_are_moved_together(tmp_path: Path) -> None:
    style = own_style(
        tmp_path,
        "pattern = '<(?P<kind>[^<>]+)>'\n[kinds]\n"
        "'(?P<year>[0-9]{4})-(?P<month>[0-9]+)-(?P<day>[0-9]+)' = '[[DATE.note:iso]]'\n",
    )
    filled = fill(corpus("Born <2101-02-03>, seen <2151-07-16>.", "Seen <2151-07-20>."), style, language="en")
    born, seen, again = map(date.fromisoformat, mentions(filled, "DATE"))
    assert (again - seen).days == 4 and (seen - born).days == (date(2151, 7, 16) - date(2101, 2, 3)).days
    assert seen.year < 2140


def test_days_that_no_calendar_has_are_filled_too() -> None:
    days = ("0001-1-1", "2151-13-45", "9999-12-31", "2151-2-30", "13-45", "0000", "2151-1-1")
    filled = fill(corpus(" ".join(f"[**{day}**]" for day in days)))
    assert len(mentions(filled, "DATE")) == len(days) and not filled.unfilled


def test_the_patient_has_the_sex_of_most_pronouns(tmp_path: Path) -> None:
    style = own_style(tmp_path, "pattern = '<(?P<kind>SEX)>'\n[kinds]\nSEX = '[[PATIENT:first]]'\n")

    def named(pronoun: str, seed: int) -> str:
        return mentions(fill(corpus(f"{pronoun} is well. <SEX> came."), style, language="en", seed=seed), "PATIENT")[0]

    names = [[named(pronoun, seed) for pronoun in ("She", "He", "Who")] for seed in range(4)]
    assert all(she != he and who in (she, he) for she, he, who in names)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_label_of_every_language_can_be_filled(language: str) -> None:
    labels = [*slots_of_labels(language)]
    filled = fill(
        corpus("\n".join(f"x [{label}-1] y [{label}]" for label in labels)), Style.of("tags"), language=language
    )
    [note] = filled.corpus.documents
    assert not filled.unfilled and "[" not in note.text
    assert [span.label for span in note.spans] == [label for label in labels for _ in range(2)]
    assert filled.corpus.label_set.language


def in_place_of(text: str, label: str, times: int = 40) -> list[str]:
    """What replaces a placeholder in so many copies of a note."""
    return mentions(fill(corpus(text), Style.of("tags"), copies=times), label)


def test_the_words_around_tell_kind_and_form() -> None:
    def short(text: str, label: str, below: int) -> float:
        """The share of those with fewer letters and digits."""
        return sum(len(re.sub(r"\W", "", one)) < below for one in in_place_of(text, label)) / 40

    assert short("Seen by Dr. [DOCTOR] today.", "DOCTOR", 4) < 0.25, "last names"
    assert short("BP 120/80, HR 80 [DOCTOR]", "DOCTOR", 4) > 0.5, "initials"
    assert short("Call ext. [PHONE].", "PHONE", 7) > 0.5 > short("Call [PHONE].", "PHONE", 7), "extensions"
    assert len({len(name.split()) for name in in_place_of("RN: [DOCTOR]", "DOCTOR")}) > 2, "several forms"


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_a_note_in_one_case_stays_in_it(case: Callable[[str], str]) -> None:
    around = case("Seen today in the clinic of Dr. ? in ?, feels well, no fever, no cough.")
    text = around.replace("?", "[DOCTOR]", 1).replace("?", "[CITY]", 1)
    for note in fill(corpus(text), Style.of("tags"), copies=9).corpus.documents:
        assert note.text == case(note.text)
        assert all(note.text[s.start - 1] == " " and note.text[s.end] in " ," for s in note.spans), "exact offsets"


def test_a_number_is_the_same_wherever_it_stands() -> None:
    text = "DOB: [DATE-1]. Since [DATE-1] with Dr. [DOCTOR-1], then [DOCTOR-1] RN, phone [PHONE-1], ext. [PHONE-1]"
    for seed in range(6):
        filled = fill(corpus(text), seed=seed)
        assert len(set(mentions(filled, "DATE"))) == len(set(mentions(filled, "PHONE"))) == 1
        assert [span.label for span in filled.corpus.documents[0].spans][2:4] == ["DOCTOR"] * 2


def test_copies_are_about_different_patients() -> None:
    filled = fill(corpus(MIMIC, MIMIC), copies=3, seed=1)
    assert [note.id for note in filled.corpus.documents] == [f"7-{i:02d}-{copy}" for i in (1, 2) for copy in (1, 2, 3)]
    assert {note.group for note in filled.corpus.documents} == {"7"} and len(filled.unfilled) == 12
    assert filled.counts == {"DATE": 12, "PATIENT": 6, "HOSPITAL": 12, "DOCTOR": 6}
    names = [name.casefold() for name in mentions(filled, "PATIENT")]
    assert len(set(names)) == 3 and names[:3] == names[3:], "a copy has one name in all notes of the patient"


def test_the_letters_of_a_name_tell_its_form(like: Corpus) -> None:
    texts = ("Seen by Dr. **NAME[AAA, BBB] on **DATE.", "Seen by Dr. **NAME[BBB AAA] on **DATE.")
    formal, full = mentions(fill(corpus(*texts), like=like), "DOCTOR")
    assert "," in formal and "," not in full and " " in full


def test_last_and_first_name_of_mimic_iii_are_one_person() -> None:
    filled = fill(corpus("cc: [**Last Name (LF) 5**], [**First Name3 (LF) 6**] MD"), Style.of("mimic-iii"))
    [name] = mentions(filled, "DOCTOR")
    assert name.count(",") == 1 and filled.corpus.documents[0].text == f"cc: {name} MD"


DOCUMENTED = (
    "Known lastname 1", "Known firstname 1", "First Name8 (NamePattern2) 2", "First Name3 (LF) 3", "Last Name (un) 4",
    "Last Name (STitle) 5", "Name (NI) 6", "Name6 (MD) 7", "Name13 (STitle) 8", "Initials (NamePattern4) 9",
    "Doctor First Name 10", "Doctor Last Name 11", "Female First Name (un) 12", "Male First Name (un) 13",
    "Hospital1 14", "Hospital 15", "Hospital Ward Name 16", "Hospital Unit Name 17", "Wardname 18", "Location (un) 19",
    "Street Address(2) 20", "Apartment Address(1) 21", "PO Box 22", "State 23", "State/Zipcode 24", "Country 25",
    "University/College 26", "Company 27", "Telephone/Fax (3) 28", "Pager number 29", "E-mail address 30", "URL 31",
    "Medical Record Number 32", "Unit Number 33", "Social Security Number 34", "Clip Number (Radiology) 35",
    "Job Number 36", "Serial Number 37", "MD Number(1) 38", "Provider Number 39", "Numeric Identifier 40",
    "Age over 90 41", "Holiday 42", "Month (only) 43", "Month/Day (2) 44", "Month/Year 1 45", "Month/Day/Year 46",
    "Day Month 47", "Day Month Year 48", "Year (4 digits) 49", "Year/Month/Day 50", "Date range (1) 51", "2151-7-16",
    "7-16", "2151", "CC Contact Info 52", "Attending Info 53", "Dictator Info 54", "Name Initial (PRE) 55",
)  # fmt: skip


def test_the_documented_kinds_of_mimic_iii_are_known() -> None:
    style = Style.of("mimic-iii")
    unknown = [kind for kind in DOCUMENTED if not style.find(f"[**{kind}**]", "en")[0].write]
    assert not unknown


@pytest.fixture
def like() -> Corpus:
    seen = "Seen by Dr. [Lee|DOCTOR] in [Salem|CITY] on [3/4/2020|DATE]."
    other = "Seen by Dr. [Birchwood|DOCTOR] in [Rome|CITY] on [May 5|DATE]."
    return corpus_of(*(seen, other) * 6, first=0)


def test_what_was_there_is_told_by_the_words_around_or_left(like: Corpus) -> None:
    notes = corpus("Seen by Dr. ___ in ___ on ___.")
    filled = fill(notes, like=like, sure=0.5)
    assert filled.style == "mimic-iv"
    assert [span.label for span in filled.corpus.documents[0].spans] == ["DOCTOR", "CITY", "DATE"]
    with_names = fill(corpus("Seen by Dr. **NAME[AAA, BBB] on **DATE."), like=like)
    assert [span.label for span in with_names.corpus.documents[0].spans] == ["DOCTOR", "DATE"]
    none = fill(notes, like=like, sure=1.0)
    assert none.corpus.documents[0].text == notes.documents[0].text and len(none.unfilled) == 3


BAD_TABLES: Mapping[str, tuple[str, str]] = {
    "no pattern": ("language = 'en'", "has no pattern"),
    "no expression": ("pattern = '('", "not a regular expression"),
    "slow": ("pattern = '(a+)+b'", "took too long"),
    "kinds without a group": ("pattern = 'x'\n[kinds]\na = '[[CITY]]'", "no group"),
    "no such text": ("pattern = '<(?P<kind>a)>'\n[kinds]\na = '[[SPACESHIP]]'", "SPACESHIP"),
    "no template": ("pattern = '<(?P<kind>a)>'\n[kinds]\na = 'Boston'", "kind 1"),
    "a number": ("pattern = '<(?P<kind>a)>'\n[kinds]\na = 3", "kind 1"),
    "another form": ("pattern = 3", "pattern"),
    "another entry": ("colour = 'x'", "colour"),
    "kinds that are no table": ("pattern = '<(?P<kind>a)>'\nkinds = 'a'", "kinds"),
    "no TOML": ("pattern", "mine.toml"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_one_sentence(name: str, tmp_path: Path) -> None:
    text, says = BAD_TABLES[name]
    with pytest.raises(SettingsError, match=re.escape(says)) as refused:
        own_style(tmp_path, text)
    assert "mine.toml" in str(refused.value) and "\n" not in str(refused.value)


REFUSED: Mapping[str, tuple[Callable[[], object], str]] = {
    "no placeholder": (lambda: fill(corpus("The patient is well.")), "no placeholder that phistack knows"),
    "none of the style": (lambda: fill(corpus("By [DOCTOR]."), Style.of("mimic-iii")), "no placeholder of the style"),
    "nobody knows them": (lambda: fill(corpus("By [**Foo 3**]."), Style.of("mimic-iii")), "none of the 1 placeholders"),
    "no such style": (lambda: Style.of("mimik"), "mimik"),
    "no such language": (lambda: fill(corpus("By [DOCTOR]."), language="fi"), "language fi"),
    "no such file": (lambda: Style.of("nowhere.toml"), "nowhere.toml"),
    "spans of another set": (lambda: fill(corpus("By [DOCTOR].", spans=(Span(0, 2, "Name"),))), "--map-labels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_filled_is_one_sentence(name: str) -> None:
    action, says = REFUSED[name]
    with pytest.raises(PhistackError, match=re.escape(says)) as refused:
        action()
    assert "\n" not in str(refused.value) and isinstance(refused.value, (CorpusError, SettingsError))


def test_every_style_that_ships_can_be_read() -> None:
    assert {"mimic-iii", "mimic-iv", "i2b2", "tags"} <= {Style.of(name).name for name in STYLES.names}


@pytest.mark.parametrize("out", ["filled.jsonl", "filled.csv", "filled.conll", "brat", "i2b2"])
def test_the_command_writes_every_format_and_the_list_of_what_is_left(
    out: str, tmp_path: Path, phistack: Phistack
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "7-01.txt").write_text(MIMIC, encoding="utf-8")
    to = () if "." in out else ("--to", out)
    left = tmp_path / "left.tsv"
    status, said, warned = phistack("fill", tmp_path / "notes", tmp_path / out, *to, "--unfilled", left)
    assert status == 0 and "1 note with 6 PHI" in said and "that are left" in warned and "Holidays" not in warned
    again = read_corpus(tmp_path / out, label_set="i2b2-2014")
    assert sum(len(note.spans) for note in again.documents) == 6
    assert left.read_text().splitlines()[0] == "document\tstart\tend\twhy" and "Holidays" not in left.read_text()


def test_nothing_is_written_where_nothing_can_be_filled(tmp_path: Path, phistack: Phistack) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("The patient is well and has no pain today.", encoding="utf-8")
    status, _, reason = phistack(
        "fill", tmp_path / "notes", tmp_path / "out.jsonl", "--unfilled", tmp_path / "left.tsv"
    )
    assert status == 1 and len(reason.splitlines()) == 1 and "no placeholder" in reason
    assert {path.name for path in tmp_path.iterdir()} == {"notes"}
