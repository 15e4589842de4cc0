"""Parts of speech and general named entities by other programs: NLTK, a CoreNLP server, a pipeline of spaCy.

    annotators_of(pos="nltk", ner="http://localhost:9000")     NLTK's English tagger, a CoreNLP server's named entities
    annotators_of(pos="spacy:nl_core_news_sm", ner="")         parts of speech by a pipeline of spaCy
    installed_tagger("nl", "pos")                              "spacy:nl_core_news_sm", if that is installed

Missing data or a missing server is an error that names the command which fetches or starts it, and never an empty
column: a model must get the features it was trained with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from phistack.features.arrays import Integers32
from phistack.features.errors import MissingResourceError, SettingsError, how_to_install

WITHOUT = 'or do without, with {0} = "" under [features] of the settings file'
"""The alternative to a missing tagger; takes the name of the column."""

_TagSentences = Callable[[list[list[str]]], list[list[tuple[str, str]]]]
"""From the tokens of sentences to the same with their tags."""

_TAGGER = "averaged_perceptron_tagger_eng"
_CHUNKER = "maxent_ne_chunker_tab"
_START_SERVER = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"
_CODES = {"nb": "no", "nn": "no", "xx": ""}
"""spaCy's language codes -> ours, where they differ."""
_NLTK, _SPACY = "nltk", "spacy"
INSTALLED = "installed"
"""The setting for the installed tagger of the language: a pipeline of spaCy, or else NLTK."""

_PIPELINES = {
    "de": "de_core_news_sm", "en": "en_core_web_sm", "es": "es_core_news_sm", "fr": "fr_core_news_sm",
    "nl": "nl_core_news_sm", "sv": "sv_core_news_sm",
}  # fmt: skip
"""Language -> the package of its usual pipeline of spaCy."""
_PIPELINE = re.compile(r"[a-z]{2,3}_[a-z0-9]+_[a-z0-9_]+")


class Annotator(Protocol):
    """Adds a column that depends on whole sentences."""

    @property
    def column(self) -> str:
        """The column's name."""
        ...

    @property
    def language(self) -> str:
        """The only language that it supports; empty for several, or if unknown."""
        ...

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """Column -> the value of each token.

        :param words: the tokens' text, `n_tokens` of them.
        :param sentences: index of the first token of each sentence, then `n_tokens`: shape `(n_sentences + 1,)`.
        :raises MissingResourceError: if the data or the server that the annotator needs is not there.
        """
        ...


def _cut(words: Sequence[str], sentences: Integers32) -> list[list[str]]:
    """The tokens of each sentence."""
    return [list(words[a:b]) for a, b in pairwise(sentences.tolist())]


@dataclass(frozen=True)
class NltkAnnotator:
    """Parts of speech by NLTK's averaged perceptron tagger, for English; its data is read when first used."""

    column: ClassVar[str] = "pos"
    language: ClassVar[str] = "en"

    @cached_property
    def _tag_sentences(self) -> _TagSentences:
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
        tagged_sentences = self._tag_sentences(_cut(words, sentences))
        return {"pos": [tag for tagged in tagged_sentences for _, tag in tagged]}


@dataclass(frozen=True)
class NltkEntities:
    """Persons, organisations and places by NLTK's maximum entropy chunker over its tagger, for English.

    A token of an entity has its type, such as `PERSON`, others `O`, as from a CoreNLP server.
    """

    column: ClassVar[str] = "ner"
    language: ClassVar[str] = "en"
    tagger: NltkAnnotator = field(default_factory=NltkAnnotator)

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column `ner`; see `Annotator.columns`."""
        tags = self.tagger.columns(words, sentences)["pos"]
        tagged = [list(zip(words[a:b], tags[a:b], strict=True)) for a, b in pairwise(sentences.tolist())]
        try:
            return {"ner": [entity for sentence in tagged if sentence for entity in self._entities(sentence)]}
        except (LookupError, OSError):
            raise MissingResourceError(
                f"the data of the named-entity chunker is missing; get it with: python -m nltk.downloader {_TAGGER} "
                f"{_CHUNKER} words ({WITHOUT.format('ner')})"
            ) from None

    def _entities(self, sentence: list[tuple[str, str]]) -> list[str]:
        parts = self._chunker.parse(sentence)
        entities = (["O"] if isinstance(part, tuple) else [str(part.label())] * len(part) for part in parts)
        return [entity for part in entities for entity in part]

    @cached_property
    def _chunker(self) -> Any:
        from nltk.chunk import ne_chunker

        return ne_chunker()


@dataclass(frozen=True)
class CoreNlpAnnotator:
    """Tags of a CoreNLP server (Manning 2014), by NLTK's client.

    The notes' text is sent to the server, which must be one that may see it.

    :param url: of the server, for example `http://localhost:9000`.
    :param column: `pos` or `ner`.
    """

    language: ClassVar[str] = ""
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
        """The column of the server's tags; see `Annotator.columns`."""
        cut = _cut(words, sentences)
        answers = self._ask(cut) if cut else []
        return {self.column: [tag for pair in zip(cut, answers, strict=True) for tag in self._fit(*pair)]}

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
        """One tag per token; a token that the server split has the tag of its first part."""
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


