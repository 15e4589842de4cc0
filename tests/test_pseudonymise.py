"""Annotated notes with surrogates: what each span covers, what stays, and two papers' policies."""

import csv
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from phistack.ensemble.command_line.app import app, main
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.deidentification.policy import PolicyOptions
from phistack.ensemble.tasks.pseudonyms import Pseudonymised, pseudonymise, renumbered
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.letters import fold, normalised, parts
from tests.annotated import annotated

KEY = b"a key of the tests, not a secret"
SWEDISH = LabelSet.named("stockholm-epr-phi")
DUTCH = LabelSet.named("nut")
MENTIONS = {
    "DOCTOR": ["Dr. Ames Birchwood", "Ruiz", "j. zelkowitz", "?"],
    "HOSPITAL": ["Mercy Clinic", "MGH", "Harlow General Hospital"],
    "DATE": ["5/12/2019", "March 3rd", "soon", "2019"],
    "CITY": ["Boston", "Springfield"],
    "IDNUM": ["4711-08-15", "A7"],
    "AGE": ["93", "47"],
    "PROFESSION": ["carpenter", "thinker"],
}


def texts(corpus: Corpus) -> list[list[str]]:
    return [[note.text[span.start : span.end] for span in note.spans] for note in corpus.documents]


def outside(note: Document) -> str:
    covered = {at for span in note.spans for at in range(span.start, span.end)}
    return "".join(c for at, c in enumerate(note.text) if at not in covered)


@st.composite
def notes(draw: st.DrawFn, id: str) -> Document:
    pieces, spans, length = [], [], 0
    for _ in range(draw(st.integers(1, 6))):
        gap = draw(st.sampled_from([" seen by ", "\n", " 🩺 é ", "; "]))
        label = draw(st.sampled_from(sorted(MENTIONS)))
        mention = draw(st.sampled_from(MENTIONS[label]))
        start = length + len(gap)
        pieces += (gap, mention)
        length = start + len(mention)
        spans.append(Span(start, length, label))
    return Document(id, "".join([*pieces, "."]), tuple(spans), "110")


@pytest.mark.parametrize("format", ["i2b2", "brat", "conll", "jsonl", "csv", "parquet"])
@settings(max_examples=25, deadline=None)
@given(
    first=notes("110-01"), second=notes("110-02"), policy=st.sampled_from(["surrogate", "trienes2020", "substitute"])
)
def test_what_is_written_and_read_back_has_a_surrogate_at_every_span(
    format: str, first: Document, second: Document, policy: str
) -> None:
    corpus = Corpus((first, second), LabelSet.named("i2b2-2014"))
    made = pseudonymise(corpus, Policy.named(policy), KEY)
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(made.corpus, Path(folder) / "out", format=format)
        back = read_corpus(Path(folder) / "out", format=format, label_set=corpus.label_set)
    assert back.documents == made.corpus.documents
    for old, new, result in zip(corpus.documents, back.documents, made.results, strict=True):
        assert [span.label for span in old.spans] == [span.label for span in new.spans]
        assert outside(old) == outside(new)
        for before, after, treated in zip(old.spans, new.spans, result.replacements, strict=True):
            was, now = old.text[before.start : before.end], new.text[after.start : after.end]
            assert now == result.text[treated.start_in_output : treated.end_in_output]
            assert normalised(was) != normalised(now) or treated.strategy == "generalise"
            if treated.strategy == "surrogate" and before.label in ("DOCTOR", "CITY", "IDNUM"):
                assert not parts(was) & parts(now)


def test_overlapping_spans_get_one_surrogate_that_each_of_them_covers() -> None:
    note = Document("1", "Ask Ann Zelkowitz.", (Span(4, 17, "PATIENT"), Span(8, 17, "DOCTOR"), Span(8, 17, "DOCTOR")))
    made = pseudonymise(Corpus((note,), LabelSet.named("i2b2-2014")), Policy.named("surrogate"), KEY).corpus
    assert [span.label for span in made.documents[0].spans] == ["DOCTOR", "DOCTOR", "PATIENT"]
    assert len(set(texts(made)[0])) == 1 and outside(made.documents[0]) == "Ask ."


