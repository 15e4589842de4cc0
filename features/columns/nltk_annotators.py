"""Parts of speech and general named entities by NLTK, of English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from phistack.features.arrays import Integers32
from phistack.features.columns.annotator import WITHOUT, TagSentences, cut_sentences
from phistack.features.errors import MissingResourceError

_TAGGER = "averaged_perceptron_tagger_eng"
_CHUNKER = "maxent_ne_chunker_tab"


@dataclass(frozen=True)
class NltkAnnotator:
    """Parts of speech by NLTK's averaged perceptron tagger, which knows English; its data is read when first used."""

    column: ClassVar[str] = "pos"
    language: ClassVar[str] = "en"

    @cached_property
    def _tag_sentences(self) -> TagSentences:
        from nltk.tag.perceptron import PerceptronTagger

        try:
            tagger = PerceptronTagger(lang="eng")
        except (LookupError, OSError):
            raise MissingResourceError(
                f"the data of the part-of-speech tagger is missing; get it with: python -m nltk.downloader {_TAGGER}"
                f" ({WITHOUT.format('pos')})"
            ) from None
        return lambda sentences: [tagger.tag(sentence) for sentence in sentences]

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column `pos`; see `Annotator.columns`."""
        cut = cut_sentences(words, sentences)
        return {"pos": [tag for tagged in self._tag_sentences(cut) for _, tag in tagged]}


@dataclass(frozen=True)
class NltkEntities:
    """Persons, organisations and places by NLTK's maximum entropy chunker, which knows English, over its tagger.

    A token of an entity has its type, such as `PERSON`, others `O`, as from a CoreNLP server.
    """

    column: ClassVar[str] = "ner"
    language: ClassVar[str] = "en"
    tagger: NltkAnnotator = field(default_factory=NltkAnnotator)

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column `ner`; see `Annotator.columns`."""
        tags = self.tagger.columns(words, sentences)["pos"]
        tagged = [list(zip(words[a:b], tags[a:b], strict=True)) for a, b in pairwise(sentences.tolist())]
        return {"ner": [entity for sentence in tagged if sentence for entity in self._entities(sentence)]}

    def _entities(self, sentence: list[tuple[str, str]]) -> list[str]:
        try:
            parts = self._chunker.parse(sentence)
        except (LookupError, OSError):
            raise _no_chunker() from None
        return [
            entity
            for part in parts
            for entity in (["O"] if isinstance(part, tuple) else [str(part.label())] * len(part))
        ]

    @cached_property
    def _chunker(self) -> Any:
        from nltk.chunk import ne_chunker

        try:
            return ne_chunker()
        except (LookupError, OSError):
            raise _no_chunker() from None


def _no_chunker() -> MissingResourceError:
    return MissingResourceError(
        f"the data of the named-entity chunker is missing; get it with: python -m nltk.downloader {_TAGGER} {_CHUNKER} "
        f"words ({WITHOUT.format('ner')})"
    )
