"""Notes without the labels that only rules find, so that neither submodels nor stacker learn them.

documents = learned_documents(corpus, settings)      of `rule_labels` under [stacker] no span is left
"""

from __future__ import annotations

from collections.abc import Sequence

from phistack.ensemble.stacking.merged_rules import MergedRules
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError
from phistack.features.suggestions import no_such


def learned_documents(corpus: Corpus, settings: EngineSettings) -> tuple[Document, ...]:
    """The notes with the spans that are learned.

    :raises SettingsError: for a label that the corpus cannot have, or that no rule finds.
    """
    labels = settings.stacker.rule_labels
    unknown = next((label for label in labels if label not in corpus.label_set), None)
    if unknown is not None:
        raise SettingsError(f"of rule_labels: {no_such('label', unknown, corpus.label_set.labels)}")
    if labels:
        MergedRules.of(labels, settings.stacker.rules_file, settings.features.language)
    return without_labels(corpus.documents, labels)


def without_labels(documents: Sequence[Document], labels: Sequence[str]) -> tuple[Document, ...]:
    """The notes without the spans of some labels."""
    if not labels:
        return tuple(documents)
    return tuple(document.with_spans(s for s in document.spans if s.label not in labels) for document in documents)
