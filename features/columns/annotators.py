"""Columns that another program tags: parts of speech and general named entities.

    annotators_of(pos="nltk", ner="nltk")                      NLTK's English tagger and named-entity chunker
    annotators_of(pos="", ner="http://localhost:9000")         a CoreNLP server's named entities
    annotators_of(pos="spacy:nl_core_news_sm", ner="")         parts of speech by a pipeline of spaCy
    installed_tagger("nl", "pos")                              "spacy:nl_core_news_sm", if that is installed
    refuse_other_languages("es", pos="nltk", ner="")           raises: NLTK's taggers know English only

Data or a server that is not there is an error that names the command which fetches or starts it, and never an empty
column: a model must not meet other features than those it was trained with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from features.arrays import Integers32
from features.errors import MissingResourceError, SettingsError

__all__ = [
    "INSTALLED",
    "Annotator",
    "CoreNlpAnnotator",
    "NltkAnnotator",
    "NltkEntities",
    "SpacyAnnotator",
    "annotators_of",
    "installed_tagger",
    "refuse_other_languages",
]

_START_SERVER = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"
_TAGGER = "averaged_perceptron_tagger_eng"
_CHUNKER = "maxent_ne_chunker_tab"
_NLTK, _SPACY = "nltk", "spacy"
INSTALLED = "installed"
"""The setting that takes what is there for the language: a pipeline of spaCy, or else NLTK."""

_PIPELINES = {
    "de": "de_core_news_sm", "en": "en_core_web_sm", "es": "es_core_news_sm", "fr": "fr_core_news_sm",
    "nl": "nl_core_news_sm", "sv": "sv_core_news_sm",
}  # fmt: skip
"""Language -> the usual pipeline of spaCy, which is a package of this name."""
_WITHOUT = 'or do without, with {0} = "" under [features] of the settings file'

_PIPELINE = re.compile(r"[a-z]{2,3}_[a-z0-9]+_[a-z0-9_]+")

_TagSentences = Callable[[list[list[str]]], list[list[tuple[str, str]]]]


class Annotator(Protocol):
    """Adds a column that depends on whole sentences."""

    @property
    def column(self) -> str:
        """The column's name."""
        ...

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """Column -> the value of each token.

        :param words: the tokens' text, `n_tokens` of them.
        :param sentences: index of the first token of each sentence, then `n_tokens`: shape `(n_sentences + 1,)`.
        :raises MissingResourceError: if the data or the server that the annotator needs is not there.
        """
        ...


def annotators_of(pos: str, ner: str) -> tuple[Annotator, ...]:
    """The annotators that settings ask for.

    :param pos: empty for none, `nltk`, `spacy:` and the name of a pipeline, or the URL of a CoreNLP server.
    :param ner: likewise.
    :raises SettingsError: for anything else.
    """
    ours: dict[str, Annotator] = {"pos": NltkAnnotator(), "ner": NltkEntities()}
    return tuple(
        ours[column] if given == _NLTK else _elsewhere(column, given)
        for column, given in (("pos", pos), ("ner", ner))
        if given
    )


def _elsewhere(column: str, given: str) -> Annotator:
    program, _, pipeline = given.partition(":")
    # An engine may be a stranger's, and spaCy would import any package that it names.
    is_pipeline = program == _SPACY and (_PIPELINE.fullmatch(pipeline) or _is_path(pipeline))
    return SpacyAnnotator(pipeline, column) if is_pipeline else CoreNlpAnnotator(
        _checked(column, given), column
    )  # fmt: skip


def _is_path(pipeline: str) -> bool:
    """Whether a pipeline is named by its folder, which need not be there now."""
    return bool(pipeline) and (Path(pipeline).is_dir() or len(Path(pipeline).parts) > 1)


def installed_tagger(language: str, column: str) -> str:
    """The setting for what is installed for a language; :raises SettingsError: if nothing is, saying what to do.

    :param column: `pos` or `ner`, the setting.
    """
    pipeline = _PIPELINES.get(language, "")
    if pipeline and find_spec(_SPACY) is not None and find_spec(pipeline) is not None:
        return f"{_SPACY}:{pipeline}"
    if language == "en":
        return _NLTK
    raise SettingsError(
        f"no general tagger for the language {language} is installed; get one with: pip install "
        f"phistack[entities] && python -m spacy download {pipeline or 'PIPELINE'}, "
        f"or give the URL of a CoreNLP server as {column} under [features]"
    )


def refuse_other_languages(language: str, *, pos: str, ner: str) -> None:
    """See that NLTK is to tag English only; :raises SettingsError: if not, with what to do."""
    for column, given in (("pos", pos), ("ner", ner)):
        if given == _NLTK and language != "en":
            raise SettingsError(
                f"NLTK's taggers know English only, and the language of the notes is {language}; give the URL of a "
                f"CoreNLP server for it as {column}, {_WITHOUT.format(column)}"
            )


