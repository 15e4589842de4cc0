"""The choice of a tagger for parts of speech and general named entities.

    annotators_of(pos="nltk", ner="nltk")                      NLTK's English tagger and named-entity chunker
    annotators_of(pos="", ner="http://localhost:9000")         a CoreNLP server's named entities
    annotators_of(pos="spacy:nl_core_news_sm", ner="")         parts of speech by a pipeline of spaCy
    installed_tagger("nl", "pos")                              "spacy:nl_core_news_sm", if that is installed
    refuse_other_languages("es", pos="nltk", ner="")           raises: NLTK's taggers know English only

A missing tagger is an error and never an empty column: a model must get the features it was trained with.
"""

from __future__ import annotations

import re
from importlib.util import find_spec

from phistack.features.columns.taggers import (
    WITHOUT,
    Annotator,
    CoreNlpAnnotator,
    NltkAnnotator,
    NltkEntities,
    SpacyAnnotator,
    is_path,
)
from phistack.features.errors import SettingsError
from phistack.features.extras import how_to_install

_NLTK, _SPACY = "nltk", "spacy"
INSTALLED = "installed"
"""The setting for the installed tagger of the language: a pipeline of spaCy, or else NLTK."""

_PIPELINES = {
    "de": "de_core_news_sm", "en": "en_core_web_sm", "es": "es_core_news_sm", "fr": "fr_core_news_sm",
    "nl": "nl_core_news_sm", "sv": "sv_core_news_sm",
}  # fmt: skip
"""Language -> the package of its usual pipeline of spaCy."""
_PIPELINE = re.compile(r"[a-z]{2,3}_[a-z0-9]+_[a-z0-9_]+")


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
