"""Corpus formats: XML of shared tasks, CoNLL, tables, plain text, and what annotation tools write and read."""

from phistack.features.formats.corpora import USUAL_READER, Reader, read_corpus, write_corpus
from phistack.features.formats.recognise import FORMATS

__all__ = ["FORMATS", "USUAL_READER", "Reader", "read_corpus", "write_corpus"]
