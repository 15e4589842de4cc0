"""Whatever is written is read back, code point for code point, or it is refused and nothing is written."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError, StorageError
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet

LABELS = LabelSet.named("i2b2-2014")
ALL = tuple(FORMATS)
# The property tests leave out MEDDOCAN and N-GRID, which share i2b2's XML, and doccano, which shares jsonl's lines.
DISTINCT = ("i2b2", "brat", "inception", "conll", "jsonl", "labelstudio", "csv", "parquet", "text")
NASTY = ["\ufeff", "\r\n", "\r", "\n", "\t", " ", "\x0c", "\x85", "\u2028", "\xa0", "é", "e\u0301", "\U0001f600", "]]>"]
NASTY += ["# text = ", *"& <b> \" ' \\ # -DOCSTART- O B-DATE T1 \ud800 \udc00 \x00 7".split(" ")]

texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=4), max_size=12).map("".join)


@st.composite
def documents(draw: st.DrawFn, id: str = "110-01") -> Any:
    text = draw(texts)
    spans = []
    if text:
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(text) - 1))
            end = draw(st.integers(start + 1, len(text)))
            spans.append(Span(start, end, draw(st.sampled_from(["DOCTOR", "DATE", "LOCATION-OTHER", "OTHER"]))))
    return Document(id, text, tuple(spans), "110")


def there_and_back(corpus: Corpus, format: str) -> Corpus | None:
    """The corpus read back, or nothing where the format refuses it; then nothing may have been written."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out"
        try:
            write_corpus(corpus, target, format=format)
        except CorpusError:
            assert list(Path(folder).iterdir()) == []
            return None
        assert [entry.name for entry in Path(folder).iterdir()] == ["out"]
        return read_corpus(target, format=format, label_set=corpus.label_set)


@pytest.mark.parametrize("format", DISTINCT)
@settings(max_examples=60, deadline=None)
@given(first=documents(), second=documents("110-02"))
def test_reading_gives_what_was_written_or_writing_refuses(format: str, first: Document, second: Document) -> None:
    corpus = Corpus((first, second), LABELS)
    back = there_and_back(corpus, format)
    assert back is None or back == corpus


@settings(max_examples=60, deadline=None)
@given(document=documents())
def test_brat_refuses_lone_surrogates_only(document: Document) -> None:
    surrogates = any("\ud800" <= c <= "\udfff" for c in document.text)
    assert (there_and_back(Corpus((document,), LABELS), "brat") is None) == surrogates


def corpus_of(text: str, *spans: Span, label_set: LabelSet = LABELS) -> Corpus:
    return Corpus((Document("110-01", text, spans, "110"), Document("110-02", "", (), "110")), label_set)


@pytest.mark.parametrize("format", [f for f in ALL if f != "text"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "\ufeffDr. Ames\r\nsaw\rBo\n",
            "e\u0301 \U0001f600 Ames",
            "\u05d3\u05f4\u05e8 \u202e\u05dc\u05d5\u05d9\u202c x",
        ),
        *("a ]]> b ]]]]>> c", "<x> & &amp; 'q' \"r\"", "\r", "\n"),
    ],
)
def test_every_format_keeps_odd_texts(format: str, text: str) -> None:
    names = LabelSet.named("meddocan") if format == "meddocan" else LABELS
    label = names.labels[0]
    spans = (
        () if text.isspace() else (Span(len(text) - 1 - text.endswith("\n"), len(text) - text.endswith("\n"), label),)
    )
    corpus = corpus_of(text, *spans, label_set=names)
    assert there_and_back(corpus, format) == corpus


@pytest.mark.parametrize("format", [f for f in ALL if f not in ("meddocan", "conll", "text")])
def test_duplicate_and_overlapping_spans_come_back(format: str) -> None:
    spans = Span(0, 4, "DOCTOR"), Span(0, 4, "DOCTOR"), Span(0, 8, "PATIENT"), Span(2, 6, "DATE"), Span(0, 4, "CITY")
    corpus = corpus_of("Anne Lee", *spans)
    assert there_and_back(corpus, format).documents == corpus.documents


