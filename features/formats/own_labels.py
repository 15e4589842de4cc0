"""The label set of a corpus: one that phistack ships, or the corpus' own labels.

    labels, remarks = label_set_of(documents, {})
    remarks       ("11 labels of its own (CODE, DATE, LOC, PER), taken as they are; language es by its text",)

Most corpora have labels of their own, and are taken as they are. Where most labels and most spans are those of a known
set, the others are more likely slips of the pen, and are refused unless the user accepts them. But a set of another
language than English is not known by its labels alone where the notes are in another language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from phistack.features.columns.stemming import LANGUAGES
from phistack.features.documents import Document
from phistack.features.errors import LabelError
from phistack.features.labels import LabelSet
from phistack.features.languages import furthest, language_of
from phistack.features.shown import shown_label

OWN_LABELS = "custom"
"""The name of the label set of a corpus with labels of its own."""

_CATEGORY = "OTHER"
_USUAL_LANGUAGE = "en"
_MOST_NOTES = 200
_FAR = 6.0
_MOST_SHOWN = 12


def label_set_of(
    documents: Sequence[Document],
    categories: Mapping[str, str],
    given: str | LabelSet | None = None,
    *,
    usual: str | None = None,
    accept: bool = False,
    language: str = "",
) -> tuple[LabelSet, tuple[str, ...]]:
    """The label set of notes, and remarks on it.

    :param categories: label -> category, if the files have categories.
    :param given: the labels that the user expects: a set, the name of one that is shipped, or the path of a TOML file.
    :param usual: the name of the set that the format usually has, if it has one.
    :param accept: widen a known set by labels that it lacks.
    :param language: of the notes, where the labels are their own; otherwise recognised from their text.
    :raises LabelError: for some labels that a known set lacks, or a set that does not exist.
    """
    counts = Counter(span.label for document in documents for span in document.spans)
    known = LabelSet.of(given) if isinstance(given, str) else given or _nearest(counts, usual)
    unknown = sorted(label for label in counts if label not in known)
    unknown_categories = {label: categories.get(label, _CATEGORY) for label in unknown}
    by_labels_alone = given is None and usual is None and known.language != _USUAL_LANGUAGE
    is_another = by_labels_alone and not language and _is_in_another_language(documents, known.language)
    if given is None and (is_another or not _is_most(counts, known)):
        own = {label: categories.get(label, _CATEGORY) for label in sorted(counts)}
        language, reason = (language, "") if language else _language_of_notes(documents)
        remark = f"{len(counts)} labels of its own ({_shown(counts)}), taken as they are; language {language}{reason}"
        return LabelSet(OWN_LABELS, own, language=language), (remark,)
    if unknown and not accept and known.name != OWN_LABELS:
        raise LabelError(
            f"{len(unknown)} of {len(counts)} labels are not in the label set {known.name}, the first is "
            f"{shown_label(unknown[0])}, "
            f"seen {counts[unknown[0]]} times; correct them, name another set with --label-set, or take them as they "
            f"are with --accept-unknown-labels"
        )
    return known.extended(unknown_categories), ()


def _nearest(counts: Counter[str], usual: str | None) -> LabelSet:
    """The usual set, or else that which lacks the fewest labels."""
    if usual is not None:
        return LabelSet.named(usual)
    shipped = map(LabelSet.named, LabelSet.recognised())
    return min(shipped, key=lambda labels: sum(label not in labels for label in counts))


def _is_most(counts: Counter[str], known: LabelSet) -> bool:
    """Whether the set has most labels and most spans, or there are none."""
    found = {label: n for label, n in counts.items() if label in known}
    return not counts or (2 * len(found) > len(counts) and 2 * sum(found.values()) > counts.total())


def _is_in_another_language(documents: Sequence[Document], language: str) -> bool:
    """Whether most notes are far from a language: labels such as `Name` and `Location` are nobody's own."""
    some = documents[:: 1 + len(documents) // _MOST_NOTES]
    far = sum(furthest(document.text, (language,))[1] > _FAR for document in some)
    return 2 * far > len(some)


def _language_of_notes(documents: Sequence[Document]) -> tuple[str, str]:
    """The language of the notes, recognised from some of them, and how it was recognised."""
    found = language_of(document.text for document in documents[:: 1 + len(documents) // _MOST_NOTES])
    if found in LANGUAGES:
        return found, " by its text"
    why = f"its text seems to be {found}, which phistack has no features for" if found else "its text does not show it"
    return _USUAL_LANGUAGE, f", as {why}; another is given with --language"


def _shown(counts: Counter[str]) -> str:
    """Some of the labels."""
    labels = [shown_label(label, counts[label]) for label in sorted(counts)]
    return ", ".join(labels[:_MOST_SHOWN]) + (", ..." if len(labels) > _MOST_SHOWN else "")
