"""A transformer of scikit-learn: `make_pipeline(PhiRemover("english"), TfidfVectorizer())`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from phistack.ensemble.adapters.core import job_of, redact_texts
from phistack.ensemble.deidentification import Policy


class PhiRemover(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Removes PHI from texts, each a patient of its own; it learns nothing.

    :param model: path of a bundle, or the name of an engine that ships.
    :param policy: a policy, its name or its file.
    :param settings: the further ones that other adapters take by keyword.
    """

    def __init__(self, model: str | Path, policy: Policy | str = "tag", settings: Mapping[str, Any] | None = None):
        self.model, self.policy, self.settings = model, policy, settings

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  The name that scikit-learn calls it by.
        """Nothing is learned."""
        return self

    def transform(self, X: Iterable[Any]) -> NDArray[np.object_]:  # noqa: N803
        """The texts without PHI, of shape `(n_texts,)`; `None`, and a warning, where one is held back."""
        job = job_of(self.model, self.policy, **(self.settings or {}))
        found = [*redact_texts(((text, None) for text in X), job)]
        codes = Counter(result.error.partition(":")[0] for result in found if result.error)
        if codes:
            shown = ", ".join(f"{n} {code}" for code, n in sorted(codes.items()))
            warnings.warn(f"{codes.total()} of {len(found)} texts are held back: {shown}", stacklevel=2)
        return np.array([result.text for result in found], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.requires_fit = True, False
        return tags