def test_no_surrogate_is_another_identifier_of_the_patient() -> None:
    names = "Anna Eva Maria Karin Kristina Lena Sara Kerstin Emma Ingrid Marie Birgitta".split()
    note = annotated(" ".join(f"[{name}|First_Name]" for name in names))
    policy = replace(Policy.named("dalianis2019"), options=PolicyOptions(common_names=40))
    for number in range(20):
        made = pseudonymise(Corpus((note,), SWEDISH), policy, b"%032d" % number)
        new = texts(made.corpus)[0]
        assert not set(new) & set(names) and not any("." in name for name in new)


def test_a_corpus_in_which_nothing_is_marked_is_refused() -> None:
    corpus = Corpus((Document("1", "Ann Lee came."),), LabelSet.named("i2b2-2014"))
    with pytest.raises(CorpusError, match="no PHI marked, so all of it would stay"):
        pseudonymise(corpus, Policy.named("tag"), None)


def test_new_ids_tell_nothing_of_the_old_and_keep_patients_together() -> None:
    notes_ = [Document(f"Lee-{i}", str(i), (), group=f"Lee {i % 3}") for i in range(7)]
    corpus = Corpus(tuple(notes_), LabelSet.named("i2b2-2014"))
    renamed = renumbered(corpus, KEY)
    assert [note.id for note in renamed.documents] == sorted(note.id for note in renamed.documents)
    groups = {
        frozenset(note.text for note in renamed.documents if note.group == group) for group in ("001", "002", "003")
    }
    assert groups == {frozenset("036"), frozenset("14"), frozenset("25")}
    assert renumbered(corpus, KEY) == renamed
    orders = {tuple(note.text for note in renumbered(corpus, b"%032d" % i).documents) for i in range(20)}
    assert len(orders) > 1


# --- the policies of the papers


def swedish(spans: Sequence[tuple[str, str]], key: int = 0) -> Pseudonymised:
    note = annotated(" på ".join(f"[{mention}|{label}]" for mention, label in spans))
    return pseudonymise(Corpus((note,), SWEDISH), Policy.named("dalianis2019"), b"%032d" % key)


def test_dalianis_takes_one_of_the_hundred_commonest_names_of_the_gender_with_its_genitive() -> None:
    from phistack.ensemble.deidentification.names.tables import name_tables

    women, men, lasts = (
        {fold(name) for name in names[:110]}
        for names in (name_tables("sv").female, name_tables("sv").male, name_tables("sv").last)
    )
    spans = [(name, "First_Name") for name in ("Viveka", "Karins", "Torbjörn")] + [("Zackrisson", "Last_Name")]
    for key in range(8):
        woman, her, man, last = (fold(name) for name in texts(swedish(spans, key).corpus)[0])
        assert woman in women and man in men and last in lasts
        assert her in women | {f"{name}s" for name in women} and (her.endswith("s") or her[-1] in "xz")


def test_dalianis_links_misspelt_names() -> None:
    spans = [("Torbjörn", "First_Name"), ("Torbjörrn", "First_Name"), ("TORBJÖRN", "First_Name")]
    first, misspelt, upper = texts(swedish(spans).corpus)[0]
    assert first == misspelt and upper == first.upper()


def test_dalianis_shifts_by_a_week_and_keeps_weekdays_alone() -> None:
    made = swedish([("2012-03-05", "Full_Date"), ("2012-03-12", "Full_Date"), ("måndag", "Date_Part")])
    first, second, weekday = texts(made.corpus)[0]
    days = (date.fromisoformat(first) - date(2012, 3, 5)).days
    assert days in (-7, 7) and (date.fromisoformat(second) - date.fromisoformat(first)).days == 7
    assert weekday == "måndag" and made.tags == ()


