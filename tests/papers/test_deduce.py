"""The lists and rules for Dutch notes: what they find, what they leave, and what training adds."""

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.papers.deduce.lists import DutchLists, Reading
from phistack.ensemble.papers.deduce.submodel import DeduceSubmodel
from phistack.ensemble.synthesis import synthesize
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Document, Span
from phistack.features.errors import BundleError, SettingsError
from phistack.features.letters import edits
from phistack.features.saved_files import SavedFiles

SPACE = FeatureSpace(FeatureSettings(language="nl"))


@cache
def shipped() -> DutchLists:
    return DutchLists.shipped()


@cache
def tables() -> list[FeatureTable]:
    return SPACE.fit(synthesize(20, seed=3, language="nl").documents)


@cache
def trained() -> DeduceSubmodel:
    return DeduceSubmodel(label_set="nut").fit(tables())


def found(text: str, model: DeduceSubmodel | None = None) -> list[tuple[str, str]]:
    [candidates] = (model or trained()).propose([SPACE.table(Document("1", text))])
    return [(text[c.span.start : c.span.end], c.span.label) for c in candidates]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Gesproken met dhr. J.P. van der Berg-Smit over", ["J.P. van der Berg-Smit"]),
        ("Mevrouw Oudshoorn belde", ["Oudshoorn"]),
        ("de heer prof. dr. Wiebe Boonstra belde", ["Wiebe Boonstra"]),
        ("belde met A. de Wildt en J. Kamp", ["A. de Wildt", "J. Kamp"]),
        ("gezien door Hendriks, Sanne vandaag", ["Hendriks, Sanne"]),
        ("overleg met Anne-Marie van den Heuvel", ["Anne-Marie van den Heuvel"]),
        ("gisteren kwam van der Sloot langs", ["van der Sloot"]),
        ("de Jansen kwam", ["de Jansen"]),
        ("dochter Xyla van Put belde", ["Xyla van Put"]),
        ("een bos en een berg, koning Winter", []),
        ("Mark is een munt", []),
        ("mevrouw kwam langs", []),
        ("Ziekte van Crohn. Mini Mental", []),
    ],
)
def test_names_begin_after_their_titles(text: str, names: list[str]) -> None:
    assert [name for name, label in found(text) if label == "Name"] == names


def test_a_long_word_one_edit_from_a_list_counts_in_the_middle_of_a_sentence() -> None:
    assert found("belde met Willemien Hendrix") == [("Willemien Hendrix", "Name")]
    assert found("bezoek van Henriks vandaag") == [("Henriks", "Name")], "one letter from Hendriks"
    assert found("bezoek van Henriks vandaag", DeduceSubmodel(label_set="nut", fuzzy=False).fit(tables())) == []
    assert found("bezoek van Hinrik vandaag") == []


