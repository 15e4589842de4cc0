"""Parts of speech and general named entities: from NLTK, a CoreNLP server, a spaCy pipeline or our own tagger.

    annotator_of("pos", "nltk")                     NLTK's English tagger; its data is read when first used
    annotator_of("ner", "http://localhost:9000")    a CoreNLP server's named entities
    annotator_of("pos", "pos-nl.json")              a file of `phistack tagger`
    installed_tagger("nl", "pos")                   "spacy:nl_core_news_sm", if that is installed

Missing data or a missing server raises an error with the command that fetches or starts it. The column is never left
empty: a model must get the features it was trained with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, Self

from phistack.features.arrays import Integers32
from phistack.features.columns.trained_tagger import SUFFIX, TrainedTagger
from phistack.features.errors import MissingResourceError, SettingsError, how_to_install

WITHOUT = 'or do without, with {0} = "" under [features] of the settings file'
"""The alternative to a missing tagger; takes the name of the column."""

_Sentences = list[list[str]]
"""The tokens of sentences, or their tags."""

_TAGGER = "averaged_perceptron_tagger_eng"
_CHUNKER = "maxent_ne_chunker_tab"
_START_SERVER = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"
_CODES = {"nb": "no", "nn": "no", "xx": ""}
"""spaCy's language codes -> ours, where they differ."""
_NLTK, _SPACY = "nltk", "spacy"
INSTALLED = "installed"
"""The setting for the language's installed tagger: a spaCy pipeline, or else NLTK."""

_PIPELINES = {
    "de": "de_core_news_sm", "en": "en_core_web_sm", "es": "es_core_news_sm", "fr": "fr_core_news_sm",
    "nl": "nl_core_news_sm", "sv": "sv_core_news_sm",
}  # fmt: skip
"""Language -> the package of its usual spaCy pipeline."""
_PIPELINE = re.compile(r"[a-z]{2,3}_[a-z0-9]+_[a-z0-9_]+")


@dataclass(frozen=True)
class Annotator:
    """Adds a column that depends on whole sentences.

    :param language: the only language that it supports; empty for several, or if unknown.
    :param tag: from the tokens of sentences to their tags.
    """

    language: str
    tag: Callable[[_Sentences], _Sentences]

    @classmethod
    def trained(cls, tagger: TrainedTagger) -> Self:
        """A tagger of our own."""
        return cls(tagger.language, tagger)

    def tags(self, words: Sequence[str], sentences: Integers32) -> list[str]:
        """The value of each token.

        :param words: the tokens' text, `n_tokens` of them.
        :param sentences: index of the first token of each sentence, then `n_tokens`: shape `(n_sentences + 1,)`.
        :raises MissingResourceError: if data or a server that the annotator needs is missing.
        """
        cut = [list(words[a:b]) for a, b in pairwise(sentences.tolist()) if a < b]
        return list(chain.from_iterable(self.tag(cut))) if cut else []


@contextmanager
def _data_there(what: str, data: str, column: str) -> Iterator[None]:
    """If the block finds NLTK's data missing, name the command that fetches it."""
    try:
        yield
    except (LookupError, OSError):
        raise MissingResourceError(
            f"the data of the {what} is missing; get it with: python -m nltk.downloader {data} "
            f"({WITHOUT.format(column)})"
        ) from None


@cache
def _perceptron() -> Any:
    from nltk.tag.perceptron import PerceptronTagger

    with _data_there("part-of-speech tagger", _TAGGER, "pos"):
        return PerceptronTagger(lang="eng")


@cache
def _chunker() -> Any:
    from nltk.chunk import ne_chunker

    return ne_chunker()


def _nltk_tags(sentences: _Sentences) -> _Sentences:
    """Parts of speech by NLTK's averaged perceptron tagger, for English."""
    return [[tag for _, tag in _perceptron().tag(sentence)] for sentence in sentences]


def _nltk_entities(sentences: _Sentences) -> _Sentences:
    """Persons, organisations and places by NLTK's maximum entropy chunker over its tagger, for English.

    A token of an entity has its type, such as `PERSON`, others `O`, as from a CoreNLP server.
    """
    tagged = [_perceptron().tag(sentence) for sentence in sentences]
    with _data_there("named-entity chunker", f"{_TAGGER} {_CHUNKER} words", "ner"):
        trees = list(map(_chunker().parse, tagged))
    return [
        [type for part in tree for type in (["O"] if isinstance(part, tuple) else [str(part.label())] * len(part))]
        for tree in trees
    ]


def _core_nlp_tags(url: str, column: str, sentences: _Sentences) -> _Sentences:
    """Tags of a CoreNLP server (Manning 2014), by NLTK's client.

    The notes' text is sent to the server, which must be allowed to see it.
    """
    try:
        from nltk.parse.corenlp import CoreNLPParser

        parser = CoreNLPParser(url=url, tagtype=column)
    except ImportError:
        raise MissingResourceError(
            "the client of the CoreNLP server needs the package requests; install it with: pip install requests"
        ) from None
    try:
        with closing(parser.session):
            answers = list(zip(sentences, map(list, parser.tag_sents(sentences)), strict=True))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise MissingResourceError(
            f"the CoreNLP server at {url} gave no proper answer ({type(error).__name__}); "
            f"start it with: {_START_SERVER}"
        ) from None
    return [_fit(url, words, tagged) for words, tagged in answers]