def is_path(pipeline: str) -> bool:
    """Whether a pipeline of spaCy is named by its folder, which need not exist now."""
    return bool(pipeline) and (Path(pipeline).is_dir() or len(Path(pipeline).parts) > 1)


@dataclass(frozen=True)
class SpacyAnnotator:
    """Tags of a locally installed pipeline of spaCy (Honnibal et al. 2020).

    :param pipeline: its name as a package, for example `nl_core_news_sm`, or the path of its folder.
    :param column: `pos` or `ner`.
    """

    pipeline: str
    column: str

    @property
    def language(self) -> str:
        """The language in its name or the settings of its folder; empty for several (`xx`), or if unknown."""
        code = self.pipeline.partition("_")[0]
        if is_path(self.pipeline):
            code = ""
            # An unusable folder is reported when the pipeline is loaded.
            with suppress(OSError, ValueError, TypeError, LookupError):
                code = str(json.loads((Path(self.pipeline) / "meta.json").read_text(encoding="utf-8"))["lang"])
        return _CODES.get(code, code)

    @property
    def _loaded(self) -> Any:
        try:
            return load_pipeline(self.pipeline)
        except (ImportError, OSError):
            remedy = f"get it with: {how_to_install('entities')}, and python -m spacy download {self.pipeline}"
            if is_path(self.pipeline):
                remedy = f"put its folder there, and install spaCy with: {how_to_install('entities')}"
            raise MissingResourceError(
                f"the pipeline {self.pipeline} of spaCy is not installed; {remedy} ({WITHOUT.format(self.column)})"
            ) from None

    def columns(self, words: Sequence[str], sentences: Integers32) -> dict[str, list[str]]:
        """The column of the pipeline's tags for our tokens; see `Annotator.columns`."""
        language = self._loaded
        from spacy.tokens import Doc

        docs = (Doc(language.vocab, words=cut) for cut in _cut(words, sentences) if cut)
        # These take most of the time, and parts of speech do not need them.
        disabled = ("parser", "ner", "lemmatizer") if self.column == "pos" else ()
        return {self.column: [tag for doc in language.pipe(docs, disable=disabled) for tag in self._tags(doc)]}

    def _tags(self, doc: Any) -> list[str]:
        if self.column == "ner" and doc.has_annotation("ENT_IOB"):
            return [str(token.ent_type_ or "O") for token in doc]
        if self.column == "pos" and (doc.has_annotation("TAG") or doc.has_annotation("POS")):
            return [str(token.tag_ or token.pos_) for token in doc]
        what = "named entities" if self.column == "ner" else "parts of speech"
        raise MissingResourceError(
            f"the pipeline {self.pipeline} of spaCy does not tag {what}; name one that does, "
            f"{WITHOUT.format(self.column)}"
        )


@cache
def load_pipeline(pipeline: str) -> Any:
    """A pipeline of spaCy, loaded once for both columns."""
    import spacy

    return spacy.load(pipeline)


def annotators_of(pos: str, ner: str) -> tuple[Annotator, ...]:
    """The annotators of settings.

    :param pos: empty for none, `nltk`, `spacy:` and the name of a pipeline, or the URL of a CoreNLP server.
    :param ner: likewise.
    :raises SettingsError: for anything else.
    """
    return tuple(_annotator(column, given) for column, given in (("pos", pos), ("ner", ner)) if given)


def _annotator(column: str, given: str) -> Annotator:
    if given == _NLTK:
        return NltkAnnotator() if column == "pos" else NltkEntities()
    program, _, pipeline = given.partition(":")
    # An engine may be a stranger's, and spaCy would import any package that it names.
    if program == _SPACY and (_PIPELINE.fullmatch(pipeline) or is_path(pipeline)):
        return SpacyAnnotator(pipeline, column)
    if given.startswith(("http://", "https://")):
        return CoreNlpAnnotator(given, column)
    raise SettingsError(
        f"the setting {column} must be nltk, spacy: and the name of a pipeline, or the URL of a CoreNLP server, "
        f"not {given}"
    )


def installed_tagger(language: str, column: str) -> str:
    """The setting for the installed tagger of a language; :raises SettingsError: if there is none.

    :param column: `pos` or `ner`.
    """
    pipeline = _PIPELINES.get(language, "")
    if pipeline and find_spec(_SPACY) is not None and find_spec(pipeline) is not None:
        return f"{_SPACY}:{pipeline}"
    if language == "en":
        return _NLTK
    raise SettingsError(
        f"no general tagger for the language {language} is installed; get one with: {how_to_install('entities')}, "
        f"and python -m spacy download {pipeline or 'PIPELINE'}, or give the URL of a CoreNLP "
        f"server as {column} under [features]"
    )


def refuse_other_languages(language: str, *, pos: str, ner: str) -> None:
    """Check that the taggers support the language of the notes; :raises SettingsError: if one does not."""
    for given, annotator in zip(filter(None, (pos, ner)), annotators_of(pos, ner), strict=True):
        if annotator.language not in ("", language):
            raise SettingsError(
                f"the tagger {given} knows the language {annotator.language} only, and the language of the notes is "
                f"{language}; name a pipeline of spaCy or the URL of a CoreNLP server for it as {annotator.column}, "
                f"{WITHOUT.format(annotator.column)}"
            )
