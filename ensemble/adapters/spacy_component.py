"""A component of spaCy pipelines, which spaCy finds by the entry point `phistack`.

nlp.add_pipe("phistack", config={"model": "english"})
doc.spans["phistack"]                      the tokens with PHI, as spans with the labels of the engine
doc.spans["phistack"].attrs["scores"]      how likely each is, as spaCy's own span categoriser has it
doc.spans["phistack"].attrs["error"]       why the text is held back, which is then one span; else `None`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, SpanGroup
from spacy.util import minibatch

from phistack.ensemble.adapters.core import job_of, redact_texts
from phistack.ensemble.adapters.spans import scored_spans
from phistack.ensemble.batch.workers.job import Job


@dataclass(frozen=True)
class PhiMarker:
    """Marks what phistack would replace; each text is a patient of its own."""

    job: Job

    def __call__(self, doc: Doc) -> Doc:
        """The document with its spans."""
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The documents with their spans."""
        for batch in minibatch(docs, batch_size):
            found = redact_texts(((doc.text, None) for doc in batch), self.job)
            for doc, result in zip(batch, found, strict=True):
                marked = scored_spans(doc.text, result)
                spans = [doc.char_span(s.start, s.end, s.label, alignment_mode="expand") for s, _ in marked]
                attributes = {"scores": [score for _, score in marked], "error": result.error}
                doc.spans["phistack"] = SpanGroup(doc, name="phistack", spans=spans, attrs=attributes)
                yield doc


@Language.factory("phistack", default_config={"policy": "tag"})  # type: ignore[untyped-decorator,unused-ignore]
def phi_marker(nlp: Any, name: str, model: str, policy: str) -> PhiMarker:
    """The component for an engine and a policy."""
    return PhiMarker(job_of(model, policy))
