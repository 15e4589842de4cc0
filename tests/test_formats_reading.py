"""Recognising formats by content, and files that other programs write."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError
from phistack.features.formats import FORMATS, Reader, read_corpus, write_corpus
from phistack.features.formats.found import HIDDEN, OTHER
from phistack.features.formats.recognise import recognise
from phistack.features.labels import LabelSet

LABELS = LabelSet.named("i2b2-2014")
CORPUS = Corpus((Document("110-01", "Dr. Ames", (Span(4, 8, "DOCTOR"),), "110"),), LABELS)


def read_text_as(tmp_path: Path, name: str, content: str) -> Corpus:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    return read_corpus(tmp_path / name)


def said(corpus: Corpus) -> list[tuple[str, str]]:
    return [(d.text[s.start : s.end], s.label) for d in corpus.documents for s in d.spans]


@pytest.mark.parametrize("format", [f for f in FORMATS if f not in ("text", "meddocan", "ngrid")])
def test_a_folder_and_a_file_are_recognised(format: str, tmp_path: Path) -> None:
    target = tmp_path / "c" / f"x{FORMATS[format].suffixes[0]}"
    write_corpus(CORPUS, target, format=format)
    folder = target if target.is_dir() else target.parent
    assert recognise(folder).format.name == format
    assert read_corpus(folder) == CORPUS
    assert read_corpus(sorted(folder.iterdir())[0]) == CORPUS


def test_the_ngrid_format_brings_its_own_label_set(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "c", format="ngrid")
    assert read_corpus(tmp_path / "c", format="ngrid").label_set.name == "ngrid-2016"
    assert read_corpus(tmp_path / "c").label_set.name == "i2b2-2014"
    assert read_corpus(tmp_path / "c", label_set=LabelSet.named("ngrid-2016")).label_set.name == "ngrid-2016"


def test_the_label_set_that_has_all_labels_is_taken(tmp_path: Path) -> None:
    line = '{"id": "1", "text": "Anna", "spans": [{"start": 0, "end": 4, "label": "%s"}]}'
    for label, name in [("DOCTOR", "i2b2-2014"), ("Initials", "nut"), ("FECHAS", "meddocan")]:
        assert read_text_as(tmp_path, "a.jsonl", line % label).label_set.name == name


def test_a_nested_folder_is_found_and_xml_goes_first(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "one" / "brat", format="brat")
    assert recognise(tmp_path / "one").format.name == "brat"
    write_corpus(CORPUS, tmp_path / "one" / "xml", format="i2b2")
    assert recognise(tmp_path / "one").format.name == "i2b2"
    assert recognise(tmp_path / "one", "brat").format.name == "brat"
    assert read_corpus(tmp_path / "one", format="brat") == read_corpus(tmp_path / "one")
    write_corpus(CORPUS, tmp_path / "two" / "a", format="i2b2")
    write_corpus(CORPUS, tmp_path / "two" / "b", format="brat")
    with pytest.raises(
        CorpusError, match="several formats, i2b2, brat; choose one with --from, or give the folder of one"
    ):
        recognise(tmp_path / "two")


def test_read_me_files_licences_and_hidden_files_are_passed_over(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "c", format="i2b2")
    for name in ("README.txt", "LICENSE", "SOURCE.md", "._110-01.xml"):
        (tmp_path / "c" / name).write_text("x")
    corpus = read_corpus(tmp_path / "c")
    assert corpus.documents == CORPUS.documents and corpus.warnings == {HIDDEN: 1, OTHER: 3}


def test_two_formats_in_one_folder_must_be_told_apart(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "c", format="brat")
    write_corpus(CORPUS, tmp_path / "c" / "x.jsonl", format="jsonl")
    with pytest.raises(CorpusError, match="several formats, brat, jsonl; choose one with --from"):
        read_corpus(tmp_path / "c")
    for name in ("brat", "jsonl"):
        assert read_corpus(tmp_path / "c", format=name).documents == CORPUS.documents


def test_other_endings_are_recognised_by_their_first_characters(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "notes.dat", format="jsonl")
    assert read_corpus(tmp_path / "notes.dat") == CORPUS
    write_corpus(CORPUS, tmp_path / "notes.out", format="conll")
    assert read_corpus(tmp_path / "notes.out") == CORPUS


def test_discontinuous_brat_spans_become_their_hull_and_are_counted(tmp_path: Path) -> None:
    (tmp_path / "7.txt").write_text("12 Harbor\nTerrace, Dr. Ames")
    lines = ["T1\tSTREET 0 9;10 17\t12 Harbor Terrace", "T2\tDOCTOR 23 27\tAmes", "T3\tDOCTOR 19 21;23 27\tDr Ames"]
    lines += ["#1\tAnnotatorNotes T1\tsure", "A1\tNegation T2", "R1\tOf Arg1:T1 Arg2:T2", "*\tEquiv T1 T2", "E1\tX:T1"]
    (tmp_path / "7.ann").write_text("\r\n".join(lines), newline="")
    corpus = read_corpus(tmp_path)
    assert said(corpus) == [("12 Harbor\nTerrace", "STREET"), ("Dr. Ames", "DOCTOR"), ("Ames", "DOCTOR")]
    assert corpus.warnings == {"discontinuous spans joined": 2}


def test_a_text_without_ann_beside_others_has_no_spans(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "c", format="brat")
    (tmp_path / "c" / "110-02.txt").write_text("x")
    assert [len(d.spans) for d in read_corpus(tmp_path / "c").documents] == [1, 0]


def test_xml_text_may_be_escaped_and_attributes_normalised(tmp_path: Path) -> None:
    xml = (
        "<deIdi2b2><!-- c --><TEXT>A&amp;B<![CDATA[ &amp; ]]>x<!-- y -->\r\nz&#13;</TEXT><TAGS>"
        '<LOCATION id="P0" start="0" end="3" text="A&amp;B" TYPE="OTHER" comment="sure"/>'
        '<PHI start="10" end="13" text="x\nz" TYPE="OTHER"/></TAGS></deIdi2b2>'
    )
    corpus = read_text_as(tmp_path, "5.xml", xml)
    assert corpus.documents[0].text == "A&B &amp; x\nz\r"
    assert said(corpus) == [("A&B", "LOCATION-OTHER"), ("x\nz", "OTHER")]


def test_groups_come_from_the_name_or_the_column(tmp_path: Path) -> None:
    lines = '{"id": "110-01", "text": ""}\n{"id": "110-02", "text": "", "group": "x"}\n{"id": "n-1", "text": ""}\r\n'
    assert [d.group for d in read_text_as(tmp_path, "a.jsonl", "\ufeff" + lines).documents] == ["110", "x", "n-1"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B-DOCTOR I-DOCTOR B-DOCTOR O", ["Ann Lee", "saw"]),  # BIO
        ("O I-DOCTOR I-DOCTOR O I-DATE", ["Ann Lee", "Bo"]),  # IOB1, orphan inside tags
        ("O B-DOCTOR E-DOCTOR S-DATE O", ["Ann Lee", "saw"]),  # BIOES
        ("U-DATE B-DOCTOR L-DOCTOR O E-DATE", ["Dr", "Ann Lee", "Bo"]),  # BILOU, orphan end
        ("B-DATE I-DOCTOR I-DATE I-DATE O", ["Dr", "Ann", "Lee saw"]),  # another type begins a span
    ],
)
@pytest.mark.parametrize("columns", ["{} {}", "{}\tNN\t{}", "{}  x y {}\r"])
def test_conll_of_others_in_any_scheme(tags: str, expected: list[str], columns: str, tmp_path: Path) -> None:
    words = ["Dr", "Ann", "Lee", "saw", "Bo"]
    lines = [columns.format(word, tag) for word, tag in zip(words, tags.split(), strict=True)]
    corpus = read_text_as(tmp_path, "a.conll", "\n".join(lines))
    assert corpus.documents[0].text == "Dr Ann Lee saw Bo"
    assert [text for text, _ in said(corpus)] == expected


def test_conll_of_others_with_several_notes_and_sentences(tmp_path: Path) -> None:
    content = "-DOCSTART- -X- O\n\nDr O\nAmes B-DOCTOR\n\nAmes I-DOCTOR\n# O\n# sent_id = 3\n\n\n-DOCSTART- O\n\nBo O\n"
    corpus = read_text_as(tmp_path, "ward.conll", content)
    assert [(d.id, d.text) for d in corpus.documents] == [("ward-1", "Dr Ames\nAmes #"), ("ward-2", "Bo")]
    assert corpus.documents[0].spans == (Span(3, 7, "DOCTOR"), Span(8, 12, "DOCTOR"))


def test_notes_in_folders_within_the_folder_are_read_and_written_with_their_folders(tmp_path: Path) -> None:
    for name in ("a.txt", "ward/110-02.txt", "ward/110-01.TXT", "ward/deep/b.txt", "other/b.txt", ".old/c.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    corpus = read_corpus(tmp_path / "in")
    assert [(document.id, document.group) for document in corpus.documents] == [
        ("a", "a"), ("other/b", "b"), ("ward/110-01", "110"), ("ward/110-02", "110"), ("ward/deep/b", "b"),
    ]  # fmt: skip
    assert corpus.warnings == {HIDDEN: 1}
    for format in ("brat", "i2b2", "text"):
        write_corpus(corpus, tmp_path / format, format=format)
        assert read_corpus(tmp_path / format).documents == corpus.documents
    one = replace(corpus, documents=corpus.documents[2:4])
    with pytest.raises(CorpusError, match="begin with one folder, which readers leave out"):
        write_corpus(one, tmp_path / "one", format="brat")


def test_the_parts_of_a_corpus_are_not_read_as_one(tmp_path: Path) -> None:
    for part in ("train", "test"):
        write_corpus(CORPUS, tmp_path / part, format="brat")
    with pytest.raises(CorpusError, match="holds the parts of a corpus, test, train; give one of them"):
        read_corpus(tmp_path)


def test_spans_beside_notes_count_for_the_whole_folder_and_a_read_me_is_no_note(tmp_path: Path) -> None:
    write_corpus(CORPUS, tmp_path / "c" / "deep", format="brat")
    (tmp_path / "c" / "a.txt").write_text("x")
    assert [(d.id, len(d.spans)) for d in read_corpus(tmp_path / "c").documents] == [("a", 0), ("deep/110-01", 1)]
    write_corpus(CORPUS, tmp_path / "x" / "notes", format="i2b2")
    (tmp_path / "x" / "README.txt").write_text("About the notes.")
    (tmp_path / "x" / "wards.csv").write_text("id,ward\n1,2\n")
    assert read_corpus(tmp_path / "x").documents == CORPUS.documents


def test_a_link_to_a_folder_is_refused_and_one_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").symlink_to(tmp_path / "note.txt")
    assert [document.id for document in read_corpus(tmp_path / "in").documents] == ["a"]
    (tmp_path / "in" / "Birchwood").symlink_to(tmp_path)
    with pytest.raises(CorpusError, match="is a link to a folder, which is not followed; put the folder") as refused:
        read_corpus(tmp_path / "in")
    assert "Birchwood" not in str(refused.value)


def test_files_that_hold_notes_which_no_reader_opens_are_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "Birchwood.odt").write_bytes(b"PK")
    with pytest.raises(CorpusError, match=r"each of its \.odt files is a word processor's document; save") as refused:
        read_corpus(tmp_path)
    assert "Birchwood" not in str(refused.value)
    for name in ("1.txt", "scan.PDF", "feed.hl7", "LICENSE"):
        (tmp_path / name).write_text("x")
    counted = read_corpus(tmp_path).warnings
    assert counted.pop(OTHER) == 1 and all("were skipped; each is a" in what for what in counted)
    assert {what.partition(" ")[0]: count for what, count in counted.items()} == {".odt": 1, ".pdf": 1, ".hl7": 1}


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="/dev/zero cannot be read: a device, not a regular file"):
        read_corpus(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\r1,Dr. Ames\r2,"x\ny"\r'),
        ("a.jsonl", '{"id": 1, "text": "Dr. Ames"}\r{"id": 2, "text": "x\\ny"}\r'),
    ],
)
def test_lines_may_end_with_carriage_returns_alone(tmp_path: Path, name: str, content: str) -> None:
    assert [document.text for document in read_text_as(tmp_path, name, content).documents] == ["Dr. Ames", "x\ny"]


def test_memory_does_not_grow_with_a_table(tmp_path: Path) -> None:
    line = json.dumps({"id": "{}", "text": "Seen today. " * 200}) + "\n"
    with (tmp_path / "a.jsonl").open("w") as file:
        file.writelines(line.replace("{}", str(i), 1) for i in range(8000))
    notes = Reader().notes(tmp_path / "a.jsonl")
    tracemalloc.start()
    assert sum(1 for _ in notes) == 8000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "a.jsonl").stat().st_size > 19_000_000 and peak < 2_000_000