def test_dalianis_keeps_counties_and_takes_places_of_the_same_county_and_preposition() -> None:
    from phistack.ensemble.deidentification.places.cities import table

    name = "Västernorrlands län"
    county = {*table("sv")["regions"]["norrland"][name][1:], *table("sv")["towns"][name]}
    said_with_on = set(table("sv")["on"]["places"])
    spans = [("Sundsvall", "Location"), ("Värmland", "Location"), (name, "Location")]
    spans += [("Södermalm", "Location"), ("Island", "Location"), ("Europa", "Location"), ("Stockholm", "Location")]
    for key in range(8):
        town, province, same, isle, country, continent, capital = texts(swedish(spans, key).corpus)[0]
        assert town in county - {"Sundsvall"} and (province, same, continent) == ("Värmland", name, "Europa")
        assert isle in said_with_on - {"Södermalm"} and country in ("Irland", "Cypern", "Malta")
        assert capital != "Stockholm"


def test_dalianis_has_twenty_care_units_and_exchanges_area_codes() -> None:
    from phistack.ensemble.deidentification.word_lists import words

    units = words("sv")["care_units"]["generic"]
    spans = [("NIVA", "Health_Care_Unit"), ("070-123 45 67", "Phone_Number"), ("08-123 456 78", "Phone_Number")]
    unit, mobile, fixed = texts(swedish(spans).corpus)[0]
    assert len(units) == 20 and unit in units
    assert re.fullmatch(r"07[2369]-\d{3} \d\d \d\d", mobile) and re.fullmatch(r"0(?!8)\d+-\d{3} \d{3} \d\d", fixed)


def test_dalianis_removes_personal_numbers_with_their_spans() -> None:
    note = annotated("[Ann|PERSON], [19640823-3234|ID], kom.")
    labels = LabelSet("own", {"PERSON": "NAME", "ID": "ID"}, language="sv")
    made = pseudonymise(Corpus((note,), labels), Policy.named("dalianis2019"), KEY)
    assert made.removed == 1 and made.corpus.documents[0].text.endswith(", , kom.")
    assert [span.label for span in made.corpus.documents[0].spans] == ["PERSON"]


def dutch(*notes_: Document) -> Pseudonymised:
    return pseudonymise(Corpus(notes_, DUTCH), Policy.named("trienes2020"), KEY)


def test_trienes_shifts_all_dates_of_a_patient_into_the_future_by_one_amount() -> None:
    made = dutch(annotated("[26-04-2017|Date] en [12 nov. 2018|Date]"))
    first, second = texts(made.corpus)[0]
    moved = date(*map(int, reversed(first.split("-"))))
    assert moved > date(2017, 4, 26) and re.fullmatch(r"\d\d? [a-z]{3}\. 20\d\d", second)
    assert int(second[-4:]) - moved.year in (1, 2)


def test_trienes_shuffles_institutions_within_the_corpus() -> None:
    homes = ["Duinendaal", "Huize Anna", "De Linde", "'t Hof"]
    made = dutch(*(annotated(f"Woont in [{home}|Care_Institute].", str(i), str(i)) for i, home in enumerate(homes)))
    new = [note[0] for note in texts(made.corpus)]
    assert sorted(new) == sorted(homes) and all(old != other for old, other in zip(homes, new, strict=True))


def test_trienes_caps_ages_and_exchanges_characters_within_their_class() -> None:
    note = annotated("[92|Age]; [64 jaar|Age]; [06-7802651|Phone_fax]; [j.jansen@zorg.nl|Email]; [A64-088|ID]")
    oldest, age, phone, mail, code = texts(dutch(note).corpus)[0]
    assert (oldest, age) == ("89", "64 jaar")
    assert re.fullmatch(r"\d\d-\d{7}", phone) and re.fullmatch(r"[a-z]\.[a-z]{6}@[a-z]{4}\.[a-z]{2}", mail)
    assert re.fullmatch(r"[A-Z]\d\d-\d{3}", code) and not any(new in note.text for new in (phone, mail, code))


