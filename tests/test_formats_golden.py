"""The files that each format reads and writes, byte for byte; the sample corpus; and MEDDOCAN if available."""

from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet, label_mapping

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).parents[1] / "data" / "samples"
MEDDOCAN = Path(__file__).parents[1].parent / "shared" / "corpora" / "meddocan"
needs_meddocan = pytest.mark.skipif(not MEDDOCAN.is_dir(), reason="the MEDDOCAN corpus is not in ../shared/corpora")
TEXT = '\ufeffDr. Ames e\u0301 \U0001f600\r\nseen ]]> "A&B" <x>\rBlue\tHill'
SPANS = (Span(5, 9, "DOCTOR"), Span(25, 30, "ORGANIZATION"), Span(35, 44, "CITY"))
CORPUS = Corpus(
    (Document("900-01", TEXT, SPANS, "900"), Document("900-02", "", (), "900")), LabelSet.named("i2b2-2014")
)
FILES = {
    "i2b2": "formats_i2b2",
    "meddocan": "formats_meddocan",
    "brat": "formats_brat",
    "inception": "formats_inception",
    "conll": "formats_corpus.conll",
    "jsonl": "formats_corpus.jsonl",
    "doccano": "formats_doccano.jsonl",
    "labelstudio": "formats_label_studio.json",
    "csv": "formats_corpus.csv",
    "parquet": "formats_corpus.parquet",
}


def mapped(corpus: Corpus, name: str) -> Corpus:
    """The corpus with the labels of another set."""
    mapping = label_mapping(corpus.label_set.name, name)
    documents = (d.with_spans(Span(s.start, s.end, mapping[s.label]) for s in d.spans) for d in corpus.documents)
    return Corpus(tuple(documents), LabelSet.named(name))


def expected(format: str) -> Corpus:
    return mapped(CORPUS, "meddocan") if format == "meddocan" else CORPUS


@pytest.mark.parametrize("format", FILES)
def test_golden_files_are_read(format: str) -> None:
    assert read_corpus(GOLDEN / FILES[format]) == expected(format)


@pytest.mark.parametrize("format", FILES)
def test_golden_files_are_written(format: str, tmp_path: Path) -> None:
    write_corpus(expected(format), tmp_path / "out", format=format)
    golden, written = GOLDEN / FILES[format], tmp_path / "out"
    if format == "parquet":
        # The file names the version of pyarrow that wrote it.
        assert read_table(written) == read_table(golden)
    elif golden.is_file():
        assert written.read_bytes() == golden.read_bytes()
    else:
        contents = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in (golden, written)]
        assert contents[0] == contents[1]


@pytest.mark.parametrize("format", FORMATS)
def test_the_sample_corpus_is_the_same_in_every_format(format: str) -> None:
    reference = read_corpus(SAMPLES / "jsonl")
    found = read_corpus(SAMPLES / format)
    assert [d.text for d in found.documents] == [d.text for d in reference.documents]
    assert [d.group for d in found.documents] == ["501", "501", "502"]
    assert found.label_set.name == ("meddocan" if format == "meddocan" else "i2b2-2014")
    spans = mapped(reference, "meddocan") if format == "meddocan" else reference
    if format != "text":
        assert found.documents == spans.documents
    else:
        assert not any(d.spans for d in found.documents)


@needs_meddocan
@pytest.mark.parametrize(("part", "n_documents", "n_spans"), [("train", 500, 11_333), ("dev", 250, 5_801)])
def test_xml_and_brat_read_to_the_same_documents(part: str, n_documents: int, n_spans: int) -> None:
    from_xml = read_corpus(MEDDOCAN / part)
    from_brat = read_corpus(MEDDOCAN / part, format="brat")
    assert from_xml.documents == from_brat.documents
    assert from_xml.label_set.name == from_brat.label_set.name == "meddocan"
    assert (len(from_xml), sum(len(d.spans) for d in from_xml.documents)) == (n_documents, n_spans)
    assert not from_xml.warnings and not from_brat.warnings


@needs_meddocan
def test_byte_order_marks_stay_in_the_text() -> None:
    dev_and_train = (d for part in ("train", "dev") for d in read_corpus(MEDDOCAN / part).documents)
    assert sum(d.text.startswith("\ufeff") for d in dev_and_train) > 0
