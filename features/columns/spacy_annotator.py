"""Parts of speech and general named entities by a pipeline of spaCy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from phistack.features.arrays import Integers32
from phistack.features.columns.annotator import WITHOUT, cut_sentences
from phistack.features.errors import MissingResourceError
from phistack.features.extras import how_to_install

_CODES = {"nb": "no", "nn": "no", "xx": ""}
"""spaCy's code of a language -> ours, where they differ."""


def is_path(pipeline: str) -> bool:
    """Whether a pipeline is named by its folder, which need not be there now."""
    return bool(pipeline) and (Path(pipeline).is_dir() or len(Path(pipeline).parts) > 1)


@dataclass(frozen=True)
class SpacyAnnotator:
    """Tags of a pipeline of spaCy (Honnibal et al. 2020), which is installed beside phistack and asks no server.

    :param pipeline: its name as a package, for example `nl_core_news_sm`, or the path of its folder.
    :param column: `pos` or `ner`.
    """

    pipeline: str
    column: str

    @property
    def language(self) -> str:
        """The language in its name or, if it is there, of its folder; empty for several, which is `xx`."""
        code = self.pipeline.partition("_")[0]
        if is_path(self.pipeline):
            code = ""
            # What is wrong with a folder is said where the pipeline is read.
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
        """The column that the pipeline tags, our tokens being its tokens; see `Annotator.columns`."""
        language = self._loaded
        from spacy.tokens import Doc

        docs = (Doc(language.vocab, words=cut) for cut in cut_sentences(words, sentences) if cut)
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
            f"{WITHOUT.format(self.column)}"
        )


@cache
def load_pipeline(pipeline: str) -> Any:
    """A pipeline of spaCy, which is large, once for both columns."""
    import spacy

    return spacy.load(pipeline)