def test_trienes_leaves_professions_and_others_to_a_person() -> None:
    made = dutch(annotated("werkt [achter de kassa|Profession]"))
    assert made.corpus.documents[0].text == "werkt [Profession]" and [id for id, _ in made.tags] == ["1"]


def test_shuffling_needs_a_corpus_and_substitutes_need_strings() -> None:
    with pytest.raises(SettingsError, match="only `phistack pseudonymise` has"):
        Deidentifier(Policy.named("trienes2020"), DUTCH, "nl", KEY)
    with pytest.raises(SettingsError, match="no string to write for Name; give one as --substitute Name=STRING"):
        Policy(strategies={"Name": "substitute"}).check(DUTCH)
    with pytest.raises(SettingsError, match="the string that takes the place of Name is empty"):
        Policy().with_substitutes({"Name": " "})


# --- the command


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output


@pytest.fixture
def source(tmp_path: Path) -> Path:
    lines = [
        {"id": "110-01", "text": "Ann Zelkowitz, a thinker, saw Zelkowitz.", "spans": [
            {"start": 0, "end": 13, "label": "PATIENT"}, {"start": 17, "end": 24, "label": "PROFESSION"}]},
    ]  # fmt: skip
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_command_writes_notes_and_a_sheet_of_what_a_person_must_see(tmp_path: Path, source: Path) -> None:
    out, sheet = tmp_path / "out.jsonl", tmp_path / "sheet.csv"
    run("pseudonymise", source, out, "--seed", 1, "--review", sheet, "--label-set", "i2b2-2014")
    note = json.loads(out.read_text())
    assert "Ann" not in note["text"] and note["text"].endswith("saw Zelkowitz.")
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert [row["label"] for row in rows] == ["PROFESSION", "PATIENT"]
    shown = [note["text"][int(row["start"]) : int(row["end"])] for row in rows]
    assert shown == ["[PROFESSION]", "Zelkowitz"] and "Zelkowitz" not in sheet.read_text()


def test_new_ids_are_on_the_sheet_too(tmp_path: Path, source: Path) -> None:
    out, sheet = tmp_path / "out.jsonl", tmp_path / "sheet.csv"
    run("pseudonymise", source, out, "--seed", 1, "--review", sheet, "--label-set", "i2b2-2014", "--new-ids")
    assert json.loads(out.read_text())["id"] == "001-01" and json.loads(out.read_text())["group"] == "001"
    assert {row["document"] for row in csv.DictReader(sheet.read_text().splitlines())} == {"001-01"}


def test_the_same_seed_gives_the_same_notes_and_another_gives_others(tmp_path: Path, source: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("pseudonymise", source, tmp_path / f"{name}.jsonl", "--seed", seed, "--label-set", "i2b2-2014")
    a, b, c = ((tmp_path / f"{name}.jsonl").read_text() for name in "abc")
    assert a == b != c


def test_substitutes_are_given_on_the_command_line(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    given = ("--policy", "substitute", "--substitute", "PATIENT=N. N.", "--label-set", "i2b2-2014")
    run("pseudonymise", source, out, *given)
    assert json.loads(out.read_text())["text"] == "N. N., a SOME_WORK, saw Zelkowitz."


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "surrogates need a secret key"),
        (("--seed", "1", "--key-file", "key"), "give --key-file or --seed, not both"),
        (("--seed", "1", "--policy", "trienes"), "did you mean trienes2020"),
        (("--seed", "1", "--substitute", "PATIENT"), "--substitute takes LABEL=STRING"),
        (("--seed", "1", "--substitute", "PATIENTS=x"), "the policy names PATIENTS"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, source: Path, options: tuple[str, ...], complaint: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("PHISTACK_KEY", raising=False)
    out, sheet = tmp_path / "out.jsonl", tmp_path / "sheet.csv"
    arguments = ["pseudonymise", source, out, "--review", sheet, "--label-set", "i2b2-2014", *options]
    monkeypatch.setattr("sys.argv", ["phistack", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 1 and complaint in said and said.count("\n") == 1
    assert not out.exists() and not sheet.exists()