def test_the_name_at_the_head_is_found_in_any_case_and_one_edit_away() -> None:
    text = "Naam: mevr. Oudshoorn, Ylva\n\nGezien: oudshoorn is moe. Oudshorn slaapt. Ylva ook; Osthoorn niet."
    assert [name for name, _ in found(text)] == ["Oudshoorn, Ylva", "oudshoorn", "Oudshorn", "Ylva"]
    assert found(text.partition("\n")[2]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("naar Huize Eikenrode gebracht", [("Huize Eikenrode", "Care_Institute")]),
        ("in Streekziekenhuis De Linde", [("Streekziekenhuis De Linde", "Hospital")]),
        ("naar het Noorderlicht Ziekenhuis", [("Noorderlicht Ziekenhuis", "Hospital")]),
        ("in het ziekenhuis geweest", []),
        ("op afdeling 3B en kamer 214", [("afdeling 3B", "Internal_Location"), ("kamer 214", "Internal_Location")]),
        ("werkt bij Albert Heijn, ing. mee", [("Albert Heijn", "Organization_Company")]),
        ("verhuisd naar Zwolle en Zutfen", [("Zwolle", "Address")]),
        ("woont in Best. Best moe", [("Best", "Address")]),
        ("Lindelaan 12a, 1234 AB Zwolle", [("Lindelaan 12a, 1234 AB Zwolle", "Address")]),
        ("op 3-4-2019, 12 mei '20 en sinds 2018", [("3-4-2019", "Date"), ("12 mei '20", "Date"), ("2018", "Date")]),
        ("op 3/4 en 1/2 tablet", [("3/4", "Date")]),
        ("een 84-jarige vrouw. Leeftijd: 84", [("84", "Age"), ("84", "Age")]),
        ("tel. 06-12345678 of 0541 - 123456", [("06-12345678", "Phone_fax"), ("0541 - 123456", "Phone_fax")]),
        ("BSN 642891539, niet 642891538", [("642891539", "SSN")]),
        ("mail a.b@huis.example.org, www.huis.example.org",
         [("a.b@huis.example.org", "Email"), ("www.huis.example.org", "URL_IP")]),
        ("Patiëntnummer: 123456", [("123456", "ID")]),
        ("amlodipine 300 mg, sat 97%, RR 120/80", []),
    ],
)  # fmt: skip
def test_places_institutions_and_numbers(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@given(st.text(alphabet="JanvdersWm. -,:\n'’\u0301\u00a0A1", max_size=60))
def test_whatever_stands_there_what_is_found_is_apart_and_within(text: str) -> None:
    [candidates] = trained().propose([SPACE.table(Document("1", text))])
    assert all(a.span.end <= b.span.start for a, b in itertools.pairwise(candidates))


@given(st.data())
def test_what_is_near_a_list_is_what_edits_say(data: st.DataObject) -> None:
    lists = shipped()
    long = {entry for entry in lists.entries["family"] if len(entry[0]) > 5}
    name = data.draw(st.sampled_from(sorted(entry[0] for entry in long)))
    place = data.draw(st.integers(0, len(name)))
    word = name[:place] + data.draw(st.sampled_from(["", "x", "xy"])) + name[place + 1 :]
    near = any(edits(word, entry[0], 1) <= 1 for entry in long if len(entry) == 1)
    assert lists.has("family", word, fuzzy=True) == ((word,) in lists.entries["family"] or (near and len(word) > 5))


def test_own_lists_add_to_ours(tmp_path: Path) -> None:
    path = tmp_path / "lists.toml"
    path.write_text('[known_institutions]\nCare_Institute = """\nDe Blauwe Hoeve\n"""\n[names]\ngiven = "Xylander"\n')
    model = DeduceSubmodel(label_set="nut", lists_file=str(path)).fit(tables())
    text = "Xylander ging naar De Blauwe Hoeve met Jan"
    assert found(text, model) == [("Xylander", "Name"), ("De Blauwe Hoeve", "Care_Institute"), ("Jan", "Name")]
    path.unlink()
    again = DeduceSubmodel.load(SavedFiles.written_by(model.save), SPACE)
    assert found(text, again) == found(text, model), "an engine has its lists with it"


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        ("[name]\ngiven = 'A'", "did you mean names"),
        ("[names]\ngivn = 'A'", "did you mean given"),
        ("[names]\ngiven = ['A']", "must be a text"),
        ("[names", "Expected"),
    ],
)
def test_lists_that_cannot_be_used_are_one_sentence(tmp_path: Path, content: str, reported: str) -> None:
    path = tmp_path / "lists.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=rf"file of lists .*lists\.toml cannot be used: .*{reported}"):
        DeduceSubmodel(lists_file=str(path)).fit(tables())


def labelled(label_set: str, *spans: Span) -> DeduceSubmodel:
    note = Document("1", "Mevrouw Jansen kwam op 3-4-2019 in Zwolle", spans)
    return DeduceSubmodel(label_set=label_set).fit(SPACE.tables([note]))


def test_types_have_the_labels_of_the_corpus() -> None:
    learned = labelled("", Span(8, 14, "PATIENT"), Span(23, 31, "DATE"))
    assert learned.labels_ == {"Name": "PATIENT", "Date": "DATE"}
    assert labelled("i2b2-2014", Span(8, 14, "PATIENT")).labels_["Name"] == "PATIENT"
    assert labelled("i2b2-2014", Span(8, 14, "PATIENT")).labels_["Date"] == "DATE", "by the mapping"
    assert labelled("nut", Span(8, 14, "Name")).labels_["Date"] == "Date"


def test_the_score_is_how_often_a_rule_was_right() -> None:
    model = labelled("nut", Span(8, 14, "Name"))
    [candidates] = model.propose([SPACE.table(Document("2", "Mevrouw Smit kwam op 3-4-2019"))])
    scores = {c.span.label: (c.score, c.evidence) for c in candidates}
    assert scores == {"Name": (pytest.approx(2 / 3), "title"), "Date": (pytest.approx(1 / 3), "date in figures")}
    assert all(c.chosen for c in candidates)


def test_reading_says_where_lines_and_sentences_begin() -> None:
    reading = Reading("Jan kwam. Piet\nook")
    assert [word for i, word in enumerate(reading.words) if reading.is_first(i)] == ["Jan", "Piet", "ook"]


def test_a_bundle_whose_patterns_have_no_type_is_refused(tmp_path: Path) -> None:
    trained().save(tmp_path)
    (tmp_path / "patterns.toml").write_text("[[patterns]]\nname = 'a'\nregex = 'b'\nlabels = { nut = 'Date' }\n")
    with pytest.raises(BundleError, match="has no label"):
        DeduceSubmodel.load(SavedFiles.of_folder(tmp_path), SPACE)


def tables_of(*texts: str) -> list[FeatureTable]:
    return SPACE.tables(Document(str(i), text) for i, text in enumerate(texts))


def test_the_evidence_names_rules_and_no_text() -> None:
    names: Any = {c.evidence for note in trained().propose(tables_of("Mw. Jansen, Zwolle, 3-4-2019")) for c in note}
    assert names == {"title", "town", "date in figures"}
