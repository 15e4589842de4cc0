"""The label set of a corpus: one that phistack ships, or the corpus' own labels.

    labels, remarks = label_set_of(documents, {})
    remarks       ("11 labels of its own (CODE, DATE, LOC, PER), taken as they are; language es by its text",)

Most corpora have labels of their own, and are taken as they are. If most labels and most spans are those of a known
set, the others are probably typos, and are refused unless the user accepts them. A set for another language than
English is not recognised by its labels alone if the notes are in another language.
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

_CATEGORY, _USUAL_LANGUAGE = "OTHER", "en"
_MOST_NOTES, _MOST_SHOWN, _FAR = 200, 12, 6.0


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
    by_labels_alone = given is None and usual is None and known.language != _USUAL_LANGUAGE
    is_another = by_labels_alone and not language and _is_in_another_language(documents, known.language)
    n_known, n_spans = len(counts) - len(unknown), sum(counts[label] for label in counts if label in known)
    is_most = not counts or (2 * n_known > len(counts) and 2 * n_spans > counts.total())
    if given is None and (is_another or not is_most):
        language, reason = (language, "") if language else _language_of_notes(documents)
        shown = [shown_label(label, counts[label]) for label in sorted(counts)]
        some = ", ".join(shown[:_MOST_SHOWN]) + (", ..." if len(shown) > _MOST_SHOWN else "")
        own = {label: categories.get(label, _CATEGORY) for label in sorted(counts)}
        remark = f"{len(counts)} labels of its own ({some}), taken as they are; language {language}{reason}"
        return LabelSet(OWN_LABELS, own, language=language), (remark,)
    if unknown and not accept and known.name != OWN_LABELS:
        raise LabelError(
            f"{len(unknown)} of {len(counts)} labels are not in the label set {known.name}, the first is "
            f"{shown_label(unknown[0])}, seen {counts[unknown[0]]} times; correct them, name another set with "
            "--label-set, or take them as they are with --accept-unknown-labels"
        )
    return known.extended({label: categories.get(label, _CATEGORY) for label in unknown}), ()


def _nearest(counts: Counter[str], usual: str | None) -> LabelSet:
    """The usual set, or else the one that lacks the fewest labels."""
    sets = map(LabelSet.named, [usual] if usual else LabelSet.recognised())
    return min(sets, key=lambda labels: sum(label not in labels for label in counts))


def _is_in_another_language(documents: Sequence[Document], language: str) -> bool:
    """Whether most notes are far from a language, as labels such as `Name` and `Location` are in many sets."""
    some = documents[:: 1 + len(documents) // _MOST_NOTES]
    return 2 * sum(furthest(document.text, (language,)) > _FAR for document in some) > len(some)


def _language_of_notes(documents: Sequence[Document]) -> tuple[str, str]:
    """The language of the notes, recognised from some of them, and how it was recognised."""
    found = language_of(document.text for document in documents[:: 1 + len(documents) // _MOST_NOTES])
    if found in LANGUAGES:
        return found, " by its text"
    why = f"its text seems to be {found}, which phistack has no features for" if found else "its text does not show it"
    return _USUAL_LANGUAGE, f", as {why}; another is given with --language"
