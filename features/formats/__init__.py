"""Corpus formats: i2b2, N-GRID and MEDDOCAN XML, brat, CoNLL, JSON lines, CSV, Parquet and plain text."""

from phistack.features.formats.corpora import USUAL_READER, Reader, read_corpus, write_corpus
from phistack.features.formats.recognise import FORMATS

__all__ = ["FORMATS", "USUAL_READER", "Reader", "read_corpus", "write_corpus"]