def _fit(url: str, words: list[str], tagged: list[tuple[str, str]]) -> list[str]:
    """One tag per token; a token that the server split has the tag of its first part."""
    if len(words) == len(tagged):
        return [tag for _, tag in tagged]
    if "".join(words) != "".join(part for part, _ in tagged):
        raise MissingResourceError(
            f"the CoreNLP server at {url} gave {len(tagged)} tags for a sentence of {len(words)} tokens; "
            f"start it without other tokenizer options: {_START_SERVER}"
        )
    tag_at = [tag for part, tag in tagged for _ in part]
    return [tag_at[start] for start in accumulate(map(len, words[:-1]), initial=0)]


def is_path(pipeline: str) -> bool:
    """Whether a spaCy pipeline is named by its folder, which need not exist now."""
    return bool(pipeline) and (Path(pipeline).is_dir() or len(Path(pipeline).parts) > 1)


def _spacy_language(pipeline: str) -> str:
    """The language in the name of a pipeline or the settings of its folder; empty for several, or if unknown."""
    code = pipeline.partition("_")[0]
    if is_path(pipeline):
        code = ""
        # An unusable folder is reported when the pipeline is loaded.
        with suppress(OSError, ValueError, TypeError, LookupError):
            code = str(json.loads((Path(pipeline) / "meta.json").read_text(encoding="utf-8"))["lang"])
    return _CODES.get(code, code)


def _spacy_tags(pipeline: str, column: str, sentences: _Sentences) -> _Sentences:
    """Tags of a locally installed spaCy pipeline (Honnibal et al. 2020).

    :param pipeline: its name as a package, for example `nl_core_news_sm`, or the path of its folder.
    """
    try:
        language = load_pipeline(pipeline)
    except (ImportError, OSError):
        remedy = f"get it with: {how_to_install('entities')}, and python -m spacy download {pipeline}"
        if is_path(pipeline):
            remedy = f"put its folder there, and install spaCy with: {how_to_install('entities')}"
        raise MissingResourceError(
            f"the pipeline {pipeline} of spaCy is not installed; {remedy} ({WITHOUT.format(column)})"
        ) from None
    from spacy.tokens import Doc

    # These take most of the time, and parts of speech do not need them.
    disabled = ("parser", "ner", "lemmatizer") if column == "pos" else ()
    docs = list(language.pipe([Doc(language.vocab, words=words) for words in sentences], disable=disabled))
    if column == "ner" and all(doc.has_annotation("ENT_IOB") for doc in docs):
        return [[str(token.ent_type_ or "O") for token in doc] for doc in docs]
    if column == "pos" and all(doc.has_annotation("TAG") or doc.has_annotation("POS") for doc in docs):
        return [[str(token.tag_ or token.pos_) for token in doc] for doc in docs]
    what = "named entities" if column == "ner" else "parts of speech"
    raise MissingResourceError(
        f"the pipeline {pipeline} of spaCy does not tag {what}; name one that does, {WITHOUT.format(column)}"
    )


@cache
def load_pipeline(pipeline: str) -> Any:
    """A spaCy pipeline, loaded once for both columns."""
    import spacy

    return spacy.load(pipeline)


def annotator_of(column: str, given: str) -> Annotator:
    """The annotator of a setting.

    :param column: `pos` or `ner`.
    :param given: `nltk`, `spacy:` and the name of a pipeline, the URL of a CoreNLP server, or a file of our own.
    :raises SettingsError: for anything else, or a file that cannot be used.
    """
    if given == _NLTK:
        return Annotator("en", _nltk_tags if column == "pos" else _nltk_entities)
    program, _, pipeline = given.partition(":")
    # An engine may come from a stranger, and spaCy would import any package that it names.
    if program == _SPACY and (_PIPELINE.fullmatch(pipeline) or is_path(pipeline)):
        return Annotator(_spacy_language(pipeline), partial(_spacy_tags, pipeline, column))
    if given.startswith(("http://", "https://")):
        return Annotator("", partial(_core_nlp_tags, given, column))
    if given.endswith(SUFFIX):
        return Annotator.trained(TrainedTagger.read(Path(given)))
    raise SettingsError(
        f"the setting {column} must be nltk, spacy: and the name of a pipeline, the URL of a CoreNLP server, or a "
        f"{SUFFIX} file of `phistack tagger`, not {given}"
    )


def annotators_of(given: Mapping[str, str]) -> dict[str, Annotator]:
    """Column -> its annotator; :param given: column -> setting; empty for none."""
    return {column: annotator_of(column, setting) for column, setting in given.items() if setting}


def installed_tagger(language: str, column: str) -> str:
    """The setting for the installed tagger of a language; :raises SettingsError: if there is none."""
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


def refuse_other_languages(language: str, given: Mapping[str, str], annotators: Mapping[str, Annotator]) -> None:
    """Check that the taggers support the language of the notes; :raises SettingsError: if one does not.

    :param given: column -> setting, for the message.
    """
    for column, annotator in annotators.items():
        only = annotator.language
        if only not in ("", language):
            raise SettingsError(
                f"the tagger {given[column]} knows the language {only} only, and the language of the notes is "
                f"{language}; name another as {column}, {WITHOUT.format(column)}"
            )
