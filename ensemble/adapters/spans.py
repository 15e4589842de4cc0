"""What was found in a text, for libraries that mark and do not replace: spaCy and Presidio.

A text that is held back is one span as a whole: whatever removes spans removes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from phistack.ensemble.adapters.core import Redacted, Settings, job_of, redact_texts
from phistack.ensemble.bundles.files import bundle_label_set, bundle_languages
from phistack.ensemble.engine.steps import CANNOT_BE_READ
from phistack.features.documents import Span
from phistack.features.errors import need


def scored_spans(text: str, found: Redacted) -> list[tuple[Span, float]]:
    """The stretches of a text that are PHI, in order and without overlap, and how likely each is."""
    if found.error:
        return [(Span(0, len(text), CANNOT_BE_READ), 1.0)] if text else []
    return [(replacement.span, likely) for replacement, likely in found.places]


def presidio_recognizer(**settings: Unpack[Settings]) -> Any:
    """A recogniser for Presidio; its entities are the labels of the engine, and always `CANNOT_BE_READ`.

    :raises PhistackError: if Presidio is not installed or a value cannot work; never for a note.
    """
    need("presidio_analyzer", "presidio", "a recogniser of Presidio")
    from presidio_analyzer import EntityRecognizer, RecognizerResult

    job = job_of(**settings)

    class PhistackRecognizer(EntityRecognizer):  # type: ignore[misc,unused-ignore]
        """Marks what phistack would replace."""

        def load(self) -> None:
            """The engine is loaded with the first text."""

        def analyze(self, text: str, entities: Sequence[str] | None, nlp_artifacts: Any = None) -> list[Any]:
            """The PHI of these entities."""
            [found] = redact_texts([(text, None)], job)
            asked = {*(entities or self.supported_entities), CANNOT_BE_READ}
            marked = ((span, score) for span, score in scored_spans(text, found) if span.label in asked)
            return [RecognizerResult(span.label, span.start, span.end, score) for span, score in marked]

    labels, [language, *_] = bundle_label_set(job.run.model).labels, bundle_languages(job.run.model)
    return PhistackRecognizer([*labels, CANNOT_BE_READ], "phistack", language)