def _checked(column: str, url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise SettingsError(
            f"the setting {column} must be nltk, spacy: and the name of a pipeline, or the URL of a CoreNLP server, "
            f"not {url}"
        )
    return url


@dataclass(frozen=True)
class NltkAnnotator:
    """Parts of speech by NLTK's averaged perceptron tagger, which knows English; its data is read when first used."""

    column: ClassVar[str] = "pos"

    @cached_property
    def _tag_sentences(self) -> _TagSentences:
        from nltk.tag.perceptron import PerceptronTagger

        try:
            tagger = PerceptronTagger(lang="eng")
        except (LookupError, OSError):
            raise MissingResourceError(
                f"the data of the part-of-speech tagger is missing; get it with: python -m nltk.downloader {_TAGGER}"
                f" ({_WITHOUT.format('pos')})"
            ) from None
        return lambda sentences: [tagger.tag(sentence) for sentence in sentences]

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column `pos`; see `Annotator.columns`."""
        cut = _cut(words, sentences)
        return {"pos": [tag for tagged in self._tag_sentences(cut) for _, tag in tagged]}


@dataclass(frozen=True)
class NltkEntities:
    """Persons, organisations and places by NLTK's maximum entropy chunker, which knows English, over its tagger.

    A token of an entity has its type, such as `PERSON`, others `O`, as from a CoreNLP server.
    """

    column: ClassVar[str] = "ner"
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
        f"words ({_WITHOUT.format('ner')})"
    )


@dataclass(frozen=True)
class SpacyAnnotator:
    """Tags of a pipeline of spaCy (Honnibal et al. 2020), which is installed beside phistack and asks no server.

    :param pipeline: its name as a package, for example `nl_core_news_sm`, or the path of its folder.
    :param column: `pos` or `ner`.
    """

    pipeline: str
    column: str

    @property
    def _language(self) -> Any:
        try:
            return _loaded(self.pipeline)
        except (ImportError, OSError):
            remedy = f"get it with: pip install phistack[entities] && python -m spacy download {self.pipeline}"
            if _is_path(self.pipeline):
                remedy = "put its folder there, and install spaCy with: pip install phistack[entities]"
            raise MissingResourceError(
                f"the pipeline {self.pipeline} of spaCy is not installed; {remedy} ({_WITHOUT.format(self.column)})"
            ) from None

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column that the pipeline tags, our tokens being its tokens; see `Annotator.columns`."""
        language = self._language
        from spacy.tokens import Doc

        docs = (Doc(language.vocab, words=of_sentence) for of_sentence in _cut(words, sentences) if of_sentence)
        # What the column does not need takes most of the time.
        passed_over = ("parser", "ner", "lemmatizer") if self.column == "pos" else ()
        return {self.column: [tag for doc in language.pipe(docs, disable=passed_over) for tag in self._tags(doc)]}

    def _tags(self, doc: Any) -> list[str]:
        if self.column == "ner" and doc.has_annotation("ENT_IOB"):
            return [str(token.ent_type_ or "O") for token in doc]
        if self.column == "pos" and (doc.has_annotation("TAG") or doc.has_annotation("POS")):
            return [str(token.tag_ or token.pos_) for token in doc]
        what = "named entities" if self.column == "ner" else "parts of speech"
        raise MissingResourceError(
            f"the pipeline {self.pipeline} of spaCy does not tag {what}; name one that does, "
            f"{_WITHOUT.format(self.column)}"
        )


@cache
def _loaded(pipeline: str) -> Any:
    """A pipeline of spaCy, which is large, once for both columns."""
    import spacy

    return spacy.load(pipeline)


@dataclass(frozen=True)
class CoreNlpAnnotator:
    """Tags of a CoreNLP server (Manning 2014), asked through NLTK's client.

    The notes' text is sent to the server, so it must be one that may see it.

    :param url: of the server, for example `http://localhost:9000`.
    :param column: `pos` or `ner`.
    """

    url: str
    column: str

    @cached_property
    def _tag_sentences(self) -> _TagSentences:
        try:
            from nltk.parse.corenlp import CoreNLPParser

            tag: _TagSentences = CoreNLPParser(url=self.url, tagtype=self.column).tag_sents
        except ImportError:
            raise MissingResourceError(
                "the client of the CoreNLP server needs the package requests; install it with: pip install requests"
            ) from None
        return tag

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column that the server tags; see `Annotator.columns`."""
        cut = _cut(words, sentences)
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


def _cut(words: Sequence[str], sentences: Integers32) -> list[list[str]]:
    bounds = sentences.tolist()
    return [list(words[a:b]) for a, b in pairwise(bounds)]
