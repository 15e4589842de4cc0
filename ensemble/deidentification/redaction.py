"""Text with its PHI taken out: the policy `tag` in one call.

    redact(document)      "Seen by [DOCTOR] on [DATE]."

It is what a `Deidentifier` does, with the same proof: everything outside the spans stays as it is, code point for code
point. Overlapping spans are one stretch, under the label of the first and longest.
"""

from __future__ import annotations

from phistack.ensemble.deidentification.deidentifier import Deidentifier
from phistack.ensemble.deidentification.policy import Policy
from phistack.ensemble.deidentification.verification import verify
from phistack.features.documents import Document
from phistack.features.labels import LabelSet


def redact(document: Document) -> str:
    """The document's text with every span replaced by its label in brackets.

    :raises CorpusError: if a span ends beyond the text.
    :raises VerificationError: if the new text is not that, so that it cannot be used.
    """
    labels = LabelSet("any", {span.label: span.label for span in document.spans})
    result = Deidentifier(Policy(), labels, labels.language).apply(document, document.spans)
    verify(document, result, document.spans)
    return result.text
