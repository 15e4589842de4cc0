"""Character language models from unannotated notes.

    models = learn_language_models(documents, LanguageModelPlan(units=128), seed=0)
    models.trained              {"notes": 950, "characters": 1_200_000, "perplexity": 4.1}
    models.write(Path("models"))

`[features]` of a training names the folder as `language_models`. The perplexity is that of every twentieth note, which
is held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from phistack.ensemble.tools.progress import stage
from phistack.features.character_models import CharacterModels
from phistack.features.columns.layout import Layout
from phistack.features.documents import Document
from phistack.features.errors import TrainingError
from phistack.features.plain_view import plain_view
from phistack.submodels.blstm.character_training import LanguageModelPlan, perplexity, train_models

_NOTES_AT_ONCE = 256
_HELD_OUT = 20


def learn_language_models(documents: Sequence[Document], plan: LanguageModelPlan, *, seed: int = 0) -> CharacterModels:
    """Learn both models.

    :raises TrainingError: if the notes have no text.
    """
    held_out = documents[_HELD_OUT - 1 :: _HELD_OUT]
    sentences = list(sentences_of([d for i, d in enumerate(documents, 1) if i % _HELD_OUT]))
    if not sentences:
        raise TrainingError("the notes hold no text to learn from")
    with stage("learning language models", total=1.0) as at:

        def reported(share: float, words: str) -> None:
            at.done, at.words = share, words

        models = train_models(sentences, plan, seed=seed, reported=reported)
        at.done = 1.0
    trained: dict[str, float] = {"notes": len(documents), "characters": sum(map(len, sentences))}
    if others := list(sentences_of(held_out)):
        trained["perplexity"] = round(perplexity(models, others), 4)
    return replace(models, trained=trained)


def sentences_of(documents: Sequence[Document]) -> Iterator[str]:
    """The sentences of notes in their plain view, each from its first token to its last."""
    for first in range(0, len(documents), _NOTES_AT_ONCE):
        texts = [plain_view(document).document.text for document in documents[first : first + _NOTES_AT_ONCE]]
        layout = Layout.of(texts)
        for number, text in enumerate(texts):
            starts, ends = layout.offsets(number)
            for a, b in pairwise(layout.starts[number].tolist()):
                yield text[int(starts[a]) : int(ends[b - 1])]