CITY = Span(0, 4, "CITY")


@pytest.mark.parametrize(
    ("format", "text", "spans", "message"),
    [
        ("conll", "Anne Lee", (CITY, Span(2, 8, "CITY")), "110-01: the spans 0-4 .* overlap"),
        ("conll", "Anne Lee", (CITY, CITY), "110-01: the spans 0-4 .* overlap"),
        ("conll", "Anne Lee", (Span(4, 8, "CITY"),), "110-01: the span 4-8 begins or ends with white space"),
        *(
            ("i2b2", f"abc{c}", (), "110-01: .* at 3; write the corpus as jsonl or brat")
            for c in "\x0c\x00\ud800\uffff"
        ),
        ("text", "Anne", (CITY,), "1 spans, which plain text cannot hold"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_with_the_document(
    format: str, text: str, spans: tuple[Span, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match=message):
        write_corpus(corpus_of(text, *spans), tmp_path / "out", format=format)
    assert list(tmp_path.iterdir()) == []


def test_conll_cuts_tokens_where_spans_begin_and_end() -> None:
    corpus = corpus_of("71Total MDSmith", Span(3, 5, "CITY"), Span(10, 15, "DOCTOR"), Span(8, 10, "DOCTOR"))
    assert there_and_back(corpus, "conll") == corpus


@pytest.mark.parametrize("format", [f for f in ALL if FORMATS[f].single_file])
def test_single_file_formats_keep_ids_and_patients_of_any_shape(format: str) -> None:
    corpus = Corpus((Document("ward/7 #1", "Anne", (), "patient β"), Document("110-01", "", (), "x")), LABELS)
    assert there_and_back(corpus, format) == corpus


@pytest.mark.parametrize(
    "id", ["../up", "a/../b", "a/", "/a", "a//b", "a/.b", "a\\b", "..", ".hidden", "a\nb", "a\x00"]
)
@pytest.mark.parametrize("format", ["i2b2", "brat", "text"])
def test_ids_that_are_unsafe_as_file_names_are_refused(id: str, format: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot be a file name"):
        write_corpus(Corpus((Document(id, "x"),), LABELS), tmp_path / "out", format=format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ALL)
def test_nothing_is_ever_overwritten(format: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    corpus = Corpus((Document("1", "x"),), LABELS)
    write_corpus(corpus, target, format=format)
    before = {entry: entry.read_bytes() for entry in tmp_path.rglob("*") if entry.is_file()}
    with pytest.raises(SettingsError, match="already there"):
        write_corpus(corpus, target, format=format)
    assert {entry: entry.read_bytes() for entry in tmp_path.rglob("*") if entry.is_file()} == before


def test_labels_that_are_no_names_and_an_empty_corpus_are_refused(tmp_path: Path) -> None:
    odd = Corpus((Document("1", "x", (Span(0, 1, "A B"),)),), LABELS.extended({"A B": "OTHER"}))
    with pytest.raises(CorpusError, match="document 1 has labels that are not valid names"):
        write_corpus(odd, tmp_path / "out", format="brat")
    with pytest.raises(CorpusError, match="nothing to write"):
        write_corpus(Corpus((), LABELS), tmp_path / "out", format="brat")
    with pytest.raises(
        CorpusError, match="docx is read and not written by this command; name another format with --to: i2b2"
    ):
        write_corpus(odd, tmp_path / "out", format="docx")


@pytest.mark.parametrize("format", ["brat", "jsonl"])
def test_what_the_disk_refuses_is_one_sentence_and_leaves_nothing(format: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    corpus = Corpus((Document("1", "x"),), LABELS)
    for target in (tmp_path / "file" / "out", tmp_path / ("x" * 300)):
        with pytest.raises(StorageError, match="cannot be written"):
            write_corpus(corpus, target, format=format)
    with pytest.raises(StorageError, match="cannot be written"):
        write_corpus(Corpus((Document("1", "x"), Document("y" * 300, "")), LABELS), tmp_path / "out", format="i2b2")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    with pytest.raises(CorpusError, match="there is no file or folder"):
        read_corpus(tmp_path / ("x" * 300))
