"""Parts of speech and general named entities by a CoreNLP server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.columns.annotator import TagSentences, cut_sentences
from phistack.features.errors import MissingResourceError

_START_SERVER = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"


@dataclass(frozen=True)
class CoreNlpAnnotator:
    """Tags of a CoreNLP server (Manning 2014), asked through NLTK's client.

    The notes' text is sent to the server, so it must be one that may see it.

    :param url: of the server, for example `http://localhost:9000`.
    :param column: `pos` or `ner`.
    """

    language: ClassVar[str] = ""
    url: str
    column: str

    @cached_property
    def _tag_sentences(self) -> TagSentences:
        try:
            from nltk.parse.corenlp import CoreNLPParser

            tag: TagSentences = CoreNLPParser(url=self.url, tagtype=self.column).tag_sents
        except ImportError:
            raise MissingResourceError(
                "the client of the CoreNLP server needs the package requests; install it with: pip install requests"
            ) from None
        return tag

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column that the server tags; see `Annotator.columns`."""
        cut = cut_sentences(words, sentences)
        answers = self._ask(cut) if cut else []
        return {
            self.column: [tag for words, tagged in zip(cut, answers, strict=True) for tag in self._fit(words, tagged)]
        }

    def _ask(self, sentences: list[list[str]]) -> list[list[tuple[str, str]]]:
        tag_sentences = self._tag_sentences
        try:
            return [list(tagged) for tagged in tag_sentences(sentences)]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise MissingResourceError(
                f"the CoreNLP server at {self.url} gave no proper answer ({type(error).__name__}); "
                f"start it with: {_START_SERVER}"
            ) from None

    def _fit(self, words: list[str], tagged: list[tuple[str, str]]) -> list[str]:
        """One tag a token, also where the server cut a token further: then that of its first part."""
        if len(words) == len(tagged):
            return [tag for _, tag in tagged]
        if "".join(words) != "".join(part for part, _ in tagged):
            raise MissingResourceError(
                f"the CoreNLP server at {self.url} gave {len(tagged)} tags for a sentence of {len(words)} tokens; "
                f"start it without other tokenizer options: {_START_SERVER}"
            )
        tag_at = [tag for part, tag in tagged for _ in part]
        starts = np.cumsum([0, *map(len, words[:-1])]).tolist()
        return [tag_at[start] for start in starts]
